"""The first sheet of an Excel file, as lines of cells."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from choicebo.errors import SpaceError

BEGINNING = b"PK\x03\x04"
"""Of an .xlsx file, which is a ZIP archive."""
OLD_BEGINNING = b"\xd0\xcf\x11\xe0"
_MOST_BYTES = 256 << 20
"""Unpacked: a small archive from somebody else could unpack to more than the memory."""


def read_records(path: Path, what: str) -> list[tuple[int, list[Any]]]:
    """The lines of the first sheet that are not empty, each with its number and as many cells as the first.

    Args:
        path: The file.
        what: How errors call it.

    Raises:
        SpaceError: It is damaged, too large, or openpyxl is not installed.
    """
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise SpaceError(
            f"{what} is an Excel file, which needs openpyxl: pip install 'choicebo[excel]'; or save it as 'CSV UTF-8'."
        ) from None
    damaged = SpaceError(f"{what} cannot be read as an Excel file: save it again, or as 'CSV UTF-8'.")
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as archive:
                size = sum(part.file_size for part in archive.infolist())
            if size > _MOST_BYTES:
                raise SpaceError(f"{what} unpacks to {size >> 20} MB: leave out sheets, pictures or rows.")
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            if not book.worksheets:
                raise damaged
            rows = book.worksheets[0].iter_rows(values_only=True)
            lines = [(number, [_plain(cell) for cell in row]) for number, row in enumerate(rows, start=1)]
    except SpaceError:
        raise
    except Exception:  # whatever a damaged archive can do to a parser
        raise damaged from None
    filled = [(number, line) for number, line in lines if any(cell is not None for cell in line)]
    if not filled:
        return []
    width = max(at for _, line in filled for at, cell in enumerate(line, start=1) if cell is not None)
    padded = [(number, (line + [None] * width)[:width]) for number, line in filled]
    # A column without a name is told of as in other tables.
    return [(padded[0][0], ["" if cell is None else cell for cell in padded[0][1]]), *padded[1:]]


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()  # Excel has no dates without a time
    if isinstance(cell, (datetime, date, time)):
        return cell.isoformat()
    if isinstance(cell, str):
        return cell.strip() or None
    # Excel has no whole numbers of its own: 3.0 was typed as 3.
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell
