"""Write the figures of README.md and docs/results/index.md from the raw results in docs/results.

    python benchmarks/write_figures.py            writes those that changed
    python benchmarks/write_figures.py --check    says which differ, and fails if any do

A row of a table is found by its first cell, and the rest of it is written anew; text around the tables is nobody's but the
author's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from choicebo.experiments import paper
from choicebo.experiments.accuracy_trials import CHOICE_GP, ORACLE_GP, PICTURE
from choicebo.experiments.answers_trials import WAYS
from choicebo.experiments.report_tables import Mean
from choicebo.experiments.result_file import ResultFile
from choicebo.experiments.trials import FinishedTrial
from choicebo.model.posterior import PREDICTION_RULES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
Rows = dict[str, list[str]]
"""The cells after the first one, by the first one."""

TASKS = {
    "toy": "toy, `[cos 2x, -sin 2x]`",
    "slump": "slump",
    "jura": "jura",
    "real-estate": "real-estate",
    "enb": "enb",
}
PROBLEMS = {
    "branin-currin": "Branin-Currin",
    "zdt1": "ZDT1",
    "zdt2": "ZDT2",
    "dtlz1": "DTLZ1",
    "kursawe": "Kursawe",
    "vehicle-safety": "Vehicle-Safety",
}
KNOWN = {
    "vehicle-safety": "Vehicle-Safety, the mass known",
    "zdt1": "ZDT1, f1 known",
    "catalogue": "a catalogue of 1,000 rows, the price known",
}
METHODS = ("default", "pairwise", "parego", "nehvi", "sobol")
WAYS_IN_WORDS = {
    "subset": "keep what no other one beats",
    "best": "the best",
    "best-worst": "the best and the worst",
    "first two": "the first two, in order",
    "ranking": "all in order",
    "pair": 'the better of two, or "I cannot decide"',
}


def main() -> None:
    """Write, or check."""
    checks = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not checks:
        raise SystemExit(__doc__)
    differs = False
    for path, rows in ((ROOT / "README.md", readme_rows()), (RESULTS / "index.md", results_rows())):
        text = path.read_text("utf-8")
        found = written(text, rows)
        if found != text:
            differs = True
            print(f"{path.relative_to(ROOT)}: {'differs from' if checks else 'written from'} the raw results")
            if not checks:
                path.write_text(found, "utf-8")
    raise SystemExit(differs and checks)


def written(text: str, rows: Rows) -> str:
    """A text with these rows of its tables; a row that stands nowhere is an error.

    >>> written("| a | 1 |", {"a": ["2"]})
    '| a | 2 |'
    """
    lines, left = text.split("\n"), dict(rows)
    for at, line in enumerate(lines):
        if line.startswith("| ") and (first := line[2:].partition(" | ")[0]) in rows:
            if first not in left:
                raise SystemExit(f"two rows begin with {first!r}")
            lines[at] = f"| {first} | {' | '.join(left.pop(first))} |"
    if left:
        raise SystemExit(f"no row begins with {', '.join(map(repr, left))}")
    return "\n".join(lines)


def readme_rows() -> Rows:
    """The rows of the README that come from experiments."""
    toy = accuracy(ResultFile(RESULTS / "toy.jsonl").read(), "toy", 300)
    oracle = ceiling(ResultFile(RESULTS / "toy.jsonl").read(), "toy")
    ends = {name: Mean.of(ended("branin-currin", name)).mean for name in ("default", "pairwise", "parego")}
    return {
        "unseen answers predicted exactly, from 300 choices of the paper's toy function": [
            f"{100 * toy:.0f} %",
            f"{100 * paper.ACCURACY['toy'][300]:.0f} % in the paper; {100 * oracle:.0f} % for a Gaussian process that sees "
            "the objectives",
        ],
        "missing hypervolume after 80 questions about Branin-Currin, log10, smaller is better": [
            f"{ends['default']:.2f}",
            f"{ends['pairwise']:.2f} for BoTorch's `PairwiseGP`; {ends['parego']:.2f} for ParEGO, which sees the "
            "objectives. A question of choicebo has two new options, theirs one; at equally many options it is "
            f"{standing('branin-currin')} ParEGO",
        ],
    }


def results_rows() -> Rows:
    """Those of the page of results."""
    finished = [*ResultFile(RESULTS / "toy.jsonl").read(), *ResultFile(RESULTS / "real.jsonl").read()]
    rows = known_rows()
    for task, name in TASKS.items():
        beside = [_beside(accuracy(finished, task, count), paper.ACCURACY[task][count]) for count in (100, 300)]
        rows[name] = [*beside, f"{ceiling(finished, task):.2f} / {paper.ORACLE[task]:.2f}"]
    for task, name in PROBLEMS.items():
        rows[name] = [_ended(ended(task, method)) for method in METHODS]
    answers = ResultFile(RESULTS / "answers.jsonl").read()
    people = ("one objective", "two objectives")
    best = {(who, count): max(taught(answers, who, way, count) for way in WAYS) for who in people for count in (20, 80)}
    for way, name in WAYS_IN_WORDS.items():
        cells = []
        for who in people:
            numbers = [(taught(answers, who, way, count), best[who, count]) for count in (20, 80)]
            cells.append(", ".join(f"**{each:.2f}**" if each == most else f"{each:.2f}" for each, most in numbers))
        rows[name] = [_clicks(answers, way, people), *cells]
    return rows


def accuracy(finished: Iterable[FinishedTrial], task: str, count: int) -> float:
    """The mean share of sets that our model predicts exactly."""
    return _mean(
        finished,
        lambda done: (done.trial.method, done.result["task"], done.result["n_choices"]) == (CHOICE_GP, task, count),
        lambda done: done.result["accuracy"][PREDICTION_RULES[0]],
    )


def ceiling(finished: Iterable[FinishedTrial], task: str) -> float:
    """The same of the regression that sees the objectives."""
    return _mean(
        finished,
        lambda done: (done.trial.method, done.result["task"]) == (ORACLE_GP, task),
        lambda done: done.result["oracle"],
    )


def ended(task: str, method: str) -> list[float]:
    """Log hypervolume differences of the repetitions after the last question."""
    return [
        done.result["log_hv_difference"][-1]
        for done in ResultFile(RESULTS / "bo.jsonl").read()
        if (done.trial.task, done.trial.method) == (task, method)
    ]


def standing(task: str) -> str:
    """How our default stands to ParEGO where both evaluated equally many different options."""
    curves = {
        (done.trial.method, done.trial.repetition): done.result["log_hv_difference_per_option"]
        for done in ResultFile(RESULTS / "bo.jsonl").read()
        if done.trial.task == task
    }
    pairs = [(curve, curves["parego", at]) for (name, at), curve in curves.items() if name == "default"]
    found = Mean.of([ours[n] - theirs[n] for ours, theirs in pairs for n in [min(len(ours), len(theirs)) - 1]])
    if abs(found.mean) < 2 * found.se:
        return "level with"
    return "ahead of" if found.mean < 0 else "behind"


def known_rows() -> Rows:
    """What it is worth to know an objective: log hypervolume differences after 20 and 40 questions."""
    finished = ResultFile(RESULTS / "known.jsonl").read()
    rows: Rows = {}
    for task, name in KNOWN.items():
        curves = {
            (done.trial.method, done.trial.repetition): done.result["log_hv_difference"]
            for done in finished
            if done.trial.task == task
        }
        repetitions = sorted(at for method, at in curves if method == "known" and ("hidden", at) in curves)
        known, hidden = ([curves[method, at] for at in repetitions] for method in ("known", "hidden"))
        means = [
            ", ".join(f"{Mean.of([each[n] for each in side]).mean:.2f}" for n in (20, 40)) for side in (known, hidden)
        ]
        differences = [
            Mean.of([ours[n] - theirs[n] for ours, theirs in zip(known, hidden, strict=True)]) for n in (20, 40)
        ]
        rows[name] = [*means, ", ".join(f"{each.mean:.2f} ± {each.se:.2f}" for each in differences)]
    return rows


def taught(finished: Iterable[FinishedTrial], person: str, way: str, questions: int) -> float:
    """The mean share of sets predicted exactly after so many questions that were answered in one way."""
    return _mean(
        finished,
        lambda done: (done.trial.task, done.trial.method, done.trial.settings["questions"]) == (person, way, questions),
        lambda done: done.result["accuracy"],
    )


def _clicks(finished: list[FinishedTrial], way: str, people: tuple[str, str]) -> str:
    """Marks of a question; where they depend on the person, those of both."""
    one, two = (
        _mean(
            finished,
            lambda done, who=who: (done.trial.task, done.trial.method) == (who, way),  # type: ignore[misc]
            lambda done: done.result["marks"],
        )
        for who in people
    )
    return f"{one:.0f}" if abs(one - two) < 0.05 else f"{one:.1f}; with two objectives {two:.1f}"


def _mean(
    finished: Iterable[FinishedTrial], is_one: Callable[[FinishedTrial], bool], value: Callable[[FinishedTrial], float]
) -> float:
    kinds = (done for done in finished if done.trial.task != PICTURE and "multinomial" not in done.trial.method)
    return Mean.of([value(done) for done in kinds if _is(is_one, done)]).mean


def _is(is_one: Callable[[FinishedTrial], bool], done: FinishedTrial) -> bool:
    try:
        return is_one(done)
    except KeyError:  # another kind of trial, which says nothing of this
        return False


def _beside(ours: float, theirs: float) -> str:
    """Ours and the paper's, the larger one in bold."""
    us, them = f"{ours:.2f}", f"{theirs:.2f}"
    return f"**{us}** / {them}" if us > them else f"{us} / **{them}**" if us < them else f"{us} / {them}"


def _ended(values: list[float]) -> str:
    found = Mean.of(values)
    mean = f"{found.mean:.2f}" if len(values) == 1 else f"{found.mean:.2f} ± {found.se:.2f}"
    return f"{mean} ({len(values)})"


if __name__ == "__main__":
    main()
