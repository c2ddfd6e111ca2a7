"""Several people: what they share and what is their own."""

import itertools
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.model import random_answers
from choicebo.model.agreement import Array, _most_probable
from choicebo.model.choice_table import choice_table
from choicebo.model.covariance import Hyperparameters, HyperPrior, mixing, option_covariance, personal_share
from choicebo.model.draws import memberships
from choicebo.model.engines.arrow import ArrowInverse, ArrowPrecision, ArrowRoot, Shape
from choicebo.model.engines.base import Basin, Learned, ModelSpec
from choicebo.model.engines.gaussian import (
    curvature_of_people,
    log_posterior,
    precision_at,
    precision_factor,
    root_of_inverse,
)
from choicebo.model.engines.hamiltonian import Hamiltonian
from choicebo.model.engines.laplace import Ascender, Laplace
from choicebo.model.engines.people import PeopleWhitened
from choicebo.model.engines.personal import PersonalFactors, PersonalOptions
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.likelihood import choice_log_likelihood
from choicebo.model.native import LANES
from choicebo.model.people import OptionPrior, PeopleDraws
from choicebo.model.posterior import Posterior
from choicebo.model.random_answers import gain_over_chance

HYPER = Hyperparameters(
    np.log([[0.4, 0.7], [0.9, 0.3]]),
    np.log([2.0, 3.0]),
    np.array([[0.0, 0.0], [0.4, 0.0]]),
    np.array([-0.8, 0.5]),
)
SPEC = ModelSpec(2)


def answers(people: int = 3, each: int = 6, options: int = 9, seed: int = 0) -> cb.ChoiceData:
    rng = np.random.default_rng(seed)
    X = rng.random((options, 2))
    choices = []
    for person, _ in itertools.product(range(people), range(each)):
        shown = rng.choice(options, 3, replace=False)
        kept = shown[: rng.integers(1, 3)]
        choices.append(cb.Choice(shown, kept, rater=f"p{person}"))
    return cb.ChoiceData(X, choices)


def own_rows(likelihood: Likelihood, personal: int | None = None) -> np.ndarray:
    """So many of each person's rows, or all, the last ones first; one less of the first person."""
    who = likelihood.people.of_row
    each = [np.flatnonzero(who == number)[::-1][:personal] for number in range(len(likelihood.people.names))]
    each[0] = each[0] if personal is None else each[0][1:]
    return np.stack([np.pad(rows, (0, max(map(len, each)) - len(rows)), constant_values=-1) for rows in each])


def made(personal: int | None = None, shared: int | None = None, **settings: int) -> tuple[Likelihood, PeopleWhitened]:
    """The likelihood and the prior of some answers; with so many inducing options, or all."""
    likelihood = Likelihood.of(answers(**settings), "choice", 0.01, by_person=True)
    first = np.unique(likelihood.X, axis=0, return_index=True)[1][::-1].copy()
    likelihood = likelihood.represented_by(first[:shared], own_rows(likelihood, personal))
    prior = Whitener.of(SPEC, likelihood).at(HYPER)
    assert isinstance(prior, PeopleWhitened)
    return likelihood, prior


def some_values(prior: PeopleWhitened, lanes: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, prior.size, lanes)).astype(np.float32)


def test_the_covariance_of_two_rows_is_that_of_the_options_times_what_the_people_share() -> None:
    likelihood, prior = made()
    share, who = personal_share(HYPER), likelihood.people.of_row
    for d in range(2):
        found = prior.rows(np.arange(prior.options))[d]
        k = option_covariance("matern32", SPEC.nugget, likelihood.X, likelihood.X, np.exp(HYPER.log_lengthscale[d]))
        expected = k * np.where(who[:, None] == who, 1.0, 1.0 - share[d])
        np.testing.assert_allclose(found @ found.T, expected, atol=1e-4)


@pytest.mark.parametrize(("personal", "shared"), [(None, None), (2, 6)])
def test_latent_values_are_rows_times_whitened_ones(personal: int | None, shared: int | None) -> None:
    _, prior = made(personal, shared)
    v = some_values(prior)
    parts = prior.rows(np.arange(prior.options)) @ v
    np.testing.assert_allclose(prior.parts(v), parts, atol=1e-5)
    expected = np.einsum("de,eml->dml", prior.damping[:, None] * mixing(HYPER), parts)
    np.testing.assert_allclose(prior.latent(v), expected, atol=1e-4)


