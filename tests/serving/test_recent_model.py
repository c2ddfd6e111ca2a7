"""Where many ask at once, the raters of a study share its latest model, which lacks the last few answers."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import choicebo as cb
from choicebo.optimizer import situation as compute
from choicebo.optimizer.recent import Recent
from choicebo.serving.computing import Computing, FairThreads
from choicebo.serving.scheduler import Scheduler
from choicebo.study import Study

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
SETTINGS: dict[str, Any] = {"engine": "laplace", "latent_dim": 2, "query_size": 4, "initial_queries": 2, "seed": 3}


class SlowToFit(Executor):
    """Answers quick questions at once, and fits when it is let."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4)
        self.go = threading.Event()
        self.fitted: list[int] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def run() -> Any:
            if fn.__name__ in ("fit", "fit_sketch", "next_question"):
                assert self.go.wait(60)
                self.fitted.append(args[0].n_answers)
            return fn(*args, **kwargs)

        return self._threads.submit(run)


@pytest.fixture
def pool() -> Iterator[SlowToFit]:
    found = SlowToFit()
    found.go.set()
    yield found
    found.go.set()


@pytest.fixture
def study(tmp_path: Path, pool: SlowToFit) -> Iterator[Study]:
    """With a model of its first three answers, and one answer more; the next fit takes as long as it is let."""
    with Study.create(tmp_path / "study.db", "bread", SPACE, raters="together", executor=pool, **SETTINGS) as found:
        for _ in range(3):
            found.tell(found.ask(), [0])
        found.learn()
        found.add_rater("ann")
        found.tell(found.ask(), [0])
        pool.go.clear()
        yield found
        pool.go.set()


def test_a_question_by_an_older_model_says_so_and_its_record_too(study: Study) -> None:
    asked = study.ask(stand_in=True)
    assert asked.reason.startswith("The model had learned from 3 of 4 answers when this was asked. The new option")
    assert asked.latent_dim == 2
    assert asked.strategy not in ("stand-in", "sobol")
    assert asked.known_until == 6  # question and answer, three times
    assert study.get_question(asked.number).known_until == 6


def test_the_same_record_and_model_lead_to_the_same_question(study: Study, tmp_path: Path) -> None:
    asked = study.ask(stand_in=True)
    with Study.import_json(tmp_path / "copy.db", study.export_json()) as copy:
        until = [event for event in copy.optimizer().events if event.position < 2 * asked.number - 1]
        situation = compute.Situation(SPACE, copy.optimizer().settings, tuple(until))
        again = situation.quick_prospect(3).quick_question(situation.fit_earlier(3))
    assert (again.options, again.reason) == (asked.options, asked.reason)


def test_nothing_that_was_shown_since_is_shown_as_new(study: Study) -> None:
    new: list[str] = []
    for _ in range(4):
        asked = study.ask(stand_in=True)
        new += [str(option) for option, is_new in zip(asked.options, asked.new, strict=True) if is_new]
        study.tell(asked, [0])
    before = {str(option) for past in study.questions()[:4] for option in past.options}
    assert len(new) == len(set(new)) == 8
    assert not before & set(new)


def test_a_model_of_an_answer_that_was_taken_back_is_not_asked_by(study: Study) -> None:
    assert study.has_recent_model()
    study.retract(study.history()[0])
    assert not study.has_recent_model()
    assert study.ask(stand_in=True).strategy == "stand-in"


def test_a_model_that_knows_too_little_is_not_asked_by(study: Study) -> None:
    study.add([{"a": 0.1, "b": 0.1}, {"a": 0.2, "b": 0.3}], [0])
    assert study.has_recent_model()
    for step in range(8):
        study.add([{"a": 0.1, "b": 0.1}, {"a": 0.2, "b": step / 10}], [0])
    assert not study.has_recent_model()


def test_who_asks_beside_a_long_fit_is_asked_by_the_model_there_is(study: Study, pool: SlowToFit) -> None:
    scheduler = Scheduler(pool, patience=4000.0)  # so long that a wait would be noticed
    try:
        first = scheduler._think(study, "owner", "")  # a fit that somebody else has begun
        asked = scheduler.begin_question(study, "owner").result(timeout=30)
        assert asked.reason.startswith("The model had learned from 3 of 4 answers")
        assert not first.future.done()
        pool.go.set()
        first.future.result(timeout=60)
        study.tell(asked, [0])
        latest = scheduler.begin_question(study, "owner").result(timeout=60)
        assert "had learned from" not in latest.reason  # with time for it, the model knows all answers
        assert latest.latent_dim == 2
    finally:
        pool.go.set()
        scheduler.close()


