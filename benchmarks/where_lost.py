"""Where the next question loses: the loop with one part at a time replaced by an oracle.

    python benchmarks/where_lost.py --problems branin-currin,dtlz2 --starts 5 --options 80 --out where.jsonl

Each part that a person's answers make uncertain is replaced by what somebody would do who sees the objectives: the model is
told values, or the order within each set, or the hyperparameters; the acquisition is maximised by brute force; the known
options of a question are chosen by the truth; the model's noise is that of a person who has none; the hypervolume is measured
from the point that the benchmark measures it from. What the replacement gains in log hypervolume difference is what that part
loses. Runs are appended to the file as they end, and are not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.stats import qmc

import choicebo as cb
from choicebo._runtime import one_blas_thread
from choicebo.acquisition import ehvi, improvement, maximise, propose, thompson
from choicebo.experiments import oracle_gp
from choicebo.experiments.baselines import dueling
from choicebo.experiments.calibration_trials import Given
from choicebo.experiments.choosers import pareto_choice, random_sets
from choicebo.experiments.optimisation_trials import INITIAL_OPTIONS, INITIAL_SETS, QUERY_SIZE
from choicebo.experiments.problems import Problem, problem
from choicebo.experiments.trials import seed_of
from choicebo.model.covariance import Hyperparameters, HyperPrior
from choicebo.model.draws import LatentDraws
from choicebo.model.engines import Hamiltonian, question_engine
from choicebo.model.engines.base import Learned, ModelSpec, Reporter
from choicebo.model.evaluate import Likelihood
from choicebo.optimizer.settings import Settings

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclasses.dataclass
class Run:
    """One loop: what was shown and kept so far, and what is true of it."""

    target: Problem
    settings: Settings
    X: Array
    """(n, d): different options."""
    values: Array
    """(n, n_o): the objectives there."""
    sets: list[tuple[int, ...]]
    found_by: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def begin(cls, name: str, start: int, new_count: int, acquisition: str = "default") -> Run:
        """The start of `choicebo reproduce bo` of that number."""
        target = problem(name)
        rng = np.random.default_rng(seed_of("bo", name, "start", start))
        options = target.space.snap(rng.random((INITIAL_OPTIONS, target.dim)))
        sets = random_sets(INITIAL_OPTIONS, QUERY_SIZE, INITIAL_SETS, rng)
        settings = Settings(target.num_objectives, acquisition, seed=start, new_per_query=new_count)
        return cls(target, settings, options, target.objectives(options), [tuple(map(int, each)) for each in sets])

    @property
    def data(self) -> cb.ChoiceData:
        """What a person without noise answered."""
        kept = [tuple(shown[i] for i in pareto_choice(self.values[list(shown)])) for shown in self.sets]
        return cb.ChoiceData(self.X, [cb.Choice(*each) for each in zip(self.sets, kept, strict=True)])

    def show(self, points: Array, finders: tuple[str, ...]) -> None:
        """Ask about ``points``, of which the first were found by ``finders``."""
        rows = []
        for number, point in enumerate(points):
            known = np.flatnonzero((point == self.X).all(1))
            if not known.size:
                self.X = np.vstack([self.X, point])
                self.values = np.vstack([self.values, self.target.objectives(point[None])])
                known = np.array([len(self.X) - 1])
            if number < len(finders):
                self.found_by.setdefault(finders[number], []).append(int(known[0]))
            rows.append(int(known[0]))
        self.sets.append(tuple(rows))

    def curve(self) -> list[float]:
        """Log hypervolume difference after each new option, before the first one first."""
        counts = range(INITIAL_OPTIONS, len(self.X) + 1)
        return [round(self.target.log_hypervolume_difference(self.values[:n]), 6) for n in counts]


Believe = Callable[[Run, int], LatentDraws]


def choices_told(run: Run, seed: int) -> LatentDraws:
    """What the loop does."""
    return run.settings.model(run.target.num_objectives).fit_silently(run.data, seed).draws


def values_told(run: Run, seed: int) -> LatentDraws:
    """Regression on the objectives at all options; every draw is the truth there."""
    found = oracle_gp.fit(run.X, run.values, seed)
    total = np.sqrt(found.output_scales**2 + found.noises**2)
    nugget = float(np.clip((found.noises / total) ** 2, 1e-6, 0.05).min())
    unit = run.values.std(0) / _UNITS
    like = LatentDraws.of(
        run.X, np.zeros((1, len(total), len(run.X))), found.length_scales, np.diag(total / unit), "matern32", nugget
    )
    parts = ((run.values - found.means) / total).T
    pairs = zip(like.factors, parts, strict=True)
    white = np.stack([solve_triangular(lower, part, lower=True, check_finite=False) for lower, part in pairs])
    return dataclasses.replace(like, whitened=np.repeat(white[None], propose.DRAWS, axis=0))


_UNITS = 10.0
"""Of noise in a standard deviation of an objective, where its values are told."""


def order_told(run: Run, seed: int) -> LatentDraws:
    """For each objective a model of its own, which is told the order of the options within each set."""
    orders = [[each for shown in run.sets for each in dueling.compared(shown, values)] for values in run.values.T]
    return dueling.believed(run.X, orders, run.settings.model(1), seed)


@dataclasses.dataclass(frozen=True)
class TruthfulLengths:
    """Learns nothing but the output scale: the length-scales are given."""

    log_lengthscale: Array

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        """The best mode at the best of a few output scales."""
        n_e, seed = spec.latent_dim, int(rng.integers(2**32))
        found = []
        for scale in (4.0, 16.0, 64.0, 256.0):
            hyper = Hyperparameters(self.log_lengthscale, np.full(n_e, np.log(scale)), np.zeros((n_e, n_e)))
            found.append(Given(hyper).learn(np.random.default_rng(seed), spec, likelihood, start, report))
        return max(found, key=lambda learned: float(learned.basins[0].log_evidence))


def lengths_told(run: Run, seed: int) -> LatentDraws:
    """The choices' model with length-scales from a regression on 128 values all over the space and at the options."""
    cube = qmc.Sobol(run.target.dim, rng=np.random.default_rng(0)).random(128)
    where = np.concatenate([run.target.space.snap(cube), run.X])
    found = oracle_gp.fit(where, run.target.objectives(where), 0)
    engine = question_engine("hmc")
    assert isinstance(engine, Hamiltonian)
    learner = TruthfulLengths(np.log(np.clip(found.length_scales, 0.05, 20.0)))
    model = dataclasses.replace(
        run.settings.model(run.target.num_objectives), engine=dataclasses.replace(engine, learner=learner)
    )
    return model.fit_silently(run.data, seed).draws


