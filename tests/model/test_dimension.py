"""The number of hidden objectives."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import choicebo as cb
from choicebo.errors import FitInterruptedError, InvalidInputError
from choicebo.model import dimension, loo
from choicebo.model.covariance import HyperPrior
from choicebo.model.dimension import (
    FIRST_CHECK,
    due,
    no_longer_improves,
    paired_difference,
    revise,
    select_latent_dim,
    smallest_unrefuted,
)
from choicebo.model.likelihood import normalised_log_likelihood
from choicebo.model.loo import summarised
from choicebo.pareto import non_dominated

LAPLACE = cb.ChoiceGP(engine="laplace")


def scores(*pointwise):
    return {n: summarised(np.array(p, dtype=float), np.zeros(len(p))) for n, p in enumerate(pointwise, start=1)}


def person(functions, n_choices=30, size=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 1))
    values, choices = functions(X[:, 0]), []
    for _ in range(n_choices):
        shown = rng.choice(30, size, replace=False)
        choices.append(cb.Choice(shown, shown[non_dominated(values[shown])]))
    return cb.ChoiceData(X, choices)


def one(x):
    return np.sin(5 * x)[:, None]


def two(x):
    return np.column_stack([np.sin(5 * x), np.cos(5 * x)])


def test_a_tie_goes_to_the_smaller_dimension():
    assert smallest_unrefuted(scores([-1, -2, -3], [-0.5, -2.4, -3.0])) == 1


def test_a_dimension_that_a_larger_one_clearly_beats_is_never_taken():
    refuted = scores([-5, -5, -5], [-1, -1.1, -0.9], [-1.2, -0.8, -1.0])
    assert smallest_unrefuted(refuted) == 2
    # Level with the best, but beaten by another by more than one standard error.
    assert smallest_unrefuted(scores([-3, -3, -3], [-2.9, -2.9, -2.9], [-0.1, -5.0, -3.0])) == 2


def test_the_search_ends_when_a_score_is_clearly_worse_or_twice_without_gain():
    assert not no_longer_improves(scores([-1, -2, -3]))
    assert no_longer_improves(scores([-1, -2, -3], [-2, -3, -4.1]))
    level = [-1, -2, -3], [-0.5, -2.6, -3.0], [-1.6, -2.4, -2.2]
    assert not no_longer_improves(scores(*level[:2]))
    assert no_longer_improves(scores(*level))


@given(st.lists(st.lists(st.floats(-20, 0), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(deadline=None)
def test_the_selected_dimension_is_unrefuted_and_all_smaller_ones_are_refuted(pointwise):
    found = scores(*pointwise)
    best = smallest_unrefuted(found)

    def refuted(n):
        return any(
            np.greater(*paired_difference(found[more].pointwise, found[n].pointwise)) for more in found if more > n
        )

    assert not refuted(best)
    assert all(refuted(n) for n in range(1, best))


def test_checks_become_rarer_as_answers_grow():
    checks, last = [], 0
    for n in range(200):
        if due(n, last):
            checks.append(n)
            last = n
    assert checks[:4] == [FIRST_CHECK, 12, 18, 27]
    assert len(checks) < 10


@pytest.fixture(scope="module")
def selected_of_two():
    stages = []
    found = select_latent_dim(
        person(two), max_dim=2, model=LAPLACE, refit_limit=0, progress=lambda stage, _: stages.append(stage)
    )
    return found, stages


def test_two_objectives_are_found_and_the_table_says_why(selected_of_two):
    found, stages = selected_of_two
    assert found.best == 2
    assert found.posterior.latent_dim == 2
    assert [row.latent_dim for row in found.table] == [1, 2]
    beaten, best = found.table
    assert best.difference == 0.0
    assert beaten.difference < -beaten.difference_se < 0
    assert beaten.elpd == pytest.approx(found.scores[1].pointwise.sum())
    assert all(row.seconds > 0 and row.refits == 0 for row in found.table)
    assert any(stage.startswith("2 hidden objectives: ") for stage in stages)
    assert "2*" in str(found)


def test_the_table_counts_refits_and_what_stays_unreliable(monkeypatch):
    monkeypatch.setattr(loo, "khat_limit", lambda draws: -np.inf)
    found = select_latent_dim(person(two, n_choices=9), max_dim=1, model=LAPLACE, refit_limit=2)
    (row,) = found.table
    assert (row.refits, row.unreliable) == (2, 7)
    assert row.worst_khat == found.scores[1].khat.max()
    names, values = (line.split() for line in str(found).splitlines())
    assert names[-3:] == ["refits", "unreliable", "seconds"]
    assert values[-3:-1] == ["2", "7"]


def test_every_dimension_starts_from_the_hyperparameters_of_the_one_before(monkeypatch):
    starts, right = [], cb.ChoiceGP.fit_silently

    def watched(model, data, seed=0, *, progress=None, start=None):
        starts.append(start)
        return right(model, data, seed, progress=progress, start=start)

    monkeypatch.setattr(cb.ChoiceGP, "fit_silently", watched)
    found = select_latent_dim(person(two, n_choices=15), max_dim=3, model=LAPLACE, refit_limit=0, stop_early=False)
    assert starts[0] is None
    for n_e in (1, 2):
        before, start = found.posteriors[n_e].hyper, starts[n_e]
        np.testing.assert_array_equal(start.log_lengthscale[:n_e], before.log_lengthscale)
        np.testing.assert_array_equal(start.log_scale[:n_e], before.log_scale)
        np.testing.assert_array_equal(start.coupling[:n_e, :n_e], before.coupling)
        centre = LAPLACE.prior.centre(1, n_e + 1)
        np.testing.assert_array_equal(start.log_lengthscale[n_e], centre.log_lengthscale[n_e])
        assert not start.coupling[n_e].any()
    starts.clear()
    revise(person(two, n_choices=15), 2, model=LAPLACE, refit_limit=0)
    assert starts
    assert all(start is None for start in starts)  # the decision depends on the arguments alone


def test_a_selection_can_be_interrupted_anywhere():
    data, settled = person(two, n_choices=10), {"model": LAPLACE, "refit_limit": 0}
    for run in (
        lambda progress: select_latent_dim(data, max_dim=2, progress=progress, **settled),
        lambda progress: revise(data, 2, progress=progress, **settled),
    ):
        seen = []
        run(lambda *said, seen=seen: seen.append(said))
        fractions = [fraction for _, fraction in seen]
        assert fractions == sorted(fractions)
        for moment in (0, len(seen) // 2, len(seen) - 1):
            left = iter(range(moment))
            with pytest.raises(FitInterruptedError):
                run(lambda *_, left=left: next(left, None) is not None)


def indifferent(n_choices, seed=0):
    """Answers of somebody who keeps any subset of three options, whatever they are."""
    rng = np.random.default_rng(seed)
    X = rng.random((15, 1))
    subsets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    sets = [rng.choice(15, 3, replace=False) for _ in range(n_choices)]
    return cb.ChoiceData(X, [cb.Choice(shown, shown[list(subsets[rng.integers(7)])]) for shown in sets])


def test_one_dimension_is_not_favoured_by_what_its_probabilities_sum_to():
    """Theorem 1 gives three tied options a mass of 1.27 with one dimension and of 1.02 with two."""
    flat = HyperPrior(scale_median=0.01, scale_spread=0.05)  # all options tie
    model = dataclasses.replace(LAPLACE, prior=flat, lapse=0.0)
    found = select_latent_dim(indifferent(40), max_dim=2, model=model, refit_limit=0, stop_early=False)
    tied = np.zeros((15, 1)), np.zeros((15, 2))
    data = found.posterior.data
    for n_e, latent in zip((1, 2), tied, strict=True):
        expected = normalised_log_likelihood(latent, data)
        np.testing.assert_allclose(found.scores[n_e].pointwise, expected, atol=0.05)
    favour = cb.choice_log_likelihood(tied[0], data).sum() - cb.choice_log_likelihood(tied[1], data).sum()
    fair = found.scores[1].elpd - found.scores[2].elpd
    assert favour - fair == pytest.approx(40 * np.log(1.27 / 1.02), abs=1.0)


def test_one_objective_is_found_and_the_search_stops_there():
    found = select_latent_dim(person(one), max_dim=4, model=LAPLACE, refit_limit=0)
    assert found.best == 1
    assert len(found.table) == 2


def test_a_revision_grows_shrinks_and_stays_with_a_reason(selected_of_two):
    settled = {"model": LAPLACE, "refit_limit": 0, "max_dim": 2}
    grown = revise(person(two), 1, **settled)
    assert (grown.latent_dim, grown.changed) == (2, True)
    assert "explained better by 2 hidden objectives than by 1" in grown.reason
    kept = revise(person(two), 2, posterior=selected_of_two[0].posterior, **settled)
    assert (kept.latent_dim, kept.changed) == (2, False)
    assert kept.posterior is selected_of_two[0].posterior
    shrunk = revise(person(one), 2, **settled)
    assert (shrunk.latent_dim, shrunk.changed) == (1, True)
    assert "as well by 1 hidden objective as by 2" in shrunk.reason


def test_the_dimension_does_not_swing_while_the_scores_are_close(monkeypatch):
    close = scores([-1, -2, -3], [-0.6, -2.1, -3.1])
    monkeypatch.setattr(dimension, "_scored", lambda data, n_e, *_: (None, close[n_e]))
    data = person(two)
    assert revise(data, 1, max_dim=2).latent_dim == 1
    assert revise(data, 2, max_dim=2).latent_dim == 2


def test_one_dimension_fewer_is_taken_where_it_scores_as_well(monkeypatch):
    level = scores([-1, -2, -3], [-1, -2, -3])
    monkeypatch.setattr(dimension, "_scored", lambda data, n_e, *_: (None, level[n_e]))
    assert revise(person(two), 2, max_dim=2).latent_dim == 1
    assert revise(person(two), 1, max_dim=2).latent_dim == 1


def test_few_answers_never_ask_for_more_than_two_dimensions(monkeypatch):
    tried = []
    level = scores([-9] * 10, [-1] * 10, [-1] * 10)

    def scored(data, n_e, *_):
        tried.append(n_e)
        return None, level[n_e]

    monkeypatch.setattr(dimension, "_scored", scored)
    revise(person(two, n_choices=10), 2)
    assert tried == [2, 1]


def test_too_few_answers_and_answers_that_reject_nothing_are_told_apart():
    few = person(two, n_choices=2)
    all_kept = cb.ChoiceData([[0.0], [0.5], [1.0]], [((0, 1), (0, 1)), ((1, 2), (1, 2)), ((0, 2), (0, 2))] * 2)
    for data, message in ((few, "2 given"), (all_kept, "keeps all options")):
        with pytest.raises(InvalidInputError, match=message):
            select_latent_dim(data)
        decision = revise(data, 2)
        assert (decision.latent_dim, decision.changed, decision.posterior) == (2, False, None)
        assert "Not enough answers yet" in decision.reason


@pytest.mark.parametrize(("max_dim", "data"), [(0, None), (True, None), (4, [[0.1]])])
def test_wrong_arguments_are_refused(max_dim, data):
    with pytest.raises(InvalidInputError):
        select_latent_dim(person(one) if data is None else data, max_dim=max_dim)
