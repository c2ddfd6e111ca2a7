import numpy as np
import pytest

from choicebo.errors import InvalidInputError
from choicebo.experiments.held_out_functions import turn
from choicebo.experiments.problems import DEVELOPMENT, HELD_OUT, PROBLEMS, problem, toy_1d, toy_2d
from choicebo.pareto import hypervolume

ALL = [*PROBLEMS, *DEVELOPMENT, *(name for name in HELD_OUT if name != "penicillin")]  # which BoTorch computes


def minimised(name: str, *rows: list[float]) -> np.ndarray:
    """Published values at inputs given in the published units."""
    chosen = problem(name)
    low, high = np.array(chosen.bounds, dtype=float).T
    return -chosen.objectives((np.array(rows) - low) / (high - low))


def missing(name: str, values: np.ndarray) -> float:
    """Hypervolume that a set of maximised values misses."""
    return 10 ** problem(name).log_hypervolume_difference(values)


@pytest.mark.parametrize("name", ALL)
def test_every_problem_answers_for_many_options_as_for_each_alone(name):
    chosen = problem(name)
    options = np.random.default_rng(0).random((7, chosen.dim))
    together = chosen.objectives(options)
    assert together.shape == (7, chosen.num_objectives)
    np.testing.assert_allclose(together, np.vstack([chosen.objectives(row[None]) for row in options]), rtol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_every_problem_is_finite_on_the_corners_of_the_cube(name):
    dim = problem(name).dim
    some = np.unique(np.random.default_rng(0).integers(0, 2, (1000, dim)), axis=0).astype(float)
    corners = some if dim > 8 else np.stack(np.meshgrid(*[[0.0, 1.0]] * dim), axis=-1).reshape(-1, dim)
    assert np.all(np.isfinite(problem(name).objectives(corners)))


@pytest.mark.parametrize("name", ALL)
def test_no_random_option_reaches_beyond_the_true_front(name):
    values = problem(name).objectives(np.random.default_rng(1).random((2000, problem(name).dim)))
    assert missing(name, values) > problem(name).hypervolume_error


@pytest.mark.parametrize("name", ["zdt1", "zdt2", "dtlz1"])
def test_a_turned_problem_has_the_values_of_the_problem_elsewhere_in_the_cube(name):
    plain, other = problem(name), problem(f"{name}-turned")
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * plain.dim), axis=-1).reshape(-1, plain.dim)
    options = np.vstack([corners, np.random.default_rng(0).random((50, plain.dim))])
    elsewhere = 0.5 + (options - 0.5) @ turn(plain.dim) / np.sqrt(plain.dim)
    assert ((elsewhere >= 0) & (elsewhere <= 1)).all()
    np.testing.assert_allclose(other.objectives(elsewhere), plain.objectives(options), atol=1e-6)
    assert (other.reference, other.front_hypervolume) == (plain.reference, plain.front_hypervolume)


@pytest.mark.parametrize("dim", [2, 3, 4, 7])
def test_a_turn_is_a_rotation_that_mixes_all_inputs(dim):
    np.testing.assert_allclose(turn(dim) @ turn(dim).T, np.eye(dim), atol=1e-12)
    assert np.linalg.det(turn(dim)) == pytest.approx(1.0)
    assert (np.abs(turn(dim)).max(1) < 0.9).all()


