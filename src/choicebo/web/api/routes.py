"""The routes of the API. They do what the pages do, for other clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from choicebo.space.context import read_context
from choicebo.study import Point, Study, StudyError, StudyResult
from choicebo.study.definition import StudyDefinition
from choicebo.study.measured import measured_of, told
from choicebo.web.access import NotAllowedError, Visitor
from choicebo.web.addresses import at, name_of
from choicebo.web.api.models import (
    AdditionIn,
    AgreementOut,
    AnswerIn,
    AnswerOut,
    ClashOut,
    ErrorOut,
    KnownOut,
    LearningOut,
    MeasuredIn,
    MeasurementOut,
    ObjectiveNameIn,
    ObjectiveNameOut,
    ParetoOut,
    PastOut,
    PredictIn,
    QuestionOut,
    RaterIn,
    RaterOut,
    ResultOut,
    StudyDetail,
    StudyIn,
    StudyOut,
    Thinking,
    TokenOut,
    WishesIn,
    WishesOut,
    WithdrawnIn,
)
from choicebo.web.api.reference import operations
from choicebo.web.context import Seat, access_of, render, sees_result, server_of, whose, within
from choicebo.web.known_result import known_result

if TYPE_CHECKING:
    from choicebo.optimizer import ParetoOption

DESCRIPTION = (
    "Questions and answers of choicebo studies for other clients. Send the owner's or a rater's token as "
    "`Authorization: Bearer TOKEN`; a server that only this machine can reach needs none. Answers are "
    "idempotent: the same one "
    "sent twice counts once. Escape a slash or percent sign in the name of a study twice in the path. Within version 1 "
    'fields and addresses may be added, but none is removed. An error is `{"error": "a sentence"}` with a fitting status.'
)
_LONGEST_WAIT = 60.0

errors: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorOut, "description": words}
    for code, words in {
        400: "Not accepted; the sentence says what is.",
        401: "No token, or one that does not allow this.",
        404: "There is none.",
        409: "There is already another answer or study.",
        413: "The body is too large.",
        423: "The study is archived, or the database can only be read.",
        422: "The request has the wrong form.",
        429: "Too many wrong tokens.",
        503: "The database cannot be reached.",
    }.items()
}
router = APIRouter(prefix="/api/v1", responses=errors)

Number = Annotated[int, Path(ge=1, le=2**31)]
Contexts = Annotated[
    Sequence[str],
    Query(description="Where the space has a context: `name=value`, once for each. Left out, it is the latest one."),
]
Wait = Annotated[float, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for the computation.")]


def sitting(request: Request, name: Annotated[str, Path(description="The name of a study.")]) -> Seat:
    """The study in the path, and who calls."""
    study = name_of(name)
    visitor = access_of(request).bearer(request, study)
    server = server_of(request)
    return Seat(server.study(study), visitor, server.scheduler.metrics, server.settings.share_result)


def owner_sitting(found: Annotated[Seat, Depends(sitting)]) -> Seat:
    """The study in the path, for its owner."""
    if not found.visitor.is_owner:
        raise NotAllowedError("Only the owner of the study may do this: send the owner's token.")
    return found


def owner(request: Request) -> Visitor:
    """The owner."""
    return access_of(request).bearer(request, None)


Sitting = Annotated[Seat, Depends(sitting)]
OwnerSitting = Annotated[Seat, Depends(owner_sitting)]
Owner = Annotated[Visitor, Depends(owner)]


@router.get("/docs", include_in_schema=False)
def documentation(request: Request) -> Response:
    """The API as a page."""
    return render(request, "api.html", description=DESCRIPTION, operations=operations(request.app.openapi()))


@router.get("/studies", summary="All studies")
def studies(request: Request, visitor: Owner) -> list[StudyOut]:
    """Oldest first."""
    return [StudyOut.of(info) for info in server_of(request).list()]


@router.post("/studies", summary="Create a study", status_code=201)
def create(request: Request, visitor: Owner, given: StudyIn) -> StudyDetail:
    """A new study over a space or a catalogue."""
    server = server_of(request)
    study = server.create(StudyDefinition.of(given.model_dump()))
    return _detail(Seat(study, visitor, server.scheduler.metrics))


@router.get("/studies/{name}", summary="One study")
def study(found: Sitting) -> StudyDetail:
    """What it asks, and about what."""
    return _detail(found)


@router.get("/studies/{name}/question", summary="The question to show", responses={202: {"model": Thinking}})
async def question(request: Request, found: Sitting, wait: Wait = 0.0, context: Contexts = ()) -> QuestionOut:
    """The caller's open question, or the next one; 202 while it is being computed."""
    said = read_context(found.study.space, context) if context else None
    if said is not None and said != await run_in_threadpool(found.study.context, found.rater):
        await run_in_threadpool(lambda: found.study.steer(found.rater, context=said))
    asked = await run_in_threadpool(found.study.open_question, found.rater)
    if asked is None:
        begun = server_of(request).scheduler.begin_question(found.study, found.rater)
        asked = await within(request, found, wait, begun)
    return _thinking() if asked is None else QuestionOut.of(asked)  # type: ignore[return-value]


