"""How many hidden objectives: forward selection of the latent dimension by leave-one-out predictive accuracy.

Models with 1, 2, ... latent dimensions are fitted and compared choice by choice, from 0 on where some objectives are known:
these may explain all. The answer is the smallest dimension
that no larger one beats by more than one standard error of the paired difference: a tie goes to the smaller one, and a
dimension that the choices refute is never taken.
"""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, counted
from choicebo.frames import to_frame
from choicebo.model.covariance import Hyperparameters, HyperPrior
from choicebo.model.engines.base import ProgressCallback, Reporter
from choicebo.model.gp import ChoiceGP
from choicebo.model.loo import Loo, summed
from choicebo.model.posterior import Posterior
from choicebo.notebook_html import table
from choicebo.space.values import as_executor, as_generator

Array = NDArray[np.float64]

FIRST_DIM = 2
"""Assumed while there are too few answers to tell."""
FIRST_CHECK = 8
"""Answers before the dimension is first checked."""
FEW_ANSWERS = 12
"""Below this many answers no more than two latent dimensions are considered."""
MIN_CHOICES = 4
"""Fewer choices say nothing about the dimension."""
_GROWTH = 1.5


@dataclasses.dataclass(frozen=True)
class DimensionRow:
    """One latent dimension that was tried."""

    latent_dim: int
    elpd: float
    """Leave-one-out score: expected log pointwise predictive density."""
    se: float
    difference: float
    """Its score minus that of the best dimension found."""
    difference_se: float
    """Standard error of the paired difference."""
    worst_khat: float
    refits: int
    """Choices whose score comes from a fit without them."""
    unreliable: int
    """Choices whose score is not to be trusted: their k-hat is too large, and they were not refitted."""
    seconds: float


