"""Several people on the page Result: whose result is shown, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from choicebo.space import Option
from choicebo.study import Study
from choicebo.web import pictures
from choicebo.web.context import EVERYBODY, Seat, server_of, within
from choicebo.web.failures import explain

if TYPE_CHECKING:
    from choicebo.insight import Keeping, PeopleInsight

_AT_ONCE = 0.2
"""Seconds for which the page waits before it is shown without the comparison."""
_MOST_PEOPLE = 20
_MOST_CARDS = 6
_LEVELS = 6


@dataclass(frozen=True)
class Compared:
    """How far people agree, as far as it is known."""

    known: PeopleInsight | None
    pending: bool = False
    problem: str = ""


@dataclass(frozen=True)
class Cell:
    """How alike two people are."""

    mean: float
    interval: str
    level: int
    """How dark it is, from 0 to 5."""


def switch(seat: Seat, shown: str | None) -> list[tuple[str, str, bool]]:
    """Whose results a visitor may look at: what the address calls them, what people call them, whether it is shown."""
    study = seat.study
    if study.raters_mode == "together":
        return []
    if not seat.visitor.is_owner:
        if study.raters_mode != "related" or not seat.shared:
            return []
        return [("", "You", shown is not None), (EVERYBODY, "Everybody", shown is None)]
    related = study.raters_mode == "related"
    people = [each.name for each in study.raters() if not related or each.answers or each.name == shown]
    if related and len(people) < 2 and shown is None:
        return []
    everybody = [("", "Everybody", shown is None)] if related else []
    return [*everybody, *((name, name, name == shown) for name in people)]


def asked(seat: Seat, shown: str | None) -> str | None:
    """By which name the visitor asked for the result that is shown; None: there is no need for one."""
    return EVERYBODY if is_of_others(seat, shown) else shown


def is_of_others(seat: Seat, shown: str | None) -> bool:
    """Whether a rater looks at what all of them share."""
    return shown is None and not seat.visitor.is_owner and seat.study.raters_mode == "related"


def compares(seat: Seat, shown: str | None) -> bool:
    """Whether the result that is shown has a section about agreement: that of two people who answered, or more."""
    if shown is not None or not seat.visitor.is_owner or seat.study.raters_mode != "related":
        return False
    return sum(each.answers > 0 for each in seat.study.raters()) > 1


async def known_agreement(request: Request, seat: Seat, context: dict[str, Any] | None = None) -> Compared:
    """How far people agree, if it is ready in a moment."""
    begun = await run_in_threadpool(server_of(request).begin_agreement, seat.study, context)
    try:
        known = await within(request, seat, _AT_ONCE, begun)
    except Exception as error:  # the rest of the page is shown all the same
        return Compared(None, problem=explain(request, error))
    return Compared(known, pending=known is None and not begun.done())


def shown(study: Study, compared: Compared | None) -> dict[str, Any]:
    """What the template of the section needs."""
    if compared is None:
        return {"has_agreement": False, "agreement_pending": False}
    context: dict[str, Any] = {
        "has_agreement": True,
        "agreement": compared.known,
        "agreement_pending": compared.pending,
        "agreement_problem": compared.problem,
    }
    found = compared.known
    if found is None:
        return context
    suiting = found.for_everybody[:_MOST_CARDS] or (found.compromise,)
    most = sorted(range(len(found.names)), key=lambda place: -found.answers[place])[:_MOST_PEOPLE]
    rows = sorted(most)
    return context | {
        "alike_rows": [(found.names[row], [_cell(found, row, column) for column in rows]) for row in rows],
        "alike_left_out": len(found.names) - len(rows),
        "suiting": [(each, pictures.card(study, each.option)) for each in suiting],
        "dividing": [(each, pictures.card(study, each.option)) for each in found.dividing[:_MOST_CARDS]],
    }


def who_keeps(
    request: Request, seat: Seat, pair: Sequence[Option], context: dict[str, Any] | None = None
) -> tuple[Keeping, ...]:
    """For two options, who would keep which, if it is known; for the owner only."""
    if len(pair) != 2 or not compares(seat, None):
        return ()
    found = server_of(request).latest_agreement(seat.study, context)
    return () if found is None else found.who_keeps(*pair)


def _cell(found: PeopleInsight, row: int, column: int) -> Cell | None:
    if row == column:
        return None
    mean, lower, upper = (
        float(each[row, column])
        for each in (found.likeness.matrix, found.likeness.matrix_lower, found.likeness.matrix_upper)
    )
    return Cell(mean, f"{100 * lower:.0f} to {100 * upper:.0f} %", min(int(mean * _LEVELS), _LEVELS - 1))
