"""A posterior for ArviZ: draws, log-likelihood and sample statistics, with the names of options, inputs and objectives."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import choicebo
from choicebo.errors import InvalidInputError
from choicebo.extras import needs
from choicebo.formatting import as_given
from choicebo.model.alignment import aligned_orders, reordered
from choicebo.model.evaluate import Likelihood
from choicebo.model.posterior import Posterior
from choicebo.presentation.fields import describe
from choicebo.space import Catalogue, Searchable, Space

Array = NDArray[np.float64]

_DIMS = {
    "latent": ["option", "objective"],
    "choice_probability": ["choice"],
    "kept": ["choice", "option"],
    "X": ["option", "input"],
    "lengthscale": ["part", "input"],
    "scale": ["dimension"],
    "mixing": ["dimension", "part"],
}


def to_arviz(
    posterior: Posterior, space: Searchable | None = None, *, objective_names: Sequence[str] | None = None
) -> Any:
    """A posterior as ArviZ's own data structure.

    - ``posterior``: ``latent`` (chain, draw, option, objective), in units of the noise. The numbering of hidden objectives is
      arbitrary and may differ between draws; here all draws have the same one.
    - ``log_likelihood``: ``choice_probability`` (chain, draw, choice), the log-probability of each answer among all non-empty
      subsets of its set, so that models with different numbers of objectives can be compared.
    - ``sample_stats``: ``lp`` (chain, draw), the log-density of the draw up to a constant. The attributes hold what the fit's
      own diagnostics say.
    - ``observed_data``: ``kept`` (choice, option): 1 kept, 0 rejected, -1 not shown.
    - ``constant_data``: the options ``X`` in the unit cube, and the hyperparameters, which are point estimates and have no draws:
      ``lengthscale`` of the independent parts, ``scale`` and ``mixing``. They have the model's own numbering of the objectives.

    ``az.loo`` weighs draws by ``choice_probability``, while the posterior was drawn with the unnormalised likelihood of
    Theorem 1; ``posterior.loo()`` knows both, and refits where the weights are unreliable.

    Args:
        posterior: What was learned.
        space: What was asked about; gives options and inputs their names. None: they are numbered.
        objective_names: One name for each hidden objective. None: "objective 1", "objective 2", and so on.

    Returns:
        A ``DataTree`` with ArviZ 1.0 or later, an ``InferenceData`` before.

    Raises:
        MissingExtraError: ArviZ is not installed.
        InvalidInputError: The space has other inputs than the posterior, or there are too many or too few names.
    """
    with needs("arviz", "to_arviz()"):
        import arviz

    likelihood = Likelihood.of(posterior.data, posterior.likelihood, posterior.spec.lapse)
    chains, draws = posterior.whitened.shape[:2]
    latent = posterior.draws.at(posterior.options, 0)  # the draws of all chains in turn
    hidden = latent[..., : posterior.latent_dim]
    orders = aligned_orders(hidden)
    log_probability = likelihood.normalised_values(np.swapaxes(latent, 1, 2))[..., likelihood.place]
    weights = np.array([choice.weight for choice in posterior.data.choices])
    whitened_size = (posterior.whitened**2).reshape(chains, draws, -1).sum(2)

    def by_chain(values: Array) -> Array:
        return np.swapaxes(values.reshape(draws, chains, *values.shape[1:]), 0, 1)

    groups: dict[str, dict[str, Any]] = {
        "posterior": {"latent": by_chain(reordered(hidden, orders))},
        "log_likelihood": {"choice_probability": by_chain(log_probability)},
        "sample_stats": {"lp": posterior.log_likelihood @ weights - 0.5 * whitened_size},
        "observed_data": {"kept": _kept(posterior, likelihood.rows)},
        "constant_data": {
            "X": posterior.options,
            "lengthscale": posterior.lengthscales,
            "scale": posterior.scales,
            "mixing": posterior.mixing,
        },
    }
    coords = _coordinates(posterior, space, objective_names)
    if int(arviz.__version__.partition(".")[0]) >= 1:
        result = arviz.from_dict(groups, coords=coords, dims=_DIMS)
        result["sample_stats"].attrs.update(_attributes(posterior))
        result["posterior"].attrs.update(_origin())
    else:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "More chains")  # there are many short chains on purpose
            result = arviz.from_dict(**groups, coords=coords, dims=_DIMS, attrs=_origin())
        result.sample_stats.attrs.update(_attributes(posterior))
    return result


def _origin() -> dict[str, str]:
    return {"inference_library": "choicebo", "inference_library_version": choicebo.__version__}


def _attributes(posterior: Posterior) -> dict[str, Any]:
    """The diagnostics as attributes, which files can hold."""
    found = posterior.diagnostics
    return {
        "engine": found.engine,
        "r_hat": found.r_hat,
        "effective_sample_size": found.effective_sample_size,
        "divergences": found.divergences,
        "acceptance": found.acceptance,
        "log_evidence": found.log_evidence,
        "sampling_time": found.seconds,
    }


def _kept(posterior: Posterior, rows: NDArray[np.int64]) -> NDArray[np.int8]:
    """(choices, options): 1 kept, 0 rejected, -1 not shown; ``rows`` are those of the data that the options are."""
    at = {int(row): number for number, row in enumerate(rows)}
    result = np.full((posterior.data.n_choices, len(rows)), -1, dtype=np.int8)
    for number, choice in enumerate(posterior.data.choices):
        result[number, [at[row] for row in choice.rejected]] = 0
        result[number, [at[row] for row in choice.kept]] = 1
    return result


def _coordinates(
    posterior: Posterior, space: Searchable | None, objective_names: Sequence[str] | None
) -> dict[str, list[Any]]:
    options, inputs = posterior.options.shape
    if space is None:
        option_names: list[Any] = list(range(options))
        input_names = [f"x{column}" for column in range(inputs)]
    elif space.dim != inputs:
        raise InvalidInputError(
            f"The options have {inputs} inputs, but the space has {space.dim}; give the space of these options."
        )
    else:
        option_names = _option_names(space, posterior.options)
        input_names = [column.name for column in space.columns]
    count = posterior.latent_dim
    names = [f"objective {d + 1}" for d in range(count)] if objective_names is None else list(objective_names)
    if len(names) != count or len(set(names)) != count or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"objective_names must be {count} different names, one for each objective, got {as_given(objective_names)}."
        )
    return {
        "option": option_names,
        "input": input_names,
        "objective": names,
        "dimension": list(range(count)),
        "part": list(range(count)),
        "choice": list(range(posterior.data.n_choices)),
    }


def _option_names(space: Searchable, points: Array) -> list[Any]:
    """The keys of a catalogue's rows; else the options in words, with a number where two read alike."""
    options = space.decode(points)
    if isinstance(space, Catalogue):
        return [option[space.key] for option in options]
    if not isinstance(space, Space):
        return list(range(len(options)))
    words = [describe(space, option) for option in options]
    total, seen = Counter(words), Counter[str]()
    names = []
    for text in words:
        seen[text] += 1
        names.append(f"{text} ({seen[text]})" if total[text] > 1 else text)
    return names
