"""A fitted posterior as bytes: arrays and JSON only, so that a study from somebody else can do no harm when it is read."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from choicebo.model.posterior import Posterior

_ARRAYS = ("options", "whitened", "log_likelihood")


def to_bytes(posterior: Posterior, latent_dim_history: list[dict[str, Any]]) -> bytes:
    """The posterior, and what was found on the way about the number of latent dimensions."""
    diagnostics = dataclasses.asdict(posterior.diagnostics)
    trace = np.asarray(diagnostics.pop("evidence_trace"))
    spec = dataclasses.asdict(posterior.spec)
    text = json.dumps(
        {
            "data": posterior.data.to_json(),
            "spec": {**spec, "prior": list(posterior.spec.prior)},
            "likelihood": posterior.likelihood,
            "diagnostics": diagnostics,
            "latent_dim_history": latent_dim_history,
        }
    )
    arrays = {name: np.asarray(getattr(posterior, name)) for name in _ARRAYS}
    hyper = {f"hyper_{name}": np.asarray(value) for name, value in posterior.hyper._asdict().items()}
    buffer = io.BytesIO()
    everything: dict[str, Any] = {"text": np.array(text), "evidence_trace": trace, **arrays, **hyper}
    np.savez(buffer, **everything)
    return buffer.getvalue()


def from_bytes(content: bytes) -> tuple[Posterior, list[dict[str, Any]]]:
    """What :func:`to_bytes` was given."""
    from choicebo.choices import ChoiceData
    from choicebo.model.covariance import Hyperparameters, HyperPrior
    from choicebo.model.diagnostics import Diagnostics
    from choicebo.model.engines.base import Limits, ModelSpec
    from choicebo.model.posterior import Posterior

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        record = json.loads(str(arrays["text"]))
        spec = ModelSpec(**{**record["spec"], "prior": HyperPrior(*record["spec"]["prior"])})
        hyper = {name: arrays[f"hyper_{name}"] for name in Hyperparameters._fields if f"hyper_{name}" in arrays}
        told = record["diagnostics"]
        independent = np.zeros((spec.n_e, spec.n_e))  # files from before latent functions could be correlated
        posterior = Posterior(
            data=ChoiceData.from_json(record["data"]),
            spec=spec,
            hyper=Hyperparameters(**{"coupling": independent, **hyper}),
            likelihood=record["likelihood"],
            diagnostics=Diagnostics(
                **{**told, "limits": Limits(*told["limits"])}, evidence_trace=arrays["evidence_trace"]
            ),
            **{name: arrays[name] for name in _ARRAYS},
        )
    return posterior, record["latent_dim_history"]
