"""The list of studies, and ready ones to start from."""

from __future__ import annotations

import contextlib
import functools

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from choicebo.presentation.cards import Card, compare
from choicebo.presentation.page import data_url
from choicebo.presentation.templates import fill_svg
from choicebo.space import Option
from choicebo.space.context import in_first_context
from choicebo.study import StudyExistsError, StudyNotFoundError
from choicebo.study.examples import EXAMPLES, Example, definition
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, owner, render, see_other, server_of
from choicebo.web.pictures import MEDIA_TYPES

router = APIRouter(dependencies=[Depends(owner)])

_SHOWN = 3


@router.get("/studies")
def studies(request: Request) -> Response:
    """All studies of the database, newest first."""
    server = server_of(request)
    found = server.list()[::-1]
    known = {info.name for info in found}
    offered = [(example, looks(example)) for example in EXAMPLES.values() if example.name not in known]
    return render(request, "studies.html", studies=found, where=str(server.storage), examples=offered)


@router.post("/studies/example/{example}")
def create(request: Request, example: str, form: Form) -> Response:
    """Create one of the ready studies and open it; one that is there already is opened."""
    if example not in EXAMPLES:
        raise StudyNotFoundError(f"There is no example of that name: choose one of {', '.join(EXAMPLES)}.")
    with contextlib.suppress(StudyExistsError):  # a form that was sent twice
        server_of(request).create(definition(EXAMPLES[example]))
    return see_other(study_path(example))


@functools.cache
def looks(example: Example) -> tuple[Card, ...]:
    """A few options of an example, which are the same at every visit."""
    study = definition(example)
    template = study.show.template

    def picture(option: Option) -> str | None:
        return data_url(fill_svg(template, option).encode(), MEDIA_TYPES[".svg"]) if template else None

    options = study.space.decode(in_first_context(study.space).sample(_SHOWN, seed=1))
    return compare(study.space, options, picture=picture).cards
