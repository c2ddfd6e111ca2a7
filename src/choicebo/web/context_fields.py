"""The context on the pages: a field for each, near the question and above the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from choicebo.formatting import value_text
from choicebo.presentation.fields import fields_of
from choicebo.space import Catalogue, Space
from choicebo.space.context import checked_context, contexts_of
from choicebo.space.discrete import Discrete

_FIELD = "context-"


@dataclass(frozen=True)
class ContextField:
    """A list of values, or a number."""

    name: str
    label: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    """Each value of a list, as it is sent and as it is read."""
    low: str = ""
    high: str = ""
    step: str = "any"


def context_fields(space: Space | Catalogue, context: Mapping[str, Any]) -> list[ContextField]:
    """A field for each context, filled in."""
    headings = {field.name: field.heading for field in fields_of(space)}
    found = []
    for at, parameter in enumerate(contexts_of(space)):
        name, label, value = f"{_FIELD}{at}", headings[parameter.name], _sent(context[parameter.name])
        if isinstance(parameter, Discrete):
            choices = [(_sent(each), value_text(each)) for each in parameter.values]
            found.append(ContextField(name, label, value, choices))
        else:
            low, high = (_sent(getattr(parameter, end)) for end in ("low", "high"))
            step = "1" if parameter.kind == "integer" else "any"
            found.append(ContextField(name, label, value, low=low, high=high, step=step))
    return found


def _sent(value: Any) -> str:
    """A value as a form sends it, from which it can be read back."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def sent_context(space: Space | Catalogue, sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """The context in a form or an address; None if there is none."""
    contexts = contexts_of(space)
    texts = {each.name: str(sent[key]) for at, each in enumerate(contexts) if (key := f"{_FIELD}{at}") in sent}
    if not texts:
        return None
    given = {each.name: each.parse(texts[each.name]) for each in contexts if each.name in texts}
    return checked_context(space, given)


def context_pairs(space: Space | Catalogue, context: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """A context as hidden fields of a form, or parts of an address."""
    if not context:
        return []
    return [(f"{_FIELD}{at}", _sent(context[each.name])) for at, each in enumerate(contexts_of(space))]


def query_of(pairs: Sequence[tuple[str, str]]) -> str:
    """What comes behind an address; empty if there is nothing.

    >>> query_of([("rater", "Ann")]), query_of([])
    ('?rater=Ann', '')
    """
    return f"?{urlencode(pairs)}" if pairs else ""
