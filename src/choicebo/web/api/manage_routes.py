"""The routes of the API that keep studies in order; all are for the owner."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from starlette.requests import Request

from choicebo.presentation.templates import check_show
from choicebo.study import StudyError
from choicebo.study.definition import Show
from choicebo.web.addresses import at
from choicebo.web.api import routes
from choicebo.web.api.models import DeletedOut, DuplicateIn, EditIn, RaterOut, StudyDetail, TokenOut
from choicebo.web.api.routes import OwnerSitting
from choicebo.web.context import Seat, server_of

router = APIRouter(prefix="/api/v1", responses=routes.errors)

Person = Annotated[str, Path(description="The name of a rater.")]


@router.patch("/studies/{name}", summary="Edit a study")
def edit(request: Request, found: OwnerSitting, given: EditIn) -> StudyDetail:
    """Change what does not affect the meaning of the answers; fields that are not sent stay as they are."""
    study, before = found.study, found.study.name
    changes: dict[str, Any] = given.model_dump(exclude_none=True)
    if given.show is not None:
        changes["show"] = Show(given.show.kind, given.show.template)
    check_show(study.definition.edited(**changes))
    study.edit(**changes)
    if study.name != before:
        server_of(request).forget(before)
    return routes.study(found)


@router.post("/studies/{name}/duplicate", summary="Duplicate a study", status_code=201)
def duplicate(found: OwnerSitting, given: DuplicateIn) -> StudyDetail:
    """Create a study with the same definition, and on request with the raters and answers."""
    with found.study.duplicate(given.name, answers=given.answers) as copy:
        return routes.study(Seat(copy, found.visitor, found.metrics))


@router.post("/studies/{name}/archive", summary="Archive a study")
def archive(found: OwnerSitting) -> StudyDetail:
    """It can still be read, but nothing is asked or answered."""
    found.study.archive()
    return routes.study(found)


@router.post("/studies/{name}/unarchive", summary="Bring a study back")
def unarchive(found: OwnerSitting) -> StudyDetail:
    """It can be answered again."""
    found.study.unarchive()
    return routes.study(found)


@router.delete("/studies/{name}", summary="Delete a study")
def delete(
    request: Request,
    found: OwnerSitting,
    confirm: Annotated[str, Query(description="The name of the study once more.")],
) -> DeletedOut:
    """Deletes everything in it for good: export it first."""
    name = found.study.name
    if confirm != name:
        raise StudyError(f"confirm is not the name of the study, {name!r}: nothing was deleted.")
    server_of(request).delete(name)
    return DeletedOut(deleted=name)


@router.delete("/studies/{name}/raters/{rater}", summary="Remove a rater")
def remove_rater(
    found: OwnerSitting,
    rater: Person,
    answers: Annotated[Literal["keep", "retract"], Query(description="Whether their answers still count.")] = "keep",
) -> list[RaterOut]:
    """Their link stops working; they can be restored later."""
    found.study.remove_rater(rater, answers=answers)
    return [RaterOut.of(each) for each in found.study.raters()]


@router.post("/studies/{name}/raters/{rater}/restore", summary="Bring a rater back")
def restore_rater(found: OwnerSitting, rater: Person) -> TokenOut:
    """Under a new token, which is shown only here; what was retracted with them counts again."""
    token = found.study.restore_rater(rater)
    return TokenOut(rater=rater, token=token, path=at(f"/join/{token}"))
