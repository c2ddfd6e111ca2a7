"""Tables for pandas and polars."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import choicebo as cb
from choicebo import frames
from choicebo.model.engines import Laplace
from choicebo.optimizer import ParetoOption, ParetoOptions

DATA = cb.ChoiceData([[0.1], [0.7], [1.0]], [((1, 0), (1,))])


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    pytest.importorskip(request.param)
    return request.param


def rows(frame) -> list[dict]:
    """The rows of a frame of either library."""
    return frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")


def test_choices(library):
    found = rows(DATA.to_frame(library))
    assert [row["option"] for row in found] == [1, 0, 2]
    assert [row["kept"] for row in found][:2] == [True, False]
    assert [row["x0"] for row in found] == [0.7, 0.1, 1.0]


def test_a_catalogue_comes_back_as_it_went(library):
    menu = cb.Catalogue([{"sku": "A", "price": 2.5, "kind": "x"}, {"sku": "B", "price": 3.0, "kind": "y"}])
    frame = menu.to_frame(library)
    assert rows(frame) == list(menu.rows)
    if library == "pandas":
        assert cb.Catalogue(frame) == menu


def test_a_pareto_set(library):
    found = ParetoOptions([ParetoOption({"minutes": 12, "probability": "high"}, 0.9)]).to_frame(library)
    assert rows(found) == [{"minutes": 12, "probability": "high", "probability_": 0.9}]
    loop = cb.ChoiceOptimizer(cb.Space([cb.Integer("minutes", 5, 40)]), latent_dim=1, engine=Laplace())
    assert len(loop.pareto_set().to_frame(library)) == 0
    loop.tell(loop.ask(), [0])
    found = rows(loop.pareto_set().to_frame(library))
    assert set(found[0]) == {"minutes", "probability"}


def test_a_status(library, tmp_path):
    with cb.Study.create(tmp_path / "s.db", "bread", cb.Space([cb.Integer("minutes", 5, 40)])) as study:
        study.tell(study.ask(), [0])
        (row,) = rows(study.status(insight=False).to_frame(library))
    assert (row["name"], row["answers"], row["raters"]) == ("bread", 1, 1)


def imported(monkeypatch, *names: str) -> None:
    """Let it look as if the program had imported these libraries and no others."""
    monkeypatch.setattr(frames, "sys", SimpleNamespace(modules=dict.fromkeys(names)))


def test_the_library_that_is_in_use_is_taken(monkeypatch):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for names, expected in [((), pandas), (("pandas",), pandas), (("polars",), polars), (("polars", "pandas"), pandas)]:
        imported(monkeypatch, *names)
        assert isinstance(DATA.to_frame(), expected.DataFrame)


def test_without_any_the_error_says_what_to_install(monkeypatch):
    imported(monkeypatch)
    monkeypatch.setattr(frames.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(cb.MissingExtraError, match="pip install pandas, or pip install polars"):
        DATA.to_frame()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(cb.MissingExtraError, match="pip install polars"):
        DATA.to_frame("polars")


def test_another_library_is_refused():
    with pytest.raises(cb.InvalidInputError, match="'pandas' or 'polars'"):
        DATA.to_frame("dask")
