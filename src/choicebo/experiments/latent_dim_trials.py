"""The paper's experiment on the number of latent dimensions: is it found, and how well do the models predict?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from choicebo.experiments.accuracy import share_equal, toy_ceiling
from choicebo.experiments.problems import toy_1d, toy_2d
from choicebo.experiments.toy import toy_dataset
from choicebo.experiments.trials import Trial
from choicebo.model.dimension import no_longer_improves, select_latent_dim, smallest_unrefuted
from choicebo.model.posterior import PREDICTION_RULES

EXPERIMENT = "dimension"
MAX_DIM = 4
TEST_SETS = 300
FUNCTIONS = {"cos": toy_1d, "cos-sin": toy_2d}
"""``g = cos 2x`` and ``g = [cos 2x, -sin 2x]``."""
_METHOD = "psis-loo"
CEILING = "ceiling"
"""The method of trials that say what predictors reach that see the objectives."""


@dataclass(frozen=True)
class Protocol:
    """Which data sets, how large, how often."""

    sizes: tuple[tuple[str, int], ...]
    """Function and number of choices."""
    repetitions: int


FULL = Protocol((("cos", 30), ("cos-sin", 30), ("cos-sin", 50), ("cos", 300), ("cos-sin", 300)), 10)
QUICK = Protocol((("cos", 30), ("cos-sin", 30), ("cos-sin", 50)), 3)


def trials(protocol: Protocol, seed: int = 0) -> list[Trial]:
    """The grid of the experiment; a repetition is the seed of its data and fits."""
    repetitions = range(seed, seed + protocol.repetitions)
    ceilings = [
        Trial(EXPERIMENT, task, CEILING, repetition)
        for task in dict.fromkeys(task for task, _ in protocol.sizes)
        for repetition in repetitions
    ]
    return ceilings + [
        Trial(EXPERIMENT, task, _METHOD, repetition, {"n_choices": n_choices})
        for task, n_choices in protocol.sizes
        for repetition in repetitions
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """All dimensions from 1 to 4 on one data set: scores, test accuracies, and what is selected with and without the rest.

    Or the accuracies of those that see the objectives; their test sets depend on task and repetition alone.
    """
    if trial.method == CEILING:
        found = toy_ceiling(trial.repetition, TEST_SETS, FUNCTIONS[trial.task])
        return {key: found[key] for key in ("oracle", "exact")}
    return measure(trial.task, trial.settings["n_choices"], trial.repetition)


def measure(task: str, n_choices: int, seed: int, max_dim: int = MAX_DIM) -> dict[str, Any]:
    """What :func:`run_trial` returns, as JSON values."""
    data = toy_dataset(n_choices, functions=FUNCTIONS[task], n_test=TEST_SETS, seed=seed)
    selection = select_latent_dim(data.train, max_dim=max_dim, seed=seed, stop_early=False)
    accuracy = {
        str(latent_dim): {
            rule: share_equal(posterior.predict_choices(data.test_sets, rule=rule, seed=seed), data.test_kept)
            for rule in PREDICTION_RULES
        }
        for latent_dim, posterior in selection.posteriors.items()
    }
    stop = next((n for n in selection.scores if no_longer_improves(_upto(selection.scores, n))), max_dim)
    return {
        "rows": [asdict(row) for row in selection.table],
        "accuracy": accuracy,
        "best": smallest_unrefuted(_upto(selection.scores, stop)),
        "stopped_at": stop,
        "best_of_all": selection.best,
        "largest_score": max(selection.scores, key=lambda n: selection.scores[n].elpd),
    }


def _upto(scores: dict[int, Any], last: int) -> dict[int, Any]:
    return {n: score for n, score in scores.items() if n <= last}
