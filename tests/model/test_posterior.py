"""The questions that a posterior answers."""

import numpy as np
import pytest

import choicebo as cb
from choicebo import pareto
from choicebo.errors import InvalidInputError
from choicebo.model.choice_table import choice_table
from choicebo.model.covariance import JITTER, option_covariance
from choicebo.model.posterior import _mixture_quantile


def person(n_choices=40, n_options=30, size=3, seed=0, dim=1):
    rng = np.random.default_rng(seed)
    X = rng.random((n_options, dim))
    objectives = np.column_stack([np.sin(5 * X[:, 0]), np.cos(5 * X[:, 0])])
    choices = []
    for _ in range(n_choices):
        shown = rng.choice(n_options, size, replace=False)
        kept = shown[pareto.non_dominated(objectives[shown])]
        choices.append(cb.Choice(tuple(shown), tuple(kept)))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def posterior():
    return cb.ChoiceGP(engine="laplace").fit(person(), seed=0)


def test_the_band_encloses_the_mean_and_has_the_promised_shape(posterior):
    summary = posterior.latent(np.linspace(0, 1, 7)[:, None])
    assert summary.mean.shape == summary.lower.shape == summary.upper.shape == (7, 2)
    assert (summary.lower < summary.mean).all()
    assert (summary.mean < summary.upper).all()


def test_thousands_of_points_are_answered(posterior):
    assert posterior.latent(np.linspace(0, 1, 5000)[:, None]).mean.shape == (5000, 2)
    assert posterior.pareto_probability(np.linspace(0, 1, 1500)[:, None], draws=20).shape == (1500,)


def test_joint_draws_have_the_mean_and_the_spread_of_the_band(posterior):
    X = np.linspace(0, 1, 5)[:, None]
    draws = posterior.sample(X, draws=4000, seed=1)
    summary = posterior.latent(X)
    spread = draws.std(0)
    assert draws.shape == (4000, 5, 2)
    assert np.abs(draws.mean(0) - summary.mean).max() < 0.15 * spread.max()
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert np.abs(low - summary.lower).max() < 0.15 * spread.max()
    assert np.abs(high - summary.upper).max() < 0.15 * spread.max()


def test_draws_at_the_options_reproduce_the_fitted_values(posterior):
    chains, length, n_e, m = posterior.whitened.shape
    draws = posterior.sample(posterior.options, draws=chains * length, seed=0)
    parts = []
    for d, lengthscale in enumerate(posterior.lengthscales):
        K = option_covariance("matern32", 0.01, posterior.options, posterior.options, lengthscale)
        parts.append(posterior.whitened[:, :, d] @ np.linalg.cholesky(K + JITTER * np.eye(m)).T)
    fitted = np.stack(parts, axis=-1) @ posterior.mixing.T
    # Draws are handed out across the chains.
    np.testing.assert_allclose(draws, np.swapaxes(fitted, 0, 1).reshape(-1, m, n_e), atol=1e-5 * posterior.scales.max())


def test_equal_rows_get_equal_values(posterior):
    draws = posterior.sample([[0.31], [0.7], [0.31]], draws=10)
    assert np.array_equal(draws[:, 0], draws[:, 2])


def test_the_same_seed_gives_the_same_draws(posterior):
    X = [[0.1], [0.5]]
    assert np.array_equal(posterior.sample(X, draws=8, seed=3), posterior.sample(X, draws=8, seed=3))
    assert not np.array_equal(posterior.sample(X, draws=8, seed=3), posterior.sample(X, draws=8, seed=4))


def test_choice_probabilities_cover_all_subsets_and_sum_to_one(posterior):
    shown = posterior.choice_probabilities([[0.1], [0.4], [0.8]])
    assert set(shown) == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}
    assert sum(shown.values()) == pytest.approx(1.0)
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    raw = posterior.choice_probabilities([[0.1], [0.4], [0.8]], normalised=False)
    assert max(raw, key=raw.get) == max(shown, key=shown.get)


def test_permuting_the_set_permutes_the_probabilities(posterior):
    shown = posterior.choice_probabilities([[0.1], [0.4], [0.8]])
    turned = posterior.choice_probabilities([[0.8], [0.1], [0.4]])
    for subset, probability in shown.items():
        moved = tuple(sorted({0: 1, 1: 2, 2: 0}[i] for i in subset))
        assert turned[moved] == pytest.approx(probability, abs=0.06)


