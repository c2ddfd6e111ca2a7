"""Fits, looks and questions of a loop: each is computed once, here or in an executor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Protocol

from choicebo.history import Question
from choicebo.model.engines.base import ProgressCallback
from choicebo.model.posterior import Posterior
from choicebo.optimizer import situation as compute
from choicebo.optimizer.looks import BackgroundLook, ExecutorLook
from choicebo.optimizer.recent import REMEMBERED, Recent
from choicebo.optimizer.situation import Situation

_LOOK_BACK = 12
"""How many answers back an earlier model is searched for."""
_MOST_DIMS = 4


class PosteriorStore(Protocol):
    """Where fitted models last."""

    def load(self, key: tuple[str, int]) -> Posterior | None:
        """The model of these answers, if it is stored."""
        ...

    def has(self, key: tuple[str, int]) -> bool:
        """Whether it is stored."""
        ...

    def save(self, key: tuple[str, int], posterior: Posterior) -> None:
        """Store a model."""
        ...


class Computations:
    """Computes for one loop; threads may share it.

    Args:
        executor: Where to compute; None: here. A look is then computed in a thread of its own.
        store: Where fitted models last; None: nowhere.
        looks_at_once: How many looks may be under way; an older one is stopped, for nobody wants it any more.
    """

    def __init__(
        self, executor: Executor | None = None, store: PosteriorStore | None = None, looks_at_once: int = REMEMBERED
    ) -> None:
        self._executor = executor
        self._store = store
        self._posteriors: Recent[Posterior] = Recent(size=lambda posterior: posterior.nbytes)
        self._questions: Recent[Question] = Recent()
        self._looks: Recent[BackgroundLook | ExecutorLook] = Recent(lambda look: look.stop(), looks_at_once)
        self._looks_at_once = looks_at_once
        self._busy = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Computations, (None, None, self._looks_at_once)  # what it knows can be computed again

    def looked(self, situation: Situation, progress: ProgressCallback | None = None) -> Situation:
        """The situation with the look at the number of latent dimensions that counts now, waited for if need be."""
        answers = situation.missing_look()
        if answers is None:
            return situation
        key = situation.look_key(answers)
        look = self._begin_look(situation, answers, key)
        try:
            return situation.with_look(look.result(progress))
        except BaseException:
            look.stop()
            self._looks.drop(key)  # so that the next question tries again
            raise

    def look_ahead(self, situation: Situation) -> None:
        """Begin the look that the question after the next answer needs, if there is one."""
        answers = situation.missing_look(more=1)
        if answers is not None and situation.settings.needs_model(situation.n_answers + 1, situation.space.dim):
            self._begin_look(situation, answers, situation.look_key(answers))

    def _begin_look(self, situation: Situation, answers: int, key: tuple[str, int]) -> BackgroundLook | ExecutorLook:
        with self._busy:
            under_way = self._looks.get(key)
            if under_way is not None:
                return under_way
            known = self._posteriors.get(key)
            if self._executor is not None:
                begun: BackgroundLook | ExecutorLook = ExecutorLook(
                    self._executor.submit(compute.look, situation, answers, known)
                )
            else:
                begun = BackgroundLook(lambda progress: situation.look(answers, known, progress))
            return self._looks.put(key, begun)

    def known(self, situation: Situation) -> Posterior | None:
        """The model of the answers, if it was fitted already. Never computes."""
        if situation.data is None:
            return None
        key = situation.model_key
        found = self._posteriors.get(key)
        if found is None and self._store is not None:
            found = self._store.load(key)
            if found is not None:
                self._posteriors.put(key, found)
        return found

    def known_earlier(self, situation: Situation) -> Posterior | None:
        """The latest known model of the first of these answers, but not of all of them; None if none is. Never computes."""
        dims = dict.fromkeys((situation.latent_dim, *range(_MOST_DIMS + 1)))
        for answers in range(situation.n_answers - 1, max(situation.n_answers - _LOOK_BACK, 0), -1):
            beginning = situation.fingerprint(answers)
            for key in ((beginning, dim) for dim in dims):
                found = self._posteriors.get(key) or (self._store.load(key) if self._store is not None else None)
                if found is not None:
                    return found
        return None

    def is_known(self, situation: Situation) -> bool:
        """Whether the model of the answers was fitted already, with the look that counts now."""
        seen = self._if_looked(situation)
        if seen is None:
            return False
        key = seen.model_key
        return self._posteriors.get(key) is not None or (self._store is not None and self._store.has(key))

    def sketched(self, situation: Situation) -> Posterior:
        """The model of the answers, of which there must be some, reduced to what quick questions need.

        A look that is not known yet is not waited for, and the whole model is not kept.
        """
        seen = self._if_looked(situation) or situation
        known = self._posteriors.get(seen.model_key)
        found: Posterior = known if known is not None else self._run(compute.fit_sketch, seen)
        return found

    def at_hand(self, situation: Situation) -> Posterior | None:
        """The model of the answers with the look that counts now, if it is in memory."""
        seen = self._if_looked(situation)
        return None if seen is None else self._posteriors.get(seen.model_key)

    def _if_looked(self, situation: Situation) -> Situation | None:
        """The situation with the look that counts now; None if that is not known."""
        answers = situation.missing_look()
        if answers is None:
            return situation
        look = self._looks.get(situation.look_key(answers))
        return situation.with_look(look.result()) if look is not None and look.done() else None

    def posterior(self, situation: Situation, progress: ProgressCallback | None = None) -> Posterior | None:
        """The model of the answers; None if there are none. The look that counts now must be in the situation."""
        found = self.known(situation)
        if found is None and situation.data is not None:
            found = self._run(compute.fit, situation, progress=progress)
            self.remember(situation, found)
        return found

    def earlier(self, situation: Situation, answers: int) -> Posterior:
        """The model of the first so many answers, of which there must be some."""
        key = situation.earlier_key(answers)
        found = self._posteriors.get(key)
        if found is None and self._store is not None:
            found = self._store.load(key)
        if found is None:
            found = self._run(compute.fit_earlier, situation, answers)
        return self._posteriors.put(key, found)

    def question(self, situation: Situation, progress: ProgressCallback | None = None) -> Question:
        """The next question, not asked yet."""
        key = situation.key
        found = self._questions.get(key)
        if found is not None:
            return found
        if situation.needs_model:
            situation = self.looked(situation, progress)
        known = self.known(situation) if situation.needs_model else None
        found, posterior = self._run(compute.next_question, situation, known, progress=progress)
        if posterior is not None and known is None:
            self.remember(situation, posterior)
        return self._questions.put(key, found)

    def question_from(
        self, situation: Situation, model: Posterior, learned: int, seconds: float | None = None
    ) -> Question | None:
        """The next question by a model of the first ``learned`` answers, not asked yet; None if it takes over ``seconds``."""
        if self._executor is None:
            return compute.question_from(situation.quick_prospect(learned), model)
        if seconds is not None and seconds <= 0:
            return None
        begun = self._executor.submit(compute.question_from, situation.quick_prospect(learned), model)
        try:
            return begun.result(seconds)
        except TimeoutError:
            begun.cancel()
            return None

    def has_question(self, situation: Situation) -> bool:
        """Whether the next question was computed already."""
        return self._questions.get(situation.key) is not None

    def forget(self) -> None:
        """Forget everything; it is computed again when needed."""
        self._posteriors.clear()
        self._questions.clear()
        self._looks.clear()

    def remember(self, situation: Situation, posterior: Posterior) -> None:
        """Keep the model of the answers in a situation."""
        self._posteriors.put(situation.model_key, posterior)
        if self._store is not None:
            self._store.save(situation.model_key, posterior)

    def _run(self, function: Callable[..., Any], *arguments: Any, progress: ProgressCallback | None = None) -> Any:
        if self._executor is not None:
            return self._executor.submit(function, *arguments).result()
        return function(*arguments, progress=progress)