@router.post("/studies/{name}/questions/{number}/answer", summary="Answer")
def answer(request: Request, found: Sitting, number: Number, given: AnswerIn) -> AnswerOut:
    """Store an answer. The same one sent again changes nothing; a different one is refused unless it is a correction."""
    told = found.tell(number, **given.said(), seconds=given.seconds, correction=given.correction)
    return AnswerOut.of(told)


@router.post("/studies/{name}/questions/{number}/skip", summary="Skip")
def skip(request: Request, found: Sitting, number: Number) -> AnswerOut:
    """Leave a question unanswered for good."""
    told = found.skip(number)
    return AnswerOut.of(told)


@router.post("/studies/{name}/undo", summary="Undo")
def undo(
    found: Sitting,
    latest: Annotated[
        int | None,
        Query(
            ge=0, le=2**31, description="The id of the answer to take back; nothing happens if it is not the latest."
        ),
    ] = None,
) -> list[PastOut]:
    """Take back the caller's latest answer, skip or import, and reopen its question. With `latest` it is safe to send twice."""
    taken = found.study.undo(rater=found.rater, latest=latest)
    return [PastOut.of(past) for past in taken]


@router.post("/studies/{name}/choices", summary="Add a choice made elsewhere", status_code=201)
def add(found: Sitting, given: AdditionIn) -> AnswerOut:
    """Options are given as objects, or by key in a catalogue."""
    return AnswerOut.of(found.study.add(given.shown, **given.said(), rater=found.rater))


@router.get("/studies/{name}/history", summary="Every answer")
def history(found: Sitting) -> list[PastOut]:
    """Oldest first; a rater sees only their own."""
    return [PastOut.of(past) for past in found.study.history(found.sees)]


@router.post("/studies/{name}/answers/{answer}/retract", summary="Retract an answer")
def retract(found: Sitting, answer: Number) -> PastOut:
    """It stays in the history, but the model ignores it."""
    found.study.retract(found.past(answer))
    return PastOut.of(found.past(answer))


@router.post("/studies/{name}/answers/{answer}/restore", summary="Restore an answer")
def restore(found: Sitting, answer: Number) -> PastOut:
    """It counts again."""
    found.study.restore(found.past(answer))
    return PastOut.of(found.past(answer))


@router.get("/studies/{name}/wishes", summary="What the next question should be like")
def wishes(found: Sitting) -> WishesOut:
    """The caller's wishes: locks, which stay, and wishes for one question."""
    return WishesOut.of(found.study.wishes(found.rater))


@router.post("/studies/{name}/wishes", summary="Steer the next question")
def steer(found: Sitting, given: WishesIn) -> WishesOut:
    """Lock values, ask for more like an option, or add your own options. An open question stays as it is."""
    how = given.model_dump()
    return WishesOut.of(found.study.steer(found.rater, **how))


