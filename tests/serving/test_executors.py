"""Any ``concurrent.futures.Executor`` computes the same as this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import choicebo as cb

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


class Counting(Executor):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)
        self.asked: list[str] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked.append(fn.__name__)
        return self._threads.submit(fn, *args, **kwargs)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as found:
        yield found


def choices() -> cb.ChoiceData:
    rng = np.random.default_rng(3)
    X = rng.random((24, 2))
    shown = [tuple(rng.choice(24, 3, replace=False).tolist()) for _ in range(10)]
    # Against what they like once: importance weights cannot do without that answer.
    kept = [tuple(r for r in rows if not any((X[o] > X[r]).all() for o in rows)) for rows in shown]
    kept[0] = tuple(r for r in shown[0] if r not in kept[0]) or kept[0]
    return cb.ChoiceData(X, [cb.Choice(rows, best) for rows, best in zip(shown, kept, strict=True)])


def test_an_optimizer_asks_the_same_wherever_it_computes(processes: Executor) -> None:
    asked = []
    for executor in (None, processes):
        loop = cb.ChoiceOptimizer(SPACE, engine="laplace", latent_dim=2, initial_queries=1, executor=executor)
        loop.tell(loop.ask(), kept=[0])
        asked.append(loop.ask())
        again = cb.ChoiceOptimizer.from_dict(loop.to_dict(), executor=executor)
        again.tell(asked[-1], kept=[1])
        asked.append(again.ask())
    assert asked[0] == asked[2]
    assert asked[1] == asked[3]
    assert asked[1].latent_dim == 2


def test_the_number_of_hidden_objectives_is_the_same_wherever_it_is_computed(processes: Executor) -> None:
    here, there = (
        cb.select_latent_dim(
            choices(), max_dim=2, model=cb.ChoiceGP(engine="laplace"), stop_early=False, executor=executor
        )
        for executor in (None, processes)
    )
    assert here.best == there.best
    for n_e in (1, 2):
        assert np.array_equal(here.scores[n_e].pointwise, there.scores[n_e].pointwise)


def test_an_executor_fits_and_refits() -> None:
    executor = Counting()
    cb.select_latent_dim(choices(), max_dim=2, model=cb.ChoiceGP(engine="laplace"), stop_early=False, executor=executor)
    assert executor.asked.count("fit_silently") == 2
    fitted = cb.ChoiceGP(engine="laplace").fit(choices())
    here, before = fitted.loo(4), executor.asked.count("_refit")
    there = fitted.loo(4, executor=executor)
    assert executor.asked.count("_refit") - before == len(here.refitted) > 0
    assert np.array_equal(here.pointwise, there.pointwise)


@pytest.mark.parametrize("given", ["tcp://scheduler:8786", 4, object()])
def test_what_is_no_executor_is_refused_in_words(given: object) -> None:
    for use in (
        lambda: cb.ChoiceOptimizer(SPACE, executor=given),  # type: ignore[arg-type]
        lambda: cb.select_latent_dim(choices(), executor=given),  # type: ignore[arg-type]
        lambda: cb.ChoiceGP(engine="laplace").fit(choices()).loo(executor=given),  # type: ignore[arg-type]
    ):
        with pytest.raises(cb.InvalidInputError, match=r"executor is .*; give a concurrent\.futures\.Executor"):
            use()
