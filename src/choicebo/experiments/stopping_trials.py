"""Is the advice to stop calibrated? Simulated studies compare each prediction with the next answer."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.table import Table

from choicebo import pareto
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser
from choicebo.experiments.document import Section
from choicebo.experiments.problems import problem, unit_space
from choicebo.experiments.report_tables import new_table
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.insight.stopping import FLICKER, LITTLE_LEFT, LOOKS, MIN_ANSWERS, STABLE, foresee, stay_probability
from choicebo.model.posterior import Posterior
from choicebo.optimizer import ChoiceOptimizer
from choicebo.space import Catalogue, Searchable

Array = NDArray[np.float64]

EXPERIMENT = "stopping"
QUICK, FULL = (1, 20), (10, 40)
"""Studies of each kind, and questions in each."""
CANDIDATES = 128
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
FLICKERS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Amounts of flicker that are tried; the advice uses one of them."""
RULES = tuple(itertools.product((0.8, 0.9, 0.95), (0.02, 0.05, 0.1)))
"""Least stability and greatest remaining share that are tried; the advice uses one pair."""


class Kind(NamedTuple):
    """Simulated studies of one kind."""

    what: str
    inputs: int = 2
    objectives: int = 2
    noise: float = 0.0
    """Of the person, in standard deviations of an objective."""
    rows: int = 0
    """Of a catalogue; none: everything between the least and the greatest inputs may be shown."""

    def space(self, seed: int) -> Searchable:
        """What may be shown."""
        if not self.rows:
            return unit_space(self.inputs)
        points = np.random.default_rng(seed).random((self.rows, self.inputs))
        names = [f"x{number}" for number in range(self.inputs)]
        return Catalogue([{"sku": n, **dict(zip(names, map(float, row), strict=True))} for n, row in enumerate(points)])


KINDS = {
    "smooth": Kind("two smooth objectives of two inputs"),
    "branin-currin": Kind("Branin and Currin"),
    "one-objective": Kind("one smooth objective of two inputs", objectives=1),
    "five-inputs": Kind("two smooth objectives of five inputs", inputs=5),
    "noisy": Kind("two smooth objectives, noise of a tenth of their spread", noise=0.1),
    "catalogue": Kind("two smooth objectives of 60 rows with three features", inputs=3, rows=60),
}