@pytest.mark.parametrize(("personal", "shared"), [(None, None), (2, 6)])
def test_the_slope_is_pulled_back_by_the_transpose(personal: int | None, shared: int | None) -> None:
    _, prior = made(personal, shared)
    v = some_values(prior)
    g = np.random.default_rng(2).normal(size=(2, prior.options, 3)).astype(np.float32)
    assert np.vdot(g, prior.latent(v)) == pytest.approx(np.vdot(prior.pulled(g), v), rel=1e-4)


@pytest.mark.parametrize(("personal", "shared"), [(None, None), (2, 6)])
def test_whitened_values_come_back(personal: int | None, shared: int | None) -> None:
    _, prior = made(personal, shared)
    v = some_values(prior)
    np.testing.assert_allclose(prior.whitened(prior.told(v)), v, atol=3e-3)
    np.testing.assert_allclose(prior.whitened(prior.told(v)[..., 0]), v[..., 0], atol=3e-3)


@pytest.mark.parametrize(("personal", "shared"), [(None, None), (2, 6)])
def test_the_precision_is_that_of_the_curvature_between_all_rows(personal: int | None, shared: int | None) -> None:
    likelihood, prior = made(personal, shared)
    v = some_values(prior, 1)[..., 0].astype(np.float64)
    blocks = curvature_of_people(likelihood, prior, v)
    rows = prior.rows(np.arange(prior.options))
    expected = np.block([[rows[d].T @ blocks[d][e].toarray() @ rows[e] for e in range(2)] for d in range(2)])
    expected += np.eye(len(expected))
    np.testing.assert_allclose(precision_at(likelihood, prior, v).dense(), expected, atol=2e-3)


def test_the_precision_is_the_change_of_the_slope() -> None:
    likelihood, prior = made(2, 6)
    v = some_values(prior, 1)[..., 0].astype(np.float64)
    along = np.random.default_rng(3).normal(size=v.shape)
    ends = [
        log_posterior(likelihood, prior, np.repeat((v + s * along)[..., None], LANES, 2))[1][..., 0]
        for s in (0.05, -0.05)
    ]
    change = (ends[0] - ends[1]).reshape(-1) / 0.1
    np.testing.assert_allclose(precision_at(likelihood, prior, v).dense() @ along.reshape(-1), -change, atol=0.3)


def arrow(seed: int = 0, least: float | None = None) -> ArrowPrecision:
    """A precision of three people, two dimensions, four shared and three personal values each."""
    rng = np.random.default_rng(seed)
    shape = Shape(2, 4, 3, 3)
    own = rng.normal(size=(3, 6, 8))
    border = rng.normal(size=(3, 6, 8))
    shared = rng.normal(size=(8, 12))
    whole = 3.0 + np.einsum("rqs,rqt->st", border, border) * np.eye(8)
    plus = 3.0 * np.eye(6) if least is None else least * np.eye(6)
    return ArrowPrecision(
        shape,
        (own @ np.swapaxes(own, 1, 2) + plus).astype(np.float32),
        border.astype(np.float32),
        (shared @ shared.T + whole).astype(np.float32),
        arrow,
    )


def test_an_arrow_is_solved_and_drawn_from_like_the_whole_matrix() -> None:
    precision = arrow()
    dense = precision.dense().astype(np.float64)
    np.testing.assert_allclose(dense, dense.T, atol=1e-4)
    factor, raised = precision.factor(0.2)
    assert not raised
    identity = np.eye(len(dense), dtype=np.float32)
    lower = factor @ identity
    np.testing.assert_allclose(lower @ lower.T, dense, rtol=1e-4, atol=1e-3)
    x = np.random.default_rng(1).normal(size=(len(dense), 2)).astype(np.float32)
    np.testing.assert_allclose(factor.solve(x), np.linalg.solve(dense, x), atol=1e-4)
    np.testing.assert_allclose(factor.solve(x[:, 0]), np.linalg.solve(dense, x)[:, 0], atol=1e-4)
    np.testing.assert_allclose(ArrowInverse(factor) @ x, np.linalg.solve(dense, x), atol=1e-4)
    root = factor.spread(identity)
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(dense), atol=1e-4)
    np.testing.assert_allclose(x.T @ ArrowRoot(factor).T, (root @ x).T, atol=1e-4)
    assert factor.log_determinant == pytest.approx(0.5 * np.linalg.slogdet(dense)[1], abs=1e-3)
    covariance = np.linalg.inv(dense).reshape(2, 13, 2, 13)
    at = np.r_[0:4, 7:10]
    np.testing.assert_allclose(factor.local_covariance(1), covariance[:, at][:, :, :, at], atol=1e-4)


