"""Waiting for the model only so long: it goes on working, and what it finds is there the next time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.likelihood import is_number

PATIENCE = 4.0
"""Seconds that a person waits for the model."""


class Patience:
    """Work in the background, one at a time, for which nobody waits twice."""

    def __init__(self) -> None:
        self._under_way: Future[None] | None = None

    def __reduce__(self) -> tuple[type[Patience], tuple[()]]:
        return Patience, ()

    def is_done(self, work: Callable[[], object], seconds: float) -> bool:
        """Begin some work and say whether it is done within ``seconds``; its error is raised here if it came in time.

        While earlier work is under way, for which somebody has waited already, nothing is begun.
        """
        if not is_number(seconds) or not seconds > 0.0:
            raise InvalidInputError(
                f"patience is {as_given(seconds)}; give seconds above 0, or None to wait for the model."
            )
        if self._under_way is not None and not self._under_way.done():
            return False
        begun = self._under_way = Future()

        def run() -> None:
            try:
                work()
            except BaseException as error:  # whoever waits is told
                begun.set_exception(error)
            else:
                begun.set_result(None)

        threading.Thread(target=run, name="choicebo-question", daemon=True).start()
        wait_for([begun], timeout=seconds)
        if begun.done():
            begun.result()
        return begun.done()