def test_beyond_its_sides_a_turned_cube_is_mirrored():
    turned_dtlz1 = problem("dtlz1-turned").objectives(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    assert np.isfinite(turned_dtlz1).all()
    line = np.linspace([0.5, 0.5, 0.5], [1.0, 0.5, 0.5], 2000)
    steps = np.abs(np.diff(problem("zdt2-turned").objectives(line), axis=0))
    assert steps.max() < 0.05  # no jumps


def test_branin_has_its_three_published_minima():
    minima = [[-np.pi, 12.275], [np.pi, 2.275], [9.42478, 2.475]]
    values = minimised("branin-currin", *[[(u + 5) / 15, v / 15] for u, v in minima])
    np.testing.assert_allclose(values[:, 0], 0.397887, atol=1e-6)


def test_currin_agrees_with_a_value_computed_by_hand():
    # x = (1, 1): (1 - exp(-1/2)) * 6352 / 624
    np.testing.assert_allclose(minimised("branin-currin", [1.0, 1.0])[0, 1], 0.393469340 * 10.179487179, rtol=1e-8)


def test_currin_takes_its_limit_where_the_second_input_is_zero():
    # exp(-1/(2 * 0)) is 0: the value is 60 / 20
    assert minimised("branin-currin", [0.0, 0.0])[0, 1] == 3.0


def test_branin_currin_attains_the_published_ends_of_its_front():
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 401)] * 2), axis=-1).reshape(-1, 2)
    values = -problem("branin-currin").objectives(grid)
    assert values[:, 1].min() == pytest.approx(1.1804, abs=1e-4)
    assert values[values[:, 1] < 1.1805, 0].min() == pytest.approx(17.508, abs=1e-3)


def test_zdt1_and_zdt2_agree_with_values_computed_by_hand():
    # x = (0.5, 1, 0, 0.5): g = 1 + 9 * 0.5 = 5.5; x = (0.5, 1, 0): the same g
    np.testing.assert_allclose(minimised("zdt1", [0.5, 1, 0, 0.5]), [[0.5, 5.5 - np.sqrt(0.5 * 5.5)]])
    np.testing.assert_allclose(minimised("zdt2", [0.5, 1, 0]), [[0.5, 5.5 - 0.25 / 5.5]])


def zdt_front(name: str, n: int) -> np.ndarray:
    first = np.linspace(0, 1, n)[:, None]
    return problem(name).objectives(np.hstack([first, np.zeros((n, problem(name).dim - 1))]))


def test_the_zdt_fronts_are_a_root_and_a_parabola():
    f1, f2 = -zdt_front("zdt1", 11).T
    np.testing.assert_allclose(f2, 1 - np.sqrt(f1), atol=1e-14)
    f1, f2 = -zdt_front("zdt2", 11).T
    np.testing.assert_allclose(f2, 1 - f1**2, atol=1e-14)


def dtlz1_front(n: int) -> np.ndarray:
    return problem("dtlz1").objectives(np.column_stack([np.linspace(0, 1, n), np.full((n, 2), 0.5)]))


def test_the_dtlz1_front_is_a_line_of_sum_one_half():
    np.testing.assert_allclose(-dtlz1_front(11).sum(axis=1), 0.5, atol=1e-12)


def test_dtlz1_agrees_with_a_value_computed_by_hand():
    # x1 = 0.5, x2 = 0.55: g = 100 (2 + 0.0025 - 1 - cos(pi)) = 200.25
    np.testing.assert_allclose(minimised("dtlz1", [0.25, 0.5, 0.55]), [[0.125 * 201.25, 0.375 * 201.25]], rtol=1e-12)


@pytest.mark.parametrize("n", [10, 1000])
def test_points_on_the_known_fronts_attain_the_hypervolume_from_below(n):
    # What n points miss is the area between their staircase and the front, whose integral is known.
    fronts = {
        "zdt1": (zdt_front("zdt1", n), 1 / 3),
        "zdt2": (zdt_front("zdt2", n), 2 / 3),
        "dtlz1": (dtlz1_front(n), 1 / 8),
    }
    for name, (front, integral) in fronts.items():
        f1, f2 = -front.T
        staircase = np.sum(f2[:-1] * np.diff(f1))
        assert missing(name, front) == pytest.approx(staircase - integral, abs=1e-9), name


def test_kursawe_attains_its_ideal_values():
    grid = np.linspace(-5, 5, 200_001)
    best = grid[np.argmin(np.abs(grid) ** 0.8 + 5 * np.sin(grid**3))]
    np.testing.assert_allclose(minimised("kursawe", [0, 0, 0]), [[-20, 0]], atol=1e-12)
    np.testing.assert_allclose(minimised("kursawe", [best] * 3), [[-14.4354635, -11.6272868]], atol=2e-4)


