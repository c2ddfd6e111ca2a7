"""Steering: what the visitor wishes for their next question."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import ChoiceboError
from choicebo.formatting import value_text
from choicebo.history import Steering
from choicebo.history.steering import written_option, written_value
from choicebo.presentation.fields import fields_of
from choicebo.space import Catalogue, Option
from choicebo.study import Study, StudyError
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, Seat, Sitting, render, see_other, text, wants_part, whole
from choicebo.web.context_fields import sent_context

router = APIRouter()

_MOST_VALUES = 12
"""A property with more values offers only those of the options shown."""


@router.get("/study/{name}/steering")
def steering(request: Request, sitting: Sitting) -> Response:
    """What is wished for; a page of its own where there is no script."""
    return _shown(request, sitting)


@router.post("/study/{name}/steering")
def steer(request: Request, sitting: Sitting, form: Form) -> Response:
    """Take a wish down, or say what is wrong with it."""
    try:
        if text(form, "act") == "clear":
            sitting.study.steer(sitting.rater, clear=True)
        else:
            sitting.study.steer(sitting.rater, clear=True, **_wishes(sitting.study, form))
    except ChoiceboError as error:
        return _shown(request, sitting, str(error), form)
    if wants_part(request):
        return _shown(request, sitting, is_open=True)
    return see_other(study_path(sitting.study.name))


@router.post("/study/{name}/context")
def set_context(request: Request, sitting: Sitting, form: Form) -> Response:
    """Ask in another context from now on."""
    said = sent_context(sitting.study.space, form)
    if said is not None:
        sitting.study.steer(sitting.rater, context=said)
    return see_other(study_path(sitting.study.name))


def _wishes(study: Study, form: FormData) -> dict[str, Any]:
    space = study.space
    locked = {
        name: written_value(space, name, text(form, f"lock-{at}"))
        for at, name in enumerate(_lockable(study))
        if text(form, f"lock-{at}")
    }
    like = None
    if text(form, "like"):
        options = study.get_question(whole(text(form, "question"), "The number of the question")).options
        at = whole(text(form, "like"), "The option") - 1
        if not 0 <= at < len(options):
            raise StudyError(f"There is no option {at + 1}: choose one of the {len(options)} shown.")
        like = options[at]
    include = []
    if text(form, "own"):
        include = [written_option(space, {name: text(form, f"own-{at}") for at, name in enumerate(_written(study))})]
    return {"locked": locked, "like": like, "include": include}


def _lockable(study: Study) -> list[str]:
    """Properties that can be kept."""
    space = study.space
    held = (
        []
        if isinstance(space, Catalogue)
        else [*(each.name for each in space.fixed), *(each.name for each in space.contexts)]
    )
    return [field.name for field in fields_of(space) if field.name not in held]


def _written(study: Study) -> list[str]:
    """What a person writes of an option of their own."""
    return [study.space.key] if isinstance(study.space, Catalogue) else _lockable(study)


def _shown(
    request: Request, sitting: Seat, error: str = "", form: FormData | None = None, is_open: bool = False
) -> Response:
    study = sitting.study
    wishes, question = study.wishes(sitting.rater), study.open_question(sitting.rater)
    options = [] if question is None else question.options
    own = wishes.include[0] if wishes.include else (options[0] if options else {})
    headings = {field.name: field.heading for field in fields_of(study.space)}
    names, written = _lockable(study), _written(study)
    shown: dict[str, Any] = {
        "question": question,
        "wished": told(study, wishes),
        "locks": [
            {
                "label": headings[name],
                "values": _values(study, name, options, wishes),
                "locked": _field(form, f"lock-{at}", str(wishes.locked.get(name, ""))),
            }
            for at, name in enumerate(names)
        ],
        "like": _field(form, "like", "" if wishes.like not in options else str(options.index(wishes.like) + 1)),
        "count": len(options),
        "has_own": bool(_field(form, "own", "1" if wishes.include else "")),
        "own": [
            (headings.get(name, name), _field(form, f"own-{at}", str(own.get(name, ""))))
            for at, name in enumerate(written)
        ],
        "error": error,
        "is_open": is_open or bool(error),
    }
    template = "parts/steering.html" if wants_part(request) else "steering.html"
    return render(request, template, status=400 if error and not wants_part(request) else 200, seat=sitting, **shown)


def _field(form: FormData | None, name: str, known: str) -> str:
    """What was sent, so that it need not be written again; else what is known."""
    return known if form is None else text(form, name)


def _values(study: Study, name: str, options: list[Option], wishes: Steering) -> list[tuple[str, str]]:
    """Values that can be kept, as they are sent and as they are read."""
    space = study.space
    found = [option[name] for option in options]
    if name in wishes.locked:
        found.append(wishes.locked[name])
    if isinstance(space, Catalogue):
        every = [row[name] for row in space.rows]
    else:
        every = list(getattr(next(each for each in space.parameters if each.name == name), "values", ()))
    different = dict.fromkeys(every)
    if len(different) <= _MOST_VALUES:
        found += different
    kept = [value for value in dict.fromkeys(found) if value is not None]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in kept)
    return [(str(value), value_text(value)) for value in (sorted(kept) if numbers else kept)]


def told(study: Study, wishes: Steering) -> str:
    """What is wished for, in a few words."""
    parts = [f"{name} {value_text(value)}" for name, value in wishes.locked.items()]
    parts += ["more like one of these"] if wishes.like is not None else []
    parts += ["with your own option"] if wishes.include else []
    return ", ".join(parts)
