"""What it costs to ask by a model that lacks the last few answers, as a server does when many people answer at once.

    python benchmarks/older_models.py
    python benchmarks/older_models.py --problems branin-currin zdt2 --answers 40 --repetitions 10 --jobs 2 --json older.json

A simulated person answers; each question is computed from the model of all answers but the last 0, 2, 5, ..., as the server
computes it (fewer draws, fewer options, what was shown since is imagined), or by no model at all, as a stand-in. Printed is the
mean over the repetitions of log10 of the hypervolume that is still missing, after a third, two thirds and all of the answers:
lower is better.
Differences between columns are paired: every column begins alike in the same repetition.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import choicebo as cb
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser
from choicebo.experiments.problems import problem
from choicebo.history import OWNER, Question, rules

STAND_IN = -1
"""In the place of a number of answers: no model."""


def next_question(loop: cb.ChoiceOptimizer, behind: int) -> Question:
    """The next question, by a model that lacks so many answers, and never fewer than it began with."""
    situation = loop.situation
    if behind == STAND_IN:
        return situation.stand_in()
    if behind == 0 or not situation.needs_model:
        return loop._computations.question(situation)
    first = situation.settings.first_queries(situation.space.dim)
    learned = max(situation.n_answers - behind, first)
    return situation.quick_prospect(learned).quick_question(situation.fit_earlier(learned))


def missing(name: str, behind: int, repetition: int, answers: int) -> list[float]:
    """log10 of the hypervolume that is missing after each answer."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    target = problem(name)
    loop = cb.ChoiceOptimizer(target.space, latent_dim=target.num_objectives, seed=repetition)
    rng = np.random.default_rng(repetition)
    person = Chooser(target.objectives)
    seen, found = np.zeros((0, target.num_objectives)), []
    for _ in range(answers):
        question = next_question(loop, behind)
        loop._state.apply(rules.ask(loop._state, question, OWNER, None, loop._state.position, repetition))
        points = target.space.encode(question.options)
        loop.tell(question, person(points, rng))
        seen = np.concatenate([seen, target.objectives(points)])
        found.append(target.log_hypervolume_difference(seen))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["branin-currin", "zdt2"])
    parser.add_argument("--behind", nargs="+", type=int, default=[0, 2, 5, 10, STAND_IN], help="-1: no model at all")
    parser.add_argument("--answers", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as processes:
        under_way = {
            (name, behind): [
                processes.submit(missing, name, behind, repetition, given.answers)
                for repetition in range(given.repetitions)
            ]
            for name in given.problems
            for behind in given.behind
        }
        print(f"{'problem':16}{'answers behind':>16}" + "".join(f"{f'after {n}':>12}" for n in _moments(given.answers)))
        for (name, behind), jobs in under_way.items():
            traces = [job.result() for job in jobs]
            means = [statistics.mean(trace[n - 1] for trace in traces) for n in _moments(given.answers)]
            told = "no model" if behind == STAND_IN else str(behind)
            print(f"{name:16}{told:>16}" + "".join(f"{mean:12.3f}" for mean in means), flush=True)
            rows.append({"problem": name, "behind": told, "repetitions": given.repetitions, "traces": traces})
    if given.json:
        given.json.write_text(json.dumps(rows) + "\n")


def _moments(answers: int) -> tuple[int, int, int]:
    return answers // 3, 2 * answers // 3, answers


if __name__ == "__main__":
    main()
