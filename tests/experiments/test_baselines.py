"""Baselines from torch and BoTorch, and our problems beside BoTorch's."""

import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("botorch", reason="the extra botorch is not installed")

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.test_functions import multi_objective as published

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments import bench, bench_step, optimisation_trials
from choicebo.experiments.accuracy import pareto_embedding, share_equal, toy_split
from choicebo.experiments.baselines import embedding, oracles, pairwise
from choicebo.experiments.baselines.torch_tools import await_builds, new_maximiser, quiet_and_seeded
from choicebo.experiments.bench_step import StepTiming
from choicebo.experiments.choosers import Chooser, pareto_choice, random_sets
from choicebo.experiments.problems import problem
from choicebo.experiments.trials import Trial

PUBLISHED = {
    "branin-currin": lambda: published.BraninCurrin(negate=True),
    "zdt1": lambda: published.ZDT1(dim=4, negate=True),
    "zdt2": lambda: published.ZDT2(dim=3, negate=True),
    "dtlz1": lambda: published.DTLZ1(dim=3, num_objectives=2, negate=True),
    "vehicle-safety": lambda: published.VehicleSafety(negate=True),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_problem_has_the_values_and_the_reference_point_of_botorch(name):
    ours, theirs = problem(name), PUBLISHED[name]()
    options = np.random.default_rng(0).random((50, ours.dim))
    low, high = theirs.bounds.double()
    values = theirs(low + torch.as_tensor(options) * (high - low)).numpy()
    np.testing.assert_allclose(ours.objectives(options), values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.reference, theirs.ref_point.numpy(), rtol=1e-6)


# ZDT3 is left out: BoTorch's second objective lacks the factor g of the publication.
DEVELOPED_ON = {
    "dtlz2": lambda: published.DTLZ2(dim=4, num_objectives=2, negate=True),
    "dtlz3": lambda: published.DTLZ3(dim=4, num_objectives=2, negate=True),
    "dtlz2-3": lambda: published.DTLZ2(dim=5, num_objectives=3, negate=True),
}


@pytest.mark.parametrize("name", DEVELOPED_ON)
def test_a_problem_to_develop_on_has_the_values_of_botorch(name):
    options = np.random.default_rng(0).random((50, problem(name).dim))
    values = DEVELOPED_ON[name]()(torch.as_tensor(options)).numpy()
    np.testing.assert_allclose(problem(name).objectives(options), values, rtol=1e-6, atol=1e-9)


ENGINEERING = {
    "car-side-impact": lambda: published.CarSideImpact(negate=True),
    "penicillin": lambda: published.Penicillin(negate=True),
}


@pytest.mark.parametrize("name", ENGINEERING)
def test_a_problem_of_engineers_has_the_values_and_the_reference_point_of_botorch(name):
    ours, theirs = problem(name), ENGINEERING[name]()
    options = np.random.default_rng(0).random((20, ours.dim))
    low, high = theirs.bounds.double()
    values = theirs(low + torch.as_tensor(options) * (high - low)).numpy()
    np.testing.assert_allclose(ours.objectives(options), values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.reference, theirs.ref_point.numpy(), rtol=1e-6)


def test_the_welded_beam_has_the_objectives_of_botorch_and_its_constraints_as_a_third():
    ours, theirs = problem("welded-beam"), published.WeldedBeam()
    options = np.random.default_rng(0).random((200, 4))
    low, high = theirs.bounds.double()
    inputs = low + torch.as_tensor(options) * (high - low)
    found = -ours.objectives(options)
    np.testing.assert_allclose(found[:, :2], theirs._evaluate_true(inputs).numpy(), rtol=1e-9)
    exceeded = theirs._evaluate_slack_true(inputs).clamp(min=0.0).sum(-1).numpy()
    np.testing.assert_allclose(found[:, 2], exceeded, rtol=1e-9, atol=1e-12)
    assert 0.1 < (exceeded == 0.0).mean() < 0.9


@pytest.mark.parametrize(
    ("name", "too_low"),
    [("branin-currin", 0.0465), ("zdt1", 0), ("zdt2", 0), ("dtlz1", 0.125), ("vehicle-safety", 0.555)],
)
def test_front_hypervolumes_are_those_of_botorch_where_it_is_right(name, too_low):
    theirs = PUBLISHED[name]().max_hv
    assert problem(name).front_hypervolume - theirs == pytest.approx(too_low, abs=1e-4)


def run(method: str, task: str, iterations: int) -> dict:
    return optimisation_trials.run_trial(Trial("bo", task, method, 0, {"iterations": iterations}))


def asked(method: str, X: np.ndarray, Y: np.ndarray, reference: tuple[float, ...], seed: int = 0) -> np.ndarray:
    with quiet_and_seeded(seed):
        return getattr(oracles, method)(X, Y, np.array(reference), seed)[0]


# The Pareto set of these two objectives is 0.3 to 0.7.
LINE = np.linspace(0, 1, 8)[:, None]
BETWEEN = np.hstack([-((LINE - 0.3) ** 2), -((LINE - 0.7) ** 2)])


@pytest.mark.parametrize("method", ["parego", "nehvi"])
def test_oracles_look_between_the_optima_of_the_objectives_and_not_always_in_the_same_place(method):
    found = [asked(method, LINE, BETWEEN, (-0.5, -0.5), seed).item() for seed in range(4 if method == "parego" else 2)]
    assert all(0.28 <= each <= 0.72 for each in found), found
    assert (np.ptp(found) > 0.02) == (method == "parego")  # only ParEGO draws weights


@pytest.mark.parametrize("method", ["parego", "nehvi"])
def test_the_units_of_the_objectives_do_not_matter_to_an_oracle(method):
    scale, shift, reference = np.array([1.0, 1000.0]), np.array([5.0, -300.0]), np.array([-0.5, -0.5])
    plain = asked(method, LINE, BETWEEN, tuple(reference), seed=1)
    other = asked(method, LINE, scale * BETWEEN + shift, tuple(scale * reference + shift), seed=1)
    np.testing.assert_allclose(other, plain, atol=5e-3)


def test_nehvi_looks_where_the_hypervolume_counts():
    # Beyond this reference point lies only what is within 0.1 of 0.3.
    assert 0.3 <= asked("nehvi", LINE, BETWEEN, (-0.01, -0.5)).item() <= 0.4


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_parego_goes_for_the_best_option_under_its_weights(weight, monkeypatch):
    weights = torch.tensor([weight, 1 - weight], dtype=torch.double)
    monkeypatch.setattr("botorch.acquisition.multi_objective.parego.sample_simplex", lambda **_: weights)
    options = np.linspace(0, 1, 1001)[:, None]
    values = np.hstack([-((options - 0.3) ** 2), -((options - 0.7) ** 2)])
    # Losses as shares of the range seen; augmented Chebyshev with the 0.05 of Knowles (2006).
    losses = weights.numpy() * (BETWEEN.max(axis=0) - values) / np.ptp(BETWEEN, axis=0)
    best = options[np.argmin(losses.max(axis=1) + 0.05 * losses.sum(axis=1))]
    np.testing.assert_allclose(asked("parego", LINE, BETWEEN, (-0.5, -0.5)), best, atol=0.02)


def test_parego_would_stand_still_at_the_best_option_seen_in_all_objectives_and_proposes_another():
    X = np.vstack([np.zeros(3), np.random.default_rng(0).random((20, 3))])
    Y = problem("zdt2").objectives(X)
    assert np.all(Y.argmax(axis=0) == 0)
    found = np.array([asked("parego", X, Y, (-11, -11), seed) for seed in range(3)])
    assert (np.abs(found).max(1) > 1e-6).all()


def test_what_a_search_found_before_is_replaced_by_the_next_best():
    peaks = torch.tensor([[0.2], [0.7]], dtype=torch.double)

    def acquisition(points: torch.Tensor) -> torch.Tensor:
        near = torch.exp(-200.0 * (points - peaks.T).square())
        return (near * torch.tensor([1.0, 0.5])).sum(-1).squeeze(-1)

    def found(known: list[list[float]]) -> float:
        with quiet_and_seeded(0):
            return new_maximiser(acquisition, 1, lambda points: points.round(2), np.array(known)).item()

    assert found([[0.5]]) == pytest.approx(0.2)
    assert found([[0.2]]) == pytest.approx(0.7)
    others = found([[0.2], [0.7]])  # no restart ends elsewhere: the best of the points that the search begins with
    assert others in (pytest.approx(0.19), pytest.approx(0.21))
    assert found([[each] for each in np.arange(101) / 100]) == pytest.approx(0.2)  # there is nothing new


@pytest.mark.parametrize("method", ["parego", "nehvi"])
def test_oracles_propose_two_options_that_are_apart(method):
    with quiet_and_seeded(0):
        found = getattr(oracles, method)(LINE, BETWEEN, np.array([-0.5, -0.5]), 0, 2)
    assert found.shape == (2, 1)
    assert np.ptp(found) > 0.02
    assert ((found > 0.25) & (found < 0.75)).all()


@pytest.mark.parametrize("method", ["parego", "nehvi"])
def test_oracles_run_the_protocol_and_repeat_themselves(method):
    once, again = (run(method, "vehicle-safety", 1) for _ in range(2))
    assert once["log_hv_difference"] == again["log_hv_difference"]
    assert once["settings"]["noise"] > 0


def test_the_pairwise_peer_is_timed_on_the_answers_of_our_step():
    ours = StepTiming(answers=6, options=12, fit_seconds=1.0, question_seconds=1.0, cpu_seconds=2.0)
    peer = bench_step.time_pairwise(bench.bench_data(bench.Case("hmc", 6, 12)), repetitions=1)
    assert peer.answers == 6
    assert peer.comparisons > 0
    assert bench_step.peers_table(ours, [peer]).row_count == 2


def test_the_pairwise_peer_asks_about_options_that_it_expects_much_of():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    choices = [(shown, [shown[int(np.argmax(X[shown, 0]))]]) for shown in random_sets(12, 4, 10, rng).tolist()]
    with quiet_and_seeded(0):
        query, is_fitted = pairwise.eubo_query(X, pairwise.implied_pairs(choices), query_size=4, seed=0)
    assert is_fitted
    assert query.shape == (4, 2)
    assert query[:, 0].mean() > 0.6  # the utility is the first input
    assert query[:, 0].max() > 0.8
    assert len(np.unique(query, axis=0)) == 4
    assert np.all((query >= 0) & (query <= 1))


def test_pairs_that_botorch_gives_up_are_asked_about_with_its_initial_hyperparameters(monkeypatch):
    X = np.random.default_rng(0).random((6, 2))

    def query(fit):
        monkeypatch.setattr(pairwise, "fit_gpytorch_mll", fit)
        with quiet_and_seeded(0):
            return pairwise.eubo_query(X, [(0, 1), (0, 2), (3, 4), (1, 5)], query_size=3, seed=0)

    def spoils(likelihood):
        likelihood.model.covar_module.base_kernel.lengthscale = 1e-3

    def gives_up(likelihood):
        spoils(likelihood)
        raise ModelFittingError("All attempts to fit the model have failed.")

    asked, is_fitted = query(gives_up)
    assert not is_fitted
    np.testing.assert_allclose(asked, query(lambda likelihood: None)[0], atol=1e-9)
    assert not np.allclose(asked, query(spoils)[0], atol=1e-3)


def test_the_pairwise_peer_runs_the_protocol():
    result = run("pairwise", "branin-currin", 2)
    assert result["new_options"] == [5, 5]
    assert result["settings"]["questions_without_fit"] == 0


@given(
    st.lists(
        st.sets(st.integers(0, 9), min_size=2).flatmap(
            lambda s: st.tuples(st.just(sorted(s)), st.sets(st.sampled_from(sorted(s)), min_size=1))
        )
    )
)
def test_a_choice_implies_that_every_kept_option_beats_every_rejected_one(choices):
    pairs = pairwise.implied_pairs(choices)
    expected = sum(len(kept) * (len(shown) - len(kept)) for shown, kept in choices)
    assert len(pairs) == expected
    assert set(pairs) == {(won, lost) for shown, kept in choices for won in kept for lost in set(shown) - kept}


def loss_by_hand(x: np.ndarray, z: np.ndarray, kept: set[int]) -> float:
    """The formula of the docstring, term by term."""
    options, dimensions = range(len(z)), range(z.shape[1])
    apart = [np.linalg.norm(x[i] - x[j]) - np.linalg.norm(z[i] - z[j]) for i in options for j in options]
    loss = embedding.MDS_WEIGHT * np.linalg.norm(apart) + embedding.L2_WEIGHT * sum(np.linalg.norm(each) for each in z)
    for j in set(options) - kept:
        loss += min(sum(max(0.0, 1 + z[j, d] - z[i, d]) for d in dimensions) for i in options if i != j)
    for i in kept:
        loss += sum(max(0.0, 1 + min(z[j, d] - z[i, d] for d in dimensions)) for j in options if j != i)
    return loss


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_the_loss_is_that_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    x, z = rng.random((3, 4, 5)), 2 * rng.standard_normal((3, 4, 2))
    kept = rng.random((3, 4)) < 0.5
    found = embedding.choice_loss(*(torch.as_tensor(each) for each in (x, z, kept))).numpy()
    expected = [loss_by_hand(*each, set(np.flatnonzero(row))) for *each, row in zip(x, z, kept, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_no_hinge_is_lost_where_the_choice_is_the_pareto_set_by_a_margin():
    z = torch.tensor([[[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0]]], dtype=torch.double)
    assert embedding.hinge_loss(z, torch.tensor([[True, True, False]])).item() == 0.0
    assert embedding.hinge_loss(z, torch.tensor([[True, False, False]])).item() > 0.0


def test_a_rejected_option_may_be_beaten_by_another_rejected_one():
    z = torch.tensor([[[0.0, 0.0], [3.0, 3.0], [2.0, 2.0]]], dtype=torch.double)
    # The first is kept and beaten by both (4 + 3), the second is nearest to being beaten by the last (2 + 2), the last is.
    assert embedding.hinge_loss(z, torch.tensor([[True, False, False]])).item() == 4 + 3 + 2 + 2


def test_an_embedding_that_keeps_the_distances_loses_nothing_to_scaling():
    x = torch.as_tensor(np.random.default_rng(0).random((2, 4, 2)))
    turned = x @ torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.double) + 3
    np.testing.assert_allclose(embedding.scaling_loss(x, turned), 0.0, atol=1e-12)
    # Twice as far apart: all distances are lost once.
    np.testing.assert_allclose(
        embedding.scaling_loss(x, 2 * x), [np.linalg.norm(torch.cdist(each, each)) for each in x], rtol=1e-9
    )


def test_the_network_learns_choices_that_depend_smoothly_on_the_inputs():
    rng = np.random.default_rng(0)
    person = Chooser(lambda X: np.stack([X[:, 0], 1 - X[:, 0] + X[:, 1]], axis=1))
    X = rng.random((60, 2))
    sets = random_sets(60, 3, 260, rng)
    kept = [person(X[shown], rng) for shown in sets]
    data = ChoiceData.from_sets(list(X[sets[:200]]), kept[:200])
    network = embedding.fit(data, seed=0)
    assert share_equal(network.predict_choices(X[sets[200:]]), kept[200:]) > 0.7
    assert network.predict_choices(X[sets[:1]]) == [pareto_choice(network.embed(X[sets[0]]))]


def test_the_network_refuses_sets_of_several_sizes():
    data = ChoiceData(np.eye(3), [((0, 1), (0,)), ((0, 1, 2), (0,))])
    with pytest.raises(InvalidInputError, match=r"sizes \[2, 3\]"):
        embedding.fit(data)


def test_the_network_is_scored_on_the_toy_function_far_above_guessing():
    found = pareto_embedding(toy_split(100, seed=0, n_test=100))
    assert (found["task"], found["n_choices"], found["fold"]) == ("toy", 100, None)
    assert found["accuracy"] > 2 / 7


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    found = tmp_path / "py311_cpu" / "logei_fused_ext" / "lock"
    found.parent.mkdir(parents=True)
    found.touch()
    return found


def test_what_a_killed_process_left_of_a_build_is_cleared_away(lock):
    others = lock.parent.with_name("somebody_elses") / "lock"
    others.parent.mkdir()
    others.touch()
    for each in (lock, others):
        os.utime(each, (time.time() - 3600, time.time() - 3600))
    await_builds()
    assert not lock.exists()
    assert others.exists()


def test_a_build_of_another_process_is_awaited(lock):
    ended = threading.Timer(0.4, lock.unlink)
    ended.start()
    began = time.monotonic()
    await_builds()
    assert time.monotonic() - began > 0.2
    assert not lock.exists()
    await_builds()  # nothing is left to wait for
