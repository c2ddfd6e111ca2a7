"""Learn what a baker's guest likes from the loaves that they keep.

The guest is simulated: they want a loaf to be brown and to be soft, and cannot say how much of one they would
give for the other. Shown three loaves, they keep those that no other loaf beats in both. The program sees
only what was kept.

    python examples/learn_from_choices.py
"""

from __future__ import annotations

import os

# Before NumPy is loaded: the matrices are small, and threads would only stand in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import choicebo as cb
from choicebo.pareto import non_dominated
from choicebo.space import Integer, Real, Space

SPACE = Space([Real("temperature", 150, 220, unit="°C"), Integer("minutes", 5, 40)])


def brown_and_soft(points: np.ndarray) -> np.ndarray:
    """The guest's two hidden objectives, more is better: points (n, 2) of the unit cube -> (n, 2)."""
    temperature, minutes = points.T
    brown = -((temperature + minutes - 1.2) ** 2)
    soft = -minutes - 0.5 * temperature
    return np.column_stack([brown, soft])


def kept(loaves: np.ndarray) -> tuple[int, ...]:
    """The positions that the guest keeps of loaves (k, 2)."""
    return tuple(np.flatnonzero(non_dominated(brown_and_soft(loaves))).tolist())


def described(loaf: np.ndarray) -> str:
    """A loaf (2,) as the guest sees it."""
    (option,) = SPACE.decode(loaf[None])
    return f"{option['temperature']:5.1f} °C, {option['minutes']:2d} minutes"


def main() -> None:
    """Ask the simulated guest, learn, and compare what was learned with what they would say."""
    rng = np.random.default_rng(0)
    loaves = SPACE.sobol(30, seed=0)
    shown = [rng.choice(len(loaves), size=3, replace=False) for _ in range(40)]
    data = cb.ChoiceData.from_sets([loaves[s] for s in shown], [kept(loaves[s]) for s in shown])
    print(f"{data.n_choices} answers about {data.n_options} loaves")

    posterior = cb.ChoiceGP(latent_dim=2, engine="laplace").fit(data, seed=0)

    new = SPACE.sobol(63, seed=1).reshape(21, 3, 2)
    right = sum(posterior.predict_choice(s) == kept(s) for s in new)
    print(f"{right} of {len(new)} answers about loaves never shown are predicted exactly")

    print("\nThree loaves, and how likely the guest is to keep which of them:")
    for position, loaf in enumerate(new[0]):
        print(f"  {position}: {described(loaf)}")
    for subset, probability in list(posterior.choice_probabilities(new[0]).items())[:3]:
        print(f"  keeps {subset}: {probability:.2f}")

    print("\nThe loaves that are most probably beaten by no other:")
    probability = posterior.pareto_probability(loaves)
    truth = non_dominated(brown_and_soft(loaves))
    for row in np.argsort(-probability)[:5]:
        verdict = "indeed" if truth[row] else "beaten, in truth"
        print(f"  {described(loaves[row])}: {probability[row]:.2f} ({verdict})")


if __name__ == "__main__":
    main()
