"""Fitted models of a study, stored beside its history: they could be computed again, and may be thrown away.

As bytes they are arrays and JSON only, so that a study from somebody else can do no harm when it is read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from choicebo import __version__
from choicebo.study.storage import Storage
from choicebo.study.tables import CacheRow

if TYPE_CHECKING:
    from choicebo.model.posterior import Posterior

_KIND = "posterior"
_MOST = 12
_ARRAYS = ("options", "whitened", "log_likelihood")
# What the model depends on besides the answers; the rest of the settings says how to ask.
_MODEL_SETTINGS = ("latent_dim", "kernel", "engine", "lapse", "correlated", "seed", "baseline")


class PosteriorStore:
    """The latest few models of one study."""

    def __init__(self, storage: Storage, study_id: int, settings: Mapping[str, Any]) -> None:
        self._storage = storage
        self._study_id = study_id
        self._settings = [__version__, {name: settings.get(name) for name in _MODEL_SETTINGS}]

    def has(self, key: tuple[str, int]) -> bool:
        """Whether the model of these answers is stored."""
        return self._find(sa.select(CacheRow.id), key) is not None

    def load(self, key: tuple[str, int]) -> Posterior | None:
        """The model of these answers; None if it is not stored, or damaged: that costs time, no more."""
        content = self._find(sa.select(CacheRow.content), key)
        try:
            return None if content is None else from_bytes(content)
        except (EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile):
            return None

    def save(self, key: tuple[str, int], posterior: Posterior) -> None:
        """Store a model; the oldest go."""
        insert: Any = sqlite.insert if self._storage.is_sqlite else postgresql.insert
        row = {"study_id": self._study_id, "kind": _KIND, "key": self._key(key), "content": to_bytes(posterior)}
        mine = CacheRow.study_id == self._study_id
        latest = sa.select(CacheRow.id).where(mine, CacheRow.kind == _KIND).order_by(CacheRow.id.desc()).limit(_MOST)
        with self._storage.write() as connection:
            connection.execute(insert(CacheRow).values(row).on_conflict_do_nothing())
            connection.execute(sa.delete(CacheRow).where(mine, CacheRow.id.not_in(latest.scalar_subquery())))

    def clear(self) -> None:
        """Throw all of them away."""
        with self._storage.write() as connection:
            connection.execute(sa.delete(CacheRow).where(CacheRow.study_id == self._study_id))

    def _find(self, statement: sa.Select[Any], key: tuple[str, int]) -> Any:
        of_study = (CacheRow.study_id == self._study_id, CacheRow.kind == _KIND, CacheRow.key == self._key(key))
        with self._storage.read() as connection:
            return connection.execute(statement.where(*of_study)).scalar()

    def _key(self, key: tuple[str, int]) -> str:
        text = json.dumps([*self._settings, *key], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def to_bytes(posterior: Posterior) -> bytes:
    """A fitted model as bytes."""
    diagnostics = dataclasses.asdict(posterior.diagnostics)
    trace = np.asarray(diagnostics.pop("evidence_trace"))
    spec = dataclasses.asdict(posterior.spec)
    text = json.dumps(
        {
            "data": posterior.data.to_json(),
            "spec": {**spec, "prior": list(posterior.spec.prior)},
            "likelihood": posterior.likelihood,
            "diagnostics": diagnostics,
        }
    )
    arrays = {name: np.asarray(getattr(posterior, name)) for name in _ARRAYS}
    hyper = {f"hyper_{name}": np.asarray(value) for name, value in posterior.hyper._asdict().items()}
    buffer = io.BytesIO()
    everything: dict[str, Any] = {"text": np.array(text), "evidence_trace": trace, **arrays, **hyper}
    np.savez(buffer, **everything)
    return buffer.getvalue()


def from_bytes(content: bytes) -> Posterior:
    """What :func:`to_bytes` was given."""
    from choicebo.choices import ChoiceData
    from choicebo.model.covariance import Hyperparameters, HyperPrior
    from choicebo.model.diagnostics import Diagnostics
    from choicebo.model.engines.base import Limits, ModelSpec
    from choicebo.model.posterior import Posterior

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        record = json.loads(str(arrays["text"]))
        told = record["diagnostics"]
        return Posterior(
            data=ChoiceData.from_json(record["data"]),
            spec=ModelSpec(**{**record["spec"], "prior": HyperPrior(*record["spec"]["prior"])}),
            hyper=Hyperparameters(**{name: arrays[f"hyper_{name}"] for name in Hyperparameters._fields}),
            likelihood=record["likelihood"],
            diagnostics=Diagnostics(
                **{**told, "limits": Limits(*told["limits"])}, evidence_trace=arrays["evidence_trace"]
            ),
            **{name: arrays[name] for name in _ARRAYS},
        )
