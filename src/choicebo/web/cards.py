"""Options as cards: picture, title, and one line per value, with what differs between the cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choicebo.cli.fields import Field, describe, fields_of, title_of
from choicebo.space import Option
from choicebo.study import Study
from choicebo.web.pictures import picture_address


@dataclass(frozen=True)
class Line:
    """One value on a card."""

    name: str
    text: str
    unit: str
    share: float | None
    """Where it lies between the least (0) and the greatest (1) value; None where there is no order."""
    others: tuple[float, ...] = ()
    """Where the other cards lie."""
    rank: str = ""
    """``"most"`` or ``"least"`` of all cards."""


@dataclass(frozen=True)
class Card:
    """One option as it is shown."""

    position: int
    title: str
    new: bool
    picture: str | None
    description: str
    lines: tuple[Line, ...]
    """Only what differs between the cards."""


@dataclass(frozen=True)
class Deal:
    """Some cards side by side."""

    cards: tuple[Card, ...]
    shared: tuple[Line, ...]
    """What is the same on all."""


def deal(study: Study, options: Sequence[Option], new: Sequence[bool] = ()) -> Deal:
    """The cards of some options in the order given."""
    fields = fields_of(study.space)
    differing = [field for field in fields if len({field.text(option.get(field.name)) for option in options}) > 1]
    shared = [field for field in fields if field not in differing and options[0].get(field.name) is not None]
    cards = tuple(
        Card(
            position=position,
            title=title_of(study.space, option),
            new=position < len(new) and new[position],
            picture=picture_address(study, option),
            description=describe(study.space, option),
            lines=tuple(_line(field, position, options) for field in differing),
        )
        for position, option in enumerate(options)
    )
    return Deal(cards, tuple(_line(field, 0, options[:1]) for field in shared) if len(options) > 1 else ())


def single(study: Study, option: Option) -> Card:
    """The card of one option by itself, with all its values."""
    lines = tuple(_line(f, 0, [option]) for f in fields_of(study.space) if option.get(f.name) is not None)
    return Card(
        0, title_of(study.space, option), False, picture_address(study, option), describe(study.space, option), lines
    )


def _line(field: Field, position: int, options: Sequence[Option]) -> Line:
    value = options[position].get(field.name)
    if field.share is None or value is None:
        return Line(field.name, field.text(value), field.unit, None)
    shares = [None if o.get(field.name) is None else field.share(o[field.name]) for o in options]
    mine = shares[position]
    assert mine is not None
    others = [share for at, share in enumerate(shares) if share is not None and at != position]
    rank = ""
    if others and mine > max(others):
        rank = "most"
    elif others and mine < min(others):
        rank = "least"
    return Line(field.name, field.text(value), field.unit, mine, tuple(others), rank)
