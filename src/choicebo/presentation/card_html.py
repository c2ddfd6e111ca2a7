"""Options side by side as HTML, for a cell of a notebook: the cards of the browser, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from choicebo.formatting import plural
from choicebo.presentation.answering import ANSWERING
from choicebo.presentation.cards import Card, Comparison, Line

_TICK = '<span class="tick" aria-hidden="true"><svg viewBox="0 0 24 24"><path d="M5 12.5l4.5 4.5L19 7.5"/></svg></span>'


def question_html(
    comparison: Comparison,
    number: int,
    *,
    question: str,
    way: str = "subset",
    marked: Sequence[int] = (),
    notice: str = "",
    why: Sequence[str] = (),
    baseline: Card | None = None,
    answers: int = 0,
    can_undo: bool = False,
) -> str:
    """A question with its cards and buttons.

    Args:
        comparison: The options.
        number: Of the question.
        question: What the person is asked, in words.
        way: How it is answered.
        marked: Positions that are marked already, in the order of marking.
        notice: What to tell the person, such as that something did not work.
        why: Sentences that say why these options are shown.
        baseline: What the person has today; with it, they may keep none.
        answers: How many answers there are.
        can_undo: Whether there is something to take back.

    >>> from choicebo.presentation.cards import compare
    >>> from choicebo.space import Integer, Space
    >>> shown = compare(Space([Integer("minutes", 5, 40)]), [{"minutes": 12}, {"minutes": 30}])
    >>> 'aria-label="Option 1: minutes 12"' in question_html(shown, 1, question="Which <ones>?")
    True
    """
    answering = ANSWERING[way]
    pictured = comparison.cards[0].picture is not None
    layout = f"cards {'pictured' if pictured else 'plain'} of-{len(comparison.cards)}"
    none = '<button type="submit" value="none">None of these <kbd>0</kbd></button>' if baseline else ""
    told = f"{answers} {plural(answers, 'answer')} so far" if answers else "No answers yet; there are no wrong ones."
    return "".join(
        [
            f'<form class="question" data-question="{number}" data-answer="{way}" data-empty="{escape(answering.empty)}"'
            f' data-order="{",".join(map(str, marked))}">',
            f'<p class="ask">{escape(question)}</p><p class="rule">{answering.rule}</p>',
            f'<p class="notice">{escape(notice)}</p>',
            f'<fieldset class="{layout}"><legend class="sr">Question {number}: the options</legend>',
            *map(_card, comparison.cards),
            "</fieldset>",
            _shared(comparison.shared),
            _baseline(baseline),
            '<div class="actions">',
            f'<button type="submit" class="primary" value="keep"><span data-count="{answering.button}">{answering.button}</span>'
            " <kbd>Enter</kbd></button>",
            '<button type="submit" value="both">I cannot decide <kbd>=</kbd></button>' if way == "pair" else "",
            none,
            '<button type="submit" value="skip">Skip <kbd>S</kbd></button>',
            f'<button type="submit" value="undo"{"" if can_undo else " disabled"}>Undo <kbd>U</kbd></button>',
            "<details><summary>Why these? <kbd>?</kbd></summary>",
            *(f"<p>{escape(sentence)}</p>" for sentence in why),
            f'</details></div><p class="answers">{told}</p></form>',
        ]
    )


def failure_html(message: str) -> str:
    """What went wrong, and a way to try again."""
    return (
        f'<form class="question"><p class="notice failure">{escape(message)}</p>'
        '<div class="actions"><button type="submit" class="primary" value="again">Try again</button></div></form>'
    )


def _card(card: Card) -> str:
    picture = "" if card.picture is None else f'<span class="picture"><img src="{escape(card.picture)}" alt=""></span>'
    title = f'<span class="card-title">{escape(card.title)}</span>' if card.title else ""
    return (
        f'<label class="card"><input type="checkbox" value="{card.position}"'
        f' aria-label="Option {card.position + 1}: {escape(card.description)}">'
        f'<span class="card-face"><span class="card-head"><kbd>{card.position + 1}</kbd>{title}{_TICK}</span>'
        f"{picture}{_lines(card.lines)}</span></label>"
    )


def _lines(lines: Sequence[Line]) -> str:
    rows = []
    for line in lines:
        unit = f' <span class="unit">{escape(line.field.unit)}</span>' if line.field.unit else ""
        value = f'<span class="value">{escape(line.text) or "–"}</span>{unit}'
        rows.append(
            f'<span class="line {line.rank}"><span class="name">{escape(line.field.name)}</span>'
            f"<span>{value}</span>{_bar(line)}</span>"
        )
    return f'<span class="lines">{"".join(rows)}</span>'


def _bar(line: Line) -> str:
    """Where the value lies in its range, and where those of the other cards do."""
    if line.share is None:
        return ""
    others = "".join(
        f'<rect class="bar-other" x="{min(max(other * 100 - 0.5, 0.0), 99.0):.1f}" width="1" height="8"/>'
        for other in line.others
    )
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="bar-track" width="100" height="8"/>'
        f'<rect class="bar-fill" width="{max(line.share * 100, 1.5):.1f}" height="8"/>{others}</svg>'
    )


def _shared(lines: Sequence[Line]) -> str:
    said = ", ".join(
        f"{escape(line.field.name)} <b>{escape(line.text)} {escape(line.field.unit)}</b>" for line in lines
    )
    return f'<p class="shared">The same on all: {said}</p>' if said else ""


def _baseline(card: Card | None) -> str:
    if card is None:
        return ""
    picture = "" if card.picture is None else f'<img src="{escape(card.picture)}" alt="">'
    return f'<aside class="baseline">{picture}<p><b>What you have today</b><br>{escape(card.description)}</p></aside>'
