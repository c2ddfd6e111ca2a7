"""What drives each hidden objective, on draws that are known."""

import dataclasses

import numpy as np
import pytest
from insight_helpers import answers, believing, tastes

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.insight import drivers, numbering
from choicebo.insight.numbering import matched_names
from choicebo.model.alignment import aligned_orders, order_like, reordered


def swapped(posterior):
    """The same draws, with the latent dimensions numbered the other way round in every second one."""
    whitened = posterior.whitened.copy()
    whitened[:, ::2] = whitened[:, ::2, ::-1]
    return dataclasses.replace(posterior, whitened=whitened)


def test_the_parameter_that_matters_is_found_with_its_direction(bread_posterior, bread):
    first, second = drivers(bread_posterior, bread)
    assert [each.parameter for each in (first.drivers[0], second.drivers[0])] == ["temperature", "minutes"]
    assert (first.drivers[0].direction, second.drivers[0].direction) == ("more", "less")
    assert first.drivers[0].relevance > 0.8
    assert second.drivers[0].relevance > 0.8
    assert first.drivers[0].best == 220
    assert second.drivers[0].best == 5
    assert all(each.relevance < 0.1 for each in (*first.drivers[1:], *second.drivers[1:]))
    assert "higher temperature is better" in first.sentence
    assert first.spread > second.spread


def test_label_switching_between_draws_changes_nothing(bread_posterior, bread):
    plain, mixed = (drivers(each, bread) for each in (bread_posterior, swapped(bread_posterior)))
    for one, other in zip(plain, mixed, strict=True):
        assert [d.parameter for d in one.drivers][:1] == [d.parameter for d in other.drivers][:1]
        assert other.drivers[0].relevance == pytest.approx(one.drivers[0].relevance, abs=0.02)
        assert other.drivers[0].direction == one.drivers[0].direction


def test_an_earlier_numbering_is_kept(bread_posterior, bread_data, bread):
    later = believing(bread_data, lambda X: tastes(X)[:, ::-1] * [3.0, 0.5])
    assert drivers(later, bread)[0].drivers[0].parameter == "minutes"
    kept = drivers(later, bread, like=bread_posterior)
    assert [objective.drivers[0].parameter for objective in kept] == ["temperature", "minutes"]
    assert [objective.number for objective in kept] == [1, 2]


def test_a_parameter_with_a_best_value_inside_has_no_direction():
    X = np.random.default_rng(0).random((40, 2))
    data = answers(X, lambda X: -((X[:, :1] - 0.5) ** 2), 20)
    (objective,) = drivers(believing(data, lambda X: -20 * (X[:, :1] - 0.5) ** 2, spread=0.2))
    driver = objective.drivers[0]
    assert (driver.parameter, driver.direction) == ("x0", "mixed")
    assert driver.best == pytest.approx(0.5)
    assert (driver.effect_lower <= driver.effect).all()
    assert (driver.effect <= driver.effect_upper).all()


def test_a_category_is_told_by_its_best_value():
    space = cb.Space([cb.Categorical("flour", ["rye", "spelt", "wheat"]), cb.Real("salt", 0, 1)])
    X = np.unique(space.sample(50, seed=0), axis=0)
    spelt = [column.name for column in space.columns].index("flour=spelt")
    data = answers(X, lambda X: X[:, [spelt]], 20)
    (objective,) = drivers(believing(data, lambda X: 10 * X[:, [spelt]], spread=0.2), space)
    driver = objective.drivers[0]
    assert (driver.parameter, driver.direction, driver.best) == ("flour", "category", "spelt")
    assert sorted(driver.values) == ["rye", "spelt", "wheat"]
    assert 0 < driver.lengthscale_relevance < 1


def test_a_space_or_posterior_of_other_inputs_is_refused(bread_posterior):
    other = cb.Space([cb.Real("salt", 0, 1)])
    with pytest.raises(InvalidInputError, match="1 columns"):
        drivers(bread_posterior, other)


def test_two_answers_still_give_a_sound_result(two_answers, bread):
    for objective in drivers(two_answers, bread):
        assert all(0 <= d.lower <= d.relevance <= d.upper <= 1 for d in objective.drivers)


def test_alignment_undoes_any_permutation():
    rng = np.random.default_rng(0)
    functions = rng.normal(size=(25, 3))
    orders = np.array([rng.permutation(3) for _ in range(40)])
    draws = functions[None] + 0.3 * rng.normal(size=(40, 25, 3))
    shuffled = np.take_along_axis(draws, orders[:, None], axis=2)
    aligned = reordered(shuffled, aligned_orders(shuffled))
    assert np.array_equal(aligned_orders(shuffled, functions).argsort(1), orders)
    found = order_like(aligned.mean(0), functions)
    np.testing.assert_allclose(aligned[..., found], draws)


def test_a_single_dimension_needs_no_alignment():
    assert aligned_orders(np.zeros((3, 4, 1))).tolist() == [[0], [0], [0]]


def test_what_is_best_is_told_in_the_parameters_own_terms():
    space = cb.Space([cb.Integer("hue", 0, 360, unit="°"), cb.Real("salt", 0, 2, unit="g")])
    X = np.unique(space.sample(60, seed=0), axis=0)
    data = answers(X, lambda X: -((X[:, :1] - 0.25) ** 2), 20)
    hump = believing(data, lambda X: np.column_stack([-20 * (X[:, 0] - 0.25) ** 2, 5 * X[:, 1]]), spread=0.2)
    told = [objective.drivers[0].told for objective in drivers(hump, space)]
    assert sorted(told) == ["higher salt is better", "hue around 91° is best"]
    (named,) = (dataclasses.replace(each, name="warmth") for each in drivers(hump, space)[:1])
    assert named.sentence.startswith("Warmth: hue around 91° is best (")


def test_a_peak_near_one_end_is_no_direction():
    X = np.random.default_rng(0).random((40, 1))
    data = answers(X, lambda X: X, 20)
    (objective,) = drivers(believing(data, lambda X: -20 * (X[:, :1] - 0.3) ** 2, spread=0.2))
    assert objective.drivers[0].direction == "mixed"


def test_a_name_follows_its_objective_and_is_dropped_where_nothing_is_like_it(bread_posterior, bread_data, bread):
    earlier = numbering(bread_posterior, bread)
    X = bread_data.X
    pattern = earlier.latent(X).mean(0)[:, 1]
    later = numbering(believing(bread_data, lambda X: tastes(X)[:, ::-1] * [3.0, 0.5]), bread)
    assert matched_names(later.latent(X).mean(0), [pattern], ["quickness"]) == ["quickness", ""]
    assert matched_names(later.latent(X).mean(0), [-pattern], ["quickness"]) == ["", ""]
    assert matched_names(later.latent(X).mean(0), [], []) == ["", ""]
