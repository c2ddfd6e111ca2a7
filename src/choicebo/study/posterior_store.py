"""Fitted models of a study, stored beside its history: they could be computed again, and may be thrown away.

As bytes they are arrays and JSON only, so that a study from somebody else can do no harm when it is read. What does not fit the
answers, or is not what this module writes, is taken for damaged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import math
import numbers
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from choicebo import __version__
from choicebo.errors import ReadOnlyError
from choicebo.space import KnownObjectives
from choicebo.study.storage import Storage
from choicebo.study.tables import CacheRow

if TYPE_CHECKING:
    from choicebo.model.known import Known
    from choicebo.model.posterior import Posterior

_KIND = "posterior"
_MOST = 12
_ARRAYS = ("options", "whitened", "log_likelihood")
_OF_PEOPLE = ("whitened", "inducing", "own", "lapses")
# What the model depends on besides the answers; the rest of the settings says how to ask.
_MODEL_SETTINGS = ("latent_dim", "kernel", "engine", "lapse", "correlated", "seed", "baseline")


class PosteriorStore:
    """The latest few models of one study."""

    def __init__(
        self, storage: Storage, study_id: int, settings: Mapping[str, Any], known: KnownObjectives | None = None
    ) -> None:
        """``known`` are the known objectives of the study's space."""
        self._known = known
        self._storage = storage
        self._study_id = study_id
        self._settings: tuple[str, dict[str, Any]] = __version__, {name: settings.get(name) for name in _MODEL_SETTINGS}

    def has(self, key: tuple[str, int]) -> bool:
        """Whether the model of these answers is stored."""
        return self._find(sa.select(CacheRow.id), key) is not None

    def load(self, key: tuple[str, int]) -> Posterior | None:
        """The model of these answers; None if it is not stored, or damaged, which only costs time."""
        content = self._find(sa.select(CacheRow.content), key)
        try:
            return None if content is None else self._fitting(from_bytes(content, self._known), key)
        except Exception:  # whatever garbage can do to a parser, want of memory and depth included
            return None

    def save(self, key: tuple[str, int], posterior: Posterior) -> None:
        """Store a model and drop the oldest ones. A read-only database is left alone, which only costs time."""
        insert: Any = sqlite.insert if self._storage.is_sqlite else postgresql.insert
        row = {"study_id": self._study_id, "kind": _KIND, "key": self._key(key), "content": to_bytes(posterior)}
        mine = CacheRow.study_id == self._study_id
        latest = sa.select(CacheRow.id).where(mine, CacheRow.kind == _KIND).order_by(CacheRow.id.desc()).limit(_MOST)
        with contextlib.suppress(ReadOnlyError), self._storage.write() as connection:
            connection.execute(insert(CacheRow).values(row).on_conflict_do_nothing())
            connection.execute(sa.delete(CacheRow).where(mine, CacheRow.id.not_in(latest.scalar_subquery())))

    def clear(self) -> None:
        """Throw all of them away."""
        with self._storage.write() as connection:
            connection.execute(sa.delete(CacheRow).where(CacheRow.study_id == self._study_id))

    def _fitting(self, found: Posterior, key: tuple[str, int]) -> Posterior:
        """The model, if it is one of these answers and settings."""
        settings = self._settings[1]
        expected = (*key, *(settings[name] for name in ("kernel", "lapse", "correlated")))
        spec = found.spec
        expected = (key[0].partition("+")[0], *expected[1:])  # what was measured is stored with the known objectives
        if (found.data.fingerprint, spec.latent_dim, spec.kernel, spec.lapse, spec.correlated) != expected:
            raise ValueError("it is the model of other answers")
        return found

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
    # How known objectives are computed, the space knows.
    spec = dataclasses.asdict(dataclasses.replace(posterior.spec, known=None))
    del spec["known"]
    text = json.dumps(
        {
            "data": posterior.data.to_json(),
            "spec": {**spec, "prior": list(posterior.spec.prior)},
            "likelihood": posterior.likelihood,
            "diagnostics": diagnostics,
            "people": None if posterior.people is None else list(posterior.people.names),
        }
    )
    arrays = {name: np.asarray(getattr(posterior, name)) for name in _ARRAYS}
    hyper = {f"hyper_{name}": np.asarray(value) for name, value in posterior.hyper._asdict().items()}
    if posterior.inducing is not None:
        arrays["inducing"] = posterior.inducing
    if posterior.own is not None:
        arrays["log_likelihood"] = arrays["log_likelihood"].astype(np.float32)  # many answers; they were computed so
        arrays |= {f"own_{name}": value for name, value in posterior.own._asdict().items()}
    if posterior.people is not None:
        arrays |= {f"people_{name}": np.asarray(getattr(posterior.people, name)) for name in _OF_PEOPLE}
        hyper |= {f"people_hyper_{name}": value for name, value in posterior.people.hyper._asdict().items()}
    if posterior.spec.known is not None:
        arrays |= _known_arrays(posterior.spec.known)
    buffer = io.BytesIO()
    everything: dict[str, Any] = {"text": np.array(text), "evidence_trace": trace, **arrays, **hyper}
    np.savez(buffer, **everything)
    return buffer.getvalue()


