"""How much the ends of the front are worth."""

import numpy as np

from choicebo.acquisition.ehvi import ExpectedImprovement
from choicebo.acquisition.improvement import attained, improvement
from choicebo.acquisition.variation import Variation

# A front from (0, 1) to (1, 0), a point that fills its middle, and one that goes on beyond its end at little cost.
FRONT = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
MIDDLE, BEYOND = np.array([0.65, 0.65]), np.array([1.3, -0.05])


def gains(margin: float) -> tuple[float, float]:
    points = np.stack([MIDDLE, BEYOND])[:, None]
    middle, beyond = improvement(attained(FRONT[None], margin), points)[:, 0]
    return float(middle), float(beyond)


def test_the_margin_decides_how_much_the_ends_are_worth():
    middle, beyond = gains(0.1)
    assert middle > beyond
    middle, beyond = gains(1.0)
    assert beyond > middle


def test_both_criteria_of_the_default_value_the_ends_alike():
    assert ExpectedImprovement().margin == Variation().margin
