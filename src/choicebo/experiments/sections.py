"""The sections of the report, one for each experiment, made from stored results alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from rich.table import Table

from choicebo.experiments import accuracy_report, optimisation_report
from choicebo.experiments.accuracy_trials import Found, found
from choicebo.experiments.datasets import RealData
from choicebo.experiments.document import Block, Picture, Section
from choicebo.experiments.optimisation_trials import INITIAL_OPTIONS, INITIAL_SETS, QUERY_SIZE
from choicebo.experiments.progress import in_words
from choicebo.experiments.toy_figures import toy_panels
from choicebo.experiments.trials import FinishedTrial, Trial

TOY_TITLE = "Toy function, g = [cos 2x, -sin 2x]"


def toy_section(finished: Sequence[FinishedTrial]) -> Section:
    """Accuracy on the toy function, and what was learned."""
    results = found(finished)
    blocks: list[Block] = [
        "A simulated person keeps, of three inputs in [-4.5, 4.5], those that no other beats in both objectives, which "
        "carry noise of standard deviation 0.1. The model learns from their choices and predicts those in 300 unseen sets.",
        toy_table(results),
    ]
    if results.pictures:
        caption = "Latent functions learned from N choices without noise in sets of |A|: mean and 95 % band."
        blocks.append(Picture("toy", toy_panels(results.pictures), caption))
    return Section("Toy function", blocks)


def toy_table(results: Found) -> Table:
    """The accuracy on the toy function beside the paper's."""
    return accuracy_report.table(TOY_TITLE, results.scores, results.ceilings, "seed", results.peers)


def real_section(finished: Sequence[FinishedTrial], sets: Sequence[RealData], scaling: str) -> Section:
    """Accuracy on the real data sets, and which columns were used."""
    return Section(
        "Real data sets",
        [
            "Five-fold cross-validation, of one division of the rows or of several: choices among three rows of the training "
            "part, 200 sets of the held-out part to predict. The outputs play the hidden objectives. The paper does "
            "not state columns and signs; those below follow from its counts and from re-running its Oracle-GP.",
            real_table(found(finished), scaling),
            accuracy_report.columns_table(sets),
        ],
    )


def real_table(results: Found, scaling: str) -> Table:
    """The accuracy on the real data sets beside the paper's."""
    title = f"Real data sets, inputs scaled by {scaling}"
    return accuracy_report.table(title, results.scores, results.ceilings, "fold", results.peers)


def optimisation_section(finished: Sequence[FinishedTrial]) -> Section:
    """How fast the methods approach the true Pareto front."""
    measures = (optimisation_report.PER_ITERATION, optimisation_report.PER_OPTION)
    duels = [optimisation_report.duel_table(finished, measure) for measure in measures]
    return Section(
        "Bayesian optimisation",
        [
            f"Every method starts from the same {INITIAL_OPTIONS} random options of a repetition. Methods that see only "
            f"choices are given the choices in {INITIAL_SETS} random sets of {QUERY_SIZE} of them and then ask about sets "
            f"of {QUERY_SIZE}; oracles see the objectives' values. The difference is that between the hypervolume of the "
            "true Pareto front and that of all options queried.",
            optimisation_report.final_table(finished),
            *(duel for duel in duels if duel is not None),
            Picture(
                "bo",
                optimisation_report.figure(finished),
                "log10 hypervolume difference against iterations: mean and standard error over repetitions.",
            ),
            Picture(
                "bo-per-option",
                optimisation_report.figure(finished, optimisation_report.PER_OPTION),
                "The same against the number of new options evaluated.",
            ),
            optimisation_report.time_table(finished),
        ],
    )


def settings_section(
    settings: dict[str, Any],
    provenance: dict[str, Any],
    grids: dict[str, tuple[Sequence[Trial], Sequence[FinishedTrial]]],
) -> Section:
    """With what, where and when: the last section of every report."""
    facts = Table(title="Settings and versions", title_justify="left")
    facts.add_column("what")
    facts.add_column("value")
    machine = provenance["machine"]
    rows = {
        "date": provenance["date"],
        "machine": f"{machine['system']} {machine['processor']}, {machine['cores']} cores",
        **{key: str(value) for key, value in settings.items()},
        **{key: str(value) for key, value in provenance["versions"].items()},
    }
    for key, value in rows.items():
        facts.add_row(key, value.replace("[", "\\["))
    steps = Table(title="Time per step", title_justify="left")
    for heading in ("experiment", "method"):
        steps.add_column(heading)
    for heading in ("trials finished", "median time of a trial", "all together"):
        steps.add_column(heading, justify="right")
    for experiment, (grid, finished) in grids.items():
        for method in dict.fromkeys(trial.method for trial in grid):
            wanted = sum(trial.method == method for trial in grid)
            seconds = [done.seconds for done in finished if done.trial.method == method]
            if seconds:
                steps.add_row(
                    experiment,
                    method,
                    f"{len(seconds)} of {wanted}",
                    f"{median(seconds):.1f} s",
                    in_words(sum(seconds)),
                )
    return Section("How it was made", [facts, steps])
