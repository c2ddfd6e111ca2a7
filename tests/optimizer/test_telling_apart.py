"""Options of one question that a person can tell apart, and values that are offered in steps or go round."""

import warnings

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.space.spacing import differences

warnings.filterwarnings("ignore", category=cb.ConvergenceWarning)

SPACE = cb.Space([cb.Real("size", 0, 1), cb.Angle("hue")])
STEPPED = cb.Space([cb.Real("size", 0, 1, step=0.01), cb.Real("depth", 2, 3, step=0.1), cb.Angle("hue", step=10)])


def optimizer(space=SPACE, **settings):
    return cb.ChoiceOptimizer(
        space, **{"latent_dim": 2, "engine": "laplace", "seed": 1, "initial_queries": 3} | settings
    )


def likes(option):
    """Red, whichever way round; large, and small."""
    red = np.cos(np.deg2rad(option["hue"]))
    return np.array([red + option["size"], red - option["size"]])


def answer(opt, question):
    values = np.array([likes(option) for option in question.options])
    beaten = [any((o >= v).all() and (o > v).any() for o in values) for v in values]
    opt.tell(question, [position for position, is_beaten in enumerate(beaten) if not is_beaten])


def closest(space, options):
    points = space.encode(options)
    return differences(space.columns, points, points)[np.triu_indices(len(points), 1)].min()


@pytest.mark.parametrize("companions", ["dominated", "informative"])
def test_options_of_one_question_differ(companions):
    opt = optimizer(least_difference=0.2, companions=companions)
    for _ in range(6):
        for question in (opt.situation.stand_in(), opt.ask()):
            assert len(question.options) == 5
            assert closest(SPACE, question.options) >= 0.2 - 1e-9
        answer(opt, question)
    assert question.latent_dim is not None


@pytest.mark.parametrize("acquisition", ["random", "sobol"])
def test_options_without_a_model_differ_too(acquisition):
    opt = optimizer(least_difference=0.15, acquisition=acquisition)
    for _ in range(4):
        question = opt.ask()
        assert closest(SPACE, question.options) >= 0.15 - 1e-9
        answer(opt, question)


def test_where_options_cannot_differ_so_much_the_question_is_as_long_as_ever():
    opt = optimizer(cb.Space([cb.Real("size", 0, 1)], fixed={"hue": 0}), least_difference=0.5)
    for _ in range(5):
        question = opt.ask()
        assert len({option["size"] for option in question.options}) == 5
        answer(opt, question)


def test_what_is_proposed_lies_on_its_step_and_an_own_option_may_lie_between():
    own = {"size": 0.512345, "depth": 2.25, "hue": 3.5}
    opt = optimizer(STEPPED, baseline=own)
    opt.add([own, {"size": 0.1, "depth": 2.0, "hue": 90}], kept=[0])
    shown = []
    for _ in range(6):
        question = opt.ask()
        shown += [option for option, new in zip(question.options, question.new, strict=True) if new]
        answer(opt, question)
    assert opt.data.n_options == len({*map(str, shown), "own", "other"})
    points = STEPPED.encode(shown)
    np.testing.assert_array_equal(STEPPED.snap(points), points)
    assert all(len(str(option["size"])) <= 4 and len(str(option["depth"])) == 3 for option in shown)
    assert own in opt.situation.choices[0][0]


def test_the_model_sees_the_ends_of_a_turn_as_neighbours():
    """Who likes 340 to 360 degrees likes 1 degree, and not 180."""
    space = cb.Space([cb.Angle("hue")])
    rng = np.random.default_rng(0)
    sets, kept = [], []
    for _ in range(25):
        hues = rng.uniform(60, 360, 3)
        sets.append(space.encode([{"hue": hue} for hue in hues]))
        kept.append((int(np.abs(hues - 350).argmin()),))
    data = cb.ChoiceData.from_sets(sets, kept)
    posterior = cb.ChoiceGP(1, engine="laplace").fit(data, seed=0)
    liked, beside, across = posterior.latent(space.encode([{"hue": hue} for hue in (350, 1, 180)])).mean[:, 0]
    assert abs(liked - beside) < 0.3 * (liked - across)


@pytest.mark.parametrize("least", [-0.1, 0.6, "a", None, True, float("nan")])
def test_a_least_difference_that_makes_no_sense_is_refused(least):
    with pytest.raises(
        InvalidInputError, match=r"least_difference is .*fraction of a parameter's range from 0 to 0\.5"
    ):
        optimizer(least_difference=least)
