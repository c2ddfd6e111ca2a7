"""Settings of a study: edit, rename, duplicate, archive and delete it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import ChoiceboError, InvalidInputError
from choicebo.presentation.templates import check_show
from choicebo.study.definition import Show
from choicebo.web.addresses import at, study_path
from choicebo.web.context import Form, OwnerSitting, Seat, render, see_other, server_of, text
from choicebo.web.form_problems import FINE, FieldError, Problems, placed

router = APIRouter()

_NOTICES = {
    "saved": "Saved.",
    "archived": "The study is archived.",
    "back": "The study is in use again.",
    "copied": "This is the copy.",
}


@router.get("/study/{name}/settings")
def settings(request: Request, sitting: OwnerSitting, notice: str = "") -> Response:
    """The page."""
    return _page(request, sitting, notice=_NOTICES.get(notice, ""))


@router.post("/study/{name}/settings")
def change(request: Request, sitting: OwnerSitting, form: Form) -> Response:
    """Do what the button says."""
    study, server = sitting.study, server_of(request)
    before = study.name
    typed = {field: text(form, field).strip() for field in ("name", "question", "template", "copy_name", "confirm")}
    try:
        match text(form, "act"):
            case "edit":
                show = Show("svg", template=typed["template"]) if typed["template"] else None
                changes: dict[str, Any] = {"name": typed["name"], "question": typed["question"]}
                if study.show.kind != "image":
                    changes["show"] = show or Show()
                check_show(study.definition.edited(**changes))
                study.edit(**changes)
                server.forget(before)
                return see_other(study_path(study.name, "settings?notice=saved"))
            case "duplicate":
                with study.duplicate(typed["copy_name"], answers=text(form, "answers") == "yes") as copy:
                    return see_other(study_path(copy.name, "settings?notice=copied"))
            case "archive":
                study.archive()
                return see_other(study_path(study.name, "settings?notice=archived"))
            case "unarchive":
                study.unarchive()
                return see_other(study_path(study.name, "settings?notice=back"))
            case "delete":
                if typed["confirm"] != study.name:
                    told = f"Type the name of the study, {study.name}, to delete it: nothing was deleted."
                    raise FieldError("confirm", told, empty=not typed["confirm"])
                server.delete(study.name)
                return see_other(at("/studies"))
        raise InvalidInputError("This button is unknown: load the page again.")
    except InvalidInputError as error:
        problem = _at_field(error, text(form, "act"))
    return _page(request, sitting, typed=typed, problems=Problems((problem,)), status=400)


def _at_field(error: ChoiceboError, act: str) -> FieldError:
    """An error at the field of the form in question."""
    if act == "duplicate":
        return FieldError("copy_name", str(error))
    return placed(error, {"name of the study": "name", "The question": "question", "template": "template"})


def _page(
    request: Request,
    sitting: Seat,
    *,
    typed: dict[str, str] | None = None,
    problems: Problems = FINE,
    notice: str = "",
    status: int = 200,
) -> Response:
    study = sitting.study
    stands = {
        "name": study.name,
        "question": study.question,
        "template": study.show.template or "",
        "copy_name": f"{study.name} (copy)",
        "confirm": "",
    }
    shown: dict[str, Any] = {
        "typed": stands if typed is None else typed,
        "problems": problems,
        "notice": notice,
        "answers": study.n_answers,
    }
    return render(request, "manage.html", status=status, seat=sitting, **shown)
