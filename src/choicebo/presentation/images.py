"""The images of options, in the folder of their study."""

from __future__ import annotations

import reprlib
from pathlib import Path, PurePosixPath

from choicebo.presentation.page import data_url
from choicebo.presentation.templates import fill_path, fill_svg
from choicebo.space import Catalogue, Option
from choicebo.study import Study, StudyNotFoundError

_LARGEST = 400_000
"""Bytes of an image that goes into a page."""
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}


def image_path(study: Study, option: Option) -> str | None:
    """The path of an option's image inside the study's folder."""
    if study.show.kind != "image":
        return None
    if study.show.template is not None:
        return fill_path(study.show.template, option)
    column = study.space.image if isinstance(study.space, Catalogue) else None
    found = None if column is None else option.get(column)
    return None if found is None else str(found)


def image_file(folder: Path | None, path: str) -> Path:
    """The image at a path inside the folder of the study; anything outside, and any other sort of file, is refused."""
    missing = StudyNotFoundError(f"There is no image {reprlib.repr(path)} in the folder of the study.")
    if folder is None or "\x00" in path or PurePosixPath(path).is_absolute():
        raise missing
    try:
        root = folder.resolve()
        file = (root / path).resolve()
        if not file.is_relative_to(root) or file.suffix.lower() not in MEDIA_TYPES or not file.is_file():
            raise missing
    except (OSError, RuntimeError, ValueError):  # no disk has such a name, or links that lead to each other
        raise missing from None
    return file


def inline_picture(study: Study, option: Option) -> str | None:
    """The drawing or image of an option as an address that holds it; None if it has none, or one that is too large."""
    if study.show.kind == "svg" and study.show.template:
        return data_url(fill_svg(study.show.template, option).encode(), "image/svg+xml")
    path = image_path(study, option)
    if path is None:
        return None
    try:
        file = image_file(study.folder, path)
        return (
            data_url(file.read_bytes(), MEDIA_TYPES[file.suffix.lower()]) if file.stat().st_size <= _LARGEST else None
        )
    except (StudyNotFoundError, OSError):
        return None
