"""New options that are all but copies of known ones."""

from __future__ import annotations

import numpy as np
import pytest
from acquisition_helpers import prior_draws

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS, propose
from choicebo.space.spacing import differences

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


def proposed(least: float, seed: int, known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The new options of a question, and what had been shown."""
    draws = prior_draws(m=30)
    found = propose.propose(
        draws,
        SPACE,
        (ACQUISITIONS["variation"],),
        size=5,
        new_count=2,
        companions="dominated",
        pending=np.empty((0, 2)),
        avoid=draws.X if known is None else known,
        seed=seed,
        least_difference=least,
    )
    return found.points[found.new], draws.X


def nearest(new: np.ndarray, known: np.ndarray) -> float:
    return float(differences(SPACE.columns, new, known).min())


def test_a_new_option_is_no_copy_of_one_that_was_shown() -> None:
    least = 0.2  # so large that the best option is too close to a known one in some of the questions
    closest = [nearest(*proposed(least, seed)) for seed in range(12)]
    assert min(closest) >= 0.25 * least
    assert min(nearest(*proposed(0.0, seed)) for seed in range(12)) < 0.25 * least, "without the rule there are copies"


def test_options_that_may_be_shown_again_may_be_nearly_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = np.empty((0, 2))
    found = [proposed(0.2, seed, nothing)[0] for seed in range(12)]
    monkeypatch.setattr(propose, "_COPY", 0.0)
    np.testing.assert_array_equal(found, [proposed(0.2, seed, nothing)[0] for seed in range(12)])


def test_where_every_option_is_a_copy_the_best_is_taken_all_the_same() -> None:
    ranked = np.random.default_rng(0).random((100, 2))
    known = np.stack(np.meshgrid(*[np.linspace(0, 1, 11)] * 2), -1).reshape(-1, 2)
    beside = propose.Beside(np.empty((0, 2)), 0.8)
    np.testing.assert_array_equal(propose._first_without_copies(SPACE, ranked, known, beside), ranked)


@pytest.mark.parametrize("first", [0, 31, 32, 70])
def test_the_first_that_is_no_copy_and_differs_from_what_it_is_shown_with_is_taken(first: int) -> None:
    known, beside = np.array([[0.5, 0.5]]), propose.Beside(np.array([[0.8, 0.8]]), 0.04)
    ranked = np.tile([0.501, 0.499], (100, 1))
    ranked[1:first:2] = [0.82, 0.8]
    ranked[first:] = [0.6, 0.5]
    assert propose._first_without_copies(SPACE, ranked, known, beside).tolist() == [[0.6, 0.5]]


def test_in_a_catalogue_products_may_be_alike() -> None:
    rng = np.random.default_rng(1)
    draws = prior_draws(m=6)
    near = np.clip(np.repeat(draws.X, 5, axis=0) + 0.02 * rng.standard_normal((30, 2)), 0.0, 1.0)
    points = np.concatenate([near, rng.random((3, 2)), [[0.0, 0.0], [1.0, 1.0]]])
    catalogue = cb.Catalogue([{"sku": str(n), "a": float(a), "b": float(b)} for n, (a, b) in enumerate(points)])
    beside = propose.Beside(np.empty((0, 2)), 0.2)
    copies = 0
    for seed in range(4):
        for name in ("ehvi", "thompson"):
            any_but, best = (
                propose.best_point(draws, catalogue, ACQUISITIONS[name], draws.X, seed, beside=each)
                for each in (beside, None)
            )
            np.testing.assert_array_equal(any_but, best)
            copies += nearest(best, draws.X) < 0.25 * 0.2
    assert copies, "or the test says nothing"
