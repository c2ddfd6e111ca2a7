"""Options side by side in a terminal: numbers, bars, and what differs; or as lines that a screen reader reads out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from choicebo.presentation.cards import Card, Line, compare
from choicebo.presentation.fields import NOTHING, Measured
from choicebo.space import Catalogue, Option, Space

KEYS = "123456789abc"
"""The keys of the options, in the order shown."""
BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_red")
_RANKS = {"most": "bold cyan", "least": "bold magenta", "": ""}
_LABEL_WIDTH = 14


def bar(share: float, width: int = BAR, blocks: bool = True) -> str:
    """A bar that fills ``share`` of its width; a value at the bottom still shows.

    >>> bar(0.5, width=4), bar(0.5, width=4, blocks=False)
    ('██  ', '##..')
    """
    share = min(max(share, 0.0), 1.0)
    if not blocks:
        full = round(share * width)
        return "#" * full + "." * (width - full)
    eighths = max(round(share * width * 8), 1)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


class OptionTable:
    """The options of one question; the baseline, if there is one, stands beside them under the key 0.

    ``blocks`` says whether the terminal can show block characters, ``measured`` what is known of measured objectives.
    """

    def __init__(
        self,
        space: Space | Catalogue,
        options: Sequence[Option],
        new: Sequence[bool] = (),
        baseline: Option | None = None,
        blocks: bool = True,
        measured: Measured = NOTHING,
    ) -> None:
        shown = [*options, *([] if baseline is None else [baseline])]
        compared = compare(space, shown, new, measured=measured)
        self.size, self.has_baseline = len(options), baseline is not None
        cards = compared.cards
        self._columns = [*zip(KEYS, cards[: self.size], strict=False), *(("0", card) for card in cards[self.size :])]
        self._rows = list(zip(*(card.lines for card in cards), strict=True))
        self._shared = ", ".join(line.words for line in compared.shared)
        self._blocks = blocks

    def table(self, kept: Collection[int], width: int) -> RenderableType:
        """The options as columns, in several tables one below the other if they are too wide for the terminal."""
        label = min(max([cell_len(row[0].field.heading) for row in self._rows] or [0]), _LABEL_WIDTH)
        widest = max([cell_len(line.text) for row in self._rows for line in row] or [0])
        beside = len(self._columns) * (widest + BAR + 4) + label + 4 <= width
        each = min(widest + BAR + 4 if beside else max(widest, BAR) + 3, max(width - label - 4, 12))
        fitting = max((width - label - 4) // each, 1)
        parts: list[RenderableType] = [
            self._table(slice(start, start + fitting), kept, beside) for start in range(0, len(self._columns), fitting)
        ]
        if self._shared:
            parts.append(Text(f"The same for all: {self._shared}", style="dim"))
        return Group(*parts)

    def lines(self) -> list[str]:
        """The options one by one, for a screen reader: only what differs."""
        found = []
        for key, card in self._columns:
            words = ", ".join(line.words for line in card.lines if line.text)
            told = ": ".join(part for part in (card.title, words) if part) or card.description
            new = " (new)" if card.new else ""
            found.append(f"What you have today: {told}." if key == "0" else f"Option {key}{new}: {told}.")
        return [*found, f"The same for all: {self._shared}."] if self._shared else found

    def _table(self, shown: slice, kept: Collection[int], beside: bool) -> Table:
        table = Table(show_lines=False, pad_edge=False, header_style="", border_style="dim", row_styles=["", ""])
        table.add_column("", style="dim", no_wrap=False, max_width=_LABEL_WIDTH)
        for key, card in self._columns[shown]:
            is_kept = card.position in kept
            table.add_column(self._head(key, card, is_kept), style="on grey15" if is_kept else "")
        for row in self._rows:
            texts = sorted({line.text for line in row})
            table.add_row(Text(row[0].field.heading), *(self._cell(line, texts, beside) for line in row[shown]))
        return table

    def _head(self, key: str, card: Card, kept: bool) -> Text:
        mark = ("✓" if self._blocks else "x") if kept else " "
        head = Text(f"{mark} {key}", style="bold green" if kept else "bold")
        if key == "0":
            head.append(" today", style="not bold dim")
        elif card.new:
            head.append(" new", style="not bold yellow")
        return head.append(f"\n{card.title}", style="not bold") if card.title else head

    def _cell(self, line: Line, texts: list[str], beside: bool) -> Text:
        if line.share is None:  # equal words have equal colours
            return Text(line.text, style=_COLOURS[texts.index(line.text) % len(_COLOURS)])
        style = _RANKS[line.rank]
        cell = Text(line.text.rjust(max(map(len, texts))) if beside else line.text, style=style)
        return cell.append(" " if beside else "\n").append(bar(line.share, blocks=self._blocks), style=style or "dim")
