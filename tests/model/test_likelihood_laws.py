from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from model_helpers import choice_data, law, one_choice
from scipy.stats import norm

import choicebo as cb
from choicebo.model.likelihood import normalised_log_likelihood

OPTIONS, N_E = 4, 2
KEPT = [(0,), (3,), (0, 2), (1, 2, 3), (0, 1, 2, 3)]

latents = arrays(np.float64, (OPTIONS, N_E), elements=st.floats(-8, 8))
kept_sets = st.sampled_from(KEPT)
noises = st.floats(0.2, 5.0)


def log_likelihood(latent, kept, noise=1.0, **settings):
    return cb.choice_log_likelihood(latent, one_choice(len(latent), kept), noise, **settings)[0]


def normalised(latent, kept, noise):
    return normalised_log_likelihood(latent, one_choice(len(latent), kept), noise)[0]


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-8)


@law
@given(latents, kept_sets, noises, st.permutations(range(OPTIONS)))
def test_it_does_not_matter_how_options_are_numbered(latent, kept, noise, order):
    renumbered = latent[list(order)]
    kept_now = [order.index(i) for i in kept]
    same(log_likelihood(renumbered, kept_now, noise), log_likelihood(latent, kept, noise))


@law
@given(latents, kept_sets, st.permutations(range(OPTIONS)))
def test_it_does_not_matter_in_which_order_options_are_shown(latent, kept, order):
    same(
        cb.choice_log_likelihood(latent, choice_data(OPTIONS, [(order, kept)]))[0],
        log_likelihood(latent, kept),
    )


@law
@given(latents, kept_sets, noises)
def test_latent_dimensions_are_exchangeable(latent, kept, noise):
    same(log_likelihood(latent[:, ::-1], kept, noise), log_likelihood(latent, kept, noise))


@law
@given(latents, kept_sets, arrays(np.float64, N_E, elements=st.floats(-50, 50)))
def test_a_constant_added_to_a_latent_dimension_changes_nothing(latent, kept, constant):
    same(log_likelihood(latent + constant, kept), log_likelihood(latent, kept))


@law
@given(latents, kept_sets, noises, st.floats(0.01, 100))
def test_only_the_ratio_of_latent_values_to_noise_counts(latent, kept, noise, factor):
    same(log_likelihood(factor * latent, kept, factor * noise), log_likelihood(latent, kept, noise))


@law
@given(latents, kept_sets)
def test_a_likelihood_is_a_probability(latent, kept):
    value = log_likelihood(latent, kept)
    assert np.isfinite(value)
    assert value <= 1e-12


@law
@given(st.floats(-40, 40), st.floats(-40, 40), noises)
def test_two_options_in_one_dimension_are_a_probit_preference(first, second, noise):
    expected = norm.logcdf((first - second) / (np.sqrt(2) * noise))
    latent = [[first], [second]]
    same(log_likelihood(latent, [0], noise), expected)
    same(log_likelihood(latent, [0], noise, likelihood="batch_preference"), expected)


@law
@given(latents, st.sampled_from(KEPT[:-1]))
def test_an_option_far_below_all_others_and_rejected_changes_nothing(latent, kept):
    with_worse = np.vstack([latent, latent.min(0) - 30.0])
    same(log_likelihood(with_worse, kept), log_likelihood(latent, kept))


@law
@given(latents, kept_sets)
def test_a_dimension_in_which_the_kept_options_tie_at_a_distance_is_no_obstacle(latent, kept):
    # Far above the rejected ones in a further dimension, a kept option beats them if it does in the others.
    further = np.full(OPTIONS, 0.0)
    further[list(kept)] = 40.0
    if len(kept) == 1:
        same(log_likelihood(np.column_stack([latent, further]), kept), log_likelihood(latent, kept))
    else:  # and a tie makes it harder for one kept option to beat another
        assert log_likelihood(np.column_stack([latent, further]), kept) >= log_likelihood(latent, kept) - 1e-9


@law
@given(latents, kept_sets, st.floats(1e-6, 0.999))
def test_a_lapse_mixes_in_a_uniformly_random_subset(latent, kept, lapse):
    p, uniform = np.exp(log_likelihood(latent, kept)), 1 / (2**OPTIONS - 1)
    mixed = np.exp(log_likelihood(latent, kept, lapse=lapse))
    np.testing.assert_allclose(mixed, (1 - lapse) * p + lapse * uniform, rtol=1e-9)
    assert min(p, uniform) * (1 - 1e-9) <= mixed <= max(p, uniform) * (1 + 1e-9)


@law
@given(arrays(np.float64, (OPTIONS, 1), elements=st.floats(-8, 8)), st.permutations(range(1, OPTIONS)))
def test_a_batch_preference_does_not_depend_on_the_order_of_the_losers(latent, losers):
    reordered = latent[[0, *losers]]
    same(
        log_likelihood(reordered, [0], likelihood="batch_preference"),
        log_likelihood(latent, [0], likelihood="batch_preference"),
    )


@law
@given(arrays(np.float64, (OPTIONS, 1), elements=st.floats(-8, 8)))
def test_a_shared_noise_makes_one_winner_more_probable(latent):
    # Comparisons that share the winner's noise are positively associated, so their product is a lower bound.
    shared = log_likelihood(latent, [0], likelihood="batch_preference")
    assert shared >= log_likelihood(latent, [0]) - 1e-9


@law
@given(latents, st.floats(0, 4))
def test_raising_a_sole_winner_never_makes_it_less_probable(latent, rise):
    raised = latent.copy()
    raised[0] += rise
    assert log_likelihood(raised, [0]) >= log_likelihood(latent, [0]) - 1e-12


@law
@given(latents, kept_sets, noises, st.permutations(range(OPTIONS)))
def test_a_normalised_probability_does_not_depend_on_how_options_are_numbered_or_measured(latent, kept, noise, order):
    value = normalised(latent, kept, noise)
    same(normalised(latent[list(order)], [order.index(i) for i in kept], noise), value)
    same(normalised(3.0 * latent + 5.0, kept, 3.0 * noise), value)
    assert value <= 1e-12
