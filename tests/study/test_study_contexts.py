"""Contexts in studies: kept for each rater, in files and records, and in results."""

import json

import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.study import Study, study_file

SPACE = cb.Space(
    [cb.Real("sugar", 0, 10, step=0.1), cb.Integer("ice", 0, 9), cb.Context("season", ["summer", "winter"])]
)
BEST = {"summer": 8.0, "winter": 2.0}
SUMMER, WINTER = {"season": "summer"}, {"season": "winter"}


def make(path, **settings):
    return Study.create(
        path, "drinks", SPACE, **{"engine": "laplace", "latent_dim": 1, "initial_queries": 2, **settings}
    )


def answer(study, contexts, rater=None):
    for context in contexts:
        question = study.ask(rater, context=context)
        away = [abs(option["sugar"] - BEST[option["season"]]) for option in question.options]
        study.tell(question, [away.index(min(away))], rater=rater)


@pytest.fixture
def study(tmp_path):
    with make(tmp_path / "drinks.db") as made:
        made.add_rater("ann")
        yield made


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    with make(tmp_path_factory.mktemp("learned") / "drinks.db") as made:
        answer(made, [SUMMER, WINTER] * 6)
        yield made


def test_a_rater_says_the_context_once_and_it_stays_theirs(study):
    with pytest.raises(InvalidInputError, match="The context 'season' is missing"):
        study.ask()
    assert study.context() == {}
    question = study.ask(context=WINTER)
    assert {option["season"] for option in question.options} == {"winter"}
    study.tell(question, [0])
    assert study.ask().context == study.context() == WINTER
    assert study.ask("ann", context=SUMMER).context == SUMMER
    assert study.context() == WINTER
    assert Study.open(study.url).context("ann") == SUMMER


def test_open_questions_of_another_context_wait_until_it_comes_again(study):
    summer = study.ask(context=SUMMER)
    winter = study.ask(context=WINTER)
    assert winter.id != summer.id
    assert study.ask().id == study.open_question().id == winter.id
    assert study.ask(context=SUMMER).id == summer.id
    assert study.standing().question == summer
    study.tell(winter, [0])
    assert study.ask().id == summer.id


def test_forgetting_wishes_keeps_the_context(study):
    study.steer(context=WINTER, locked={"ice": 3})
    found = study.steer(clear=True)
    assert not found.locked
    assert found.context == WINTER
    study.steer(locked={"ice": 3})
    assert study.context() == WINTER


def test_somebody_who_sees_it_begins_in_the_first_context(study):
    assert study.begin_context() == SUMMER
    study.steer(context=WINTER)
    assert study.begin_context() == WINTER
    assert study.ask().context == WINTER


def test_a_prepared_question_is_that_of_the_context(study):
    answer(study, [SUMMER] * 3)
    study.steer(context=WINTER)
    study.prepare()
    assert study.is_ready()
    assert {option["season"] for option in study.ask().options} == {"winter"}
    assert {option["season"] for option in study.ask(context=SUMMER, stand_in=True).options} == {"summer"}


def test_results_are_of_a_context_and_otherwise_of_that_of_the_latest_answer(learned):
    assert learned.latest_context() == WINTER
    assert learned.pareto_set() == learned.pareto_set(context=WINTER)
    best = {season: learned.pareto_set(context={"season": season})[0].option for season in BEST}
    assert best["summer"]["sugar"] > best["winter"]["sugar"] + 2
    for context in (SUMMER, WINTER):
        result = learned.result(context=context)
        assert result.context == context
        assert {point.option["season"] for point in result.points} == set(context.values())
        assert result.unseen.option["season"] == context["season"]
        assert result.objectives[0].drivers[0].parameter == "sugar"
        assert learned.best_unseen(context=context).option["season"] == context["season"]
        status = learned.status(context=context)
        assert status.context == context
        assert status.to_dict()["context"] == context
        assert {each.option["season"] for each in status.pareto_set} == set(context.values())
        assert set(context.values()) == {
            row.split(",")[-1] for row in _rows(learned.export_csv("pareto", context=context))
        }
    assert learned.result().context == WINTER


