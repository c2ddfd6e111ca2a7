"""One file per way to the posterior."""

from __future__ import annotations

import dataclasses

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.engines.base import Engine, Fit, Limits, ModelSpec, Reporter
from choicebo.model.engines.elliptical import Elliptical
from choicebo.model.engines.hamiltonian import Hamiltonian
from choicebo.model.engines.laplace import Laplace
from choicebo.model.engines.variational import Variational

ENGINES: dict[str, type[Engine]] = {
    "hmc": Hamiltonian,
    "ess": Elliptical,
    "vi": Variational,
    "laplace": Laplace,
}

__all__ = [
    "ENGINES",
    "Elliptical",
    "Engine",
    "Fit",
    "Hamiltonian",
    "Laplace",
    "Limits",
    "ModelSpec",
    "Reporter",
    "Variational",
    "engine_named",
    "question_engine",
]


QUESTION = Limits(r_hat=1.05, effective_draws=200.0)
"""Enough for the next question of a study."""
_WORK_OF_A_QUESTION = 12_000
"""At most so many draws of each chain times choices: the last digit of a question is not worth waiting for."""
_SAMPLED_FOR_A_QUESTION = 1000
"""Up to this many choices, a question uses draws of the posterior itself; with more, those of the nearest Gaussian."""
_LEARNED_FOR_A_QUESTION = 300
"""Number of choices from which a question learns the hyperparameters, if there are many."""
_REFINED_FOR_A_QUESTION = 16
"""Steps by draws on the hyperparameters of several people."""


def question_engine(name: str) -> Engine:
    """The engine of that name as a study uses it: draws that are good enough for the next question.

    Examples:
        >>> question_engine("hmc").limits.effective_draws
        200.0
    """
    engine = engine_named(name)
    if isinstance(engine, Hamiltonian):
        return dataclasses.replace(
            engine,
            limits=QUESTION,
            groups=1,
            max_samples=600,
            max_work=_WORK_OF_A_QUESTION,
            max_choices=_SAMPLED_FOR_A_QUESTION,
            learner=Laplace(subset=_LEARNED_FOR_A_QUESTION, refinements=_REFINED_FOR_A_QUESTION, refining_groups=1),
        )
    return dataclasses.replace(engine, limits=QUESTION) if isinstance(engine, Elliptical) else engine


def engine_named(engine: str | Engine) -> Engine:
    """The engine of that name with its default settings; an engine is returned as it is.

    Examples:
        >>> engine_named("vi").name
        'vi'
    """
    if not isinstance(engine, str) and callable(getattr(engine, "fit", None)):
        return engine
    if not isinstance(engine, str) or engine not in ENGINES:
        raise InvalidInputError(
            f"engine must be one of {', '.join(map(repr, ENGINES))} or an engine object, got {as_given(engine)}."
        )
    return ENGINES[engine]()
