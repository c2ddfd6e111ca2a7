"""Whether the model's probabilities can be trusted: predictions against answers it did not learn from."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.insight.held_out import Expectation, expectations, expectations_of, require_posterior
from choicebo.model.engines.base import are_whole
from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

MIN_ANSWERS = 6


@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """Predicted probabilities of keeping an option beside how often such options were kept."""

    predicted: Array
    """(bins,): mean predicted probability; bins without any option are left out."""
    observed: Array
    """(bins,): the share that was kept."""
    lower: Array
    """(bins,): lower end of the 95 % interval of that share."""
    upper: Array
    count: NDArray[np.int64]
    """(bins,)"""
    log_score: float
    """Mean log-probability of the given answers; 0 would be certainty."""
    guessing: float
    """The same for blind guessing among all subsets."""
    error: float
    """Mean distance between predicted and observed, weighted by count."""
    answers: int

    @property
    def sentence(self) -> str:
        """In plain words."""
        if self.answers < MIN_ANSWERS:
            return "Not enough answers yet to judge the predictions."
        return (
            f"Answers that the model had not seen were typically given a probability of {np.exp(self.log_score):.0%} "
            f"(blind guessing: {np.exp(self.guessing):.0%}); predicted and observed shares differ by {self.error:.0%}."
        )


def calibration(posterior: Posterior, held_out: ChoiceData | None = None, bins: int = 8) -> Calibration:
    """Compare predicted probabilities with answers.

    Args:
        posterior: What was learned.
        held_out: Answers that the model has not seen; None: each past answer, as predicted from all others.
        bins: Into how many bins predictions are sorted.

    Returns:
        Predicted probabilities beside observed shares, with scores and a ``sentence``.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo.insight import calibration
        >>> calibration(posterior).log_score < 0
        True
    """
    require_posterior(posterior)
    if held_out is not None and not isinstance(held_out, ChoiceData):
        raise InvalidInputError(f"held_out is {as_given(held_out)}; give a ChoiceData.")
    if not are_whole(bins) or not 2 <= bins <= 1000:
        raise InvalidInputError(f"bins must be at least 2 and at most 1,000, got {as_given(bins)}.")
    if held_out is not None and held_out.dim != posterior.options.shape[1]:
        raise InvalidInputError(
            f"held_out has {held_out.dim} inputs, but the model learned from {posterior.options.shape[1]}; give "
            "choices among the same options."
        )
    return reliability(expectations(posterior) if held_out is None else expectations_of(posterior, held_out), bins)


def reliability(found: list[Expectation], bins: int = 8) -> Calibration:
    """The reliability curve and scores of some expectations."""
    if not found:
        raise InvalidInputError(
            "No answer in held_out can be used: calibration needs sets of at most 10 options. Give answers about "
            "smaller sets."
        )
    probability = np.concatenate([each.inclusion for each in found])
    kept = np.concatenate([each.kept for each in found])
    place = np.minimum((probability * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    used = count > 0
    hits = np.bincount(place, weights=kept, minlength=bins)[used]
    count = count[used]
    predicted = np.bincount(place, weights=probability, minlength=bins)[used] / count
    # Jeffreys' interval: sensible for few options, and inside [0, 1].
    lower, upper = (beta.ppf(q, hits + 0.5, count - hits + 0.5) for q in (0.025, 0.975))
    observed = hits / count
    return Calibration(
        predicted=predicted,
        observed=observed,
        lower=np.minimum(lower, observed),
        upper=np.maximum(upper, observed),
        count=count,
        log_score=float(np.mean([np.log(each.probability) for each in found])),
        guessing=float(np.mean([-np.log(len(each.probabilities)) for each in found])),
        error=float((count * np.abs(predicted - observed)).sum() / count.sum()),
        answers=len(found),
    )
