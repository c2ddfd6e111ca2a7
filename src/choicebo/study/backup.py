"""Backups: all of a database's studies in one file, with the links of their raters and their images, and back.

A study is read at one moment, as it is exported, so that people can answer meanwhile. Fitted models are left out: they are
computed again.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import choicebo
from choicebo.errors import ChoiceboError, DataError, StudyNotFoundError
from choicebo.formatting import as_given
from choicebo.study import raters, study_json
from choicebo.study.storage import Storage
from choicebo.study.study import Study

FORMAT, VERSION = "choicebo-backup", 1
_CONTENTS = "backup.json"
_IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"}
_HASH = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 30
"""Bytes of one part of a backup; a study of a million answers has fewer."""


def write(storage: Storage, path: str | Path, name: str | None = None) -> tuple[str, ...]:
    """Write a backup of all studies, or of one; their names.

    Raises:
        StudyNotFoundError: There is no such study, or none at all.
        DataError: The file cannot be written.
    """
    names = [info.name for info in Study.list(storage)] if name is None else [name]
    if not names:
        raise StudyNotFoundError(f"{storage} holds no study yet: there is nothing to back up.")
    unfinished = Path(f"{path}.part")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            listed = [_add(archive, Study.open(storage, each), number) for number, each in enumerate(names, start=1)]
            head = {"format": FORMAT, "version": VERSION, "choicebo": choicebo.__version__}
            made = {"made_at": datetime.now(UTC).isoformat(timespec="seconds"), "studies": listed}
            archive.writestr(_CONTENTS, json.dumps({**head, **made}, ensure_ascii=False, indent=1))
        unfinished.replace(path)  # a backup that is there is complete
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be written ({error.strerror}): give a path in a folder with room."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return tuple(names)


def read(path: str | Path, storage: Storage, *, name: str | None = None, images: Path | None = None) -> tuple[str, ...]:
    """Bring the studies of a backup into a database; their names. Of several, none is brought back unless all can be.

    Args:
        path: The file that :func:`write` made.
        storage: Where they come back to; it may hold other studies.
        name: Another name, if the backup holds one study.
        images: Where images are put; None: beside the database file, or in this folder.

    Raises:
        StudyExistsError: There is a study of that name already.
        DataError: The file is no backup, or is damaged.
    """
    made: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive:
            listed = _contents(archive)
            if name is not None and len(listed) > 1:
                raise DataError(
                    f"The backup holds {len(listed)} studies: leave the name out, which is for a backup of one study."
                )
            for entry in listed:
                text = _part(archive, entry["study"]).decode()
                study = Study.import_json(storage, text, name=name)
                made.append(study.name)
                _complete(study, archive, entry, study_json.loads(text)[0].folder, images or _image_folder(storage))
    except (OSError, zipfile.BadZipFile, EOFError, KeyError, UnicodeDecodeError, NotImplementedError) as error:
        _take_back(storage, made)
        raise DataError(f"{str(path)!r} is not a backup made by choicebo, or is damaged: {error}.") from None
    except ChoiceboError:
        _take_back(storage, made)
        raise
    return tuple(made)


def _add(archive: zipfile.ZipFile, study: Study, number: int) -> dict[str, Any]:
    text = study.export_json()
    with study._storage.read() as connection:
        links = raters.links(connection, study._id)
        wishes = {each: found for each in links if (found := raters.stored_wishes(connection, study._id, each))}
    document, folder = f"studies/{number}.json", study.folder
    archive.writestr(document, text)
    pictures = []
    if study.show.kind == "image" and folder is not None and folder.is_dir():
        for file in sorted(folder.rglob("*")):
            if file.suffix.lower() in _IMAGES and file.is_file():
                pictures.append(file.relative_to(folder).as_posix())
                archive.write(file, f"images/{number}/{pictures[-1]}")
    return {"name": study.name, "study": document, "links": links, "wishes": wishes, "images": pictures}


def _contents(archive: zipfile.ZipFile) -> Sequence[Mapping[str, Any]]:
    try:
        told = json.loads(_part(archive, _CONTENTS))
        assert told["format"] == FORMAT
        listed: list[dict[str, Any]] = told["studies"]
        for entry in listed:
            assert isinstance(entry["study"], str)
            assert all(isinstance(each, str) for each in entry["images"])
            assert all(value is None or _HASH.fullmatch(value) for value in entry["links"].values())
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        raise DataError(f"{archive.filename!r} is not a backup made by choicebo, or is damaged.") from None
    if told.get("version") != VERSION:
        raise DataError(
            f"The backup is in version {as_given(told.get('version'))} of the format; "
            f"this choicebo reads {VERSION}: update choicebo."
        )
    return listed


def _complete(
    study: Study, archive: zipfile.ZipFile, entry: Mapping[str, Any], before: Path | None, images: Path
) -> None:
    """What an exported study lacks: links, wishes, and images, which were in the folder ``before``."""
    with study._storage.write() as connection:
        for person, known in entry["links"].items():
            raters.bring_link(connection, study._id, person, known, entry.get("wishes", {}).get(person))
    if entry["images"]:
        folder = images / re.sub(r"[^\w.-]", "-", study.name)
        number = PurePosixPath(entry["study"]).stem
        for picture in entry["images"]:
            target = folder / picture
            if not target.resolve().is_relative_to(folder.resolve()) or target.suffix.lower() not in _IMAGES:
                raise DataError(f"The backup holds {as_given(picture)}, which is not an image of a study.")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_part(archive, f"images/{number}/{picture}"))
        study.edit(folder=folder)
    elif before is not None and before.is_dir():
        study.edit(folder=before)  # as it was, on the same machine


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _LARGEST:
        raise DataError(f"{name!r} in the backup is too large to be part of a study.")
    return archive.read(name)


def _take_back(storage: Storage, made: Sequence[str]) -> None:
    for name in made:
        Study.delete(storage, name)


def _image_folder(storage: Storage) -> Path:
    return Path("choicebo-images") if storage.file is None else storage.file.with_name(f"{storage.file.stem}-images")
