"""Real people's single choices of an electricity supplier (Huber and Train 2001): ours beside logit models.

Each person's last three questions are held out. Mixed logit has two scores: as xlogit predicts, and from each
person's own answers, which is what our models use too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from choicebo.choices import Choice
from choicebo.errors import DataError
from choicebo.experiments.baselines import mixed_logit
from choicebo.experiments.baselines.mixed_logit import Answers
from choicebo.experiments.datasets import min_max, published
from choicebo.experiments.raters import WAYS, Panel, Score, learn, of_winners, positions, winners_score
from choicebo.experiments.trials import Trial
from choicebo.model.gp import ChoiceGP

EXPERIMENT = "raters-electricity"
FILE = "electricity.csv"
SHA256 = "b658b9061595f86203a54d9808fcb26d45832f8ef8fa767a89df0ce98600dd33"
PUBLISHER = "the R package mlogit (data set Electricity; Huber and Train 2001)"
INPUTS = (
    "price_cents_per_kwh",
    "contract_years",
    "local_supplier",
    "well_known_supplier",
    "time_of_day_rates",
    "seasonal_rates",
)
MULTINOMIAL, MIXED, MIXED_PERSONAL = "multinomial logit", "mixed logit", "mixed logit, personal"
LOGITS = (MULTINOMIAL, MIXED, MIXED_PERSONAL)
HELD_OUT = 3
QUICK, FULL = 40, 361
"""People."""
_ALTERNATIVES = 4


def read(folder: Path) -> Panel:
    """The file in ``folder``, the last three answers of each person held out; inputs as published."""
    rows = published(folder / FILE, SHA256, PUBLISHER, ("question", "rater", "chosen", *INPUTS))
    by_question = rows.reshape(-1, _ALTERNATIVES, rows.shape[1])
    if (np.ptp(by_question[..., :2], axis=1) != 0).any() or (by_question[..., 2].sum(1) != 1).any():
        raise DataError(f"{folder / FILE} must have {_ALTERNATIVES} rows for each question, one of them chosen.")
    X, place = np.unique(rows[:, 3:], axis=0, return_inverse=True)
    asked: dict[str, list[Choice]] = {}
    for shown, question in zip(place.reshape(-1, _ALTERNATIVES).tolist(), by_question, strict=True):
        answer = Choice(shown, [shown[int(question[:, 2].argmax())]])
        asked.setdefault(str(int(question[0, 1])), []).append(answer)
    return Panel(
        X,
        {person: answers[:-HELD_OUT] for person, answers in asked.items()},
        {person: answers[-HELD_OUT:] for person, answers in asked.items()},
    )


def trials(people: int) -> list[Trial]:
    """One for each model; logits only where xlogit is installed."""
    logits = LOGITS if mixed_logit.installed() else ()
    return [Trial(EXPERIMENT, "electricity", method, 0, {"people": people}) for method in (*logits, *reversed(WAYS))]


def run_trial(trial: Trial, panel: Panel) -> dict[str, Any]:
    """The scores of all people, in their order."""
    people = list(panel.answers)[: trial.settings["people"]]
    part = Panel(panel.X, {each: panel.answers[each] for each in people}, panel.unseen)
    return _ours(trial.method, part) if trial.method in WAYS else _logit(trial.method, part)


def _ours(way: str, panel: Panel) -> dict[str, Any]:
    scaled = Panel(min_max(panel.X, panel.X), panel.answers, panel.unseen)
    learned = learn(way, scaled, ChoiceGP(latent_dim=1, likelihood="batch_preference"))
    scores = {each: of_winners(learned.person(each), scaled.X, scaled.unseen[each]) for each in scaled.answers}
    return _result(scores) | learned.told()


def _logit(method: str, panel: Panel) -> dict[str, Any]:
    began = time.perf_counter()
    fit = mixed_logit.multinomial if method == MULTINOMIAL else mixed_logit.mixed
    tastes = fit(_singles(panel, panel.answers))
    seconds, scores = time.perf_counter() - began, {}
    for person, questions in panel.unseen.items():
        if person in panel.answers:
            known = _singles(panel, {person: panel.answers[person]}) if method == MIXED_PERSONAL else None
            log_p = mixed_logit.log_probabilities(tastes, panel.X[[each.shown for each in questions]], known)
            scores[person] = winners_score(log_p, questions)
    told = {name: values.tolist() for name, values in tastes._asdict().items()}
    return _result(scores) | {"seconds": seconds, "problems": [], "tastes": told}


def _singles(panel: Panel, answers: Mapping[str, Any]) -> Answers:
    every = [(number, each) for number, given in enumerate(answers.values()) for each in given]
    return Answers(
        panel.X[[each.shown for _, each in every]],
        np.array([positions(each)[0] for _, each in every]),
        np.array([number for number, _ in every]),
    )


def _result(scores: Mapping[str, Score]) -> dict[str, Any]:
    told = [asdict(score) for score in scores.values()]
    return {name: [round(each[name], 5) for each in told] for name in ("log_score", "right")}
