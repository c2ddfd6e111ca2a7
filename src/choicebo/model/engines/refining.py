"""Hyperparameters of several people, refined by draws of their posterior.

Each person gives a few answers, and of few answers a Gaussian around the mode is a poor picture: with it the share of personal
taste comes out far too small, as variance components of groups do in all models of yes-or-no answers (Breslow and Lin 1995).
Draws know better. The slope of the evidence by the hyperparameters is the average over them of that of the log-likelihood at
fixed whitened values (Fisher's identity); a few steps along it, with draws that follow, are enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import in_parallel
from choicebo.model.engines.base import Basin, Learned, ModelSpec, Reporter
from choicebo.model.engines.gaussian import climb, root_of_inverse
from choicebo.model.engines.hamiltonian import Hamiltonian, Sampler, Target, first_values
from choicebo.model.engines.laplace import Packing
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]

_TRANSITIONS = 3
"""Between two steps, so that the draws follow the hyperparameters; the slope is their average."""
_FIRST, _SHORTEST, _LONGEST = 0.3, 0.005, 0.6
"""How far a step may go, in any hyperparameter, as logarithms. Each has a reach of its own, which is halved when the slope turns
and grows while it does not (as in Riedmiller and Braun 1993): the slopes differ by orders of magnitude, and are noisy."""
_TURNED, _STRAIGHT = 0.5, 1.2
_LAST = 4
"""The result is the average over the last of this many parts of the steps."""
_QUICK = Hamiltonian(num_warmup=6)


def refined(
    rng: np.random.Generator,
    spec: ModelSpec,
    likelihood: Likelihood,
    learned: Learned,
    steps: int,
    groups: int,
    report: Reporter,
) -> Learned:
    """The learned hyperparameters after some steps by draws, and the mode that they give; the evidence is as it was.

    ``groups`` of sixteen chains each make the draws.
    """
    whitener = Whitener.of(spec, likelihood)
    packing = Packing.of(spec, likelihood)
    metric = np.diag(packing.first_metric(spec))
    target = Target.of(likelihood, whitener.at(learned.hyper), learned.basins[0].centre[None])
    centre = learned.basins[0].centre
    samplers = [Sampler(_QUICK, target, each, first_values(each, learned.basins), centre) for each in rng.spawn(groups)]
    list(in_parallel(lambda sampler: sampler.warm_up(), samplers))
    vector, path = packing.vector(learned.hyper), []
    reach, before = np.full(len(vector), _FIRST), np.zeros(len(vector))
    for number in range(steps):
        hyper = packing.hyper(vector)
        slopes = list(in_parallel(lambda sampler: average_slope(sampler, packing, _TRANSITIONS), samplers))
        uphill = np.mean(slopes, axis=0) + packing.vector(spec.prior.gradient(hyper))
        reach *= np.where(uphill * before < 0.0, _TURNED, np.where(number == 0, 1.0, _STRAIGHT))
        reach, before = np.clip(reach, _SHORTEST, _LONGEST), uphill
        vector = vector + np.clip(metric * uphill, -reach, reach)
        path.append(vector)
        moved = whitener.at(packing.hyper(vector))
        for sampler in samplers:
            sampler.move_to(moved)
        report("learning how far tastes differ", (number + 1) / steps)
    hyper = packing.hyper(np.mean(path[-max(steps // _LAST, 1) :], axis=0))
    prior = whitener.at(hyper)
    start = np.mean([sampler.centre() for sampler in samplers], axis=0)
    mode = climb(likelihood, prior, start)
    return Learned(hyper, (Basin(mode.v, root_of_inverse(mode.factor), learned.basins[0].log_evidence),), learned.trace)


def average_slope(sampler: Sampler, packing: Packing, transitions: int) -> Array:
    """The slope of the log-evidence by the hyperparameters: that of the log-likelihood, averaged over some transitions."""
    total: Any = None
    prior = sampler.target.prior
    by_known = np.zeros(packing.known)
    for _ in range(transitions):
        chains = sampler.advance()
        side = prior.outer_side(chains.by_latent, prior.pulled(chains.by_latent))
        outer = prior.outer(side, chains.v) / (LANES * transitions)
        total = outer if total is None else total + outer
        by_known += prior.by_known(chains.by_latent) / transitions
    return packing.vector(prior.by_hyper(total)._replace(known=by_known))
