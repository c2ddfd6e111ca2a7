"""The loop in memory: ask, tell, skip, undo."""

from choicebo.optimizer.optimizer import ChoiceOptimizer, ParetoOption
from choicebo.optimizer.query import Query
from choicebo.optimizer.settings import Settings

__all__ = ["ChoiceOptimizer", "ParetoOption", "Query", "Settings"]
