"""A catalogue from a table that is uploaded, with its images."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from starlette.datastructures import UploadFile

from choicebo.errors import SpaceError
from choicebo.space import Catalogue
from choicebo.space.table import read_file, read_table
from choicebo.web.pictures import MEDIA_TYPES

_TABLE_BYTES = 4 << 20
_LONGEST_NAME, _LONGEST_SUFFIX = 150, 10
"""In bytes."""
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"<svg", b"<?xml")


def read_catalogue(
    table: UploadFile,
    key: str | None = None,
    label: str | None = None,
    image: str | None = None,
    objectives: Sequence[str] = (),
) -> Catalogue:
    """The catalogue of an uploaded table; the image column is brought to the names of the uploaded files.

    A column that is None is found by its name; an empty label or image means that there is none.
    """
    table.file.seek(0)
    content = table.file.read(_TABLE_BYTES + 1)
    if len(content) > _TABLE_BYTES:
        raise SpaceError(
            f"The table is too large: leave out rows or columns, at most {_TABLE_BYTES >> 20} MB are accepted."
        )
    name = base_name(table.filename or "") or "table.csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        try:
            found = read_file(path)
            catalogue = Catalogue.recognise(found, key or None, label, image, objectives)
            image = catalogue.image
            if image:
                rows = [{**row, image: row[image] and base_name(str(row[image]))} for row in catalogue.rows]
                catalogue = Catalogue(
                    read_table(rows),
                    catalogue.key,
                    catalogue.label,
                    catalogue.image,
                    catalogue.features,
                    objectives,
                )
        except SpaceError as error:
            raise SpaceError(str(error).replace(repr(str(path)), repr(name))) from None
    return catalogue


def missing_images(catalogue: Catalogue, images: Sequence[UploadFile]) -> list[str]:
    """The names of images in the table that are not among the files."""
    given = {base_name(file.filename or "") for file in images}
    named = (row[catalogue.image] for row in catalogue.rows if catalogue.image)
    return sorted({str(name) for name in named if name is not None and name not in given})


def store_images(images: Sequence[UploadFile], parent: Path) -> Path:
    """Store uploaded images in a new folder; a file that is no image is refused, and then none is stored."""
    folder = parent / secrets.token_hex(8)
    folder.mkdir(parents=True)
    try:
        for file in images:
            name = base_name(file.filename or "")
            content = file.file.read()
            known = (
                content.lstrip()[:4].startswith(tuple(start[:4] for start in _BEGINNINGS)) or content[4:8] == b"ftyp"
            )
            if not name or Path(name).suffix.lower() not in MEDIA_TYPES or not known:
                raise SpaceError(f"{name!r} is not an image: give PNG, JPEG, GIF, WebP, AVIF or SVG files.")
            (folder / name).write_bytes(content)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def base_name(given: str) -> str:
    """The name of a file without its folders, cut to what a disk can store; empty if nothing safe is left.

    >>> base_name("photos/a b.jpg"), base_name("../../etc/passwd"), base_name("..")
    ('a b.jpg', 'passwd', '')
    """
    name = PureWindowsPath(PurePosixPath(given).name).name
    name = re.sub(r"[\x00-\x1f\ud800-\udfff<>:\"|?*]", "_", name).strip()
    if name.startswith("."):
        return ""
    stem, suffix = name.encode(), PurePosixPath(name).suffix.encode()
    if len(stem) <= _LONGEST_NAME:
        return name
    suffix = suffix if len(suffix) <= _LONGEST_SUFFIX else b""
    return stem[: _LONGEST_NAME - len(suffix)].decode(errors="ignore") + suffix.decode()
