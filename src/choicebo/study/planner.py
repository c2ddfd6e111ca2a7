"""What takes long, done once: the next question and the model, computed here or in an executor, and kept as a cache."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from choicebo.study import compute, log
from choicebo.study.cache import POSTERIOR, PREPARED, Cache
from choicebo.study.definition import Definition
from choicebo.study.log import Entry
from choicebo.study.replay import Replay, Thread, optimizer_state, replay

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.optimizer import ChoiceOptimizer

State = dict[str, Any]


class Planner:
    """Computes for one study; threads may share it."""

    def __init__(self, what: Definition, cache: Cache, executor: Executor | None) -> None:
        self._settings = what.settings
        self._space = what.space.to_dict()
        self._separate = what.raters_mode == "separate"
        self._cache = cache
        self._executor = executor
        self._busy = threading.Lock()

    def state(self, state: Replay, rater: str | None) -> State:
        """The record of the optimiser with everybody's answers, or with one rater's."""
        asked_so = (rater is not None) == self._separate
        return optimizer_state(self._space, self._settings, state, rater, asked_so)

    def asking_state(self, state: Replay, rater: str) -> State:
        """The record from which the next question of a rater is computed."""
        return self.state(state, rater if self._separate else None)

    def is_prepared(self, state: State) -> bool:
        """Whether the next question is known."""
        return self._cache.has(PREPARED, compute.question_key(state))

    def is_fitted(self, state: State) -> bool:
        """Whether the model is known, or there is nothing to learn from."""
        return not compute.has_answers(state) or self._cache.has(POSTERIOR, compute.posterior_key(state))

    def next_query(
        self, state: State, progress: ProgressCallback | None = None, *, keep: bool = True
    ) -> dict[str, Any]:
        """The question that follows, with the latent dimensions found on the way; kept, or only if it took a model."""
        key = compute.question_key(state)
        found = self._cache.prepared(key)
        if found is not None:
            return found
        with self._busy:
            found = self._cache.prepared(key)  # another thread may have been at it
            if found is None:
                known = self._known(state)
                found = self._run(compute.next_query, state, known, progress=progress)
                content = found.pop("posterior")
                items = [(PREPARED, key, json.dumps(found).encode())] if keep or content is not None else []
                if known is None:
                    items += _posterior_items(state, found["latent_dim_history"], content)
                self._cache.put(*items)
        return found

    def fitted(self, state: State, progress: ProgressCallback | None = None) -> ChoiceOptimizer:
        """The loop in memory, with its model if there are answers."""
        known = self._known(state)
        if known is None and compute.has_answers(state):
            found = self._run(compute.fit, state, None, progress=progress)
            known = found["posterior"]
            self._cache.put(*_posterior_items(state, found["latent_dim_history"], known))
        return compute.restore(state, known)

    def restored(self, state: State) -> ChoiceOptimizer:
        """The loop in memory, with its model only if that is kept."""
        return compute.restore(state, self._known(state))

    def prepare_ahead(self, before: Replay, thread: Thread, answers: int, stop: Callable[[], bool]) -> int:
        """Compute what follows each of the most probable answers to an open question; how many."""
        rater, position = thread.start.rater, thread.start.position
        state = self.asking_state(before, rater)
        same = [t.start.position for t in before.by_number.values() if not self._separate or t.start.rater == rater]
        likely = self._run(compute.likely_answers, state, same.index(position) + 1, answers, self._known(state))
        prepared = 0
        for kept in likely:
            if stop():
                break
            told = Entry(before.position + 1, "answer", rater, log.now(), position, tuple(kept))
            self.next_query(self.asking_state(replay([*before.entries, told]), rater))
            prepared += 1
        return prepared

    def rehearse(self, state: State, more: int, executor: Executor) -> None:
        """Let a process meet the shapes of the questions to come."""
        executor.submit(compute.rehearse, state, more)

    def _known(self, state: State) -> bytes | None:
        return self._cache.posterior(compute.posterior_key(state)) if compute.has_answers(state) else None

    def _run(self, function: Callable[..., Any], *arguments: Any, progress: ProgressCallback | None = None) -> Any:
        if self._executor is not None:
            return self._executor.submit(function, *arguments).result()
        return function(*arguments) if progress is None else function(*arguments, progress)


def _posterior_items(
    state: State, history: list[dict[str, Any]], content: bytes | None
) -> list[tuple[str, str, bytes]]:
    if content is None:
        return []
    # Once the question is asked its record holds what was found on the way: the same model under another key.
    keys = {compute.posterior_key(state), compute.posterior_key({**state, "latent_dim_history": history})}
    return [(POSTERIOR, key, content) for key in sorted(keys)]
