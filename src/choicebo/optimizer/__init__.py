"""The loop in memory: ask, tell, skip, undo.

What a study computes with is exported here, too: threads that load a module of this package while another thread loads the
package would wait for each other.
"""

from choicebo.history import Question
from choicebo.optimizer.computations import Computations
from choicebo.optimizer.encoded import EncodedOptions
from choicebo.optimizer.optimizer import ChoiceOptimizer, ParetoOption, ParetoOptions
from choicebo.optimizer.patience import Patience
from choicebo.optimizer.settings import Settings
from choicebo.optimizer.situation import Situation
from choicebo.optimizer.steered import wished_part

__all__ = [
    "ChoiceOptimizer",
    "Computations",
    "EncodedOptions",
    "ParetoOption",
    "ParetoOptions",
    "Patience",
    "Question",
    "Settings",
    "Situation",
    "wished_part",
]