def test_an_arrow_follows_the_order_of_the_dimensions() -> None:
    precision = arrow()
    rows = np.r_[13:26, 0:13]
    swapped = precision.reordered(np.array([1, 0]))
    np.testing.assert_array_equal(swapped.dense(), precision.dense()[np.ix_(rows, rows)])


def test_directions_that_curve_the_wrong_way_count_as_flat() -> None:
    factor, changed = arrow(least=-12.0).factor(0.2)
    assert changed
    np.testing.assert_array_equal(factor.precision.dense(), arrow().dense())


@pytest.mark.parametrize("inducing", [(2, 4), (None, None)], ids=["fewer features than rows", "more"])
def test_an_answer_that_curves_the_wrong_way_takes_nothing_from_the_precision(
    inducing: tuple[int | None, int | None],
) -> None:
    likelihood, prior = made(*inducing)
    assert (prior.size < prior.options) == (inducing[0] is not None)
    v = 3.0 * some_values(prior, 1)[..., 0].astype(np.float64)
    plain = precision_at(likelihood, prior, v)
    as_it_is, convex = (each.dense().astype(np.float64) for each in (plain, plain.convex()))
    assert np.linalg.eigvalsh(as_it_is).min() < 0.9
    assert np.linalg.eigvalsh(convex).min() > 0.99
    assert np.linalg.eigvalsh(convex - as_it_is).min() > -1e-3
    assert np.trace(convex - as_it_is) < np.trace(as_it_is)


def slopes(likelihood: Likelihood, v: np.ndarray, hyper: Hyperparameters) -> float:
    prior = Whitener.of(SPEC, likelihood).at(hyper)
    return float(
        likelihood.value_and_gradient(prior.latent(np.repeat(v[..., None], LANES, 2).astype(np.float32)))[0][0]
    )


def test_the_slope_by_the_hyperparameters_is_that_of_differences() -> None:
    likelihood, prior = made()
    v = some_values(prior, 1)
    _, gradient = likelihood.value_and_gradient(prior.latent(np.repeat(v, LANES, 2)))
    side = prior.outer_side(gradient, gradient)[..., :1]
    found = prior.by_hyper(prior.outer(side, v))
    for name in ("log_lengthscale", "log_scale", "coupling", "personal"):
        values = getattr(HYPER, name)
        for at in np.ndindex(values.shape):
            if name == "coupling" and at[0] <= at[1]:
                continue
            moved = []
            for step in (0.01, -0.01):
                other = values.copy()
                other[at] += step
                moved.append(slopes(likelihood, v[..., 0], HYPER._replace(**{name: other})))
            assert getattr(found, name)[at] == pytest.approx((moved[0] - moved[1]) / 0.02, abs=0.05), (name, at)


def test_the_slope_of_what_is_personal_by_the_length_scales_is_that_of_differences() -> None:
    likelihood = Likelihood.of(answers(), "choice", 0.01, by_person=True)
    own = own_rows(likelihood, 3)
    options = PersonalOptions(likelihood.X, likelihood.people.of_row, own)
    rng = np.random.default_rng(0)
    by_phi = rng.normal(size=(2, *options.present.shape, own.shape[1]))

    def weighted(log_lengthscale: np.ndarray) -> float:
        phi = PersonalFactors("matern52", 0.1, options, log_lengthscale).phi.astype(np.float64)
        return float((phi * by_phi).sum())

    at = HYPER.log_lengthscale
    found = PersonalFactors("matern52", 0.1, options, at).gradient(by_phi)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 0.01
        assert found[place] == pytest.approx((weighted(at + step) - weighted(at - step)) / 0.02, abs=2e-3)


