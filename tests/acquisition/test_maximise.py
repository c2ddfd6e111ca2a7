import numpy as np
import pytest
from acquisition_helpers import known, prior_draws
from hypothesis import given, settings
from hypothesis import strategies as st

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS
from choicebo.acquisition.maximise import Objective, any_relatives, maximise

NOTHING = np.empty((0, 2))


def peak(centre):
    centre = np.asarray(centre)

    def value(points):
        return -((points - centre) ** 2).sum(1)

    def slope(points):
        return float(value(points).sum()), -2.0 * (points - centre)

    return value, slope


def test_the_top_of_a_smooth_function_is_found():
    value, slope = peak([0.3123, 0.7])
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
    found = maximise(value, slope, space, NOTHING, NOTHING, seed=0)
    np.testing.assert_allclose(found.X[0], [0.3123, 0.7], atol=1e-4)
    assert (np.diff(found.value) <= 0).all()


def test_both_ends_of_a_range_can_be_found():
    value, slope = peak([2.0, -1.0])
    found = maximise(value, slope, cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)]), NOTHING, NOTHING, seed=0)
    np.testing.assert_array_equal(found.X[0], [1.0, 0.0])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_constraints_hold_for_every_point_found(seed):
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)], constraints=["a + b <= 1", "a * b <= 0.2"])
    value, slope = peak(np.random.default_rng(seed).random(2))
    found = maximise(value, slope, space, space.sample(3, seed), NOTHING, seed=seed)
    assert space.feasible(found.X).all()
    np.testing.assert_array_equal(space.snap(found.X), found.X)


def test_mixed_spaces_are_searched_in_their_discrete_parts():
    space = cb.Space(
        [cb.Real("a", 0, 1), *(cb.Integer(f"k{i}", 0, 40) for i in range(4)), cb.Categorical("c", list("uvwx"))]
    )
    best = space.encode([{"a": 0.25, "k0": 7, "k1": 31, "k2": 12, "k3": 40, "c": "w"}])[0]
    value, slope = peak(best)
    found = maximise(value, slope, space, space.sample(0), np.empty((0, space.dim)), seed=1)
    option = space.decode(found.X[:1])[0]
    assert [option[f"k{i}"] for i in range(4)] == [7, 31, 12, 40]
    assert option["c"] == "w"
    assert option["a"] == pytest.approx(0.25, abs=1e-3)


def test_a_catalogue_is_gone_through_row_by_row():
    rng = np.random.default_rng(0)
    menu = cb.Catalogue([{"sku": i, "a": float(a), "b": float(b)} for i, (a, b) in enumerate(rng.random((500, 2)))])
    objective = Objective(ACQUISITIONS["ehvi"], known(prior_draws()), seed=0)
    found = maximise(objective, objective.slope, menu, NOTHING, menu.X[:3], seed=0)
    assert len(found.X) == 497
    np.testing.assert_allclose(found.X[0], menu.X[3 + int(objective(menu.X[3:]).argmax())])


def test_what_is_to_be_avoided_is_never_found():
    space = cb.Space([cb.Integer("a", 0, 3), cb.Integer("b", 0, 3)])
    value, slope = peak([1.0, 1.0])
    everything = space.enumerate()
    found = maximise(value, slope, space, NOTHING, everything[:-2], seed=0)
    assert len(found.X) == 2
    assert len(maximise(value, slope, space, NOTHING, everything, seed=0).X) == 0


def test_a_better_point_than_the_pool_is_found_for_an_acquisition():
    draws = prior_draws()
    objective = Objective(ACQUISITIONS["ehvi"], known(draws), seed=0)
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
    found = maximise(objective, objective.slope, space, draws.X, draws.X, seed=0)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 60)] * 2), axis=-1).reshape(-1, 2)
    assert found.value[0] >= objective(grid).max() - 0.02


def mixed_space():
    return cb.Space(
        [cb.Real("a", 0, 1), cb.Integer("k", 0, 500), cb.Categorical("c", list("uvwx")), cb.Real("b", 0, 1)]
    )


def test_relatives_change_one_parameter_or_mix_two_options():
    space = mixed_space()
    around = space.sample(4, seed=3)
    value, slope = peak(np.full(space.dim, 0.5))
    best = space.decode(around)
    kinds = []
    for seed in range(40):
        found = maximise(value, slope, space, around, around, seed=seed, nearby=True)
        options = space.decode(found.X)
        is_mixed = [
            any(all(option[name] in (one[name], other[name]) for name in option) for one in best for other in best)
            for option in options
        ]
        changed = [
            min(({name for name in option if option[name] != other[name]} for other in best), key=len)
            for option in options
        ]
        # What the model would rather change must not decide: one kind at a time.
        if all(is_mixed):
            kinds.append("mixed")
        else:
            assert {len(names) for names in changed} == {1}
            (name,) = set.union(*changed)
            kinds.append(name)
        assert not {tuple(row) for row in around} & {tuple(row) for row in found.X}
        assert (np.diff(found.value) <= 0).all()
    assert set(kinds) == {"a", "k", "c", "b", "mixed"}


