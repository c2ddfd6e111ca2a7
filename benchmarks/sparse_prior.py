"""Would a sparsity prior help where there are many inputs? Simulated people with 3, 10 and 20 of them, of which 3 or all matter.

    python benchmarks/sparse_prior.py --people 10 --out sparse.jsonl

Each answers 80 questions about four of 80 options. What counts is the mean log-probability of 40 answers about other options.
Beside our prior of the length-scales there are wider ones and two with the shape of SAAS: half-Cauchy for the inverse squared
length-scale, so that most inputs hardly matter and some matter much. The hyperparameters are the most probable ones, as always.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.experiments.stopping_trials import smooth_objectives
from choicebo.model.covariance import Hyperparameters, HyperPrior
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

ANSWERS, OTHERS, SET, NOISE = 80, 40, 4, 0.05


class Sparse(HyperPrior):
    """SAAS for the length-scales: the inverse of their square is half-Cauchy, with this scale; all else as it is."""

    scale = 0.1

    def _steepness(self, hyper: Hyperparameters) -> Array:
        """Logarithm of the squared length-scale over its median."""
        return np.asarray(2.0 * hyper.log_lengthscale + math.log(self.scale))

    def log_density(self, hyper: Hyperparameters) -> float:
        away = self._standardised(hyper)[0]
        u = self._steepness(hyper)
        return super().log_density(hyper) + 0.5 * float((away**2).sum()) - float(np.logaddexp(u, -u).sum())

    def gradient(self, hyper: Hyperparameters) -> Hyperparameters:
        return super().gradient(hyper)._replace(log_lengthscale=-2.0 * np.tanh(self._steepness(hyper)))


class Sparser(Sparse):
    """The same with longer length-scales."""

    scale = 0.02


PRIORS = {
    "ours": HyperPrior(),
    "spread 0.7": HyperPrior(lengthscale_spread=0.7),
    "spread 1.5": HyperPrior(lengthscale_spread=1.5),
    "spread 2": HyperPrior(lengthscale_spread=2.0),
    "SAAS, 0.1": Sparse(),
    "SAAS, 0.02": Sparser(),
}


class Kind(NamedTuple):
    """People of one kind."""

    inputs: int
    active: int
    """Inputs that matter to each objective."""
    objectives: int


KINDS = (Kind(3, 3, 2), Kind(10, 3, 2), Kind(20, 3, 1), Kind(20, 3, 2), Kind(20, 20, 2))


class Person(NamedTuple):
    """What somebody answered, and what they would answer about other options."""

    data: ChoiceData
    others: list[Array]
    kept: list[tuple[int, ...]]


def person(kind: Kind, seed: int) -> Person:
    """Somebody whose objectives depend on a few inputs, each on its own."""
    rng = np.random.default_rng([seed, *kind])
    X = rng.random((ANSWERS + OTHERS, kind.inputs))
    columns = [rng.permutation(kind.inputs)[: kind.active] for _ in range(kind.objectives)]
    smooth = smooth_objectives(seed, kind.active, kind.objectives)
    values = np.column_stack([smooth(X[:, some])[:, at] for at, some in enumerate(columns)])
    chooser = Chooser(lambda shown: shown, NOISE)

    def asked(first: int, options: int, count: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        sets = [first + np.asarray(row) for row in random_sets(options, SET, count, rng)]
        return [(tuple(map(int, rows)), chooser(values[rows], rng)) for rows in sets]

    answered = asked(0, ANSWERS, ANSWERS)
    choices = [Choice(shown, tuple(shown[at] for at in kept)) for shown, kept in answered]
    tests = asked(ANSWERS, OTHERS, OTHERS)
    return Person(ChoiceData(X[:ANSWERS], choices), [X[list(rows)] for rows, _ in tests], [kept for _, kept in tests])


def log_score(someone: Person, prior: HyperPrior, objectives: int, seed: int) -> float:
    """Mean log-probability of the answers about other options."""
    learned = ChoiceGP(latent_dim=objectives, prior=prior).fit_silently(someone.data, seed)
    pairs = zip(someone.others, someone.kept, strict=True)
    return float(np.mean([math.log(max(learned.choice_probabilities(shown)[kept], 1e-12)) for shown, kept in pairs]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn from the people that are missing, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10, help="of each kind")
    parser.add_argument("--out", type=Path, default=Path("sparse.jsonl"))
    given = parser.parse_args(arguments)
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    found = {(Kind(*row["kind"]), row["prior"], row["seed"]): row["score"] for row in map(json.loads, lines)}
    for seed in range(given.people):
        for kind in KINDS:
            someone = person(kind, seed)
            for name, prior in PRIORS.items():
                if (kind, name, seed) in found:
                    continue
                score = found[kind, name, seed] = round(log_score(someone, prior, kind.objectives, seed), 5)
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"kind": kind, "prior": name, "seed": seed, "score": score}) + "\n")
    print("log score, and its difference from that of our prior, of so many people")
    for kind in KINDS:
        print(f"\n{kind.inputs} inputs, of which {kind.active} matter, {kind.objectives} objectives")
        for name in PRIORS:
            scores = [score for (k, n, _), score in found.items() if (k, n) == (kind, name)]
            more = [score - found[kind, "ours", s] for (k, n, s), score in found.items() if (k, n) == (kind, name)]
            error = np.std(more, ddof=1) / math.sqrt(len(more)) if len(more) > 1 else math.nan
            print(f"  {name:12}{np.mean(scores):8.3f}   {np.mean(more):+.3f} ± {error:.3f}   {len(more)}")


if __name__ == "__main__":
    main()
