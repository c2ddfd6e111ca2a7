"""What a person wants to know: surprising answers, what drives each hidden objective, when to stop, whether to trust it."""

from __future__ import annotations

from choicebo.insight.calibration import Calibration, calibration
from choicebo.insight.drivers import Driver, Objective, drivers
from choicebo.insight.known import KnownObjective, known_objectives
from choicebo.insight.numbering import Numbering, numbering
from choicebo.insight.stopping import StopAdvice, stop_advice
from choicebo.insight.surprise import Surprise, surprises

__all__ = [
    "Calibration",
    "Driver",
    "KnownObjective",
    "Numbering",
    "Objective",
    "StopAdvice",
    "Surprise",
    "calibration",
    "drivers",
    "known_objectives",
    "numbering",
    "stop_advice",
    "surprises",
]
