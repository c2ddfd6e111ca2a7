"""Contract with ArviZ itself: its functions take what `to_arviz` gives, and agree with ours."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import choicebo as cb
from choicebo.model.alignment import aligned_orders
from choicebo.pareto import non_dominated

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ArviZ 0.23 announces 1.0
    az = pytest.importorskip("arviz")

SPACE = cb.Space([cb.Real("heat", 150, 220, unit="°C"), cb.Categorical("flour", ["rye", "oat"])])


@pytest.fixture(scope="module")
def fits():
    """Models with one and two objectives of a person who has two, some of whose answers are alike."""
    rng = np.random.default_rng(0)
    X = SPACE.sample(30, 0)
    wanted = np.stack([np.sin(5 * X[:, 0]), np.cos(4 * X[:, 0]) + X[:, 1]], axis=1)
    sets = [rng.choice(30, 4, replace=False) for _ in range(40)]
    choices = [(shown, shown[non_dominated(wanted[shown])]) for shown in sets]
    data = cb.ChoiceData(X, [*choices, *choices[:3]])
    return {dim: cb.ChoiceGP(dim).fit_silently(data) for dim in (1, 2)}


def score(found):
    """ArviZ 1.0 gave the field another name."""
    return found.elpd if hasattr(found, "elpd") else found.elpd_loo


def test_loo_agrees_with_ours(fits):
    for posterior in fits.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large k-hat
            theirs = az.loo(posterior.to_arviz())
        ours = posterior.loo(refit_limit=0)
        assert score(theirs) == pytest.approx(ours.elpd, abs=0.1 * ours.se)
        assert theirs.se == pytest.approx(ours.se, rel=0.1)


def test_compare_prefers_two_objectives_where_there_are_two(fits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = az.compare({str(dim): posterior.to_arviz() for dim, posterior in fits.items()})
    assert list(table.index) == ["2", "1"]


def test_a_summary_names_options_and_objectives_and_has_converged(fits):
    table = az.summary(fits[2].to_arviz(SPACE, objective_names=["taste", "crust"]), round_to="none")
    assert len(table) == 60
    assert all("heat" in name and ("taste" in name or "crust" in name) for name in table.index)
    assert float(table["r_hat"].astype(float).max()) < 1.1
    assert float(table["mean"].astype(float).mean()) == pytest.approx(fits[2].draws.latent.mean(), abs=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_trace_can_be_drawn(fits):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    az.plot_trace(fits[2].to_arviz(), var_names=["latent"], coords={"option": [0]})
    assert plt.get_fignums()
    plt.close("all")


def test_all_draws_number_the_objectives_alike():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    wanted = np.stack([-((X[:, 0] - 0.2) ** 2) - X[:, 1] ** 2, -((X[:, 0] - 0.8) ** 2) - X[:, 1] ** 2], axis=1)
    sets = [rng.choice(30, 4, replace=False) for _ in range(50)]
    data = cb.ChoiceData(X, [(shown, shown[non_dominated(wanted[shown])]) for shown in sets])
    posterior = cb.ChoiceGP(2).fit_silently(data)
    raw = aligned_orders(posterior.draws.latent)
    assert len(np.unique(raw, axis=0)) == 2  # either objective may come first
    latent = posterior.to_arviz()["posterior"]["latent"].values
    found = aligned_orders(latent.reshape(-1, *latent.shape[2:]))
    assert len(np.unique(found, axis=0)) == 1


def test_draws_of_a_chain_are_that_chains(fits):
    posterior = fits[1]
    data = posterior.to_arviz()
    chains, draws = posterior.whitened.shape[:2]
    latent = data["posterior"]["latent"].values
    assert latent.shape == (chains, draws, len(posterior.options), 1)
    # The log-density of a draw and the log-likelihood of its chain have the same order.
    stored = posterior.log_likelihood.sum(2) - 0.5 * (posterior.whitened**2).sum((2, 3))
    assert np.allclose(data["sample_stats"]["lp"].values, stored)
    assert np.allclose(latent[1, 2], posterior.draws.latent[2 * chains + 1])


def test_answers_and_options_go_along(fits):
    posterior = fits[2]
    data = posterior.to_arviz(SPACE)
    kept = data["observed_data"]["kept"].values
    assert kept.shape == (43, len(posterior.options))
    for row, choice in zip(kept, posterior.data.choices, strict=True):
        shown = {tuple(posterior.data.X[option]) for option in choice.shown}
        assert {tuple(posterior.options[at]) for at in np.flatnonzero(row >= 0)} == shown
        assert (row == 1).sum() == len(choice.kept)
    assert np.array_equal(data["constant_data"]["X"].values, posterior.options)
    assert list(data["constant_data"]["input"].values) == [column.name for column in SPACE.columns]
    assert data["sample_stats"].attrs["engine"] == "hmc"


def test_rows_of_a_catalogue_have_their_keys():
    menu = cb.Catalogue([{"sku": name, "price": price} for price, name in enumerate("abc")], key="sku")
    data = cb.ChoiceData(menu.encode(["a", "b", "c"]), [((0, 1, 2), (2,)), ((0, 1), (1,))])
    found = cb.ChoiceGP(1, engine="laplace").fit_silently(data).to_arviz(menu)
    assert list(found["posterior"]["option"].values) == ["a", "b", "c"]


def test_names_that_do_not_fit_are_refused(fits):
    with pytest.raises(cb.InvalidInputError, match="2 different names"):
        fits[2].to_arviz(objective_names=["taste"])
    with pytest.raises(cb.InvalidInputError, match="has 1"):
        fits[2].to_arviz(cb.Space([cb.Real("heat", 0, 1)]))


def test_a_posterior_with_features_has_draws_at_all_options(fits):
    data = fits[2].data
    posterior = cb.ChoiceGP(2, inducing=8).fit_silently(data)
    found = posterior.to_arviz()
    assert found["posterior"]["latent"].shape[2] == len(posterior.options) > 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(score(az.loo(found)))


def test_weights_count_in_the_density_of_the_draws(fits):
    light = fits[1].data
    heavy = cb.ChoiceData(light.X, [cb.Choice(each.shown, each.kept, weight=2.0) for each in light.choices])
    posterior = cb.ChoiceGP(1).fit_silently(heavy)
    prior = -0.5 * (posterior.whitened**2).sum((2, 3))
    density = posterior.to_arviz()["sample_stats"]["lp"].values
    np.testing.assert_allclose(density - prior, 2.0 * posterior.log_likelihood.sum(2), rtol=1e-5)
