"""Questions and results in a context, and what one context teaches about another."""

from dataclasses import replace

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.history import Steering
from choicebo.insight import drivers
from choicebo.optimizer.in_context import posterior_in

SEASONS = ["summer", "winter"]
SPACE = cb.Space([cb.Real("sugar", 0, 10), cb.Real("ice", 0, 10), cb.Context("season", SEASONS)])
BEST = {"summer": (8.0, 8.0), "winter": (3.0, 6.0)}
SUMMER, WINTER = ({"season": season} for season in SEASONS)


def value(option):
    sugar, ice = BEST[option["season"]]
    return -((option["sugar"] - sugar) ** 2) - (option["ice"] - ice) ** 2


def best_of(options):
    return [int(np.argmax([value(option) for option in options]))]


def loop(answers=0, space=SPACE, **settings):
    optimizer = cb.ChoiceOptimizer(space, **{"engine": "laplace", "latent_dim": 1, "initial_queries": 3, **settings})
    for number in range(answers):
        question = optimizer.ask(context=WINTER if number % 4 == 3 else SUMMER)
        optimizer.tell(question, best_of(question.options))
    return optimizer


@pytest.fixture(scope="module")
def learned():
    return loop(16)


def test_all_options_of_every_question_have_its_context():
    optimizer = loop()
    for number in range(8):
        context = (SUMMER, WINTER)[number % 2]
        question = optimizer.ask(context=context)
        assert len(question.options) == 5
        assert {option["season"] for option in question.options} == {context["season"]}
        assert question.context == context
        optimizer.tell(question, best_of(question.options))
    assert question.latent_dim == 1


@pytest.mark.parametrize(
    "acquisition", ["ucb", "thompson", "scalarised_thompson", "variation", "information", "random"]
)
def test_so_they_have_with_every_acquisition(acquisition):
    optimizer = loop(5, acquisition=acquisition)
    for context in (WINTER, SUMMER):
        question = optimizer.ask(context=context)
        assert {option["season"] for option in question.options} == {context["season"]}


def test_a_question_that_does_not_wait_for_the_model_has_its_context_too():
    question = replace(loop(5).situation, steering=Steering(context=WINTER)).stand_in()
    assert question.strategy == "stand-in"
    assert {option["season"] for option in question.options} == {"winter"}


def test_the_first_question_must_say_its_context_and_the_next_ones_keep_it():
    optimizer = loop()
    with pytest.raises(InvalidInputError, match="The context 'season' is missing, one of 'summer', 'winter'"):
        optimizer.ask()
    optimizer.ask(context=WINTER)
    assert optimizer.ask().context == WINTER
    assert optimizer.context == WINTER
    with pytest.raises(InvalidInputError, match="is missing"):
        optimizer.ask(context={})


def test_first_options_are_not_those_that_were_shown_in_another_context():
    optimizer = loop()
    shown = [optimizer.ask(context=context).options for context in (SUMMER, WINTER)]
    summer, winter = ({(option["sugar"], option["ice"]) for option in options} for options in shown)
    assert not summer & winter


def test_wishes_and_own_options_come_in_the_context_of_the_question():
    optimizer = loop(5)
    question = optimizer.ask(
        context=WINTER,
        locked={"ice": 6.0},
        like={"sugar": 3, "ice": 6},
        include=[{"sugar": 1, "ice": 1, "season": "summer"}],
    )
    assert {option["season"] for option in question.options} == {"winter"}
    assert {"sugar": 1.0, "ice": 1.0, "season": "winter"} in question.options
    assert {option["ice"] for option, finder in question.new_options if finder != "own"} == {6.0}
    with pytest.raises(InvalidInputError, match="'season' is a context and cannot be locked"):
        optimizer.ask(locked={"season": "winter"})


def test_a_choice_among_options_of_two_contexts_is_refused():
    with pytest.raises(InvalidInputError, match="'season' at 'summer' and at 'winter'"):
        loop().add([{"sugar": 1, "ice": 1, **SUMMER}, {"sugar": 2, "ice": 2, **WINTER}], [0])


def test_a_saved_loop_asks_the_same_question_in_the_same_context(learned):
    again = cb.ChoiceOptimizer.from_dict(learned.to_dict())
    copy = cb.ChoiceOptimizer.from_dict(learned.to_dict())
    assert again.context == learned.context == WINTER
    assert again.ask().options == copy.ask().options
    assert again.ask(context=SUMMER).options == copy.ask(context=SUMMER).options


def test_the_pareto_set_of_one_context_differs_from_that_of_another(learned):
    best = {season: learned.pareto_set(context={"season": season})[0].option for season in SEASONS}
    for season, option in best.items():
        assert option["season"] == season
        others = [value({**option, "season": season}) for option in best.values()]
        assert value(option) == max(others)
        assert value(option) > -6.0
    assert learned.pareto_set() == learned.pareto_set(context=WINTER)


def test_options_of_all_contexts_are_compared_within_one(learned):
    every = learned.pareto_set(0.0, context=WINTER)
    seen = {(option["sugar"], option["ice"]) for query in learned.queries for option in query.options}
    assert {(each.option["sugar"], each.option["ice"]) for each in every} == seen
    assert {each.option["season"] for each in every} == {"winter"}
    assert sum(each.probability for each in every) == pytest.approx(1.0)  # one objective: one of them is the best


def test_the_best_option_not_shown_is_one_of_the_context(learned):
    for context in (SUMMER, WINTER):
        found = learned.best_unseen(context=context)
        assert found.option["season"] == context["season"]


