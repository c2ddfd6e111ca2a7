"""Tables as people have them: what their columns are for, and what an Excel file holds."""

from __future__ import annotations

import datetime
import sys
import zipfile

import pytest

import choicebo as cb
from choicebo.errors import SpaceError
from choicebo.space.roles import column_roles

openpyxl = pytest.importorskip("openpyxl")


def table(columns: str, *rows: str):
    names = columns.split(",")
    return [dict(zip(names, row.split(","), strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("id,name,picture,price", ("id", "name", "picture")),
        ("Product ID,Title,image_file,price", ("Product ID", "Title", "image_file")),
        ("productId,productName,url,price", ("productId", "productName", "url")),
        ("SKU,LABEL,Img,price", ("SKU", "LABEL", "Img")),
        ("what,name,which,price", ("name", None, None)),
        ("thing,kind,made,price", ("thing", None, None)),
        ("made,sku,photo,price", ("sku", None, "photo")),
    ],
)
def test_columns_are_recognised_by_their_names_and_cells(columns, expected):
    rows = table(columns, "A,Rye,a.png,3", "B,Oat,b.JPG,4", "C,Malt,c.svg,9")
    rows = [{**row, "price": int(row["price"])} for row in rows]
    found = cb.Catalogue.recognise(rows)
    assert (found.key, found.label, found.image) == expected
    assert "price" in [column.parameter for column in found.columns]


def test_a_column_whose_cells_do_not_fit_its_name_is_no_key_and_no_picture():
    rows = table("id,photo,name,price", "1,sharp,Rye,3", "1,soft,Oat,4")
    found = cb.Catalogue.recognise(rows)
    assert (found.key, found.label, found.image) == ("name", None, None)


def test_addresses_on_the_web_are_neither_pictures_nor_features():
    rows = [{"id": n, "url": f"https://example.org/{n}.png", "price": n} for n in range(3)]
    found = cb.Catalogue.recognise(rows)
    assert found.image is None
    assert [column.parameter for column in found.columns] == ["price"]
    assert column_roles(found)["url"].startswith("not used")


def test_rows_that_nothing_tells_apart_are_numbered():
    rows = table("roast,grind", "dark,fine", "dark,coarse", "light,fine")
    found = cb.Catalogue.recognise(rows)
    assert (found.key, found.keys) == ("row", (1, 2, 3))


def test_what_is_said_of_the_columns_wins():
    rows = table("id,name,title,price", "1,Rye,x,3", "2,Oat,y,4")
    found = cb.Catalogue.recognise(rows, key="name", label="")
    assert (found.key, found.label) == ("name", None)
    with pytest.raises(SpaceError, match=r"label names the column 'titel'.*'title'"):
        cb.Catalogue.recognise(rows, label="titel")
    with pytest.raises(SpaceError, match="no rows"):
        cb.Catalogue.recognise([])


def test_a_catalogue_from_python_means_what_it_did():
    rows = [{"sku": "A", "name": "Rye", "price": 3}, {"sku": "B", "name": "Oat", "price": 4}]
    assert cb.Catalogue(rows).label is None
    assert "name" in [column.parameter for column in cb.Catalogue(rows).columns]


def save(path, *lines):
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    book.save(path)


def test_an_excel_file_is_read_whatever_it_is_called(tmp_path):
    day = datetime.date(2026, 5, 1)
    lines = ["id", "name", "price", "count", "organic", "since"], [1, " Rye ", 3.0, "7", True, day]
    save(tmp_path / "menu.csv", [None], *lines, [], [2, "Oat", 4.5, "8", False, day])
    found = cb.Catalogue.recognise(tmp_path / "menu.csv")
    assert found.rows[0] == {"id": 1, "name": "Rye", "price": 3, "count": 7, "organic": True, "since": "2026-05-01"}
    assert found.rows[1]["price"] == 4.5
    assert (found.key, found.label) == ("id", "name")


def test_mistakes_in_an_excel_file_are_told_as_in_a_table(tmp_path):
    save(tmp_path / "a.xlsx", ["sku", None, "price"], ["A", 1, 2])
    with pytest.raises(SpaceError, match="column without a name"):
        cb.Catalogue(tmp_path / "a.xlsx")
    save(tmp_path / "b.xlsx", ["sku", "price"], ["A", 1], ["A", 2])
    with pytest.raises(SpaceError, match=r"Row 2 \(line 3\) repeats the key 'A'"):
        cb.Catalogue(tmp_path / "b.xlsx")
    save(tmp_path / "c.xlsx")
    with pytest.raises(SpaceError, match="empty"):
        cb.Catalogue(tmp_path / "c.xlsx")


def test_what_is_no_excel_file_that_can_be_read_is_named_as_what_it_is(tmp_path, monkeypatch):
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(SpaceError, match=r"old Excel file \(\.xls\)"):
        cb.Catalogue(tmp_path / "old.xls")
    with zipfile.ZipFile(tmp_path / "pictures.xlsx", "w") as archive:
        archive.writestr("a.txt", "no table")
    with pytest.raises(SpaceError, match="cannot be read as an Excel file"):
        cb.Catalogue(tmp_path / "pictures.xlsx")
    (tmp_path / "cut.xlsx").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(SpaceError, match="cannot be read as an Excel file"):
        cb.Catalogue(tmp_path / "cut.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(SpaceError, match=r"choicebo\[excel\]"):
        cb.Catalogue(tmp_path / "pictures.xlsx")


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    from choicebo.space import excel

    save(tmp_path / "menu.xlsx", ["sku", "price"], ["A", 1], ["B", 2])
    monkeypatch.setattr(excel, "_MOST_BYTES", 1000)
    with pytest.raises(SpaceError, match="unpacks to"):
        cb.Catalogue(tmp_path / "menu.xlsx")
