"""What is known of a study: at once from counts, then from the model; names that follow their objectives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError, StudyError
from choicebo.model.engines.base import Limits
from choicebo.study import Study
from choicebo.study.option_counts import count_options
from choicebo.study.result import build_result, counted_result, earlier_result

SPACE = cb.Space([cb.Integer("hue", 0, 90, unit="°"), cb.Real("salt", 0, 1)])


def answer(study: Study) -> None:
    question = study.ask()
    values = [(option["hue"] / 90, option["salt"]) for option in question.options]
    beaten = [any(a > v[0] and b > v[1] for a, b in values) for v in values]
    study.tell(question, [at for at, lost in enumerate(beaten) if not lost])


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory):
    where = tmp_path_factory.mktemp("result") / "a.db"
    settings = {"acquisition": "sobol", "query_size": 4, "latent_dim": 2, "engine": "laplace"}
    with Study.create(where, "a", SPACE, **settings) as study:
        for _ in range(12):
            answer(study)
        study.posterior()
        yield study


def test_counts_need_no_model_and_put_those_first_that_were_always_kept(tmp_path):
    with Study.create(tmp_path / "a.db", "a", SPACE, query_size=3) as study:
        a, b, c = ({"hue": hue, "salt": 0.5} for hue in (10, 20, 30))
        study.add([a, b], [0])
        study.add([a, c], [0, 1])
        study.add([b, c], [1])
        found = counted_result(study)
        assert [(each.option["hue"], each.kept, each.shown, each.optimal) for each in found.points] == [
            (10, 2, 2, True),
            (30, 2, 2, True),
            (20, 0, 2, False),
        ]
        assert found.is_preliminary
        assert found.stage == "from counts of 3 answers; the model is being learned"
        study.retract(study.history()[1])
        assert [(each.shown, each.kept) for each in count_options(study)] == [(1, 1), (2, 0), (1, 1)]


def test_while_the_model_learns_the_one_of_earlier_answers_is_used(learned):
    before = build_result(learned)
    assert (before.stage, before.is_preliminary) == ("from the model of 12 answers", False)
    answer(learned)
    assert not learned.has_posterior()
    found = earlier_result(learned)
    assert found.stage == "from the model of 12 answers; 1 newer is being learned"
    assert [point.option for point in found.best] == [point.option for point in before.best]
    learned.undo()


def test_the_best_option_not_shown_is_new_and_predicted_as_said(learned):
    found = learned.best_unseen()
    seen = [option for act in learned.history() for option in act.options]
    assert found.option not in seen
    assert found == learned.best_unseen() == learned.result().unseen
    again, poor = learned.predict([found.option, {"hue": 0, "salt": 0.0}])
    assert again.probability == pytest.approx(found.probability, abs=0.12)
    assert again.probability > 0.5 > poor.probability
    # The best corner beats everything there is.
    assert found.option["hue"] > 60
    assert found.option["salt"] > 0.6


def test_an_option_that_was_shown_is_predicted_as_its_place_in_the_pareto_set(learned):
    for each in learned.pareto_set(0.0):
        assert learned.predict([each.option])[0].probability == pytest.approx(each.probability, abs=0.02)


def test_without_answers_nothing_is_predicted(tmp_path):
    with Study.create(tmp_path / "a.db", "a", SPACE) as study:
        assert study.best_unseen() is None
        with pytest.raises(InvalidInputError, match="no answers"):
            study.predict([{"hue": 3, "salt": 0.3}])
        with pytest.raises(StudyError, match="no answers"):
            study.name_objective(1, "warmth")


def test_when_all_options_were_shown_there_is_no_unseen_one(tmp_path):
    menu = cb.Catalogue([{"sku": k, "x": k} for k in range(4)])
    with Study.create(tmp_path / "a.db", "a", menu, engine="laplace", latent_dim=1) as study:
        study.add([0, 1, 2], [2])
        assert study.best_unseen().option["sku"] == 3
        study.add([2, 3], [1])
        assert study.best_unseen() is None


def test_a_name_is_kept_moved_and_taken_away(learned):
    learned.name_objective(1, " warmth ")
    learned.name_objective(2, "saltiness")
    assert [each.name for each in learned.result().objectives] == ["warmth", "saltiness"]
    assert learned.result().objectives[0].sentence.startswith("Warmth: ")
    assert [sentence.split(":")[0] for sentence in learned.status().objectives] == ["Warmth", "Saltiness"]
    learned.name_objective(2, "warmth")
    assert [each.name for each in learned.result().objectives] == ["", "warmth"]
    with Study.open(learned.url, "a") as opened:
        assert [each.name for each in opened.objective_names] == ["warmth"]
        assert '"warmth"' in opened.export_json()
    learned.name_objective(2, "")
    assert learned.objective_names == ()
    for number, name in ((3, "x"), (0, "x"), (True, "x"), (1, "x" * 61), (1, "a\nb")):
        with pytest.raises(StudyError, match="objective"):
            learned.name_objective(number, name)


def test_an_exported_name_comes_back_and_names_the_same_objective(learned, tmp_path):
    learned.name_objective(2, "saltiness")
    with Study.import_json(tmp_path / "b.db", learned.export_json()) as copy:
        assert [each.name for each in copy.result().objectives] == ["", "saltiness"]
    learned.name_objective(2, "")


def test_a_poor_fit_is_told_once_with_what_to_do(learned):
    diagnostics = learned.posterior().diagnostics
    assert diagnostics.sentence == ""
    poor = dataclasses.replace(diagnostics, r_hat=1.4, effective_sample_size=3.0, limits=Limits())
    assert len(poor.problems) == 2
    said = poor.sentence
    assert "more answers" in said
    assert "Hamiltonian" not in said


def test_the_table_of_the_best_holds_no_others(learned):
    def shares(table: str) -> list[float]:
        return [float(line.split(",")[0]) for line in learned.export_csv(table).splitlines()[1:]]

    best, every = shares("pareto"), shares("probabilities")
    assert min(best) >= 0.5 > min(every)
    assert len(every) == len(np.unique([str(point.option) for point in learned.result().points]))
