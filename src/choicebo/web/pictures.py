"""Pictures of options: drawings from a template, and images from the study's own folder."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from choicebo.space import Catalogue, Option
from choicebo.study import Study, StudyError
from choicebo.web.addresses import study_path

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""For a picture that is opened by itself: as an <img> it could run nothing anyway."""
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}


def fill(template: str, option: Option) -> str:
    """A template with the option's values for ``{name}``; braces around anything else stay.

    >>> fill('<text fill="hsl({hue},50%,50%)">{name}</text>', {"hue": 30, "name": "<b>"})
    '<text fill="hsl(30,50%,50%)">&lt;b&gt;</text>'
    """

    def value(found: re.Match[str]) -> str:
        name = found[1].strip()
        return escape(_text(option[name]), {'"': "&quot;", "'": "&apos;"}) if name in option else found[0]

    return re.sub(r"\{([^{}]+)\}", value, template)


def picture_address(study: Study, option: Option) -> str | None:
    """Where the picture of an option is; None if options are shown as bars."""
    if study.show.kind == "svg":
        known = json.dumps(option, separators=(",", ":"), ensure_ascii=False)
        return study_path(study.name, "drawing.svg") + "?" + urlencode({"option": known})
    path = image_path(study, option)
    return None if path is None else study_path(study.name, "image/") + quote(path)


def drawing(study: Study, option: object) -> str:
    """The SVG of an option, which must be one of the study."""
    if study.show.kind != "svg" or study.show.template is None:
        raise StudyError("The options of this study are not shown as drawings.")
    if not isinstance(option, dict):
        raise StudyError("The option is not a JSON object with a value for each name.")
    return fill(study.show.template, study.space.validate(option))


def drawing_size(study: Study) -> tuple[int, int] | None:
    """Width and height of the study's drawings, so that a page has room for them before they are there."""
    box = re.search(r'viewBox="([^"]+)"', study.show.template or "") if study.show.kind == "svg" else None
    try:
        width, height = [round(float(part)) for part in re.split(r"[\s,]+", box[1].strip())[2:]] if box else (0, 0)
    except ValueError:
        return None
    return (width, height) if width > 0 and height > 0 else None


def image_path(study: Study, option: Option) -> str | None:
    """The path of an option's image inside the study's folder."""
    if study.show.kind != "image":
        return None
    if study.show.template is not None:
        return re.sub(r"\{([^{}]+)\}", lambda found: _text(option.get(found[1].strip(), found[0])), study.show.template)
    column = study.space.image if isinstance(study.space, Catalogue) else None
    found = None if column is None else option.get(column)
    return None if found is None else str(found)


def image_file(folder: Path | None, path: str) -> Path:
    """The image at a path inside the folder of the study; anything outside, and any other sort of file, is refused."""
    missing = StudyError(f"There is no image {path!r} in the folder of the study.")
    if folder is None or "\x00" in path or PurePosixPath(path).is_absolute():
        raise missing
    root = folder.resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root) or file.suffix.lower() not in MEDIA_TYPES or not file.is_file():
        raise missing
    return file


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
