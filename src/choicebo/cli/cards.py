"""Options side by side in a terminal: numbers, bars, and what differs; or as lines that a screen reader reads out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from choicebo.cli.fields import Field, describe, fields_of, title_of
from choicebo.space import Catalogue, Option, Space

KEYS = "123456789abc"
"""The keys of the options, in the order shown."""
BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_red")
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


@dataclass(frozen=True)
class Cards:
    """The options of one question; the baseline, if there is one, stands beside them under the key 0."""

    space: Space | Catalogue
    options: Sequence[Option]
    new: Sequence[bool]
    baseline: Option | None = None
    blocks: bool = True
    """Whether the terminal can show block characters."""

    @property
    def columns(self) -> list[tuple[str, Option]]:
        """Key and option of each column."""
        shown = list(zip(KEYS, self.options, strict=False))
        return shown if self.baseline is None else [*shown, ("0", self.baseline)]

    @property
    def differing(self) -> list[Field]:
        """Fields in which not all columns agree."""
        return [field for field in fields_of(self.space) if len(self._texts(field)) > 1]

    @property
    def shared(self) -> str:
        """What all columns have in common, in one line; empty if nothing."""
        option = self.options[0]
        same = [field for field in fields_of(self.space) if len(self._texts(field)) == 1]
        return ", ".join(field.in_words(option) for field in same if option.get(field.name) is not None)

    def table(self, kept: Collection[int], width: int) -> RenderableType:
        """The options as columns, in several tables one below the other if they are too wide for the terminal."""
        columns = self.columns
        label = min(max([cell_len(f.heading) for f in self.differing] or [0]), _LABEL_WIDTH)
        widest = max([cell_len(text) for field in self.differing for text in self._texts(field)] or [0])
        beside = len(columns) * (widest + BAR + 4) + label + 4 <= width
        each = min(widest + BAR + 4 if beside else max(widest, BAR) + 3, max(width - label - 4, 12))
        fitting = max((width - label - 4) // each, 1)
        tables = [
            self._table(columns[start : start + fitting], start, kept, beside)
            for start in range(0, len(columns), fitting)
        ]
        if self.shared:
            tables.append(Text(f"The same for all: {self.shared}", style="dim"))  # type: ignore[arg-type]
        return Group(*tables)

    def lines(self) -> list[str]:
        """The options one by one, for a screen reader: only what differs."""
        found = []
        for place, (key, option) in enumerate(self.columns):
            words = ", ".join(f.in_words(option) for f in self.differing if option.get(f.name) is not None)
            title = title_of(self.space, option)
            told = ": ".join(part for part in (title, words) if part) or describe(self.space, option)
            new = " (new)" if place < len(self.new) and self.new[place] else ""
            found.append(f"What you have today: {told}." if key == "0" else f"Option {key}{new}: {told}.")
        return [*found, f"The same for all: {self.shared}."] if self.shared else found

    def _texts(self, field: Field) -> set[str]:
        return {field.text(option.get(field.name)) for _, option in self.columns}

    def _table(self, columns: Sequence[tuple[str, Option]], start: int, kept: Collection[int], beside: bool) -> Table:
        table = Table(show_lines=False, pad_edge=False, header_style="", border_style="dim", row_styles=["", ""])
        table.add_column("", style="dim", no_wrap=False, max_width=_LABEL_WIDTH)
        for place, (key, option) in enumerate(columns, start=start):
            table.add_column(self._head(place, key, option, place in kept), style="on grey15" if place in kept else "")
        for field in self.differing:
            table.add_row(field.heading, *(self._cell(field, option, beside) for _, option in columns))
        return table

    def _head(self, place: int, key: str, option: Option, kept: bool) -> Text:
        mark = ("✓" if self.blocks else "x") if kept else " "
        head = Text(f"{mark} {key}", style="bold green" if kept else "bold")
        if key == "0":
            head.append(" today", style="not bold dim")
        elif place < len(self.new) and self.new[place]:
            head.append(" new", style="not bold yellow")
        title = title_of(self.space, option)
        return head.append(f"\n{title}", style="not bold") if title else head

    def _cell(self, field: Field, option: Option, beside: bool) -> Text:
        value = option.get(field.name)
        words = field.text(value)
        if field.share is None or value is None:
            return Text(words, style=self._colour(field, words))
        shares = [field.share(o[field.name]) for _, o in self.columns if o.get(field.name) is not None]
        share = field.share(value)
        style = "bold cyan" if share == max(shares) else "bold magenta" if share == min(shares) else ""
        cell = Text(words.rjust(max(map(len, self._texts(field)))) if beside else words, style=style)
        return cell.append(" " if beside else "\n").append(bar(share, blocks=self.blocks), style=style or "dim")

    def _colour(self, field: Field, words: str) -> str:
        """Equal words have equal colours."""
        known = sorted(self._texts(field))
        return _COLOURS[known.index(words) % len(_COLOURS)]