def test_relatives_keep_to_the_constraints_and_give_way_where_none_is_left():
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)], constraints=["a + b <= 1"])
    value, slope = peak([1.0, 1.0])
    found = maximise(value, slope, space, space.sample(3, seed=1), NOTHING, seed=1, nearby=True)
    assert len(found.X) > 0
    assert space.feasible(found.X).all()
    switches = cb.Space([cb.Integer("a", 0, 1), cb.Integer("b", 0, 1)])
    corner = np.array([[0.0, 0.0]])
    shown = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(maximise(value, slope, switches, corner, shown, seed=0, nearby=True).X, [[1.0, 1.0]])


def test_relatives_in_a_catalogue_are_its_rows():
    rows = [{"key": str(n), "size": n % 7, "price": n} for n in range(40)]
    catalogue = cb.Catalogue(rows, "key")
    every = catalogue.enumerate(100)
    value, slope = peak(every[5])
    found = maximise(value, slope, catalogue, every[:2], every[:2], seed=0, nearby=True)
    assert {tuple(row) for row in found.X} <= {tuple(row) for row in every[2:]}


def test_relatives_in_random_order_do_not_always_begin_with_the_same():
    space = mixed_space()
    around = space.sample(4, seed=3)
    found = [any_relatives(space, around, around, seed)[:1] for seed in range(60)]
    for point in found:
        assert point.shape == (1, space.dim)
        assert space.feasible(point).all()
    best = space.decode(around)
    options = [space.decode(point)[0] for point in found]
    changed = {
        name
        for option in options
        for other in best
        if len(names := [name for name in option if option[name] != other[name]]) == 1
        for name in names
    }
    assert changed == {"a", "k", "c", "b"}
    values = sorted(option["a"] for option in options if option["a"] not in [other["a"] for other in best])
    assert values[0] < 0.3 < 0.7 < values[-1], "no value is preferred"
    np.testing.assert_array_equal(any_relatives(space, around, around, 5), any_relatives(space, around, around, 5))


def test_there_are_no_relatives_where_all_were_shown():
    switches = cb.Space([cb.Integer("a", 0, 1), cb.Integer("b", 0, 1)])
    everything = switches.enumerate(4)
    assert any_relatives(switches, everything[:1], everything, seed=0).shape == (0, 2)
    assert any_relatives(switches, everything[:0], everything[:0], seed=0).shape == (0, 2)


@pytest.mark.parametrize("start", [[], [170.0]])
def test_the_top_of_a_circle_is_found_across_its_ends(start):
    space = cb.Space([cb.Angle("hue"), cb.Real("a", 0, 1)])
    value, slope = peak(space.encode([{"hue": 359.7, "a": 0.25}])[0])
    around = space.encode([{"hue": hue, "a": 0.5} for hue in start])
    found = maximise(value, slope, space, around, np.empty((0, 3)), seed=0)
    option = space.decode(found.X[:1])[0]
    assert option["hue"] == pytest.approx(359.7, abs=0.05)
    assert option["a"] == pytest.approx(0.25, abs=1e-3)
    np.testing.assert_array_equal(space.snap(found.X), found.X)


def test_climbing_round_a_circle_reaches_what_the_pool_does_not(monkeypatch):
    monkeypatch.setattr("choicebo.acquisition.maximise._GLOBAL", 4)
    space = cb.Space([cb.Angle("hue"), cb.Angle("accent"), cb.Real("a", 0, 1)])
    best = {"hue": 0.123, "accent": 359.877, "a": 0.25}
    value, slope = peak(space.encode([best])[0])
    found = maximise(value, slope, space, np.empty((0, 5)), np.empty((0, 5)), seed=0)
    assert space.decode(found.X[:1])[0] == pytest.approx(best, abs=0.02)


def test_what_has_a_step_is_found_on_it():
    space = cb.Space([cb.Real(f"x{i}", 0, 1, step=0.01) for i in range(3)] + [cb.Angle("hue", step=5)])
    value, slope = peak(space.encode([{"x0": 0.333, "x1": 0.777, "x2": 0.501, "hue": 358}])[0])
    found = maximise(value, slope, space, space.sample(2), np.empty((0, space.dim)), seed=0)
    assert space.decode(found.X[:1]) == [{"x0": 0.33, "x1": 0.78, "x2": 0.5, "hue": 0.0}]
    np.testing.assert_array_equal(space.snap(found.X), found.X)


def test_steps_are_gone_along_where_there_is_no_slope(monkeypatch):
    monkeypatch.setattr("choicebo.acquisition.maximise._GLOBAL", 16)
    space = cb.Space([cb.Real(f"x{i}", 0, 1, step=0.05) for i in range(3)] + [cb.Angle("hue", step=10)])
    best = {"x0": 0.35, "x1": 0.8, "x2": 0.5, "hue": 350.0}
    value, _ = peak(space.encode([best])[0])
    found = maximise(value, None, space, space.sample(0), np.empty((0, space.dim)), seed=0)
    assert space.decode(found.X[:1]) == [best]


def test_relatives_are_uniform_on_a_circle():
    space = cb.Space([cb.Angle("hue")])
    drawn = np.concatenate([any_relatives(space, space.sample(1), space.sample(1), seed) for seed in range(20)])
    # Parts around the corners of the square in which the circle lies, and around its sides.
    eighths = (np.array([option["hue"] for option in space.decode(drawn)]) + 22.5) % 360 // 45
    np.testing.assert_allclose(np.bincount(eighths.astype(int)) / len(drawn), 1 / 8, atol=0.015)
