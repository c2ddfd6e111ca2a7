"""What a person makes of the objectives that are known: how large a difference shows in their answers.

Of those that are measured it also says what the value of an option probably is that was not measured yet.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from choicebo.formatting import Estimate, value_text
from choicebo.insight.held_out import require_posterior
from choicebo.model.posterior import Posterior
from choicebo.space import KnownObjectives, Searchable, known_of

Array = NDArray[np.float64]

_HARDLY = 0.3
"""A standard deviation of the objective that counts for less than this share of the noise hardly shows."""
_FEWEST = 2
"""Without a difference of two numbers, the unit of a measured objective is not known."""


@dataclasses.dataclass(frozen=True)
class KnownObjective:
    """An objective that need not be learned, and how much it counts."""

    name: str
    minimise: bool
    """Whether less of it is better."""
    scale: float
    """How much a standard deviation of it, over the options that were shown, counts: in units of the noise of an answer."""
    noticed: float
    """The difference, in its own units, that counts as much as the noise of an answer: smaller ones are often overlooked."""
    measured: bool = False
    """Whether it is measured, and not computed."""
    numbers: int | None = None
    """Of a measured one, how many numbers the model learned from."""

    @property
    def title(self) -> str:
        """Its title in pictures."""
        return f"{self.name} ({self._kind})"

    @property
    def _kind(self) -> str:
        return "measured" if self.measured else "known"

    @property
    def goal(self) -> str:
        """Which way is better, in words."""
        return "less is better" if self.minimise else "more is better"

    @property
    def sentence(self) -> str:
        """How much it counts, in words.

        >>> KnownObjective("price", True, 4.0, 0.5).sentence
        'Price (known, less is better): differences of about 0.5 and more show in the answers.'
        """
        opening = f"{self.name[:1].upper()}{self.name[1:]} ({self._kind}, {self.goal})"
        if self.measured and self.numbers is not None and self.numbers < _FEWEST:
            return f"{opening}: too few were measured to tell how much it counts. Measure {_FEWEST} options or more."
        if self.scale < _HARDLY:
            return f"{opening}: the answers hardly depend on it. If it does not matter, leave it out of the objectives."
        return (
            f"{opening}: differences of about {value_text(float(f'{self.noticed:.2g}'))} and more show in the answers."
        )


def measured_values(
    known: KnownObjectives | None, X: Array, posterior: Posterior | None = None
) -> list[dict[str, float]]:
    """The measured objectives of options by name: what was measured, and an `Estimate` where nothing was.

    Args:
        known: The known objectives of the space with what was measured.
        X: The options, (n, d).
        posterior: The model that estimates; None: what was not measured is left out.
    """
    found: list[dict[str, float]] = [{} for _ in X]
    if known is None or not any(known.measured) or not len(X):
        return found
    values = known.values(X)
    estimates = None if posterior is None or np.isfinite(values).all() else _estimates(posterior, known, X)
    for at, objective in enumerate(known.objectives):
        for row, value in enumerate(values[:, at]):
            if objective.measured and np.isfinite(value):
                found[row][objective.name] = float(value)
            elif objective.measured and estimates is not None and np.isfinite(estimates[:, row, at]).all():
                mean, *ends = estimates[:, row, at].tolist()
                found[row][objective.name] = Estimate(mean, *sorted(ends))
    return found


def known_bands(posterior: Posterior, known: KnownObjectives, X: Array) -> Array:
    """(3, n, k): the known objectives of options in their own units, and the ends of 95 %, which differ where they are estimated.

    Args:
        posterior: What was learned, and what was measured by then.
        known: The known objectives of its space.
        X: The options, (n, d).
    """
    values = _learned_from(posterior, known).values(X)
    found = np.stack([values] * 3)
    if np.isfinite(values).all():
        return found
    estimates = _estimates(posterior, known, X)
    # Where less is better, the ends have changed places.
    return found if estimates is None else np.where(np.isnan(found), np.sort(estimates, axis=0)[[1, 0, 2]], found)


def _estimates(posterior: Posterior, known: KnownObjectives, X: Array) -> Array | None:
    """(3, n, k): mean and two ends of the known objectives in their own units; NaN where the unit is not known."""
    standardised = posterior.spec.known
    if standardised is None:
        return None
    latent = posterior.latent(X)
    units = np.where(_numbers(posterior, _learned_from(posterior, known)) < _FEWEST, np.nan, known.signs)
    parts = np.stack([latent.mean, latent.lower, latent.upper])[..., posterior.latent_dim :]
    return np.asarray((standardised.centre + standardised.width / posterior.known_scales * parts) * units)


def _numbers(posterior: Posterior, known: KnownObjectives) -> Array:
    """(k,): how many numbers of each known objective the model learned from; infinitely many where it is computed."""
    values = known.values(posterior.data.X)
    return np.where(known.measured, np.isfinite(values).sum(0), np.inf)


def _learned_from(posterior: Posterior, known: KnownObjectives) -> KnownObjectives:
    """The known objectives with what was measured when the model was fitted."""
    function = None if posterior.spec.known is None else posterior.spec.known.function
    return function if isinstance(function, KnownObjectives) else known


def known_objectives(posterior: Posterior, space: Searchable) -> tuple[KnownObjective, ...]:
    """The known objectives of a space, and how much each counts.

    Args:
        posterior: What was learned.
        space: The Space or Catalogue that has them.
    """
    require_posterior(posterior)
    known, standardised = known_of(space), posterior.spec.known
    if known is None or standardised is None:
        return ()
    numbers = _numbers(posterior, _learned_from(posterior, known))
    return tuple(
        KnownObjective(
            objective.name,
            objective.minimise,
            scale=float(scale),
            noticed=float(width / scale),
            measured=objective.measured,
            numbers=int(numbers[at]) if objective.measured else None,
        )
        for at, (objective, scale, width) in enumerate(
            zip(known.objectives, posterior.known_scales, standardised.width, strict=True)
        )
    )
