"""Text files, and the endings of their names that stand for a format."""

from __future__ import annotations

from pathlib import Path

from choicebo.errors import DataError


class FileError(DataError):
    """A file that cannot be read or written, whatever it holds; the message names it."""


ENDINGS = (".json", ".csv")


def ending(path: str | Path) -> str:
    """Return the ending of a path that names its format, or raise `DataError` for one that names none.

    >>> ending("answers.CSV")
    '.csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise DataError(f"The ending {suffix!r} of {str(path)!r} is not a format for choices; use .json or .csv.")
    return suffix


def write_text(path: str | Path, text: str) -> None:
    r"""Write a text file in UTF-8, or raise `FileError` with the reason that the system gives.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(f"{folder}/answers.csv", "choice,option\n")
    ...     read_text(f"{folder}/answers.csv")
    'choice,option\n'
    """
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise FileError(
            f"{str(path)!r} cannot be written: {_reason(error)}; give a path in an existing, writable folder."
        ) from error


def read_text(path: str | Path) -> str:
    r"""Read a text file in UTF-8 (the mark that some editors put in front is ignored), or raise `FileError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answers.csv").write_bytes(b"\xef\xbb\xbfchoice,option")
    ...     read_text(f"{folder}/answers.csv")
    'choice,option'
    """
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{str(path)!r} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}; "
            "save it again with the encoding UTF-8."
        ) from error
    except (OSError, ValueError) as error:
        raise FileError(
            f"{str(path)!r} cannot be read: {_reason(error)}; check the path and its permissions."
        ) from error


def read_beginning(path: str | Path, size: int = 100_000) -> str:
    r"""The first characters of a text file, or raise `FileError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answers.csv").write_bytes(b"\xef\xbb\xbfchoice,option")
    ...     read_beginning(f"{folder}/answers.csv", 6)
    'choice'
    """
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            return file.read(size)
    except (OSError, ValueError):
        return read_text(path)[:size]  # says what is wrong


def _reason(error: OSError | ValueError) -> str:
    """What the system says, or why the text is no path or cannot be written as UTF-8."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "a character in the text or in the path cannot be stored"
