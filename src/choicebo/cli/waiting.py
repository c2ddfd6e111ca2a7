"""What a person sees while something takes longer than a second."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from choicebo.errors import ConvergenceWarning
from choicebo.presentation import output

PATIENCE = 1.0
"""Seconds after which a wait is explained."""
ONCE = "The model is being compiled, once on this machine, which takes about ten seconds."

Report = Callable[[str, float], None]


@contextlib.contextmanager
def waiting(what: str, *, model: bool = True) -> Iterator[Report]:
    """Show what is being waited for; yields the ``progress`` of a fit.

    A terminal gets a bar that vanishes at the end; anywhere, a long wait is explained in one line. ``model`` says whether a model
    is fitted, which has to be compiled where it was never used.
    """
    console = output.notes()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with (
        warnings.catch_warnings(),
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result says it, once and not across the bar
        task = bar.add_task(what, total=None)

        def explain() -> None:
            reason = _reason() if model else ""
            if console.is_terminal and not reason:
                return  # the bar says what is being done
            bar.console.print(f"{what}. {reason}".strip(), style="dim", markup=False, highlight=False, soft_wrap=True)

        timer = threading.Timer(PATIENCE, explain)
        timer.daemon = True
        timer.start()
        try:
            # Never quite complete: what is complete no longer moves, and another stage may follow.
            yield lambda stage, fraction: bar.update(
                task, description=f"{what}: {stage}", total=1.0, completed=min(fraction, 0.999)
            )
        finally:
            timer.cancel()


def _reason() -> str:
    from choicebo.model import compiling

    return "" if compiling.is_compiled() else ONCE
