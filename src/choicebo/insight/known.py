"""What a person makes of the objectives that are known: how large a difference shows in their answers."""

from __future__ import annotations

import dataclasses

from choicebo.formatting import value_text
from choicebo.insight.held_out import require_posterior
from choicebo.model.posterior import Posterior
from choicebo.space import Searchable, known_of

_HARDLY = 0.3
"""A standard deviation of the objective that counts for less than this share of the noise hardly shows."""


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

    @property
    def title(self) -> str:
        """How pictures call it."""
        return f"{self.name} (known)"

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
        opening = f"{self.name[:1].upper()}{self.name[1:]} (known, {self.goal})"
        if self.scale < _HARDLY:
            return f"{opening}: the answers hardly depend on it. If it does not matter, leave it out of the objectives."
        return (
            f"{opening}: differences of about {value_text(float(f'{self.noticed:.2g}'))} and more show in the answers."
        )


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
    found = zip(known.objectives, posterior.known_scales, standardised.width, strict=True)
    return tuple(
        KnownObjective(objective.name, objective.minimise, float(scale), float(width / scale))
        for objective, scale, width in found
    )
