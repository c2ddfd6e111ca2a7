"""The accuracy experiments as sections of a report, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from choicebo.experiments import paper
from choicebo.experiments.accuracy_trials import CHOICE_GP, ORACLE_GP, PICTURE
from choicebo.experiments.datasets import RealData
from choicebo.experiments.document import Block, Picture, Section
from choicebo.experiments.report_tables import Mean, grouped, new_table
from choicebo.experiments.toy_figures import toy_panels
from choicebo.experiments.trials import FinishedTrial
from choicebo.model.posterior import PREDICTION_RULES


def toy_section(finished: Sequence[FinishedTrial]) -> Section:
    """Accuracy on the toy function, and what was learned."""
    pictures = {
        (each.trial.settings["n_choices"], each.trial.settings["set_size"]): each.result
        for each in finished
        if each.trial.task == PICTURE
    }
    blocks: list[Block] = [
        "A simulated person keeps, of three inputs in [-4.5, 4.5], those that no other beats in both objectives, which "
        "carry noise of standard deviation 0.1. The model learns from their choices and predicts those in 300 unseen sets.",
        table("Toy function, g = [cos 2x, -sin 2x]", finished, "seed"),
    ]
    if pictures:
        caption = "Latent functions learned from N choices without noise in sets of |A|: mean and 95 % band."
        blocks.append(Picture("toy", toy_panels(pictures), caption))
    return Section("Toy function", blocks)


def real_section(finished: Sequence[FinishedTrial], sets: Sequence[RealData], scaling: str) -> Section:
    """Accuracy on the real data sets, and which columns were used."""
    return Section(
        "Real data sets",
        [
            "Five-fold cross-validation, with one or several divisions of the rows: the model learns from "
            "choices among three rows of the training part and predicts 200 sets of the held-out part. The "
            "outputs act as hidden objectives. The paper does "
            "not state columns and signs; those below follow from its counts and from re-running its Oracle-GP.",
            table(f"Real data sets, inputs scaled by {scaling}", finished, "fold"),
            columns_table(sets),
        ],
    )


def table(title: str, finished: Sequence[FinishedTrial], repeated: str) -> Table:
    """One row per task and number of choices; ``repeated`` names what was repeated (``"seed"``, ``"fold"``)."""
    mean_of = Mean.of_folds if repeated == "fold" else Mean.of
    fits = [each for each in finished if each.trial.task != PICTURE]
    scores = [each.result for each in fits if each.trial.method == CHOICE_GP]
    ceilings = [each.result for each in fits if each.trial.method == ORACLE_GP]
    peers = [each.result for each in fits if each.trial.method not in (CHOICE_GP, ORACLE_GP)]
    overlapping = ", which learn from overlapping data, as the standard error counts" if repeated == "fold" else ""
    caption = (
        "Share of unseen sets whose choice is predicted exactly; mean ± standard error over "
        f"{repeated}s{overlapping}. pareto is the default rule; network: a Pareto embedding that learns from the same choices."
    )
    if {"independent", "orders"} & {peer["model"] for peer in peers}:
        caption += (
            " independent: our model with independent latent functions, as in the paper. orders: one model per "
            "output that learns from the order of that output within each set, which says far more than a choice."
        )
    headings = ("task", "choices", "paper", *PREDICTION_RULES, f"lowest {repeated}", "s/fit", "warned")
    shown = new_table(title, headings, caption=caption)
    for column in shown.columns[1:]:
        column.no_wrap = column.header != f"lowest {repeated}"
    for (task, n_choices), group in grouped(scores, lambda each: (each["task"], each["n_choices"])).items():
        shown.add_row(
            task,
            str(n_choices),
            _two_digits(paper.ACCURACY.get(task, {}).get(n_choices)),
            *(str(mean_of([each["accuracy"][rule] for each in group])) for rule in PREDICTION_RULES),
            f"{min(each['accuracy'][PREDICTION_RULES[0]] for each in group):.3f}",
            f"{median(each['seconds'] for each in group):.2f}",
            f"{sum(bool(each['problems']) for each in group)}/{len(group)}",
        )
    shown.add_section()
    for (task, n_choices, model), group in grouped(peers, lambda p: (p["task"], p["n_choices"], p["model"])).items():
        reached = [each["accuracy"] for each in group]
        mean = str(mean_of(reached))
        # Our model in another form predicts by the default rule, the others by what they take for the values.
        by_rule = (mean, "", "") if model == "independent" else ("", "", mean)
        shown.add_row(task, f"{n_choices}, {model}", "", *by_rule, f"{min(reached):.3f}", "", "")
    for task, group in grouped(ceilings, lambda each: each["task"]).items():
        known = _two_digits(paper.ORACLE.get(task))
        for name, papers, key in (("Oracle-GP", known, "oracle"), ("g, no noise", "", "exact")):
            reached = [each[key] for each in group if each[key] is not None]
            if reached:
                shown.add_row(task, name, papers, "", "", str(mean_of(reached)), f"{min(reached):.3f}", "", "")
    return shown


def columns_table(sets: Sequence[RealData]) -> Table:
    """Which columns of the data sets were used, and which outputs are better when larger."""
    headings = ("data set", "rows", "inputs", "outputs (+ larger is better, - smaller)")
    shown = new_table("Columns used", headings, words=4)
    for data in sets:
        signed = zip(data.signs, data.output_names, strict=True)
        outputs = [f"{'+' if sign > 0 else '-'} {name}" for sign, name in signed]
        shown.add_row(data.name, str(len(data.inputs)), ", ".join(data.input_names), "\n".join(outputs))
    return shown


def _two_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
