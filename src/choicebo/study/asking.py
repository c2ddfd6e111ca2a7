"""How a question comes into the log, whoever else is asking and answering meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choicebo.study.ledger import Ledger
from choicebo.study.planner import Planner, is_still_new
from choicebo.study.records import Question

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback

_PATIENCE = 3
"""How often a question is computed anew because answers came in meanwhile, before it is asked as it is."""


def ask(
    ledger: Ledger, planner: Planner, rater: str, seed: int, another: bool, progress: ProgressCallback | None
) -> Question:
    """The rater's open question; a new one if there is none, or with ``another``. It is waited for."""
    attempt = 0
    while True:
        before = ledger.read()
        waiting = before.open_threads(rater)
        if waiting and not another:
            return before.question(waiting[0])
        state = planner.asking_state(before, rater)
        found = planner.next_query(state, progress, keep=False)
        with ledger.writing() as (connection, after):
            waiting = after.open_threads(rater)
            if waiting and not another:
                return after.question(waiting[0])
            # Answers that came in meanwhile make the question a little out of date. A question does more: asking
            # the one that was computed beside it could be asking the same twice.
            now = planner.asking_state(after, rater)
            if now == state or (attempt >= _PATIENCE and now["next_id"] == state["next_id"]):
                return ledger.ask(connection, after, rater, found, seed, before.position)
        attempt += 1


def ask_at_once(ledger: Ledger, planner: Planner, rater: str, seed: int) -> Question:
    """The rater's open question, or a new one without waiting for the model."""
    while True:
        before = ledger.read()
        waiting = before.open_threads(rater)
        if waiting:
            return before.question(waiting[0])
        found, known_until = planner.at_once(before, rater)
        with ledger.writing() as (connection, after):
            waiting = after.open_threads(rater)
            if waiting:
                return after.question(waiting[0])
            if is_still_new(found["query"], after.entries[len(before.entries) :]):
                return ledger.ask(connection, after, rater, found, seed, known_until)