def test_the_predicted_choice_is_right_on_most_unseen_sets(posterior):
    unseen = person(n_choices=100, n_options=60, seed=1)
    sets = np.array([unseen.X[list(c.shown)] for c in unseen.choices])
    truth = [tuple(c.shown.index(i) for i in c.kept) for c in unseen.choices]
    assert not np.isin(sets, posterior.data.X).any()
    for rule in ("pareto", "likelihood", "mean"):
        predicted = posterior.predict_choices(sets, rule=rule)
        assert np.mean([p == t for p, t in zip(predicted, truth, strict=True)]) > 0.7
    assert posterior.predict_choice(sets[0]) == posterior.predict_choices(sets[:1])[0]


def test_pareto_probability_is_certain_for_a_single_option_and_spares_the_dominated(posterior):
    assert posterior.pareto_probability([[0.5]]).tolist() == [1.0]
    X = np.linspace(0, 1, 21)[:, None]
    probability = posterior.pareto_probability(X)
    objectives = np.column_stack([np.sin(5 * X[:, 0]), np.cos(5 * X[:, 0])])
    optimal = pareto.non_dominated(objectives)
    assert probability[optimal].mean() > probability[~optimal].mean() + 0.3
    assert set(posterior.pareto_set(X)) == set(np.flatnonzero(probability >= 0.5))


def test_loo_gives_one_finite_value_per_choice(posterior):
    loo = posterior.loo()
    assert loo.pointwise.shape == loo.khat.shape == (40,)
    assert np.isfinite(loo.pointwise).all()
    assert loo.elpd == pytest.approx(loo.pointwise.sum())
    assert (loo.pointwise <= posterior.log_likelihood.reshape(-1, 40).max(0) + 1e-9).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.1, 0.2]], r"shape \(n, 1\)"),
        ([0.1, 0.2], r"shape \(n, 1\)"),
        ([[np.nan]], "not finite in row 0"),
        ([["a"]], "numeric"),
        (np.zeros((0, 1)), "n >= 1"),
    ],
)
def test_bad_points_are_refused(posterior, X, message):
    with pytest.raises(InvalidInputError, match=message):
        posterior.latent(X)


def test_a_set_of_one_or_of_too_many_options_is_refused(posterior):
    with pytest.raises(InvalidInputError, match="at least two"):
        posterior.choice_probabilities([[0.1]])
    with pytest.raises(InvalidInputError, match="at most 12"):
        posterior.predict_choice(np.linspace(0, 1, 13)[:, None])
    with pytest.raises(InvalidInputError, match="rule must be one of"):
        posterior.predict_choice([[0.1], [0.2]], rule="median")


def test_probabilities_are_those_of_the_table(posterior):
    X = np.array([[0.2], [0.6]])
    table = choice_table(posterior.draws.at(X, 0)).mean(0)
    shown = posterior.choice_probabilities(X, normalised=False)
    assert [shown[0,], shown[1,], shown[0, 1]] == pytest.approx(table.tolist())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latent_dim": 0}, "latent_dim"),
        ({"latent_dim": 1.5}, "latent_dim"),
        ({"latent_dim": True}, "latent_dim"),
        ({"kernel": "cubic"}, "matern32"),
        ({"lapse": 1.0}, "lapse"),
        ({"nugget": -0.1}, "nugget"),
        ({"likelihood": "probit"}, "batch_preference"),
        ({"likelihood": "batch_preference", "latent_dim": 2}, "one latent dimension"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        cb.ChoiceGP(**settings)


def test_fitting_needs_choices():
    with pytest.raises(InvalidInputError, match="no choices"):
        cb.ChoiceGP().fit(cb.ChoiceData([[0.1], [0.2]], []))
    with pytest.raises(InvalidInputError, match="ChoiceData"):
        cb.ChoiceGP().fit([[0.1]])


def test_one_winner_can_be_learned_with_the_batch_preference_likelihood():
    rng = np.random.default_rng(0)
    X = rng.random((20, 1))
    choices = []
    for _ in range(30):
        shown = rng.choice(20, 4, replace=False)
        choices.append(cb.Choice(tuple(shown), (shown[np.sin(3 * X[shown, 0]).argmax()],)))
    model = cb.ChoiceGP(latent_dim=1, likelihood="batch_preference", engine="laplace")
    mean = model.fit(cb.ChoiceData(X, choices)).latent(X).mean[:, 0]
    assert np.corrcoef(mean, np.sin(3 * X[:, 0]))[0, 1] > 0.9


def test_the_band_is_the_quantile_of_the_mixture_over_draws():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=(50, 3, 2)) * [0.0, 2.0], np.array([[1.0, 0.5]] * 3)
    draws = mean[:, None] + deviation * rng.standard_normal((50, 20_000, 3, 2))
    for share in (0.025, 0.975):
        expected = np.quantile(draws.reshape(-1, 3, 2), share, axis=0)
        np.testing.assert_allclose(_mixture_quantile(mean, deviation, share), expected, atol=0.03)
