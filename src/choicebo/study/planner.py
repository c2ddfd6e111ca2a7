"""What takes long, done once: the next question and the model, computed here or in an executor, and kept as a cache."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from choicebo.study import compute, log
from choicebo.study.cache import LOOK, POSTERIOR, PREPARED, Cache
from choicebo.study.definition import StudyDefinition
from choicebo.study.log import Entry
from choicebo.study.replay import Replay, Thread, optimizer_state, replay

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.optimizer import ChoiceOptimizer

State = dict[str, Any]

_LATE = 10
"""How many questions that the model computed for earlier moments are remembered, should there be no newer one."""
_GROWTH = ("question", "answer", "skip", "addition")
"""Entries that add to what is known. After any other one, what was known before is no longer so."""


class Planner:
    """Computes for one study; threads may share it."""

    def __init__(self, what: StudyDefinition, cache: Cache, executor: Executor | None) -> None:
        self._settings = what.settings
        self._space = what.space.to_dict()
        self._dim = what.space.dim
        self._separate = what.raters_mode == "separate"
        self._cache = cache
        self._executor = executor
        self._busy = threading.Lock()
        self._looking = threading.Lock()
        self._thought: deque[tuple[str | None, int, str]] = deque(maxlen=_LATE)
        """What the model computed: for whose record, after how many entries, under which key it is kept."""

    def state(self, state: Replay, rater: str | None) -> State:
        """The record of the optimiser with everybody's answers, or with one rater's."""
        asked_so = (rater is not None) == self._separate
        return optimizer_state(self._space, self._settings, state, rater, asked_so)

    def asking_state(self, state: Replay, rater: str) -> State:
        """The record from which the next question of a rater is computed."""
        return self.state(state, self._share(rater))

    def is_prepared(self, state: State) -> bool:
        """Whether the next question is known."""
        return self._cache.has(PREPARED, compute.question_key(state))

    def needs_model(self, state: State) -> bool:
        """Whether the next question is computed with the model."""
        return compute.needs_model(state, self._dim)

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
                asking = self._looked(state, progress) if self.needs_model(state) else state
                known = self._known(asking)
                found = self._run(compute.next_query, asking, known, progress=progress)
                content = found.pop("posterior")
                items = [(PREPARED, key, json.dumps(found).encode())] if keep or content is not None else []
                if known is None:
                    items += _posterior_items(state, found["latent_dim_history"], content)
                self._cache.put(*items)
        return found

    def prepare(self, state: Replay, rater: str, progress: ProgressCallback | None = None) -> None:
        """Compute the next question of a rater, and remember it should it come too late to be asked in its turn."""
        now = self.asking_state(state, rater)
        self.next_query(now, progress)
        if self.needs_model(now):
            self._thought.append((self._share(rater), len(state.entries), compute.question_key(now)))

    def at_once(self, state: Replay, rater: str) -> tuple[dict[str, Any], int]:
        """A question without waiting for the model, and the position until which the log was known to it.

        It is the model's if that was computed ahead; else the model's for a moment ago, if nothing of it was shown since; else
        one that needs no model, which takes so little that it is computed here.
        """
        now = self.asking_state(state, rater)
        found = self._cache.prepared(compute.question_key(now))
        if found is None and self.needs_model(now):
            late = self._late(state, rater, now)
            if late is not None:
                return late
        return compute.stand_in(now) if found is None else found, state.position

    def fitted(self, state: State, progress: ProgressCallback | None = None) -> ChoiceOptimizer:
        """The loop in memory, with its model if there are answers."""
        known = self._known(state)
        if known is None and compute.has_answers(state):
            found = self._run(compute.fit, self._looked(state, progress), None, progress=progress)
            known = found["posterior"]
            self._cache.put(*_posterior_items(state, found["latent_dim_history"], known))
        return compute.restore(state, known)

    def restored(self, state: State) -> ChoiceOptimizer:
        """The loop in memory, with its model only if that is kept."""
        return compute.restore(state, self._known(state))

    def prepare_ahead(self, before: Replay, thread: Thread, answers: int, stop: Callable[[], bool]) -> int:
        """Compute what follows each of the most probable answers to an open question; how many.

        All of them need the look at the number of latent dimensions that counts from the next answer on, so it comes first.
        """
        rater, position = thread.start.rater, thread.start.position
        state = self.asking_state(before, rater)
        if compute.needs_model(state, self._dim, more=1):
            self._looked(state, more=1)
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

    def _looked(self, state: State, progress: ProgressCallback | None = None, more: int = 0) -> State:
        """The record with the look at the number of latent dimensions that counts ``more`` answers on.

        It is computed now unless that was done beside; whoever needs it while it is under way waits for it.
        """
        answers = compute.missing_look(state, more)
        if answers is None:
            return state
        key = compute.look_key(state, answers)
        with self._looking:
            found = self._cache.look(key)
            if found is None:
                found = self._run(compute.look, state, answers, self._known(state), progress=progress)
                self._cache.put((LOOK, key, json.dumps(found).encode()))
        return {**state, "latent_dim_history": [*state["latent_dim_history"], found]}

    def _late(self, state: Replay, rater: str, now: State) -> tuple[dict[str, Any], int] | None:
        for share, end, key in reversed(tuple(self._thought)):
            since = [entry for entry in state.entries[end:] if share in (None, entry.rater)]
            if share != self._share(rater) or not since:
                continue
            found = self._cache.prepared(key)
            if found is None or not is_still_new(found["query"], since):
                continue
            # Of two looks at the number of latent dimensions the later one holds.
            checks = max(found["latent_dim_history"], now["latent_dim_history"], key=_last_look)
            return {**found, "latent_dim_history": checks}, state.entries[end - 1].position
        return None

    def _share(self, rater: str) -> str | None:
        return rater if self._separate else None

    def _known(self, state: State) -> bytes | None:
        return self._cache.posterior(compute.posterior_key(state)) if compute.has_answers(state) else None

    def _run(self, function: Callable[..., Any], *arguments: Any, progress: ProgressCallback | None = None) -> Any:
        if self._executor is not None:
            return self._executor.submit(function, *arguments).result()
        return function(*arguments) if progress is None else function(*arguments, progress)


def is_still_new(query: Mapping[str, Any], since: Sequence[Entry]) -> bool:
    """Whether a question can be asked after further entries: nothing was taken back, and nothing of it was asked."""
    if any(entry.kind not in _GROWTH for entry in since):
        return False
    asked = [{log.fingerprint(option) for option in entry.options} for entry in since if entry.options]
    mine = [log.fingerprint(option) for option in query["options"]]
    fresh = {name for name, is_new in zip(mine, query["new"], strict=True) if is_new}
    return not any(fresh & shown or set(mine) == shown for shown in asked)


def _last_look(history: list[dict[str, Any]]) -> int:
    return int(history[-1]["answers"]) if history else 0


def _posterior_items(
    state: State, history: list[dict[str, Any]], content: bytes | None
) -> list[tuple[str, str, bytes]]:
    if content is None:
        return []
    # Once the question is asked its record holds what was found on the way: the same model under another key.
    keys = {compute.posterior_key(state), compute.posterior_key({**state, "latent_dim_history": history})}
    return [(POSTERIOR, key, content) for key in sorted(keys)]