def matched(run: Run, seed: int) -> LatentDraws:
    """A model that expects a person without slips and nearly without noise, and options without a part of their own."""
    model = run.settings.model(run.target.num_objectives)
    model = dataclasses.replace(model, lapse=1e-4, nugget=1e-4, prior=HyperPrior(scale_median=8.0, scale_spread=0.7))
    return model.fit_silently(run.data, seed).draws


@contextlib.contextmanager
def brute_force(run: Run) -> Iterator[None]:
    """The acquisition over sixteen times as many points, from four times as many starts."""
    with (
        mock.patch.object(maximise, "_GLOBAL", 16_384),
        mock.patch.object(maximise, "_LOCAL", 8_192),
        mock.patch.object(maximise, "_STARTS", 32),
        mock.patch.object(maximise, "_ROUNDS", 100),
    ):
        yield


@contextlib.contextmanager
def truthful_companions(run: Run) -> Iterator[None]:
    """Known options that settle where the new ones belong: those that beat them, those that they beat, then the nearest."""

    def companions(
        draws: LatentDraws,
        new: Rows,
        front: Rows,
        rows: Rows,
        probability: Array,
        count: int,
        rule: str,
        seed: int,
        apart: propose.Apart,
    ) -> Rows:
        values = run.target.objectives(draws.X)
        values = (values - values.mean(0)) / values.std(0)
        margin = values[rows][:, None] - values[new][None]
        beats, beaten = (margin > 0).all(-1).any(1), (margin < 0).all(-1).any(1)
        best = np.isin(np.arange(len(rows)), pareto_choice(values[rows]))
        distance = np.abs(margin).max(-1).min(1)
        believed = np.isin(rows, front)
        rank = np.where(beats & best, 0, np.where(beaten & (best | believed), 1, np.where(best, 2, 3)))
        return apart(rows[np.lexsort((distance, rank))], count, new)

    with mock.patch.object(propose, "_companions", companions):
        yield


@contextlib.contextmanager
def reference_told(run: Run) -> Iterator[None]:
    """The benchmark's reference point in the place of one near the front; only where values are told, which have its unit."""
    unit = run.values.std(0) / _UNITS
    reference = (np.array(run.target.reference) - run.values.mean(0)) / unit

    def attained(latent: Array, margin: float, known: object = ()) -> improvement.Attained:
        best = latent.max(1)
        near = np.broadcast_to(reference, best.shape)
        scale = np.maximum(best - near, 1e-3)
        inverse = np.ascontiguousarray(1.0 / improvement.sphere(latent.shape[2]).T)
        front = np.ascontiguousarray(np.maximum((latent - near[:, None]) / scale[:, None], 0.0).transpose(1, 2, 0))
        reach = np.max([improvement._reach(option, inverse) for option in front], axis=0)
        return improvement.Attained(near.T, np.ascontiguousarray(scale.T), front, inverse, reach)

    with mock.patch.object(ehvi, "attained", attained), mock.patch.object(thompson, "attained", attained):
        yield


