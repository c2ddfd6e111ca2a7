"""Whether to go on asking: what another answer may still change, and what may still be found.

Two different things can make a further question worthwhile. The answer may change which of the options seen so far look
Pareto-optimal; and options not seen yet may reach further. The first is computed by going through every possible answer to
a next question and weighting the draws by it, the second as the hypervolume in the latent space, draw by draw, that the
present Pareto set still lacks.

A single look is restless: one answer can make it look settled, and the next can unsettle it. So the advice is the mean of the
looks after the last three answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from choicebo import pareto
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, percent
from choicebo.insight.held_out import require_posterior
from choicebo.model.choice_table import choice_table
from choicebo.model.likelihood import is_number
from choicebo.model.posterior import Posterior, numeric

Array = NDArray[np.float64]

MIN_ANSWERS = 8
"""With fewer answers there is nothing to stop."""
STABLE = 0.9
"""Stop only if the set stays with at least this probability, ..."""
LITTLE_LEFT = 0.05
"""... and if at most this share of the reachable hypervolume is still missing."""
LOOKS = 3
"""The advice averages so many checks: after the last answer and after those before it."""
_QUESTION_SIZE = 5
_MAX_CANDIDATES = 256
FLICKER = 0.02
"""How much an option's probability changes merely because the model is fitted again. ``choicebo reproduce stopping``
compares several values with what happens in simulated studies: with this one, sets stay about as often as predicted."""


@dataclasses.dataclass(frozen=True)
class StopAdvice:
    """Go on, or stop, and why."""

    stop: bool
    stability: float
    """Probability that one more answer leaves the Pareto set of the options seen so far as it is; the mean of the last checks."""
    remaining: float
    """Expected share of the reachable latent hypervolume that the Pareto set lacks; the mean of the last checks."""
    pareto_set: tuple[int, ...]
    """Rows of ``posterior.answered`` that now look Pareto-optimal."""
    answers: int
    sentence: str
    looks: int = 1
    """How many checks it averages."""


def stop_advice(
    posterior: Posterior,
    candidates: ArrayLike,
    *,
    question: ArrayLike | None = None,
    before: Sequence[Posterior] = (),
    answers: int | None = None,
    threshold: float = 0.5,
    draws: int = 400,
    seed: int = 0,
) -> StopAdvice:
    """Decide whether another question is worth asking.

    Args:
        posterior: What was learned.
        candidates: Options that could still be offered, (n, d), such as a sample of the space; the first 256 are used.
        question: The options of the next question, (k, d), if it is known. None: the most promising candidate beside the
            Pareto-optimal options that it endangers.
        before: Posteriors without the last answer and without the last two: with them the advice does not change its mind from
            one answer to the next.
        answers: How many answers there are, if that is not the number of choices: a ranking is read as several.
        threshold: From which probability on an option counts as Pareto-optimal.
        draws: How many draws to look at.
        seed: The same seed gives the same advice.

    Returns:
        The advice: ``stop``, a ``sentence``, and the two figures that it rests on, ``stability`` and ``remaining``.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo.insight import stop_advice
        >>> advice = stop_advice(posterior, space.sobol(32))
        >>> 0 <= advice.stability <= 1, 0 <= advice.remaining <= 1
        (True, True)
    """
    require_posterior(posterior)
    if not is_number(threshold):
        raise InvalidInputError(f"threshold is {as_given(threshold)}; give a probability from 0 to 1.")
    seen = foresee(posterior, candidates, question=question, threshold=threshold, draws=draws, seed=seed)
    looks = [(stay_probability(seen.shown, seen.optimal, seen.members, threshold), seen.remaining)]
    for earlier in before:
        # What was asked next is known by now.
        asked = posterior.data.X[list(posterior.data.choices[earlier.data.n_choices].shown)]
        look = foresee(earlier, candidates, question=asked, threshold=threshold, draws=draws, seed=seed)
        looks.append((stay_probability(look.shown, look.optimal, look.members, threshold), look.remaining))
    answers = posterior.data.n_choices if answers is None else answers
    stability, remaining = (float(np.mean(part)) for part in zip(*looks, strict=True))
    stop = enough(answers, stability, remaining)
    return StopAdvice(
        stop=stop,
        stability=stability,
        remaining=remaining,
        pareto_set=tuple(int(i) for i in seen.members),
        answers=answers,
        sentence=_sentence(stop, stability, remaining, len(seen.members), answers),
        looks=len(looks),
    )


def enough(answers: int, stability: float, remaining: float) -> bool:
    """The rule behind the advice."""
    return answers >= MIN_ANSWERS and stability >= STABLE and remaining <= LITTLE_LEFT


class Foresight(NamedTuple):
    """What the advice is based on."""

    shown: Array
    """(draws, k, n_e): the next question's latent values."""
    optimal: NDArray[np.bool_]
    """(draws, known): which of the options seen so far are Pareto-optimal in each draw."""
    members: NDArray[np.intp]
    """Those that now look Pareto-optimal."""
    remaining: float


