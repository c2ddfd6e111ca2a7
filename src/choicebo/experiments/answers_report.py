"""The experiment on ways of answering as tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from rich.table import Table

from choicebo.experiments.answers_trials import METHODS, NOISE, PEOPLE, REAL, SET_SIZE, WAYS
from choicebo.experiments.document import Section
from choicebo.experiments.report_tables import Mean, grouped, new_table
from choicebo.experiments.trials import FinishedTrial

_CAUTION = (
    "Read the travel modes with care: times of the modes that were taken are round numbers far more often than "
    "those of the others. The two were probably recorded differently, and a flexible model can recognise which "
    "is which. Its lead over the logit there says little about what travellers want."
)


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The tables with what they are about."""
    blocks: list[str | Table] = [
        f"The same simulated people are asked the same questions, of {SET_SIZE} options each (a pair: the first "
        "two of them), "
        "and answer in different ways. The learned model is tested on sets that were not asked about: which "
        f"options would the person keep? Every answer adds noise of {NOISE} to every objective. With two "
        "objectives, a person who must name one of several unbeaten options picks one at random."
    ]
    simulated = [each for each in finished if each.trial.task in PEOPLE]
    blocks += [ways(task, mine) for task, mine in grouped(simulated, lambda each: each.trial.task).items()]
    real = [each for each in finished if each.trial.task in REAL]
    if real:
        blocks += [travellers(real), _CAUTION]
    return Section("Ways of answering", blocks)


def ways(task: str, finished: Sequence[FinishedTrial]) -> Table:
    """A row for each way of answering after each number of questions, means over the repetitions."""
    shown = new_table(
        f"What each way of answering teaches: {task}",
        ("way", "questions", "exact sets", "log score", "marks", "choices", "s"),
        caption="Exact sets: share of held-out sets whose kept options are all predicted. Log score: mean "
        "log-probability of what was kept. Marks: clicks per question. Choices: how many choices the answers are read "
        "as. s: median seconds of a trial.",
    )
    by_size = grouped(finished, lambda each: each.trial.settings["questions"])
    for questions, mine in sorted(by_size.items()):
        by_way = grouped(mine, lambda each: each.trial.method)
        for way in (way for way in WAYS if way in by_way):
            results = [each.result for each in by_way[way]]
            shown.add_row(
                way,
                str(questions),
                str(Mean.of([each["accuracy"] for each in results])),
                str(Mean.of([each["log_score"] for each in results])),
                f"{fmean(each['marks'] for each in results):.1f}",
                f"{fmean(each['choices'] for each in results):.0f}",
                f"{median(each.seconds for each in by_way[way]):.1f}",
            )
        shown.add_section()
    return shown


def travellers(finished: Sequence[FinishedTrial]) -> Table:
    """Our model beside a multinomial logit on the same folds of real single choices."""
    shown = new_table(
        "Single choices of travellers",
        ("data", "choices", "method", "log score", "accuracy", "s"),
        words=3,
        caption="Mean ± standard error over five folds of choices that were not learned from; it counts that folds learn from "
        "overlapping choices. One hidden objective, one winner (batch preference). s: median seconds of a fold.",
    )
    for name, mine in grouped(finished, lambda each: each.trial.task).items():
        by_method = grouped(mine, lambda each: each.trial.method)
        for method in (method for method in METHODS if method in by_method):
            results = [each.result for each in by_method[method]]
            shown.add_row(
                name,
                str(mine[0].trial.settings["choices"]),
                method,
                str(Mean.of_folds([each["log_score"] for each in results])),
                str(Mean.of_folds([each["accuracy"] for each in results])),
                f"{median(each.seconds for each in by_method[method]):.1f}",
            )
        shown.add_section()
    return shown