@router.get("/studies/{name}/clashes", summary="Answers that clash", responses={202: {"model": Thinking}})
async def clashes(request: Request, found: Sitting, wait: Wait = 0.0) -> list[ClashOut]:
    """Answers of the caller, or of everybody for the owner, that are unlike the others; 202 while it is being computed."""
    study = found.study
    if not found.visitor.is_owner and study.raters_mode != "separate":
        raise NotAllowedError(
            "Only the owner of the study may compare answers with those of others: send the owner's token."
        )
    own = found.rater if study.raters_mode == "separate" else None
    begun = await run_in_threadpool(server_of(request).begin_status, study, own)
    known = await within(request, found, wait, begun)
    if known is None:
        return _thinking()  # type: ignore[return-value]
    return [ClashOut.of(each) for each in known.surprising]


Whose = Annotated[str, Query(description="Whose result, if each rater is learned from alone; by default the caller's.")]


@router.get("/studies/{name}/result", summary="What is known", responses={202: {"model": LearningOut}})
async def result(
    request: Request, found: Sitting, wait: Wait = 0.0, rater: Whose = "", context: Contexts = ()
) -> ResultOut:
    """The options that probably no other one beats, and what drives them; 202 with a preliminary result while it is computed."""
    learned_from = _result_of(request, found, rater)
    said = read_context(found.study.space, context) if context else None
    begun = await run_in_threadpool(server_of(request).begin_result, found.study, learned_from, said)
    if await within(request, found, wait, begun) is None:
        known = await known_result(request, found, learned_from, said)
        if known.is_preliminary:
            content = LearningOut(preliminary=_result(known)).model_dump(mode="json")
            return JSONResponse(content, 202, {"Retry-After": "1"})  # type: ignore[return-value]
    return _result(await known_result(request, found, learned_from, said))


@router.get("/studies/{name}/agreement", summary="What suits everybody", responses={202: {"model": Thinking}})
async def agreement(request: Request, found: OwnerSitting, wait: Wait = 0.0) -> AgreementOut:
    """If tastes are related: what suits all, what suits each, and how alike any two people are; 202 while it is computed."""
    if found.study.raters_mode != "related":
        raise StudyError("Agreement between people is learned only with raters 'related': create a study with it.")
    begun = await run_in_threadpool(server_of(request).begin_agreement, found.study)
    known = await within(request, found, wait, begun)
    if known is None and not begun.done():
        return _thinking()  # type: ignore[return-value]
    if known is None:
        raise StudyError("Agreement between people is known once two of them have answered.")
    return AgreementOut(**known.to_dict())


@router.post("/studies/{name}/predict", summary="Predict options", responses={202: {"model": Thinking}})
async def predict(
    request: Request, found: Sitting, given: PredictIn, wait: Wait = 0.0, rater: Whose = ""
) -> list[ParetoOut]:
    """How probable it is that none of the options shown so far beats each of these; 202 while there is no model."""
    learned_from = _result_of(request, found, rater)
    if not await run_in_threadpool(found.study.count_answers, learned_from):
        raise StudyError("There are no answers yet, so there is nothing to predict from.")
    begun = await run_in_threadpool(server_of(request).begin_result, found.study, learned_from)
    await within(request, found, wait, begun)
    posterior = (await known_result(request, found, learned_from)).posterior
    if posterior is None:
        return _thinking()  # type: ignore[return-value]
    from choicebo.optimizer.optimizer import predict

    predicted = await run_in_threadpool(predict, posterior, found.study.space, given.options)
    options = [each.option for each in predicted]
    measured = await run_in_threadpool(measured_of, found.study, options, posterior)
    return [
        ParetoOut(option=each.option, probability=each.probability, **told(measured, each.option)) for each in predicted
    ]


