"""What pages share: the server, who is asking, and how a template becomes a response."""

from __future__ import annotations

import functools
import hashlib
import re
import reprlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from choicebo.errors import InvalidInputError
from choicebo.formatting import counted, moment, percent, plural, without_password
from choicebo.presentation.answering import said_of, words
from choicebo.serving.metrics import Metrics
from choicebo.study import OWNER, Answer, Study, StudyError, StudyNotFoundError
from choicebo.web.access import Access, OwnerOnlyError, Visitor
from choicebo.web.addresses import at, name_of, slug, study_path
from choicebo.web.form_problems import explained
from choicebo.web.pictures import drawing_size
from choicebo.web.server import Server

T = TypeVar("T")

EVERYBODY = " everybody"
"""By which a rater asks for the result of all. No rater has a name that begins with a space."""
STATIC = resources.files("choicebo.web") / "static"


@dataclass(frozen=True)
class Seat:
    """A visitor in front of a study."""

    study: Study
    visitor: Visitor
    metrics: Metrics
    shared: bool = False
    """Whether the server lets raters see what all of them taught."""

    @property
    def rater(self) -> str:
        """Under which name the visitor answers."""
        return self.visitor.rater

    @property
    def sees(self) -> str | None:
        """Whose answers the visitor may see: a rater their own, the owner everybody's, which is None."""
        return None if self.visitor.is_owner else self.rater

    def tell(self, number: int, kept: Sequence[int] | None = None, **how: Any) -> Answer:
        """Store the visitor's answer."""
        told = self._own(number, lambda: self.study.tell(number, kept, rater=self.rater, **how))
        if not told.repeated:
            self.metrics.count("answers")
        return told

    def skip(self, number: int) -> Answer:
        """Leave a question unanswered."""
        return self._own(number, lambda: self.study.skip(number, rater=self.rater))

    def _own(self, number: int, act: Callable[[], Answer]) -> Answer:
        """What ``act`` does with a question of the visitor. Of the questions of others a rater learns nothing."""
        try:
            return act()
        except StudyError:
            if self.sees is None or any(asked.number == number for asked in self.study.questions(rater=self.rater)):
                raise
            raise StudyError(f"Question {number} is not yours: answer the questions that you are shown.") from None

    def past(self, id: int) -> Answer:
        """The answer of that id, if the visitor may see it."""
        found = self.study.get_answer(id)
        if self.sees not in (None, found.rater):
            raise StudyNotFoundError(f"There is no answer {id} here: go back to the history.")
        return found


def server_of(request: Request) -> Server:
    """This server."""
    found: Server = request.app.state.server
    return found


async def within(request: Request, seat: Seat, seconds: float, awaited: Future[T]) -> T | None:
    """What is computed for a visitor if it is there within ``seconds``, in which no thread is held; else None."""
    return await server_of(request).waiting.within(seconds, awaited, (seat.study.name, seat.rater))


def access_of(request: Request) -> Access:
    """What checks who is asking."""
    found: Access = request.app.state.access
    return found


def seat(request: Request, name: str) -> Seat:
    """The study in the path and its visitor; nobody else learns whether it exists."""
    study = name_of(name)
    visitor = access_of(request).visitor(request, study)
    request.state.person = study, visitor.rater
    server = server_of(request)
    return Seat(server.study(study), visitor, server.scheduler.metrics, server.settings.share_result)


def owner_seat(request: Request, name: str) -> Seat:
    """The study in the path, for its owner only."""
    found = seat(request, name)
    if not found.visitor.is_owner:
        raise OwnerOnlyError("Only the owner of the study may see this page.")
    return found


def result_seat(request: Request, name: str) -> Seat:
    """The study in the path, for those who may see its result."""
    found = seat(request, name)
    if not sees_result(request, found):
        if found.study.raters_mode == "related":
            raise OwnerOnlyError("You see your result here once you have answered a question.")
        raise OwnerOnlyError("Only the owner of this study may see its result.")
    return found


def sees_result(request: Request, seat: Seat) -> bool:
    """Whether a visitor may see the result: the owner; and raters if it is theirs alone or the server shares it.

    Where tastes are related, what is known of somebody without answers is what the others said.
    """
    if seat.visitor.is_owner or server_of(request).settings.share_result:
        return True
    mode = seat.study.raters_mode
    return mode == "separate" or (mode == "related" and seat.study.count_answers(seat.rater) > 0)


def whose(seat: Seat, asked: str = "") -> str | None:
    """Whose result a visitor sees; None: everybody's. The owner may ask for that of a rater.

    Where tastes are related and results are shared, a rater may ask for everybody's, and never for another rater's.
    """
    mode = seat.study.raters_mode
    if mode == "together":
        return None
    if not seat.visitor.is_owner:
        return None if asked == EVERYBODY and mode == "related" and seat.shared else seat.rater
    return asked or (OWNER if mode == "separate" else None)


def owner(request: Request) -> None:
    """Refuse anybody but the owner."""
    access_of(request).require_owner(request)


async def posted(request: Request) -> FormData:
    """The form that one of our pages sent."""
    form = await request.form(max_files=200, max_fields=1000, max_part_size=1 << 20)
    access_of(request).check_form(request, form.get("form_token", ""))
    return form


Sitting = Annotated[Seat, Depends(seat)]
OwnerSitting = Annotated[Seat, Depends(owner_seat)]
ResultSitting = Annotated[Seat, Depends(result_seat)]
Form = Annotated[FormData, Depends(posted)]


def wants_part(request: Request) -> bool:
    """Whether a script asks for a part of a page."""
    return "hx-request" in request.headers


def text(form: FormData, name: str, default: str = "") -> str:
    """A text field of a form."""
    value = form.get(name, default)
    return value if isinstance(value, str) else default


def whole(value: object, what: str) -> int:
    """A whole number of a form."""
    try:
        return int(str(value))
    except ValueError:
        raise InvalidInputError(f"{what} is {reprlib.repr(str(value))}: give a whole number.") from None


def render(request: Request, template: str, *, status: int = 200, seat: Seat | None = None, **context: Any) -> Response:
    """A page, or a part of one."""
    access = access_of(request)
    filled = (
        _templates()
        .get_template(template)
        .render(
            request=request,
            seat=seat,
            study=None if seat is None else seat.study,
            picture_size=None if seat is None else drawing_size(seat.study),
            is_owner=seat.visitor.is_owner if seat is not None else access.is_owner(request),
            sees_result=seat is not None and sees_result(request, seat),
            has_token=access.has_token,
            form_token=access.form_token(request)[1],
            **context,
        )
    )
    response = HTMLResponse(filled, status)
    access.tie_form(request, response)
    return response


def see_other(address: str) -> RedirectResponse:
    """After a form: look there."""
    return RedirectResponse(address, 303)


def static_address(file: str) -> str:
    """The address of a static file; it changes with the content, so that browsers may keep it."""
    return at(f"/static/{file}?v={_fingerprint(file)}")


@functools.cache
def _fingerprint(file: str) -> str:
    return hashlib.sha256((STATIC / file).read_bytes()).hexdigest()[:12]


def code(words: str) -> Markup:
    """What stands between backticks, as code.

    >>> code("send `<kept>`")
    Markup('send <code>&lt;kept&gt;</code>')
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(words))))


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("choicebo.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=static_address, path=study_path, address=at, said=words, said_of=said_of)
    environment.filters.update(
        explained=explained,
        without_password=without_password,
        code=code,
        counted=counted,
        moment=moment,
        percent=percent,
        plural=plural,
        slug=slug,
    )
    return environment
