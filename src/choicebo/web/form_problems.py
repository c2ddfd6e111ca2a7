"""Errors of a form, shown at their field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup, escape

from choicebo.errors import ChoiceboError, SpaceError
from choicebo.study import StudyExistsError


class FieldError(SpaceError):
    """Something that was typed into a field cannot be used, or a field was left empty."""

    def __init__(self, field: str, message: str, *, empty: bool = False) -> None:
        super().__init__(message)
        self.field = field
        """The name of the field; that of a parameter has its number, from 0, at the end: ``p-low-0``."""
        self.empty = empty
        """Whether the field only has to be filled in: no reason to speak up while somebody is typing."""


class Problems(NamedTuple):
    """Everything that is wrong with a form."""

    found: tuple[FieldError, ...] = ()

    @property
    def first(self) -> str:
        """The field to go to; empty if nothing is wrong, or with the form as a whole."""
        return self.found[0].field if self.found else ""

    def at(self, field: str) -> str:
        """What is wrong with a field; empty if nothing is."""
        return next((str(error) for error in self.found if error.field == field), "")

    @property
    def elsewhere(self) -> str:
        """What is wrong with the form as a whole."""
        return self.at("")

    def typed(self) -> Problems:
        """Without the fields that were only left empty."""
        return Problems(tuple(error for error in self.found if not error.empty))


FINE = Problems()


def placed(error: ChoiceboError, fields: Mapping[str, str]) -> FieldError:
    """An error of the library at the field of the first words that it holds; at none if it holds none of them."""
    if isinstance(error, FieldError):
        return error
    if isinstance(error, StudyExistsError):
        return FieldError("name", str(error))
    message = str(error)
    return FieldError(next((field for words, field in fields.items() if words in message), ""), message)


def explained(message: str) -> Markup:
    """A message whose indented lines, a text with carets under its spot, keep their columns.

    >>> explained("No.\\n    a b\\n      ^\\nWrite a_b.")
    Markup('No.<span class="caret">a b\\n  ^</span>Write a_b.')
    """
    lines = message.splitlines()
    code = [line[4:] for line in lines if line.startswith("    ")]
    if not code:
        return escape(message)
    before = lines[: next(number for number, line in enumerate(lines) if line.startswith("    "))]
    after = lines[len(before) + len(code) :]
    told, meant = escape(" ".join(before)), escape(" ".join(after))
    return Markup('{}<span class="caret">{}</span>{}').format(told, "\n".join(code), meant)
