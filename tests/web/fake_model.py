"""A model that costs nothing, so that what happens around its questions can be tested."""

from __future__ import annotations

from typing import Any

from choicebo.space import from_dict
from choicebo.study import compute

STRATEGY = "fake model"


def next_query(state: dict[str, Any], *_: Any) -> dict[str, Any]:
    """In the place of ``compute.next_query``: new options that depend on everything that was recorded, and on nothing else."""
    if not compute.needs_model(state, from_dict(state["space"]).dim):
        return {**compute.stand_in(state), "posterior": None}
    space = from_dict(state["space"])
    points = space.sample(state["settings"]["query_size"], seed=int(compute.question_key(state)[:8], 16))
    query = {
        "id": state["next_id"],
        "options": space.decode(points),
        "reason": "The model wants to know.",
        "new": [True] * len(points),
        "strategy": STRATEGY,
        "latent_dim": 2,
    }
    return {"query": query, "latent_dim_history": state["latent_dim_history"], "posterior": None}


def likely_answers(*_: Any) -> list[list[int]]:
    """In the place of ``compute.likely_answers``."""
    return [[0]]
