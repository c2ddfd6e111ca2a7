"""Where nothing is hidden: the known objectives alone, whose scales are all that is learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.model.engines.base import Fit, ModelSpec
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]

_CHAINS, _DRAWS = 4, 25
"""All draws are alike; there are some, so that nobody need ask how many."""


def fit_scales(spec: ModelSpec, likelihood: Likelihood) -> Fit:
    """The most probable scales of the known objectives, and draws of no hidden ones."""
    from scipy.optimize import minimize

    whitener = Whitener.of(spec, likelihood)
    centre = spec.prior.centre(likelihood.X.shape[1], 0, spec.known_count)
    nothing = np.zeros((0, likelihood.coordinates, LANES), dtype=np.float32)

    def falling(scales: Array) -> tuple[float, Array]:
        hyper = centre._replace(known=scales)
        prior = whitener.at(hyper)
        values, gradient = likelihood.value_and_gradient(prior.latent(nothing))
        slope = prior.by_known(gradient) + spec.prior.gradient(hyper).known
        return -float(values.mean()) - spec.prior.log_density(hyper), -slope

    # The likelihood has single precision: the last digits of its value say nothing.
    found = minimize(falling, centre.known, jac=True, method="L-BFGS-B", options={"ftol": 1e-7, "maxiter": 100})
    evidence = -float(found.fun)
    draws = np.zeros((_CHAINS, _DRAWS, 0, likelihood.coordinates))
    return Fit(centre._replace(known=np.asarray(found.x)), draws, evidence, np.array([evidence]))
