"""What the next question is to be like: its context, and what a person asks of it.

They may keep properties, see more like an option, or compare with options of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Option, Searchable, Space
from choicebo.space.context import checked_context, contexts_of
from choicebo.space.values import suggestion


@dataclass(frozen=True)
class Steering:
    """Wishes for the next question. Locks and the context stay until others are given; the rest is of one question.

    >>> Steering({"flour": "rye"}).later
    Steering(locked={'flour': 'rye'}, like=None, include=(), context={})
    """

    locked: Mapping[str, Any] = field(default_factory=dict)
    """Values that all new options have, by name."""
    like: Option | None = None
    """New options resemble this one, which is shown beside them."""
    include: tuple[Option, ...] = ()
    """Options that are shown as they are."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """The context that all options have, by name; empty where a space has none."""

    def __bool__(self) -> bool:
        return bool(self.has_wishes or self.context)

    @property
    def has_wishes(self) -> bool:
        """Whether there is more to it than a context."""
        return bool(self.locked or self.like is not None or self.include)

    @property
    def later(self) -> Steering:
        """What is left of it once its question is asked."""
        return Steering(self.locked, context=self.context)

    @property
    def shown(self) -> tuple[Option, ...]:
        """Options that the question must show."""
        liked = () if self.like is None or self.like in self.include else (self.like,)
        return (*self.include, *liked)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-compatible data, without what is empty."""
        found: dict[str, Any] = {"locked": dict(self.locked), "like": self.like, "include": list(self.include)}
        found["context"] = dict(self.context)
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Steering:
        """What :meth:`to_dict` described."""
        context = dict(record.get("context") or {})
        return cls(dict(record.get("locked", {})), record.get("like"), tuple(record.get("include", ())), context)


def checked(
    space: Searchable,
    query_size: int,
    locked: Mapping[str, Any] | None = None,
    like: Any = None,
    include: Sequence[Any] = (),
    context: Mapping[str, Any] | None = None,
) -> Steering:
    """Wishes that the options of a space can fulfil, or an error that says which cannot be.

    Options of the person's own come in the context of the question, whatever theirs was.
    """
    given = {} if not context else checked_context(space, context)
    if isinstance(include, (str, bytes, Mapping)) or not isinstance(include, Sequence):
        raise InvalidInputError(f"include is {as_given(include)}: give a list of options.")
    own: list[Option] = []
    for option in include:
        offered = offerable(space, _in_context(option, given))
        if offered in own:
            raise InvalidInputError(f"include names {as_given(option)} twice: give each option once.")
        own.append(offered)
    liked = None if like is None else offerable(space, _in_context(like, given))
    found = Steering(_locked(space, {} if locked is None else locked), liked, tuple(own), given)
    if len(found.shown) >= query_size:
        raise InvalidInputError(
            f"{len(found.shown)} options of your own leave no room in a question of {query_size}: give at most {query_size - 1}."
        )
    return found


def _in_context(option: Any, context: Mapping[str, Any]) -> Any:
    return {**option, **context} if context and isinstance(option, Mapping) else option


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
        if any(name == each.name for each in contexts_of(space)):
            raise InvalidInputError(
                f"{name!r} is a context and cannot be locked: say it with context={{{name!r}: ...}}."
            )
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
    """The option that a person wrote: a value for each parameter of a space but its contexts, or the key of a catalogue's row.

    >>> from choicebo.space import Integer
    >>> written_option(Space([Integer("minutes", 5, 40)]), {"minutes": "12"})
    {'minutes': 12}
    """
    if isinstance(space, Space):
        chosen = [parameter for parameter in space.parameters if not parameter.context]
        return {parameter.name: parameter.parse(texts.get(parameter.name, "")) for parameter in chosen}
    assert isinstance(space, Catalogue)
    return space.parse(texts.get(space.key, ""))


def written_value(space: Searchable, name: str, text: str) -> Any:
    """The value that a person wrote for one property."""
    if isinstance(space, Space):
        return next(parameter for parameter in space.parameters if parameter.name == name).parse(text)
    there = {str(row[name]): row[name] for row in space.decode(space.enumerate(int(space.size)))}
    return there.get(text, text)