def test_features_of_what_is_personal_are_exact_at_inducing_options_and_zero_beyond() -> None:
    likelihood = Likelihood.of(answers(), "choice", 0.01, by_person=True)
    own, who = own_rows(likelihood, 3), likelihood.people.of_row
    options = PersonalOptions(likelihood.X, who, own)
    found = PersonalFactors("matern32", 0.1, options, HYPER.log_lengthscale)
    for d, person in itertools.product(range(2), range(3)):
        rows = own[person][own[person] >= 0]
        scale = np.exp(HYPER.log_lengthscale[d])
        everybody = np.flatnonzero(who == person)
        K = option_covariance("matern32", 0.1, likelihood.X[everybody], likelihood.X[rows], scale)
        phi = found.of_row[d][everybody].astype(np.float64)
        at = np.searchsorted(everybody, rows)
        np.testing.assert_allclose(phi @ phi[at].T, K, atol=1e-5)
        assert not phi[:, len(rows) :].any()
        assert not found.phi[d, person, len(everybody) :].any()


def people_draws(count: int = 20_000) -> tuple[PeopleDraws, OptionPrior]:
    """Two people of whom nothing is known, one of whom saw two options that stand for nobody else, and the other one three."""
    X = np.random.default_rng(3).random((6, 2))
    own = np.array([[4, 1, -1], [5, 0, 2]])
    whitened = np.random.default_rng(4).normal(size=(1, count, 2, 3 + own.size))
    draws = PeopleDraws(("a", "b"), HYPER, whitened, np.array([2, 0, 1]), own, np.full(2, 0.01))
    return draws, OptionPrior(X, "matern32", 0.05)


@pytest.mark.parametrize("number", [-1, 0, 1])
def test_a_person_of_whom_nothing_is_known_has_independent_whitened_values(number: int) -> None:
    draws, prior = people_draws()
    _, values = draws.of(number, prior)
    assert draws.rows_of(number).tolist() == [2, 0, 1, *([4], [5], [])[number]]
    for d in range(2):
        np.testing.assert_allclose(np.cov(values[0, :, d].T), np.eye(values.shape[3]), atol=0.05)


def test_what_is_known_of_a_person_stays_at_their_own_options() -> None:
    draws, prior = people_draws(5)
    _, values = draws.of(1, prior)
    rows, share = draws.rows_of(1), personal_share(HYPER)
    for d in range(2):
        parts = values[0, :, d] @ prior.lower(rows, HYPER)[d].T
        own = draws.whitened[0, :, d, 6:9] @ prior.lower(draws.own[1], HYPER)[d].T
        shared = draws.whitened[0, :, d, :3] @ prior.lower(draws.inducing, HYPER)[d].T
        at = [rows.tolist().index(row) for row in (0, 2)]
        expected = np.sqrt(share[d]) * own[:, [1, 2]] + np.sqrt(1.0 - share[d]) * shared[:, [1, 0]]
        np.testing.assert_allclose(parts[:, at], expected, atol=1e-6)


def test_the_average_slope_person_by_person_is_that_of_the_whole_matrix() -> None:
    likelihood, prior = made(2, 6)
    v = some_values(prior, 1)[..., 0].astype(np.float64)
    blocks = curvature_of_people(likelihood, prior, v)
    factor = precision_factor(precision_at(likelihood, prior, v))
    cov = np.linalg.inv(
        (factor @ np.eye(len(factor), dtype=np.float32)) @ (factor @ np.eye(len(factor), dtype=np.float32)).T
    )
    found = prior.by_hyper(prior.curved_outer(blocks, factor))
    # The same by columns of a root of the covariance, as lanes of whitened values.
    root = np.linalg.cholesky(0.5 * (cov + cov.T)).astype(np.float32).reshape(2, prior.size, -1)
    expected = prior.by_hyper(prior.outer(prior.curved(blocks, root), root))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_all_shares_are_equally_probable() -> None:
    prior = HyperPrior()
    at = np.linspace(0.01, 0.99, 9)
    logs = [prior.log_density(HYPER._replace(personal=np.log([a / (1 - a)]))) for a in at]
    # The density of the odds' logarithm is a (1 - a): that of the share is flat.
    np.testing.assert_allclose(np.diff(logs - np.log(at * (1 - at))), 0.0, atol=1e-9)
    step = 1e-5
    for d in range(2):
        up, down = (HYPER._replace(personal=HYPER.personal + s * np.eye(2)[d]) for s in (step, -step))
        slope = (prior.log_density(up) - prior.log_density(down)) / (2 * step)
        assert prior.gradient(HYPER).personal[d] == pytest.approx(slope, abs=1e-5)


