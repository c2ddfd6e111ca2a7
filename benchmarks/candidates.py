"""Other ways to choose the next question, each compared with the way it is from the same starts.

    python benchmarks/candidates.py --starts 5 --questions 25 --out candidates.jsonl

The problems are those that `choicebo reproduce bo` develops on. A simulated person without noise answers; what counts is the
log10 of the hypervolume that is missing after equally many new options. Runs are appended to the file and not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition import ACQUISITIONS, maximise, propose, query, shares
from choicebo.acquisition.ehvi import ExpectedImprovement
from choicebo.acquisition.improvement import Attained, _reach, attained, improvement
from choicebo.acquisition.interface import Known, Prepared
from choicebo.acquisition.variation import Variation
from choicebo.experiments import calibration_trials as calibration
from choicebo.experiments import optimisation_trials as optimisation
from choicebo.experiments.methods import METHODS, Choices, Method, Setup
from choicebo.experiments.problems import problem
from choicebo.experiments.trials import Trial
from choicebo.model.choice_table import choice_table
from choicebo.model.covariance import Hyperparameters
from choicebo.model.draws import LatentDraws, evenly
from choicebo.model.engines import Hamiltonian, question_engine
from choicebo.model.engines.base import Learned, Learner, ModelSpec, Reporter
from choicebo.model.engines.laplace import Ascender
from choicebo.model.evaluate import Likelihood
from choicebo.model.gp import ChoiceGP
from choicebo.optimizer.settings import Settings
from choicebo.space import Space
from choicebo.space.points import rows_in
from choicebo.space.spacing import spaced

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Way = Callable[[Space], contextlib.AbstractContextManager[Any]]

PROBLEMS = "zdt3,dtlz2,fonseca,vlmop2,tilted-bowls,mixed-bowls"
_READ_AT = (20, 40)


def margin(size: float) -> Way:
    """The hypervolume is measured from a point so many extents of the front beyond its worst values, and not 0.3."""
    others = {"ehvi": ExpectedImprovement(margin=size), "variation": Variation(margin=size)}
    return lambda space: mock.patch.dict(ACQUISITIONS, others)


def share_of_variations(part: float) -> Way:
    """Variations find this part of an equal share while expected improvement succeeds, and not one half of it."""
    return lambda space: mock.patch.object(shares, "MODEST", part)


@contextlib.contextmanager
def lines(space: Space) -> Iterator[None]:
    """Half of the variations lie on lines through two members of the front, in whatever direction it is long."""
    before, count = maximise._relatives, maximise._RELATIVES

    def relatives(space: Space, around: Array, rng: np.random.Generator) -> Iterator[Array]:
        if rng.random() < 0.5 and len(around) > 1:
            one = rng.integers(len(around), size=count)
            other = (one + rng.integers(1, len(around), size=count)) % len(around)
            way = rng.uniform(-0.3, 1.3, (count, 1))
            found = space.snap(np.clip(around[one] + way * (around[other] - around[one]), 0.0, 1.0))
            yield np.unique(found[space.feasible(found)], axis=0)
        yield from before(space, around, rng)

    with mock.patch.object(maximise, "_relatives", relatives):
        yield


# ---- what an answer is worth


def worth_of_next(space: Space, draws: LatentDraws, front: Rows, seed: int) -> Array:
    """What each of some points would add to the front in each draw: (points, draws)."""
    rng = np.random.default_rng(seed)
    pool = maximise._pool(space, draws.X[front], seed, rng)
    pool = pool[rng.permutation(len(pool))[:256]]
    pool = pool[rows_in(draws.X, pool) < 0]
    prepared = ExpectedImprovement().prepare(Known(draws, front), seed)
    latent = prepared.outlook.evaluate(pool).latent.astype(np.float32)
    return np.asarray(improvement(prepared.state, latent))


def worth_after(worth: Array, some: Rows, latent: Array) -> float:
    """The expected worth of the best point once the question with these latent values (draws, k, n_e) is answered."""
    table = choice_table(latent)
    table = table / table.sum(1, keepdims=True)
    return float((worth[:, some] @ table).max(0).sum() / len(some))


@contextlib.contextmanager
def companions_by_worth(space: Space) -> Iterator[None]:
    """Known options beside which the answer makes the best next option worth most."""

    def companions(
        draws: LatentDraws, new: Rows, front: Rows, answered: Rows, probability: Array, count: int, *rest: Any
    ) -> Rows:
        apart = rest[-1]
        count = max(0, min(count, len(answered)))
        if count == 0:
            return answered[:0]
        worth = worth_of_next(space, draws, front, len(draws.X))
        some = evenly(draws.count, min(64, draws.count))
        ranked = [int(row) for row in query.most_dominated(draws, new, front, 12)]
        others = np.setdiff1d(answered, front)
        others = others[np.argsort(-probability[others], kind="stable")]
        pool = ranked + [int(row) for row in others[: max(4, 12 - len(ranked))]]
        chosen: list[int] = []
        while len(chosen) < count and pool:
            shown = [[*new.tolist(), *chosen, row] for row in pool]
            told = [worth_after(worth, some, draws.latent[some][:, rows]) for rows in shown]
            chosen.append(pool.pop(int(np.argmax(told))))
        others = np.setdiff1d(np.concatenate([front, others]), chosen)
        return np.asarray(apart(np.concatenate([np.array(chosen, dtype=np.int64), others]), count, new))

    with mock.patch.object(propose, "_companions", companions):
        yield


@contextlib.contextmanager
def look_ahead(space: Space) -> Iterator[None]:
    """Of twelve options with a large expected improvement, the one that with what its answer tells is worth most."""
    before = propose.best_point

    def best(draws: LatentDraws, space: Space, acquisition: Any, avoid: Array, seed: int, **how: Any) -> Array:
        if acquisition.name != "ehvi":
            return before(draws, space, acquisition, avoid, seed, **how)
        known = Known(draws, propose.believed_front(draws, np.arange(len(draws.X))))
        objective = maximise.Objective(acquisition, known, seed)
        found = maximise.maximise(objective, objective.slope, space, draws.X[known.front], avoid, seed)
        options = maximise._different(found, 12)
        some = evenly(draws.count, min(64, draws.count))
        worth = []
        for option, now in zip(options, np.exp(objective(options)), strict=True):
            longer = draws.extended(option[None], seed + 7)
            new = np.array([len(longer.X) - 1])
            front = propose.believed_front(longer, np.arange(len(longer.X) - 1))
            later = worth_of_next(space, longer, front, seed)
            shown = [*new.tolist(), *query.most_dominated(longer, new, front, 4).tolist()]
            worth.append(now + worth_after(later, some, longer.latent[some][:, shown]))
        ranked = options[np.argsort(-np.array(worth), kind="stable")]
        beside = how["beside"]
        return ranked[spaced(space.columns, ranked, min(1, len(ranked)), beside.least_difference, beside.points)]

    with mock.patch.object(propose, "best_point", best):
        yield


# ---- the hypervolume of the question itself


def attained_by(latent: Array, rows: Sequence[int]) -> Attained:
    """What these rows of the options reach, measured as all of them are."""
    everything = attained(latent, ExpectedImprovement().margin)
    values = (latent[:, list(rows)] - everything.reference.T[:, None]) / everything.unit.T[:, None]
    front = np.ascontiguousarray(np.maximum(values, 0.0).transpose(1, 2, 0))
    reach = np.zeros_like(everything.reach)
    for option in front:
        np.maximum(reach, _reach(option, everything.inverse), out=reach)
    return everything._replace(front=front, reach=reach)


def best_together(draws: LatentDraws, new: Sequence[int], pool: Sequence[int], count: int) -> Rows:
    """Rows of the pool that with the new ones have the largest expected hypervolume, one after the other."""
    latent = draws.smooth
    chosen: list[int] = []
    for _ in range(min(count, len(pool))):
        rest = [row for row in pool if row not in chosen]
        if not (new or chosen):
            worst = latent.min(1, keepdims=True)
            extent = latent.max(1, keepdims=True) - worst + 1e-9
            worth = [((latent[:, [row]] - worst) / extent).prod(-1).mean() for row in rest]
        else:
            worth = improvement(attained_by(latent, [*new, *chosen]), np.moveaxis(latent[:, rest], 0, 1)).mean(1)
        chosen.append(rest[int(np.argmax(worth))])
    return np.array(chosen, dtype=np.int64)


class SetImprovement(ExpectedImprovement):
    """What an option adds to the hypervolume of the three known ones that go best together."""

    def prepare(self, known: Known, seed: int) -> Prepared:
        rows = best_together(known.draws, [], list(known.front), 3)
        return Prepared(known.draws.marginals(seed), attained_by(known.smooth, rows.tolist()))


@contextlib.contextmanager
def set_hypervolume(space: Space, new_too: bool = True) -> Iterator[None]:
    """The question, new and known together, has the largest expected hypervolume; or only its known options are chosen so."""

    def companions(
        draws: LatentDraws, new: Rows, front: Rows, answered: Rows, probability: Array, count: int, *rest: Any
    ) -> Rows:
        apart = rest[-1]
        count = max(0, min(count, len(answered)))
        chosen = best_together(draws, new.tolist(), list(front), min(count + 3, len(front)))
        others = np.setdiff1d(answered, chosen)
        others = others[np.argsort(-probability[others], kind="stable")]
        return np.asarray(apart(np.concatenate([chosen, others]), count, new))

    acquisitions = {"ehvi": SetImprovement()} if new_too else {}
    with mock.patch.object(propose, "_companions", companions), mock.patch.dict(ACQUISITIONS, acquisitions):
        yield


# ---- hyperparameters that are not the best ones


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Hyperparameters as probable as others near the best ones: drawn anew for each question."""

    best: Learner

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        learned = self.best.learn(rng, spec, likelihood, start, report)
        ascender = Ascender.of(spec, likelihood)
        centre = ascender.packing.vector(learned.hyper)
        mode = ascender.mode(learned.hyper, learned.basins[0].centre)
        steps = calibration._steps(len(centre))
        root = calibration._root(np.array([calibration._slope(ascender, centre + step, mode.v) for step in steps]))
        near = ascender.packing.hyper(centre + root @ rng.standard_normal(len(centre)))
        return calibration.Given(near).learn(rng, spec, likelihood, None, report)


