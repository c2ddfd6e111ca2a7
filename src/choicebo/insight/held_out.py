"""What the model expected of each past answer, had it learned from all the others only."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.choice_table import subset_of_code
from choicebo.model.draws import evenly
from choicebo.model.loo import smoothed_weights
from choicebo.model.posterior import Posterior
from choicebo.space.points import rows_in

Array = NDArray[np.float64]

_WORK, _FEWEST_DRAWS = 500_000, 64
"""At most so many draws times choices are evaluated; many answers are judged by fewer draws, but at least by so many."""
LARGEST_TABLE = 10
"""Sets with more options have too many subsets to look at each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation:
    """Probabilities of every possible answer to one question, and what was answered."""

    choice: int
    """Number of the choice in the data."""
    probabilities: Array
    """(2^shown - 1,): by subset, place ``code - 1`` for the positions whose bits are set in ``code``."""
    answered: int
    """The place of the given answer."""

    @property
    def probability(self) -> float:
        """Probability of the answer that was given."""
        return float(self.probabilities[self.answered])

    @property
    def likeliest(self) -> tuple[int, ...]:
        """Positions kept in the most probable answer."""
        return subset_of_code(int(self.probabilities.argmax()) + 1, self.size)

    @property
    def size(self) -> int:
        """How many options were shown."""
        return len(self.probabilities).bit_length()

    @property
    def inclusion(self) -> Array:
        """(shown,): probability that each option is kept."""
        codes = np.arange(1, len(self.probabilities) + 1)
        return np.array([self.probabilities[codes >> i & 1 == 1].sum() for i in range(self.size)])

    @property
    def kept(self) -> NDArray[np.bool_]:
        """(shown,): which options were kept."""
        return np.array([(self.answered + 1) >> i & 1 == 1 for i in range(self.size)])


def require_posterior(given: object, what: str = "posterior") -> None:
    """Refuse anything but a posterior, and say where to get one."""
    if not hasattr(given, "sample") or not hasattr(given, "options"):
        raise InvalidInputError(
            f"{what} is {as_given(given)}; give what ChoiceGP.fit or optimizer.posterior() returned."
        )


def expectations(posterior: Posterior) -> list[Expectation]:
    """For each past choice of at most 10 options, what the other choices predict (importance weights, smoothed)."""
    if posterior.people is not None:
        found = [
            dataclasses.replace(each, choice=numbers[each.choice])
            for numbers, person in posterior.by_person()
            for each in expectations(person)
        ]
        return sorted(found, key=lambda each: each.choice)
    log_weights, _ = smoothed_weights(posterior.log_likelihood, posterior.diagnostics.effective_sample_size)
    chains, draws = posterior.log_likelihood.shape[:2]
    latent = posterior.sample(posterior.options, draws=chains * draws)
    # The posterior hands out its draws across the chains, the weights have one chain after the other.
    weights = np.exp(log_weights).reshape(-1, chains, draws).swapaxes(1, 2).reshape(len(log_weights), -1)
    looked_at = max(_FEWEST_DRAWS, _WORK // len(weights))
    if looked_at < chains * draws:
        some = evenly(chains * draws, looked_at)
        latent, weights = latent[some], weights[:, some] / weights[:, some].sum(1, keepdims=True)
    place = rows_in(posterior.options, posterior.data.X)
    found = []
    for number, choice in enumerate(posterior.data.choices):
        if len(choice.shown) <= LARGEST_TABLE:
            values = latent[:, place[list(choice.shown)]]
            table = posterior.choice_table(values)
            found.append(_expectation(number, choice, table, posterior.spec.lapse, weights[number]))
    return found


def expectations_of(posterior: Posterior, unseen: ChoiceData, seed: int = 0) -> list[Expectation]:
    """For each choice of at most 10 options that the model has not learned from, what the model predicts."""
    found = []
    for number, choice in enumerate(unseen.choices):
        if len(choice.shown) <= LARGEST_TABLE:
            person = posterior.of(choice.rater) if choice.rater in posterior.raters else posterior
            values = person.sample(unseen.X[list(choice.shown)], draws=400, seed=seed)
            weights = np.full(len(values), 1.0 / len(values))
            table = posterior.choice_table(values)
            found.append(_expectation(number, choice, table, posterior.spec.lapse, weights))
    return found


def _expectation(number: int, choice: Choice, table: Array, lapse: float, weights: Array) -> Expectation:
    # Theorem 1 does not sum to one over the subsets; a person's answer is one of them.
    table = weights @ (table / table.sum(1, keepdims=True))
    table = (1.0 - lapse) * table / table.sum() + lapse / len(table)
    answered = sum(1 << choice.shown.index(i) for i in choice.kept) - 1
    return Expectation(number, table, answered)
