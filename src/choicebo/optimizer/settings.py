"""How an optimiser asks: everything but the space and the answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from choicebo.choices.marks import ANSWERS, ONE_OBJECTIVE
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.pareto import MAX_OBJECTIVES
from choicebo.space import Option, known_of
from choicebo.space.context import first_context

if TYPE_CHECKING:
    from choicebo.acquisition import Acquisition
    from choicebo.model.covariance import Kernel
    from choicebo.model.engines import Engine
    from choicebo.model.gp import ChoiceGP
    from choicebo.space import KnownObjectives, Searchable

BASELINES = ("random", "sobol")
"""Strategies without a model."""
DEFAULT = ("ehvi", "variation")
"""What ``acquisition="default"`` stands for: these share the new options, and one that finds little leaves more of them
to the last."""
LEAST_DIFFERENCE = 0.02
"""It costs the search nothing: see ``docs/explanation/asking.md``."""
NEW_PER_QUERY = 2
COMPANIONS = "doubted"
NEWCOMER_QUERIES = 2
"""Fewer than for the first person: the model can soon go by what the others answered."""


@dataclass(frozen=True)
class Settings:
    """Settings of a `ChoiceOptimizer`; each is a keyword argument of it.

    Examples:
        >>> Settings(query_size=4).new_per_query
        2
    """

    latent_dim: int | str = "auto"
    """Number of hidden objectives, beside those that the space says are known, or "auto": chosen by leave-one-out accuracy as
    answers come in. 0 only where some are known."""
    acquisition: str | Acquisition = "default"
    """"default", "ucb", "ehvi", "thompson", "scalarised_thompson", "variation", "information", "random" or "sobol"; several,
    joined by "+", share the new options, and one that finds little leaves more of them to the last. Or an acquisition of your
    own."""
    query_size: int = 5
    """How many options are shown at once."""
    seed: int = 0
    new_per_query: int = NEW_PER_QUERY
    """How many of them were never shown before: 1 where an option costs money to make, more where it is a picture."""
    initial_queries: int | None = None
    """Space-filling questions before the model takes over; None: three, and one more for every two inputs, at most six."""
    baseline: Option | None = None
    """An option that the person has today: "none of these" then means that it beats all that are shown."""
    companions: str = COMPANIONS
    """How known options are chosen: "dominated" (most probably beaten by the new ones), "doubted" (the same, but one of three or
    more may wrongly be taken for beaten) or "informative"."""
    kernel: str | Kernel = "matern32"
    engine: str | Engine = "hmc"
    lapse: float = 0.01
    correlated: bool = False
    """Whether hidden objectives may be correlated. That predicts better with a hundred answers and more; with the few dozens of a
    study, correlations are learned that are not there, and what drives each objective is harder to tell."""
    allow_repeats: bool = False
    """Whether an option shown before may be proposed as new: where answers are noisy, repetition averages."""
    least_difference: float = LEAST_DIFFERENCE
    """Two options of one question differ by at least this fraction of some parameter's range, so that a person can tell them
    apart; any two categories do. Where too few options are left, they may differ less. 0: they need only be different."""

    answer: str = "subset"
    """How a question is answered: "subset" (all that no other one beats), "best" (one), "best-worst" (the best and the worst),
    "ranking" (in order, all or the first few) or "pair" (one of two, or both if the person cannot decide). A pair shows two
    options, one of them new; with ``query_size=2``, as many as ``new_per_query`` says."""
    likelihood: str = "choice"
    """What an answer says about the hidden objectives, as in :class:`~choicebo.ChoiceGP`. With a likelihood of one objective,
    ``latent_dim="auto"`` is 1."""
    threshold: float = 1.0
    """With ``likelihood="noticeable_difference"``: the least difference that is noticed, in units of the noise."""

    def __post_init__(self) -> None:
        from choicebo.acquisition.propose import COMPANIONS as rules
        from choicebo.model.dimension import FIRST_DIM

        if not isinstance(self.answer, str) or self.answer not in ANSWERS:
            raise InvalidInputError(f"answer is {as_given(self.answer)}; give one of {', '.join(map(repr, ANSWERS))}.")
        self._take_defaults_of_answer()
        automatic = isinstance(self.latent_dim, str) and self.latent_dim == "auto"
        if not automatic and (_not_count(self.latent_dim, 0) or self.latent_dim > MAX_OBJECTIVES):  # type: ignore[operator]
            raise InvalidInputError(
                f'latent_dim is {as_given(self.latent_dim)}; give "auto" or a whole number from 1 to {MAX_OBJECTIVES}.'
            )
        self.acquisitions  # noqa: B018  (refuses unknown names)
        for flag in ("correlated", "allow_repeats"):
            if not isinstance(getattr(self, flag), bool):
                raise InvalidInputError(f"{flag} is {as_given(getattr(self, flag))}; give True or False.")
        for name, low in (("query_size", 2), ("new_per_query", 1), ("seed", 0)):
            if _not_count(getattr(self, name), low):
                raise InvalidInputError(
                    f"{name} is {as_given(getattr(self, name))}; give a whole number of at least {low}, below 2**63."
                )
        if self.query_size > 12:
            raise InvalidInputError(
                f"query_size is {as_given(self.query_size)}; that is too many to compare at once: give at most 12."
            )
        if self.new_per_query > self.query_size:
            raise InvalidInputError(
                f"new_per_query is {as_given(self.new_per_query)}, more than query_size = {self.query_size}; give "
                "at most that."
            )
        if self.initial_queries is not None and _not_count(self.initial_queries, 1):
            raise InvalidInputError(
                f"initial_queries is {as_given(self.initial_queries)}; give a whole number of at least 1, or None."
            )
        if not isinstance(self.companions, str) or self.companions not in rules:
            raise InvalidInputError(
                f"companions is {as_given(self.companions)}; give one of {', '.join(map(repr, rules))}."
            )
        least = self.least_difference
        if isinstance(least, bool) or not isinstance(least, (int, float)) or not 0.0 <= least <= 0.5:
            raise InvalidInputError(
                f"least_difference is {as_given(least)}; give a fraction of a parameter's range from 0 to 0.5."
            )
        self._model(FIRST_DIM if automatic else max(int(self.latent_dim), 1), self.engine)

    def _take_defaults_of_answer(self) -> None:
        """Adapt the defaults to the way of answering; refuse given values that do not fit it."""
        if self.answer == "pair":
            if self.query_size not in (2, Settings.query_size):
                raise InvalidInputError(
                    f"query_size is {as_given(self.query_size)}, but a pair shows 2 options; leave "
                    "query_size out, or give another answer."
                )
            if self.query_size == Settings.query_size:
                object.__setattr__(self, "query_size", 2)
                if self.new_per_query == NEW_PER_QUERY:
                    object.__setattr__(self, "new_per_query", 1)
        if self.answer == "best-worst" and self.query_size == 2:
            raise InvalidInputError(
                "query_size is 2, but answer='best-worst' needs at least 3 options; give at least 3."
            )
        likelihood = self.likelihood if isinstance(self.likelihood, str) else ""
        if likelihood in ONE_OBJECTIVE and self.latent_dim == "auto":
            object.__setattr__(self, "latent_dim", 1)
        if likelihood == "batch_preference" and self.answer in ("subset", "pair"):
            raise InvalidInputError(
                f"likelihood is 'batch_preference', which learns from one winner, but answer is {self.answer!r}, "
                "which may keep "
                "several; give answer='best', 'best-worst' or 'ranking'."
            )

    @property
    def acquisitions(self) -> tuple[str, ...]:
        """The names behind ``acquisition``, in the order in which they find new options."""
        from choicebo.acquisition import ACQUISITIONS

        given = self.acquisition
        if not isinstance(given, str) and hasattr(given, "score"):
            return (str(given.name),)
        names = () if not isinstance(given, str) else DEFAULT if given == "default" else tuple(given.split("+"))
        accepted = ("default", *ACQUISITIONS, *BASELINES)
        unknown = [name for name in names if name not in ACQUISITIONS and name not in BASELINES]
        alone = len(names) > 1 and any(name in BASELINES for name in names)
        if not names or unknown or alone:
            raise InvalidInputError(
                f"acquisition is {as_given(given)}; give one of {', '.join(map(repr, accepted))}, or several that "
                "use the model, "
                'joined by "+".'
            )
        return names

    @property
    def acquisition_objects(self) -> tuple[Acquisition, ...]:
        """What finds new options with the model."""
        from choicebo.acquisition import ACQUISITIONS

        if not isinstance(self.acquisition, str):
            return (self.acquisition,)
        return tuple(ACQUISITIONS[name] for name in self.acquisitions)

    def model(self, latent_dim: int, known: KnownObjectives | None = None) -> ChoiceGP:
        """The model with this many hidden objectives, besides the known ones."""
        from choicebo.model.engines import question_engine

        engine = question_engine(self.engine) if isinstance(self.engine, str) else self.engine
        return self._model(latent_dim, engine, known)

    def _model(self, latent_dim: int, engine: str | Engine, known: KnownObjectives | None = None) -> ChoiceGP:
        from choicebo.model.gp import ChoiceGP

        return ChoiceGP(
            latent_dim,
            kernel=self.kernel,
            engine=engine,
            likelihood=self.likelihood,
            lapse=self.lapse,
            correlated=self.correlated,
            known=known,
            threshold=self.threshold,
        )

    def checked(self, space: Searchable) -> Settings:
        """The same for the options of a space, which must be fit to be asked about."""
        from choicebo.space import Searchable

        if not isinstance(space, Searchable):
            raise InvalidInputError(f"space is a {type(space).__name__}; give a Space or a Catalogue.")
        if space.size < 2:
            raise InvalidInputError(
                "The space holds a single option, but a choice needs at least two; widen the space."
            )
        known = known_of(space)
        if self.latent_dim == 0 and known is None:
            raise InvalidInputError(
                "latent_dim is 0 and no objective of the space is known; give at least 1, or a space with "
                "objectives=[...]."
            )
        hidden = 1 if isinstance(self.latent_dim, str) else self.latent_dim
        if known is not None and len(known) + hidden > MAX_OBJECTIVES:
            raise InvalidInputError(
                f"The space has {len(known)} known objectives and latent_dim is {self.latent_dim}; "
                f"together they may be at most {MAX_OBJECTIVES}."
            )
        return self if self.baseline is None else dataclasses.replace(self, baseline=self._baseline_in(space))

    def _baseline_in(self, space: Searchable) -> Option:
        """The baseline as an option of a space; a context may be left out, for it is that of each question."""
        given = {**first_context(space), **self.baseline} if isinstance(self.baseline, Mapping) else self.baseline
        return space.validate(given)

    def first_queries(self, dim: int) -> int:
        """Space-filling questions in a space of ``dim`` cube columns."""
        return min(3 + dim // 2, 6) if self.initial_queries is None else self.initial_queries

    def newcomer_queries(self, dim: int) -> int:
        """Space-filling questions for somebody who joins those whom the model knows already."""
        return min(NEWCOMER_QUERIES, self.first_queries(dim))

    def needs_model(self, answers: int, dim: int) -> bool:
        """Whether the question after so many answers is computed with the model.

        Examples:
            >>> Settings(initial_queries=3).needs_model(2, dim=4), Settings(initial_queries=3).needs_model(3, dim=4)
            (False, True)
        """
        return answers >= self.first_queries(dim) and self.acquisitions[0] not in BASELINES

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible record of all settings."""
        for name in ("acquisition", "engine", "kernel"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInputError(f"{name} is an object and cannot be stored; give its name instead, as a text.")
        return {**vars(self), "baseline": None if self.baseline is None else dict(self.baseline)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Settings:
        """The settings that `to_dict` described; what is missing takes its default."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(record, Mapping):
            raise InvalidInputError(f"The settings are {as_given(record)}; give a dict of {', '.join(sorted(names))}.")
        unknown = [name for name in record if name not in names]
        if unknown:
            raise InvalidInputError(
                f"There is no setting {as_given(unknown[0])}; give some of {', '.join(sorted(names))}."
            )
        return cls(**record)


def _not_count(value: object, low: int) -> bool:
    """Whether it is no whole number from ``low`` to what a database stores."""
    return isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**63