@dataclasses.dataclass(frozen=True)
class DrawnSettings(Settings):
    """A study whose models have such hyperparameters."""

    def _model(self, latent_dim: int, engine: Any, known: Any = None) -> ChoiceGP:
        usual = question_engine("hmc")
        assert isinstance(usual, Hamiltonian)
        return super()._model(latent_dim, dataclasses.replace(usual, learner=Drawn(usual.learner)), known)


def as_it_is(space: Space) -> contextlib.AbstractContextManager[Any]:
    """Nothing is changed."""
    return contextlib.nullcontext()


CANDIDATES: dict[str, tuple[Way, dict[str, Any]]] = {
    "as it is": (as_it_is, {}),
    "expected improvement alone": (as_it_is, {"acquisition": "ehvi"}),
    "Thompson in the place of variations": (as_it_is, {"acquisition": "ehvi+thompson"}),
    "half by variations": (share_of_variations(1.0), {}),
    "a tenth by variations": (share_of_variations(0.2), {}),
    "copies allowed": (lambda space: mock.patch.object(propose, "_COPY", 0.0), {}),
    "set's own hypervolume": (set_hypervolume, {}),
    "known ones by the set's hypervolume": (lambda space: set_hypervolume(space, new_too=False), {}),
    "known ones by the worth of the answer": (companions_by_worth, {}),
    "known ones by the paper's rule": (as_it_is, {"companions": "dominated"}),
    "look-ahead": (look_ahead, {}),
    "variations on lines through the front": (lines, {}),
    "hyperparameters drawn": (as_it_is, {"kind": DrawnSettings}),
    "margin 0.15": (margin(0.15), {}),
    "margin 1": (margin(1.0), {}),
}


