"""What was learned in all contexts, seen from one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import one_blas_thread
from choicebo.model.posterior import Posterior
from choicebo.space import Searchable, Space
from choicebo.space.context import are_in, taken_into
from choicebo.space.points import distinct, rows_in

Array = NDArray[np.float64]

_MOST = 256
"""Of more known options, so many of the best are taken into a context."""


def options_in(space: Searchable, points: Array, context: Mapping[str, Any]) -> Array:
    """Options ``points: (n, d)`` of any context, taken into this one: (m, d), distinct, those that may be offered there."""
    if not context:
        return points
    assert isinstance(space, Space)
    moved = distinct(taken_into(space, points, context))[0]
    return moved[space.feasible(moved)]


def posterior_in(posterior: Posterior, space: Searchable, context: Mapping[str, Any]) -> Posterior | None:
    """The posterior at the options known from any context, taken into this one; None if none of them may be offered there.

    Each draw says what these options are worth in this context, and forgets what they are worth in others. Little is lost: what
    a draw knows of the options in this context is what matters for further ones. So everything that compares the options of
    a posterior then does so within one context.
    """
    if not context:
        return posterior
    options = options_in(space, posterior.answered, context)
    if not len(options):
        return None
    draws = posterior.draws
    with one_blas_thread():
        if len(options) > _MOST:
            best = np.argsort(-posterior.pareto_probability(options), kind="stable")[:_MOST]
            options = options[np.sort(best)]
        extended = draws.extended(options, 0)
        found = extended.core(rows_in(extended.X, options), len(options))
    flat = np.swapaxes(posterior.log_likelihood, 0, 1).reshape(draws.count, -1)
    return dataclasses.replace(
        posterior,
        options=found.X,
        whitened=found.whitened[None],
        log_likelihood=flat[None],
        inducing=None,
        own=None,
        people=None,
    )


def is_asked_in(posterior: Posterior, choice: int, space: Searchable, context: Mapping[str, Any]) -> bool:
    """Whether a choice that the model learned from was made in this context; ``choice`` is its number."""
    if not context:
        return True
    assert isinstance(space, Space)
    data = posterior.data
    return bool(are_in(space, data.X[list(data.choices[choice].shown)], context).all())