def test_while_others_wait_models_are_fitted_and_nothing_more(study: Study, pool: SlowToFit) -> None:
    scheduler = Scheduler(pool, patience=4000.0)  # so long that a wait would be noticed
    scheduler._thinking._limit = lambda: 1
    try:
        blocked = scheduler._thinking.submit("cake", lambda: pool.go.wait(60))
        mine, other = scheduler._think(study, "owner", ""), scheduler._thinking.submit("cake", lambda: True)
        pool.go.set()
        assert blocked.result(timeout=60)
        assert mine.future.result(timeout=60) is False  # the question was not computed, the model was
        assert other.result(timeout=60)
        assert study.waits_for_model()
        assert "had learned from" not in study.ask(stand_in=True).reason
    finally:
        scheduler.close()


def test_where_others_wait_for_their_models_the_latest_answer_is_not_waited_for(
    study: Study, pool: SlowToFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FairThreads, "waiting", property(lambda self: 1))
    scheduler = Scheduler(pool, patience=4000.0)  # so long that a wait would be noticed
    try:
        asked = scheduler.begin_question(study, "owner").result(timeout=30)
        assert asked.reason.startswith("The model had learned from 3 of 4 answers")
        assert scheduler.is_thinking(study, "owner")
    finally:
        pool.go.set()
        scheduler.close()


def test_nobody_waits_where_nothing_computes(tmp_path: Path) -> None:
    class Away(Computing):
        slots = 0

    away = Away()
    scheduler = Scheduler(away, patience=600.0)
    with Study.create(tmp_path / "study.db", "bread", SPACE, executor=away, **SETTINGS) as study:
        for _ in range(2):
            study.tell(study.ask(stand_in=True), [0])
        try:
            assert scheduler.begin_question(study, "owner").result(timeout=60).strategy == "stand-in"
        finally:
            scheduler.close()


def test_after_a_restart_questions_come_from_the_latest_model_that_was_stored(study: Study, pool: SlowToFit) -> None:
    pool.go.set()
    study.prepare()  # which stores the model of all four answers
    study.tell(study.ask(), [0])
    with Study.open(study._storage, executor=pool) as after:
        pool.go.clear()
        assert not after.has_recent_model()
        thinking = threading.Thread(target=after.learn)
        thinking.start()
        for _ in range(200):
            if after.has_recent_model():
                break
            time.sleep(0.05)
        asked = after.ask(stand_in=True)
        assert asked.reason.startswith("The model had learned from 4 of 5 answers")
        assert asked.known_until == 8
        pool.go.set()
        thinking.join(60)


def test_what_is_remembered_is_bounded_by_its_size() -> None:
    few: Recent[bytes] = Recent(size=lambda item: len(item) << 20)
    for number in range(6):
        few.put(number, bytes(3))
    assert [few.get(number) is not None for number in range(6)] == [False] * 4 + [True] * 2
    few.put("large", bytes(200))
    assert few.get("large") is not None
    assert few.get(5) is None


def test_a_sketch_knows_what_the_posterior_knows() -> None:
    rng, chance = np.random.default_rng(0), []
    X = rng.random((150, 2))
    for start in range(0, 150, 3):
        rows = (start, start + 1, start + 2)
        best = tuple(r for r in rows if not any((X[o] > X[r]).all() for o in rows))
        chance.append(cb.Choice(rows, best))
    whole = cb.ChoiceGP(engine="laplace").fit(cb.ChoiceData(X, chance))
    small = whole.sketch(64, 60)
    assert small.options.shape == (60, 2)
    assert small.whitened.shape[:2] == (1, 64)
    points = rng.random((100, 2))
    difference = np.abs(whole.pareto_probability(points) - small.pareto_probability(points))
    assert difference.mean() < 0.02
    assert len(pickle.dumps(whole)) < 2 * whole.whitened.nbytes  # its draws are not sent along
    same = whole.draws.thinned(64)
    rows = [int(np.flatnonzero((whole.options == option).all(1))[0]) for option in small.options]
    assert np.allclose(small.draws.latent, same.latent[:, rows], atol=1e-5)  # the very draws, at fewer options


def test_people_whose_tastes_are_related_wait_for_one_model_and_get_questions_of_their_own(
    tmp_path: Path, pool: SlowToFit
) -> None:
    scheduler = Scheduler(pool, patience=4000.0)
    names = ("ann", "ben")
    try:
        with Study.create(tmp_path / "study.db", "bread", SPACE, executor=pool, **SETTINGS) as study:
            for name in names:
                study.add_rater(name)
                for _ in range(2):
                    study.tell(study.ask(name), [0], rater=name)
            before = len(pool.fitted)
            pool.go.clear()
            jobs = [scheduler.begin_question(study, name) for name in names]
            pool.go.set()
            asked = [job.result(timeout=60) for job in jobs]
        assert pool.fitted[before:] == [4]
        assert [question.latent_dim for question in asked] == [2, 2]
        assert asked[0].options != asked[1].options
    finally:
        pool.go.set()
        scheduler.close()
