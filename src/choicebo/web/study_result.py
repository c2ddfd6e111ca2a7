"""What is known of a study, for its result page: computed once for each state of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from choicebo.study import Study
from choicebo.study.status import advise

if TYPE_CHECKING:
    from choicebo.insight import StopAdvice
    from choicebo.insight.drivers import Objective
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ChoiceOptimizer
    from choicebo.space import Option

_DRAWS = 200
_THRESHOLD = 0.5


@dataclass(frozen=True)
class Point:
    """An option that was shown, and what is believed of it."""

    option: Option
    probability: float
    """That no other option shown beats it."""
    optimal: bool
    """Whether it counts as one of the best."""
    mean: tuple[float, ...]
    """Its hidden objectives, in units of the noise of an answer."""
    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True)
class Result:
    """Everything on the result page."""

    answers: int
    latent_dim: int | None
    dimension: str
    """Why the model has so many hidden objectives, in a sentence."""
    points: tuple[Point, ...]
    """Most probable first."""
    objectives: tuple[Objective, ...]
    advice: StopAdvice | None
    diagnostics: tuple[str, ...]

    @property
    def best(self) -> tuple[Point, ...]:
        """The estimated Pareto set."""
        return tuple(point for point in self.points if point.optimal)


def build_result(study: Study, rater: str | None = None) -> Result:
    """What the page shows of the model of everybody's answers, or of one rater's; it is fitted only if it is not known."""
    fitted = study.optimizer(rater, fit=True)
    posterior = fitted.known_posterior
    if posterior is None:
        return Result(0, None, "", (), (), None, ())
    from choicebo.insight.drivers import drivers

    history = fitted.latent_dim_history
    objectives = tuple(drivers(posterior, study.space))
    return Result(
        answers=fitted.n_answers,
        latent_dim=posterior.latent_dim,
        dimension=str(history[-1]["reason"]) if history else "",
        points=_points(fitted, posterior, [objective.latent_dim for objective in objectives]),
        objectives=objectives,
        advice=advise(study, posterior, study.questions(rater=rater), rater),
        diagnostics=posterior.diagnostics.problems,
    )


def _points(fitted: ChoiceOptimizer, posterior: Posterior, order: list[int]) -> tuple[Point, ...]:
    import numpy as np

    from choicebo.model.alignment import aligned_orders, reordered

    seen = fitted.pareto_set(0.0)
    latent = posterior.sample(fitted.space.encode([found.option for found in seen]), draws=_DRAWS)
    # Draws differ in how they number their dimensions; the objectives are numbered as the drivers are.
    latent = reordered(latent, aligned_orders(latent, latent.mean(0)[:, order]))
    mean = latent.mean(0)
    lower, upper = np.quantile(latent, [0.025, 0.975], axis=0)
    least = min(_THRESHOLD, seen[0].probability)
    return tuple(
        Point(
            option=found.option,
            probability=found.probability,
            optimal=found.probability >= least,
            mean=tuple(map(float, mean[at])),
            lower=tuple(map(float, lower[at])),
            upper=tuple(map(float, upper[at])),
        )
        for at, found in enumerate(seen)
    )