def elliptical(data: cb.ChoiceData, hyper: Hyperparameters, draws: int, seed: int) -> np.ndarray:
    """(draws, people, m, n_e): latent values of all people at all options, by the textbook, with the exact likelihood."""
    rng = np.random.default_rng(seed)
    names, m = data.raters, len(data.X)
    share, lower = personal_share(hyper), []
    for d in range(2):
        k = option_covariance("matern32", SPEC.nugget, data.X, data.X, np.exp(hyper.log_lengthscale[d]))
        between = (1 - share[d]) + share[d] * np.eye(len(names))
        lower.append(np.linalg.cholesky(np.kron(between, k) + 1e-8 * np.eye(len(names) * m)))

    def prior_draw() -> np.ndarray:
        parts = np.stack([each @ rng.standard_normal(len(each)) for each in lower])
        return (mixing(hyper) @ parts).reshape(2, len(names), m)

    parts_of = [(number, data.of_rater(name)) for number, name in enumerate(names)]

    def height(f: np.ndarray) -> float:
        return float(sum(choice_log_likelihood(f[:, n].T, part, lapse=0.01).sum() for n, part in parts_of))

    f, found = prior_draw(), []
    current = height(f)
    for number in range(draws + 200):
        other, limit = prior_draw(), current + np.log(rng.random())
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while True:
            proposed = f * np.cos(angle) + other * np.sin(angle)
            current = height(proposed)
            if current > limit:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        f = proposed
        if number >= 200:
            found.append(np.moveaxis(f, 0, 2))
    return np.stack(found)


class Known:
    """A learner that knows the hyperparameters."""

    def learn(self, rng, spec, likelihood, start, report):
        ascender = Ascender.of(spec, likelihood)
        mode = ascender.mode(HYPER, 0.1 * rng.standard_normal((2, likelihood.coordinates)))
        return Learned(HYPER, (Basin(mode.v, root_of_inverse(mode.factor), mode.log_evidence),), np.zeros(1))


@pytest.mark.slow
def test_draws_agree_with_an_elliptical_slice_sampler_of_the_whole_covariance() -> None:
    data = answers(people=3, each=5, options=6, seed=3)
    reference = np.concatenate(
        [elliptical(data, HYPER, 6000, seed) for seed in (1, 2)]
    )  # one alone is off by up to 0.05
    model = cb.ChoiceGP(2, engine=Hamiltonian(learner=Known(), max_samples=400))
    posterior = model.fit_silently(data)
    for number, name in enumerate(data.raters):
        person = posterior.of(name)
        expected = memberships(reference[:, number]).mean(0)
        np.testing.assert_allclose(person.pareto_probability(data.X, draws=640), expected, atol=0.07)
        for shown in ([0, 1, 2], [3, 4, 5]):
            found = person.choice_probabilities(data.X[shown], normalised=False)
            table = choice_table(reference[::4, number, shown]).mean(0)
            for subset, probability in found.items():
                assert probability == pytest.approx(table[sum(1 << i for i in subset) - 1], abs=0.06)


def panel(share: float, people: int = 5, each: int = 20, seed: int = 0, random: int = 0) -> cb.ChoiceData:
    """Answers of people with one hidden objective each; the last ``random`` of them answer anything."""
    rng = np.random.default_rng(seed)
    X = rng.random((40, 1))
    basis = np.stack([np.sin(2.0 * np.pi * X[:, 0] + phase) for phase in (0.0, 1.5)], axis=1)
    common, choices = rng.standard_normal(2), []
    for person in range(people):
        taste = np.sqrt(1.0 - share) * common + np.sqrt(share) * rng.standard_normal(2)
        worth = 6.0 * basis @ taste
        for _ in range(each):
            shown = rng.choice(len(X), 4, replace=False)
            best = shown[[worth[shown].argmax()]]
            if person >= people - random:
                best = shown[rng.permutation(4)[: rng.integers(1, 4)]]
            choices.append(cb.Choice(shown, best, rater=f"p{person}"))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    return cb.ChoiceGP(1).fit_silently(panel(0.6))


