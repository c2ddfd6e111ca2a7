"""How much the ends of the front are worth to the criteria of the default."""

import jax.numpy as jnp
import numpy as np

from choicebo.acquisition.ehvi import ExpectedImprovement
from choicebo.acquisition.improvement import attained, improvement
from choicebo.acquisition.thompson import Thompson

# A front from (0, 1) to (1, 0), a point that fills its middle, and one that goes on beyond its end at little cost.
FRONT = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
MIDDLE, BEYOND = np.array([0.65, 0.65]), np.array([1.3, -0.05])


def gains(margin: float) -> tuple[float, float]:
    points = jnp.asarray(np.stack([MIDDLE, BEYOND])[:, None], dtype=jnp.float32)
    middle, beyond = np.asarray(improvement(attained(FRONT[None], margin), points))[:, 0]
    return float(middle), float(beyond)


def test_thompson_goes_for_the_ends_and_expected_improvement_for_the_middle():
    middle, beyond = gains(ExpectedImprovement().margin)
    assert middle > beyond
    middle, beyond = gains(Thompson().margin)
    assert beyond > middle