def test_kursawe_agrees_with_a_value_computed_by_hand():
    expected = [-20 * np.exp(-0.2 * np.sqrt(2)), 3 * (1 + 5 * np.sin(1))]
    np.testing.assert_allclose(minimised("kursawe", [1, 1, 1]), [expected])


def test_vehicle_safety_agrees_with_sums_of_its_coefficients():
    # At x = (1, ..., 1) every monomial is 1, at (2, ..., 2) the quadratic ones are 4.
    linear = np.array([2.3573285 + 2.3220035 + 4.5688768 + 7.7213633 + 4.4559504, 1.9175, 0.1626])
    quadratic = np.array([0.0, -0.1985, -0.0367])
    constant = np.array([1640.2823, 6.5856, -0.0551])
    np.testing.assert_allclose(minimised("vehicle-safety", [1.0] * 5)[0], constant + linear + quadratic, rtol=1e-12)
    np.testing.assert_allclose(
        minimised("vehicle-safety", [2.0] * 5)[0], constant + 2 * linear + 4 * quadratic, rtol=1e-12
    )


def test_vehicle_safety_attains_its_published_ideal_weight():
    assert minimised("vehicle-safety", [1.0] * 5)[0, 0] == pytest.approx(1661.7078, abs=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_the_difference_is_never_the_logarithm_of_a_negative_number(name):
    chosen = problem(name)
    impossible = np.array(chosen.reference)[None] + 1e6
    assert chosen.log_hypervolume_difference(impossible) == pytest.approx(np.log10(chosen.hypervolume_error))


@pytest.mark.parametrize("name", ALL)
def test_without_points_the_whole_hypervolume_is_missing(name):
    chosen = problem(name)
    none = np.empty((0, chosen.num_objectives))
    assert 10 ** chosen.log_hypervolume_difference(none) == pytest.approx(chosen.front_hypervolume)


def test_a_dominated_point_does_not_change_the_difference():
    front = zdt_front("zdt1", 20)
    assert missing("zdt1", np.vstack([front, front[5] - 0.1])) == pytest.approx(missing("zdt1", front))


@pytest.mark.parametrize(
    ("name", "low", "high", "n"),
    [("branin-currin", 0, 1, 801), ("kursawe", 0.37, 0.5005, 66), ("vehicle-safety", 0, 1, 13)],
)
def test_a_fine_grid_comes_within_one_per_cent_of_the_front_from_below(name, low, high, n):
    chosen = problem(name)
    grid = np.stack(np.meshgrid(*[np.linspace(low, high, n)] * chosen.dim), axis=-1).reshape(-1, chosen.dim)
    left = missing(name, chosen.objectives(grid))
    assert chosen.hypervolume_error < left < 0.01 * chosen.front_hypervolume


def test_an_unknown_problem_is_answered_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"'zdt9'.*zdt1, zdt2"):
        problem("zdt9")


@pytest.mark.parametrize("options", [[[0.5]], [0.5, 0.5], [[0.5, 1.5]], [[0.5, np.nan]]])
def test_options_outside_the_unit_cube_are_refused(options):
    with pytest.raises(InvalidInputError, match="branin-currin"):
        problem("branin-currin").objectives(options)


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0]], [[1.0, np.inf]]])
def test_values_that_are_no_objectives_are_refused(values):
    with pytest.raises(InvalidInputError, match="give finite objective values"):
        problem("zdt1").log_hypervolume_difference(values)


def test_the_toy_functions_are_a_cosine_and_a_sine():
    x = np.array([0.0, np.pi / 4, np.pi / 2])
    np.testing.assert_allclose(toy_2d(x), [[1, 0], [0, -1], [-1, 0]], atol=1e-15)
    np.testing.assert_allclose(toy_1d(x), [[1], [0], [-1]], atol=1e-15)


@pytest.mark.parametrize("x", [[[0.0]], [4.6], [np.nan]])
def test_the_toy_functions_refuse_what_is_not_on_their_line(x):
    with pytest.raises(InvalidInputError, match=r"\[-4\.5, 4\.5\]"):
        toy_2d(x)