def test_each_person_has_a_posterior_of_an_ordinary_kind(posterior: Posterior) -> None:
    assert posterior.raters == ("p0", "p1", "p2", "p3", "p4")
    person, X = posterior.of("p1"), posterior.data.X
    assert person.people is None
    assert person.data.n_choices == 20
    np.testing.assert_array_equal(posterior.latent(X, rater="p1").mean, person.latent(X).mean)
    np.testing.assert_array_equal(posterior.sample(X[:3], 20, rater="p1"), person.sample(X[:3], 20))
    assert posterior.predict_choice(X[:4], rater="p1") == person.predict_choice(X[:4])
    assert posterior.choice_probabilities(X[:4], rater="p1") == person.choice_probabilities(X[:4])
    np.testing.assert_array_equal(posterior.pareto_set(X, rater="p1"), person.pareto_set(X))
    assert posterior.of(None) is posterior
    assert posterior.shared() is posterior


def test_a_person_is_described_better_by_their_own_posterior_than_by_that_of_others(posterior: Posterior) -> None:
    held_out = panel(0.6, each=60)
    hits = {name: [0, 0] for name in posterior.raters}
    for choice in held_out.choices[20:]:
        shown = held_out.X[list(choice.shown)]
        kept = tuple(i for i, option in enumerate(choice.shown) if option in choice.kept)
        other = "p0" if choice.rater != "p0" else "p1"
        for at, who in enumerate((choice.rater, other)):
            hits[choice.rater][at] += posterior.predict_choice(shown, rater=who) == kept
    own, others = np.sum(list(hits.values()), axis=0)
    assert own > 1.1 * others


def test_somebody_new_is_uncertain_around_what_all_share(posterior: Posterior) -> None:
    X = posterior.data.X
    new, shared = posterior.newcomer(), posterior.latent(X)
    assert new.data.n_choices == 0
    # Choices tell differences only.
    widths = [np.diff(each.sample(X, 400), axis=1).std(0).mean() for each in (new, posterior.of("p0"))]
    assert widths[0] > 1.3 * widths[1]
    assert np.corrcoef(new.latent(X).mean[:, 0], shared.mean[:, 0])[0, 1] > 0.95


def test_unknown_people_are_named(posterior: Posterior) -> None:
    with pytest.raises(InvalidInputError, match="no answer by 'Cy'; those who answered are 'p0'"):
        posterior.of("Cy")
    alone = cb.ChoiceGP(1, engine="laplace", raters="together").fit(panel(0.3))
    with pytest.raises(InvalidInputError, match="does not tell people apart"):
        alone.of("p1")
    with pytest.raises(InvalidInputError, match="does not tell people apart"):
        alone.newcomer()
    with pytest.raises(InvalidInputError, match="raters must be one of 'related', 'together', got 'separate'"):
        cb.ChoiceGP(raters="separate")


def test_one_person_alone_is_fitted_as_ever() -> None:
    data = panel(0.3).of_rater("p1")
    plain = cb.ChoiceData(data.X, [cb.Choice(c.shown, c.kept) for c in data.choices])
    one, other = (cb.ChoiceGP(1, engine="laplace").fit(each) for each in (data, plain))
    np.testing.assert_array_equal(one.whitened, other.whitened)
    assert one.of("p1") is one


