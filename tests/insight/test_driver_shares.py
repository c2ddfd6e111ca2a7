"""The drivers' shares against first-order Sobol indices that are known in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

import choicebo as cb
from choicebo.insight import drivers
from choicebo.insight.drivers import sobol_indices

CLOSE = 0.03


class Certain:
    """Stands in for a posterior that knows its latent functions: every draw is the same."""

    def __init__(self, dim, *functions):
        self.latent_dim = n_e = len(functions)
        self.functions = functions
        self.options = np.zeros((1, dim))
        self.lengthscales = np.ones((n_e, dim))
        self.mixing, self.scales = np.eye(n_e), np.ones(n_e)
        self.spec = SimpleNamespace(kernel="rbf")

    def sample(self, X, draws=200, seed=0):
        values = np.stack([function(X) for function in self.functions], axis=1)
        return np.repeat(values[None], draws, axis=0)


def shares(function, dim, space=None, seed=0):
    """The relevance of each parameter, in the order of the space."""
    (objective,) = drivers(Certain(dim, function), space, draws=2, seed=seed)
    found = {driver.parameter: driver.relevance for driver in objective.drivers}
    names = space.names if space is not None else [f"x{d}" for d in range(dim)]
    return [found[name] for name in names if name in found]


def normalised(*variances):
    return np.array(variances) / np.sum(variances)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", [(1, 1), (2, 1), (3, -2, 1), (4, 2, 1, 1, 0)])
def test_shares_of_a_sum_are_the_squares_of_its_weights(weights, seed):
    found = shares(lambda X: 1000.0 + X @ np.array(weights, dtype=float), len(weights), seed=seed)
    assert found == pytest.approx(normalised(*np.square(weights)), abs=CLOSE)


def test_factors_of_a_product_explain_three_sevenths_each_and_the_rest_together():
    # Each effect has the variance 1/4 * 1/12, the product 1/9 - 1/16.
    assert shares(lambda X: X[:, 0] * X[:, 1], 3) == pytest.approx([3 / 7, 3 / 7, 0.0], abs=CLOSE)


def test_parameters_that_only_act_together_explain_nothing_alone():
    assert shares(lambda X: (X[:, 0] - 0.5) * (X[:, 1] - 0.5), 2) == pytest.approx([0.0, 0.0], abs=CLOSE)


def test_ishigamis_function():
    a, b = 7.0, 0.1

    def function(X):
        z = np.pi * (2 * X - 1)
        return np.sin(z[:, 0]) + a * np.sin(z[:, 1]) ** 2 + b * z[:, 2] ** 4 * np.sin(z[:, 0])

    first, second = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8
    together = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    # Far rougher than what choices can tell: one set of points misses by 0.03 often, their mean must not.
    found = np.mean([shares(function, 3, seed=seed) for seed in range(16)], axis=0)
    assert found == pytest.approx(np.array([first, second, 0.0]) / (first + second + together), abs=CLOSE)


def test_a_category_whose_values_differ_unequally():
    space = cb.Space([cb.Categorical("flour", ["rye", "spelt", "wheat"]), cb.Real("salt", 0, 1)])
    effect = np.array([0.0, 1.0, 4.0])
    found = shares(lambda X: (X[:, :3] > 0) @ effect + 4 * X[:, 3], 4, space)
    assert found == pytest.approx(normalised(effect.var(), 16 / 12), abs=CLOSE)


def test_every_one_of_a_dozen_categories_is_looked_at():
    space = cb.Space([cb.Categorical("flour", [f"mill {k}" for k in range(12)]), cb.Real("salt", 0, 1)])
    effect = np.arange(12.0) % 7
    (objective,) = drivers(Certain(13, lambda X: (X[:, :12] > 0) @ effect + 4 * X[:, 12]), space, draws=2)
    driver = objective.drivers[0]
    assert len(driver.values) == 12
    assert driver.best == "mill 6"
    assert driver.relevance == pytest.approx(normalised(effect.var(), 16 / 12)[0], abs=CLOSE)


def test_of_very_many_categories_the_most_frequent_are_looked_at():
    rows = [{"sku": f"{k}-{n}", "flour": f"mill {k}", "salt": n} for k in range(20) for n in range(3 if k < 9 else 2)]
    menu = cb.Catalogue(rows)
    salt = [column.name for column in menu.columns].index("salt")
    found = drivers(Certain(menu.dim, lambda X: X[:, salt]), menu, draws=2)[0].drivers
    values = next(driver.values for driver in found if driver.parameter == "flour")
    assert len(values) == 16
    assert {f"mill {k}" for k in range(9)} <= set(values)


@pytest.mark.parametrize("seed", range(3))
def test_values_count_as_often_as_they_occur(seed):
    counts, effect = {"rye": 6, "spelt": 2, "wheat": 1}, np.array([0.0, 1.0, 3.0])
    rows = [
        {"flour": flour, "batch": batch, "size": size}
        for flour, count in counts.items()
        for batch in range(count)
        for size in range(8)
    ]
    menu = cb.Catalogue([row | {"sku": f"loaf {at}"} for at, row in enumerate(rows)])
    names = [column.name for column in menu.columns]
    places = [names.index(f"flour={flour}") for flour in counts]

    def function(X):
        return (X[:, places] > 0) @ effect + 2.5 * X[:, names.index("size")]

    often = np.array(list(counts.values())) / 9
    variance = often @ effect**2 - (often @ effect) ** 2
    truth = normalised(variance, 2.5**2 * np.var(np.arange(8) / 7))
    flour, batch, size = shares(function, menu.dim, menu, seed)
    assert [flour, size] == pytest.approx(truth, abs=CLOSE)
    assert batch == pytest.approx(0.0, abs=CLOSE)


def test_a_number_of_more_values_than_are_looked_at():
    space = cb.Space([cb.Integer("minutes", 0, 60), cb.Real("salt", 0, 1)])
    found = shares(lambda X: X[:, 0] ** 2 + X[:, 1], 2, space)
    assert found == pytest.approx(normalised(np.var(np.linspace(0, 1, 61) ** 2), 1 / 12), abs=CLOSE)


def test_a_space_of_few_options_is_gone_through():
    space = cb.Space([cb.Integer("a", 0, 1), cb.Integer("b", 0, 1)])
    found = shares(lambda X: 3 * X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1], 2, space)
    # Half the effects 4 and 2, and the interaction's half of 1.
    assert found == pytest.approx(np.array([4.0, 1.0]) / 5.25, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_constraint_takes_nothing_from_the_shares(seed):
    """Under a + b <= 1 large values of one go with small ones of the other; each is moved alone all the same."""
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)], constraints=["a + b <= 1"])
    assert shares(lambda X: 2 * X[:, 0] + X[:, 1], 2, space, seed) == pytest.approx([0.8, 0.2], abs=CLOSE)


def test_values_count_as_often_as_a_constraint_lets_them_occur():
    """Under a + b <= 1 the density of a is 2 (1 - a): E a^k = 2 / ((k + 1)(k + 2))."""
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)], constraints=["a + b <= 1"])
    squared = 2 / 30 - (2 / 12) ** 2
    truth = normalised(9 * squared, 1 / 18)
    assert shares(lambda X: 3 * X[:, 0] ** 2 + X[:, 1], 2, space) == pytest.approx(truth, abs=CLOSE)


def test_a_range_that_a_constraint_closes_is_not_looked_at():
    space = cb.Space([cb.Real("a", 0, 100), cb.Real("b", 0, 1)], constraints=["a <= 25"])
    (objective,) = drivers(Certain(2, lambda X: X[:, 0]), space, draws=2)
    assert [objective.drivers[0].values[0], objective.drivers[0].values[-1]] == pytest.approx([0, 25])
    # Within the quarter of the range the course turns twice, which a grid over all of it would miss.
    found = shares(lambda X: np.sin(8 * np.pi * X[:, 0]) + X[:, 1], 2, space)
    assert found == pytest.approx(normalised(1 / 2, 1 / 12), abs=CLOSE)


def test_each_objective_has_shares_of_its_own():
    known = Certain(2, lambda X: 9 * X[:, 0] + 3 * X[:, 1], lambda X: X[:, 1] - 2 * X[:, 0])
    first, second = drivers(known, draws=2)
    assert {driver.parameter: driver.relevance for driver in first.drivers} == pytest.approx(
        {"x0": 0.9, "x1": 0.1}, abs=CLOSE
    )
    assert {driver.parameter: driver.relevance for driver in second.drivers} == pytest.approx(
        {"x0": 0.8, "x1": 0.2}, abs=CLOSE
    )


def test_the_shown_course_reaches_both_ends():
    (objective,) = drivers(Certain(1, lambda X: X[:, 0]), draws=2)
    (driver,) = objective.drivers
    assert (driver.values[0], driver.values[-1], driver.best) == (0.0, 1.0, 1.0)
    assert driver.effect[-1] - driver.effect[0] == pytest.approx(1.0)


def test_few_points_to_average_over_do_not_look_like_an_effect():
    """A sign that hangs on other parameters averages out, but never quite over eight points."""
    rng = np.random.default_rng(0)
    course = np.array([-1.0, 1.0])[None, :, None, None]
    signs = rng.choice([-1.0, 1.0], size=(4000, 1, 16, 1))
    assert sobol_indices(signs * course, 8, np.eye(2)).mean() == pytest.approx(0.0, abs=0.01)
    # Nor does their mean, which moves with them, take a part of the total away.
    assert sobol_indices(signs + course, 8, np.eye(2)).mean() == pytest.approx(0.5, abs=0.006)


def test_values_alike_everywhere_are_driven_by_nothing():
    assert shares(lambda X: np.full(len(X), 3.0), 2) == [0.0, 0.0]
