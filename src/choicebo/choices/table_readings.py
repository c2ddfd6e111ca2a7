"""Answers that were read from a table, as choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from choicebo.choices import readings
from choicebo.choices.building import Flat, choices_of, quick_choice
from choicebo.choices.choice import Choice
from choicebo.choices.long_table import Answers
from choicebo.choices.problems import Problems
from choicebo.choices.readings import Plain
from choicebo.choices.roles import MARKS
from choicebo.errors import DataError


def choices_of_answers(
    answers: Answers, kind: str, baseline: int, problems: Problems
) -> tuple[Sequence[Choice], Sequence[int]]:
    """The choices that answers of a kind are read as, and of each the line or row that it was read from."""
    numbers = answers.numbers.tolist()
    if kind in ("choices", "pairs", "best"):
        kept = answers.marks.get("best" if kind == "best" else "kept", np.empty(0)) == 1.0
        if kind == "best":
            _check_one(answers, "best", problems)
        if problems or not len(numbers):
            return [], []
        return choices_of(Flat(answers.lengths, answers.options, kept, answers.weights)), numbers
    for mark in MARKS[kind] if kind == "best_worst" else ():
        _check_one(answers, mark, problems)
    read = _READINGS[kind]
    found: list[Choice] = []
    origins: list[int] = []
    weights = answers.weights or [1.0] * len(numbers)
    starts, ends = answers.starts.tolist(), np.cumsum(answers.lengths).tolist()
    sound = answers.sound.tolist()
    for number, start, end, weight, is_sound in zip(numbers, starts, ends, weights, sound, strict=True):
        if not is_sound or problems.has(number):
            continue
        options = answers.options[start:end].tolist()
        said = {mark: values[start:end].tolist() for mark, values in answers.marks.items()}
        try:
            choices = [_choice(shown, kept, weight) for shown, kept in read(options, said, baseline)]
        except DataError as error:
            problems.add(number, str(error))
            continue
        found += choices
        origins += [number] * len(choices)
    return found, origins


def _choice(shown: tuple[int, ...], kept: tuple[int, ...], weight: float) -> Choice:
    quick = quick_choice(shown, kept) if weight == 1.0 else None
    return Choice(shown, kept, weight) if quick is None else quick


def _check_one(answers: Answers, mark: str, problems: Problems) -> None:
    if not len(answers.lengths):
        return
    counts = np.add.reduceat(answers.marks[mark] == 1.0, answers.starts)
    for answer in np.flatnonzero((counts != 1) & answers.sound).tolist():
        problems.add(answers.numbers[answer], f"{counts[answer]} options are marked {mark!r}; mark one in each answer.")


def _read_ranking(options: list[int], said: Mapping[str, list[float]], _: int) -> list[Plain]:
    ranks = said["rank"]
    places: dict[float, list[int]] = {}
    for rank, option in sorted((rank, at) for at, rank in enumerate(ranks) if not math.isnan(rank)):
        places.setdefault(rank, []).append(options[option])
    if not places:
        raise DataError("nothing is ranked; give the best option rank 1.")
    return readings.ranking(list(places.values()), options)


def _read_best_worst(options: list[int], said: Mapping[str, list[float]], _: int) -> list[Plain]:
    return readings.best_worst(options, options[said["best"].index(1.0)], options[said["worst"].index(1.0)])


def _read_ratings(options: list[int], said: Mapping[str, list[float]], _: int) -> list[Plain]:
    return readings.ratings(options, said["rating"])


def _read_approval(options: list[int], said: Mapping[str, list[float]], baseline: int) -> list[Plain]:
    (option,), (approved,) = options, said["approved"]
    if option == baseline:
        raise DataError("it compares the baseline with itself; leave it out.")
    return [readings.approval(option, baseline, None if math.isnan(approved) else approved == 1.0)]


_READINGS: dict[str, Callable[[list[int], Mapping[str, list[float]], int], list[Plain]]] = {
    "rankings": _read_ranking,
    "best_worst": _read_best_worst,
    "ratings": _read_ratings,
    "approvals": _read_approval,
}