def test_a_question_goes_by_the_taste_of_others_too_as_far_as_it_is_shared() -> None:
    posterior = cb.ChoiceGP(1, engine="laplace").fit(panel(0.3, people=3))
    people, prior = posterior.people, OptionPrior(posterior.options, "matern32", 0.01)
    for share, least, most in ((0.02, 0.4, 0.6), (0.5, 0.25, 0.42), (0.999, 0.0, 0.02)):
        likely = people._replace(hyper=people.hyper._replace(personal=np.log([share / (1.0 - share)])))
        _, own = likely.of(1, prior)
        _, asked = likely.asked(1, prior)
        mine = (asked == own).all((2, 3))
        assert least <= 1.0 - mine.mean() <= most
        theirs = np.stack([likely.of(other, prior)[1] for other in (0, 2)])
        whose = (theirs[:, ~mine] == asked[~mine]).all((2, 3))
        assert whose.any(0).all()
        assert share > 0.9 or whose.any(1).all()
    # Who answers at random is thought of by nobody.
    alone = people._replace(lapses=np.array([0.9, 0.01, 0.9]))
    np.testing.assert_array_equal(alone.asked(1, prior)[1], alone.of(1, prior)[1])


def test_a_person_without_answers_can_be_asked() -> None:
    posterior = cb.ChoiceGP(1, engine="laplace").fit(panel(0.3, people=3))
    asked = posterior.asked("Cy")
    assert asked.people is None
    assert np.isfinite(asked.sample(asked.options)).all()
    assert posterior.of("p1").asked("p1") is posterior.of("p1")


def test_who_answers_at_random_is_recognised_and_counts_for_little() -> None:
    data = panel(0.2, people=5, random=1)
    found = cb.ChoiceGP(1, engine="laplace").fit(data)
    assert found.people.lapses[-1] > 0.4
    assert found.people.lapses[:-1].max() < 0.1
    assert found.of("p4").spec.lapse == found.people.lapses[-1]


def test_the_gain_over_chance_is_that_of_an_answer() -> None:
    likelihood = Likelihood.of(answers(), "choice", 0.01, by_person=True)
    who = likelihood.people.of_row[likelihood.ragged.members[likelihood.ragged.offsets[:-1]]]
    log_p = likelihood.ragged.log_uniform + np.where(who == 1, 0.1, 1.0)
    np.testing.assert_allclose(gain_over_chance(likelihood, log_p), [1.0, 0.1, 1.0])
    few = Likelihood.of(answers(each=3), "choice", 0.01, by_person=True)
    assert np.isinf(gain_over_chance(few, few.ragged.log_uniform - 1.0)).all()  # too few answers to say so