def run_once(name: str, candidate: str, start: int, questions: int, new: int) -> list[float]:
    """The log hypervolume difference after each new option."""
    way, settings = CANDIDATES[candidate]

    def begin(setup: Setup) -> Choices:
        return Choices(dataclasses.replace(setup, seed=start), new_per_query=new, **settings)

    method = Method(candidate, candidate, begin)
    # The start is that of the default, whatever the candidate is called.
    trial = Trial(optimisation.EXPERIMENT, name, "default", start, {"iterations": questions})
    with mock.patch.dict(METHODS, {"default": method}), way(problem(name).space):
        return list(optimisation.run_trial(trial)["log_hv_difference_per_option"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--candidates", default="; ".join(CANDIDATES), help="separated by semicolons")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--questions", type=int, default=25)
    parser.add_argument("--new", type=int, default=2, help="new options a question")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    keys = ("problem", "candidate", "start", "questions", "new")
    done = {tuple(row[key] for key in keys): row["curve"] for row in rows}
    candidates = [each.strip() for each in given.candidates.split(";")]
    for start, name, candidate in itertools.product(range(given.starts), given.problems.split(","), candidates):
        key = (name, candidate, start, given.questions, given.new)
        if key not in done:
            done[key] = run_once(*key)
            with given.out.open("a") as file:
                file.write(json.dumps({**dict(zip(keys, key, strict=True)), "curve": done[key]}) + "\n")
    summarise({key[:3]: curve for key, curve in done.items() if key[3:] == (given.questions, given.new)})


def summarise(curves: dict[tuple[str, str, int], list[float]]) -> None:
    """Differences from the way it is: mean over starts, its standard error, and the mean over problems."""
    problems = list(dict.fromkeys(key[0] for key in curves))
    for candidate in dict.fromkeys(key[1] for key in curves):
        print(candidate)
        for at in _READ_AT:
            means, cells = [], []
            for name in problems:
                more = [
                    curve[at] - curves[name, "as it is", start][at]
                    for (p, c, start), curve in curves.items()
                    if (p, c) == (name, candidate) and at < len(curve) and (name, "as it is", start) in curves
                ]
                if more:
                    error = np.std(more, ddof=1) / len(more) ** 0.5 if len(more) > 1 else np.nan
                    means.append(np.mean(more))
                    cells.append(f"{name} {means[-1]:+.2f} ± {error:.2f} ({len(more)})")
            if means:
                print(f"  after {at} new options {np.mean(means):+.3f}: {', '.join(cells)}")


if __name__ == "__main__":
    main()
