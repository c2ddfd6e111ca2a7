"""A study whose model stands for many options by few: it is stored, it asks, and it tells a result."""

from __future__ import annotations

import io

import numpy as np
import pytest

import choicebo as cb
from choicebo.model import features
from choicebo.study import posterior_store

SPACE = cb.Space([cb.Real("a", 0.0, 1.0), cb.Real("b", 0.0, 1.0)])


def answered(space=SPACE, answers=25, seed=0):
    """Choices of three among sixty options, the largest sum kept."""
    rng = np.random.default_rng(seed)
    options = space.decode(rng.random((60, 2)))
    found = []
    for _ in range(answers):
        shown = [options[i] for i in rng.choice(60, 3, replace=False)]
        found.append((shown, [max(range(3), key=lambda i: shown[i]["a"] + shown[i]["b"])]))
    return found


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(features, "FROM", 20)


@pytest.fixture
def posterior():
    choices = answered()
    data = cb.ChoiceData.from_sets([SPACE.encode(shown) for shown, _ in choices], [kept for _, kept in choices])
    return cb.ChoiceGP(engine="laplace").fit(data)


def test_a_model_with_features_comes_back_from_its_bytes(posterior):
    assert posterior.inducing is not None
    again = posterior_store.from_bytes(posterior_store.to_bytes(posterior))
    X = np.random.default_rng(1).random((5, 2))
    for points in (X, posterior.options):
        np.testing.assert_array_equal(again.latent(points).mean, posterior.latent(points).mean)
        np.testing.assert_array_equal(again.sample(points, seed=1), posterior.sample(points, seed=1))
    assert again.diagnostics.inducing == len(posterior.inducing)
    assert again.loo(0).elpd == pytest.approx(posterior.loo(0).elpd, abs=1e-3)


@pytest.mark.parametrize("name", ["inducing", "own_order"])
def test_rows_that_are_not_there_are_damage(posterior, name):
    with np.load(io.BytesIO(posterior_store.to_bytes(posterior)), allow_pickle=False) as arrays:
        everything = dict(arrays)
    everything[name] = everything[name] + 1000
    buffer = io.BytesIO()
    np.savez(buffer, **everything)
    with pytest.raises(ValueError, match="rows are damaged"):
        posterior_store.from_bytes(buffer.getvalue())


def test_the_next_question_and_the_best_options_come_from_features():
    optimizer = cb.ChoiceOptimizer(SPACE, engine="laplace", latent_dim=1, query_size=3, seed=0)
    for shown, kept in answered():
        optimizer.add(shown, kept)
    question = optimizer.ask()
    assert optimizer.posterior().inducing is not None
    assert any(question.new)
    known = [tuple(option.values()) for shown, _ in answered() for option in shown]
    beside = [option for option, new in zip(question.options, question.new, strict=True) if not new]
    assert beside
    assert all(tuple(option.values()) in known for option in beside)
    best = optimizer.pareto_set()[0].option
    assert best["a"] + best["b"] > 1.4
    unseen = optimizer.best_unseen()
    assert unseen is not None
    assert tuple(unseen.option.values()) not in known


def test_a_study_tells_a_result(tmp_path):
    study = cb.Study.create(tmp_path / "many.db", "many", SPACE, engine="laplace", latent_dim=1, query_size=3)
    with study:
        for shown, kept in answered():
            study.add(shown, kept)
        assert study.posterior().inducing is not None
        result = study.result()
        assert len(result.points) > 20
        assert result.best[0].option["a"] + result.best[0].option["b"] > 1.4
        assert study.ask().options