def foresee(
    posterior: Posterior,
    candidates: ArrayLike,
    *,
    question: ArrayLike | None = None,
    threshold: float = 0.5,
    draws: int = 400,
    seed: int = 0,
) -> Foresight:
    """Draws of what the next question is about; the arguments are those of `stop_advice`."""
    unseen = _candidates(posterior, candidates)
    known = len(posterior.answered)
    asked = None if question is None else numeric(question, "question", "(k, d)")
    if asked is not None and (asked.ndim != 2 or asked.shape[1] != unseen.shape[1] or len(asked) < 2):
        raise InvalidInputError(f"question must have shape (k, {unseen.shape[1]}) with k >= 2, got {asked.shape}")
    points = np.concatenate([posterior.answered, unseen, *([] if asked is None else [asked])])
    latent = posterior.sample(points, draws=draws, seed=seed)
    optimal = np.stack([pareto.non_dominated(values[:known]) for values in latent])
    probability = optimal.mean(0)
    members = np.flatnonzero(probability >= min(threshold, probability.max()))
    with_candidates = latent[:, : known + len(unseen)]
    if asked is None:
        shown = proposed_question(with_candidates, known, members, probability)
    else:
        shown = np.arange(known + len(unseen), len(points))
    return Foresight(latent[:, shown], optimal, members, missing_share(with_candidates, members))


def stay_probability(
    shown: Array,
    optimal: NDArray[np.bool_],
    members: NDArray[np.intp],
    threshold: float = 0.5,
    flicker: float = FLICKER,
) -> float:
    """Probability that the answer to a question leaves the Pareto set as it is.

    ``shown: (draws, k, n_e)`` are the question's latent values, ``optimal: (draws, known)`` says which known options are
    Pareto-optimal in each draw. Each answer has its probability, and weights the draws by its likelihood.
    """
    table = choice_table(shown)
    table = table / table.sum(1, keepdims=True)
    after = (table.T @ optimal) / np.maximum(table.sum(0), 1e-300)[:, None]  # (answers, known)
    inside = np.isin(np.arange(optimal.shape[1]), members)
    # Where no option reaches the threshold the likeliest one stands for all.
    level = np.minimum(threshold, after.max(1, keepdims=True) - 1e-9)
    kept_place = ndtr(np.where(inside, after - level, level - after) / flicker)
    stays = kept_place.prod(1)
    return float(np.clip(table.mean(0) @ stays, 0.0, 1.0))


def missing_share(latent: Array, members: NDArray[np.intp]) -> float:
    """Mean over draws of the share of the hypervolume of all points that the members lack; ``latent: (draws, n, n_e)``."""
    missing = []
    for values in latent:
        worst = values.min(0)
        reachable = pareto.hypervolume(values[pareto.non_dominated(values)], worst)
        held = pareto.hypervolume(values[members], worst)
        missing.append(1.0 - held / reachable if reachable > 0.0 else 0.0)
    return float(np.mean(missing))


def proposed_question(
    latent: Array, known: int, members: NDArray[np.intp], probability: Array, size: int = _QUESTION_SIZE
) -> NDArray[np.intp]:
    """Rows of the candidate that sticks out furthest from the Pareto set on average, and of the options it endangers."""
    front, new = latent[:, members], latent[:, known:]
    # How much the nearest member would have to gain to cover the candidate (the additive epsilon indicator).
    ahead = np.stack([(new - front[:, [m]]).max(2) for m in range(len(members))]).min(0)
    best = known + int(np.maximum(ahead, 0.0).mean(0).argmax())
    endangered = (latent[:, [best]] >= front).all(2).mean(0)
    chosen = members[np.argsort(-endangered, kind="stable")][: size - 1]
    others = [i for i in np.argsort(-probability, kind="stable") if i not in chosen]
    filled = [*chosen, *others[: size - 1 - len(chosen)]]
    return np.array([best, *filled], dtype=np.intp)


def _candidates(posterior: Posterior, candidates: ArrayLike) -> Array:
    points = numeric(candidates, "candidates", "(n, d)")
    dim = posterior.options.shape[1]
    if points.ndim != 2 or points.shape[1] != dim or len(points) == 0:
        raise InvalidInputError(f"candidates must have shape (n, {dim}) with n >= 1, got {points.shape}.")
    return points[:_MAX_CANDIDATES]


def _sentence(stop: bool, stability: float, remaining: float, members: int, answers: int) -> str:
    if answers < MIN_ANSWERS:
        return f"Go on: {answers} answers are not enough yet to tell whether more would change anything."
    one = members == 1
    few, stand = ("the best option", "it is") if one else (f"the {members} best options", "they are")
    short = f"{stand} {percent(remaining)} short of the best that seems possible"
    if stop:
        return f"You may stop: with {percent(stability)} probability another answer would leave {few} as {stand}, and {short}."
    change = f"another answer may change {few} ({percent(1 - stability)} likely)"
    if stability < STABLE and remaining > LITTLE_LEFT:
        return f"Go on: {change}, and {short}."
    if stability < STABLE:
        return f"Go on: {change}, though little is left to find."
    return f"Go on: {few} seem{'s' if one else ''} settled among those seen, but {short}."