def recognised(gains: list[list[float]], evidence: list[float]) -> tuple[list[float], int]:
    """The lapse rates that are settled on where refits have these gains, one list for each fit, and this evidence."""
    likelihood = Likelihood.of(answers(), "choice", 0.01, by_person=True)
    spec, fits = cb.ChoiceGP(1).spec, iter(range(1, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_answers, "left_out", lambda spec, likelihood, found: found)
        patch.setattr(random_answers, "gain_over_chance", lambda likelihood, found: np.array(gains[found.number]))
        found = random_answers.recognise(
            spec,
            likelihood,
            Numbered(0, evidence[0]),
            lambda other, known: (n := next(fits), Numbered(n, evidence[n]))[1],
        )
    return found.likelihood.lapses.round(6).astype(float).round(2).tolist(), found.fit.number


class Numbered(NamedTuple):
    """Stands for a fit."""

    number: int
    log_evidence: float


def test_who_is_predicted_well_once_another_is_doubted_is_cleared() -> None:
    assert recognised([[0.2, 0.0, 1.0], [0.9, 0.0, 1.0]], [-50.0, -40.0]) == ([0.01, 0.9, 0.01], 1)


def test_suspects_are_doubted_until_none_is_left() -> None:
    gains = [[0.2, 0.0, 1.0], [0.1, 0.0, 1.0], [0.1, 0.0, 1.0]]
    assert recognised(gains, [-50.0, -40.0, -30.0]) == ([0.9, 0.9, 0.01], 2)


def test_who_is_better_explained_by_a_taste_is_not_doubted() -> None:
    assert recognised([[0.2, 0.0, 1.0], [0.2, 0.0, 1.0]], [-50.0, -48.0]) == ([0.01, 0.01, 0.01], 0)


def test_the_interval_is_the_shortest_that_holds_the_evidence() -> None:
    steps = np.arange(-14, 15) * 0.5

    def interval(evidence: Callable[[Array], Array]) -> tuple[float, float, float]:
        share = 1.0 / (1.0 + np.exp(-steps))
        return _most_probable(0.0, dict(zip(steps.tolist(), evidence(share).tolist(), strict=True)))

    median, lower, upper = interval(np.zeros_like)  # nothing is known
    assert median == pytest.approx(0.5, abs=0.01)
    assert upper - lower == pytest.approx(0.95, abs=0.01)
    # Evidence counts for 0.3: an exponential density with the rate 14 holds half up to 0.69 / 14, and 95 % up to 3 / 14.
    median, lower, upper = interval(lambda share: -14.0 / 0.3 * share)
    assert (lower, upper) == (0.0, pytest.approx(3.0 / 14.0, abs=0.02))
    assert median == pytest.approx(0.69 / 14.0, abs=0.01)
    median, lower, upper = interval(lambda share: -14.0 / 0.3 * (1.0 - share))
    assert (lower, upper) == (pytest.approx(1.0 - 3.0 / 14.0, abs=0.02), 1.0)


def test_how_far_people_agree_has_an_interval_and_a_matrix(posterior: Posterior) -> None:
    found = posterior.agreement
    assert 0.0 < found.lower[0] < found.share[0] < found.upper[0] <= 1.0
    assert found.upper[0] - found.lower[0] < 0.8
    alike = cb.ChoiceGP(1).fit_silently(panel(0.0)).agreement
    assert alike.lower[0] == 0.0
    assert alike.upper[0] < found.lower[0] + 0.3
    others = ~np.eye(5, dtype=bool)
    assert alike.matrix[others].mean() > found.matrix[others].mean() + 0.1
    np.testing.assert_array_equal(np.diag(found.matrix), 1.0)
    assert (found.matrix_lower <= found.matrix_upper).all()


@pytest.mark.parametrize("engine", ["vi", "ess"])
def test_every_engine_takes_several_people(engine: str) -> None:
    data = panel(0.3, people=3, each=8)
    found = cb.ChoiceGP(1, engine=engine).fit_silently(data)
    assert len(found.raters) == 3
    assert 0.0 < found.people.share[0] < 1.0


def test_leaving_one_out_knows_who_answered(posterior: Posterior) -> None:
    together = cb.ChoiceGP(1, raters="together").fit_silently(panel(0.6)).loo(refit_limit=0)
    related = posterior.loo(refit_limit=0)
    assert related.elpd > together.elpd
    of_person = posterior.of("p2").loo()
    theirs = [k for k, choice in enumerate(posterior.data.choices) if choice.rater == "p2"]
    assert of_person.elpd == pytest.approx(related.pointwise[theirs].sum(), abs=2.0)


def test_a_posterior_of_several_people_travels(posterior: Posterior) -> None:
    again = pickle.loads(pickle.dumps(posterior))
    X = posterior.data.X
    np.testing.assert_array_equal(again.latent(X, rater="p3").mean, posterior.latent(X, rater="p3").mean)


def test_the_same_seed_gives_the_same_people() -> None:
    data = panel(0.3, people=3, each=8)
    one, two = (cb.ChoiceGP(1).fit_silently(data, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.people.whitened, two.people.whitened)
    np.testing.assert_array_equal(one.of("p1").whitened, two.of("p1").whitened)


def test_many_people_with_two_answers_each() -> None:
    data = panel(0.3, people=120, each=2)
    found = cb.ChoiceGP(1, engine="laplace").fit(data)
    assert len(found.raters) == 120
    assert np.isfinite(found.latent(data.X, rater="p77").mean).all()


def test_answers_without_a_name_are_one_more_person() -> None:
    data = panel(0.3, people=2, each=8)
    unnamed = [cb.Choice(c.shown, c.kept) if c.rater == "p1" else c for c in data.choices]
    found = cb.ChoiceGP(1, engine="laplace").fit(cb.ChoiceData(data.X, unnamed))
    assert found.raters == ("p0",)
    assert found.people.names == ("p0", None)


@pytest.mark.parametrize("steps", [2, 5])
def test_hyperparameters_of_people_are_refined_in_so_many_steps(steps: int) -> None:
    stages: list[str] = []
    engine = Laplace(refinements=steps, refining_groups=1, starts=4, max_rounds=1)
    cb.ChoiceGP(engine=engine).fit_silently(answers(each=2), progress=lambda stage, _: stages.append(stage))
    assert stages.count("learning how far tastes differ") == steps
