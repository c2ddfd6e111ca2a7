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
from choicebo.space.table import read_csv, usual_key
from choicebo.web.pictures import MEDIA_TYPES

_TABLE_BYTES = 4 << 20
_LONGEST_NAME, _LONGEST_SUFFIX = 150, 10
"""In bytes."""
_BEGINNINGS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"<svg", b"<?xml")


def read_catalogue(table: UploadFile, key: str, label: str, image: str, images: Sequence[UploadFile]) -> Catalogue:
    """The catalogue of an uploaded CSV; the image column is brought to the names of the uploaded files."""
    content = table.file.read(_TABLE_BYTES + 1)
    if len(content) > _TABLE_BYTES:
        raise SpaceError(f"The table is too large: at most {_TABLE_BYTES >> 20} MB are taken.")
    name = base_name(table.filename or "") or "table.csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        try:
            found = read_csv(path)
            column = key or usual_key(found.columns)
            rows = [dict(row) for row in found.rows]
            if image and image in found.columns:
                for row in rows:
                    row[image] = base_name(str(row[image])) if row[image] is not None else None
            catalogue = Catalogue(rows, column, label or None, image or None)
        except SpaceError as error:
            raise SpaceError(str(error).replace(repr(str(path)), repr(name))) from None
    if image:
        given = {base_name(file.filename or "") for file in images}
        missing = [str(row[image]) for row in catalogue.rows if row[image] is not None and row[image] not in given]
        if missing:
            raise SpaceError(f"The image {missing[0]!r} of the table is not among the files: choose it as well.")
    return catalogue


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
