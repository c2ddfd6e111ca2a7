"""Studies in which some of what matters is measured afterwards: learned from, estimated, told and stored."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import choicebo as cb
from choicebo.formatting import Estimate, number_text
from choicebo.history.events import option_key
from choicebo.pareto import non_dominated
from choicebo.presentation import charts
from choicebo.presentation.fields import as_table, describe
from choicebo.presentation.report_page import report_page
from choicebo.study import Study, posterior_store
from choicebo.study.measured import measured_of
from choicebo.study.study_file import dumps, loads

SETTINGS = {"engine": "laplace", "latent_dim": 1, "query_size": 4, "initial_queries": 3, "seed": 3}
SPACE = cb.Space([cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40)], objectives=["minimise cost = measured"])
UNSHOWN = {"flour": 5.0, "minutes": 39}


def cost(option):
    return 3.0 + 2.0 * option["flour"] + 0.3 * option["minutes"]


def choose(options):
    """What somebody keeps who likes it large, at about 20 minutes, and cheap."""
    values = [[o["flour"] - 0.01 * (o["minutes"] - 20) ** 2, -cost(o)] for o in options]
    return np.flatnonzero(non_dominated(np.array(values))).tolist()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with Study.create(tmp_path_factory.mktemp("measured") / "study.db", "bread", SPACE, **SETTINGS) as study:
        for number in range(12):
            question = study.ask()
            study.tell(question, choose(question.options))
            if number % 2 == 0:
                study.measure(question.options[0], cost=cost(question.options[0]))
        study.measure(UNSHOWN, cost=cost(UNSHOWN))
        yield study


def test_what_was_not_measured_is_estimated_and_told_so(study):
    result = study.result()
    found = [(result.measured[option_key(point.option)]["cost"], point.option) for point in result.points]
    measured = {option_key(each.option): each.value for each in study.measurements()}
    for value, option in found:
        assert isinstance(value, Estimate) == (option_key(option) not in measured)
        assert value == pytest.approx(cost(option), abs=4.0 if isinstance(value, Estimate) else 1e-9)
    estimates = [value for value, _ in found if isinstance(value, Estimate)]
    assert estimates
    assert all(each.lower < each < each.upper for each in estimates)
    assert all(number_text(each).startswith("about ") for each in estimates)
    (known,) = result.known
    assert known.title == "cost (measured)"
    assert known.sentence.startswith("Cost (measured, less is better): differences of about ")
    assert result.explanation == "cost, which is measured, and 1 hidden objective"


def test_an_option_that_was_never_shown_is_not_among_those_to_choose_from(study):
    assert UNSHOWN not in [point.option for point in study.result().points]
    assert UNSHOWN not in [each.option for each in study.pareto_set(0.0)]
    assert UNSHOWN in [each.option for each in study.measurements()]
    posterior = study.posterior()
    assert SPACE.encode([UNSHOWN])[0].tolist() in posterior.options.tolist()
    assert SPACE.encode([UNSHOWN])[0].tolist() not in posterior.answered.tolist()


def test_only_options_that_were_shown_are_companions_of_new_ones(study):
    loop = study.optimizer(fit=True)
    question = loop.ask()
    shown = [option for past in study.history() for option in past.options]
    assert all(is_new or option in shown for option, is_new in zip(question.options, question.new, strict=True))


def test_charts_and_tables_have_the_measured_objective(study):
    result = study.result()
    (chart, *_) = charts.maps(SPACE, result.points, ["size"], measured=result.measured)
    assert "cost (measured), less is better" in chart.svg
    parallel = charts.parallel(SPACE, result.points, result.measured)
    assert "cost (measured)" in parallel.svg
    headings, rows = as_table(SPACE, [point.option for point in result.points], result.measured)
    assert headings[-1] == "cost (measured)"
    assert any(row[-1].startswith("about ") for row in rows)
    page = report_page(study)
    assert "cost (measured)" in page
    assert ">about " in page


def test_without_a_model_only_what_was_measured_is_told(study):
    first = study.measurements()[0]
    values = measured_of(study, [first.option, {"flour": 1.5, "minutes": 7}])
    assert values == {option_key(first.option): {"cost": first.value}}
    assert describe(SPACE, first.option, values).endswith(f", cost {first.value:.6g}")
    assert "cost" not in describe(SPACE, {"flour": 1.5, "minutes": 7}, values)


def test_the_status_counts_measurements_and_gives_estimates(study):
    status = study.status()
    assert status.measurements == len(study.measurements())
    found = status.to_dict()["pareto_set"]
    assert all(("cost" in each.get("measured", {})) != ("cost" in each.get("estimated", {})) for each in found)


def test_exports_have_the_values_as_columns(study):
    measured = {option_key(each.option): each.value for each in study.measurements()}
    rows = list(csv.DictReader(io.StringIO(study.export_csv("options"))))
    assert sum(row["cost"] != "" for row in rows) == len(measured) - 1  # one was never shown
    rows = list(csv.DictReader(io.StringIO(study.export_csv("pareto"))))
    assert all((row["cost"] == "") != (row["cost estimated"] == "") for row in rows)
    rows = list(csv.DictReader(io.StringIO(study.export_csv("measurements"))))
    assert [float(row["value"]) for row in rows] == [each.value for each in study.measurements()]
    assert {row["measured"] for row in rows} == {"cost"}


def test_a_stored_model_is_that_of_its_measurements(study):
    known = study.optimizer().situation.known
    posterior = study.posterior()
    again = posterior_store.from_bytes(posterior_store.to_bytes(posterior), SPACE.known)
    points = SPACE.sobol(8)
    np.testing.assert_array_equal(again.latent(points).mean, posterior.latent(points).mean)
    np.testing.assert_array_equal(again.spec.known.function(again.options), known(again.options))
    with Study.open(study.url) as opened:
        assert opened.has_posterior()
        assert not np.isnan(opened.posterior().latent(points).mean).any()


def test_a_measurement_makes_the_model_learn_again(study, tmp_path):
    copy = Study.import_json(tmp_path / "copy.db", study.export_json())
    before = copy.posterior()
    assert copy.has_posterior()
    question = copy.result().best[0].option
    copy.measure(question, cost=500.0)
    assert not copy.has_posterior()
    after = copy.posterior()
    assert not np.array_equal(before.latent(before.options).mean[:, 1], after.latent(before.options).mean[:, 1])
    copy.measure(question, cost=measured_of(study, [question]).get(option_key(question), {}).get("cost"))
    assert copy.has_posterior()  # what is known is what was known before


def test_the_same_events_lead_to_the_same_question_wherever_it_is_computed(study, tmp_path):
    here = Study.import_json(tmp_path / "here.db", study.export_json())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = Study.import_json(tmp_path / "there.db", study.export_json(), executor=pool)
        assert there.ask().options == here.ask().options
    assert here.optimizer().situation.measured


def test_each_alone_knows_what_anybody_measured(tmp_path):
    with Study.create(tmp_path / "two.db", "bread", SPACE, raters="separate", **SETTINGS) as study:
        study.add_rater("Ann")
        study.tell(study.ask("Ann"), [0])
        before = study.optimizer("Ann").situation
        study.measure(UNSHOWN, cost=20.0)
        after = study.optimizer("Ann").situation
        assert after.model_key != before.model_key
        assert after.known(SPACE.encode([UNSHOWN]))[0, 0] == -20.0


def test_related_tastes_share_what_was_measured(tmp_path):
    with Study.create(tmp_path / "related.db", "bread", SPACE, raters="related", **SETTINGS) as study:
        study.add_rater("Ann")
        for rater in ("owner", "Ann"):
            for _ in range(3):
                question = study.ask(rater)
                study.tell(question, choose(question.options))
                study.measure(question.options[0], cost=cost(question.options[0]))
        result = study.result("Ann")
        values = [result.measured[option_key(point.option)]["cost"] for point in result.points]
        assert any(isinstance(value, Estimate) for value in values)
        posterior = study.posterior()
        again = posterior_store.from_bytes(posterior_store.to_bytes(posterior), SPACE.known)
        np.testing.assert_allclose(again.latent(SPACE.sobol(4)).mean, posterior.latent(SPACE.sobol(4)).mean)


def test_before_two_numbers_there_is_no_estimate_but_a_result(tmp_path):
    with Study.create(tmp_path / "few.db", "bread", SPACE, **SETTINGS) as study:
        for _ in range(4):
            question = study.ask()
            study.tell(question, choose(question.options))
        assert study.result().measured == {}
        study.measure(question.options[0], cost=12.0)
        result = study.result()
        assert result.measured == {option_key(question.options[0]): {"cost": 12.0}}
        assert "too few were measured" in result.known[0].sentence
        assert charts.parallel(SPACE, result.points, result.measured) is not None
        assert charts.maps(SPACE, result.points, ["size"], measured=result.measured)


def test_a_study_file_declares_a_measured_objective():
    text = """
objectives = ["minimise cost", "maximise shelf life = measured"]

[study]
name = "bread"

[[parameter]]
kind = "integer"
name = "minutes"
low = 5
high = 40
"""
    definition = loads(text)
    assert [each.measured for each in definition.space.objectives] == [True, True]
    assert loads(dumps(definition)).space == definition.space
