"""Studies in which some of what matters is known: stored, learned from, told."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import SpaceError
from choicebo.pareto import non_dominated
from choicebo.presentation import charts
from choicebo.presentation.fields import as_table, describe
from choicebo.presentation.report_page import report_page
from choicebo.study import Study, posterior_store
from choicebo.study.study_file import dumps, loads

PRICE = "minimise price = 2*flour + 0.3*minutes"
SETTINGS = {"engine": "laplace", "latent_dim": 1, "query_size": 4, "initial_queries": 3, "seed": 3}
FILE = f"""
objectives = ["{PRICE}"]

[study]
name = "bread"

[[parameter]]
kind = "real"
name = "flour"
low = 1
high = 5

[[parameter]]
kind = "integer"
name = "minutes"
low = 5
high = 40
"""


def space(**changes):
    parameters = [cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40)]
    return cb.Space(parameters, **{"objectives": [PRICE], **changes})


def choose(options):
    """What somebody keeps who likes it large, at about 20 minutes, and cheap."""
    values = [[o["flour"] - 0.01 * (o["minutes"] - 20) ** 2, -(2 * o["flour"] + 0.3 * o["minutes"])] for o in options]
    return np.flatnonzero(non_dominated(np.array(values))).tolist()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with Study.create(tmp_path_factory.mktemp("known") / "study.db", "bread", space(), **SETTINGS) as study:
        for _ in range(12):
            question = study.ask()
            study.tell(question, choose(question.options))
        yield study


def test_a_study_file_says_what_is_known():
    found = loads(FILE)
    assert [objective.text for objective in found.space.objectives] == [PRICE]
    assert loads(dumps(found)).space == found.space


def test_a_catalogue_in_a_study_file_says_what_is_known():
    text = """
    objectives = ["minimise price"]
    [study]
    name = "menu"
    [catalogue]
    key = "sku"
    rows = [{ sku = "A", price = 3 }, { sku = "B", price = 5 }, { sku = "C", price = 4 }]
    """
    found = loads(text)
    assert found.space.known.names == ("price",)
    assert loads(dumps(found)).space == found.space


def test_objectives_below_a_section_are_sent_to_the_top():
    with pytest.raises(SpaceError, match="move it to the top"):
        loads('[study]\nname = "bread"\nobjectives = ["minimise minutes"]\n')


def test_the_model_is_stored_and_read_again_with_what_is_known(study):
    fitted = study.posterior()
    again = posterior_store.from_bytes(posterior_store.to_bytes(fitted), study.space.known)
    points = study.space.sobol(6)
    np.testing.assert_array_equal(again.latent(points).mean, fitted.latent(points).mean)
    with pytest.raises((ValueError, KeyError)):
        posterior_store.from_bytes(posterior_store.to_bytes(fitted))


class Measured:
    """Two objectives: a cost that was measured of the first few points, and what can be computed."""

    measured = (True, False)
    signs = np.ones(2)

    def __init__(self, points):
        self.numbers = {point.tobytes(): -3.0 * point[0] for point in points}

    def __len__(self):
        return 2

    def with_measurements(self, points, values):
        found = Measured(points)
        found.numbers = dict(zip([point.tobytes() for point in points], values[:, 0], strict=True))
        return found

    def __call__(self, points):
        return np.column_stack([[self.numbers.get(point.tobytes(), np.nan) for point in points], points[:, 1]])


@pytest.mark.parametrize("raters", [(None, None), ("Ann", "Bo")])
@pytest.mark.parametrize("settings", [{}, {"inducing": 10}, {"latent_dim": 0}])
def test_a_model_is_stored_with_what_was_measured(settings, raters):
    rng = np.random.default_rng(0)
    X = rng.random((24, 2))
    sets = [rng.choice(20, 3, replace=False) for _ in range(14)]
    choices = [cb.Choice(s, [s[int(X[s, 0].argmin())]], rater=raters[at % 2]) for at, s in enumerate(sets)]
    known = Measured(X[14:])  # of some that were never shown, too
    model = cb.ChoiceGP(**{"latent_dim": 1, "engine": "laplace", "known": known, **settings})
    fitted = model.fit_silently(cb.ChoiceData(X, choices))
    content = posterior_store.to_bytes(fitted)
    again = posterior_store.from_bytes(content, Measured(X[:1]))  # the numbers are those of the fit
    assert again.measured == fitted.measured == (True, False)
    np.testing.assert_array_equal(again.latent(X).mean, fitted.latent(X).mean)
    np.testing.assert_array_equal(again.sample(X * 0.9, draws=7), fitted.sample(X * 0.9, draws=7))
    assert again.loo(0).elpd == pytest.approx(fitted.loo(0).elpd, rel=1e-6)
    for name, other in (("known_values", np.zeros((1, 1))), ("known_points", np.full((10, 2), np.inf))):
        with np.load(io.BytesIO(content)) as arrays:
            changed = {**arrays, name: other}
        damaged = io.BytesIO()
        np.savez(damaged, **changed)
        with pytest.raises(ValueError, match="damaged"):
            posterior_store.from_bytes(damaged.getvalue(), known)


def test_an_exported_study_goes_on_as_it_would_have(study, tmp_path):
    with Study.import_json(tmp_path / "again.db", study.export_json()) as again:
        assert again.space == study.space
        assert again.ask().options == study.ask().options


def test_the_result_says_what_is_known_and_how_much_it_counts(study):
    found = study.result()
    assert found.latent_dim == 1
    assert found.explanation == "price, which is known, and 1 hidden objective"
    (known,) = found.known
    assert known.minimise
    assert known.noticed * known.scale == pytest.approx(found.posterior.spec.known.width[0])
    assert "Price (known, less is better)" in known.sentence
    assert len(found.objectives) == 1  # drivers of the hidden one alone
    assert all(len(point.mean) == 1 for point in found.points)
    told = study.status()
    assert told.known == (known.sentence,)
    assert told.explanation == found.explanation


def test_what_hardly_shows_in_the_answers_is_said(study):
    (known,) = study.result().known
    assert "hardly depend on it" in dataclasses.replace(known, scale=0.1).sentence


def test_charts_have_what_is_known_by_name_in_its_own_units(study):
    found = study.result()
    (chart,) = charts.maps(study.space, found.points, ["hidden objective 1"])
    assert "price (known), less is better" in chart.svg
    best = found.best[0]
    price = 2 * best.option["flour"] + 0.3 * best.option["minutes"]
    assert f"price (known), less is better: {price:.4g}" in chart.svg
    assert "price (known)" in charts.parallel(study.space, found.points).svg
    assert "price (known)" in report_page(study)


def test_the_cheapest_lies_furthest_up_on_the_map(study):
    points = study.result().points
    way = charts._known_way(study.space.objectives[0], points)
    prices = [study.space.objectives[0].of(point.option) for point in points]
    assert int(np.argmax([value[0] for value in way.values])) == int(np.argmin(prices))


def test_people_see_the_value_of_a_formula_with_every_option():
    option = {"flour": 2.0, "minutes": 10}
    assert describe(space(), option).endswith("price 7")
    assert as_table(space(), [option])[0][-1] == "price (known)"


def test_nothing_hidden_is_a_result_too(tmp_path):
    with Study.create(tmp_path / "s.db", "bread", space(), **{**SETTINGS, "latent_dim": 0}) as study:
        for _ in range(6):
            question = study.ask()
            prices = [2 * o["flour"] + 0.3 * o["minutes"] for o in question.options]
            study.tell(question, [int(np.argmin(prices))])
        found = study.result()
        assert found.explanation == "price, which is known, alone"
        assert found.objectives == ()
        (chart,) = charts.maps(study.space, found.points, [])
        assert "options, from worst to best" in chart.svg
        assert "price (known)" in report_page(study)
        best = min(2 * p.option["flour"] + 0.3 * p.option["minutes"] for p in found.points)
        assert 2 * found.best[0].option["flour"] + 0.3 * found.best[0].option["minutes"] == pytest.approx(best)


def test_price_may_explain_all_choices(tmp_path):
    optimizer = cb.ChoiceOptimizer(space(), engine="laplace", query_size=3, seed=1)
    for _ in range(10):
        question = optimizer.ask()
        prices = [2 * o["flour"] + 0.3 * o["minutes"] for o in question.options]
        optimizer.tell(question, [int(np.argmin(prices))])
    optimizer.ask()
    assert optimizer.latent_dim == 0
    assert optimizer.latent_dim_history[-1]["reason"].startswith("Price explains all of your choices")


def test_zero_hidden_objectives_need_something_known():
    with pytest.raises(cb.InvalidInputError, match="no objective of the space is known"):
        cb.ChoiceOptimizer(space(objectives=[]), latent_dim=0)
