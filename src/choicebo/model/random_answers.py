"""People who answer at random: how they are recognised among several, so that they count for little."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.model.engines.base import Fit, ModelSpec
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood

Array = NDArray[np.float64]

_SUSPICIOUS = 0.25
"""A person whose answers are predicted less than this better than chance, in nats per answer, ..."""
_ENOUGH = 6
"""... in so many answers, may be answering at random."""
AT_RANDOM = 0.9
"""The lapse rate of such a person."""
_ODDS = 0.05
"""How probable it is, before anything is known of a person, that they answer at random."""
_ROUNDS = 4


class Recognised(NamedTuple):
    """A fit, with the lapse rates that suit the answers best."""

    likelihood: Likelihood
    fit: Fit


def recognise(
    spec: ModelSpec, likelihood: Likelihood, found: Fit, refit: Callable[[Likelihood, Fit], Fit]
) -> Recognised:
    """Doubt the worst of the suspects, and then look again at all others.

    Somebody who answers at random also spoils what all share, so that others are predicted badly, too. Doubting all suspects at
    once would accuse them with him; the worse half goes first, and who is predicted well without it is cleared.
    """
    people = likelihood.people
    if people is None:
        raise ValueError("there are no people")
    doubted = np.zeros(len(people.names), dtype=np.bool_)
    for _ in range(_ROUNDS):
        gain = gain_over_chance(likelihood, left_out(spec, likelihood, found))
        suspects = np.flatnonzero((gain < _SUSPICIOUS) & ~doubted)
        if not len(suspects):
            break
        worse = suspects[np.argsort(gain[suspects], kind="stable")][: (len(suspects) + 1) // 2]
        also = doubted.copy()
        also[worse] = True
        other_likelihood = likelihood.lapsing(np.where(also, AT_RANDOM, spec.lapse))
        other = refit(other_likelihood, found)
        if other.log_evidence + len(worse) * math.log(_ODDS) <= found.log_evidence:
            break
        likelihood, found, doubted = other_likelihood, other, also
    return Recognised(likelihood, found)


def gain_over_chance(likelihood: Likelihood, log_p: Array) -> Array:
    """For each person, how much better their answers are predicted than by chance, in nats an answer; infinite of few answers.

    ``log_p: (choices,)`` are the log-probabilities, without lapses, of each of the different choices given all others.
    """
    people, ragged = likelihood.people, likelihood.ragged
    if people is None:
        raise ValueError("there are no people")
    who = people.of_row[ragged.members[ragged.offsets[:-1]]]
    gain, answers = (np.zeros(len(people.names)) for _ in range(2))
    np.add.at(gain, who, ragged.counts * (log_p - ragged.log_uniform))
    np.add.at(answers, who, ragged.counts)
    return np.where(answers >= _ENOUGH, gain / np.maximum(answers, 1.0), np.inf)


def left_out(spec: ModelSpec, likelihood: Likelihood, found: Fit) -> Array:
    """(choices,): log-probability, without lapses, of each of the different choices given all others."""
    whitened = found.whitened.reshape(-1, *found.whitened.shape[2:])
    prior = Whitener.of(spec, likelihood).at(found.hyper)
    sure = likelihood.lapsing(np.zeros(len(likelihood.people.names)))  # type: ignore[union-attr]
    log_p = prior.over(whitened, sure.normalised_values)
    # The harmonic mean over the draws; a single draw to which the answer is impossible must not decide.
    fitted = prior.over(whitened, likelihood.values)
    weights = -np.maximum(fitted, np.quantile(fitted, 0.05, axis=0))
    weights -= np.logaddexp.reduce(weights, axis=0)
    return np.asarray(np.logaddexp.reduce(weights + log_p, axis=0))