def trials(studies: int, questions: int, seed: int = 0) -> list[Trial]:
    """One trial for each simulated study, the kinds in turn, so that a run that is stopped leaves as many of each."""
    return [
        Trial(EXPERIMENT, task, "choicebo", number, {"questions": questions, "latent_dim": "auto"})
        for number in range(seed, seed + studies)
        for task in KINDS
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """One study: what was predicted before each answer, and what happened."""
    return {"steps": simulate(trial.task, trial.settings["questions"], trial.repetition)}


def simulate(task: str, questions: int, seed: int) -> list[dict[str, Any]]:
    """What is predicted before each answer, whether the Pareto set stayed, and the share that is truly lacking."""
    kind = KINDS[task]
    is_smooth = task != "branin-currin"
    objectives: Callable[[Array], Array] = (
        smooth_objectives(seed, kind.inputs, kind.objectives) if is_smooth else problem(task).objectives
    )
    person, rng = Chooser(objectives, kind.noise), np.random.default_rng(seed)
    space = kind.space(seed)
    optimizer = ChoiceOptimizer(space, seed=seed)
    candidates = space.sobol(kind.rows or CANDIDATES, seed=seed)
    steps: list[dict[str, Any]] = []
    waiting: tuple[dict[str, Any], Posterior, tuple[int, ...]] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(questions + 1):
            query = optimizer.ask()
            shown = space.encode(query.options)
            posterior = optimizer.posterior() if query.latent_dim is not None else None
            if posterior is not None:
                if waiting is not None:
                    foretold, before, members = waiting
                    steps.append(foretold | {"stayed": set(posterior.pareto_set(before.options)) == set(members)})
                seen = foresee(posterior, candidates, question=shown, seed=seed)
                members = tuple(int(i) for i in seen.members)
                foretold = {
                    "answers": posterior.data.n_choices,
                    "by_flicker": [
                        stay_probability(seen.shown, seen.optimal, seen.members, flicker=flicker)
                        for flicker in FLICKERS
                    ],
                    "remaining": seen.remaining,
                    "members": len(members),
                    "lacking": lacking(objectives, posterior.options, members, candidates),
                }
                waiting = foretold, posterior, members
            optimizer.tell(query, person(shown, rng))
    return steps


def judged(
    steps: Sequence[dict[str, Any]], stable: float = STABLE, little_left: float = LITTLE_LEFT
) -> list[dict[str, Any]]:
    """The steps of one study with the stability and the advice that the rule as it is now gives, or one of other limits."""
    found = []
    for at, step in enumerate(steps):
        looks = steps[max(0, at + 1 - LOOKS) : at + 1]
        stability = float(np.mean([look["by_flicker"][FLICKERS.index(FLICKER)] for look in looks]))
        remaining = float(np.mean([look["remaining"] for look in looks]))
        stop = step["answers"] >= MIN_ANSWERS and stability >= stable and remaining <= little_left
        found.append(step | {"stability": stability, "remaining": remaining, "stop": stop})
    return found


def restlessness(studies: Sequence[Sequence[dict[str, Any]]]) -> tuple[float, int]:
    """Mean change of the stability from one answer to the next, and how often the advice changed, in judged studies."""
    pairs = [pair for steps in studies for pair in itertools.pairwise(steps)]
    moves = [abs(after["stability"] - before["stability"]) for before, after in pairs]
    return float(np.mean(moves)) if moves else 0.0, sum(a["stop"] != b["stop"] for a, b in pairs)


def smooth_objectives(seed: int, inputs: int = 2, count: int = 2, terms: int = 40) -> Callable[[Array], Array]:
    """Random smooth functions: sums of cosines, close to draws of a Gaussian process, as smooth for any number of inputs."""
    rng = np.random.default_rng(seed)
    frequency = 3.0 * np.sqrt(2.0 / inputs) * rng.standard_normal((count, terms, inputs))
    phase = rng.uniform(0, 2 * np.pi, (count, terms))
    height = rng.standard_normal((count, terms)) * np.sqrt(2.0 / terms)

    def objectives(X: Array) -> Array:
        waves = np.cos(np.einsum("nd,ktd->nkt", X, frequency) + phase)
        return np.asarray((waves * height).sum(2))

    return objectives


def lacking(objectives: Callable[[Array], Array], options: Array, members: Sequence[int], candidates: Array) -> float:
    """The share of the reachable true hypervolume that the members lack."""
    values = objectives(np.concatenate([options, candidates]))
    worst = values.min(0)
    return 1.0 - pareto.hypervolume(values[list(members)], worst) / pareto.hypervolume(values, worst)


def curve(steps: Sequence[dict[str, Any]]) -> list[tuple[float, float, int]]:
    """For each bin of predicted stability with any step: its mean, the share of sets that stayed, and the number of steps.

    >>> curve([{"stability": 0.95, "stayed": True}, {"stability": 0.97, "stayed": False}])
    [(0.96, 0.5, 2)]
    """
    stability = np.array([step["stability"] for step in steps], dtype=float)
    stayed = np.array([step["stayed"] for step in steps], dtype=float)
    place = np.clip(np.searchsorted(EDGES, stability, side="right") - 1, 0, len(EDGES) - 2)
    return [
        (float(stability[place == bin].mean()), float(stayed[place == bin].mean()), int((place == bin).sum()))
        for bin in range(len(EDGES) - 1)
        if (place == bin).any()
    ]


def brier(foretold: ArrayLike, came: ArrayLike) -> float:
    """Mean squared error of probabilities: 0 is perfect, a constant one half gives 0.25.

    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    return float(np.mean((np.asarray(foretold, dtype=float) - np.asarray(came, dtype=float)) ** 2))


def flicker_table(finished: Sequence[FinishedTrial]) -> Table:
    """How well each amount of flicker predicts what happens, and how far the mean prediction is from the share that stayed."""
    steps = [step for done in finished for step in done.result["steps"]]
    stayed = np.array([step["stayed"] for step in steps], dtype=float)
    headings = ("flicker", "predicted", "stayed", "Brier score")
    found = new_table("How much does a new fit flicker?", headings, words=0)
    for number, flicker in enumerate(FLICKERS):
        foretold = np.array([step["by_flicker"][number] for step in steps])
        mark = " (used)" if flicker == FLICKER else ""
        found.add_row(
            f"{flicker:g}{mark}", f"{foretold.mean():.0%}", f"{stayed.mean():.0%}", f"{brier(foretold, stayed):.3f}"
        )
    return found


def table(finished: Sequence[FinishedTrial]) -> Table:
    """The curve: how often sets stayed of which that was predicted with some probability."""
    studies = [judged(done.result["steps"]) for done in finished]
    moved, changed = restlessness(studies)
    caption = (
        f"{len(studies)} studies. From one answer to the next, the prediction changes by {moved:.0%}; the advice changed "
        f"{changed} times."
    )
    headings = ("predicted", "stayed", "answers")
    found = new_table("Does the Pareto set stay as predicted?", headings, words=0, caption=caption)
    for foretold, stayed, count in curve([step for study in studies for step in study]):
        found.add_row(f"{foretold:.0%}", f"{stayed:.0%}", str(count))
    return found


def remaining_table(finished: Sequence[FinishedTrial]) -> Table:
    """What was predicted to be still missing, and what truly was, for each kind of study."""
    headings = ("studies", "predicted", "lacking", "off by", "always 0 is off by")
    found = new_table("What is still missing?", ("kind", *headings), words=1)
    for kind, trials in _by_kind(finished):
        steps = [step for done in trials for step in judged(done.result["steps"])]
        foretold, true = (np.array([step[key] for step in steps]) for key in ("remaining", "lacking"))
        off = np.abs(foretold - true).mean()
        shares = (f"{share:.1%}" for share in (foretold.mean(), true.mean(), off, true.mean()))
        found.add_row(kind, str(len(trials)), *shares)
    return found


def first_stop(steps: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The step of a judged study at which the advice was to stop for the first time.

    >>> first_stop([{"stop": False}, {"stop": True, "answers": 9}, {"stop": True, "answers": 10}])
    {'stop': True, 'answers': 9}
    """
    return next((step for step in steps if step["stop"]), None)


def advice_table(finished: Sequence[FinishedTrial]) -> Table:
    """What was so when the advice was to stop for the first time, for each kind of study."""
    found = new_table("At the first advice to stop", ("kind", *_AT_FIRST), words=1)
    for kind, trials in _by_kind(finished):
        found.add_row(kind, *_at_first([judged(done.result["steps"]) for done in trials]))
    return found


def rules_table(finished: Sequence[FinishedTrial]) -> Table:
    """The same with other limits."""
    found = new_table("With other limits", ("stability at least", "missing at most", *_AT_FIRST), words=0)
    for stable, left in RULES:
        mark = " (used)" if (stable, left) == (STABLE, LITTLE_LEFT) else ""
        studies = [judged(done.result["steps"], stable, left) for done in finished]
        found.add_row(f"{stable:g}{mark}", f"{left:g}", *_at_first(studies))
    return found


_AT_FIRST = ("advised in", "after answers", "stability", "stayed", "predicted missing", "lacking", "lacking at the end")


def _at_first(studies: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """Cells on judged studies, in the order of the headings."""
    firsts = [(step, steps[-1]["lacking"]) for steps in studies if (step := first_stop(steps)) is not None]
    cells = [f"{len(firsts)} of {len(studies)}"]
    if not firsts:
        return cells + ["-"] * (len(_AT_FIRST) - 1)
    mean = {key: np.mean([step[key] for step, _ in firsts]) for key in ("stability", "remaining", "lacking")}
    stayed = sum(step["stayed"] for step, _ in firsts)
    return [
        *cells,
        f"{np.median([step['answers'] for step, _ in firsts]):.0f}",
        f"{mean['stability']:.0%}",
        f"{stayed} of {len(firsts)}",
        f"{mean['remaining']:.1%}",
        f"{mean['lacking']:.1%}",
        f"{np.mean([end for _, end in firsts]):.1%}",
    ]


def _by_kind(finished: Sequence[FinishedTrial]) -> list[tuple[str, list[FinishedTrial]]]:
    """Studies of each kind, and of all together."""
    kinds = [(kind.what, [done for done in finished if done.trial.task == name]) for name, kind in KINDS.items()]
    return [(what, trials) for what, trials in kinds if trials] + [("all", list(finished))]


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The tables with what they are about."""
    text = (
        "Simulated people answer the questions of the optimiser as it is by default; how many objectives they have is not told. "
        "Before each answer the advice predicts how likely the Pareto set of the options seen so far is to stay, and the next "
        "fit shows whether it did; and which share of the reachable hypervolume is still missing, which the true objectives show."
    )
    return Section(
        "Advice to stop",
        [
            text,
            table(finished),
            advice_table(finished),
            rules_table(finished),
            remaining_table(finished),
            flicker_table(finished),
        ],
    )
