import os

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from choicebo.experiments import oracle_gp
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.datasets import folds, min_max, real_data


def wave(n: int = 60, noise: float = 0.05, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, noisy outputs and exact outputs; the third input is irrelevant, the outputs have odd units."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    exact = np.column_stack([1000 + 50 * np.sin(4 * X[:, 0]), X[:, 0] * X[:, 1]])
    return X, exact + noise * exact.std(axis=0) * rng.standard_normal(exact.shape), exact


def covariance(X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    r = np.sqrt(np.sum(((X[:, None] - X[None]) / lengths) ** 2, axis=-1))
    return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)


def test_the_evidence_is_the_density_of_the_outputs():
    X, Y, _ = wave(12)
    y = (Y[:, 0] - Y[:, 0].mean()) / Y[:, 0].std()
    lengths, scale, noise = np.array([0.3, 0.7, 2.0]), 1.4, 0.2
    value, _ = oracle_gp._negative_evidence(np.log([*lengths, scale, noise]), X, y)
    expected = multivariate_normal.logpdf(y, cov=scale * covariance(X, lengths) + noise * np.eye(12))
    assert -value == pytest.approx(expected, rel=1e-10)


def test_the_gradient_agrees_with_differences():
    X, Y, _ = wave(20)
    y = (Y[:, 1] - Y[:, 1].mean()) / Y[:, 1].std()
    at = np.log([0.3, 0.7, 2.0, 1.4, 0.2])
    _, gradient = oracle_gp._negative_evidence(at, X, y)
    numeric = approx_fprime(at, lambda p: oracle_gp._negative_evidence(p, X, y)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)


def test_the_prediction_is_the_textbook_mean():
    X, Y, _ = wave(25)
    model = oracle_gp.fit(X, Y)
    new = np.random.default_rng(1).random((4, 3))
    for j in range(2):
        both = model.output_scales[j] ** 2 * covariance(np.vstack([X, new]), model.length_scales[j])
        noisy = both[:25, :25] + model.noises[j] ** 2 * np.eye(25)
        expected = Y[:, j].mean() + both[25:, :25] @ np.linalg.solve(noisy, Y[:, j] - Y[:, j].mean())
        np.testing.assert_allclose(model.predict(new)[:, j], expected, rtol=1e-8)


def test_the_oracle_recovers_smooth_functions():
    X, Y, _ = wave(80)
    new, _, exact = wave(50, seed=5)
    error = oracle_gp.fit(X, Y).predict(new) - exact
    assert np.all(np.sqrt(np.mean(error**2, axis=0)) < 0.15 * exact.std(axis=0))


def test_an_irrelevant_input_gets_a_long_length_scale():
    X, Y, _ = wave(80)
    lengths = oracle_gp.fit(X, Y).length_scales
    assert np.all(lengths[:, 2] > 3 * lengths[:, 0])


def test_the_noise_is_found():
    X, Y, exact = wave(150, noise=0.2)
    np.testing.assert_allclose(oracle_gp.fit(X, Y).noises, 0.2 * exact.std(axis=0), rtol=0.3)


def test_the_same_seed_gives_the_same_model():
    X, Y, _ = wave(30)
    np.testing.assert_array_equal(oracle_gp.fit(X, Y, seed=3).weights, oracle_gp.fit(X, Y, seed=3).weights)


def test_the_units_of_an_output_do_not_matter():
    X, Y, _ = wave(40)
    plain, scaled = oracle_gp.fit(X, Y), oracle_gp.fit(X, 1e4 * Y - 3)
    np.testing.assert_allclose(scaled.predict(X), 1e4 * plain.predict(X) - 3, rtol=1e-3)


def test_identical_options_are_kept_or_rejected_together():
    X, Y, _ = wave(40)
    model = oracle_gp.fit(X, Y)
    for row in np.random.default_rng(2).random((30, 3)):
        means = model.predict(np.vstack([row, X[:5], row, X[5:8], row]))
        assert np.array_equal(means[0], means[6])
        assert np.array_equal(means[0], means[10])


def test_repeated_training_rows_do_no_harm():
    X, Y, _ = wave(20)
    assert np.all(np.isfinite(oracle_gp.fit(np.vstack([X, X]), np.vstack([Y, Y])).predict(X)))


@pytest.mark.parametrize("constant", [7.0, 0.1])
def test_a_constant_output_is_predicted_as_that_constant(constant):
    X, _, _ = wave(20)
    np.testing.assert_allclose(oracle_gp.fit(X, np.full((20, 1), constant)).predict(X), constant)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("CHOICEBO_DATA"),
    reason="set CHOICEBO_DATA to the folder that holds the real data sets",
)
@pytest.mark.parametrize(("name", "accuracy"), [("enb", 0.91), ("jura", 0.54), ("real-estate", 0.64), ("slump", 0.43)])
def test_the_oracle_reaches_the_known_accuracy_on_real_data(name, accuracy):
    scores = []
    for fold in folds(real_data(name, os.environ["CHOICEBO_DATA"]), n_choices=1):
        model = oracle_gp.fit(min_max(fold.train_inputs, fold.train_inputs), fold.train_outputs)
        means = model.predict(min_max(fold.train_inputs, fold.test_inputs))
        predicted = [pareto_choice(means[shown]) for shown in fold.test_sets]
        scores.append(np.mean([a == b for a, b in zip(predicted, fold.test_kept, strict=True)]))
    assert np.mean(scores) == pytest.approx(accuracy, abs=0.06)
