"""One question: the options shown, in their order, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from choicebo.errors import DataError
from choicebo.space import Option


@dataclass(frozen=True)
class Query:
    """A question to a person.

    >>> query = Query(1, [{"x": 0.5}, {"x": 0.25}], "Two to begin with.", (True, True), "sobol")
    >>> Query.from_dict(query.to_dict()) == query
    True
    """

    id: int
    """Questions are counted from 1; everything random about a question follows from the optimiser's seed and this."""
    options: list[Option]
    """The options in the shuffled order in which they are shown."""
    reason: str
    """Why these, in a sentence for the person who is asked."""
    new: tuple[bool, ...]
    """Which of them were never shown before."""
    strategy: str
    """What proposed them: "sobol" before there is a model, "stand-in" instead of it, and with it the acquisitions that found the
    new options, in the order shown, as in "ehvi+variation"."""
    latent_dim: int | None = None
    """Latent dimensions of the model behind the question; None before there is one."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible record that :meth:`from_dict` reads back."""
        return {
            "id": self.id,
            "options": [dict(option) for option in self.options],
            "reason": self.reason,
            "new": list(self.new),
            "strategy": self.strategy,
            "latent_dim": self.latent_dim,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Query:
        """The query that :meth:`to_dict` described."""
        try:
            return cls(
                id=int(record["id"]),
                options=[dict(option) for option in record["options"]],
                reason=str(record["reason"]),
                new=tuple(bool(flag) for flag in record["new"]),
                strategy=str(record["strategy"]),
                latent_dim=None if record["latent_dim"] is None else int(record["latent_dim"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"a query record is incomplete or malformed ({error!r}); expected what to_dict writes"
            ) from None
