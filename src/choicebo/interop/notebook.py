"""A widget for notebooks: the questions of an optimiser or a study, answered in a cell."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from choicebo.choices.marks import QUESTIONS
from choicebo.errors import AlreadyAnsweredError, ChoiceboError, InvalidInputError
from choicebo.extras import needs
from choicebo.history import OWNER
from choicebo.history.measuring import entered_values
from choicebo.model import compiling
from choicebo.presentation.answering import ANSWERING, Said, in_order, said
from choicebo.presentation.card_html import failure_html, question_html
from choicebo.presentation.cards import Picture, card_of, compare
from choicebo.presentation.fields import Measured
from choicebo.space import Catalogue, Option, Space

with needs("notebook", "widget()"):
    import anywidget
    import traitlets

if TYPE_CHECKING:
    from choicebo.history import Question
    from choicebo.optimizer import ChoiceOptimizer
    from choicebo.study import Study

log = logging.getLogger(__name__)

_HERE = Path(__file__).parent
_ACTS = ("keep", "both", "none", "skip", "undo", "again")
_UNDONE = "Taken back. You can answer this one again."
_ANSWERED = "That question was answered already, perhaps in another cell. That answer stands; here is what is next."


class Loop(Protocol):
    """What asks the questions."""

    @property
    def space(self) -> Space | Catalogue:
        """What can be offered."""
        ...

    @property
    def text(self) -> str:
        """What the person is asked, in words."""
        ...

    @property
    def baseline(self) -> Option | None:
        """What the person has today."""
        ...

    @property
    def picture(self) -> Picture | None:
        """Where the pictures of options come from."""
        ...

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        ...

    @property
    def can_undo(self) -> bool:
        """Whether there is something to take back."""
        ...

    def ask(self) -> Question:
        """The open question, or a new one."""
        ...

    def measured(self, options: Sequence[Option]) -> Measured:
        """What was measured of options."""
        ...

    @property
    def way(self) -> str:
        """How questions are answered."""
        ...

    def tell(self, question: Question, answer: Said, seconds: float | None) -> None:
        """The answer."""
        ...

    def skip(self, question: Question) -> None:
        """Leave it unanswered."""
        ...

    def undo(self) -> tuple[int, ...]:
        """Take back the latest answer or skip; what had been marked, in the order of marking."""
        ...


class ChoiceWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """Shows a question in a cell, stores the answer, and shows the next one.

    ``optimizer.widget()`` and ``study.widget()`` make it. It works by keyboard as the page does: 1 to 9 mark an option, Enter
    keeps, S skips, U takes back, ? says why.
    """

    _esm = _HERE / "widget.js"
    _css = _HERE / "widget.css"
    html = traitlets.Unicode("").tag(sync=True)
    thinking = traitlets.Bool(False).tag(sync=True)
    turn = traitlets.Int(0).tag(sync=True)
    """Changes with every reply, so that the cell knows that it has one."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop
        self._question: Question | None = None
        self.on_msg(self._received)
        compiling.start()  # the first questions need no model, so that nobody waits for it
        self._next()

    @property
    def question(self) -> Question | None:
        """The question that is shown."""
        return self._question

    def _received(self, _: object, content: Any, __: object) -> None:
        """Something that the person did in the cell. It comes from a browser and is not trusted."""
        act = content.get("act") if isinstance(content, dict) else None
        if act not in _ACTS:
            return
        self.thinking = True
        try:
            self._do(act, content)
        except Exception as error:  # a cell that does not answer any more would be worse than any message
            if not isinstance(error, ChoiceboError):
                log.exception("The widget could not %s.", act)
            self._reply(failure_html(f"{error or type(error).__name__}"))

    def _do(self, act: str, content: dict[str, Any]) -> None:
        if act == "again":
            return self._next()
        if act == "undo":
            return self._undo()
        question = self._question
        if question is None or content.get("question") != question.id:
            return self._next()  # it was sent twice
        try:
            if act == "skip":
                self._loop.skip(question)
            else:
                answer: Said | None = {"kept": [0, 1] if act == "both" else []}
                if act == "keep":
                    answer = said(self._loop.way, _positions(content.get("kept")))
                if answer is None:
                    return self._show(question, notice=ANSWERING[self._loop.way].empty)
                if act == "none" and self._loop.baseline is None:
                    raise InvalidInputError("Nothing is marked: mark at least one option, or skip.")
                self._loop.tell(question, answer, _seconds(content.get("seconds")))
        except AlreadyAnsweredError:
            return self._next(_ANSWERED)
        return self._next()

    def _undo(self) -> None:
        marked = self._loop.undo() if self._loop.can_undo else ()
        self._next(_UNDONE, marked)

    def _next(self, notice: str = "", marked: Sequence[int] = ()) -> None:
        self._show(self._loop.ask(), notice, marked)

    def _show(self, question: Question, notice: str = "", marked: Sequence[int] = ()) -> None:
        loop = self._loop
        self._question = question
        self._reply(
            question_html(
                compare(loop.space, question.options, question.new, loop.picture, loop.measured(question.options)),
                question.id,
                question=loop.text,
                way=loop.way,
                marked=marked,
                notice=notice,
                why=[question.reason],
                baseline=None if loop.baseline is None else card_of(loop.space, loop.baseline, loop.picture),
                answers=loop.n_answers,
                can_undo=loop.can_undo,
            )
        )

    def _reply(self, html: str) -> None:
        with self.hold_sync():
            self.html, self.thinking, self.turn = html, False, self.turn + 1