def test_predictions_compare_an_option_within_its_own_context(learned):
    options = [{"sugar": 8, "ice": 8, **SUMMER}, {"sugar": 8, "ice": 8, **WINTER}]
    summer, winter = learned.predict(options)
    assert summer.probability > winter.probability
    assert [summer] == learned.predict(options[:1])


def test_a_posterior_in_a_context_knows_what_the_whole_one_does(learned):
    whole = learned.posterior()
    here = posterior_in(whole, SPACE, WINTER)
    points = SPACE.within(WINTER).sobol(40, seed=5)
    np.testing.assert_allclose(here.latent(points).mean, whole.latent(points).mean, atol=0.35 * whole.scales.max())
    correlation = np.corrcoef(here.latent(points).mean[:, 0], whole.latent(points).mean[:, 0])[0, 1]
    assert correlation > 0.97


def test_a_context_is_no_driver_and_what_drives_depends_on_it(learned):
    found = {season: drivers(learned.posterior(), SPACE, context={"season": season})[0] for season in SEASONS}
    for objective in (*found.values(), drivers(learned.posterior(), SPACE)[0]):
        assert {driver.parameter for driver in objective.drivers} == {"sugar", "ice"}
    sugar = {season: next(d for d in each.drivers if d.parameter == "sugar") for season, each in found.items()}
    assert sugar["summer"].best > sugar["winter"].best


def test_how_much_changes_with_a_context_is_told():
    def change(winter):
        rng, best = np.random.default_rng(0), {"summer": (7.0, 7.0), "winter": winter}
        known = []
        for number in range(40):
            season = SEASONS[number % 2]
            points = SPACE.within({"season": season}).sample(4, seed=rng)
            away = [np.hypot(o["sugar"] - best[season][0], o["ice"] - best[season][1]) for o in SPACE.decode(points)]
            known.append((points, [int(np.argmin(away))]))
        data = cb.ChoiceData.from_sets([points for points, _ in known], [kept for _, kept in known])
        (objective,) = drivers(cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=0), SPACE)
        (found,) = objective.changes
        assert found.context == "season"
        assert found.lower <= found.share <= found.upper
        assert objective.sentence.endswith("of it changes with season.")
        return found.share

    assert change(winter=(7.0, 7.0)) < 0.25
    assert change(winter=(2.0, 2.0)) > 0.6


def test_options_that_a_constraint_forbids_in_a_context_stay_out_of_it():
    space = cb.Space(
        [cb.Real("sugar", 0, 10), cb.Real("ice", 0, 10), cb.Context("season", SEASONS)],
        constraints=["not (season == 'winter' and ice > 4)"],
    )
    optimizer = loop(7, space)
    question = optimizer.ask(context=WINTER)
    assert max(option["ice"] for option in question.options) <= 4
    assert max(each.option["ice"] for each in optimizer.pareto_set(0.0, context=WINTER)) <= 4


def test_where_nothing_known_may_be_offered_new_options_are_shown():
    space = cb.Space(
        [cb.Real("ice", 0, 10), cb.Context("season", SEASONS)],
        constraints=["not (season == 'winter' and ice > 1)", "not (season == 'summer' and ice < 2)"],
    )
    optimizer = cb.ChoiceOptimizer(space, engine="laplace", latent_dim=1, initial_queries=2)
    for _ in range(3):
        optimizer.tell(optimizer.ask(context=SUMMER), [0])
    assert optimizer.pareto_set(context=WINTER) == []
    assert max(option["ice"] for option in optimizer.ask(context=WINTER).options) <= 1


def test_what_one_has_today_is_compared_in_the_context_of_the_question():
    optimizer = loop(baseline={"sugar": 5, "ice": 5})
    question = optimizer.ask(context=WINTER)
    optimizer.tell(question, [])
    (choice,) = optimizer.data.choices
    options = SPACE.decode(optimizer.data.X)
    assert {option["season"] for option in options} == {"winter"}
    assert options[choice.kept[0]] == {"sugar": 5.0, "ice": 5.0, "season": "winter"}


def test_answers_in_one_context_improve_predictions_in_another():
    """Thirty choices of the summer beside five of the winter, against these five alone, and all of them without the season."""
    best = {"summer": (7.0, 7.0), "winter": (5.0, 6.0)}

    def choices(count, season, rng):
        found = []
        for _ in range(count):
            points = SPACE.within({"season": season}).sample(4, seed=rng)
            away = [np.hypot(o["sugar"] - best[season][0], o["ice"] - best[season][1]) for o in SPACE.decode(points)]
            found.append((points, (int(np.argmin(away)),)))
        return found

    def log_score(known, held_out, columns):
        data = cb.ChoiceData.from_sets([points[:, columns] for points, _ in known], [kept for _, kept in known])
        posterior = cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=0)
        return np.mean([np.log(posterior.choice_probabilities(points[:, columns])[kept]) for points, kept in held_out])

    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        few, held_out, many = choices(5, "winter", rng), choices(40, "winter", rng), choices(30, "summer", rng)
        every, without_season = [0, 1, 2], [0, 1]
        known = [*many, *few]
        scores.append(
            [
                log_score(few, held_out, every),
                log_score(known, held_out, without_season),
                log_score(known, held_out, every),
            ]
        )
    alone, pooled, together = np.mean(scores, axis=0)
    assert together > alone + 0.1, (alone, pooled, together)
    assert together > pooled + 0.1, (alone, pooled, together)