def from_bytes(content: bytes, known: KnownObjectives | None = None) -> Posterior:
    """What :func:`to_bytes` was given; an error of any kind if it was damaged, or if other objectives were known."""
    from choicebo.choices import ChoiceData
    from choicebo.model.covariance import Hyperparameters, HyperPrior
    from choicebo.model.diagnostics import Diagnostics
    from choicebo.model.engines.base import Limits, ModelSpec
    from choicebo.model.own_parts import OwnParts
    from choicebo.model.people import PeopleDraws
    from choicebo.model.posterior import Posterior

    _check_sizes(content)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        record = json.loads(str(arrays["text"]))
        told = record["diagnostics"]
        fixed = None if known is None else _known_from(arrays, known, record["spec"])
        found = Posterior(
            data=ChoiceData.from_json(record["data"]),
            spec=ModelSpec(**{**record["spec"], "prior": HyperPrior(*record["spec"]["prior"])}, known=fixed),
            hyper=Hyperparameters(**{name: arrays[f"hyper_{name}"] for name in Hyperparameters._fields}),
            likelihood=record["likelihood"],
            diagnostics=Diagnostics(
                **{**told, "limits": Limits(*told["limits"])}, evidence_trace=arrays["evidence_trace"]
            ),
            **{name: arrays[name] for name in _ARRAYS},
        )
        if "inducing" in arrays:
            found = dataclasses.replace(found, inducing=arrays["inducing"])
        if "own_mean" in arrays:
            own = OwnParts(**{name: arrays[f"own_{name}"] for name in OwnParts._fields})
            found = dataclasses.replace(found, own=own)
        if record["people"] is not None:
            people = PeopleDraws(
                names=tuple(record["people"]),
                hyper=Hyperparameters(**{name: arrays[f"people_hyper_{name}"] for name in Hyperparameters._fields}),
                **{name: arrays[f"people_{name}"] for name in _OF_PEOPLE},
            )
            found = dataclasses.replace(found, people=people)
    _check_shapes(found, 0 if known is None else len(known))
    return found


def _known_arrays(known: Known) -> dict[str, Any]:
    """Known objectives, apart from how they are computed, with the numbers of measured ones."""
    from choicebo.model.measured import Prediction

    names = ("centre", "width", *(("measured", "points", "values") if any(known.measured) else ()))
    arrays = {f"known_{name}": np.asarray(getattr(known, name)) for name in names}
    return arrays | ({"known_fill": known.fill.hyper} if isinstance(known.fill, Prediction) else {})


def _known_from(arrays: Any, function: KnownObjectives, spec: Mapping[str, Any]) -> Known:
    """What :func:`_known_arrays` was given."""
    from choicebo.model.known import Known
    from choicebo.model.measured import Prediction

    centre, width = arrays["known_centre"], arrays["known_width"]
    if "known_measured" not in arrays:
        return Known(function, centre, width)
    points, values, measured = (arrays[f"known_{name}"] for name in ("points", "values", "measured"))
    known = Known(function, centre, width, tuple(measured.tolist()), points, values)
    count = len(known.of_measured)
    fits = measured.shape == width.shape and points.ndim == 2 and values.shape == (len(points), count)
    if not fits or measured.dtype.kind != "b" or np.isinf(values).any() or not np.isfinite(points).all():
        raise ValueError("what was measured is damaged")
    if isinstance(function, KnownObjectives):
        entered = np.full((len(points), len(function)), np.nan)
        entered[:, measured] = values * function.signs[measured]
        known = dataclasses.replace(known, function=function.with_measurements(points, entered))
    if "known_fill" not in arrays:
        return known
    hyper = arrays["known_fill"]
    if hyper.shape != (count, points.shape[1] + 2) or not np.isfinite(hyper).all():
        raise ValueError("what was measured is damaged")
    return dataclasses.replace(known, fill=Prediction(known, spec["kernel"], spec["nugget"], hyper))