class OptimizerLoop:
    """The questions of an optimiser."""

    picture: Picture | None = None

    def __init__(
        self,
        optimizer: ChoiceOptimizer,
        text: str | None = None,
        patience: float | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(optimizer.space, (Space, Catalogue)):
            raise InvalidInputError(
                "The widget can only show options of a Space or a Catalogue; make the optimiser with one of them."
            )
        self.way = optimizer.settings.answer
        self.space, self.text = optimizer.space, text or QUESTIONS[self.way]
        self._optimizer, self._patience, self._context = optimizer, patience, context
        self.baseline = optimizer.settings.baseline
        self._marked: dict[int, tuple[int, ...]] = {}

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return self._optimizer.n_answers

    def ask(self) -> Question:
        """The earliest open question, or a new one."""
        asked = next(iter(self._optimizer.open_queries), None)
        return asked or self._optimizer.ask(context=self._context, patience=self._patience)

    def tell(self, question: Question, answer: Said, seconds: float | None) -> None:
        """The answer."""
        self._optimizer.tell(question, **answer)
        self._marked[question.id] = in_order(**answer)

    def skip(self, question: Question) -> None:
        """Leave it unanswered."""
        self._optimizer.skip(question)

    def undo(self) -> tuple[int, ...]:
        """Take back the latest act; what had been marked, if it was an answer given here."""
        self._optimizer.undo()
        return self._marked.pop(self.ask().id, ())

    @property
    def can_undo(self) -> bool:
        """Whether there is something to take back."""
        return any(event.is_act for event in self._optimizer.situation.events)

    def measured(self, options: Sequence[Option]) -> Measured:
        """What was measured of options."""
        return entered_values(self._optimizer.situation.known, self.space, options)


class StudyLoop:
    """The questions of a study to one of its raters."""

    def __init__(
        self,
        study: Study,
        rater: str | None = None,
        patience: float | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        from choicebo.presentation.images import inline_picture

        self.space, self.baseline, self.way = study.space, study.baseline, study.answer
        self._study, self._rater, self._patience = study, rater, patience
        if context is not None:
            study.steer(rater, context=context)
        study.begin_context(rater)
        shows_pictures = study.show.kind in ("svg", "image")
        self.picture = (lambda option: inline_picture(study, option)) if shows_pictures else None

    @property
    def text(self) -> str:
        """What the person is asked, in words."""
        return self._study.question

    @property
    def n_answers(self) -> int:
        """How many answers there are, of everybody."""
        return self._study.n_answers

    def ask(self) -> Question:
        """The rater's open question, or a new one."""
        return self._study.ask(self._rater, stand_in=self._patience is not None, patience=self._patience)

    def tell(self, question: Question, answer: Said, seconds: float | None) -> None:
        """Store the answer."""
        self._study.tell(question, **answer, rater=self._rater, seconds=seconds)

    def skip(self, question: Question) -> None:
        """Leave it unanswered."""
        self._study.skip(question, rater=self._rater)

    def undo(self) -> tuple[int, ...]:
        """Take back the rater's latest act; what had been marked."""
        taken = self._study.undo(rater=self._rater)[0]
        return taken.kept if taken.marks is None else in_order(**taken.marks.to_dict())

    @property
    def can_undo(self) -> bool:
        """Whether there is something to take back."""
        return self._study.count_latest(self._rater or OWNER) > 0

    def measured(self, options: Sequence[Option]) -> Measured:
        """What was measured of options."""
        from choicebo.study.measured import measured_of

        return measured_of(self._study, options)


def _positions(given: Any) -> list[int]:
    if not isinstance(given, list) or not all(type(each) is int for each in given):
        raise InvalidInputError("The cell sent something other than a list of positions; run the cell again.")
    return given


def _seconds(given: Any) -> float | None:
    return float(given) if isinstance(given, (int, float)) and 0 <= given < 1e6 else None
