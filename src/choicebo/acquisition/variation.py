"""Variations of the best options so far: one parameter changed, or two of them mixed."""

from __future__ import annotations

from dataclasses import dataclass

from choicebo.acquisition.thompson import Thompson


@dataclass(frozen=True)
class Variation(Thompson):
    """Thompson sampling among relatives of the believed front.

    What makes an option good can be too fine for the model to see, as ripples much narrower than the distance between options.
    The exact values that good options already have are then worth more than any prediction: relatives keep all of them but one,
    or combine those of two.
    """

    name: str = "variation"
    sentence: str = "the new option is a variation of your best: one thing changed, or two of them mixed"
    nearby: bool = True
