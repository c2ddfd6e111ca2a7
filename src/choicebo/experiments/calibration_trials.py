"""Can the probabilities be trusted? Simulated people whose objectives are known, and what the model says of them.

There are people of two sorts: some have smooth objectives that no prior of ours chose; the others are drawn from the model
itself, so that its bands of the hidden objectives can be compared with the truth. Both are learned from with the
hyperparameters that fit best, as always, and with several that are about as probable. Those drawn from the model are also
learned from with their true hyperparameters, which shows what is lost by not knowing them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo import pareto
from choicebo.choices import Choice, ChoiceData
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.experiments.stopping_trials import smooth_objectives
from choicebo.experiments.trials import Trial
from choicebo.model.choice_table import choice_table, subset_of_code
from choicebo.model.covariance import Hyperparameters, HyperPrior, mixing
from choicebo.model.draws import LatentDraws
from choicebo.model.engines.base import Basin, Learned, ModelSpec, Reporter
from choicebo.model.engines.gaussian import root_of_inverse
from choicebo.model.engines.hamiltonian import Hamiltonian
from choicebo.model.engines.laplace import Ascender
from choicebo.model.engines.starting import starting_points
from choicebo.model.evaluate import Likelihood
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

EXPERIMENT = "calibration"
QUICK, FULL = 1, 20
"""People of each kind, with each number of answers."""
SORTS = ("smooth", "model")
OBJECTIVES, ANSWERS = (1, 2, 3), (30, 80)
METHODS = ("default", "averaged")
TOLD = "told"
"""A third method, for people of whom the true hyperparameters are known."""
SAMPLER = "sampler"
"""The task of simulation-based calibration."""
_SAMPLED = 10
"""Fits of the sampler for each person of a kind."""

_OPTIONS, _INPUTS, _SET, _TESTS, _NOISE = 40, 3, 4, 30, 0.05
AVERAGED = 8
"""Hyperparameters that are averaged over."""
BANDS = (0.5, 0.8, 0.95)
"""So much of the posterior draws lies in each band."""


def trials(people: int, seed: int = 0) -> list[Trial]:
    """Person by person, so that a run that is stopped leaves as many of each kind."""
    found = []
    for number in range(seed, seed + people):
        for sort, objectives, answers in itertools.product(SORTS, OBJECTIVES, ANSWERS):
            settings = {"objectives": objectives, "answers": answers, "bands": list(BANDS)}
            for method in (*METHODS, TOLD) if sort == "model" else METHODS:
                found.append(Trial(EXPERIMENT, sort, method, number, settings))
        first = number * _SAMPLED
        found += [Trial(EXPERIMENT, SAMPLER, "hmc", each) for each in range(first, first + _SAMPLED)]
    return found


def run_trial(trial: Trial) -> dict[str, Any]:
    """Predictions beside what is true, or where the truth lies among the draws of a sampler."""
    if trial.task == SAMPLER:
        return ranks(trial.repetition)
    objectives, answers = trial.settings["objectives"], trial.settings["answers"]
    person = simulated(trial.task, objectives, answers, trial.repetition)
    model = ChoiceGP(latent_dim=objectives)
    if trial.method == TOLD:
        assert person.hyper is not None
        model = told(model, person.hyper)
    fitted = model.fit_silently(person.data, trial.repetition)
    beliefs = averaged(model, person.data, fitted, trial.repetition) if trial.method == "averaged" else [fitted]
    return {**compared(person, beliefs), "flagged": bool(fitted.diagnostics.problems)}


# ---- people


class Person(NamedTuple):
    """Somebody simulated, what they answered, and what they would answer."""

    data: ChoiceData
    values: Array
    """(n, n_o): the objectives at the options."""
    tests: Array
    """(n, d): other options."""
    test_values: Array
    """(n, n_o): the objectives there."""
    sets: list[tuple[int, ...]]
    """Of other options, ..."""
    kept: list[tuple[int, ...]]
    """... and the positions that they would keep."""
    hyper: Hyperparameters | None
    """If the objectives are a draw of the model, in its own unit: with these hyperparameters."""


def simulated(sort: str, objectives: int, answers: int, seed: int) -> Person:
    """A person of one sort, with so many objectives, who gave so many answers."""
    rng = np.random.default_rng([seed, objectives, answers])
    X = rng.random((2 * _OPTIONS, _INPUTS))
    sets = [tuple(map(int, row)) for row in random_sets(_OPTIONS, _SET, answers, rng)]
    tests = [tuple(map(int, row)) for row in random_sets(_OPTIONS, _SET, _TESTS, rng)]
    hyper = _hyper(objectives, rng) if sort == "model" else None
    if hyper is not None:
        values = _drawn(X, hyper, ChoiceGP().nugget, 1, rng)[0]
    else:
        values = smooth_objectives(seed, _INPUTS, objectives)(X)
    own, others = values[:_OPTIONS], values[_OPTIONS:]

    def answer(shown: Array) -> tuple[int, ...]:
        return drawn_answer(shown, rng) if hyper is not None else Chooser(lambda v: v, _NOISE)(shown, rng)

    choices = [Choice(shown, tuple(shown[at] for at in answer(own[list(shown)]))) for shown in sets]
    kept = [answer(others[list(shown)]) for shown in tests]
    return Person(ChoiceData(X[:_OPTIONS], choices), own, X[_OPTIONS:], others, tests, kept, hyper)


def _hyper(objectives: int, rng: np.random.Generator) -> Hyperparameters:
    """Hyperparameters from their prior, without correlations between the objectives."""
    prior = HyperPrior()
    centre = prior.centre(_INPUTS, objectives)
    lengths = centre.log_lengthscale + prior.lengthscale_spread * rng.standard_normal((objectives, _INPUTS))
    scales = centre.log_scale + prior.scale_spread * rng.standard_normal(objectives)
    return Hyperparameters(lengths, scales, centre.coupling)


def _drawn(X: Array, hyper: Hyperparameters, nugget: float, count: int, rng: np.random.Generator) -> Array:
    """Draws of the prior at ``X: (n, d)``: (count, n, n_e)."""
    white = rng.standard_normal((count, len(hyper.log_scale), len(X)))
    lengths = np.exp(hyper.log_lengthscale)
    return LatentDraws.of(X, white, lengths, mixing(hyper), ChoiceGP().kernel, nugget).latent


def answer_table(latent: Array) -> Array:
    """What the model's likelihood says of each answer, (draws, k, n_e) -> (draws, answers), slips included.

    The rows need not sum to one, because those of Theorem 1 do not.
    """
    table = choice_table(latent)
    lapse = ChoiceGP().lapse
    return np.asarray((1.0 - lapse) * table + lapse / table.shape[1])


def drawn_answer(shown: Array, rng: np.random.Generator) -> tuple[int, ...]:
    """Positions that a person of the model keeps of options with latent values ``shown: (k, n_e)``."""
    table = answer_table(shown[None])[0]
    return subset_of_code(int(rng.choice(len(table), p=table / table.sum())) + 1, len(shown))


# ---- what the model says of them


def compared(person: Person, beliefs: Sequence[Posterior]) -> dict[str, Any]:
    """Predictions beside the truth; of several models, the mean of what they say."""
    member = np.mean([each.pareto_probability(person.data.X) for each in beliefs], axis=0)
    keeps, log_scores = [], []
    for shown, kept in zip(person.sets, person.kept, strict=True):
        tables = [each.choice_probabilities(person.tests[list(shown)]) for each in beliefs]
        said = {subset: float(np.mean([table[subset] for table in tables])) for subset in tables[0]}
        log_scores.append(math.log(max(said[kept], 1e-12)))
        keeps += [(sum(p for subset, p in said.items() if at in subset), float(at in kept)) for at in range(len(shown))]
    truly = pareto.non_dominated(person.values)
    found: dict[str, Any] = {
        "membership": _pairs(member, truly),
        "kept": _pairs(*np.array(keeps).T),
        "log_score": float(np.mean(log_scores)),
    }
    if person.hyper is not None:
        found["in_bands"] = _in_bands(person, beliefs)
    return found


def _pairs(predicted: Any, came: Any) -> list[list[float]]:
    """Probabilities to three digits, each beside what happened."""
    return [[round(float(p), 3), float(c)] for p, c in zip(predicted, came, strict=True)]


def _in_bands(person: Person, beliefs: Sequence[Posterior]) -> list[float]:
    """How much of the truth at the tests lies in each of the bands of the hidden objective that is most like it.

    Choices tell differences between options, so that each objective is measured from its mean over the tests.
    """
    true = person.test_values - person.test_values.mean(0)
    drawn = []
    for each in beliefs:
        values = each.sample(person.tests, draws=400)
        values = values - values.mean(1, keepdims=True)
        mean = values.mean(0)
        orders = list(itertools.permutations(range(true.shape[1])))
        order = max(orders, key=lambda order: float((mean[:, list(order)] * true).sum()))
        drawn.append(values[..., list(order)])
    below = (np.concatenate(drawn) < true).mean(0)
    return [round(float((np.abs(below - 0.5) <= band / 2).mean()), 4) for band in BANDS]


# ---- several hyperparameters


@dataclass(frozen=True)
class Given:
    """A learner that is told the hyperparameters: it finds the modes at them."""

    hyper: Hyperparameters
    finalists: int = 8

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        """The best modes, from many starting points and with the latent dimensions in every order."""
        ascender = Ascender.of(spec, likelihood)
        starts = starting_points(rng, spec, likelihood, starts=32, report=report)
        before, prior = ascender.whitener.at(starts.hyper), ascender.whitener.at(self.hyper)
        modes = []
        for v in starts.v[: self.finalists]:
            told = before.told(v[..., None].astype(np.float32))[..., 0]
            for order in itertools.permutations(range(spec.latent_dim)):
                modes.append(ascender.mode(self.hyper, prior.whitened(told[list(order)])))
        modes.sort(key=lambda mode: -mode.log_evidence)
        basins: list[Basin] = []
        for mode in modes:
            is_near = mode.log_evidence > modes[0].log_evidence - _RIVAL
            if is_near and all(np.abs(mode.v - other.centre).max() > _APART for other in basins):
                basins.append(Basin(mode.v, root_of_inverse(mode.factor), mode.log_evidence))
        return Learned(self.hyper, tuple(basins), np.array([modes[0].log_evidence]))


_RIVAL, _APART = 4.0, 0.5
"""Modes are kept that are as much less probable, in nats, if some whitened value differs by more."""


def told(model: ChoiceGP, hyper: Hyperparameters) -> ChoiceGP:
    """The model with these hyperparameters."""
    return replace(model, engine=replace(Hamiltonian(), learner=Given(hyper)))


def averaged(model: ChoiceGP, data: ChoiceData, fitted: Posterior, seed: int) -> list[Posterior]:
    """Models with hyperparameters that are drawn from the normal distribution with the curvature of the log-evidence at the
    best ones. They count alike: weights by their evidence would leave few of them.
    """
    rng = np.random.default_rng(seed)
    likelihood, hyper, whitened = fitted.as_fitted()
    ascender = Ascender.of(model.spec, likelihood)
    packing, centre = ascender.packing, ascender.packing.vector(hyper)
    mode = ascender.mode(hyper, whitened.mean((0, 1)))
    root = _root(np.array([_slope(ascender, centre + step, mode.v) for step in _steps(len(centre))]))
    drawn = [packing.hyper(centre + root @ z) for z in rng.standard_normal((AVERAGED, len(centre)))]
    return [told(model, near).fit_silently(data, seed) for near in drawn]


_STEP = 0.1
"""Of a logarithm, for differences."""


def _steps(size: int) -> Array:
    return np.concatenate([_STEP * np.eye(size), -_STEP * np.eye(size)])


def _slope(ascender: Ascender, vector: Array, v: Array) -> Array:
    """Derivative of the log-evidence by the hyperparameters at ``vector``."""
    hyper = ascender.packing.hyper(vector)
    return ascender.begin(hyper, ascender.mode(hyper, v)).slope


def _root(slopes: Array) -> Array:
    """A factor of the covariance that follows from slopes at both ends of each step; nothing is wider than the prior."""
    ahead, behind = np.split(slopes, 2)
    curvature = (behind - ahead) / (2.0 * _STEP)
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1.0)))


# ---- the sampler


QUANTITIES = ("first objective", "second objective", "log-likelihood", "length of the draw")
_SOME_OPTIONS, _SOME_SETS, _PROPOSED = 14, 12, 512
_FIXED = Hyperparameters(np.log([[0.25, 0.6], [0.7, 0.3]]), np.log([3.0, 4.0]), np.zeros((2, 2)))
"""Different for the two objectives, so that it is clear which is which."""


def ranks(seed: int) -> dict[str, float]:
    """Simulation-based calibration: the share of the draws below the truth, of several quantities, which must be uniform.

    Theorem 1 does not sum to one over the answers. The prior times the likelihood is a joint distribution all the same, under
    which the latent functions have the prior's density times those sums: of many draws of the prior, one is chosen by them.
    """
    rng = np.random.default_rng([seed, 77])
    X = rng.random((_SOME_OPTIONS, 2))
    sets = random_sets(_SOME_OPTIONS, _SET, _SOME_SETS, rng)
    model = ChoiceGP(latent_dim=2, correlated=False)
    proposed = _drawn(X, _FIXED, model.nugget, _PROPOSED, rng)
    total = np.sum([np.log(answer_table(proposed[:, shown]).sum(1)) for shown in sets], axis=0)
    weight = np.exp(total - total.max())
    true = proposed[rng.choice(_PROPOSED, p=weight / weight.sum())]
    kept = [drawn_answer(true[shown], rng) for shown in sets]
    choices = [Choice(tuple(map(int, s)), tuple(int(s[at]) for at in k)) for s, k in zip(sets, kept, strict=True)]
    posterior = told(model, _FIXED).fit_silently(ChoiceData(X, choices), seed)
    latent = posterior.draws.at(X, 0)

    def quantities(values: Array) -> Array:
        """(draws, m, n_e) -> (draws, quantities)."""
        codes = [sum(1 << at for at in each) - 1 for each in kept]
        said = [np.log(answer_table(values[:, s])[:, code]) for s, code in zip(sets, codes, strict=True)]
        first = values[:, sets[0][0]] - values[:, sets[0][1]]
        return np.column_stack([first, np.sum(said, axis=0), (values**2).sum((1, 2))])

    drawn, truth = quantities(latent), quantities(true[None])[0]
    return dict(zip(QUANTITIES, map(float, (drawn < truth).mean(0).round(4)), strict=True))
