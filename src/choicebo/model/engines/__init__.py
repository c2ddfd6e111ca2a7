"""One file per way to the posterior."""

from __future__ import annotations

from choicebo.errors import InvalidInput
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
]


def engine_named(engine: str | Engine) -> Engine:
    """The engine of that name with its default settings; an engine is returned as it is.

    >>> engine_named("vi").name
    'vi'
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise InvalidInput(f"engine must be one of {', '.join(map(repr, ENGINES))} or an engine object, got {engine!r}")
    return ENGINES[engine]()
