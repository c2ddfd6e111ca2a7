"""What suits several people: all of them, each of them, and where they differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, counted, listed
from choicebo.insight.held_out import require_posterior
from choicebo.insight.taste_curves import TasteCurves
from choicebo.model.agreement import Agreement
from choicebo.model.draws import memberships
from choicebo.model.posterior import Posterior
from choicebo.model.random_answers import AT_RANDOM
from choicebo.optimizer.in_context import options_in
from choicebo.space import Searchable, Space

Array = NDArray[np.float64]

_THRESHOLD = 0.5
_DRAWS, _FEWEST_DRAWS, _ALL_DRAWS = 200, 50, 6000
"""Draws of each person; fewer if there are many people."""
_MOST_OPTIONS = 300
"""Of more options, only the most promising and the most informative are compared."""
_DIVIDES = 0.05
"""An option divides people if the standard deviation of their probabilities is at least this."""
_ALL_PAIRS = 3
"""Of more people than this, the sentences mention only the most alike and the least alike."""
_FEW = 3
"""Little is known about a person with fewer answers."""
UNNAMED = "unnamed"
"""Stands for whoever made the choices without a rater."""
_FRACTIONS = (
    (0.05, "Almost nothing"),
    (0.15, "About a tenth"),
    (0.225, "About a fifth"),
    (0.29, "About a quarter"),
    (0.42, "About a third"),
    (0.58, "About half"),
    (0.71, "About two thirds"),
    (0.775, "About three quarters"),
    (0.85, "About four fifths"),
    (0.95, "About nine tenths"),
    (1.01, "Almost all"),
)


class Keeping(NamedTuple):
    """What one person would keep of two options, apart from slips; the three add up to one."""

    name: str
    first: float
    """Probability that only the first is kept."""
    second: float
    """... only the second."""
    both: float


@dataclasses.dataclass(frozen=True, eq=False)
class OptionForPeople:
    """An option that was seen, and how probable it is that nothing beats it, for all and for each."""

    row: int
    """Row in the options of the posterior."""
    option: Any
    """As the space has it; without a space its point of the unit cube."""
    consensus: float
    """Probability that it is Pareto-optimal for what all share."""
    everybody: float
    """Probability that it is in the Pareto set of everybody who does not answer at random."""
    by_person: tuple[float, ...]
    """Probability that it is in each person's, in the order of the names."""
    spread: float
    """Standard deviation of these over the people who do not answer at random."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PeopleInsight:
    """What suits several people, and where they differ."""

    names: tuple[str, ...]
    """In the order of their first answers."""
    answers: tuple[int, ...]
    """How many choices each of them made."""
    at_random: tuple[str, ...]
    """Who seems to answer at random; their answers count for little."""
    options: tuple[OptionForPeople, ...]
    """Most probable for what all share first."""
    likeness: Agreement
    """How alike any two people are, and how much of taste is personal."""
    share: tuple[float, float, float]
    """The share of personal taste in what decides, and the ends of its 95 % interval."""
    sentences: tuple[str, ...]
    """The findings, in plain sentences."""
    posterior: Posterior
    space: Searchable | None = None

    def __repr__(self) -> str:
        return f"PeopleInsight({counted(len(self.names), 'person', 'people')}: {' '.join(self.sentences)})"

    @property
    def consensus(self) -> tuple[OptionForPeople, ...]:
        """The options that nothing beats for what all share."""
        return _probable(self.options, [each.consensus for each in self.options])

    def of(self, name: str) -> tuple[OptionForPeople, ...]:
        """Return the options that nothing beats for one person, the most probable first.

        Args:
            name: Of somebody who answered.

        Returns:
            At least one option.

        Raises:
            InvalidInputError: Nobody of that name answered.
        """
        if name not in self.names:
            known = ", ".join(map(repr, self.names[:20]))
            raise InvalidInputError(f"There is no answer by {as_given(name)}; those who answered are {known}.")
        place = self.names.index(name)
        return _probable(self.options, [each.by_person[place] for each in self.options])

    @property
    def for_everybody(self) -> tuple[OptionForPeople, ...]:
        """The options that are probably acceptable to everybody, the most probable first; often there is none."""
        return tuple(each for each in self._by_everybody if each.everybody >= _THRESHOLD)

    @property
    def compromise(self) -> OptionForPeople:
        """The option that is most probably acceptable to everybody; if none is to all, to most of them."""
        return self._by_everybody[0]

    @property
    def dividing(self) -> tuple[OptionForPeople, ...]:
        """The options that divide people, those that do so most first."""
        found = [each for each in self.options if each.spread >= _DIVIDES]
        return tuple(sorted(found, key=lambda each: -each.spread))

    def keepers(self, option: OptionForPeople) -> tuple[str, ...]:
        """Those for whom nothing probably beats an option."""
        return tuple(name for name in self.names if option in self.of(name))

    def who_keeps(self, first: Any, second: Any) -> tuple[Keeping, ...]:
        """Say of two options, seen or not, who would keep which.

        Args:
            first: An option as the space takes it; without a space, a point of the unit cube.
            second: Another one.

        Returns:
            One entry for each person, in the order of the names.
        """
        pair: ArrayLike = [first, second]
        X = np.asarray(pair, dtype=np.float64) if self.space is None else self.space.encode([first, second])
        found = []
        for name, (_, person) in zip(self.names, self.posterior.by_person(), strict=True):
            kept = memberships(person.draws.at(X, 0))
            one, other = ((kept[:, at] & ~kept[:, 1 - at]).mean() for at in (0, 1))
            found.append(Keeping(name, float(one), float(other), float(kept.all(1).mean())))
        return tuple(found)

    @property
    def _by_everybody(self) -> list[OptionForPeople]:
        places = [place for place, name in enumerate(self.names) if name not in self.at_random]
        places = places or list(range(len(self.names)))
        return sorted(self.options, key=lambda o: (-o.everybody, -sum(o.by_person[place] for place in places)))

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-compatible data."""
        alike = self.likeness
        return {
            "people": [
                {"name": name, "answers": answers, "at_random": name in self.at_random, "lapse": float(lapse)}
                for name, answers, lapse in zip(self.names, self.answers, alike.lapses, strict=True)
            ],
            "share": dict(zip(("estimate", "lower", "upper"), self.share, strict=True)),
            "sentences": list(self.sentences),
            "matrix": {
                "mean": alike.matrix.tolist(),
                "lower": alike.matrix_lower.tolist(),
                "upper": alike.matrix_upper.tolist(),
            },
            "consensus": [self._plain(each) for each in self.consensus],
            "for_everybody": [self._plain(each) for each in self.for_everybody],
            "compromise": self._plain(self.compromise),
            "dividing": [self._plain(each) for each in self.dividing],
            "own": {name: [self._plain(each) for each in self.of(name)] for name in self.names},
        }

    def _plain(self, each: OptionForPeople) -> dict[str, Any]:
        return {
            "option": each.option,
            "consensus": each.consensus,
            "everybody": each.everybody,
            "by_person": dict(zip(self.names, each.by_person, strict=True)),
        }


