"""The loop in memory: ask, tell, skip, undo."""

from choicebo.history import Question
from choicebo.optimizer.optimizer import ChoiceOptimizer, ParetoOption
from choicebo.optimizer.settings import Settings

__all__ = ["ChoiceOptimizer", "ParetoOption", "Question", "Settings"]
