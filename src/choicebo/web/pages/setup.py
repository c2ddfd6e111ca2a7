"""Set-up: a study described in the browser, or a table uploaded; what is wrong is said while typing."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
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
from choicebo.presentation.templates import check_show, fill_svg
from choicebo.space import Catalogue, Option, Space
from choicebo.study import Study, StudyError
from choicebo.study.definition import QUESTION, Show
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, owner, render, see_other, server_of, text, wants_part
from choicebo.web.pictures import MEDIA_TYPES
from choicebo.web.study_form import ACQUISITIONS, ENGINES, KINDS, StudyForm, defined, typed_settings
from choicebo.web.upload import base_name, read_catalogue, store_images

router = APIRouter(dependencies=[Depends(owner)])

_SAMPLE = 5
_LARGEST_LOOK = 1 << 20
_CHOICES: dict[str, Any] = {"kinds": KINDS, "acquisitions": ACQUISITIONS, "engines": ENGINES}


@router.get("/studies/new")
def new(request: Request) -> Response:
    """The empty form."""
    return render(request, "setup.html", described=StudyForm.start(), preview=None, **_CHOICES)


@router.post("/studies/new")
def create(request: Request, form: Form) -> Response:
    """Create the study; or add or remove a parameter, which is a button of the same form."""
    described = StudyForm.read(form)
    if text(form, "act") != "create":
        template = "parts/study_form.html" if wants_part(request) else "setup.html"
        return render(request, template, described=described, preview=None, **_CHOICES)
    try:
        created = server_of(request).create(described.definition())
    except ChoiceboError as error:
        told = _problem(error)
        return render(request, "setup.html", status=400, described=described, preview=told, **_CHOICES)
    return see_other(study_path(created.name))


@router.post("/studies/preview")
def preview(request: Request, form: Form) -> Response:
    """What is wrong with what is described, or five random options of it."""
    described = StudyForm.read(form)
    if described.is_untouched:
        return render(request, "parts/preview.html", preview=None)
    try:
        found = _preview(described.space(), described.template)
        _try(request, described)
    except ChoiceboError as error:
        found = _problem(error)
    return render(request, "parts/preview.html", preview=found)


@router.get("/studies/catalogue")
def catalogue(request: Request) -> Response:
    """The form for a table."""
    return render(request, "catalogue.html", form={}, question=QUESTION, preview=None, **_CHOICES)


@router.post("/studies/catalogue")
def create_catalogue(request: Request, form: Form) -> Response:
    """Create a study from a table; or only look at it, while the form is being filled in."""
    try:
        found, images = _uploaded(form)
        if wants_part(request):
            _refuse_taken(request, text(form, "name").strip())
            return render(request, "parts/preview.html", preview=_preview(found, "", images))
        study = _create(request, form, found, images)
    except ChoiceboError as error:
        told = _problem(error)
        if wants_part(request):
            return render(request, "parts/preview.html", preview=told)
        typed = {name: text(form, name) for name in ("name", "key", "label", "image", *typed_settings(form))}
        question = text(form, "question")
        return render(request, "catalogue.html", status=400, form=typed, question=question, preview=told, **_CHOICES)
    return see_other(study_path(study.name))


def _uploaded(form: FormData) -> tuple[Catalogue, list[UploadFile]]:
    table = form.get("table")
    if not isinstance(table, UploadFile) or not table.filename:
        raise SpaceError("There is no table yet: choose a CSV file.")
    images = [file for file in form.getlist("images") if isinstance(file, UploadFile) and file.filename]
    columns = [text(form, name).strip() for name in ("key", "label", "image")]
    return read_catalogue(table, columns[0], columns[1], columns[2], images), images


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


def _try(request: Request, described: StudyForm) -> None:
    """Refuse what could not be created, except for a name that is still to come."""
    _refuse_taken(request, described.name)
    check_show(replace(described, name=described.name or "unnamed").definition())


def _refuse_taken(request: Request, name: str) -> None:
    if name and any(info.name == name for info in server_of(request).list()):
        raise StudyError(f"There is a study {name!r} already: give another name.")


def _preview(space: Space | Catalogue, template: str, images: Sequence[UploadFile] = ()) -> dict[str, Any]:
    count = min(_SAMPLE, space.size)
    options = space.decode(space.sample(int(count), seed=1))
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
    notes = [f"{column}: {why}" for column, why in space.dropped.items()] if isinstance(space, Catalogue) else []
    rules = " before the rules" if isinstance(space, Space) and space.constraints and space.size != float("inf") else ""
    return {"problem": "", "size": size + rules, "sample": sample, "notes": notes}


def _problem(error: ChoiceboError) -> dict[str, Any]:
    return {"problem": str(error), "size": "", "sample": [], "notes": []}


def _uploaded_picture(option: Option, images: Sequence[UploadFile]) -> str | None:
    """The picture of an option among the files, unless it is too large to be sent back for a mere look."""
    named = {base_name(file.filename or ""): file for file in images}
    file = next((named[value] for value in option.values() if isinstance(value, str) and value in named), None)
    suffix = PurePosixPath((file and file.filename) or "").suffix.lower()
    if file is None or suffix not in MEDIA_TYPES or (file.size or 0) > _LARGEST_LOOK:
        return None
    return data_url(file.file.read(), MEDIA_TYPES[suffix])
