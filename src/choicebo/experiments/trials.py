"""The grid of an experiment: independent trials, each with a name that says everything about it and seeds it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from choicebo.errors import InvalidInputError


def seed_of(*parts: object) -> int:
    """A seed that depends on the names given, and on nothing else.

    >>> seed_of("bo", "zdt1", 3) == seed_of("bo", "zdt1", 3) != seed_of("bo", "zdt1", 4)
    True
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@dataclass(frozen=True)
class Trial:
    """One repetition of one method on one task.

    >>> Trial("bo", "zdt1", "sobol", 3, {"iterations": 80}).name
    'bo/zdt1/sobol/3?iterations=80'
    """

    experiment: str
    task: str
    method: str
    repetition: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else distinguishes the trial, as JSON values; results of trials with other settings are never mixed."""

    def __post_init__(self) -> None:
        words = (self.experiment, self.task, self.method)
        if any(not word or set(word) & set("/?&\n") for word in words) or self.repetition < 0:
            raise InvalidInputError(
                f"A trial was given experiment, task and method {words} and repetition {self.repetition}; "
                "give names without / ? & and a repetition of 0 or more."
            )
        object.__setattr__(self, "settings", json.loads(json.dumps(dict(self.settings))))

    @property
    def name(self) -> str:
        """Names the trial among all trials of all experiments."""
        path = f"{self.experiment}/{self.task}/{self.method}/{self.repetition}"
        if not self.settings:
            return path
        return path + "?" + "&".join(f"{key}={_text(value)}" for key, value in sorted(self.settings.items()))

    @property
    def seed(self) -> int:
        """The trial's own seed."""
        return seed_of(self.name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class FinishedTrial:
    """A trial with its result, as it is stored."""

    trial: Trial
    result: dict[str, Any]
    seconds: float
    finished: str
    """Date and time, ISO 8601, UTC."""
    version: str
    """Of choicebo."""
    commit: str = ""
    """Of its sources, where they are a repository."""

    def to_dict(self) -> dict[str, Any]:
        """JSON values, from which :meth:`from_dict` makes an equal object."""
        how = {"seconds": self.seconds, "finished": self.finished, "version": self.version, "commit": self.commit}
        return asdict(self.trial) | how | {"result": self.result}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FinishedTrial:
        """What :meth:`to_dict` gave."""
        trial = Trial(*(stored[key] for key in ("experiment", "task", "method", "repetition", "settings")))
        how = stored["seconds"], stored["finished"], stored["version"], stored.get("commit", "")
        return cls(trial, dict(stored["result"]), *how)