def along(first: float, last: float, dim: int, *, rest: float | None = None) -> np.ndarray:
    """Inputs on a line: all of them alike, or the first one alone while the others stay at ``rest``."""
    steps = np.linspace(first, last, 20_001)[:, None]
    return np.repeat(steps, dim, axis=1) if rest is None else np.hstack([steps, np.full((len(steps), dim - 1), rest)])


@pytest.mark.parametrize(
    ("name", "front"),
    [
        ("zdt3", along(0.0, 1.0, 4, rest=0.0)),
        ("zdt4", along(0.0, 1.0, 4, rest=0.0)),
        ("dtlz2", along(0.0, 1.0, 4, rest=0.5)),
        ("dtlz3", along(0.0, 1.0, 4, rest=0.5)),
        ("fonseca", along(-(3**-0.5), 3**-0.5, 3)),
        ("vlmop2", along(-(2**-0.5), 2**-0.5, 2)),
        ("tilted-bowls", np.array([0.3, 0.2]) + along(0.0, 1.0, 2) * np.array([0.4, 0.55])),
    ],
)
def test_the_known_pareto_sets_of_the_development_problems_attain_their_hypervolume(name, front):
    # 20,001 points on a curve miss the area between them, which is at most the extent of the front over their number.
    chosen = problem(name)
    low, high = np.array(chosen.bounds, dtype=float).T
    values = chosen.objectives((front - low) / (high - low))
    extent = np.ptp(values, axis=0).prod()
    assert missing(name, values) < chosen.hypervolume_error + extent / 20_000


def test_the_tilted_bowls_are_worth_nothing_at_their_own_centres():
    assert minimised("tilted-bowls", [0.3, 0.2], [0.7, 0.75]) == pytest.approx(
        np.array([[0.0, 2.2948858680181656], [2.2948858680181656, 0.0]])
    )


def test_the_front_of_dtlz2_with_three_objectives_is_the_unit_sphere():
    first, second = np.meshgrid(*[np.linspace(0, 1, 60)] * 2)
    inputs = np.hstack([np.stack([first.ravel(), second.ravel()], axis=1), np.full((3600, 3), 0.5)])
    values = problem("dtlz2-3").objectives(inputs)
    np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0)
    assert 10 ** problem("dtlz2-3").log_hypervolume_difference(values) < 0.03
    assert np.linalg.norm(problem("dtlz2-3").objectives([[0.3, 0.6, 0.5, 0.5, 0.7]])) == pytest.approx(1.04)


def test_the_front_of_the_mixed_bowls_lies_between_the_centres_of_each_kind():
    # All bowls are round: for each kind and count the best trade-offs lie on the line between its two centres.
    chosen = problem("mixed-bowls")
    centres = np.array([[[0.2, 0.3], [0.8, 0.4]], [[0.3, 0.8], [0.6, 0.6]], [[0.5, 0.1], [0.9, 0.9]]])
    steps = np.linspace(0, 1, 5001)[:, None]
    lines = [
        np.hstack([a + steps * (b - a), np.full((5001, 1), count / 6), np.tile(np.eye(3)[kind], (5001, 1))])
        for kind, (a, b) in enumerate(centres)
        for count in range(7)
    ]
    values = chosen.objectives(np.concatenate(lines))
    assert 10 ** chosen.log_hypervolume_difference(values) < 2e-5
    others = chosen.objectives(chosen.space.snap(np.random.default_rng(0).random((20_000, 6))))
    assert hypervolume(np.vstack([values, others]), np.array(chosen.reference)) <= chosen.front_hypervolume


def test_the_ripples_of_zdt4_have_their_published_height():
    # Half a step off, the cosine of each input is -1 instead of 1: g is 1 + 3 (20 + 0.0625).
    g = 1 + 3 * (20 + 0.0625)
    assert minimised("zdt4", [1.0, 0.25, -0.25, 0.25]) == pytest.approx(np.array([[1.0, g - g**0.5]]))
