"""What a notebook shows of an object: a small table in which everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from choicebo.formatting import printable, value_text

MOST_ROWS = 20
_MOST_COLUMNS = 30
_LONGEST = 80
# light-dark() follows color-scheme: the system's, unless the notebook has a theme of its own.
_STYLE = """<style>
.cbo { color-scheme: light dark; font: 13px/1.4 system-ui, sans-serif; color: light-dark(#1c1d22, #ecebe7); overflow-x: auto; }
body[data-jp-theme-light="true"] .cbo, body.vscode-light .cbo { color-scheme: light; }
body[data-jp-theme-light="false"] .cbo, body.vscode-dark .cbo { color-scheme: dark; }
.cbo table { border-collapse: collapse; margin: 4px 0; font-variant-numeric: tabular-nums; }
.cbo caption { text-align: left; font-weight: 650; padding: 2px 0 6px; color: inherit; white-space: nowrap; }
.cbo th, .cbo td { text-align: left; padding: 4px 14px 4px 0; border: 0; border-bottom: 1px solid light-dark(#dddad3, #44474f); }
.cbo thead th, .cbo p { color: light-dark(#575a64, #a9abb5); font-weight: 570; } .cbo p { margin: 4px 0; }
.cbo .kept td, .cbo .kept th { font-weight: 650; color: light-dark(#4a3fd1, #aba4ff); } .cbo .right { text-align: right; }
</style>"""


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    marked: Sequence[bool] = (),
    total: int | None = None,
    below: Iterable[str] = (),
) -> str:
    """A table with one row per thing; the first cell of a row is its name.

    Args:
        caption: What it is a table of.
        headings: One text per column, or none at all; of very many columns the first are shown.
        rows: Values; numbers are aligned to the right.
        marked: Which rows stand out.
        total: How many rows there would be, where not all are given.
        below: Sentences that stand below.

    >>> "&lt;b&gt;" in table("Options", ["name"], [["<b>"]]), "and 3 more" in table("x", ["a"], [[1]], total=4)
    (True, True)
    """
    shown = [list(row)[:_MOST_COLUMNS] for row in rows][:MOST_ROWS]
    columns = list(headings)[:_MOST_COLUMNS]
    width = len(shown[0]) if shown else len(columns)
    right = [bool(columns and shown) and all(_is_number(row[at]) for row in shown) for at in range(width)]
    head = "".join(f'<th scope="col"{_right(at, right)}>{_text(each)}</th>' for at, each in enumerate(columns))
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    body = "".join(
        f'<tr{_class(number < len(marked) and marked[number])}><th scope="row"{_right(0, right)}>{_text(row[0])}</th>'
        + "".join(f"<td{_right(at, right)}>{_text(each)}</td>" for at, each in enumerate(row[1:], start=1))
        + "</tr>"
        for number, row in enumerate(shown)
    )
    missing = (len(shown) if total is None else total) - len(shown)
    notes = [f"and {missing:,} more"] * (missing > 0) + list(below)
    return (
        f'{_STYLE}<div class="cbo"><table><caption>{_text(caption)}</caption>{head}'
        f"<tbody>{body}</tbody></table>{''.join(f'<p>{_text(note, 400)}</p>' for note in notes)}</div>"
    )


def facts(caption: str, said: Mapping[str, Any], below: Iterable[str] = ()) -> str:
    """A table of names and values.

    >>> "posterior" in facts("A posterior", {"draws": 640})
    True
    """
    return table(caption, [], list(said.items()), below=below)


def options_table(
    caption: str,
    options: Sequence[Mapping[str, Any]],
    more: Mapping[str, Sequence[Any]] | None = None,
    *,
    marked: Sequence[bool] = (),
    below: Iterable[str] = (),
) -> str:
    """A table with an option in each row, numbered from 1, and further columns after its values."""
    names = list(dict.fromkeys(name for option in options for name in option))
    added = more or {}
    rows = [
        [number + 1, *(option.get(name) for name in names), *(column[number] for column in added.values())]
        for number, option in enumerate(options[:MOST_ROWS])
    ]
    return table(caption, ["option", *names, *added], rows, marked=marked, total=len(options), below=below)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _text(value: Any, longest: int = _LONGEST) -> str:
    written = printable(f"{value:.4g}" if isinstance(value, float) else value_text(value))
    return escape(written if len(written) <= longest else f"{written[: longest - 1]}…")


def _right(at: int, right: Sequence[bool]) -> str:
    return ' class="right"' if right[at] else ""


def _class(kept: bool) -> str:
    return ' class="kept"' if kept else ""
