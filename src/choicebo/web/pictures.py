"""Options with their pictures: drawings from a template, and images from the study's own folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote, urlencode

from choicebo.presentation.cards import Card, Comparison, card_of, compare
from choicebo.presentation.fields import Measured
from choicebo.presentation.images import MEDIA_TYPES, image_file, image_path
from choicebo.presentation.templates import could_be, fill_svg
from choicebo.space import Catalogue, Option
from choicebo.study import Study, StudyError
from choicebo.study.measured import measured_of
from choicebo.web.addresses import study_path

__all__ = ["MEDIA_TYPES", "PICTURE_POLICY", "card", "compared", "drawing", "image_file", "image_path", "names_image"]

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""For a picture that is opened by itself: as an <img> it could run nothing anyway."""


def compared(
    study: Study, options: Sequence[Option], new: Sequence[bool] = (), measured: Measured | None = None
) -> Comparison:
    """Options side by side, with their pictures."""
    known = measured_of(study, options) if measured is None else measured
    return compare(study.space, options, new, partial(picture_address, study), known)


def card(study: Study, option: Option, measured: Measured | None = None) -> Card:
    """One option by itself, with its picture; ``measured`` may hold estimates beside what was measured."""
    known = measured_of(study, [option]) if measured is None else measured
    return card_of(study.space, option, partial(picture_address, study), known)


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
        raise StudyError("The options of this study are not shown as drawings: it has no template.")
    if not isinstance(option, dict):
        raise StudyError("The option is not a JSON object with a value for each name.")
    return fill_svg(study.show.template, study.space.validate(option))


def drawing_size(study: Study) -> tuple[int, int] | None:
    """Width and height of the study's drawings, so that a page has room for them before they are there."""
    box = re.search(r'viewBox="([^"]+)"', study.show.template or "") if study.show.kind == "svg" else None
    try:
        width, height = [round(float(part)) for part in re.split(r"[\s,]+", box[1].strip())[2:]] if box else (0, 0)
    except ValueError:
        return None
    return (width, height) if width > 0 and height > 0 else None


def are_wide(study: Study) -> bool:
    """Whether pictures are wider than high, as images are unless their size is known."""
    width, height = drawing_size(study) or (4, 3)
    return width > 1.15 * height


def names_image(study: Study, path: str) -> bool:
    """Whether a path is that of the image of one of the study's options."""
    if study.show.kind != "image":
        return False
    if study.show.template is not None:
        return could_be(study.show.template, path, study.space)
    if not isinstance(study.space, Catalogue) or study.space.image is None:
        return False
    return any(image_path(study, row) == path for row in study.space.rows)
