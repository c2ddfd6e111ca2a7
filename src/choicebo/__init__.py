"""choicebo learns a person's hidden objectives from the options that they keep.

The public names are loaded on first use, so that ``import choicebo`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "Choice": "choicebo.choices",
    "ChoiceData": "choicebo.choices",
    "ChoiceGP": "choicebo.model.gp",
    "ChoiceOptimizer": "choicebo.optimizer",
    "Question": "choicebo.history",
    "Posterior": "choicebo.model.posterior",
    "choice_log_likelihood": "choicebo.model.likelihood",
    "select_latent_dim": "choicebo.model.dimension",
    "Angle": "choicebo.space",
    "Catalogue": "choicebo.space",
    "Context": "choicebo.space",
    "Categorical": "choicebo.space",
    "Fixed": "choicebo.space",
    "Integer": "choicebo.space",
    "Ordinal": "choicebo.space",
    "Real": "choicebo.space",
    "Space": "choicebo.space",
    "Study": "choicebo.study",
    "ChoiceboError": "choicebo.errors",
    "ConvergenceWarning": "choicebo.errors",
    "DataError": "choicebo.errors",
    "FitInterrupted": "choicebo.errors",
    "FitInterruptedError": "choicebo.errors",
    "InvalidInput": "choicebo.errors",
    "InvalidInputError": "choicebo.errors",
    "MissingExtraError": "choicebo.errors",
    "NumericalError": "choicebo.errors",
    "SpaceError": "choicebo.errors",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from choicebo.choices import Choice, ChoiceData
    from choicebo.errors import (
        ChoiceboError,
        ConvergenceWarning,
        DataError,
        FitInterrupted,
        FitInterruptedError,
        InvalidInput,
        InvalidInputError,
        MissingExtraError,
        NumericalError,
        SpaceError,
    )
    from choicebo.history import Question
    from choicebo.model.dimension import select_latent_dim
    from choicebo.model.gp import ChoiceGP
    from choicebo.model.likelihood import choice_log_likelihood
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ChoiceOptimizer
    from choicebo.space import Angle, Catalogue, Categorical, Context, Fixed, Integer, Ordinal, Real, Space
    from choicebo.study import Study


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'choicebo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