@router.get("/studies/{name}/measurements", summary="What was measured")
def measurements(found: OwnerSitting) -> list[MeasurementOut]:
    """Values that were entered and neither replaced nor withdrawn, in the order in which they were entered."""
    return [MeasurementOut.of(each) for each in found.study.measurements()]


@router.post("/studies/{name}/measurements", summary="Enter a measurement")
def measure(found: OwnerSitting, given: MeasuredIn) -> list[MeasurementOut]:
    """Values of measured objectives of an option, which need not have been shown. Measuring again replaces."""
    return [MeasurementOut.of(each) for each in found.study.measure(given.option, given.values)]


@router.delete("/studies/{name}/measurements", summary="Withdraw a measurement")
def withdraw(found: OwnerSitting, given: WithdrawnIn) -> list[MeasurementOut]:
    """Forget what was measured of an option; the history keeps it."""
    measured = found.study.measure(given.option, dict.fromkeys(given.names or _measured_names(found.study)))
    return [MeasurementOut.of(each) for each in measured]


def _measured_names(study: Study) -> list[str]:
    return [objective.name for objective in study.space.objectives if objective.measured]


@router.post("/studies/{name}/objectives/{number}", summary="Name a hidden objective")
def name_objective(found: OwnerSitting, number: Number, given: ObjectiveNameIn, rater: Whose = "") -> ObjectiveNameOut:
    """The name follows the objective when later fits number it differently. An empty name removes it."""
    found.study.name_objective(number, given.name, whose(found, rater))
    return ObjectiveNameOut(number=number, name=given.name.strip())


@router.get("/studies/{name}/raters", summary="Who answers")
def raters(found: OwnerSitting) -> list[RaterOut]:
    """The owner first."""
    return [RaterOut.of(rater) for rater in found.study.raters()]


@router.post("/studies/{name}/raters", summary="Invite a rater", status_code=201)
def invite(found: OwnerSitting, given: RaterIn) -> TokenOut:
    """The token is shown only here."""
    token = found.study.add_rater(given.name)
    return TokenOut(rater=given.name.strip(), token=token, path=at(f"/join/{token}"))


@router.get("/studies/{name}/export", summary="The complete study")
def export(found: OwnerSitting) -> dict[str, Any]:
    """What `Study.import_json` reads back."""
    return Response(found.study.export_json(), media_type="application/json")  # type: ignore[return-value]


def _result_of(request: Request, found: Seat, rater: str) -> str | None:
    """Whose result the caller may see."""
    if not sees_result(request, found):
        raise NotAllowedError("Only the owner of the study may see its result: send the owner's token.")
    return whose(found, rater)


def _result(known: StudyResult) -> ResultOut:
    return ResultOut(
        answers=known.answers,
        latent_dim=known.latent_dim,
        pareto_set=[_pareto(known, point) for point in known.best],
        objectives=[objective.sentence for objective in known.objectives],
        known=[KnownOut.of(objective) for objective in known.known],
        advice=None if known.advice is None else known.advice.sentence,
        stop=None if known.advice is None else known.advice.stop,
        diagnostics=list(known.diagnostics),
        stage=known.stage,
        names=[objective.name for objective in known.objectives],
        unseen=None if known.unseen is None else _pareto(known, known.unseen),
        trust=known.trust,
        context=dict(known.context),
    )


def _pareto(known: StudyResult, each: Point | ParetoOption) -> ParetoOut:
    return ParetoOut(option=each.option, probability=each.probability, **told(known.measured, each.option))


def _thinking() -> JSONResponse:
    return JSONResponse({"thinking": True}, 202, {"Retry-After": "1"})


def _detail(found: Seat) -> StudyDetail:
    study = found.study
    return StudyDetail(
        name=study.name,
        question=study.question,
        created_at=study.created_at,
        answers=study.n_answers,
        answer=study.answer,
        raters_mode=study.raters_mode,
        space=study.space.to_dict(),
        settings=study.settings,
        baseline=study.baseline,
        shown_as=study.show.kind,
        archived_at=study.archived_at,
        objective_names=[each.name for each in study.objective_names],
    )
