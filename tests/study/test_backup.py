"""Backups are made while people answer, and bring everything back."""

from __future__ import annotations

import json
import threading
import zipfile
from pathlib import Path

import pytest
from study_helpers import SPACE

import choicebo as cb
from choicebo.errors import DataError, StudyExistsError, StudyNotFoundError
from choicebo.study import Storage, Study, backup
from choicebo.study.definition import Show

SETTINGS = {"acquisition": "sobol", "query_size": 3}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """With a study that was answered by two, one of whom has a wish."""
    found = Storage(tmp_path / "studies.db")
    study = Study.create(found, "bread", SPACE, **SETTINGS)
    for rater in ("ann", "bob"):
        study.add_rater(rater)
        study.tell(study.ask(rater), [0], rater=rater)
    study.steer("ann", locked={"minutes": 12})
    study.remove_rater("bob")
    return found


def test_everything_comes_back_and_links_go_on_working(storage: Storage, tmp_path: Path) -> None:
    study = Study.open(storage, "bread")
    token = study.new_token("ann")
    assert backup.write(storage, tmp_path / "b.zip") == ("bread",)
    with Storage(tmp_path / "elsewhere.db") as other:
        assert backup.read(tmp_path / "b.zip", other) == ("bread",)
        back = Study.open(other)
        assert back.export_json() == study.export_json()
        assert Study.of_token(other, token) == ("bread", "ann")
        assert back.wishes("ann").locked == {"minutes": 12}
        assert [rater.removed_at is not None for rater in back.raters()] == [False, False, True]
        assert back.ask("ann").options == study.ask("ann").options


def test_a_backup_is_made_while_people_answer(storage: Storage, tmp_path: Path) -> None:
    over, told = threading.Event(), []

    def answer() -> None:
        study = Study.open(storage, "bread")
        while not over.is_set():
            told.append(study.tell(study.ask("ann"), [0], rater="ann").id)

    person = threading.Thread(target=answer)
    person.start()
    try:
        for number in range(5):
            before = len(told)
            backup.write(storage, tmp_path / f"{number}.zip")
            with Storage(tmp_path / f"{number}.db") as other:
                backup.read(tmp_path / f"{number}.zip", other)
                back = Study.open(other)
                assert before + 2 <= back.n_answers <= len(told) + 3  # all that was acknowledged before
    finally:
        over.set()
        person.join(60)
    assert len(told) > 1  # while the backups were made
    whole = Study.open(storage, "bread").export_json().splitlines()
    assert all(line in whole for line in back.export_json().splitlines()[-10:-3] if '"position"' in line)


def test_several_studies_come_back_together_or_not_at_all(storage: Storage, tmp_path: Path) -> None:
    Study.create(storage, "cake", SPACE, **SETTINGS)
    assert backup.write(storage, tmp_path / "b.zip") == ("bread", "cake")
    with Storage(tmp_path / "elsewhere.db") as other:
        Study.create(other, "cake", SPACE)
        with pytest.raises(StudyExistsError, match="'cake'"):
            backup.read(tmp_path / "b.zip", other)
        assert [info.name for info in Study.list(other)] == ["cake"]
        backup.write(storage, tmp_path / "c.zip", "cake")
        assert backup.read(tmp_path / "c.zip", other, name="pie") == ("pie",)
        with pytest.raises(DataError, match="holds 2 studies"):
            backup.read(tmp_path / "b.zip", other, name="pie")


def test_images_come_along(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    (photos / "more").mkdir(parents=True)
    for name in ("a.png", "more/b.png"):
        (photos / name).write_bytes(name.encode())
    (photos / "diary.txt").write_text("no image")
    rows = [{"sku": 1, "photo": "a.png", "price": 3}, {"sku": 2, "photo": "more/b.png", "price": 4}]
    menu = cb.Catalogue(rows, key="sku", image="photo")
    with Storage(tmp_path / "studies.db") as storage:
        Study.create(storage, "menu", menu, folder=photos, show=Show("image"))
        backup.write(storage, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert [name for name in archive.namelist() if "diary" in name] == []
    with Storage(tmp_path / "elsewhere" / "studies.db") as other:
        (tmp_path / "elsewhere").mkdir()
        backup.read(tmp_path / "b.zip", other)
        folder = Study.open(other).folder
        assert folder == tmp_path / "elsewhere" / "studies-images" / "menu"
        assert (folder / "more" / "b.png").read_bytes() == b"more/b.png"


def test_nothing_to_back_up_is_told(tmp_path: Path) -> None:
    with Storage(tmp_path / "studies.db") as storage:
        Study.create(storage, "bread", SPACE)
        Study.delete(storage, "bread")
        with pytest.raises(StudyNotFoundError, match="nothing to back up"):
            backup.write(storage, tmp_path / "b.zip")
    assert not list(tmp_path.glob("b.zip*"))


@pytest.mark.parametrize("content", [b"", b"PK", b"not a backup", None])
def test_what_is_no_backup_is_told_and_changes_nothing(storage: Storage, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "b.zip"
    if content is None:
        backup.write(storage, path)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        told = json.loads(parts["backup.json"])
        told["studies"][0]["images"] = ["../../evil.png"]
        parts |= {"backup.json": json.dumps(told).encode(), "images/1/../../evil.png": b"evil"}
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
    else:
        path.write_bytes(content)
    with Storage(tmp_path / "elsewhere.db") as other:
        with pytest.raises(DataError, match=r"is not a backup|is not an image"):
            backup.read(path, other)
        assert content is not None or Study.list(other) == ()
    assert not list(tmp_path.rglob("evil.png"))
