"""What a person wants to know: surprising answers, what drives each hidden objective, when to stop, whether to trust it,
and what suits several people."""

from __future__ import annotations

from choicebo.insight.agreement import Keeping, OptionForPeople, PeopleInsight, agreement
from choicebo.insight.calibration import Calibration, calibration
from choicebo.insight.context_changes import ContextChange
from choicebo.insight.drivers import Driver, Objective, drivers
from choicebo.insight.known import KnownObjective, known_objectives, measured_values
from choicebo.insight.numbering import Numbering, numbering
from choicebo.insight.stopping import StopAdvice, stop_advice
from choicebo.insight.surprise import Surprise, surprises

__all__ = [
    "Calibration",
    "ContextChange",
    "Driver",
    "Keeping",
    "KnownObjective",
    "Numbering",
    "Objective",
    "OptionForPeople",
    "PeopleInsight",
    "StopAdvice",
    "Surprise",
    "agreement",
    "calibration",
    "drivers",
    "known_objectives",
    "measured_values",
    "numbering",
    "stop_advice",
    "surprises",
]
