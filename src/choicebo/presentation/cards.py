"""Options side by side: what differs between them, what they share, and where each value lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from choicebo.presentation.fields import NOTHING, Field, Measured, describe, title_of, told_fields
from choicebo.space import Catalogue, Option, Space

Picture = Callable[[Option], str | None]
"""The address of an option's picture; None if it has none."""


@dataclass(frozen=True)
class Line:
    """One value on a card."""

    field: Field
    text: str
    """Empty where the option has no value."""
    share: float | None = None
    """Where it lies between the least (0) and the greatest (1) value; None where there is no order."""
    others: tuple[float, ...] = ()
    """Where the other cards lie."""
    rank: str = ""
    """``"most"`` or ``"least"`` of all cards."""

    @property
    def words(self) -> str:
        """The value with its name and unit."""
        return self.field.words(self.text)


@dataclass(frozen=True)
class Card:
    """One option as it is shown."""

    position: int
    title: str
    description: str
    lines: tuple[Line, ...]
    new: bool = False
    picture: str | None = None


@dataclass(frozen=True)
class Comparison:
    """Some cards side by side, whose lines are only those in which not all agree."""

    cards: tuple[Card, ...]
    shared: tuple[Line, ...]
    """What is the same on all."""


def compare(
    space: Space | Catalogue,
    options: Sequence[Option],
    new: Sequence[bool] = (),
    picture: Picture | None = None,
    measured: Measured = NOTHING,
) -> Comparison:
    """The cards of some options in the order given.

    Args:
        space: What they belong to.
        options: The options.
        new: Which of them were never shown before.
        picture: Where the picture of each is.
        measured: What is known of measured objectives.

    >>> from choicebo.space import Categorical, Integer
    >>> space = Space([Integer("minutes", 5, 40, unit="min"), Categorical("flour", ["rye", "wheat"])])
    >>> found = compare(space, [{"minutes": 12, "flour": "rye"}, {"minutes": 30, "flour": "rye"}])
    >>> [[line.words for line in card.lines] for card in found.cards], [line.words for line in found.shared]
    ([['minutes 12 min'], ['minutes 30 min']], ['flour rye'])
    """
    differing, shared = [], []
    for field in told_fields(space, measured):
        lines = _lines(field, options)
        if len({line.text for line in lines}) > 1:
            differing.append(lines)
        elif lines[0].text:
            shared.append(lines[0])
    shown_first = {position for position, is_new in enumerate(new) if is_new}
    cards = tuple(
        _card(
            space,
            option,
            picture,
            tuple(lines[position] for lines in differing),
            measured,
            position,
            position in shown_first,
        )
        for position, option in enumerate(options)
    )
    return Comparison(cards, tuple(shared))


def card_of(
    space: Space | Catalogue, option: Option, picture: Picture | None = None, measured: Measured = NOTHING
) -> Card:
    """The card of one option by itself, with all its values."""
    lines = [_lines(field, [option])[0] for field in told_fields(space, measured)]
    return _card(space, option, picture, tuple(line for line in lines if line.text), measured)


def _card(
    space: Space | Catalogue,
    option: Option,
    picture: Picture | None,
    lines: tuple[Line, ...],
    measured: Measured,
    position: int = 0,
    new: bool = False,
) -> Card:
    address = None if picture is None else picture(option)
    return Card(position, title_of(space, option), describe(space, option, measured), lines, new, address)


def _lines(field: Field, options: Sequence[Option]) -> list[Line]:
    """What each option says in one field."""
    values = [field.of(option) for option in options]
    texts = ["" if value is None else field.text(value) for value in values]
    shares = [None if value is None or field.share is None else field.share(value) for value in values]
    return [_line(field, text, shares, position) for position, text in enumerate(texts)]


def _line(field: Field, text: str, shares: Sequence[float | None], position: int) -> Line:
    mine = shares[position]
    others = [share for at, share in enumerate(shares) if share is not None and at != position]
    if mine is None:
        return Line(field, text)
    rank = ""
    if others and mine > max(others):
        rank = "most"
    elif others and mine < min(others):
        rank = "least"
    return Line(field, text, mine, tuple(others), rank)
