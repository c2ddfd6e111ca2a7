"""The accuracy experiments as grids of trials: what to run, and how one is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from choicebo.errors import InvalidInputError
from choicebo.experiments import accuracy, baselines
from choicebo.experiments.accuracy import Result, Split
from choicebo.experiments.datasets import RealData, Scale, min_max, rank_scaled
from choicebo.experiments.toy_figures import PANELS, learned_on_toy
from choicebo.experiments.trials import Trial

TOY, REAL = "toy", "real"
CHOICE_GP, ORACLE_GP, EMBEDDING, PICTURE = "choice-gp", "oracle-gp", "pareto-embedding", "picture"
INDEPENDENT, ORDERS = "independent-latents", "orders"
SIZES = (100, 300)
SCALES: dict[str, Scale] = {"min-max": min_max, "rank": rank_scaled}
"""Ways to bring the inputs of a real data set into the unit cube."""
LEARNERS: dict[str, Callable[[Split], Result]] = {
    CHOICE_GP: accuracy.choice_gp,
    EMBEDDING: accuracy.pareto_embedding,
    INDEPENDENT: accuracy.independent_latents,
}


def methods() -> tuple[str, ...]:
    """What is compared; the network only where torch is installed."""
    return (ORACLE_GP, CHOICE_GP, EMBEDDING) if baselines.installed() else (ORACLE_GP, CHOICE_GP)


def toy_trials(seeds: Sequence[int]) -> list[Trial]:
    """The grid of the toy experiment; repetitions are numbered by the seed of their data."""
    fits = [
        Trial(TOY, TOY, method, seed, settings) for method in methods() for settings in _sizes(method) for seed in seeds
    ]
    shapes = [{"n_choices": n, "set_size": size} for n, size in PANELS]
    return fits + [Trial(TOY, PICTURE, CHOICE_GP, seeds[0], shape) for shape in shapes]


def real_trials(names: Sequence[str], scaling: str, seeds: Sequence[int], more: bool) -> list[Trial]:
    """The grid of the experiment on real data sets; repetitions are folds, of one division of the rows for each seed.

    ``more`` adds what explains our figures: independent latent functions, and what orders instead of choices would give.
    """
    if scaling not in SCALES:
        raise InvalidInputError(f"No scaling is called {scaling!r}; choose one of {', '.join(SCALES)}.")
    return [
        Trial(REAL, name, method, fold, {"scaling": scaling, "seed": seed, **settings})
        for seed in seeds
        for name in names
        for method in (*methods(), *((INDEPENDENT, ORDERS) if more else ()))
        for settings in _sizes(method)
        for fold in range(accuracy.N_FOLDS)
    ]


def _sizes(method: str) -> list[dict[str, int]]:
    return [{}] if method == ORACLE_GP else [{"n_choices": n} for n in SIZES]


def run_toy_trial(trial: Trial) -> Result:
    """One fit on the toy function, or one panel of its figure."""
    seed, settings = trial.repetition, trial.settings
    if trial.task == PICTURE:
        return learned_on_toy(settings["n_choices"], settings["set_size"], seed)
    if trial.method == ORACLE_GP:
        return accuracy.toy_ceiling(seed)
    return LEARNERS[trial.method](accuracy.toy_split(settings["n_choices"], seed))


def run_real_trial(trial: Trial, sets: Mapping[str, RealData]) -> Result:
    """One fit on one fold of a real data set."""
    fold, settings, data = trial.repetition, trial.settings, sets[trial.task]
    seed, scale = settings["seed"], SCALES[settings["scaling"]]
    if trial.method == ORACLE_GP:
        return accuracy.real_ceiling(data, fold, seed, scale)
    if trial.method == ORDERS:
        return accuracy.real_orders(data, settings["n_choices"], fold, seed, scale)
    return LEARNERS[trial.method](accuracy.real_split(data, settings["n_choices"], fold, seed, scale))
