"""Single keys from a terminal, without Enter; from a pipe, single characters.

Not ``click.getchar``: it takes several keys typed at once for one, shows and loses those that are typed while the next
table is drawn, and asks the terminal even if the input is a pipe.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from typing import TextIO

ENTER = "\n"
END = ""
"""What is read when the input has ended."""
INTERRUPT, END_OF_INPUT, ESCAPE = "\x03", "\x04", "\x1b"


class Keys:
    """Reads one key at a time; use it in a ``with`` block, which sets the terminal up and puts it back."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdin
        self._restore = contextlib.ExitStack()

    @property
    def is_terminal(self) -> bool:
        """Whether a person types here."""
        return self._stream.isatty()

    def __enter__(self) -> Keys:
        if self.is_terminal and sys.platform != "win32":
            self._restore.enter_context(_single_keys(self._stream.fileno()))
        return self

    def __exit__(self, *exc: object) -> None:
        self._restore.close()

    def read(self) -> str:
        """The next key in lower case: a character, ``ENTER``, or ``END`` at the end of the input.

        Arrows and other keys that send several characters are passed over.
        """
        if not self.is_terminal:
            return _translated(self._stream.read(1))
        while True:
            key = _terminal_key(self._stream)
            if key is not None:
                return key

    def read_line(self) -> str:
        """A whole line as it is typed, which the terminal shows; ``END`` at the end of the input."""
        self._restore.close()
        try:
            return self._stream.readline()
        finally:
            self.__enter__()

    def forget(self) -> None:
        """Drop keys that were typed before there was anything to answer; a pipe keeps them."""
        if self.is_terminal and sys.platform != "win32":
            import termios

            termios.tcflush(self._stream.fileno(), termios.TCIFLUSH)


def _terminal_key(stream: TextIO) -> str | None:
    if sys.platform == "win32":
        import msvcrt

        key = msvcrt.getwch()
        if key in ("\x00", "\xe0"):
            msvcrt.getwch()
            return None
    else:
        sent = os.read(stream.fileno(), 1)
        if sent == ESCAPE.encode():
            _pass_over_sequence(stream.fileno())
            return None
        if sent and sent[0] >= 0xC0:  # the rest of a character outside ASCII, which is no key of ours
            os.read(stream.fileno(), 3 if sent[0] >= 0xF0 else 2 if sent[0] >= 0xE0 else 1)
            return None
        key = sent.decode("ascii", "ignore")
    if key == INTERRUPT:
        raise KeyboardInterrupt
    return _translated(key)


def _translated(key: str) -> str:
    if key == END_OF_INPUT:
        return END
    return ENTER if key in ("\r", "\n") else key.lower()


def _pass_over_sequence(descriptor: int) -> None:
    """Read what follows Escape: nothing, one character (Alt and a key), or up to the letter that ends a sequence."""
    if not select.select([descriptor], [], [], 0.05)[0]:
        return
    if os.read(descriptor, 1) in (b"[", b"O"):
        while (sent := os.read(descriptor, 1)) and not b"@" <= sent <= b"~":
            pass


@contextlib.contextmanager
def _single_keys(descriptor: int) -> Iterator[None]:
    """The terminal hands over keys at once and does not show them; Ctrl-C still interrupts."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
