"""What to ask: one file per acquisition, their maximisation over any space, and the composition of a question."""

from __future__ import annotations

from choicebo.acquisition.ehvi import ExpectedImprovement
from choicebo.acquisition.information import Information
from choicebo.acquisition.interface import Acquisition, Known, Prepared
from choicebo.acquisition.scalarised_thompson import ScalarisedThompson
from choicebo.acquisition.thompson import Thompson
from choicebo.acquisition.ucb import UpperBound
from choicebo.acquisition.variation import Variation

ACQUISITIONS: dict[str, Acquisition] = {
    each.name: each
    for each in (UpperBound(), ExpectedImprovement(), Thompson(), ScalarisedThompson(), Variation(), Information())
}
"""By the name that ``ChoiceOptimizer(acquisition=...)`` takes; "random" and "sobol" need no model and are not here."""

__all__ = [
    "ACQUISITIONS",
    "Acquisition",
    "ExpectedImprovement",
    "Information",
    "Known",
    "Prepared",
    "ScalarisedThompson",
    "Thompson",
    "UpperBound",
    "Variation",
]
