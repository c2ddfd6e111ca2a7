"""Set-up: a study described in the browser, or a table uploaded; what is wrong is said while typing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import ChoiceboError, SpaceError
from choicebo.formatting import counted
from choicebo.presentation.fields import describe
from choicebo.presentation.page import data_url
from choicebo.presentation.templates import fill_svg
from choicebo.space import Catalogue, Option, Space
from choicebo.space.context import in_first_context
from choicebo.space.roles import column_roles
from choicebo.study import Study
from choicebo.study.definition import QUESTION, Show
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, owner, render, see_other, server_of, text, wants_part
from choicebo.web.form_problems import FINE, FieldError, Problems, placed
from choicebo.web.pictures import MEDIA_TYPES
from choicebo.web.study_form import (
    ACQUISITIONS,
    COLUMNS,
    ENGINES,
    KINDS,
    LIKELIHOODS,
    SETTINGS,
    WAYS,
    StudyForm,
    defined,
    lines,
    typed_settings,
)
from choicebo.web.upload import base_name, missing_images, read_catalogue, store_images

router = APIRouter(dependencies=[Depends(owner)])

_SAMPLE = 5
_LARGEST_LOOK = 1 << 20
_TABLE_FIELDS = ("name", "question", "table", "key", "label", "image", "objectives", "images", *SETTINGS)
_COLUMN_WORDS = {
    "key names": "key",
    "the key": "key",
    "label names": "label",
    "The label column": "label",
    "image names": "image",
    "The image column": "image",
    "is not an image": "images",
    "Objective ": "objectives",
    "An objective": "objectives",
    "Two objectives": "objectives",
    "but differ in": "objectives",
}
"""The field that an error about a table is about, by the words in it."""
_CHOICES: dict[str, Any] = {
    "kinds": KINDS,
    "ways": WAYS,
    "likelihoods": LIKELIHOODS,
    "acquisitions": ACQUISITIONS,
    "engines": ENGINES,
}


@router.get("/studies/new")
def new(request: Request) -> Response:
    """The empty form."""
    return _form(request, StudyForm.start())


@router.post("/studies/new")
def create(request: Request, form: Form) -> Response:
    """Create the study; or add or remove a parameter, which is a button of the same form."""
    described = StudyForm.read(form)
    if text(form, "act") != "create":
        return _form(request, described, "parts/study_form.html" if wants_part(request) else "setup.html")
    problems = _problems(request, described)
    if not problems.found:
        try:
            return see_other(study_path(server_of(request).create(described.definition()).name))
        except ChoiceboError as error:
            problems = Problems((placed(error, {}),))
    return _form(request, described, problems=problems, status=400)


@router.post("/studies/preview")
def preview(request: Request, form: Form) -> Response:
    """What is wrong with what is described, or five random options of it."""
    described = StudyForm.read(form)
    wrong = _problems(request, described).typed()
    try:
        found = _preview(described.space(), "" if wrong.at("template") else described.template)
    except ChoiceboError:
        found = None  # it is among the problems, or not typed yet
    return render(request, "parts/preview.html", preview=found, problems=wrong, fields=_fields(described.rows))


def _form(
    request: Request,
    described: StudyForm,
    template: str = "setup.html",
    *,
    problems: Problems = FINE,
    status: int = 200,
) -> Response:
    shown = {"described": described, "preview": None, "problems": problems, "fields": (), **_CHOICES}
    return render(request, template, status=status, **shown)


def _problems(request: Request, described: StudyForm) -> Problems:
    """What is wrong with a form, a name that is taken included."""
    taken = _taken(request, described.name)
    return Problems((*taken, *described.problems().found))


def _fields(rows: Sequence[object] = ()) -> list[str]:
    """The names of all fields that can show an error."""
    numbered = [f"p-{column}-{at}" for at in range(len(rows)) for column in COLUMNS]
    return ["name", "question", *numbered, "constraints", "objectives", "template", *SETTINGS]


@router.get("/studies/catalogue")
def catalogue(request: Request) -> Response:
    """The form for a table."""
    return _table_form(request, {}, QUESTION)


@router.post("/studies/catalogue")
def create_catalogue(request: Request, form: Form) -> Response:
    """Create a study from a table; or only look at it, while the form is being filled in."""
    looking, seen, columns, error = wants_part(request), None, None, None
    try:
        found, images = _uploaded(form, looking)
        # What the columns can be chosen from, unless the form has it already.
        columns = found if text(form, "columns") != _listed_columns(found) else None
        if looking:
            seen = _preview(found, "", images)
        _refuse_missing_images(found, images)
        if taken := _taken(request, text(form, "name").strip()):
            raise taken[0]
        if not looking:
            return see_other(study_path(_create(request, form, found, images).name))
    except ChoiceboError as problem:
        error = placed(problem, _COLUMN_WORDS)
    problems = FINE if error is None else Problems((error,))
    if looking:
        shown: dict[str, Any] = {
            "preview": seen,
            "problems": problems.typed(),
            "fields": _TABLE_FIELDS,
            "catalogue": columns,
        }
        return render(request, "parts/preview.html", **shown)
    typed = {name: text(form, name) for name in ("name", "objectives", *typed_settings(form))}
    return _table_form(request, typed, text(form, "question"), problems, 400)


def _table_form(
    request: Request, form: Mapping[str, str], question: str, problems: Problems = FINE, status: int = 200
) -> Response:
    shown = {"form": form, "question": question, "preview": None, "problems": problems, "fields": (), **_CHOICES}
    return render(request, "catalogue.html", status=status, catalogue=None, **shown)


def _uploaded(form: FormData, looking: bool) -> tuple[Catalogue, list[UploadFile]]:
    """The catalogue and the images that were sent.

    Columns are chosen among those of the table that was looked at before; of another table they are found by their names.
    """
    table = form.get("table")
    if not isinstance(table, UploadFile) or not table.filename:
        raise FieldError("table", "Choose a table: a CSV or Excel file.", empty=True)
    images = [file for file in form.getlist("images") if isinstance(file, UploadFile) and file.filename]
    given: dict[str, str | None] = {role: text(form, role).strip() for role in ("key", "label", "image")}
    try:
        found = read_catalogue(table)
        if text(form, "columns") != _listed_columns(found):
            given = {role: (name or None) if not text(form, "columns") else None for role, name in given.items()}
        if given["image"] is None and not images and not looking:
            given["image"] = ""  # nobody asked for pictures
        return read_catalogue(table, **given, objectives=lines(text(form, "objectives"))), images
    except SpaceError as error:
        raise placed(error, {**_COLUMN_WORDS, "": "table"}) from None


def _listed_columns(found: Catalogue) -> str:
    """The columns of a table in one text, by which a form tells whether it has those of this table."""
    return json.dumps(list(column_roles(found)))


def _refuse_missing_images(found: Catalogue, images: Sequence[UploadFile]) -> None:
    missing = missing_images(found, images)
    if missing:
        named = f"{missing[0]!r}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        raise FieldError(
            "images",
            f"The column {found.image!r} names pictures that are not among the files: choose {named} here, or 'none' as the "
            "column with image files.",
        )


def _create(request: Request, form: FormData, found: Catalogue, images: list[UploadFile]) -> Study:
    server = server_of(request)
    name, question = text(form, "name").strip(), text(form, "question").strip()
    folder = store_images(images, server.settings.image_folder) if found.image else None
    try:
        show = Show("image") if found.image else None
        return server.create(defined(name, found, question, typed_settings(form), show=show, folder=folder))
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _taken(request: Request, name: str) -> list[FieldError]:
    if name and any(info.name == name for info in server_of(request).list()):
        return [FieldError("name", f"There is a study {name!r} already: give another name.")]
    return []


def _preview(space: Space | Catalogue, template: str, images: Sequence[UploadFile] = ()) -> dict[str, Any]:
    count = min(_SAMPLE, space.size)
    options = space.decode(in_first_context(space).sample(int(count), seed=1))
    sample = [
        {
            "words": describe(space, option),
            "picture": data_url(fill_svg(template, option).encode(), MEDIA_TYPES[".svg"])
            if template
            else _uploaded_picture(option, images),
            "named": isinstance(space, Catalogue),
        }
        for option in options
    ]
    size = counted(space.size, "option")
    roles = column_roles(space) if isinstance(space, Catalogue) else {}
    rules = " before the rules" if isinstance(space, Space) and space.constraints and space.size != float("inf") else ""
    return {"size": size + rules, "sample": sample, "roles": roles}


def _uploaded_picture(option: Option, images: Sequence[UploadFile]) -> str | None:
    """The picture of an option among the files, unless it is too large to be sent back for a mere look."""
    named = {base_name(file.filename or ""): file for file in images}
    file = next((named[value] for value in option.values() if isinstance(value, str) and value in named), None)
    suffix = PurePosixPath((file and file.filename) or "").suffix.lower()
    if file is None or suffix not in MEDIA_TYPES or (file.size or 0) > _LARGEST_LOOK:
        return None
    return data_url(file.file.read(), MEDIA_TYPES[suffix])