@dataclasses.dataclass(frozen=True, eq=False)
class DimensionSelection:
    """The result of `select_latent_dim`."""

    best: int
    table: tuple[DimensionRow, ...]
    posterior: Posterior
    """The fit with the best dimension."""
    posteriors: dict[int, Posterior] = dataclasses.field(repr=False)
    """All fits, by dimension."""
    scores: dict[int, Loo] = dataclasses.field(repr=False)
    """Their leave-one-out scores."""

    def __str__(self) -> str:
        lines = ["n_e     elpd      se  difference      se  worst k-hat  refits  unreliable  seconds"]
        for row in self.table:
            lines.append(
                f"{row.latent_dim:>3}{'*' if row.latent_dim == self.best else ' '}{row.elpd:>9.1f}{row.se:>8.1f}"
                f"{row.difference:>12.1f}{row.difference_se:>8.1f}{row.worst_khat:>13.2f}{row.refits:>8}{row.unreliable:>12}{row.seconds:>9.1f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        names = [field.name for field in dataclasses.fields(DimensionRow)]
        rows = [[getattr(row, name) for name in names] for row in self.table]
        best = [row.latent_dim == self.best for row in self.table]
        headings = ["hidden objectives", *(name.replace("_", " ") for name in names[1:])]
        said = f"{counted(self.best, 'hidden objective')} {'predicts' if self.best == 1 else 'predict'} left-out choices best"
        return table(said, headings, rows, marked=best)

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a data frame, a row for each number of hidden objectives that was tried.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Raises:
            MissingExtraError: Neither is installed.
        """
        names = [field.name for field in dataclasses.fields(DimensionRow)]
        return to_frame({name: [getattr(row, name) for row in self.table] for name in names}, library)


def select_latent_dim(
    data: ChoiceData,
    max_dim: int = 4,
    seed: int = 0,
    *,
    model: ChoiceGP = ChoiceGP(),
    refit_limit: int = 10,
    stop_early: bool = True,
    progress: ProgressCallback | None = None,
    executor: Executor | None = None,
) -> DimensionSelection:
    """Find the number of hidden objectives that predicts left-out choices best, with no more of them than the choices show.

    Dimensions 1, 2, ... (0, 1, ... where the model has known objectives) are fitted, each from the hyperparameters of the
    one before, until one no longer improves the score or
    ``max_dim`` is reached.

    Args:
        data: The options and the choices among them.
        max_dim: The largest number to try.
        seed: A whole number from which everything random follows.
        model: All other settings.
        refit_limit: For each dimension, how many choices with a poor k-hat may be refitted.
        stop_early: Whether to stop where the score no longer improves.
        progress: Called as ``progress(stage, fraction)``; returning ``False`` stops.
        executor: Any ``concurrent.futures.Executor``, which fits and refits with the same result.

    Returns:
        ``best``, a ``table`` with a row for each number tried, and the ``posterior`` at the best.

    Raises:
        InvalidInputError: There are too few answers, or a setting cannot be used.
        FitInterruptedError: ``progress`` returned ``False``.

    Examples:
        >>> selection = cb.select_latent_dim(data, max_dim=2, model=cb.ChoiceGP(engine="laplace"), refit_limit=0)
        >>> [row.latent_dim for row in selection.table]
        [1, 2]
    """
    as_generator(seed)
    as_executor(executor)
    _check(data, max_dim, model)
    report = Reporter(progress)
    posteriors: dict[int, Posterior] = {}
    scores: dict[int, Loo] = {}
    seconds: dict[int, float] = {}
    ahead: Future[Posterior] | None = None
    least = least_dim(model)
    for n_e in range(least, max_dim + 1):
        part = report.part(max(n_e - 1, 0) / max_dim, n_e / max_dim)
        began = time.perf_counter()
        start = None if n_e == least else _one_more(posteriors[n_e - 1].start, model.prior)
        known = None
        if executor is not None:
            known = _fit_by(executor, data, n_e, seed, model, start).result() if ahead is None else ahead.result()
            if n_e < max_dim:  # while this one is scored
                ahead = _fit_by(executor, data, n_e + 1, seed, model, _one_more(known.start, model.prior))
        posteriors[n_e], scores[n_e] = _scored(data, n_e, seed, model, refit_limit, part, start, known, executor)
        seconds[n_e] = time.perf_counter() - began
        if stop_early and no_longer_improves(scores):
            if ahead is not None:
                ahead.cancel()
            break
    best = smallest_unrefuted(scores)
    return DimensionSelection(best, _table(scores, seconds), posteriors[best], posteriors, scores)


def paired_difference(larger: Array, smaller: Array, weights: Array | None = None) -> tuple[float, float]:
    """The sum of the differences between two models' pointwise scores, and its standard error.

    Examples:
        >>> paired_difference(np.array([-1.0, -2.0]), np.array([-2.0, -5.0]))
        (4.0, 2.0)
    """
    return summed(larger - smaller, weights)


def no_longer_improves(scores: dict[int, Loo]) -> bool:
    """Whether the largest dimension so far scores clearly worse than a smaller one, or is the second without a gain."""
    last, leader = max(scores), max(scores, key=lambda n: scores[n].elpd)
    return _clearly_better(scores[leader], scores[last]) or last - leader >= 2


def smallest_unrefuted(scores: dict[int, Loo]) -> int:
    """The smallest dimension that no larger one beats by more than one standard error."""
    dimensions = sorted(scores)
    return next(
        n for n in dimensions if not any(_clearly_better(scores[more], scores[n]) for more in dimensions if more > n)
    )


@dataclasses.dataclass(frozen=True, eq=False)
class DimensionDecision:
    """What `revise` found."""

    latent_dim: int
    reason: str
    """One plain sentence, also when nothing changed."""
    changed: bool
    posterior: Posterior | None
    """The fit at ``latent_dim``; ``None`` where there were too few answers for one."""


def due(n_answers: int, last_check: int = 0) -> bool:
    """Whether another look at the dimension is worth its cost: after 8 answers, then after half as many again.

    ``last_check`` is the number of answers at the latest call of `revise`, 0 if there was none.

    Examples:
        >>> [n for n in range(30) if due(n, 12)][:2]
        [18, 19]
    """
    return n_answers >= FIRST_CHECK and n_answers >= _GROWTH * last_check


def revise(
    data: ChoiceData,
    current: int,
    *,
    model: ChoiceGP = ChoiceGP(),
    posterior: Posterior | None = None,
    max_dim: int = 4,
    refit_limit: int = 5,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> DimensionDecision:
    """Whether to go on with ``current`` latent dimensions, one more or one fewer; at most one step at a time.

    One more must score better by over one standard error of the paired difference; one fewer at least as well. Between the two
    nothing changes, so that the dimension does not swing. ``posterior`` is the fit at ``current`` if there is one already.
    Every fit starts cold: the decision depends on the arguments alone.
    """
    allowed = min(max_dim, 2) if data.n_choices < FEW_ANSWERS else max_dim
    problem = _too_little(data)
    if problem:
        return DimensionDecision(
            current, f"Not enough answers yet to count your hidden objectives: {problem}.", False, None
        )
    report = Reporter(progress)
    fits: dict[int, Posterior] = {}
    scores: dict[int, Loo] = {}

    def score(n_e: int, part: Reporter) -> Loo:
        known = posterior if n_e == current else None
        fits[n_e], scores[n_e] = _scored(data, n_e, seed, model, refit_limit, part, None, known)
        return scores[n_e]

    here = score(current, report.part(0.0, 0.3))
    if current < allowed and _clearly_better(score(current + 1, report.part(0.3, 0.7)), here):
        chosen = current + 1
    elif current > least_dim(model) and score(current - 1, report.part(0.7, 1.0)).elpd >= here.elpd:
        chosen = current - 1
    else:
        chosen = current
    reason = _reason(chosen, current, scores, names_of_known(model))
    return DimensionDecision(chosen, reason, chosen != current, fits[chosen])


def least_dim(model: ChoiceGP) -> int:
    """The fewest hidden objectives that are considered: known ones may explain all choices."""
    return 1 if model.known is None else 0


def names_of_known(model: ChoiceGP) -> str:
    """The known objectives as a sentence names them.

    Examples:
        >>> names_of_known(ChoiceGP(known=lambda points: points[:, 0]))
        'what is known'
    """
    names = [str(name) for name in getattr(model.known, "names", ())]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "what is known"


def _scored(
    data: ChoiceData,
    n_e: int,
    seed: int,
    model: ChoiceGP,
    refit_limit: int,
    report: Reporter,
    start: Hyperparameters | None,
    known: Posterior | None = None,
    executor: Executor | None = None,
) -> tuple[Posterior, Loo]:
    # Dimensions that do not suit the choices sample poorly; what is returned carries its own diagnostics.
    posterior = known or dataclasses.replace(model, latent_dim=n_e).fit_silently(
        data, seed, progress=_named(report.part(0.0, 0.7), n_e), start=start
    )
    scored = _named(report.part(0.7, 1.0), n_e)
    return posterior, posterior.loo(refit_limit, seed=seed, progress=scored, executor=executor)


def _fit_by(
    executor: Executor, data: ChoiceData, n_e: int, seed: int, model: ChoiceGP, start: Hyperparameters | None
) -> Future[Posterior]:
    sized = dataclasses.replace(model, latent_dim=n_e)
    return executor.submit(sized.fit_silently, data, seed, start=start)


def _named(report: Reporter, n_e: int) -> ProgressCallback:
    def callback(stage: str, fraction: float) -> None:
        report(f"{count(n_e)}: {stage}", fraction)

    return callback


def count(n_e: int) -> str:
    """The number of objectives in words.

    Examples:
        >>> count(1), count(3)
        ('1 hidden objective', '3 hidden objectives')
    """
    return f"{n_e} hidden objective{'s' if n_e != 1 else ''}"


def _one_more(hyper: Hyperparameters, prior: HyperPrior) -> Hyperparameters:
    """The hyperparameters of a smaller model, and the prior's centre for one more dimension."""
    n_e, dim = hyper.log_lengthscale.shape
    centre = prior.centre(dim, n_e + 1, len(hyper.known), len(hyper.personal) > 0, len(hyper.measured))
    larger = [np.array(part) for part in centre]
    for all_of_it, known in zip(larger, hyper, strict=True):
        all_of_it[tuple(slice(length) for length in np.shape(known))] = known
    return Hyperparameters(*larger)


def _clearly_better(one: Loo, other: Loo) -> bool:
    difference, se = paired_difference(one.pointwise, other.pointwise, one.weights)
    return difference > se


def _table(scores: dict[int, Loo], seconds: dict[int, float]) -> tuple[DimensionRow, ...]:
    leader = max(scores.values(), key=lambda score: score.elpd)
    rows = []
    for n_e, score in scores.items():
        difference, se = paired_difference(score.pointwise, leader.pointwise, score.weights)
        worst = float(score.khat.max())
        counts = len(score.refitted), len(score.unreliable)
        rows.append(DimensionRow(n_e, score.elpd, score.se, difference, se, worst, *counts, seconds[n_e]))
    return tuple(rows)


def _reason(chosen: int, current: int, scores: dict[int, Loo], known: str) -> str:
    def against(a: int, b: int) -> str:
        difference, se = paired_difference(scores[a].pointwise, scores[b].pointwise, scores[a].weights)
        return f"leave-one-out score {scores[a].elpd:.1f} against {scores[b].elpd:.1f}, difference {difference:.1f} ± {se:.1f}"

    if chosen == 0:
        one = " and " not in known
        opening = f"{known[0].upper()}{known[1:]} {'explains' if one else 'explain'} all of your choices"
        other = max(scores)
        return f"{opening} ({against(0, other)})." if other else f"{opening}."
    if chosen > current:
        return f"Your answers are explained better by {count(chosen)} than by {current} ({against(chosen, current)})."
    if chosen < current:
        return f"Your answers are explained as well by {count(chosen)} as by {current} ({against(chosen, current)})."
    others = " or ".join(str(n) for n in sorted(scores) if n != current)
    if not others:
        return f"{count(current).capitalize()} is the most that so few answers can show."
    return f"Your answers still speak for {count(current)} rather than {others}."


def _check(data: ChoiceData, max_dim: int, model: ChoiceGP) -> None:
    if not isinstance(data, ChoiceData):
        raise InvalidInputError(f"select_latent_dim takes a ChoiceData, got {type(data).__name__}.")
    if not isinstance(model, ChoiceGP):
        raise InvalidInputError(f"model must be a ChoiceGP, got {as_given(model)}.")
    if isinstance(max_dim, bool) or not isinstance(max_dim, int | np.integer) or max_dim < 1:
        raise InvalidInputError(f"max_dim must be a whole number of at least 1, got {as_given(max_dim)}.")
    problem = _too_little(data)
    if problem:
        raise InvalidInputError(f"Not enough answers yet to tell the number of hidden objectives: {problem}.")


def _too_little(data: ChoiceData) -> str:
    """Why the choices say nothing about the dimension; empty if they do."""
    if data.n_choices < MIN_CHOICES:
        return f"{data.n_choices} given, at least {MIN_CHOICES} are needed"
    if not any(choice.rejected for choice in data.choices):
        return "every answer keeps all options, and only a rejection shows what matters"
    return ""
