"""The integrator of Hamiltonian Monte Carlo, against blackjax's and against leapfrog."""

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc import integrators, metrics

from choicebo.model.engines.hamiltonian import _two_stage

SIZE = 6


def uneven(x):
    return -0.5 * (x**2).sum() - 0.1 * (x**4).sum() + jnp.sin(x[0] * x[1])


def standard_normal(x):
    return -0.5 * (x**2).sum()


def moved(integrator, density, step_size, steps, seed=0):
    """The state after some steps from a random one, and what the energy changed by."""
    kinetic = metrics.default_metric(jnp.ones(SIZE)).kinetic_energy
    position, momentum = jax.random.normal(jax.random.key(seed), (2, SIZE))
    state = first = integrators.new_integrator_state(density, position, momentum)
    step = integrator(density, kinetic)
    for _ in range(steps):
        state = step(state, jnp.asarray(step_size))

    def energy(state):
        return 0.5 * (state.momentum**2).sum() - state.logdensity

    return state, abs(float(energy(state) - energy(first)))


def test_a_step_is_that_of_blackjax():
    ours, _ = moved(_two_stage, uneven, 0.3, 5)
    theirs, _ = moved(integrators.mclachlan, uneven, 0.3, 5)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-8)


def test_for_as_many_gradients_it_errs_less_than_leapfrog_near_a_normal():
    ours, leapfrog = (
        np.mean([moved(integrator, standard_normal, size, steps, seed)[1] for seed in range(20)])
        for integrator, size, steps in ((_two_stage, 0.9, 2), (integrators.velocity_verlet, 0.45, 4))
    )
    assert ours < 0.5 * leapfrog