def agreement(
    posterior: Posterior,
    space: Searchable | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> PeopleInsight:
    """Compare several people: what suits all of them, what suits each, and where they differ.

    Args:
        posterior: Of ``ChoiceGP(raters="related")``, fitted to choices of at least two people.
        space: What was asked about; gives options and parameters their names. None: inputs from 0 to 1.
        context: Where the space has a `Context`: its value, in which options are compared and tastes described.
        seed: Of the points over which effects are averaged.

    Returns:
        Options for all and for each, how alike people are, and what there is to say of it in words.

    Raises:
        InvalidInputError: The model does not tell people apart, or the space is another one.

    Examples:
        >>> import choicebo as cb
        >>> space = cb.Space([cb.Real("sweet", 0, 1)])
        >>> told = [("ann", 0), ("bo", 1)] * 6
        >>> data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (kept,), rater=name) for name, kept in told])
        >>> found = agreement(cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=0), space)
        >>> [each.name for each in found.who_keeps({"sweet": 0.1}, {"sweet": 0.9}) if each.first > 0.5]
        ['ann']
    """
    require_posterior(posterior)
    alike = posterior.agreement  # says what is needed, if the model does not tell people apart
    if space is not None and len(space.columns) != posterior.options.shape[1]:
        raise InvalidInputError(
            f"The space has {len(space.columns)} columns, but the model learned from "
            f"{posterior.options.shape[1]}; give the space of its options."
        )
    names = tuple(UNNAMED if name is None else name for name in alike.names)
    count = max(_FEWEST_DRAWS, min(_DRAWS, _ALL_DRAWS // len(names)))
    few = posterior.sketch(count, len(posterior.options))
    people = few.by_person()
    random = [place for place, lapse in enumerate(alike.lapses) if lapse >= AT_RANDOM]
    counted_in = [place for place in range(len(names)) if place not in random] or list(range(len(names)))
    answers = tuple(len(choices) for choices, _ in people)
    share = _share(posterior, alike)
    found = PeopleInsight(
        names=names,
        answers=answers,
        at_random=tuple(names[place] for place in random),
        options=_options(few, [person for _, person in people], counted_in, space, context),
        likeness=alike,
        share=share,
        sentences=(_told_share(*share),),
        posterior=few,
        space=space,
    )
    here = space.within(context) if context and isinstance(space, Space) else space
    curves = TasteCurves.of([person for _, person in people], here, seed) if len(counted_in) > 1 else None
    told = [*found.sentences, *_told_of_options(found)]
    if curves is not None:
        told += _told_tastes(names, alike.matrix, counted_in, curves)
    told += [f"{name} seems to answer at random and counts for little." for name in found.at_random[:5]]
    if len(found.at_random) > 5:
        told.append(f"So do {len(found.at_random) - 5} more.")
    told += _told_few(names, answers)
    return dataclasses.replace(found, sentences=tuple(told))


def _options(
    few: Posterior,
    people: Sequence[Posterior],
    counted_in: Sequence[int],
    space: Searchable | None,
    context: Mapping[str, Any] | None,
) -> tuple[OptionForPeople, ...]:
    rows = np.arange(len(few.options))
    if len(rows) > _MOST_OPTIONS and few.people is not None:
        promising = np.argsort(-few.pareto_probability(few.options, draws=_FEWEST_DRAWS), kind="stable")
        ranked = np.stack([promising[: len(few.people.inducing)], few.people.inducing], axis=1).reshape(-1)
        rows = np.sort(list(dict.fromkeys(ranked.tolist()))[:_MOST_OPTIONS])
    X = few.options[rows]
    if context and space is not None:
        X = options_in(space, X, context)
        rows = np.arange(len(X))
    consensus = memberships(few.draws.at(X, 0)).mean(0)
    everybody, by_person = np.ones((few.draws.count, len(X)), dtype=np.bool_), np.empty((len(people), len(X)))
    for place, person in enumerate(people):
        member = memberships(person.draws.at(X, 0))
        by_person[place] = member.mean(0)
        if place in counted_in:
            everybody &= member
    spread, all_of_them = by_person[list(counted_in)].std(0), everybody.mean(0)
    options = [tuple(map(float, row)) for row in X] if space is None else space.decode(X)
    return tuple(
        OptionForPeople(
            row=int(rows[at]),
            option=options[at],
            consensus=float(consensus[at]),
            everybody=float(all_of_them[at]),
            by_person=tuple(map(float, by_person[:, at])),
            spread=float(spread[at]),
        )
        for at in np.argsort(-consensus, kind="stable")
    )


def _probable(options: Sequence[OptionForPeople], probability: Sequence[float]) -> tuple[OptionForPeople, ...]:
    """The options of at least the probability of one half, or of the highest, the most probable first."""
    least = min(_THRESHOLD, max(probability))
    ranked = sorted(zip(probability, options, strict=True), key=lambda each: -each[0])
    return tuple(option for share, option in ranked if share >= least)


def _share(posterior: Posterior, alike: Agreement) -> tuple[float, float, float]:
    """The personal part of the variance of all hidden objectives together, and its interval."""
    of_people = posterior.newcomer().mixing
    weights = (of_people**2).sum(0) / (of_people**2).sum()
    estimate, lower, upper = (float(weights @ each) for each in (alike.share, alike.lower, alike.upper))
    return estimate, min(lower, estimate), max(upper, estimate)


def _told_share(estimate: float, lower: float, upper: float) -> str:
    words = next(words for limit, words in _FRACTIONS if estimate < limit)
    return f"{words} of what decides the answers is personal taste (between {100 * lower:.0f} and {100 * upper:.0f} %)."


def _told_of_options(found: PeopleInsight) -> list[str]:
    suiting, total = len(found.for_everybody), len(found.names) - len(found.at_random)
    if suiting:
        return [
            f"{counted(suiting, 'option')} of those seen {'is' if suiting == 1 else 'are'} probably acceptable to everybody."
        ]
    keep = sum(name not in found.at_random for name in found.keepers(found.compromise))
    told = "No option seen so far is probably acceptable to everybody"
    return [f"{told}; the best compromise is among the best for {keep} of {total}." if keep else f"{told}."]


def _told_tastes(names: Sequence[str], matrix: Array, people: Sequence[int], curves: TasteCurves) -> list[str]:
    pairs = [(r, s) for at, r in enumerate(people) for s in people[at + 1 :]]
    if len(people) <= _ALL_PAIRS:
        return [
            told for pair in pairs if (told := _told_pair([names[place] for place in pair], *curves.compared(pair)))
        ]
    found = [f"Taken together they {words}." if (words := _compared(*curves.compared(people))) else ""]
    ranked = sorted(pairs, key=lambda pair: -matrix[pair])
    for pair, most in ((ranked[0], "most"), (ranked[-1], "least")):
        two, words = listed([names[place] for place in pair]), _compared(*curves.compared(pair))
        found.append(f"{two} are the {most} alike{': they ' + words if words else ''}.")
    return [each for each in found if each]


def _told_pair(names: Sequence[str], agree: Sequence[str], differ: Sequence[str]) -> str:
    words = _compared(agree, differ)
    return f"{listed(names)} {words}." if words else f"What {listed(names)} agree about is not clear yet."


def _compared(agree: Sequence[str], differ: Sequence[str]) -> str:
    parts = [f"{verb} about {listed(each[:3])}" for verb, each in (("agree", agree), ("differ", differ)) if each]
    return " and ".join(parts)


def _told_few(names: Sequence[str], answers: Sequence[int]) -> list[str]:
    few = [name for name, count in zip(names, answers, strict=True) if count < _FEW]
    if not few:
        return []
    who = listed(few) if len(few) <= 5 else f"{len(few):,} people"
    return [
        f"{who} gave fewer than {_FEW} answers, so most of what the model believes about them comes from the others."
    ]
