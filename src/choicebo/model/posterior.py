"""Draws of the latent functions, and every question one can ask of them.

All of it is NumPy: questions come in any shape and size, and nothing has to be compiled for them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo._runtime import one_blas_thread
from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, counted
from choicebo.model.choice_table import MAX_SET, best_table, choice_table, noticeable_table, subset_of_code
from choicebo.model.covariance import Hyperparameters, mixing
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.draws import LatentDraws, OwnValues, evenly, memberships
from choicebo.model.engines.base import ModelSpec, ProgressCallback, Reporter, are_whole
from choicebo.model.engines.whitening import Whitener, mixing_of_all
from choicebo.model.evaluate import Likelihood
from choicebo.model.likelihood import is_number
from choicebo.model.loo import Loo, khat_limit, leave_one_out, smoothed_weights, summarised
from choicebo.model.measured import AMPLITUDE, measured_rows
from choicebo.model.own_parts import OwnParts
from choicebo.model.people import OptionPrior, PeopleDraws, reordered
from choicebo.notebook_html import facts
from choicebo.space.points import point_keys, rows_in
from choicebo.space.values import as_executor, as_flag, as_generator

if TYPE_CHECKING:
    from choicebo.model.agreement import Agreement
    from choicebo.space import Searchable

Array = NDArray[np.float64]

PREDICTION_RULES = ("pareto", "likelihood", "mean")
SHORTLIST = 64
"""Number of the best options that a question considers, if there are many."""
_CHUNK = 1024
_MAX_DRAWS = 2**20
_HALVINGS = 16
"""Of the interval that holds an end of a band: enough for any picture and any table."""


class LatentSummary(NamedTuple):
    """Posterior of the latent functions at some points, each (n, n_e), in units of the noise."""

    mean: Array
    lower: Array
    """Lower end of the central 95 % interval."""
    upper: Array


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What the choices say about the latent functions.

    Examples:
        >>> posterior
        Posterior(latent_dim=2, 8 choices among 8 options, 400 draws, engine='laplace')
    """

    data: ChoiceData
    spec: ModelSpec
    hyper: Hyperparameters
    options: Array
    """(m, d): the options that appear in a choice, or of which something was measured."""
    whitened: Array
    """(chains, draws, n_e, m); those of measured objectives are behind the ``n_e`` hidden ones."""
    log_likelihood: Array
    """(chains, draws, choices): of each choice of the data, counting once whatever its weight."""
    diagnostics: Diagnostics
    likelihood: str = "choice"
    """As in `ChoiceGP`."""
    inducing: NDArray[np.int64] | None = None
    """Rows of `options` whose latent values `whitened` is about and those of all options follow from; ``None`` if
    it is about all of them."""
    own: OwnParts | None = None
    """With inducing options, what all options have of their own; its draws are those of one chain after the other."""
    people: PeopleDraws | None = None
    """Where several people answered, the draws of all of them. The other fields are about what they share."""
    rater: str | None = None
    """Whose posterior it is, if it is that of one of several people."""

    def __repr__(self) -> str:
        learned = f"{counted(self.data.n_choices, 'choice')} among {counted(len(self.options), 'option')}"
        draws = counted(self.whitened.shape[0] * self.whitened.shape[1], "draw")
        return f"Posterior(latent_dim={self.latent_dim}, {learned}, {draws}, engine={self.diagnostics.engine!r})"

    def _repr_html_(self) -> str:
        found = self.diagnostics
        said = {
            "hidden objectives": self.latent_dim,
            "choices": self.data.n_choices,
            "options": len(self.options),
            "draws": self.whitened.shape[0] * self.whitened.shape[1],
            "engine": found.engine,
            "worst R-hat": found.r_hat,
            "effective draws": float(found.effective_sample_size),
            "log evidence": found.log_evidence,
        }
        return facts("Posterior", said, below=found.problems)

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the fields is computed again where it is needed, instead of being sent along.
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of those who answered, where each of them has a posterior; see `of`."""
        return () if self.people is None else tuple(name for name in self.people.names if name is not None)

    def of(self, rater: str | None) -> Posterior:
        """Return the posterior of one of several people.

        Everything that can be asked of the posterior of a single person can be asked of it.

        Args:
            rater: Who; None: what all of them share, which is this posterior.

        Returns:
            The posterior of that person.

        Raises:
            InvalidInputError: There is no answer by a person of that name, or the model does not tell people apart.

        Examples:
            >>> posterior.of(None) is posterior
            True
        """
        if rater is None:
            return self
        if self.people is None:
            if rater in (self.rater, *self.data.raters[:1]) and len(self.data.raters) <= 1:
                return self
            raise InvalidInputError(
                f"This model does not tell people apart, so it has no posterior of {as_given(rater)}; "
                "it does if choices have raters and ChoiceGP(raters='related') is fitted to them."
            )
        number = self.people.number(rater)
        if number < 0 or not isinstance(rater, str):
            known = ", ".join(map(repr, self.raters[:20]))
            raise InvalidInputError(
                f"There is no answer by {as_given(rater)}; those who answered are {known}. "
                "For a person without answers use newcomer()."
            )
        if number not in self._persons:
            self._persons[number] = self._person(number)
        return self._persons[number]

    def newcomer(self) -> Posterior:
        """Return the posterior of a person who has not answered yet: what all share, and any taste beyond it that others have.

        Returns:
            A posterior that is less sure than that of anybody who answered.

        Raises:
            InvalidInputError: The model does not tell people apart.

        Examples:
            >>> choices = [cb.Choice((0, 1), (0,), rater="Ann"), cb.Choice((0, 1), (1,), rater="Bo")]
            >>> of_two = cb.ChoiceGP(latent_dim=1, engine="laplace").fit(cb.ChoiceData([[0.1], [0.9]], choices))
            >>> of_two.newcomer().latent([[0.5]]).mean.shape
            (1, 1)
        """
        if self.people is None:
            raise InvalidInputError(
                "This model does not tell people apart; it does if choices have raters and "
                "ChoiceGP(raters='related') is fitted to them."
            )
        if -1 not in self._persons:
            self._persons[-1] = self._person(-1)
        return self._persons[-1]

    def asked(self, rater: str) -> Posterior:
        """Return the posterior that a question to one of several people goes by: theirs, with some draws of the others.

        What an answer tells about the others counts by how much they have in common.

        Args:
            rater: Who is asked; they need not have answered before.

        Returns:
            The posterior; where the model does not tell people apart, itself.

        Examples:
            >>> posterior.asked("Ann") is posterior
            True
        """
        if self.people is None:
            return self
        number = self.people.number(rater)
        return self._with_draws(number, *self.people.asked(number, self._prior), self.people.inducing)

    def shared(self) -> Posterior:
        """Return the posterior of what several people share, without anything personal.

        Returns:
            The posterior; of a single person, itself.

        Examples:
            >>> posterior.shared() is posterior
            True
        """
        return self

    @functools.cached_property
    def agreement(self) -> Agreement:
        """How far the people have the same taste: the share that is personal, and how alike any two of them are.

        Raises:
            InvalidInputError: The model does not tell people apart.
        """
        from choicebo.model.agreement import agreement_of

        with one_blas_thread():
            return agreement_of(self)

    def by_person(self) -> list[tuple[list[int], Posterior]]:
        """List each person's choices, with the posterior that these are judged by.

        Returns:
            A pair for each person: the numbers of their choices, and their posterior. One pair if the model does not tell people
            apart.

        Examples:
            >>> [(numbers, own is posterior) for numbers, own in posterior.by_person()]
            [([0, 1, 2, 3, 4, 5, 6, 7], True)]
        """
        if self.people is None:
            return [(list(range(self.data.n_choices)), self)]
        raters = [choice.rater for choice in self.data.choices]
        found = []
        for place, name in enumerate(self.people.names):
            if place not in self._persons:
                self._persons[place] = self._person(place)
            found.append(([k for k, rater in enumerate(raters) if rater == name], self._persons[place]))
        return found

    @functools.cached_property
    def _persons(self) -> dict[int, Posterior]:
        return {}

    def _person(self, number: int) -> Posterior:
        if self.people is None:
            raise ValueError("there are no people")
        return self._with_draws(number, *self.people.of(number, self._prior), self.people.rows_of(number))

    @property
    def _prior(self) -> OptionPrior:
        """The options, and how the latent values at them are related beforehand."""
        return OptionPrior(self.options, self.spec.kernel, self.spec.nugget)

    def _with_draws(self, number: int, hyper: Hyperparameters, whitened: Array, rows: NDArray[np.int64]) -> Posterior:
        """An ordinary posterior of one of the people, from whitened values at some of the options."""
        if self.people is None:
            raise ValueError("there are no people")
        people, spec = self.people, self.spec
        name = people.names[number] if number >= 0 else None
        theirs = [k for k, choice in enumerate(self.data.choices) if number >= 0 and choice.rater == name]
        if self.inducing is None:
            with one_blas_thread():
                whitened = reordered(self._prior, hyper, whitened, rows, np.arange(len(self.options)))
        return dataclasses.replace(
            self,
            data=self.data.subset(theirs),
            spec=dataclasses.replace(spec, lapse=float(people.lapses[number]) if number >= 0 else spec.lapse),
            hyper=hyper,
            whitened=whitened,
            inducing=None if self.inducing is None else rows,
            log_likelihood=self.log_likelihood[..., theirs],
            people=None,
            rater=name if number >= 0 else "",
        )

    @property
    def start(self) -> Hyperparameters:
        """Where a fit to similar data may begin."""
        return self.hyper if self.people is None else self.people.hyper

    @property
    def latent_dim(self) -> int:
        """The number of hidden objectives."""
        return self.spec.latent_dim

    @property
    def known_count(self) -> int:
        """The number of known objectives, measured ones included: latent values have one more dimension for each, behind the
        hidden ones."""
        return self.spec.known_count

    @property
    def measured(self) -> tuple[bool, ...]:
        """(k,): for each of the known objectives, whether it is a measured one: some of its values are missing."""
        known = self.spec.known
        return () if known is None else known.measured or (False,) * known.count

    @functools.cached_property
    def answered(self) -> Array:
        """(m, d): those of the ``options`` that appear in a choice; the others were measured and never shown."""
        if not any(self.measured):
            return self.options
        shown = np.unique([row for choice in self.data.choices for row in choice.shown])
        others = np.delete(self.data.X, shown, axis=0)
        return self.options[rows_in(others, self.options) < 0] if len(others) else self.options

    @property
    def known_scales(self) -> Array:
        """(k,): how much a standard deviation of each known objective counts, in units of the noise."""
        return np.exp(np.asarray(self.hyper.known, dtype=np.float64))

    @property
    def lengthscales(self) -> Array:
        """(n_e, d): learned length-scales in the unit cube, of the independent parts; a short one means that the input matters.

        The first latent function is a part, each later one a combination of the parts up to its own; see `mixing`.
        """
        return np.exp(np.asarray(self.hyper.log_lengthscale, dtype=np.float64))

    @property
    def scales(self) -> Array:
        """(n_e,): learned standard deviations of the latent functions, in units of the noise."""
        return np.exp(np.asarray(self.hyper.log_scale, dtype=np.float64))

    @functools.cached_property
    def mixing(self) -> Array:
        """(n_e, n_e): the latent functions as combinations of independent parts of unit variance, ``f = mixing @ parts``."""
        scale, coupling = (np.asarray(part, dtype=np.float64) for part in (self.hyper.log_scale, self.hyper.coupling))
        return np.asarray(mixing(self.hyper._replace(log_scale=scale, coupling=coupling)))

    @property
    def correlations(self) -> Array:
        """(n_e, n_e): prior correlations of the latent functions, as learned."""
        unit = self.mixing / self.scales[:, None]
        return np.asarray(unit @ unit.T)

    @functools.cached_property
    def draws(self) -> LatentDraws:
        """All draws at the options, those of one chain spread out evenly, and what they say of other points.

        Of many options, at the inducing ones: all others are points about which each draw is uncertain.
        """
        chains, draws = self.whitened.shape[:2]
        flat = np.swapaxes(self.whitened, 0, 1).reshape(chains * draws, *self.whitened.shape[2:])
        flat = np.asarray(flat, dtype=np.float64)
        known = self.options if self.inducing is None else self.options[self.inducing]
        fixed = None if self.spec.known is None else self.spec.known.scaled(self.known_scales)
        lengthscales, mixed = self.lengthscales, self.mixing
        if self.spec.measured_count:
            lengthscales = np.concatenate([lengthscales, np.exp(self.hyper.measured[:, :AMPLITUDE])])
            mixed = mixing_of_all(self.hyper, self.spec.known)
        found = LatentDraws.of(known, flat, lengthscales, mixed, self.spec.kernel, float(self.spec.nugget), fixed)
        if self.own is None:
            return found
        order = np.swapaxes(self.own.order.reshape(chains, draws), 0, 1).reshape(-1)
        return dataclasses.replace(found, own=OwnValues(self.options, self.own.mean, self.own.spread, order))

    def shortlist(self, most: int = SHORTLIST, draws: int = 128) -> NDArray[np.int64]:
        """List the options that matter for the next question, the most probably Pareto-optimal first.

        Args:
            most: How many at most, if there are inducing options; otherwise all options are listed as they come.
            draws: From how many draws their probabilities are computed.

        Returns:
            Rows of ``options``.

        Examples:
            >>> len(posterior.shortlist())
            8
        """
        if self.inducing is None:
            return np.arange(len(self.options))
        probability = self.pareto_probability(self.options, draws=draws)
        return np.argsort(-probability, kind="stable")[:most]

    def shortlisted(self, draws: int) -> LatentDraws:
        """Take some draws at all options, or at the inducing ones and the `shortlist`.

        Args:
            draws: How many at most.

        Returns:
            Draws that can be conditioned on.

        Examples:
            >>> posterior.shortlisted(16).latent.shape
            (16, 8, 2)
        """
        found = self.draws.thinned(draws)
        return found if self.inducing is None else found.extended(self.options[self.shortlist()], 0)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about, once something was asked of it: its draws twice, and the factors of its options."""
        own = 0 if self.own is None else self.own.mean.nbytes + self.own.spread.nbytes
        own += 0 if self.people is None else self.people.whitened.nbytes
        return int(2 * self.whitened.nbytes + 8 * self.whitened.shape[2] * self.whitened.shape[3] ** 2 + own)

    def sketch(self, draws: int, options: int) -> Posterior:
        """Reduce the posterior, for questions that must not take long.

        The draws are spread evenly over all of them. Half of the options are the most probably Pareto-optimal ones, and half
        those that say most about the others. What the draws know of the rest is lost, and nothing else.

        Args:
            draws: How many to keep at most, as one chain.
            options: At how many options.

        Returns:
            A smaller posterior.

        Examples:
            >>> posterior.sketch(draws=16, options=4)
            Posterior(latent_dim=2, 8 choices among 4 options, 16 draws, engine='laplace')
        """
        if self.people is not None:
            return self._sketch_of_people(draws)
        few = self.draws.thinned(draws)
        with one_blas_thread():
            if self.inducing is not None:
                few = few.extended(self.options[self.shortlist(options)], 0)
            if len(few.X) > options:
                best = np.argsort(-memberships(few.latent).mean(0), kind="stable")[: options // 2]
                few = few.core(best, options)
        rows = evenly(self.draws.count, few.count)
        likelihood = np.swapaxes(self.log_likelihood, 0, 1).reshape(self.draws.count, -1)[rows]
        return dataclasses.replace(
            self,
            options=few.X,
            whitened=few.whitened[None],
            log_likelihood=likelihood[None],
            inducing=None,
            own=None,
        )

    def _sketch_of_people(self, draws: int) -> Posterior:
        """The same for several people: fewer draws, but all options, because different people prefer different ones."""
        if self.people is None:
            raise ValueError("there are no people")
        chains, each = self.whitened.shape[:2]
        rows = evenly(chains * each, min(draws, chains * each))

        def thinned(values: Array) -> Array:
            return np.asarray(values.reshape(chains * each, *values.shape[2:])[rows][None])

        return dataclasses.replace(
            self,
            whitened=thinned(self.whitened),
            log_likelihood=thinned(self.log_likelihood),
            people=self.people._replace(whitened=thinned(self.people.whitened)),
        )

    def latent(self, X: ArrayLike, *, rater: str | None = None) -> LatentSummary:
        """Summarise each hidden objective at any number of points.

        Args:
            X: Points of the unit cube, (n, d).
            rater: One of several people; None: what all of them share.

        Returns:
            ``mean``, and ``lower`` and ``upper`` of the 95 % band, each (n, n_e), in units of the noise.

        Raises:
            InvalidInputError: The points do not have this shape, or a value is not finite.

        Examples:
            >>> posterior.latent([[0.5, 0.5]]).mean.shape
            (1, 2)
        """
        if rater is not None:
            return self.of(rater).latent(X)
        points = self._points(X)
        parts = []
        for chunk in _chunks(points, _CHUNK):
            mean, variance = self.draws.moments(chunk)
            lower, upper = (_mixture_quantile(mean, np.sqrt(variance), share) for share in (0.025, 0.975))
            parts.append((mean.mean(0), lower, upper))
        return LatentSummary(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def sample(self, X: ArrayLike, draws: int = 200, seed: int = 0, *, rater: str | None = None) -> Array:
        """Draw from the hidden objectives, jointly over the points, by the exact conditional.

        Args:
            X: Points of the unit cube, (n, d). Equal rows are one option and get equal values.
            draws: How many.
            seed: The same seed gives the same values.
            rater: One of several people; None: what all of them share.

        Returns:
            Values, (draws, n, n_e).

        Raises:
            InvalidInputError: The points do not have this shape, or the number of draws is not possible.

        Examples:
            >>> posterior.sample([[0.5, 0.5], [0.1, 0.9]], draws=50).shape
            (50, 2, 2)
        """
        if rater is not None:
            return self.of(rater).sample(X, draws, seed)
        points = self._points(X)
        as_generator(seed)
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or not 1 <= draws <= _MAX_DRAWS:
            raise InvalidInputError(f"draws must be at least 1 and at most {_MAX_DRAWS:,}, got {as_given(draws)}.")
        total = self.draws.count
        return self.draws.taken(np.resize(evenly(total, min(draws, total)), draws)).at(points, seed)

    def choice_probabilities(
        self, X_set: ArrayLike, *, normalised: bool = True, seed: int = 0, rater: str | None = None
    ) -> dict[tuple[int, ...], float]:
        """Compute the probability that each subset of a set is what the person keeps.

        Args:
            X_set: The options of the set, (k, d), at most 12.
            normalised: Theorem 1 does not sum to one over the subsets. True: divide by the sum; False: the raw
                values. The other likelihoods do.
            seed: The same seed gives the same values.
            rater: One of several people; None: what all of them share.

        Returns:
            A probability for each non-empty subset, as positions in the set, the most probable first.

        Raises:
            InvalidInputError: The set does not have this shape, or is too large.

        Examples:
            >>> table = posterior.choice_probabilities([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])
            >>> len(table), round(sum(table.values()), 6)
            (7, 1.0)
        """
        if rater is not None:
            return self.of(rater).choice_probabilities(X_set, normalised=normalised, seed=seed)
        points = self._points(X_set)
        _require_set(points)
        table = self.choice_table(self.draws.at(points, as_generator(seed))).mean(0)
        if as_flag(normalised, "normalised"):
            table = table / table.sum()
        order = np.argsort(-table, kind="stable")
        return {subset_of_code(int(code) + 1, len(points)): float(table[code]) for code in order}

    def predict_choice(
        self, X_set: ArrayLike, *, rule: str = "pareto", seed: int = 0, rater: str | None = None
    ) -> tuple[int, ...]:
        """Predict what the person keeps of a set.

        Args:
            X_set: The options of the set, (k, d), at most 12.
            rule: ``"pareto"``, ``"likelihood"`` or ``"mean"``; see `predict_choices`.
            seed: The same seed gives the same prediction.
            rater: One of several people; None: what all of them share.

        Returns:
            Positions in the set.

        Raises:
            InvalidInputError: The set does not have this shape, or is too large.

        Examples:
            >>> posterior.predict_choice([[0.0, 1.0], [0.5, 0.3]])
            (1,)
        """
        points = self._points(X_set)
        _require_set(points)
        return self.predict_choices(points[None], rule=rule, seed=seed, rater=rater)[0]

    def predict_choices(
        self, X_sets: ArrayLike, *, rule: str = "pareto", seed: int = 0, rater: str | None = None
    ) -> list[tuple[int, ...]]:
        """Predict what the person keeps of each of many sets of one size.

        With ``rule="pareto"`` it is the subset that is most probably the Pareto set of the latent functions, which is what the
        person would keep without noise; with ``likelihood="pseudo_rational"``, what is best in at least one of them. With
        ``"likelihood"`` it is the most probable answer, noise included; with ``"mean"`` the
        Pareto set of the posterior mean. The first is the default because it is the most accurate of the three with few choices
        (``choicebo reproduce toy | dimension | real`` print all). The mean is level with it with many choices; with few choices
        and too many dimensions it is far worse, because the draws then disagree on what a dimension is.

        Args:
            X_sets: The options of the sets, (sets, k, d).
            rule: ``"pareto"``, ``"likelihood"`` or ``"mean"``.
            seed: The same seed gives the same predictions.
            rater: One of several people; None: what all of them share.

        Returns:
            Positions in each set.

        Raises:
            InvalidInputError: The sets do not have this shape, or are too large, or there is no such rule.

        Examples:
            >>> posterior.predict_choices([[[0.0, 1.0], [0.5, 0.3]]], rule="mean")
            [(1,)]
        """
        if rater is not None:
            return self.of(rater).predict_choices(X_sets, rule=rule, seed=seed)
        sets = numeric(X_sets, "X_sets", "(sets, k, d)")
        if sets.ndim != 3 or sets.shape[2] != self.options.shape[1]:
            raise InvalidInputError(f"X_sets must have shape (sets, k, {self.options.shape[1]}), got {sets.shape}.")
        if not np.isfinite(sets).all():
            raise InvalidInputError("X_sets has a value that is not finite; give finite numbers.")
        if sets.shape[1] == 0:
            raise InvalidInputError("The sets have no options; give each set at least one.")
        if not isinstance(rule, str) or rule not in PREDICTION_RULES:
            raise InvalidInputError(
                f"rule must be one of {', '.join(map(repr, PREDICTION_RULES))}, got {as_given(rule)}."
            )
        size = sets.shape[1]
        if rule == "mean":
            # Equal options are one option: rounding must not make one beat the other.
            points, position = np.unique(sets.reshape(-1, sets.shape[2]), axis=0, return_inverse=True)
            means = [self.draws.moments(chunk)[0].mean(0) for chunk in _chunks(points, _CHUNK)]
            flat = np.concatenate(means)[position.reshape(-1)]
            kept = self._kept_without_noise(flat.reshape(len(sets), size, -1))
            return [tuple(int(i) for i in np.flatnonzero(mask)) for mask in kept]
        codes = []
        rng = as_generator(seed)
        for points in sets:
            latent = self.draws.at(points, rng)
            if rule == "likelihood":
                codes.append(int(self.choice_table(latent).mean(0).argmax()) + 1)
            else:
                codes.append(self._most_frequent(latent))
        return [subset_of_code(code, size) for code in codes]

    def choice_table(self, latent: Array) -> Array:
        """Compute the probability of each kept set under the likelihood.

        Args:
            latent: Values of the hidden objectives, (draws, options, n_e).

        Returns:
            (draws, 2^options - 1): column ``code - 1`` holds the kept set with the bits of ``code``. Those of Theorem 1 need
            not sum
            to one.

        Examples:
            >>> posterior.choice_table(np.zeros((1, 2, 2))).shape
            (1, 3)
        """
        if self.likelihood == "choice":
            return choice_table(latent)
        if self.likelihood == "noticeable_difference":
            return noticeable_table(latent, self.spec.threshold)
        return best_table(latent)

    def _kept_without_noise(self, latent: Array) -> NDArray[np.bool_]:
        """(draws, options): what would be kept of ``latent: (draws, options, n_e)``."""
        if self.likelihood == "pseudo_rational":
            return np.asarray((latent == latent.max(1, keepdims=True)).any(2))
        return memberships(latent)

    def _most_frequent(self, latent: Array) -> int:
        """The code of the subset that is kept without noise in most draws of ``latent: (draws, k, n_e)``.

        Ties go to the likelier answer.
        """
        size = latent.shape[1]
        if size > MAX_SET:
            raise InvalidInputError(f"A set of {size} options has 2^{size} subsets; give at most {MAX_SET} options.")
        counts = np.bincount(self._kept_without_noise(latent) @ (1 << np.arange(size)), minlength=2**size)
        tied = np.flatnonzero(counts == counts.max())
        if len(tied) == 1:
            return int(tied[0])
        return int(tied[self.choice_table(latent).mean(0)[tied - 1].argmax()])

    def pareto_probability(self, X: ArrayLike, *, draws: int = 400, seed: int = 0, rater: str | None = None) -> Array:
        """Compute the probability that each option is beaten by none of the others.

        Args:
            X: The options, (n, d).
            draws: From how many draws.
            seed: The same seed gives the same values.
            rater: One of several people; None: what all of them share.

        Returns:
            Probabilities, (n,).

        Raises:
            InvalidInputError: The options do not have this shape.

        Examples:
            >>> posterior.pareto_probability(posterior.options).shape
            (8,)
        """
        points = self._points(X)
        latent = self.sample(points, draws=draws, seed=seed, rater=rater)
        return np.asarray(memberships(latent).mean(0))

    def pareto_set(
        self, X: ArrayLike, *, threshold: float = 0.5, draws: int = 400, seed: int = 0, rater: str | None = None
    ) -> NDArray[np.int64]:
        """List the options that are probably beaten by none of the others.

        Args:
            X: The options, (n, d).
            threshold: The least probability; where no option reaches it, the most probable one is listed.
            draws: From how many draws.
            seed: The same seed gives the same rows.
            rater: One of several people; None: what all of them share.

        Returns:
            Rows of X, never empty.

        Raises:
            InvalidInputError: The options do not have this shape, or the threshold is no number.

        Examples:
            >>> len(posterior.pareto_set(posterior.options)) >= 1
            True
        """
        if not is_number(threshold):
            raise InvalidInputError(f"threshold must be a probability from 0 to 1, got {as_given(threshold)}.")
        probability = self.pareto_probability(X, draws=draws, seed=seed, rater=rater)
        return np.flatnonzero(probability >= min(threshold, probability.max()))

    def loo(
        self,
        refit_limit: int = 10,
        *,
        seed: int = 0,
        progress: ProgressCallback | None = None,
        executor: Executor | None = None,
    ) -> Loo:
        """Compute how well each choice is predicted from all others: PSIS-LOO, and exact refits where its k-hat is too large.

        A refit draws the latent values again without the choice, at the same hyperparameters. Probabilities are normalised
        over the subsets of each set. A choice with a weight stands for as many people who answered alike: one of them is left out
        (all of it, where the weight is below 1), and its score counts ``weight`` times. So it makes no difference whether equal
        answers are given one by one or as one with a weight.

        Args:
            refit_limit: How many choices may be refitted, the worst first.
            seed: The same seed gives the same scores.
            progress: Called as ``progress(stage, fraction)`` after each refit; returning ``False`` stops.
            executor: Any ``concurrent.futures.Executor``, to refit several at once.

        Returns:
            ``elpd`` (the score; larger is better), ``se``, and ``pointwise`` and ``khat`` of each choice.

        Raises:
            InvalidInputError: A setting is no whole number of at least 0.
            FitInterruptedError: ``progress`` returned ``False``.

        Examples:
            >>> score = posterior.loo(refit_limit=0)
            >>> len(score.pointwise), score.elpd < 0
            (8, True)
        """
        as_executor(executor)
        for name, given in (("refit_limit", refit_limit), ("seed", seed)):
            if not are_whole(given) or given < 0:
                raise InvalidInputError(f"{name} must be a whole number of at least 0, got {as_given(given)}.")
        weights = np.array([choice.weight for choice in self.data.choices])
        if self.rater is not None:
            return self._loo_of_person()
        likelihood, hyper, whitened = self.as_fitted()
        with one_blas_thread():
            return leave_one_out(
                likelihood,
                self.spec,
                hyper,
                whitened,
                self.log_likelihood,
                self.diagnostics.effective_sample_size,
                refit_limit=refit_limit,
                seed=seed,
                report=Reporter(progress),
                weights=weights if (weights != 1.0).any() else None,
                executor=executor,
            )

    def as_fitted(self) -> tuple[Likelihood, Hyperparameters, Array]:
        """Return what the engine worked with.

        Returns:
            The likelihood, the hyperparameters, and the whitened draws.

        Examples:
            >>> likelihood, hyper, whitened = posterior.as_fitted()
            >>> whitened.shape[2]
            2
        """
        if self.people is None:
            likelihood = self._plain_likelihood().represented_by(self.inducing)
            if not self.spec.measured_count:
                return likelihood, self.hyper, self.whitened
            return likelihood, self.hyper, Whitener.of(self.spec, likelihood).at(self.hyper).conditioned(self.whitened)
        people = self.people
        likelihood = self._plain_likelihood(by_person=True)
        rows = first_rows(likelihood.X, self.options[people.inducing])
        likelihood = likelihood.represented_by(rows, self._own_rows(likelihood))
        return likelihood.lapsing(people.lapses), people.hyper, people.whitened

    def _own_rows(self, likelihood: Likelihood) -> NDArray[np.int64]:
        """(people, personal): rows of the likelihood's options that stand for what is personal."""
        if self.people is None or likelihood.people is None:
            raise ValueError("there are no people")
        found = np.full(self.people.own.shape, -1)
        for number, own in enumerate(self.people.own):
            theirs = np.flatnonzero(likelihood.people.of_row == number)
            rows = first_rows(likelihood.X[theirs], self.options[own[own >= 0]])
            found[number, : len(rows)] = theirs[rows]
        return found

    def _plain_likelihood(self, by_person: bool = False) -> Likelihood:
        spec = self.spec
        return Likelihood.of(
            self.data,
            self.likelihood,
            spec.lapse,
            threshold=spec.threshold,
            by_person=by_person,
            also=measured_rows(spec.known, self.data.X),
        )

    def _loo_of_person(self) -> Loo:
        """By importance weights alone: a refit without one answer would need the answers of the others."""
        likelihood = self._plain_likelihood()
        latent = self.sample(likelihood.X, draws=self.draws.count)
        order = np.arange(self.draws.count).reshape(self.whitened.shape[1::-1]).T.reshape(-1)
        scores = likelihood.normalised_values(np.swapaxes(latent, 1, 2)[order])[:, likelihood.place]
        log_weights, khat = smoothed_weights(self.log_likelihood, self.diagnostics.effective_sample_size)
        return summarised(np.logaddexp.reduce(log_weights + scores.T, axis=1), khat, (), khat_limit(len(scores)))

    def to_arviz(self, space: Searchable | None = None, *, objective_names: Sequence[str] | None = None) -> Any:
        """The draws for ArviZ: ``az.summary``, ``az.plot_trace``, ``az.loo`` and ``az.compare`` take it.

        See `to_arviz`, which describes the groups.

        Args:
            space: What was asked about; gives options and inputs their names. None: they are numbered.
            objective_names: One name for each hidden objective. None: "objective 1", "objective 2", and so on.

        Returns:
            A ``DataTree`` with ArviZ 1.0 or later, an ``InferenceData`` before.

        Raises:
            MissingExtraError: ArviZ is not installed.

        Examples:
            >>> list(posterior.to_arviz(space)["log_likelihood"].data_vars)
            ['choice_probability']
        """
        from choicebo.interop.arviz import to_arviz

        return to_arviz(self, space, objective_names=objective_names)

    def _points(self, X: ArrayLike) -> Array:
        points = numeric(X, "X", "(n, d)")
        dim = self.options.shape[1]
        if points.ndim != 2 or points.shape[1] != dim or len(points) == 0:
            raise InvalidInputError(f"X must have shape (n, {dim}) with n >= 1, got {points.shape}.")
        if not np.isfinite(points).all():
            row, column = np.argwhere(~np.isfinite(points))[0]
            raise InvalidInputError(
                f"X has a value that is not finite in row {row}, column {column}; give finite numbers."
            )
        return points


def of_several(fitted: Posterior, likelihood: Likelihood) -> Posterior:
    """The posterior of several people, from what an engine found with one row of options for each person."""
    if likelihood.people is None or likelihood.inducing is None:
        raise ValueError("there are no people")
    rows = np.unique(likelihood.rows)
    options = fitted.data.X[rows]
    inducing = np.searchsorted(rows, likelihood.rows[likelihood.inducing])
    names, own = likelihood.people.names, likelihood.people.own
    own = np.where(own >= 0, np.searchsorted(rows, likelihood.rows[own]), -1)
    people = PeopleDraws(names, fitted.hyper, fitted.whitened, inducing, own, likelihood.lapses)
    hyper, shared = people.shared()
    if len(inducing) < len(options):
        return dataclasses.replace(
            fitted, options=options, hyper=hyper, whitened=shared, inducing=inducing, people=people
        )
    prior = OptionPrior(options, fitted.spec.kernel, fitted.spec.nugget)
    shared = reordered(prior, hyper, shared, inducing, np.arange(len(options)))
    return dataclasses.replace(fitted, options=options, hyper=hyper, whitened=shared, inducing=None, people=people)


def first_rows(X: Array, wanted: Array) -> NDArray[np.int64]:
    """The first row of ``X: (m, d)`` that equals each of ``wanted: (n, d)``, all of which are there."""
    first: dict[bytes, int] = {}
    for row, key in enumerate(point_keys(X)):
        first.setdefault(key, row)
    return np.array([first[key] for key in point_keys(wanted)], dtype=np.int64)


def numeric(given: ArrayLike, name: str, shape: str) -> Array:
    """A float array of whatever shape, or an error that names the one accepted."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"{name} must be a numeric array of shape {shape}: {error}") from None


def _require_set(points: Array) -> None:
    if len(points) < 2:
        raise InvalidInputError("A choice needs at least two options to choose from, got one.")


def _chunks(points: Array, size: int) -> Iterator[Array]:
    return (points[at : at + size] for at in range(0, len(points), size))


def _mixture_quantile(mean: Array, deviation: Array, share: float) -> Array:
    """Quantile of normal distributions of ``mean: (draws, ...)`` and one ``deviation: (...)``, all equally probable."""
    from scipy.special import ndtr, ndtri

    spread = np.maximum(deviation, 1e-12)
    # It lies between the smallest and the largest quantile of a single one.
    low, high = (end + ndtri(share) * spread for end in (mean.min(0), mean.max(0)))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = ndtr((middle - mean) / spread).mean(0) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))
