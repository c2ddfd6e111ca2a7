"""Contract with scikit-learn itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import choicebo as cb

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from choicebo.interop.sklearn import ChoiceEstimator


def sets_and_answers(n=40, k=3):
    """Of a person who wants as much as possible."""
    X = np.random.default_rng(0).random((n, k, 1))
    return X, X[:, :, 0] == X[:, :, 0].max(1, keepdims=True)


@pytest.fixture
def estimator():
    return ChoiceEstimator(latent_dim=1, engine="laplace")


# The checks of scikit-learn that ask nothing about the shape of X. `check_estimator` itself stops at estimators that take no
# tables: a sample is here a set of options, (k, d). So these of its checks are left out:
# - all that fit a table (n, d) with one class or number per row, among them those of data types, sparse matrices, feature names,
#   sample weights and subsets of samples;
# - those of classifiers, regressors, transformers, clusterers and outlier detectors, which this is none of.
# What they promise (idempotent fits, unchanged input, pickling, errors before a fit) is tested below with sets of options.
SHAPELESS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("check", SHAPELESS)
def test_it_passes_the_checks_that_ask_nothing_about_the_shape_of_the_data(check, estimator):
    getattr(estimator_checks, check)("ChoiceEstimator", estimator)


def test_check_estimator_finds_nothing_wrong(estimator):
    with pytest.warns(UserWarning, match="Can't test estimator"):
        found = estimator_checks.check_estimator(estimator, on_skip=None)
    assert {each["status"] for each in found} == {"passed"}


def test_cross_validation_and_grid_search_work(estimator):
    X, kept = sets_and_answers()
    assert cross_val_score(estimator, X, kept, cv=3).mean() > 0.8
    assert cross_val_predict(estimator, X, kept, cv=2).shape == kept.shape
    search = GridSearchCV(estimator, {"lapse": [0.01, 0.9]}, cv=2).fit(X, kept)
    assert search.best_estimator_.score(X, kept) > 0.8


def test_sets_of_different_sizes_and_positions_work(estimator):
    X, kept = sets_and_answers()
    sets = [*X, np.array([[0.2], [0.7], [0.1], [0.9]])]
    answers = [*(np.flatnonzero(row).tolist() for row in kept), [3]]
    assert cross_val_score(estimator, sets, answers, cv=2).mean() > 0.8
    predicted = estimator.fit(sets, answers).predict(sets)
    assert predicted.shape == (41, 4)
    assert not predicted[:40, 3].any()
    assert predicted[40].tolist() == [False, False, False, True]


def test_it_works_in_a_pipeline(estimator):
    X, kept = sets_and_answers()
    pipeline = make_pipeline(FunctionTransformer(lambda sets: sets / 10.0), estimator)
    assert pipeline.fit(10.0 * X, kept).score(10.0 * X, kept) > 0.8


def test_fits_are_repeatable_and_leave_the_input_alone(estimator):
    X, kept = sets_and_answers()
    before = X.copy()
    first = estimator.fit(X, kept).posterior_.latent(X[0]).mean
    again = clone(estimator).fit(X, kept).posterior_.latent(X[0]).mean
    assert np.array_equal(first, again)
    assert np.array_equal(X, before)
    assert estimator.n_features_in_ == 1
    restored = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(restored.predict(X), estimator.predict(X))


def test_a_prediction_does_not_depend_on_the_other_sets():
    rng = np.random.default_rng(0)
    X, kept = rng.random((8, 4, 2)), rng.random((8, 4)) < 0.5
    kept[:, 0] |= ~kept.any(1)
    estimator = ChoiceEstimator(latent_dim=2, engine="laplace").fit(X, kept)
    others = rng.random((40, 4, 2))  # of which much is uncertain, so that a prediction depends on its random numbers
    together = estimator.predict(others)
    assert all(
        np.array_equal(estimator.predict(each[None])[0], row) for each, row in zip(others, together, strict=True)
    )


def test_a_generator_is_a_random_state():
    X, kept = sets_and_answers(10)
    assert ChoiceEstimator(1, engine="laplace", random_state=np.random.RandomState(0)).fit(X, kept).score(X, kept) > 0


def test_errors_say_what_is_accepted(estimator):
    X, kept = sets_and_answers(10)
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    with pytest.raises(cb.DataError, match=r"give X as an array \(n, k, d\)"):
        estimator.fit(X[:, :, 0], kept)
    with pytest.raises(cb.DataError, match="one answer for each set"):
        estimator.fit(X, None)
    with pytest.raises(cb.DataError, match="booleans, one for each option"):
        estimator.fit(X, [0.5] * 10)
    with pytest.raises(cb.DataError, match="one answer for each set"):
        estimator.fit(X, kept).score(X, kept[:5])
