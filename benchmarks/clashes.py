"""How many slips are found, and how many answers of consistent people are suspected: simulated studies with a planted slip.

    python benchmarks/clashes.py --studies 10 --out clashes.jsonl

Simulated people answer 25 questions of a study over the example palette, Branin-Currin and Vehicle-Safety, without noise. In
one half of the studies they once keep what they would leave out, and leave out what they would keep. The studies are
appended to the file as they are finished, and are not simulated again; what is printed is judged anew.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import choicebo as cb
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser
from choicebo.experiments.problems import problem
from choicebo.insight import surprises
from choicebo.space import Searchable
from choicebo.study.study_file import read

Array = NDArray[np.float64]

TASKS = ("palette", "branin-currin", "vehicle-safety")
ANSWERS = 25


def task(name: str) -> tuple[Searchable, Callable[[Array], Array]]:
    """What is chosen from, and what the person wants."""
    if name != "palette":
        return problem(name).space, problem(name).objectives
    with resources.as_file(resources.files("choicebo.cli") / "examples" / "palette.toml") as file:
        space = read(file).space

    def calm_and_warm(X: Array) -> Array:
        hue, saturation, lightness, _, paper = X[:, :5].T
        typeface = X[:, -3:] @ np.array([0.3, 0.0, -0.3])
        calm = -((saturation - 0.3) ** 2) - 0.5 * (lightness - 0.6) ** 2 + 0.3 * typeface
        warm = np.cos(2.0 * np.pi * (hue - 0.1)) - (paper - 0.5) ** 2
        return np.stack([calm, warm], axis=1)

    return space, calm_and_warm


def simulated(name: str, seed: int, slips: bool) -> dict[str, Any]:
    """A finished study, and the number of the answer that was a slip, if there is one."""
    space, objectives = task(name)
    rng = np.random.default_rng([seed, 7])
    person, optimizer = Chooser(objectives), cb.ChoiceOptimizer(space, seed=seed)
    earliest, slip = int(rng.integers(2, 18)), None
    for number in range(ANSWERS):
        query = optimizer.ask(look_beside=False)
        shown = space.encode(query.options)
        kept = person(shown, rng)
        if slips and slip is None and number >= earliest and len(kept) < len(shown):
            kept, slip = tuple(at for at in range(len(shown)) if at not in kept), number
        optimizer.tell(query, kept)
    return {"task": name, "seed": seed, "slips": slips, "slip": slip, "record": optimizer.to_dict()}


def main() -> None:
    """Simulate what is missing, judge everything, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=10, help="of each task, with and without a slip")
    parser.add_argument("--seed", type=int, default=0, help="of the first study")
    parser.add_argument("--out", type=Path, default=Path("clashes.jsonl"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    done = {(each["task"], each["seed"], each["slips"]): each for each in map(json.loads, lines)}
    for key in [
        (name, seed, slips)
        for seed in range(given.seed, given.seed + given.studies)
        for name in TASKS
        for slips in (False, True)
    ]:
        if key not in done:
            done[key] = simulated(*key)
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[key]) + "\n")
    print(f"{'':16}{'slips found':>14}{'ranked first':>14}{'false alarms':>14}{'beside a slip':>15}")
    for name in (*TASKS, "all"):
        mine = [each for each in done.values() if name in (each["task"], "all")]
        found = [judged(each) for each in mine]
        slips = [each for each in found if each["slip"]]
        rest = [each for each in found if not each["slip"]]
        counts = (
            f"{sum(each['found'] for each in slips)} of {len(slips)}",
            f"{sum(each['first'] for each in slips)} of {len(slips)}",
            f"{sum(each['false'] for each in rest)} in {len(rest)}",
            f"{sum(each['false'] for each in slips)} in {len(slips)}",
        )
        print(f"{name:16}{counts[0]:>14}{counts[1]:>14}{counts[2]:>14}{counts[3]:>15}", flush=True)


_JUDGED: dict[tuple[str, int, bool], dict[str, Any]] = {}


def judged(study: dict[str, Any]) -> dict[str, Any]:
    """Whether the slip was found and came first, and how many other answers were suspected."""
    key = study["task"], study["seed"], study["slips"]
    if key not in _JUDGED:
        posterior = cb.ChoiceOptimizer.from_dict(study["record"]).posterior()
        assert posterior is not None
        found = surprises(posterior)
        suspected = [each.choice for each in found if each.noteworthy]
        _JUDGED[key] = {
            "slip": study["slip"] is not None,
            "found": study["slip"] in suspected,
            "first": found[0].choice == study["slip"],
            "false": sum(choice != study["slip"] for choice in suspected),
        }
    return _JUDGED[key]


if __name__ == "__main__":
    main()
