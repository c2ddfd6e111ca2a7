"""What a shell shows of the objects that a person works with: short, and with rounded numbers."""

from __future__ import annotations

import numpy as np
import pytest

import choicebo as cb
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import Laplace
from choicebo.optimizer import ParetoOption

DATA = cb.ChoiceData([[0.1], [0.5], [0.9]], [((0, 1, 2), (1,)), ((0, 2), (2,))])


def test_an_optimizer_says_what_it_asks_about_and_how_far_it_is():
    loop = cb.ChoiceOptimizer(cb.Space([cb.Real("temperature", 150, 220)]), latent_dim=2)
    assert repr(loop) == "ChoiceOptimizer(Space(temperature), 0 answers, 0 open questions, latent_dim=2)"
    loop.tell(loop.ask(), [0])
    loop.ask()
    assert "1 answer, 1 open question," in repr(loop)


def test_a_posterior_says_what_it_learned_from():
    posterior = cb.ChoiceGP(1, engine=Laplace(num_samples=50, num_chains=4)).fit(DATA)
    shown = repr(posterior)
    assert shown.startswith("Posterior(latent_dim=1, 2 choices among 3 options, ")
    assert shown.endswith("draws, engine='laplace')")


@pytest.mark.parametrize("effective", [612.4, np.nan, np.inf])
def test_diagnostics_say_what_counts_and_no_arrays(effective):
    good = Diagnostics("hmc", 1.00312, effective, 0, 0.8, -10.04, np.zeros(1000), 640, 0.123)
    assert repr(good).startswith("Diagnostics(engine='hmc', r_hat=1.003, ")
    assert repr(good).endswith("effective draws of 640, log_evidence=-10.0, seconds=0.1)")


def test_diagnostics_say_what_is_poor():
    assert "the chains disagree" in repr(Diagnostics("hmc", 1.5, 612.4, 3, 0.8, -10.0, np.zeros(3), 640, 0.1))


def test_a_question_shows_its_options_with_rounded_numbers():
    question = cb.Question(
        3, [{"t": 183.70000001, "flour": "rye"}, {"t": 150.0, "flour": "oat"}], "Why.", (True, True), ("sobol",)
    )
    assert (
        repr(question)
        == "Question(3, open, 'sobol', options=[{'t': 183.7, 'flour': 'rye'}, {'t': 150, 'flour': 'oat'}])"
    )


def test_an_option_of_the_pareto_set_shows_its_probability():
    assert repr(ParetoOption({"t": 1 / 3}, 0.87654321)) == "ParetoOption({'t': 0.3333}, probability=0.8765)"
