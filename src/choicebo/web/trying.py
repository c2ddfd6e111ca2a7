"""Options that a person puts together on the result page, to see how probable they are to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from choicebo.errors import InvalidInputError
from choicebo.formatting import value_text
from choicebo.presentation.cards import Card
from choicebo.presentation.fields import Field, fields_of, title_of
from choicebo.space import Catalogue, Integer, Option, Parameter, Real
from choicebo.study import Study, StudyResult
from choicebo.study.measured import measured_of
from choicebo.web import pictures

_FIELD = "try-"
_ROW = "try-row"
_STEPS = 200
_MOST_ROWS = 500


@dataclass(frozen=True)
class Control:
    """A field of the form: a slider, a number or a list."""

    name: str
    label: str
    value: str
    kind: str
    """``"range"``, ``"number"`` or ``"select"``."""
    low: str = ""
    high: str = ""
    step: str = ""
    choices: Sequence[tuple[str, str]] = ()
    """Value and text of each entry of a list."""


@dataclass(frozen=True)
class Tried:
    """An option that was put together."""

    card: Card | None = None
    probability: float = 0.0
    seen: bool = False
    problem: str = ""
    """Why it cannot be offered, in a sentence."""


def is_asked(given: Mapping[str, str]) -> bool:
    """Whether an address holds an option to try."""
    return any(name.startswith(_FIELD) for name in given)


def controls(study: Study, found: StudyResult, given: Mapping[str, str]) -> list[Control]:
    """The form, filled in as before, or with the best option."""
    space, best = study.space, found.points[0].option
    if isinstance(space, Catalogue):
        rows = [(value_text(row[space.key]), title_of(space, row)) for row in space.rows[:_MOST_ROWS]]
        return [Control(_ROW, "option", given.get(_ROW, value_text(best[space.key])), "select", choices=rows)]
    headings = {field.name: field.heading for field in fields_of(space)}
    return [
        _control(f"{_FIELD}{at}", parameter, headings[parameter.name], given.get(f"{_FIELD}{at}"), best)
        for at, parameter in enumerate(space.parameters)
        if not parameter.context
    ]


def _control(name: str, parameter: Parameter, label: str, given: str | None, best: Option) -> Control:
    value = value_text(best[parameter.name]) if given is None else given
    if not isinstance(parameter, (Real, Integer)):
        choices = [(value_text(each), value_text(each)) for each in getattr(parameter, "values", ())]
        return Control(name, label, value, "select", choices=choices)
    low, high = value_text(parameter.low), value_text(parameter.high)
    if parameter.log:  # on a slider all small values would be one
        return Control(name, label, value, "number", low, high, "any")
    step = getattr(parameter, "step", None) or (
        1 if isinstance(parameter, Integer) else (parameter.high - parameter.low) / _STEPS
    )
    return Control(name, label, value, "range", low, high, f"{step:.6g}")


def tried(study: Study, found: StudyResult, given: Mapping[str, str]) -> Tried:
    """What the model says of the option in an address."""
    if found.posterior is None:
        return Tried(problem="The model is still being learned: try again in a moment.")
    from choicebo.optimizer.optimizer import predict

    space = study.space
    try:
        if isinstance(space, Catalogue):
            option = space.parse(given.get(_ROW, ""))
        else:
            texts = {each.name: given.get(f"{_FIELD}{at}", "") for at, each in enumerate(space.parameters)}
            chosen = {each.name: each.parse(texts[each.name]) for each in space.parameters if not each.context}
            option = space.validate({**chosen, **found.context})
            broken = space.violated(option)
            if broken:
                return Tried(problem=f"It cannot be offered: it breaks the rule {broken[0]}.")
        # Two rows of a catalogue may look alike and are two options all the same.
        fields = () if isinstance(space, Catalogue) else fields_of(space)
        for point in found.points:
            if point.option == option or (fields and _alike(fields, point.option, option)):
                return Tried(pictures.card(study, point.option, found.measured), point.probability, seen=True)
        (predicted,) = predict(found.posterior, space, [option])
    except InvalidInputError as error:
        return Tried(problem=str(error))
    measured = measured_of(study, [predicted.option], found.posterior)
    return Tried(pictures.card(study, predicted.option, measured), predicted.probability)


def _alike(fields: Sequence[Field], one: Option, other: Option) -> bool:
    """Whether two options differ by less than a step of the sliders: then they are the same one, which the model knows."""
    for field in fields:
        if field.share is None:
            if one[field.name] != other[field.name]:
                return False
        elif abs(field.share(one[field.name]) - field.share(other[field.name])) > 0.51 / _STEPS:
            return False
    return True