def _rows(table):
    return table.strip().splitlines()[1:]


def test_counts_and_earlier_models_are_of_a_context_too(learned):
    from choicebo.study.result import counted_result, earlier_result

    for context in (SUMMER, WINTER):
        assert {point.option["season"] for point in counted_result(learned, None, context).points} == set(
            context.values()
        )
    earlier = earlier_result(learned, None, SUMMER)
    assert earlier is None or {point.option["season"] for point in earlier.points} == {"summer"}


def test_a_copy_from_an_export_goes_on_in_the_same_context(learned):
    copy = Study.import_json(learned.url, learned.export_json(), name="copy of drinks")
    assert copy.space == SPACE
    assert copy.context() == learned.context() == WINTER
    assert copy.pareto_set(context=SUMMER) == learned.pareto_set(context=SUMMER)


def test_an_export_whose_question_is_of_two_contexts_is_refused(learned):
    document = json.loads(learned.export_json())
    shown = next(number for number, option in enumerate(document["options"]) if option["season"] == "summer")
    document["options"][shown]["season"] = "winter"
    with pytest.raises(InvalidInputError, match="a choice is made in one context"):
        Study.import_json(learned.url, json.dumps(document), name="broken")


def test_a_choice_made_elsewhere_is_of_one_context(study):
    mixed = [{"sugar": 1, "ice": 1, **SUMMER}, {"sugar": 2, "ice": 2, **WINTER}]
    with pytest.raises(InvalidInputError, match="a choice is made in one context"):
        study.add(mixed, [0])
    rows = [{"choice": 1, **option, "kept": number} for number, option in enumerate(mixed)]
    with pytest.raises(InvalidInputError, match="a choice is made in one context"):
        study.import_choices(rows)
    assert study.n_answers == 0
    study.add([mixed[0], {**mixed[1], **SUMMER}], [0])
    assert study.latest_context() == SUMMER


def test_a_study_file_says_what_is_given_by_the_situation():
    text = """
    [study]
    name = "drinks"
    [[parameter]]
    name = "sugar"
    kind = "real"
    low = 0
    high = 10
    [[parameter]]
    name = "season"
    kind = "categorical"
    values = ["summer", "winter"]
    context = true
    [[parameter]]
    name = "temperature"
    kind = "real"
    low = -10
    high = 35
    context = true
    [baseline]
    sugar = 5
    """
    found = study_file.loads(text)
    assert [parameter.name for parameter in found.space.contexts] == ["season", "temperature"]
    assert found.space.parameters[2].step is None  # it is given, and not offered in steps
    assert study_file.loads(study_file.dumps(found)).space == found.space


def test_what_people_have_today_may_leave_the_context_out(tmp_path):
    with make(tmp_path / "drinks.db", baseline={"sugar": 5, "ice": 5}) as study:
        study.tell(study.ask(context=WINTER), [])
        options = SPACE.decode(study.data.X)
        assert {"sugar": 5.0, "ice": 5, "season": "winter"} in options
        assert {option["season"] for option in options} == {"winter"}


@pytest.mark.parametrize("mode", ["separate", "related"])
def test_raters_of_their_own_taste_are_asked_in_their_own_context(tmp_path, mode):
    with make(tmp_path / "drinks.db", raters=mode) as study:
        study.add_rater("ann")
        for _ in range(3):
            answer(study, [SUMMER])
            answer(study, [WINTER], "ann")
        for rater, context in (("ann", SUMMER), (None, WINTER)):
            question = study.ask(rater, context=context)
            assert question.latent_dim == 1
            assert {option["season"] for option in question.options} == set(context.values())
        assert {each.option["season"] for each in study.pareto_set(rater="ann", context=SUMMER)} == {"summer"}
        if mode == "related":
            assert {each.option["season"] for each in study.agreement(context=WINTER).options} == {"winter"}
