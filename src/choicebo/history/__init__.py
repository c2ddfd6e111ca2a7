"""What happened: questions, events, and the state that events add up to. The loop in memory and a study share it."""

from choicebo.history.answer import Answer
from choicebo.history.events import Event
from choicebo.history.measuring import Measurement, Measurements
from choicebo.history.question import OWNER, Look, Question
from choicebo.history.state import State
from choicebo.history.steering import Steering

__all__ = ["OWNER", "Answer", "Event", "Look", "Measurement", "Measurements", "Question", "State", "Steering"]
