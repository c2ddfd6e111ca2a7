"""Answers with weights: the same as so many equal answers, and merged before anything is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_helpers import choice_data, law

import choicebo as cb
from choicebo.errors import DataError
from choicebo.model.dimension import paired_difference
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

OPTIONS = 5


@st.composite
def answers(draw):
    """A few answers, each with how often it was given and a generator that says in which order its options were shown."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        shown = draw(st.lists(st.integers(0, OPTIONS - 1), min_size=2, max_size=4, unique=True))
        kept = draw(st.lists(st.sampled_from(shown), min_size=1, unique=True))
        found.append((shown, kept, draw(st.integers(1, 4))))
    return found


def one_by_one(given_answers, rng):
    choices = [cb.Choice(rng.permutation(shown), kept) for shown, kept, times in given_answers for _ in range(times)]
    return [choices[k] for k in rng.permutation(len(choices))]


def everything(choices, latent, lapse):
    """Log-likelihood, gradient and curvature by the values of all options, each counted once for every choice given."""
    rows = np.linspace(0.0, 1.0, OPTIONS)[:, None]
    value, slope, curved = 0.0, np.zeros(latent.shape), np.zeros((latent.size, latent.size))
    for part in choices:
        likelihood = Likelihood.of(cb.ChoiceData(rows, part), "choice", lapse)
        here = latent[:, likelihood.rows]
        lanes = np.repeat(here[..., None], LANES, axis=2).astype(np.float32)
        values, gradient = likelihood.value_and_gradient(lanes)
        at = (np.arange(len(latent))[:, None] * OPTIONS + likelihood.rows).reshape(-1)
        value += values[0]
        slope[:, likelihood.rows] += gradient[..., 0]
        curved[np.ix_(at, at)] += likelihood.curvature(here)
    return value, slope, curved


@law
@given(answers(), st.integers(1, 3), st.sampled_from([0.0, 0.02]), st.integers(0, 2**31))
def test_merged_answers_have_the_likelihood_gradient_and_hessian_of_the_answers_one_by_one(found, n_e, lapse, seed):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n_e, OPTIONS))
    single = one_by_one(found, rng)
    apart = everything([[choice] for choice in single], latent, lapse)
    merged = everything([single], latent, lapse)
    weighted = everything([[cb.Choice(s, k, weight=times) for s, k, times in found]], latent, lapse)
    for name, tolerance in (("value", 2e-5), ("gradient", 2e-5), ("hessian", 2e-2)):
        place = ("value", "gradient", "hessian").index(name)
        size = 1.0 + np.abs(apart[place]).max()
        np.testing.assert_allclose(merged[place], apart[place], atol=tolerance * size, err_msg=name)
        np.testing.assert_allclose(weighted[place], apart[place], atol=tolerance * size, err_msg=name)


@law
@given(answers(), st.integers(0, 2**31))
def test_equal_answers_are_one_event_whatever_the_order_shown(found, seed):
    rng = np.random.default_rng(seed)
    choices = one_by_one(found, rng)
    likelihood = Likelihood.of(choice_data(OPTIONS, [(c.shown, c.kept) for c in choices]))
    different = {(frozenset(c.shown), frozenset(c.kept)) for c in choices}
    assert likelihood.choices == len(different)
    assert likelihood.ragged.counts.sum() == len(choices)
    for choice, place in zip(choices, likelihood.place, strict=True):
        begin, end = likelihood.ragged.offsets[place : place + 2]
        members = likelihood.rows[likelihood.ragged.members[begin:end]]
        assert set(members) == set(choice.shown)
        assert set(members[: likelihood.ragged.kept[place]]) == set(choice.kept)


def test_the_exact_likelihood_counts_a_choice_by_its_weight():
    latent = np.random.default_rng(0).normal(size=(3, 2))
    one = cb.ChoiceData(np.eye(3), [cb.Choice((0, 1, 2), (0, 2))])
    heavy = cb.ChoiceData(np.eye(3), [cb.Choice((0, 1, 2), (0, 2), weight=2.5)])
    np.testing.assert_allclose(cb.choice_log_likelihood(latent, heavy), 2.5 * cb.choice_log_likelihood(latent, one))


def _two_forms():
    rng = np.random.default_rng(3)
    X = rng.random((8, 2))
    single, weighted = [], []
    for number in range(10):
        shown = rng.choice(8, 3, replace=False)
        kept = shown[[int(X[shown, 0].argmax())]]
        times = 1 + 2 * (number % 2)
        single += [cb.Choice(shown, kept)] * times
        weighted.append(cb.Choice(shown, kept, weight=times))
    return cb.ChoiceData(X, single), cb.ChoiceData(X, weighted)


def test_a_fit_and_its_scores_do_not_depend_on_how_equal_answers_are_given():
    fits = [cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=1) for data in _two_forms()]
    np.testing.assert_array_equal(fits[0].whitened, fits[1].whitened)
    assert [fit.log_likelihood.shape[2] for fit in fits] == [20, 10]
    single, weighted = (fit.loo(refit_limit=2) for fit in fits)
    assert weighted.elpd == pytest.approx(single.elpd)
    assert weighted.se == pytest.approx(single.se)
    assert paired_difference(weighted.pointwise, weighted.pointwise - 1.0, weighted.weights) == pytest.approx((20, 0))


def test_of_a_weighted_choice_one_answer_is_left_out():
    likelihood = Likelihood.of(choice_data(3, [((0, 1), (0,)), ((1, 0), (0,)), ((1, 2), (1,))]))
    assert likelihood.without(0).ragged.counts.tolist() == [1.0, 1.0]
    assert likelihood.without(1).ragged.counts.tolist() == [2.0, 0.0]
    light = Likelihood.of(cb.ChoiceData([[0.0], [1.0]], [cb.Choice((0, 1), (0,), weight=0.25)]))
    assert light.without(0).ragged.counts.tolist() == [0.0]
    assert light.only(0).ragged.counts.tolist() == [1.0]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), True, "3", None, [1]])
def test_a_weight_that_is_not_positive_and_finite_is_refused(weight):
    with pytest.raises(DataError, match="weight is"):
        cb.Choice((0, 1), (0,), weight=weight)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_weights_survive_both_formats_and_files_without_them_are_as_before(form):
    plain = cb.ChoiceData([[0.0], [0.5], [1.0]], [cb.Choice((0, 2), (2,)), cb.Choice((1, 2), (1, 2))])
    assert "weight" not in getattr(plain, f"to_{form}")()
    heavy = plain.with_choices([cb.Choice((0, 1), (1,), weight=2.5)])
    assert getattr(cb.ChoiceData, f"from_{form}")(getattr(heavy, f"to_{form}")()) == heavy
    assert heavy.without(0).choices[-1].weight == 2.5
    assert heavy.fingerprint != plain.with_choices([cb.Choice((0, 1), (1,))]).fingerprint


def test_a_csv_table_with_two_weights_for_one_choice_is_refused_with_its_line():
    with pytest.raises(DataError, match="line 3: choice 0 has the weight 3, but 2"):
        cb.ChoiceData.from_csv("choice,option,kept,weight,x0\n0,0,0,2,0.1\n0,1,1,3,0.7\n")


def test_merged_options_keep_the_weight_of_their_choice():
    data = cb.ChoiceData([[0.0], [0.5], [0.0]], [cb.Choice((1, 2), (2,), weight=4)])
    assert data.choices == (cb.Choice((1, 0), (0,), weight=4),)
