"""Real people's tastes in sushi (Kamishima 2003): questions made of the scores that they gave to ten kinds each.

Of five kinds that a person scored, those with their highest score are kept.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice
from choicebo.experiments.choosers import random_sets
from choicebo.experiments.datasets import min_max, published
from choicebo.experiments.raters import WAYS, Panel, learn, of_sets
from choicebo.experiments.trials import Trial, seed_of
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

EXPERIMENT = "raters-sushi"
ITEMS, SCORES = "sushi-items.csv", "sushi-scores.csv"
ITEMS_SHA256 = "d1aa77cb4bba8109aae3caeb58bb40cf5422128bdd3bc88948d6c68dadfab522"
SCORES_SHA256 = "2ec85c0bf00685d569569ba71524ea16b8c97377128a76ccb5b09429f00320d4"
PUBLISHER = "T. Kamishima's SUSHI preference data (set B)"
NUMBERS = ("not_maki", "not_seafood", "heaviness", "eaten_often", "price_normalised", "sold_often")
GROUP = "minor_group"
"""A code, which becomes one column for each group."""
QUICK, FULL = 30, 300
"""People."""
ANSWERS, UNSEEN, SET_SIZE = 6, 4, 5
LATENT_DIM = 2


def read(folder: Path) -> tuple[Array, dict[str, dict[int, int]]]:
    """Items in the unit cube, (items, d), and each person's scores by item."""
    numbers = published(folder / ITEMS, ITEMS_SHA256, PUBLISHER, (GROUP, *NUMBERS))
    groups = np.unique(numbers[:, 0])
    X = np.column_stack([min_max(numbers[:, 1:], numbers[:, 1:]), numbers[:, :1] == groups])
    scores: dict[str, dict[int, int]] = {}
    given = published(folder / SCORES, SCORES_SHA256, PUBLISHER, ("rater", "item", "score"))
    for person, item, score in given.astype(int).tolist():
        scores.setdefault(str(person), {})[item] = score
    return X, scores


def panel(X: Array, scores: dict[str, dict[int, int]], people: int, repetition: int) -> Panel:
    """Some of the people, drawn at random, with questions drawn from what each of them scored, no two the same."""
    rng = np.random.default_rng(seed_of(EXPERIMENT, people, repetition))
    names, answers, unseen = list(scores), {}, {}
    for number in np.sort(rng.choice(len(names), people, replace=False)):
        person = names[number]
        asked = questions(scores[person], ANSWERS + UNSEEN, rng)
        answers[person], unseen[person] = asked[:ANSWERS], asked[ANSWERS:]
    return Panel(X, answers, unseen)


def questions(scores: dict[int, int], count: int, rng: np.random.Generator) -> list[Choice]:
    """Different sets of five of the items scored, those with the highest score kept.

    >>> questions({3: 0, 4: 2, 5: 2, 7: 1, 8: 0}, 1, np.random.default_rng(0))
    [Choice(shown=(3, 4, 5, 7, 8), kept=(4, 5))]
    """
    items = list(scores)
    found = []
    for rows in random_sets(len(items), SET_SIZE, count, rng):
        shown = [items[row] for row in rows]
        best = max(scores[item] for item in shown)
        found.append(Choice(shown, [item for item in shown if scores[item] == best]))
    return found


def trials(people: int, repetitions: int = 1, seed: int = 0) -> list[Trial]:
    """Each way to learn, on people and questions drawn for each repetition."""
    settings = {"people": people, "answers": ANSWERS, "latent_dim": LATENT_DIM}
    return [
        Trial(EXPERIMENT, "sushi", way, number, settings)
        for number in range(seed, seed + repetitions)
        for way in reversed(WAYS)
    ]


def run_trial(trial: Trial, X: Array, scores: dict[str, dict[int, int]]) -> dict[str, Any]:
    """The scores of all people, in their order."""
    people = panel(X, scores, trial.settings["people"], trial.repetition)
    learned = learn(trial.method, people, ChoiceGP(latent_dim=trial.settings["latent_dim"]), trial.repetition)
    found = [asdict(of_sets(learned.person(each), X, people.unseen[each])) for each in people.answers]
    return {name: [round(each[name], 5) for each in found] for name in ("log_score", "right")} | learned.told()
