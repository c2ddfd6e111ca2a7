"""What the commands print: results on stdout; progress, notes and complaints on stderr."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from choicebo.formatting import printable

_WIDTH_OF_A_FILE = 110


class PlainTextConsole(Console):
    """A console that no text can command: what a catalogue, a name or an error brings along is shown, never obeyed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of something printed; control codes of the console itself stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def results() -> PlainTextConsole:
    """The console of stdout: wide enough for the tables, since a number that is cut off is worse than a wrapped line."""
    console = _console(stderr=False)
    console.width = max(console.width, _WIDTH_OF_A_FILE)
    return console


def say(message: str) -> None:
    """Print a result in words on stdout, as it is."""
    results().print(message, markup=False, highlight=False, soft_wrap=True)


def draws_blocks(console: Console) -> bool:
    """Whether a console can show block characters."""
    return (console.encoding or "").lower().startswith("utf")


def notes() -> PlainTextConsole:
    """The console of stderr."""
    return _console(stderr=True)


def _console(stderr: bool) -> PlainTextConsole:
    console = PlainTextConsole(stderr=stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_A_FILE
    return console


def complain(message: str, title: str = "Error") -> None:
    """Print what went wrong on one line; lines that are indented, a text with carets under its spot, keep their columns."""
    lines: list[str] = [""]
    for line in message.splitlines():
        if line.startswith("    "):
            lines += [line, ""]
        else:
            lines[-1] = " ".join((lines[-1] + " " + line).split())
    told = "\n".join(line for line in lines if line)
    notes().print(Text.assemble((f"{title}: ", "bold red"), told), soft_wrap=True)


def warn(message: str) -> None:
    """Print one line that the reader should not overlook."""
    notes().print(Text.assemble(("Warning: ", "bold yellow"), message), soft_wrap=True)


@contextlib.contextmanager
def fit_progress() -> Iterator[Callable[[str, float], None]]:
    """A bar for one fit; yields the ``progress(stage, fraction)`` that ``ChoiceGP.fit`` calls."""
    columns = (TextColumn("{task.description:<30}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=notes()) as bar:
        task = bar.add_task("starting", total=1.0)

        def report(stage: str, fraction: float) -> None:
            bar.update(task, completed=fraction, description=stage)

        yield report


@contextlib.contextmanager
def count_progress(description: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar for ``total`` equal jobs with the time left; yields what to call after each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TextColumn("left:"), TimeRemainingColumn(), console=notes()) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)


@contextlib.contextmanager
def answer_progress(total: int) -> Iterator[tuple[Callable[[str, float], None], Callable[[int, float], None]]]:
    """A display for a simulated person; yields the ``progress`` of fits and what to call after each answer.

    A terminal gets a bar; elsewhere every fifth answer is a line.
    """
    console = notes()
    columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("answers"), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        reached = ""

        def report(stage: str, fraction: float) -> None:
            bar.update(task, description=f"{reached}{stage}")

        def answered(number: int, difference: float) -> None:
            nonlocal reached
            reached = f"difference {difference:5.2f}  "
            bar.update(task, completed=number, description=reached)
            if not console.is_terminal and number % 5 == 0:
                line = f"{number}/{total} answers: log10 hypervolume difference {difference:.2f}"
                console.print(line, soft_wrap=True, highlight=False)

        yield report, answered


def print_json(content: Any) -> None:
    """Print data for another program on stdout: indented, and never wrapped."""
    print_line(json.dumps(content, indent=2, ensure_ascii=False))


def print_line(text: str) -> None:
    """Print a text on stdout without any layout."""
    print(printable(text), flush=True)  # noqa: T201


def note(message: str) -> None:
    """Print one line on stderr that is neither a result nor a warning."""
    notes().print(Text(message, style="dim"), soft_wrap=True)
