"""Two versions of choicebo side by side, each with its own interpreter: what their users wait for, and what it costs.

    python benchmarks/against_release.py --ours .venv/bin/python --theirs ~/old/bin/python
    python benchmarks/against_release.py --ours ... --theirs ... --questions 10 --choices 100 --json both.json

Each measurement is a new process of either interpreter, one after the other, and uses only what both versions offer:

* the README's loop, ``ChoiceOptimizer(space)``, on Branin-Currin with nothing compiled or cached;
* a fit as a study makes it before a question, and ``ChoiceGP.fit`` alone, of choices of 5 among random options; the first one
  of a process, and the median of three later ones.

Effective draws are those of the worst quantity that the version reports. Memory is the largest that the process ever held.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

MEMORY_AFTER = 25
"""Answers of the loop after which memory is looked at."""
OPTIONS = {100: 100, 300: 200}
"""Options by choices; as many as choices for other numbers."""
REPETITIONS = 3

Figures = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, required=True, help="interpreter with the new version")
    parser.add_argument("--theirs", type=Path, required=True, help="interpreter with the version to compare with")
    parser.add_argument("--questions", type=int, default=30, help="of the loop; 0: no loop")
    parser.add_argument("--choices", type=int, nargs="*", default=[100, 300], help="sizes of the fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        versions = {
            name: Version(interpreter, Path(folder) / name)
            for name, interpreter in (("theirs", given.theirs), ("ours", given.ours))
        }
        measured = _measure(versions, given)
    if given.json is not None:
        given.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


class Version:
    """An interpreter whose compiled code goes into a folder of its own, which is empty at first."""

    def __init__(self, interpreter: Path, cache: Path) -> None:
        self._interpreter = str(interpreter.absolute())  # not resolved: a virtual environment's is a link
        folders = {name: str(cache / name) for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "CHOICEBO_CACHE")}
        self._environment = {**os.environ, **folders, "OPENBLAS_NUM_THREADS": "1"}

    def measure(self, what: str, *arguments: int) -> Figures:
        """Run one of ``INSIDE`` in a new process."""
        command = [self._interpreter, __file__, "--inside", what, *map(str, arguments)]
        run = subprocess.run(command, env=self._environment, stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{self._interpreter} failed to measure {what}; its complaint is above.")
        figures: Figures = json.loads(run.stdout.splitlines()[-1])
        return figures


def _measure(versions: dict[str, Version], given: argparse.Namespace) -> dict[str, dict[str, Figures]]:
    jobs: list[tuple[str, str, tuple[int, ...]]] = []
    if given.questions:
        jobs.append((f"loop of {given.questions} questions, nothing compiled", "loop", (given.questions, given.seed)))
    for choices in given.choices:
        sizes = (choices, OPTIONS.get(choices, choices), given.seed)
        for what, words in (("question_fit", "for a question"), ("lone_fit", "alone")):
            jobs.append((f"fit of {choices} choices over {sizes[1]} options, {words}", what, sizes))
    measured = {}
    print(f"{'':<36}{'theirs':>12}{'ours':>12}{'theirs / ours':>16}")
    for title, what, arguments in jobs:
        if what != "loop":  # so that the first fit of the next process finds compiled code
            for version in versions.values():
                version.measure(what, *arguments)
        found = {name: version.measure(what, *arguments) for name, version in versions.items()}
        measured[title] = found
        print(f"\n{title}")
        for name, theirs in found["theirs"].items():
            ours = found["ours"][name]
            ratio = f"{theirs / ours:.1f}" if ours and name not in UNCOMPARED else ""
            print(f"  {name:<34}{theirs:>12.2f}{ours:>12.2f}{ratio:>16}", flush=True)
    return measured


UNCOMPARED = ("R-hat", "draws", "effective draws", "convergence warnings", "questions until memory")


# ---- in a process of either version


def _loop(questions: int, seed: int) -> Figures:
    import choicebo as cb

    optimizer = cb.ChoiceOptimizer(cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)]), seed=seed)
    waits, memory, remembered = [], 0.0, 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(1, questions + 1):
            began = time.perf_counter()
            query = optimizer.ask()
            waits.append(time.perf_counter() - began)
            optimizer.tell(query, kept=_kept([_branin_currin(o["a"], o["b"]) for o in query.options]))
            if number <= MEMORY_AFTER:
                memory, remembered = _memory(), number
    return {
        "all waits, s": sum(waits),
        "longest wait, s": max(waits),
        "median wait, s": statistics.median(waits),
        "waits over 3 s": float(sum(wait > 3.0 for wait in waits)),
        "CPU seconds": _cpu(),
        "convergence warnings": float(sum(_poor(each) for each in caught)),
        "memory, MB": memory,
        "questions until memory": float(remembered),
    }


def _question_fit(choices: int, options: int, seed: int) -> Figures:
    import choicebo as cb

    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
    points, answers = _data(choices, options)

    def fit(fit_seed: int) -> Any:
        optimizer = cb.ChoiceOptimizer(space, latent_dim=2, seed=fit_seed)
        for shown, kept in answers:
            optimizer.add([dict(zip("ab", points[i], strict=True)) for i in shown], [shown.index(i) for i in kept])
        return optimizer.fit if hasattr(optimizer, "fit") else optimizer.posterior  # as it was called before

    return _fits(fit, seed)


def _lone_fit(choices: int, options: int, seed: int) -> Figures:
    import choicebo as cb

    points, answers = _data(choices, options)
    data = cb.ChoiceData(points, [cb.Choice(shown=tuple(shown), kept=tuple(kept)) for shown, kept in answers])
    return _fits(lambda fit_seed: lambda: cb.ChoiceGP(latent_dim=2).fit(data, seed=fit_seed), seed)


def _fits(made: Any, seed: int) -> Figures:
    """The first fit of this process and later ones; ``made(seed)`` is what has to be called for one."""
    seconds, cpu, found = [], [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(REPETITIONS + 1):
            fit = made(seed + number)
            began, cpu_began = time.perf_counter(), time.process_time()
            found.append(fit().diagnostics)
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - cpu_began)
    effective = [min(d.effective_sample_size, getattr(d, "effective_sample_size_margins", 1e9)) for d in found[1:]]
    return {
        "first of a process, s": seconds[0],
        "seconds": statistics.median(seconds[1:]),
        "CPU seconds": statistics.median(cpu[1:]),
        "draws": statistics.median(d.draws for d in found[1:]),
        "effective draws": statistics.median(effective),
        "CPU ms an effective draw": 1000 * statistics.median(c / e for c, e in zip(cpu[1:], effective, strict=True)),
        "R-hat": max(d.r_hat for d in found[1:]),
        "convergence warnings": float(sum(_poor(each) for each in caught)),
        "memory, MB": _memory(),
    }


def _data(choices: int, options: int) -> tuple[list[list[float]], list[tuple[list[int], list[int]]]]:
    import numpy as np

    rng = np.random.default_rng(0)
    points = rng.random((options, 2))
    x, y = points.T
    wishes = np.stack([np.sin(3.0 * x) + y, np.cos(4.0 * x * y) - 0.5 * y], axis=1)
    answers = []
    for _ in range(choices):
        shown = sorted(rng.choice(options, 5, replace=False).tolist())
        noisy = wishes[shown] + 0.05 * rng.standard_normal((5, 2))
        answers.append((shown, [shown[i] for i in _kept(noisy.tolist())]))
    return points.tolist(), answers


def _branin_currin(a: float, b: float) -> list[float]:
    """Both to be maximised."""
    from math import cos, exp, pi

    u, v = 15 * a - 5, 15 * b
    branin = (v - 5.1 / (4 * pi**2) * u**2 + 5 / pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * pi)) * cos(u) + 10
    factor = 1.0 if b <= 0 else 1 - exp(-1 / (2 * b))
    currin = factor * (2300 * a**3 + 1900 * a**2 + 2092 * a + 60) / (100 * a**3 + 500 * a**2 + 4 * a + 20)
    return [-branin, -currin]


def _kept(values: list[list[float]]) -> list[int]:
    """Positions of what nothing else beats."""

    def beats(one: list[float], other: list[float]) -> bool:
        return one != other and all(p >= q for p, q in zip(one, other, strict=True))

    return [at for at, value in enumerate(values) if not any(beats(other, value) for other in values)]


def _poor(warning: Any) -> bool:
    return bool(warning.category.__name__ == "ConvergenceWarning")


def _cpu() -> float:
    """Of this process and of those that it started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _memory() -> float:
    """The most that this process ever held, in MB; macOS counts bytes where Linux counts kilobytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


INSIDE = {"loop": _loop, "question_fit": _question_fit, "lone_fit": _lone_fit}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        print(json.dumps(INSIDE[sys.argv[2]](*map(int, sys.argv[3:]))))
    else:
        main()
