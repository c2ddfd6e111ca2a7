"""What raters wish for their next questions, and how somebody new begins."""

import pytest

import choicebo as cb
from choicebo.errors import StudyError
from choicebo.history import Steering
from choicebo.study import Study

SPACE = cb.Space(
    [cb.Integer("minutes", 5, 40), cb.Real("heat", 150, 220), cb.Categorical("flour", ["rye", "wheat", "spelt"])]
)
MINE = {"minutes": 12, "heat": 200.0, "flour": "wheat"}


@pytest.fixture
def study(tmp_path):
    settings = {"engine": "laplace", "latent_dim": 1, "initial_queries": 3}
    with Study.create(tmp_path / "bread.db", "bread", SPACE, raters="together", **settings) as made:
        made.add_rater("ann")
        yield made


def answer(study, times, rater=None):
    for _ in range(times):
        study.tell(study.ask(rater), [0, 1], rater=rater)


def test_locks_are_of_one_rater_and_stay_until_they_are_taken_off(study):
    study.steer("ann", locked={"flour": "rye"})
    for _ in range(2):
        question = study.ask("ann")
        assert {option["flour"] for option in question.options} == {"rye"}
        assert question.wishes == Steering({"flour": "rye"})
        study.tell(question, [0], rater="ann")
    assert len({option["flour"] for option in study.ask().options}) > 1
    study.steer("ann", locked={})
    assert len({option["flour"] for option in study.ask("ann").options}) > 1


def test_other_wishes_are_for_one_question_and_an_open_one_stays_as_it_is(study):
    first = study.ask()
    assert study.ask(include=[MINE], like=MINE | {"minutes": 20}, locked={"flour": "wheat"}).id == first.id
    study.tell(first, [0])
    question = study.ask()
    assert MINE in question.options
    assert MINE | {"minutes": 20} in question.options
    assert study.wishes() == Steering({"flour": "wheat"})
    assert study.steer(clear=True) == Steering()


def test_what_is_not_given_stays_wished_for(study):
    study.steer(locked={"flour": "rye"})
    study.steer(include=[MINE])
    assert study.wishes() == Steering({"flour": "rye"}, None, (MINE,))


def test_wishes_last_and_are_known_to_other_processes(study, tmp_path):
    study.ask()
    study.steer(locked={"flour": "rye"})
    with Study.open(tmp_path / "bread.db") as other:
        assert other.wishes() == Steering({"flour": "rye"})
        other.skip(other.ask())
    assert {option["flour"] for option in study.ask().options} == {"rye"}


def test_a_question_that_was_computed_before_a_wish_is_not_asked(study):
    answer(study, 3)
    study.prepare()
    study.steer(locked={"flour": "rye"})
    assert all(option["flour"] == "rye" for option, _ in study.ask().new_options)


def test_wishes_that_leave_nothing_are_refused_and_nothing_is_stored(study):
    with pytest.raises(cb.ChoiceboError, match="nothing is left to vary"):
        study.steer(locked=MINE)
    assert study.wishes() == Steering()
    with pytest.raises(StudyError, match="There is no rater"):
        study.steer("eve", locked={})


def test_an_export_has_the_wishes_behind_each_question_and_the_locks_of_the_last(study, tmp_path):
    study.tell(study.ask(locked={"flour": "rye"}, include=[MINE | {"flour": "rye"}]), [0])
    study.ask()
    copy = Study.import_json(tmp_path / "copy.db", study.export_json())
    assert [question.wishes for question in copy.questions()] == [question.wishes for question in study.questions()]
    assert copy.wishes() == Steering({"flour": "rye"})
    broken = study.export_json().replace('"locked": {"flour": "rye"}', '"locked": {"flour": "oat"}')
    with pytest.raises(cb.ChoiceboError, match=r"log\[0\].*accepted are 'rye'"):
        Study.import_json(tmp_path / "broken.db", broken)


def test_somebody_new_begins_with_options_of_their_own_and_one_that_others_kept(study):
    answer(study, 6)
    kept = [past.options[at] for past in study.history() for at in past.kept]
    for _ in range(2):
        question = study.ask("ann")
        assert question.latent_dim is None
        assert sum(question.new) == len(question.options) - 1
        known = [option for option, is_new in zip(question.options, question.new, strict=True) if not is_new]
        assert known[0] in kept
        assert "others kept" in question.reason
        study.tell(question, [0], rater="ann")
    assert study.ask("ann").latent_dim == 1
    assert study.ask().latent_dim == 1


def test_whoever_is_learned_from_alone_has_a_whole_beginning(tmp_path):
    with Study.create(tmp_path / "b.db", "b", SPACE, engine="laplace", latent_dim=1, raters="separate") as study:
        study.add_rater("ann")
        answer(study, 6)
        question = study.ask("ann")
        assert all(question.new)
        assert question.strategy == "sobol"


def test_the_advice_looks_back_two_answers(study):
    answer(study, 9)
    earlier = study.earlier_posteriors()
    assert [each.data.n_choices for each in earlier] == [8, 7]
    assert study.status().advice.looks == 3
    assert [each.data.n_choices for each in study.earlier_posteriors(count=20)] == list(range(8, 0, -1))
