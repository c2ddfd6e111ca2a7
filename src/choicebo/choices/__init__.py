"""What was answered: the options shown, those kept, and those rejected.

`Choice` is one answer, `ChoiceData` all answers together with the options they are about. Both are immutable;
adding or dropping an answer returns new data.
"""

from choicebo.choices.choice import Choice, ChoiceLike
from choicebo.choices.data import ChoiceData
from choicebo.choices.options import ROUNDING, unit_scaled
from choicebo.choices.positions import kept_positions

__all__ = ["ROUNDING", "Choice", "ChoiceData", "ChoiceLike", "kept_positions", "unit_scaled"]
