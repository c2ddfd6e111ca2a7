"""The experiments with several people as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from choicebo import plots
from choicebo.experiments import raters_electricity, raters_simulated, raters_sushi
from choicebo.experiments.document import Block, Picture, Section
from choicebo.experiments.raters import RELATED, SEPARATE, TOGETHER, WAYS
from choicebo.experiments.raters_simulated import TRUTH
from choicebo.experiments.report_tables import Mean, grouped, new_table
from choicebo.experiments.trials import FinishedTrial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scores = Mapping[str, Mapping[object, float]]
"""By method, the scores of what was repeated; methods are compared where both have a score."""

MEASURES = {"log_score": "Log score", "right": "Exact-set accuracy"}
PICTURED = 0.3
"""The share of personal taste for which the picture shows the newcomer."""
_STYLES = {way: (plots.PALETTE[at], "os^"[at]) for at, way in enumerate(WAYS)}
_WAYS_TOLD = (
    "related learns what people share and where they differ; together treats all answers as one person's; "
    "separate fits each person alone."
)


def simulated_section(finished: Sequence[FinishedTrial]) -> Section:
    """Simulated people, of whom it is known how much of their taste is personal."""
    settings = finished[0].trial.settings
    text = (
        f"{settings['people']} simulated people answer {settings['answers']} questions each, sets of 4 of 100 options with two "
        "inputs and two hidden objectives, f_r = sqrt(1 - a) h_0 + sqrt(a) h_r with Matérn functions h; each "
        f"answer adds fresh noise of {raters_simulated.NOISE:g} standard deviations. {settings['unseen']} further "
        f"answers of each person are predicted. {_WAYS_TOLD} truth predicts from the functions themselves."
    )
    blocks: list[Block] = [text, *(people_table(finished, measure) for measure in MEASURES)]
    blocks += [newcomer_table(finished, measure) for measure in MEASURES]
    if any("agreement" in each.result for each in finished):
        blocks.append(agreement_table(finished))
    blocks.append(Picture("raters", figure(finished), _CAPTION))
    return Section("Simulated people", blocks)


_CAPTION = (
    "How far the log score of unseen answers falls behind that of the truth. Left: for the same people, by the "
    f"share of personal taste. Right: for a newcomer after their first answers, a = {PICTURED:g}. Bars: standard "
    "errors over repetitions."
)


def people_table(finished: Sequence[FinishedTrial], measure: str) -> Table:
    """A row for each share of personal taste, and how far related is ahead."""
    found = [each for each in finished if "people" in each.result]
    headings = ("a", TRUTH, *WAYS, f"{RELATED} - {TOGETHER}", f"{RELATED} - {SEPARATE}")
    caption = f"Mean ± standard error over {_count(found)} repetitions; differences are paired."
    table = new_table(f"{MEASURES[measure]} of unseen answers of the same people", headings, words=0, caption=caption)
    for share, group in grouped(found, lambda each: each.trial.settings["share"]).items():
        table.add_row(f"{share:g}", *_compared(_scores(group, "people", measure), (TRUTH, *WAYS)))
    return table


def newcomer_table(finished: Sequence[FinishedTrial], measure: str) -> Table:
    """A row for each share of personal taste and number of answers of the ninth person."""
    found = [each for each in finished if each.trial.method in WAYS]
    headings = ("a", "answers", *WAYS, f"{RELATED} - {TOGETHER}", f"{RELATED} - {SEPARATE}")
    table = new_table(
        f"{MEASURES[measure]} of unseen answers of a newcomer",
        headings,
        words=0,
        caption="After so many answers of the newcomer; before the first one, separate has nothing to learn from and guesses.",
    )
    for (share, joining), group in grouped(
        found, lambda each: (each.trial.settings["share"], each.trial.settings["joining"])
    ).items():
        table.add_row(f"{share:g}", str(joining), *_compared(_scores(group, "newcomer", measure), WAYS))
    return table


def agreement_table(finished: Sequence[FinishedTrial]) -> Table:
    """What was learned about the share of personal taste."""
    headings = ("true a", "learned a", "lower", "upper", "a within its interval", "runs")
    table = new_table(
        "Share of personal taste",
        headings,
        words=0,
        caption="Means over repetitions and objectives, and how often the 95 % interval of an objective contains the true share.",
    )
    found = [each for each in finished if "agreement" in each.result and "people" in each.result]
    for share, group in grouped(found, lambda each: each.trial.settings["share"]).items():
        learned, lower, upper = (
            np.array([each.result["agreement"][name] for each in group]) for name in ("share", "lower", "upper")
        )
        within = (lower <= share) & (share <= upper)
        table.add_row(
            f"{share:g}",
            *(f"{values.mean():.2f}" for values in (learned, lower, upper)),
            f"{within.sum()} of {within.size}",
            str(len(group)),
        )
    return table


def electricity_section(finished: Sequence[FinishedTrial]) -> Section:
    """Real single choices."""
    by_method = {each.trial.method: each.result for each in finished}
    people = finished[0].trial.settings["people"]
    text = (
        f"{people} people chose one of four electricity suppliers up to twelve times (Huber and Train 2001); the last "
        f"{raters_electricity.HELD_OUT} answers of each are held out. Our models have one hidden objective and "
        "the likelihood of single choices (batch_preference), with probabilities normalised over the four "
        "winners. The logits are xlogit's, with all coefficients normal in the mixed one. xlogit predicts everybody from the "
        "distribution of tastes in the population; 'personal' weights draws of that distribution by how well "
        "they explain a person's own answers."
    )
    if not any(method in by_method for method in raters_electricity.LOGITS):
        text += " xlogit is not installed, so its models are missing; pip install 'choicebo[experiments]' brings it."
    return Section("Electricity suppliers", [text, _real_table("Electricity suppliers", by_method, RELATED)])


def sushi_section(finished: Sequence[FinishedTrial]) -> Section:
    """Real scores, as sets that are kept."""
    text = (
        f"{finished[0].trial.settings['people']} people of Kamishima's SUSHI data, who scored ten of 100 kinds each. Of "
        "five kinds that a person scored, those with their highest score are kept: "
        f"{raters_sushi.ANSWERS} such questions of each person to learn from and {raters_sushi.UNSEEN} others to "
        f"predict, two hidden objectives. {_WAYS_TOLD}"
    )
    by_method: dict[str, dict[str, Any]] = {}
    for method, group in grouped(finished, lambda each: each.trial.method).items():
        results = [each.result for each in group]
        joined = {name: [value for each in results for value in each[name]] for name in MEASURES}
        by_method[method] = joined | {"seconds": float(np.median([each["seconds"] for each in results]))}
    return Section("Sushi", [text, _real_table("Sushi", by_method, RELATED)])


def _real_table(title: str, by_method: Mapping[str, Mapping[str, Any]], ours: str) -> Table:
    """A row for each method; people are what is repeated."""
    headings = ("method", "log score", f"{ours} ahead by", "accuracy", f"{ours} ahead by", "s/fit")
    table = new_table(title, headings, caption="Means ± standard errors over people; differences are paired.")
    for method, result in by_method.items():
        row = []
        for name in MEASURES:
            row.append(str(Mean.of(result[name])))
            ahead = np.subtract(by_method[ours][name], result[name]) if ours in by_method and method != ours else ()
            row.append(_signed(list(ahead)))
        table.add_row(method, *row, f"{result['seconds']:.1f}")
    return table


def figure(finished: Sequence[FinishedTrial]) -> Figure:
    """How well people and a newcomer are predicted."""
    drawn, (left, right) = plots.new_figure(columns=2, size=(10.0, 4.2))
    _curves(left, [each for each in finished if "people" in each.result], "people", "share")
    left.set_xlabel("share of personal taste, a")
    left.set_ylabel("log score minus that of the truth")
    _curves(right, [each for each in finished if each.trial.settings["share"] == PICTURED], "newcomer", "joining")
    right.set_xlabel(f"answers of a newcomer, a = {PICTURED:g}")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=len(_STYLES), frameon=False)
    return drawn


def _curves(axes: Axes, finished: Sequence[FinishedTrial], who: str, against: str) -> None:
    """Paired with the truth, because some people are harder to predict than others."""
    truth = {
        (each.trial.settings["share"], each.trial.repetition): each.result[who]["log_score"]
        for each in finished
        if each.trial.method == TRUTH
    }
    axes.axhline(0.0, color=plots.PALETTE[6], linewidth=0.8, linestyle=":")
    for way, (colour, marker) in _STYLES.items():
        behind: dict[float, list[float]] = {}
        for each in finished:
            key = each.trial.settings["share"], each.trial.repetition
            if each.trial.method == way and key in truth:
                score = each.result[who]["log_score"] - truth[key]
                behind.setdefault(each.trial.settings[against], []).append(score)
        if behind:
            x = sorted(behind)
            means = [Mean.of(behind[at]) for at in x]
            bars = np.nan_to_num([each.se for each in means])
            y = [each.mean for each in means]
            axes.errorbar(x, y, bars, label=way, color=colour, marker=marker, markersize=5, capsize=3, linewidth=1.6)


def _scores(finished: Sequence[FinishedTrial], who: str, measure: str) -> Scores:
    return {
        method: {each.trial.repetition: each.result[who][measure] for each in group}
        for method, group in grouped(finished, lambda each: each.trial.method).items()
    }


def _compared(scores: Scores, methods: Sequence[str]) -> list[str]:
    """The mean of each method, and how far related is ahead of the other two."""
    means = [str(Mean.of(list(scores[each].values()))) if each in scores else "" for each in methods]
    ours = scores.get(RELATED, {})
    pairs = [
        [ours[at] - theirs for at, theirs in scores.get(each, {}).items() if at in ours]
        for each in (TOGETHER, SEPARATE)
    ]
    return means + [_signed(each) for each in pairs]


def _signed(differences: Sequence[float]) -> str:
    if not differences:
        return ""
    found = Mean.of(differences)
    return f"{'+' if found.mean >= 0 else ''}{found}"


def _count(finished: Sequence[FinishedTrial]) -> int:
    return len({each.trial.repetition for each in finished})
