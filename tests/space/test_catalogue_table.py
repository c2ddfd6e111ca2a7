from __future__ import annotations

import datetime
import math
import sys

import numpy as np
import pandas as pd
import pytest

from choicebo.errors import SpaceError
from choicebo.space.table import read_table


def write(folder, text, encoding="utf-8"):
    path = folder / "menu.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_csv_column_has_the_narrowest_sort_that_fits_all_cells(tmp_path):
    path = write(tmp_path, 'sku,price,weight,vegan,code,note\nA,3,1.5,true,007,"a, b"\nB,-4,2,False,012,x\n')
    table = read_table(path)
    assert table.rows[0] == {
        "sku": "A",
        "price": 3,
        "weight": 1.5,
        "vegan": True,
        "code": "007",
        "note": "a, b",
    }
    assert [type(cell) for cell in table.rows[1].values()] == [str, int, float, bool, str, str]
    assert read_table(str(path)) == table


def test_semicolons_tabs_and_a_byte_order_mark_are_understood(tmp_path):
    assert read_table(write(tmp_path, "\ufeffsku;price\r\nA;3\r\n\r\n")).rows == ({"sku": "A", "price": 3},)
    assert read_table(write(tmp_path, "sku\tprice\nA\t3\n")).rows == ({"sku": "A", "price": 3},)


def test_empty_cells_are_none_and_numbers_stay_numbers(tmp_path):
    table = read_table(write(tmp_path, "sku,price\nA,3\nB,\nC,NA\n"))
    assert [row["price"] for row in table.rows] == [3, None, None]


@pytest.mark.parametrize("cell", ["1_000", "nan1", "0x10", "inf", "1,5", "١"])
def test_what_only_looks_like_a_number_stays_text(tmp_path, cell):
    assert read_table(write(tmp_path, f'sku,x\nA,"{cell}"\n')).rows[0]["x"] == cell


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("sku,price\nA,3,4\n", "Line 2 of .* has 3 cells, the first line has 2"),
        ("sku,price\nA,3\n\nB\n", "Line 4"),
        ("sku,sku\nA,3\n", "names the column 'sku' twice"),
        ("sku,\nA,3\n", "column without a name"),
        ('sku,price\n"A,3\n', "not a CSV file"),
    ],
)
def test_a_broken_csv_file_says_where(tmp_path, text, message):
    with pytest.raises(SpaceError, match=message):
        read_table(write(tmp_path, text))


def test_files_that_cannot_be_read_say_why(tmp_path):
    with pytest.raises(SpaceError, match="cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(SpaceError, match="cannot be read"):
        read_table(tmp_path)
    with pytest.raises(SpaceError, match="not UTF-8"):
        read_table(write(tmp_path, "sku,name\nA,Müsli\n", encoding="latin-1"))


def test_a_data_frame_is_read_as_its_rows():
    frame = pd.DataFrame({"sku": ["A", "B"], "price": [1, 2], "w": [0.5, math.nan], "d": ["x", pd.NA]})
    assert read_table(frame).rows == (
        {"sku": "A", "price": 1, "w": 0.5, "d": "x"},
        {"sku": "B", "price": 2, "w": None, "d": None},
    )
    assert type(read_table(frame).rows[0]["price"]) is int


ROWS = [{"sku": "A", "price": 3.5, "vegan": True}, {"sku": "B", "price": 4.0, "vegan": False}]


class LikePolars:
    """What is asked of a data frame of polars."""

    columns = ("sku", "price", "vegan")

    def iter_rows(self, *, named):
        assert named
        yield from ROWS


class LikeLazyPolars:
    def collect_schema(self):
        raise AssertionError("it is not needed")

    def collect(self):
        return LikePolars()


class LikeArrow:
    column_names = ("sku", "price", "vegan")

    def to_pylist(self):
        return ROWS


@pytest.mark.parametrize(
    "frame", [LikePolars(), LikeLazyPolars(), LikeArrow(), pd.DataFrame(ROWS)], ids=lambda frame: type(frame).__name__
)
def test_data_frames_of_every_library_are_read_as_their_rows(frame):
    assert read_table(frame) == read_table(ROWS)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_data_frames_as_their_libraries_make_them(library):
    module = pytest.importorskip(library)
    frame = module.DataFrame(ROWS) if library == "polars" else module.Table.from_pylist(ROWS)
    assert read_table(frame) == read_table(ROWS)


def test_pandas_is_not_needed():
    code = "import sys, choicebo.space; assert not {'pandas', 'scipy', 'pydantic', 'jax'} & set(sys.modules)"
    import subprocess

    subprocess.run([sys.executable, "-c", code], check=True)


def test_numpy_values_become_plain_ones():
    row = read_table([{"a": np.int64(1), "b": np.float64(0.5), "c": np.bool_(True), "d": np.str_("x")}]).rows[0]
    assert [type(cell) for cell in row.values()] == [int, float, bool, str]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([3], "Row 1 is 3"),
        ([{"a": 1}, {"a": datetime.date(2020, 1, 1)}], "Row 2 has 'a' = .*a date"),
        ([{"a": math.inf}], "finite"),
        ([{3: "a"}], "column name 3"),
        (3, "give a list of dicts"),
        ({"a": [1]}, "give a list of dicts"),
    ],
)
def test_rows_that_cannot_be_read_say_why(rows, message):
    with pytest.raises(SpaceError, match=message):
        read_table(rows)


@pytest.mark.parametrize("text", ["sku,price\nA\0,1\nB,2\n", "sku,pri\0ce\nA,1\nB,2\n"])
def test_nul_is_refused(tmp_path, text):
    with pytest.raises(SpaceError, match="x00"):
        read_table(write(tmp_path, text))
    with pytest.raises(SpaceError, match="x00"):
        read_table([{"sku": "A\0"}, {"sku": "B"}])


def test_a_table_of_very_many_columns_is_refused_before_it_is_looked_at(tmp_path):
    names = ",".join(f"c{number}" for number in range(20_001))
    with pytest.raises(SpaceError, match="20,001 columns"):
        read_table(write(tmp_path, f"{names}\n"))
