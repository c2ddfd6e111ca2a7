"""``ChoiceGP``: settings of the model, and ``fit``, which turns choices into a :class:`Posterior`."""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np

from choicebo._runtime import one_blas_thread
from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError, NumericalError
from choicebo.formatting import as_given
from choicebo.model import compiling
from choicebo.model.convergence import margins
from choicebo.model.covariance import Hyperparameters, HyperPrior, Kernel, kernel_named
from choicebo.model.diagnostics import diagnose
from choicebo.model.engines import Engine, ModelSpec, Reporter, engine_named
from choicebo.model.engines.base import INDEPENDENT, ProgressCallback, are_whole
from choicebo.model.engines.whitening import FeatureWhitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.features import representatives
from choicebo.model.likelihood import check_likelihood_settings, is_number
from choicebo.model.own_parts import own_parts
from choicebo.model.people import (
    AT_RANDOM,
    MOST_PEOPLE,
    ODDS,
    TREATMENTS,
    careless,
    is_of_people,
    represented,
    with_people,
    without_people,
)
from choicebo.model.posterior import Posterior, left_out, of_several
from choicebo.pareto import MAX_OBJECTIVES
from choicebo.space.values import as_generator


@dataclasses.dataclass(frozen=True)
class ChoiceGP:
    """A Gaussian-process model of a choice function.

    >>> import choicebo as cb
    >>> cb.ChoiceGP(latent_dim=1, engine="vi").latent_dim
    1
    """

    latent_dim: int = 2
    """Number of hidden objectives, ``n_e``."""
    kernel: str | Kernel = "matern32"
    """``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rbf"``, or a kernel of your own."""
    engine: str | Engine = "hmc"
    """``"hmc"``, ``"ess"``, ``"vi"``, ``"laplace"``, or an engine object with settings of its own."""
    likelihood: str = "choice"
    """``"choice"`` (Theorem 1) or ``"batch_preference"`` (one winner, one latent dimension, shared noise)."""
    lapse: float = 0.01
    """Probability that an answer is a slip: any non-empty subset."""
    nugget: float = 0.01
    """Share of each latent function's variance that is an option's own and no matter of its inputs."""
    prior: HyperPrior = HyperPrior()
    correlated: bool = True
    """Whether the latent functions may be correlated, as heating and cooling loads are; the paper's are independent."""
    raters: str = "related"
    """Of choices that several people made (``Choice(rater=...)``): ``"related"``, each person has a taste that is partly
    everybody's and partly their own, and how far it is their own is learned; ``"together"``, all of them have one taste."""
    inducing: int | str | None = "auto"
    """Of many options, the number whose latent values stand for those of all (features). ``None``: all of them, at a cost that
    grows with the cube of their number. ``"auto"``: all of up to 400 options; of more, as many as they need, up to 192."""

    def __post_init__(self) -> None:
        if (
            isinstance(self.latent_dim, bool)
            or not isinstance(self.latent_dim, int | np.integer)
            or not 1 <= self.latent_dim <= MAX_OBJECTIVES
        ):
            raise InvalidInputError(
                f"latent_dim must be a whole number of at least 1 and at most {MAX_OBJECTIVES}, got {as_given(self.latent_dim)}"
            )
        kernel_named(self.kernel)
        engine_named(self.engine)
        if not isinstance(self.prior, HyperPrior):
            raise InvalidInputError(f"prior must be a HyperPrior, got {as_given(self.prior)}")
        if not is_number(self.nugget) or not 0.0 <= self.nugget < 1.0:
            raise InvalidInputError(f"nugget must be at least 0 and below 1, got {as_given(self.nugget)}")
        if not isinstance(self.correlated, bool):
            raise InvalidInputError(f"correlated must be True or False, got {as_given(self.correlated)}")
        named = self.inducing is None or self.inducing == "auto"
        if not named and (not are_whole(self.inducing) or int(self.inducing) < 1):  # type: ignore[arg-type]
            raise InvalidInputError(
                f"inducing must be None, 'auto' or a whole number of at least 1, got {as_given(self.inducing)}"
            )
        if not isinstance(self.raters, str) or self.raters not in TREATMENTS:
            raise InvalidInputError(
                f"raters must be one of {', '.join(map(repr, TREATMENTS))}, got {as_given(self.raters)}; "
                "for one model each, fit data.of_rater(name)"
            )
        check_likelihood_settings((), self.latent_dim, 1.0, self.likelihood, self.lapse)

    @property
    def spec(self) -> ModelSpec:
        """The model apart from its data and engine."""
        inducing = self.inducing if self.inducing is None or self.inducing == "auto" else int(self.inducing)
        return ModelSpec(
            int(self.latent_dim),
            self.kernel,
            float(self.lapse),
            float(self.nugget),
            self.prior,
            self.correlated,
            inducing,
        )

    def fit(
        self,
        data: ChoiceData,
        seed: int = 0,
        *,
        progress: ProgressCallback | None = None,
        start: Hyperparameters | None = None,
    ) -> Posterior:
        """Learn from ``data``; the same data and seed give the same draws.

        ``progress(stage, fraction)`` is called on the way, and interrupts the fit by returning ``False``; ``start`` (for
        example ``earlier.hyper``) is tried as one of the starting points of the hyperparameters. Draws that fell short of the
        engine's limits issue a :class:`~choicebo.ConvergenceWarning`.
        """
        posterior = self.fit_silently(data, seed, progress=progress, start=start)
        posterior.diagnostics.warn()
        return posterior

    def fit_silently(
        self,
        data: ChoiceData,
        seed: int = 0,
        *,
        progress: ProgressCallback | None = None,
        start: Hyperparameters | None = None,
    ) -> Posterior:
        """:meth:`fit` without a warning, for whoever looks at ``posterior.diagnostics``."""
        rng = as_generator(seed)
        if not isinstance(data, ChoiceData):
            raise InvalidInputError(f"fit takes a ChoiceData, got {type(data).__name__}")
        if len(data.choices) == 0:
            raise InvalidInputError("there are no choices to learn from; add at least one Choice to the ChoiceData")
        check_likelihood_settings(data.choices, self.latent_dim, 1.0, self.likelihood, self.lapse)
        if start is not None and not isinstance(start, Hyperparameters):
            raise InvalidInputError(f"start must be Hyperparameters such as earlier.hyper, got {as_given(start)}")
        engine, spec, report, began = engine_named(self.engine), self.spec, Reporter(progress), time.perf_counter()
        if start is not None and not self.correlated:
            start = start._replace(coupling=np.zeros_like(start.coupling))
        compiling.prepare(lambda message: report(message, 0.0))
        of_people = self.raters == "related" and is_of_people(data.choices)
        if start is not None:
            start = with_people(start) if of_people else without_people(start)
        with one_blas_thread():
            likelihood = self._likelihood(data, of_people)
            found = engine.fit(rng, spec, likelihood, start, report.part(0.0, 0.5) if of_people else report)
            if likelihood.people is not None:
                suspects = careless(likelihood, left_out(spec, likelihood, found))
                if suspects.any():
                    doubted = likelihood.lapsing(np.where(suspects, AT_RANDOM, spec.lapse))
                    other = engine.fit(rng, spec, doubted, found.hyper, report.part(0.5, 1.0))
                    if other.log_evidence + suspects.sum() * math.log(ODDS) > found.log_evidence:
                        likelihood, found = doubted, other
            chains, draws = found.whitened.shape[:2]
            flat = found.whitened.reshape(chains * draws, *found.whitened.shape[2:])
            prior = Whitener.of(spec, likelihood).at(found.hyper)
            values = prior.over(flat, likelihood.values)
            log_likelihood = values.reshape(chains, draws, -1)[..., likelihood.place]
            own = own_parts(likelihood, prior, flat) if isinstance(prior, FeatureWhitened) else None
        if not np.isfinite(log_likelihood).all():
            raise NumericalError(
                f"engine {engine.name!r} produced draws that are not finite; try another seed or engine='vi'"
            )
        quantities = found.quantities
        if quantities is None:
            of_pairs = prior.over(flat, margins).reshape(chains, draws, -1)
            weights = np.array([choice.weight for choice in data.choices])
            quantities = np.concatenate([(log_likelihood @ weights)[None], np.moveaxis(of_pairs, 2, 0)])
        diagnostics = diagnose(
            engine.name,
            quantities,
            found,
            INDEPENDENT if found.approximate else engine.limits,
            time.perf_counter() - began,
            likelihood.inducing,
        )
        posterior = Posterior(
            data=data,
            spec=spec,
            hyper=found.hyper,
            options=likelihood.X,
            whitened=found.whitened,
            inducing=likelihood.inducing,
            own=own,
            log_likelihood=log_likelihood,
            diagnostics=diagnostics,
            likelihood=self.likelihood,
        )
        return posterior if likelihood.people is None else of_several(posterior, likelihood)

    def _likelihood(self, data: ChoiceData, of_people: bool) -> Likelihood:
        """The likelihood, with the inducing options that it needs."""
        spec = self.spec
        likelihood = Likelihood.of(data, self.likelihood, spec.lapse, by_person=of_people)
        lengthscales = np.exp(spec.prior.centre(likelihood.X.shape[1], 1).log_lengthscale)
        if likelihood.people is None:
            return likelihood.represented_by(representatives(spec.inducing, likelihood.X, spec.kernel, lengthscales))
        if len(likelihood.people.names) > MOST_PEOPLE:
            raise InvalidInputError(
                f"{len(likelihood.people.names):,} people answered; raters='related' takes at most {MOST_PEOPLE:,}: "
                "fit some of them, or use raters='together'"
            )
        return represented(likelihood, spec.inducing, spec.kernel, lengthscales, spec.latent_dim)
