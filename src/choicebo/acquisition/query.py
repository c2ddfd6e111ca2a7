"""Which known options to show beside the new ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from choicebo.model.choice_table import choice_table
from choicebo.model.draws import LatentDraws, evenly, memberships

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TABLE_DRAWS = 64
_SHORTLIST = 16


def pareto_probabilities(latent: Array) -> Array:
    """Share of the draws (draws, m, n_e) in which each option is non-dominated, (m,)."""
    return np.asarray(memberships(latent).mean(0))


def most_dominated(draws: LatentDraws, new: Rows, front: Rows, count: int) -> Rows:
    """The paper's rule: the ``count`` options of ``front`` most probably beaten by one of the ``new``."""
    margin = draws.latent[:, new][:, :, None] - draws.latent[:, front][:, None]
    beaten = 1.0 - (1.0 - ndtr(margin / np.sqrt(2.0)).prod(-1)).prod(1)
    return front[np.argsort(-beaten.mean(0), kind="stable")[:count]]


def most_informative(draws: LatentDraws, new: Rows, candidates: Rows, count: int, about: Rows) -> Rows:
    """Options of ``candidates`` beside which the answer tells most about who is Pareto-optimal, found one by one.

    What counts is the mutual information between the answer and the Pareto membership of each option ``about``, summed.
    """
    member = memberships(draws.latent)[:, about]
    chosen: list[int] = []
    some = evenly(draws.count, min(_TABLE_DRAWS, draws.count))
    pool = [int(c) for c in most_dominated(draws, new, candidates, _SHORTLIST)]
    while len(chosen) < count and pool:
        told = []
        for option in pool:
            shown = [*new.tolist(), *chosen, option]
            told.append(membership_information(choice_table(draws.latent[some][:, shown]), member[some]))
        chosen.append(pool.pop(int(np.argmax(told))))
    return np.asarray(chosen, dtype=np.int64)


def membership_information(table: Array, member: NDArray[np.bool_]) -> float:
    """Mutual information in nats between the answer and each column of ``member: (draws, options)``, summed.

    ``table: (draws, answers)`` holds the probability of each answer in each draw.
    """
    answer = table / table.sum(1, keepdims=True)
    marginal = answer.mean(0)
    joint = answer.T @ member / len(member)
    prior = member.mean(0)
    given = _entropy(joint / np.maximum(marginal[:, None], 1e-12))
    return float((_entropy(prior) - marginal @ given).sum())


def _entropy(p: Array) -> Array:
    p = np.clip(p, 0.0, 1.0)
    return np.asarray(-xlogy(p, p) - xlogy(1.0 - p, 1.0 - p))
