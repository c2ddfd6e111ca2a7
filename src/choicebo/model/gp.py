"""``ChoiceGP``: settings of the model, and ``fit``, which turns choices into a `Posterior`."""

from __future__ import annotations

import dataclasses
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
from choicebo.model.engines.nothing_hidden import fit_scales
from choicebo.model.engines.whitening import FeatureWhitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.features import representatives
from choicebo.model.known import Known, KnownFunction
from choicebo.model.likelihood import THRESHOLD, check_likelihood_settings, is_number
from choicebo.model.measured import filled, measured_rows, with_measured
from choicebo.model.own_parts import own_parts
from choicebo.model.people import (
    MOST_PEOPLE,
    TREATMENTS,
    is_of_people,
    represented,
    with_people,
    without_people,
)
from choicebo.model.posterior import Posterior, of_several
from choicebo.model.random_answers import recognise
from choicebo.pareto import MAX_OBJECTIVES
from choicebo.space.values import as_generator


@dataclasses.dataclass(frozen=True)
class ChoiceGP:
    """A Gaussian-process model of a choice function.

    Examples:
        >>> import choicebo as cb
        >>> cb.ChoiceGP(latent_dim=1, engine="vi").latent_dim
        1
    """

    latent_dim: int = 2
    """Number of hidden objectives, ``n_e``; 0 only where some are known or measured."""
    kernel: str | Kernel = "matern32"
    """``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rbf"``, or a kernel of your own."""
    engine: str | Engine = "hmc"
    """``"hmc"``, ``"ess"``, ``"vi"``, ``"laplace"``, or an engine object with settings of its own."""
    likelihood: str = "choice"
    """What is kept: ``"choice"`` (Theorem 1), what no other option beats; ``"pseudo_rational"``, what is best in at least one
    latent dimension; ``"batch_preference"``, one winner in one latent dimension; ``"noticeable_difference"``, one winner in one
    latent dimension, or both of two options that do not differ noticeably."""
    lapse: float = 0.01
    """Probability that an answer is a slip: any non-empty subset."""
    nugget: float = 0.01
    """Fraction of each latent function's variance that is specific to an option, whatever its inputs."""
    prior: HyperPrior = HyperPrior()
    correlated: bool = True
    """Whether the latent functions may be correlated, as heating and cooling loads are; the paper's are independent."""
    raters: str = "related"
    """Of choices that several people made (``Choice(rater=...)``): ``"related"``, each person has a taste that is partly
    everybody's and partly their own, and how far it is their own is learned; ``"together"``, all of them have one taste."""
    inducing: int | str | None = "auto"
    """Of many options, the number whose latent values stand for those of all (features). ``None``: all of them, at a cost that
    grows with the cube of their number. ``"auto"``: all of up to 400 options; of more, as many as they need, up to 192."""
    known: KnownFunction | None = None
    """Objectives that need not be learned: a function that gives their values (n, k), the larger the better, at points (n, d)
    of the unit cube, such as ``space.known``. How much each of them counts is learned. NaN is a value that was not measured: a
    Gaussian process learns such an objective from its numbers and the choices together. An attribute ``measured`` of the
    function, a flag for each objective, says of which ones values may be missing; without it, those that lack one in the data."""
    threshold: float = THRESHOLD
    """With ``likelihood="noticeable_difference"``: the least difference that is noticed, in units of the noise."""

    def __post_init__(self) -> None:
        if self.known is not None and not callable(self.known):
            raise InvalidInputError(
                f"known must be a function of points such as space.known, got {as_given(self.known)}."
            )
        least = 1 if self.known is None else 0
        if (
            isinstance(self.latent_dim, bool)
            or not isinstance(self.latent_dim, int | np.integer)
            or not least <= self.latent_dim <= MAX_OBJECTIVES
        ):
            raise InvalidInputError(
                f"latent_dim must be a whole number of at least {least} and at most {MAX_OBJECTIVES}, "
                f"got {as_given(self.latent_dim)}."
            )
        kernel_named(self.kernel)
        engine_named(self.engine)
        if not isinstance(self.prior, HyperPrior):
            raise InvalidInputError(f"prior must be a HyperPrior, got {as_given(self.prior)}.")
        if not is_number(self.nugget) or not 0.0 <= self.nugget < 1.0:
            raise InvalidInputError(f"nugget must be at least 0 and below 1, got {as_given(self.nugget)}.")
        if not isinstance(self.correlated, bool):
            raise InvalidInputError(f"correlated must be True or False, got {as_given(self.correlated)}.")
        named = self.inducing is None or self.inducing == "auto"
        if not named and (not are_whole(self.inducing) or int(self.inducing) < 1):  # type: ignore[arg-type]
            raise InvalidInputError(
                f"inducing must be None, 'auto' or a whole number of at least 1, got {as_given(self.inducing)}."
            )
        if not isinstance(self.raters, str) or self.raters not in TREATMENTS:
            raise InvalidInputError(
                f"raters must be one of {', '.join(map(repr, TREATMENTS))}, got {as_given(self.raters)}; "
                "for a separate model of each person, fit data.of_rater(name)."
            )
        least_objectives = self.latent_dim + (self.known is not None)
        check_likelihood_settings((), least_objectives, 1.0, self.likelihood, self.lapse, self.threshold)

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
            threshold=float(self.threshold),
        )

    def fit(
        self,
        data: ChoiceData,
        seed: int = 0,
        *,
        progress: ProgressCallback | None = None,
        start: Hyperparameters | None = None,
    ) -> Posterior:
        """Learn from choices; the same data and seed give the same draws.

        Draws that fall short of the engine's limits issue a `ConvergenceWarning`.

        Args:
            data: The options and the choices among them.
            seed: A whole number from which everything random follows.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts the fit.
            start: Hyperparameters of an earlier fit, ``earlier.hyper``, which are tried as one more starting point.

        Returns:
            The posterior: draws of the hidden objectives, and everything that follows from them.

        Raises:
            InvalidInputError: The data cannot be learned from with these settings.
            FitInterruptedError: ``progress`` returned ``False``.
            NumericalError: The draws are not finite; the message names a remedy.

        Examples:
            >>> cb.ChoiceGP(latent_dim=2, engine="laplace").fit(data, seed=0)
            Posterior(latent_dim=2, 8 choices among 8 options, 400 draws, engine='laplace')
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
        """Do the same as `fit` without a warning, for callers that look at ``posterior.diagnostics``.

        Args:
            data: The options and the choices among them.
            seed: A whole number from which everything random follows.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts the fit.
            start: Hyperparameters of an earlier fit, which are tried as one more starting point.

        Returns:
            The posterior.

        Raises:
            InvalidInputError: The data cannot be learned from with these settings.
            NumericalError: The draws are not finite; the message names a remedy.

        Examples:
            >>> cb.ChoiceGP(latent_dim=1, engine="laplace").fit_silently(data).diagnostics.problems
            ()
        """
        rng = as_generator(seed)
        if not isinstance(data, ChoiceData):
            raise InvalidInputError(f"fit takes a ChoiceData, got {type(data).__name__}.")
        if len(data.choices) == 0:
            raise InvalidInputError("There are no choices to learn from; add at least one Choice to the ChoiceData.")
        if start is not None and not isinstance(start, Hyperparameters):
            raise InvalidInputError(f"start must be Hyperparameters such as earlier.hyper, got {as_given(start)}.")
        engine, spec, report, began = engine_named(self.engine), self.spec, Reporter(progress), time.perf_counter()
        if start is not None and not self.correlated:
            start = start._replace(coupling=np.zeros_like(start.coupling))
        rows = np.unique([row for choice in data.choices for row in choice.shown])
        known = None if self.known is None else Known.of(self.known, data.X[rows], data.X)
        of_people = self.raters == "related" and spec.latent_dim > 0 and is_of_people(data.choices)
        if of_people and known is not None and any(known.measured):
            # People are told apart by their choices; a measured objective is everybody's, and what its numbers say of it stays.
            stands_in = filled(known, spec.prior, spec.kernel, spec.nugget)
            known, of_people = (known, False) if stands_in is None else (stands_in, True)
        spec = dataclasses.replace(spec, known=known)
        objectives = spec.latent_dim + spec.known_count
        if objectives > MAX_OBJECTIVES:
            raise InvalidInputError(
                f"There are {spec.latent_dim} hidden and {spec.known_count} known objectives; "
                f"together they may be at most {MAX_OBJECTIVES}."
            )
        check_likelihood_settings(data.choices, objectives, 1.0, self.likelihood, self.lapse)
        compiling.prepare(lambda message: report(message, 0.0))
        if start is not None:
            start = with_people(start) if of_people else without_people(start)
        with one_blas_thread():
            likelihood = self._likelihood(data, of_people, known)
            nothing_hidden = spec.latent_dim + spec.measured_count == 0
            if start is not None and (spec.measured_count or len(start.measured)):
                # The earlier fit had other numbers, or none.
                start = start._replace(measured=Whitener.of(spec, likelihood).measured_alone())
            if start is not None and len(start.known) != spec.known_count:
                start = start._replace(known=spec.prior.centre(data.dim, 0, spec.known_count).known)
            if nothing_hidden:
                found = fit_scales(spec, likelihood)
            else:
                found = engine.fit(rng, spec, likelihood, start, report.part(0.0, 0.5) if of_people else report)
            if likelihood.people is not None:
                rest = report.part(0.5, 1.0)
                likelihood, found = recognise(
                    spec, likelihood, found, lambda other, known: engine.fit(rng, spec, other, known.hyper, rest)
                )
            chains, draws = found.whitened.shape[:2]
            flat = found.whitened.reshape(chains * draws, *found.whitened.shape[2:])
            prior = Whitener.of(spec, likelihood).at(found.hyper)
            values = prior.over(flat, likelihood.values)
            log_likelihood = values.reshape(chains, draws, -1)[..., likelihood.place]
            own = None
            if isinstance(prior, FeatureWhitened) and not nothing_hidden:
                own = own_parts(likelihood, prior, flat)
            whitened = prior.unconditioned(found.whitened)
        if not np.isfinite(log_likelihood).all():
            raise NumericalError(
                f"Engine {engine.name!r} produced draws that are not finite; try another seed or engine='vi'."
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
            INDEPENDENT if found.approximate or nothing_hidden else engine.limits,
            time.perf_counter() - began,
            likelihood.inducing,
        )
        posterior = Posterior(
            data=data,
            spec=spec,
            hyper=found.hyper,
            options=likelihood.X,
            whitened=whitened,
            inducing=likelihood.inducing,
            own=own,
            log_likelihood=log_likelihood,
            diagnostics=diagnostics,
            likelihood=self.likelihood,
        )
        return posterior if likelihood.people is None else of_several(posterior, likelihood)

    def _likelihood(self, data: ChoiceData, of_people: bool, known: Known | None) -> Likelihood:
        """The likelihood, with the inducing options that it needs."""
        spec = self.spec
        likelihood = Likelihood.of(
            data,
            self.likelihood,
            spec.lapse,
            threshold=spec.threshold,
            by_person=of_people,
            also=measured_rows(known, data.X),
        )
        lengthscales = np.exp(spec.prior.centre(likelihood.X.shape[1], 1).log_lengthscale)
        if likelihood.people is None:
            inducing = representatives(spec.inducing, likelihood.X, spec.kernel, lengthscales)
            if inducing is not None:
                inducing = with_measured(inducing, likelihood.X, known, spec.kernel, lengthscales)
            return likelihood.represented_by(inducing)
        if len(likelihood.people.names) > MOST_PEOPLE:
            raise InvalidInputError(
                f"{len(likelihood.people.names):,} people answered; raters='related' takes at most {MOST_PEOPLE:,}: "
                "fit some of them, or use raters='together'."
            )
        return represented(likelihood, spec.inducing, spec.kernel, lengthscales, spec.latent_dim)