def _check_sizes(content: bytes) -> None:
    """Refuse what would take more memory than it has bytes: nothing is compressed in :func:`to_bytes`."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
            raise ValueError("it is compressed")
        if sum(part.file_size for part in parts) > len(content):
            raise ValueError("it unpacks to more than it holds")
        for part in parts:
            with archive.open(part) as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(file)
            if dtype.hasobject or math.prod(shape) * dtype.itemsize > part.file_size:
                raise ValueError("an array is larger than its bytes")


def _check_rows(rows: Any, shape: tuple[int, ...], limit: int) -> None:
    """Refuse what are not rows below a limit."""
    if rows.shape != shape or rows.dtype.kind != "i" or not rows.size or rows.min() < 0 or rows.max() >= limit:
        raise ValueError("rows are damaged")


def _check_people(found: Posterior, options: int) -> None:
    """Refuse draws of people that do not belong to the answers."""
    people, latent_dim = found.people, found.spec.latent_dim
    assert people is not None
    names = tuple(dict.fromkeys(choice.rater for choice in found.data.choices))
    shared, count = len(people.inducing), len(names)
    _check_rows(people.inducing, (shared,), options)
    _check_rows(people.own + 1, (count, people.own.size // count), options + 1)
    shape = (*found.whitened.shape[:3], shared + people.own.size)
    fits = (
        people.whitened.shape == shape
        and people.lapses.shape == (count,)
        and people.hyper.personal.shape == (latent_dim,)
    )
    numeric = (people.whitened, people.lapses, *people.hyper)
    if people.names != names or not fits or not all(np.isfinite(part).all() for part in numeric):
        raise ValueError("the people are damaged")


def _check_shapes(found: Posterior, known: int) -> None:
    """Refuse arrays that do not belong together, and values that are not numbers."""
    from choicebo.model.measured import measured_rows

    latent_dim, inputs = found.spec.latent_dim, found.data.dim
    learned = latent_dim + found.spec.measured_count
    chains, draws = found.whitened.shape[:2]
    options = np.unique([row for choice in found.data.choices for row in choice.shown])
    also = measured_rows(found.spec.known, found.data.X)
    options = options if also is None else np.union1d(options, also)
    size = len(options) if found.inducing is None else len(found.inducing)
    expected = {
        "options": (found.options, (len(options), inputs)),
        "whitened": (found.whitened, (chains, draws, learned, size)),
        "log_likelihood": (found.log_likelihood, (chains, draws, found.data.n_choices)),
        "log_lengthscale": (found.hyper.log_lengthscale, (latent_dim, inputs)),
        "log_scale": (found.hyper.log_scale, (latent_dim,)),
        "coupling": (found.hyper.coupling, (latent_dim, latent_dim)),
        "known": (found.hyper.known, (known,)),
        "measured": (found.hyper.measured, (learned - latent_dim, inputs + 2) if learned > latent_dim else (0, 0)),
    }
    if found.spec.known is not None:
        expected |= {name: (getattr(found.spec.known, name), (known,)) for name in ("centre", "width")}
    if found.inducing is not None:
        _check_rows(found.inducing, (size,), len(options))
    if found.people is not None:
        _check_people(found, len(options))
    if found.own is not None:
        orders = (len(found.own.mean), learned, len(options))
        expected |= {"own mean": (found.own.mean, orders), "own spread": (found.own.spread, orders)}
        _check_rows(found.own.order, (chains * draws,), orders[0])
    for name, (array, shape) in expected.items():
        lacking = not array.size and name not in ("known", "measured") and latent_dim > 0
        if array.shape != shape or array.dtype.kind != "f" or lacking or not np.isfinite(array).all():
            raise ValueError(f"{name} is damaged")
    if not np.array_equal(found.options, found.data.X[options]):
        raise ValueError("the options are others")
    told = dataclasses.asdict(found.diagnostics)
    counted = [told.pop("draws"), told.pop("divergences")]
    measured = [told[name] for name in ("r_hat", "effective_sample_size", "acceptance", "log_evidence", "seconds")]
    if not all(isinstance(n, int) for n in counted) or not all(isinstance(n, numbers.Real) for n in measured):
        raise ValueError("the diagnostics are damaged")
    if not isinstance(told["engine"], str) or found.likelihood != "choice":
        raise ValueError("the settings are damaged")
