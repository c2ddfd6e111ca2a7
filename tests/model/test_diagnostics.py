"""When a fit says that its draws are not to be trusted, and what it advises."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import ConvergenceWarning
from choicebo.model.convergence import least_effective, worst_r_hat
from choicebo.model.covariance import HyperPrior
from choicebo.model.diagnostics import Diagnostics, diagnose
from choicebo.model.engines import Elliptical, Hamiltonian
from choicebo.model.engines.base import INDEPENDENT, Fit, Limits

GOOD = Diagnostics("hmc", 1.0, 500.0, 0, 0.8, -10.0, np.zeros(1), 640, 0.1, Limits(1.01, 400.0))


def but(**changes) -> tuple[str, ...]:
    return dataclasses.replace(GOOD, **changes).problems


def test_good_draws_have_no_problems():
    assert GOOD.problems == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GOOD.warn()


def test_the_limits_that_were_asked_for_count():
    assert but(r_hat=1.011)
    assert not but(r_hat=1.01)
    assert not but(r_hat=1.04, limits=Limits(1.05, 200.0))
    assert but(effective_sample_size=399.0)
    assert not but(effective_sample_size=250.0, limits=Limits(1.05, 200.0))
    assert not but(r_hat=3.0, effective_sample_size=1.0, limits=INDEPENDENT)


def test_nobody_is_asked_for_more_effective_draws_than_were_made():
    few = {"draws": 100, "limits": Limits(1.01, 400.0)}
    assert not but(effective_sample_size=91.0, **few)
    assert but(effective_sample_size=89.0, **few)


def test_one_in_fifty_trajectories_may_diverge():
    assert not but(divergences=12)
    assert but(divergences=13)


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (
            {"r_hat": 1.234},
            ("the chains disagree (R-hat 1.23, wanted below 1.01): allow more draws (Hamiltonian(max_samples=...))",),
        ),
        (
            {"engine": "ess", "effective_sample_size": 57.4},
            (
                "only 57 effective draws of 640, wanted 400: "
                "use engine='hmc', or more draws (Elliptical(thin=..., num_samples=...))",
            ),
        ),
        ({"engine": "own", "r_hat": 2.0}, ("the chains disagree (R-hat 2.00, wanted below 1.01): draw more",)),
    ],
)
def test_a_problem_is_one_sentence_with_its_remedy(changes, sentences):
    assert but(**changes) == sentences


def test_divergences_name_the_setting_to_change():
    (problem,) = but(divergences=100)
    assert problem.startswith("100 of 640 trajectories diverged: raise target_acceptance")


def test_the_advice_can_be_followed():
    """Every setting that a problem names is one, and higher than the default where it says so."""
    assert {"max_samples", "target_acceptance"} <= {field.name for field in dataclasses.fields(Hamiltonian)}
    assert {"thin", "num_samples"} <= {field.name for field in dataclasses.fields(Elliptical)}
    (problem,) = but(divergences=100)
    advised = float(problem.partition("target_acceptance=")[2].rstrip(")"))
    assert Hamiltonian().target_acceptance < advised < 1.0


def test_all_problems_are_one_warning():
    poor = dataclasses.replace(GOOD, r_hat=1.5, effective_sample_size=20.0, divergences=100)
    assert len(poor.problems) == 3
    with pytest.warns(ConvergenceWarning) as caught:
        poor.warn()
    (warning,) = caught
    assert str(warning.message) == "; ".join(poor.problems)


def test_a_fit_is_judged_by_the_worst_quantity_of_all_draws_that_were_made():
    rng = np.random.default_rng(0)
    quantities = np.cumsum(rng.normal(size=(3, 4, 50)), axis=2)
    fit = Fit(HyperPrior().centre(1, 1), np.zeros((4, 10, 1, 2)), -7.0, np.zeros(3), 5, 0.77)
    found = diagnose("hmc", quantities, fit, Limits(1.05, 200.0), 1.5)
    assert found.r_hat == worst_r_hat(quantities)
    assert found.effective_sample_size == least_effective(quantities)
    assert (found.draws, found.divergences, found.acceptance, found.log_evidence) == (200, 5, 0.77, -7.0)
    assert (found.engine, found.limits, found.seconds) == ("hmc", Limits(1.05, 200.0), 1.5)


def choices():
    rng = np.random.default_rng(0)
    X = rng.random((20, 1))
    sets = [rng.choice(20, 3, replace=False) for _ in range(25)]
    return cb.ChoiceData(X, [cb.Choice(shown, shown[:1]) for shown in sets])


def test_poor_draws_are_a_visible_warning_that_names_the_remedy():
    poor = Elliptical(num_samples=8, num_warmup=0, thin=1)
    with pytest.warns(ConvergenceWarning, match="use engine='hmc'"):
        posterior = cb.ChoiceGP(engine=poor).fit(choices())
    assert posterior.diagnostics.problems
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cb.ChoiceGP(engine=poor).fit_silently(choices())


def test_an_engine_is_judged_by_what_it_watched():
    """The log-likelihood and the dominance margins, of the draws that a sampler returns."""
    from choicebo.model.convergence import margins

    posterior = cb.ChoiceGP(engine=Elliptical(num_samples=30, num_warmup=5, thin=2)).fit_silently(choices())
    chains, draws = posterior.whitened.shape[:2]
    in_order = np.swapaxes(posterior.draws.latent.reshape(draws, chains, *posterior.draws.latent.shape[1:]), 0, 1)
    of_draws = margins(np.moveaxis(in_order, 3, 2).reshape(-1, *in_order.shape[:1:-1])).reshape(*in_order.shape[:2], -1)
    watched = np.concatenate([posterior.log_likelihood.sum(-1)[None], np.moveaxis(of_draws, 2, 0)])
    assert posterior.diagnostics.r_hat == pytest.approx(worst_r_hat(watched), abs=1e-3)
    assert posterior.diagnostics.effective_sample_size == pytest.approx(least_effective(watched), rel=1e-2)
