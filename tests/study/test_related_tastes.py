"""Studies in which tastes are related: one model of all answers, and a view of it for each person."""

import numpy as np
import pytest

import choicebo as cb
from choicebo.history import Steering
from choicebo.study import Study, StudyError

SPACE = cb.Space([cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1)])


def likes(option: dict, salt: float) -> float:
    return -((option["sweet"] - 0.7) ** 2) - (option["salt"] - salt) ** 2


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two people who agree about sweetness and differ about salt."""
    made = Study.create(
        str(tmp_path_factory.mktemp("related") / "soup.db"), "soup", SPACE, raters="related", latent_dim=1, query_size=4
    )
    for name in ("ann", "bo"):
        made.add_rater(name)
    rng = np.random.default_rng(0)
    for _ in range(16):
        for name, salt in (("ann", 0.15), ("bo", 0.85)):
            options = [{"sweet": float(a), "salt": float(b)} for a, b in rng.random((4, 2)).round(2)]
            best = int(np.argmax([likes(option, salt) for option in options]))
            made.add(options, [best], rater=name)
    return made


def test_each_person_has_a_view_of_one_model(study: Study) -> None:
    shared = study.posterior()
    assert shared is not None
    assert set(shared.raters) == {"ann", "bo"}
    ann, bo = study.posterior("ann"), study.posterior("bo")
    assert (ann.rater, bo.rater) == ("ann", "bo")
    salty = SPACE.encode([{"sweet": 0.7, "salt": salt} for salt in (0.15, 0.85)])
    taste = [each.latent(salty).mean[:, 0] for each in (ann, bo)]
    assert taste[0][0] > taste[0][1]
    assert taste[1][0] < taste[1][1]


def test_questions_are_for_who_is_asked(study: Study) -> None:
    ann, bo = study.ask("ann"), study.ask("bo")
    salt = [np.mean([option["salt"] for option in each.options]) for each in (ann, bo)]
    assert salt[0] < salt[1]


def test_a_question_counts_what_its_answer_tells_about_the_others_unless_it_was_wished_for(study: Study) -> None:
    posterior = study.posterior()
    with study._events.reading() as state:
        situation = study._asking.situation_of(state, "ann", Steering())
        wished = study._asking.situation_of(state, "ann", Steering({"sweet": 0.5}))
    own, asked = posterior.of("ann"), posterior.asked("ann")
    assert not np.array_equal(asked.whitened, own.whitened)
    np.testing.assert_array_equal(situation.prospect()._for_person(posterior).whitened, asked.whitened)
    np.testing.assert_array_equal(wished.prospect()._for_person(posterior).whitened, own.whitened)


def test_somebody_new_is_asked_by_what_the_others_taught(study: Study) -> None:
    study.add_rater("cy")
    question = study.ask("cy")
    assert question.latent_dim == 1  # by the model
    assert study.posterior("cy").data.n_choices == 0


def test_results_differ_by_person_and_for_all(study: Study) -> None:
    best = {name: study.result(name).points[0].option["salt"] for name in ("ann", "bo")}
    assert best["ann"] < 0.5 < best["bo"]
    assert study.result().points


def test_the_model_is_stored_with_its_people(study: Study) -> None:
    study.posterior()
    with Study.open(study.url, "soup") as again:
        assert again.has_posterior()
        X = SPACE.encode([{"sweet": 0.7, "salt": 0.2}])
        np.testing.assert_allclose(again.posterior("ann").latent(X).mean, study.posterior("ann").latent(X).mean)


def test_surprising_answers_are_judged_by_their_own_person(study: Study) -> None:
    status = study.status()
    assert status.latent_dim == 1
    assert study.status(rater="ann").pareto_set


def test_agreement_is_in_the_status_the_result_and_the_tables(study: Study) -> None:
    found = study.agreement()
    assert found is not None
    assert found.names == ("ann", "bo")
    assert any("differ about salt" in told for told in found.sentences)
    assert study.status().agreement == found.sentences
    assert study.status(rater="ann").agreement == ()
    assert study.result().agreement.sentences == found.sentences
    assert study.result("ann").agreement is None
    matrix = [line.split(",") for line in study.export_csv("agreement").splitlines()]
    assert [row[0] for row in matrix] == ["person", "ann", "bo"]
    assert float(matrix[1][2]) == pytest.approx(found.likeness.matrix[0, 1], abs=1e-4)
    head, first, *_ = study.export_csv("consensus").splitlines()
    assert head == "consensus,everybody,for ann,for bo,sweet,salt"
    assert float(first.split(",")[0]) == pytest.approx(found.options[0].consensus, abs=1e-4)


def test_tastes_are_related_where_nothing_else_is_said(tmp_path):
    with cb.Study.create(tmp_path / "study.db", "bread", SPACE) as study:
        assert study.raters_mode == "related"


def small(path, mode: str = "related") -> Study:
    made = Study.create(str(path / f"{mode}.db"), "soup", SPACE, raters=mode, latent_dim=1, engine="laplace")
    for name in ("ann", "bo"):
        made.add_rater(name)
    return made


def answered(study: Study, rater: str, count: int) -> None:
    rng = np.random.default_rng(len(rater))
    for _ in range(count):
        options = [{"sweet": float(a), "salt": float(b)} for a, b in rng.random((3, 2)).round(1)]
        study.add(options, [int(np.argmax([option["salt"] for option in options]))], rater=rater)


def test_agreement_needs_two_people_who_answered(tmp_path) -> None:
    study = small(tmp_path)
    assert study.agreement() is None
    answered(study, "ann", 3)
    assert study.agreement() is None
    with pytest.raises(StudyError, match="once two of them have answered"):
        study.export_csv("agreement")
    answered(study, "bo", 1)
    found = study.agreement()
    assert found is not None
    assert found.answers == (3, 1)
    assert "bo gave fewer than 3 answers" in found.sentences[-1]


def test_without_related_tastes_there_is_no_agreement(tmp_path) -> None:
    study = small(tmp_path, "together")
    answered(study, "ann", 2)
    answered(study, "bo", 2)
    assert study.agreement() is None
    with pytest.raises(StudyError, match="raters='related'"):
        study.export_csv("consensus")


@pytest.mark.parametrize(("answers", "names"), [("keep", ("ann", "bo", "owner")), ("retract", ("ann", "owner"))])
def test_answers_of_somebody_who_was_removed_are_kept_or_not(tmp_path, answers: str, names: tuple[str, ...]) -> None:
    study = small(tmp_path)
    for rater in ("ann", "bo", "owner"):
        answered(study, rater, 2)
    study.remove_rater("bo", answers=answers)
    found = study.agreement()
    assert found is not None
    assert found.names == names
    if answers == "retract":
        assert study.posterior("bo").data.n_choices == 0  # somebody of whom nothing is known
        study.restore_rater("bo")
        assert study.agreement().names == ("ann", "bo", "owner")


def test_a_name_is_given_to_one_person_only(tmp_path) -> None:
    study = small(tmp_path)
    with pytest.raises(StudyError, match="There is a rater 'ann' already"):
        study.add_rater("ann")


def test_a_study_of_one_person_is_as_ever(tmp_path) -> None:
    studies = [
        Study.create(str(tmp_path / f"{mode}.db"), "soup", SPACE, raters=mode, initial_queries=2, latent_dim=1)
        for mode in ("together", "related")
    ]
    for _ in range(3):
        asked = [each.ask() for each in studies]
        assert asked[0].options == asked[1].options
        for each, question in zip(studies, asked, strict=True):
            each.tell(question, [0])
