"""Measurements: values of measured objectives, entered by the owner for options that were shown or are among the best."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import InvalidInputError
from choicebo.history.events import option_key
from choicebo.history.measuring import measured_objectives, written_number
from choicebo.presentation.fields import describe
from choicebo.space import Option
from choicebo.study import Study, StudyNotFoundError
from choicebo.study.option_counts import count_options
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, OwnerSitting, Seat, render, see_other, server_of, text

router = APIRouter()

_MOST_OPTIONS = 300
"""More would make the list too long to look through; other options are measured in the terminal or through the API."""
_FIELD = "value"


class Listed(NamedTuple):
    """An option that can be measured here."""

    key: str
    words: str
    option: Option


@router.get("/study/{name}/measurements")
def measurements(request: Request, sitting: OwnerSitting, option: str = "", notice: str = "") -> Response:
    """The page; ``option`` is the key of the one to begin with."""
    said = {"stored": "Stored. The model learns from it.", "withdrawn": "Withdrawn."}.get(notice, "")
    return _page(request, sitting, chosen=option, notice=said)


@router.post("/study/{name}/measurements")
def change(request: Request, sitting: OwnerSitting, form: Form) -> Response:
    """Enter values of an option, or withdraw one."""
    study, chosen = sitting.study, text(form, "option")
    names = [each.name for each in measured_objectives(study.space)]
    typed = {name: text(form, f"{_FIELD}{at}").strip() for at, name in enumerate(names)}
    try:
        option = _found(request, study, chosen)
        if withdrawn := text(form, "withdraw"):
            study.measure(option, {withdrawn: None})
            return see_other(study_path(study.name, "measurements?notice=withdrawn"))
        # An empty field leaves what was measured before as it is.
        given = {name: written_number(name, written) for name, written in typed.items() if written}
        if not given:
            raise InvalidInputError("Nothing was entered: give at least one number.")
        study.measure(option, given)
    except InvalidInputError as error:
        return _page(request, sitting, chosen=chosen, typed=typed, problem=str(error), status=400)
    return see_other(study_path(study.name, "measurements?notice=stored"))


def _page(
    request: Request,
    sitting: Seat,
    *,
    chosen: str = "",
    typed: Mapping[str, str] | None = None,
    notice: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    study = sitting.study
    objectives = measured_objectives(study.space)
    if not objectives:
        raise StudyNotFoundError("This study has no measured objective.")
    groups = _options(request, study)
    measured = study.measurements()
    shown: dict[str, Any] = {
        "fields": [
            (f"{_FIELD}{at}", objective, (typed or {}).get(objective.name, ""))
            for at, objective in enumerate(objectives)
        ],
        "groups": groups,
        "chosen": chosen,
        "measured": [(each, _key(each.option), describe(study.space, each.option)) for each in reversed(measured)],
        "notice": notice,
        "problem": problem,
    }
    return render(request, "measurements.html", status=status, seat=sitting, **shown)


def _options(request: Request, study: Study) -> list[tuple[str, list[Listed]]]:
    """The options to choose from: the best so far, the others that were shown, and those measured without being shown."""
    known = server_of(request).latest_result(study)
    best = [] if known is None else [point.option for point in known.best]
    if known is not None and known.unseen is not None:
        best.append(known.unseen.option)
    counted = sorted(count_options(study), key=lambda each: -each.kept)
    groups = (
        ("The best so far", best),
        ("Shown", [each.option for each in counted]),
        ("Measured before", [each.option for each in study.measurements()]),
    )
    found: list[tuple[str, list[Listed]]] = []
    taken: set[str] = set()
    for title, options in groups:
        listed = []
        for option in options:
            key = _key(option)
            if key not in taken and len(taken) < _MOST_OPTIONS:
                taken.add(key)
                listed.append(Listed(key, describe(study.space, option), option))
        if listed:
            found.append((title, listed))
    return found


def _found(request: Request, study: Study, key: str) -> Option:
    for _, listed in _options(request, study):
        for each in listed:
            if each.key == key:
                return each.option
    raise InvalidInputError("Choose the option that was measured.")


def _key(option: Option) -> str:
    """As the result page names a point."""
    return hashlib.sha256(option_key(option).encode()).hexdigest()[:12]
