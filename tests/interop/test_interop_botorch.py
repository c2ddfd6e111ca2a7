"""Contract with BoTorch itself: its acquisitions run on hidden objectives, and its models answer questions."""

from __future__ import annotations

import numpy as np
import pytest

import choicebo as cb
from choicebo._runtime import limit_blas_threads
from choicebo.model.alignment import aligned_orders, reordered
from choicebo.model.engines import Laplace
from choicebo.pareto import non_dominated

limit_blas_threads()  # before torch is loaded: threads of tiny operations wait for each other on a busy machine
torch = pytest.importorskip("torch")
pytest.importorskip("botorch")

from botorch.acquisition.multi_objective.logei import (  # noqa: E402
    qLogExpectedHypervolumeImprovement,
    qLogNoisyExpectedHypervolumeImprovement,
)
from botorch.acquisition.multi_objective.parego import qLogNParEGO  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from botorch.optim import optimize_acqf  # noqa: E402
from botorch.sampling import SobolQMCNormalSampler  # noqa: E402
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning  # noqa: E402

from choicebo.interop.botorch import ChoiceModel, chooser_of  # noqa: E402

CUBE = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def objectives(X):
    return np.stack([1.0 - (X[:, 0] - 0.2) ** 2 - X[:, 1] ** 2, 1.0 - (X[:, 0] - 0.8) ** 2 - X[:, 1] ** 2], axis=1)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of small operations stand in each other's way where several tests run at once."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def seeded():
    """Where an optimisation starts is random."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def posterior():
    """Of a person who wants little of the second input, and disagrees with themselves about the first."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    sets = [rng.choice(30, 4, replace=False) for _ in range(50)]
    kept = [s[non_dominated(objectives(X[s]))] for s in sets]
    return cb.ChoiceGP(2).fit_silently(cb.ChoiceData(X, list(zip(sets, kept, strict=True))))


@pytest.fixture(scope="module")
def model(posterior):
    return ChoiceModel(posterior, draws=32, features=256)  # as few as will do


def baseline(posterior):
    return torch.as_tensor(posterior.options)


def test_its_moments_are_those_of_the_posterior(posterior):
    X = np.random.default_rng(1).random((40, 2))
    found = ChoiceModel(posterior, draws=10_000, features=4096).posterior(torch.as_tensor(X))
    mean, variance = posterior.draws.moments(X)
    # Each draw numbers the objectives in its own way; the model has one numbering for all.
    orders = aligned_orders(posterior.draws.latent)
    mean, variance = reordered(mean, orders), reordered(np.broadcast_to(variance, mean.shape), orders).mean(0)
    spread = np.sqrt(mean.var(0) + variance)
    assert np.abs(found.mean.numpy() - mean.mean(0)).max() < 0.2 * spread.max()
    assert np.abs(found.variance.sqrt().numpy() / spread - 1.0).max() < 0.12


def test_without_a_nugget_it_passes_through_the_draws_at_the_options_shown():
    data = cb.ChoiceData([[0.1], [0.5], [0.9]], [((0, 1, 2), (1,)), ((0, 2), (2,))])
    posterior = cb.ChoiceGP(1, engine=Laplace(num_samples=50, num_chains=4), nugget=0.0).fit(data)
    values = ChoiceModel(posterior, draws=200).posterior(torch.as_tensor(posterior.options)).values
    assert np.allclose(values.numpy(), posterior.draws.latent, atol=0.02)


def test_its_derivative_is_that_of_its_values(model):
    X = torch.tensor([[0.3, 0.4], [0.8, 0.1]], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda points: model.posterior(points).values[:5], X, atol=1e-5)


def test_a_sample_is_one_function_whatever_the_batch(model):
    X = torch.rand(3, 4, 2, dtype=torch.double)
    sampler = SobolQMCNormalSampler(torch.Size([16]))
    together = sampler(model.posterior(X))
    assert together.shape == (16, 3, 4, 2)
    assert torch.allclose(together[:, 1], sampler(model.posterior(X[1])))


@pytest.mark.parametrize("sampler", [None, SobolQMCNormalSampler(torch.Size([32]), seed=0)], ids=["own", "sobol"])
def test_noisy_hypervolume_improvement_finds_a_better_option_than_chance(posterior, model, sampler):
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model, ref_point=[-5.0, -5.0], X_baseline=baseline(posterior), sampler=sampler, prune_baseline=True
    )
    found, value = optimize_acqf(acquisition, CUBE, q=1, num_restarts=2, raw_samples=16, options={"maxiter": 20})
    assert value >= acquisition(torch.rand(64, 1, 2, dtype=torch.double)).max()
    assert found[0, 1] < 0.3  # the person wants little of it
    assert optimize_acqf(acquisition, CUBE, q=2, num_restarts=1, raw_samples=8, options={"maxiter": 3})[0].shape == (
        2,
        2,
    )


def test_other_acquisitions_run_too(posterior, model):
    parego = qLogNParEGO(model, X_baseline=baseline(posterior))
    front = model.posterior(baseline(posterior)).mean
    reference = torch.tensor([-5.0, -5.0], dtype=torch.double)
    improvement = qLogExpectedHypervolumeImprovement(model, reference, FastNondominatedPartitioning(reference, front))
    for acquisition in (parego, improvement):
        X = torch.rand(4, 1, 2, dtype=torch.double, requires_grad=True)
        value = acquisition(X)
        assert value.shape == (4,)
        assert torch.isfinite(torch.autograd.grad(value.sum(), X)[0]).all()


def test_what_is_no_posterior_is_refused(posterior):
    with pytest.raises(cb.InvalidInputError, match="give what ChoiceGP"):
        ChoiceModel(posterior.data)
    with pytest.raises(cb.InvalidInputError, match="draws must be"):
        ChoiceModel(posterior, draws=0)


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(2).uniform(10.0, 20.0, (25, 2))
    values = torch.as_tensor(objectives((X - 10.0) / 10.0))
    return SingleTaskGP(torch.as_tensor(X), values)


def test_a_botorch_model_answers_as_its_mean_says(fitted):
    person = chooser_of(fitted, bounds=[[10.0, 10.0], [20.0, 20.0]])
    options = np.array([[0.2, 0.1], [0.5, 0.9], [0.8, 0.1]])
    assert person(options, np.random.default_rng(0)) == (0, 2)
    loop = cb.ChoiceOptimizer(cb.Space([cb.Real("a", 10, 20), cb.Real("b", 10, 20)]), latent_dim=2)
    question = loop.ask()
    loop.tell(question, person(loop.space.encode(question.options), np.random.default_rng(0)))
    assert loop.n_answers == 1


def test_a_function_drawn_from_a_botorch_model_is_the_same_for_the_same_seed(fitted):
    options = np.random.default_rng(3).random((50, 2))
    bounds = [[10.0, 10.0], [20.0, 20.0]]
    first, again, other = (chooser_of(fitted, bounds=bounds, seed=seed).objectives(options) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_bounds_that_are_no_box_are_refused(fitted):
    with pytest.raises(cb.InvalidInputError, match="bounds must have shape"):
        chooser_of(fitted, bounds=[[1.0, 1.0], [0.0, 2.0]])