@contextlib.contextmanager
def _as_it_is(run: Run) -> Iterator[None]:
    yield


@dataclasses.dataclass(frozen=True)
class Variant:
    """The loop with one part replaced."""

    believe: Believe = choices_told
    question: Callable[[Run], contextlib.AbstractContextManager[None]] = _as_it_is
    acquisition: str = "default"


VARIANTS = {
    "as it is": Variant(),
    "values told": Variant(values_told),
    "order told": Variant(order_told),
    "length-scales told": Variant(lengths_told),
    "no noise expected": Variant(matched),
    "brute force": Variant(question=brute_force),
    "companions by truth": Variant(question=truthful_companions),
    "ehvi alone": Variant(acquisition="ehvi"),
    "values told, ehvi alone": Variant(values_told, acquisition="ehvi"),
    "values and reference told, ehvi alone": Variant(values_told, reference_told, "ehvi"),
}


def run_once(name: str, start: int, variant: Variant, options: int, new_count: int) -> Run:
    """Ask until so many new options were shown."""
    run = Run.begin(name, start, new_count, variant.acquisition)
    space, settings = run.target.space, run.settings
    for number in range(options):
        if len(run.X) >= INITIAL_OPTIONS + options:
            break
        seed = seed_of("where", name, start, number)
        draws = variant.believe(run, seed).thinned(propose.DRAWS)
        with one_blas_thread(), variant.question(run):
            proposal = propose.propose(
                draws,
                space,
                settings.acquisition_objects,
                size=settings.query_size,
                new_count=settings.new_per_query,
                companions=settings.companions,
                pending=run.X[:0],
                avoid=run.X,
                seed=seed,
                found_by={key: run.X[rows] for key, rows in run.found_by.items()},
                least_difference=settings.least_difference,
            )
        run.show(proposal.points, proposal.found_by)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", default="branin-currin,vehicle-safety,zdt2,dtlz2,fonseca,tilted-bowls")
    parser.add_argument("--variants", default="; ".join(VARIANTS), help="separated by semicolons")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--options", type=int, default=80)
    parser.add_argument("--new", type=int, default=2, help="new options a question")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    done = set()
    if arguments.out.exists():
        rows = [json.loads(line) for line in arguments.out.read_text().splitlines()]
        done = {(row["problem"], row["variant"], row["start"], row["new"]) for row in rows}
    for start in range(arguments.starts):
        for variant in [each.strip() for each in arguments.variants.split(";")]:
            for name in arguments.problems.split(","):
                if (name, variant, start, arguments.new) in done:
                    continue
                run = run_once(name, start, VARIANTS[variant], arguments.options, arguments.new)
                row = {"problem": name, "variant": variant, "start": start, "new": arguments.new, "curve": run.curve()}
                with arguments.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                ends = [f"{row['curve'][n]:.2f}" for n in (20, 40, 80) if n < len(row["curve"])]
                print(f"{name:16}{variant:40}{start:3}  {'  '.join(ends)}", file=sys.stderr, flush=True)
    summarise(arguments.out, arguments.new)


def summarise(path: Path, new: int) -> None:
    """Mean of each variant, and of its differences from the loop as it is, start by start."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["new"] == new]
    curves = {(row["problem"], row["variant"], row["start"]): row["curve"] for row in rows}
    for name in dict.fromkeys(row["problem"] for row in rows):
        print(f"\n{name}: log10 hypervolume difference after 20, 40, 80 new options; less that of the loop as it is")
        for variant in VARIANTS:
            cells = []
            for at in (20, 40, 80):
                mine = {s: c[at] for (p, v, s), c in curves.items() if (p, v) == (name, variant) and at < len(c)}
                base = {s: c[at] for (p, v, s), c in curves.items() if (p, v) == (name, "as it is") and at < len(c)}
                both = np.array([mine[s] - base[s] for s in mine if s in base])
                if not len(both):
                    continue
                error = both.std(ddof=1) / np.sqrt(len(both)) if len(both) > 1 else np.nan
                cells.append(f"{np.mean(list(mine.values())):6.2f} ({both.mean():+.2f} ± {error:.2f})")
            if cells:
                print(f"  {variant:40}" + "   ".join(cells) + f"   {len(mine)} starts")


if __name__ == "__main__":
    main()
