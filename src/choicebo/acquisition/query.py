"""Which known options to show beside the new ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from choicebo.acquisition.belief import Belief
from choicebo.model.choice_table import choice_table

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_TABLE_DRAWS = 64
_SHORTLIST = 16


def pareto_probabilities(latent: Array) -> Array:
    """Share of the draws (draws, m, n_e) in which each option is non-dominated, (m,)."""
    return np.asarray(memberships(latent).mean(0))


def memberships(latent: Array) -> NDArray[np.bool_]:
    """Whether each option is non-dominated in each draw, (draws, m)."""
    from choicebo.pareto import non_dominated

    return np.stack([non_dominated(values) for values in latent])


def most_dominated(belief: Belief, new: Rows, front: Rows, count: int) -> Rows:
    """The paper's rule: the ``count`` options of ``front`` most probably beaten by one of the ``new``."""
    margin = belief.latent[:, new][:, :, None] - belief.latent[:, front][:, None]
    beaten = 1.0 - (1.0 - ndtr(margin / np.sqrt(2.0)).prod(-1)).prod(1)
    return front[np.argsort(-beaten.mean(0), kind="stable")[:count]]


def most_informative(belief: Belief, new: Rows, candidates: Rows, count: int, about: Rows) -> Rows:
    """Options of ``candidates`` beside which the answer tells most about who is Pareto-optimal, found one by one.

    What counts is the mutual information between the answer and the Pareto membership of each option ``about``, summed.
    """
    member = memberships(belief.latent)[:, about]
    chosen: list[int] = []
    draws = np.linspace(0, len(belief.latent), min(_TABLE_DRAWS, len(belief.latent)), endpoint=False).astype(int)
    pool = [int(c) for c in most_dominated(belief, new, candidates, _SHORTLIST)]
    while len(chosen) < count and pool:
        told = []
        for option in pool:
            shown = [*new.tolist(), *chosen, option]
            told.append(membership_information(choice_table(belief.latent[draws][:, shown]), member[draws]))
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
