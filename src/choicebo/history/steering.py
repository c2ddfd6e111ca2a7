"""What a person asks of the next question: properties to keep, an option to see more of, options of their own to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Option, Searchable, Space
from choicebo.space.values import suggestion


@dataclass(frozen=True)
class Steering:
    """Wishes for the next question. Locks stay until they are taken off; the others are of one question.

    >>> Steering({"flour": "rye"}).later
    Steering(locked={'flour': 'rye'}, like=None, include=())
    """

    locked: Mapping[str, Any] = field(default_factory=dict)
    """Values that all new options have, by name."""
    like: Option | None = None
    """New options resemble this one, which is shown beside them."""
    include: tuple[Option, ...] = ()
    """Options that are shown as they are."""

    def __bool__(self) -> bool:
        return bool(self.locked or self.like is not None or self.include)

    @property
    def later(self) -> Steering:
        """What is left of it once its question is asked."""
        return Steering(self.locked)

    @property
    def shown(self) -> tuple[Option, ...]:
        """Options that the question must show."""
        liked = () if self.like is None or self.like in self.include else (self.like,)
        return (*self.include, *liked)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-compatible data, without what is empty."""
        found: dict[str, Any] = {"locked": dict(self.locked), "like": self.like, "include": list(self.include)}
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Steering:
        """What :meth:`to_dict` described."""
        return cls(dict(record.get("locked", {})), record.get("like"), tuple(record.get("include", ())))


def checked(
    space: Searchable,
    query_size: int,
    locked: Mapping[str, Any] | None = None,
    like: Any = None,
    include: Sequence[Any] = (),
) -> Steering:
    """Wishes that the options of a space can fulfil, or an error that says which cannot be."""
    if isinstance(include, (str, bytes, Mapping)) or not isinstance(include, Sequence):
        raise InvalidInputError(f"include is {as_given(include)}: give a list of options.")
    own: list[Option] = []
    for option in include:
        offered = offerable(space, option)
        if offered in own:
            raise InvalidInputError(f"include names {as_given(option)} twice: give each option once.")
        own.append(offered)
    liked = None if like is None else offerable(space, like)
    found = Steering(_locked(space, {} if locked is None else locked), liked, tuple(own))
    if len(found.shown) >= query_size:
        raise InvalidInputError(
            f"{len(found.shown)} options of your own leave no room in a question of {query_size}: give at most {query_size - 1}."
        )
    return found


def offerable(space: Searchable, option: Any) -> Option:
    """An option of the space that breaks no constraint."""
    valid = space.validate(option)
    broken = space.violated(valid) if isinstance(space, Space) else ()
    if broken:
        raise InvalidInputError(f"The option {as_given(valid)} breaks the constraint {broken[0]!r}: change it to fit.")
    return valid


def _locked(space: Searchable, given: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"locked is {as_given(given)}: give a dict such as {{{space.names[0]!r}: value}}.")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not isinstance(name, str) or name not in space.names:
            raise InvalidInputError(f"There is no {as_given(name)} to lock. {suggestion(str(name), space.names)}")
        found[name] = _value(space, name, value)
    return found


def _value(space: Searchable, name: str, value: Any) -> Any:
    """A value as the options of the space have it."""
    if isinstance(space, Space):
        template = space.decode(space.sample(1))[0]
        return space.validate({**template, name: value})[name]
    there = {row[name] for row in space.decode(space.enumerate(int(space.size)))}
    if not _hashable(value) or value not in there:
        raise SpaceError(f"No option has {name!r} at {as_given(value)}: give a value that one of them has.")
    return value


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def written_option(space: Searchable, texts: Mapping[str, str]) -> Option:
    """The option that a person wrote: a value for each parameter of a space, or the key of a catalogue's row.

    >>> from choicebo.space import Integer
    >>> written_option(Space([Integer("minutes", 5, 40)]), {"minutes": "12"})
    {'minutes': 12}
    """
    if isinstance(space, Space):
        return {parameter.name: parameter.parse(texts.get(parameter.name, "")) for parameter in space.parameters}
    assert isinstance(space, Catalogue)
    return space.parse(texts.get(space.key, ""))


def written_value(space: Searchable, name: str, text: str) -> Any:
    """The value that a person wrote for one property."""
    if isinstance(space, Space):
        return next(parameter for parameter in space.parameters if parameter.name == name).parse(text)
    there = {str(row[name]): row[name] for row in space.decode(space.enumerate(int(space.size)))}
    return there.get(text, text)
