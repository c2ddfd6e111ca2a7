import numpy as np
import pytest

from choicebo.errors import InvalidInputError
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.oracle_gp import fit
from choicebo.experiments.problems import toy_1d, toy_2d
from choicebo.experiments.toy import toy_dataset


def accuracy(predicted, kept) -> float:
    return float(np.mean([a == b for a, b in zip(predicted, kept, strict=True)]))


def test_the_protocol_is_the_papers():
    data = toy_dataset(100)
    assert data.inputs.shape == (200, 1)
    assert data.inputs.min() >= 0
    assert data.inputs.max() <= 1
    assert len(data.train.choices) == 100
    assert data.test_sets.shape == (300, 3, 1)
    assert len(data.test_kept) == 300


def test_noise_is_fixed_per_input_and_has_its_size():
    data = toy_dataset(10, noise=0.1, n_inputs=2000, seed=3)
    assert np.std(data.noisy - data.exact) == pytest.approx(0.1, rel=0.05)
    np.testing.assert_array_equal(toy_dataset(10, noise=0.0).noisy, toy_dataset(10, noise=0.0).exact)


def test_inputs_are_scaled_from_the_line_to_the_unit_interval():
    data = toy_dataset(10)
    np.testing.assert_allclose(data.exact, toy_2d(9 * data.inputs[:, 0] - 4.5), atol=1e-12)


def test_every_choice_is_the_pareto_set_of_the_noisy_values():
    data = toy_dataset(40, set_size=5, n_test=20, seed=2)
    value_of = {float(x): value for x, value in zip(data.inputs[:, 0], data.noisy, strict=True)}
    for choice in data.train.choices:
        shown = np.array([value_of[float(data.train.X[i, 0])] for i in choice.shown])
        assert tuple(choice.shown[i] for i in pareto_choice(shown)) == choice.kept
    for options, kept in zip(data.test_sets, data.test_kept, strict=True):
        assert pareto_choice(np.array([value_of[float(x)] for x in options[:, 0]])) == kept


def test_test_sets_are_unseen_in_training():
    data = toy_dataset(300, n_inputs=20, n_test=300)
    shown = [data.train.X[list(choice.shown), 0] for choice in data.train.choices]
    train, test = ({tuple(sorted(options)) for options in sets} for sets in (shown, data.test_sets[:, :, 0]))
    assert len(train) == len(test) == 300
    assert not train & test


def test_training_data_hold_only_the_options_that_were_shown():
    data = toy_dataset(20)
    assert {i for choice in data.train.choices for i in choice.shown} == set(range(len(data.train.X)))
    assert set(data.train.X[:, 0]) < set(data.inputs[:, 0])


def test_more_choices_only_add_to_the_same_data():
    few, many = toy_dataset(100, seed=5), toy_dataset(300, seed=5)
    np.testing.assert_array_equal(few.noisy, many.noisy)
    np.testing.assert_array_equal(few.test_sets, many.test_sets)
    assert few.test_kept == many.test_kept
    assert few.train.choices == many.train.choices[:100]


def test_different_seeds_give_different_data():
    assert not np.array_equal(toy_dataset(10, seed=0).inputs, toy_dataset(10, seed=1).inputs)


def test_one_objective_keeps_one_option():
    data = toy_dataset(30, functions=toy_1d)
    assert data.noisy.shape == (200, 1)
    assert all(len(choice.kept) == 1 for choice in data.train.choices)


def test_the_noiseless_objectives_predict_four_choices_of_five():
    scores = []
    for seed in range(20):
        data = toy_dataset(1, seed=seed)
        scores.append(accuracy((pareto_choice(data.exact[rows]) for rows in data.test_indices), data.test_kept))
    # 0.81 over many repetitions; one repetition varies by about 0.03.
    assert np.mean(scores) == pytest.approx(0.81, abs=0.02)


def test_the_oracle_reaches_the_papers_accuracy():
    scores = []
    for seed in range(3):
        data = toy_dataset(1, seed=seed)
        oracle = fit(data.inputs, data.noisy, seed=seed)
        means = oracle.predict(data.inputs)
        scores.append(accuracy((pareto_choice(means[rows]) for rows in data.test_indices), data.test_kept))
    assert np.mean(scores) > 0.77


@pytest.mark.parametrize("settings", [{"n_choices": 0}, {"n_inputs": 0}, {"noise": -0.1}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(InvalidInputError, match="toy_dataset was given"):
        toy_dataset(**({"n_choices": 10} | settings))


def test_more_sets_than_the_inputs_allow_are_refused():
    with pytest.raises(InvalidInputError, match="different sets"):
        toy_dataset(10, n_inputs=5)
