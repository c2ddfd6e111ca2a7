"""What the columns of somebody's table are for: which tells rows apart, which is the name, which the picture.

Tables come as people have them, with columns called ``Product ID``, ``name`` or ``photo_file``. A column takes a role if both its
name and its cells fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from choicebo.formatting import counted
from choicebo.space.features import why_dropped
from choicebo.space.table import Cell, Table

if TYPE_CHECKING:
    from choicebo.space.catalogue import Catalogue

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
_KEYS = ("sku", "key", "id", "uid", "uuid", "code", "number", "no", "nr", "article", "ean", "isbn")
_NUMBERED_KEYS = ("sku", "key", "id", "uid", "ean", "isbn")
"""Numbers under these names count or measure nothing."""
_LABELS = ("name", "label", "title", "caption")
_IMAGES = ("image", "picture", "photo", "img", "pic", "thumbnail", "file", "filename", "path", "url", "src", "link")


@dataclass(frozen=True)
class Roles:
    """The columns of a table by what they are for."""

    key: str
    label: str | None
    image: str | None
    features: tuple[str, ...] | None
    """None: all others that can serve."""


def recognise(
    table: Table,
    key: str | None = None,
    label: str | None = None,
    image: str | None = None,
    aside: Sequence[str] = (),
) -> tuple[Table, Roles]:
    """What the columns are for, and the table, with a column of row numbers if nothing else tells its rows apart.

    Args:
        table: Rows of cells.
        key: The column that tells rows apart; None: found by its name.
        label: The column with the name that people see; None: found by its name; empty: there is none.
        image: The column with picture files; None: found by its name; empty: there is none.
        aside: Columns that are not to be features.

    >>> rows = {"Item ID": 7, "title": "Rye", "price": 3}, {"Item ID": 8, "title": "Oat", "price": 4}
    >>> recognise(Table(("Item ID", "title", "price"), rows))[1]
    Roles(key='Item ID', label='title', image=None, features=None)
    """
    taken = [name for name in (key, label, image) if name]
    if key is None:
        key = _find(table, _KEYS, taken, _tells_apart) or _find(table, _LABELS, taken, _tells_apart)
        if key is None and table.columns and _tells_apart(_cells(table, table.columns[0])):
            key = table.columns[0] if table.columns[0] not in taken else None
        if key is None:
            table, key = _numbered(table)
    if image is None:
        image = _find(table, _IMAGES, [key, *taken], _are_pictures)
    if label is None:
        label = _find(table, _LABELS, [key, *taken, image or ""], _are_names)
    special = [name for name in (key, label, image, *aside) if name]
    features = [name for name in table.columns if name not in special]
    usable = [name for name in features if not _is_reference(table, name)]
    some = usable and len(usable) < len(features)
    chosen = tuple(name for name in usable if not _is_dropped(table, name)) if some else None
    return table, Roles(key, label or None, image or None, chosen or None)


def column_roles(catalogue: Catalogue) -> dict[str, str]:
    """What each column of a catalogue is for, in words.

    >>> from choicebo.space import Catalogue
    >>> column_roles(Catalogue([{"sku": "A", "price": 3, "vat": 7}, {"sku": "B", "price": 5, "vat": 7}]))
    {'sku': 'tells the rows apart', 'price': 'a number from 3 to 5', 'vat': 'not used: the same in every row'}
    """
    special = {
        catalogue.key: "tells the rows apart",
        catalogue.label: "the name that people see",
        catalogue.image: "the picture",
    }
    features = {column.parameter for column in catalogue.columns}
    measured = {objective.name for objective in catalogue.objectives if objective.measured}
    found = {}
    for name in (*catalogue.names, *(name for name in catalogue.dropped if name not in catalogue.names)):
        if name in special:
            found[name] = special[name]
        elif name in measured:
            there = sum(row.get(name) is not None for row in catalogue.rows)
            found[name] = f"an objective, measured for {there:,} of {len(catalogue):,} rows"
        elif name in features:
            found[name] = _described([row[name] for row in catalogue.rows])
        else:
            found[name] = f"not used: {catalogue.dropped.get(name, 'it says nothing about likeness')}"
    return found


def _described(cells: Sequence[Cell]) -> str:
    if all(isinstance(cell, bool) for cell in cells):
        return "yes or no"
    numbers = [cell for cell in cells if isinstance(cell, (int, float))]
    if len(numbers) == len(cells):
        return f"a number from {min(numbers):g} to {max(numbers):g}"
    return f"one of {counted(len(set(cells)), 'text')}"


def _find(
    table: Table, words: Sequence[str], taken: Sequence[str], fits: Callable[[Sequence[Cell]], bool]
) -> str | None:
    """The first column called one of ``words``, or something that ends in one, whose cells fit."""
    free = [name for name in table.columns if name not in taken and fits(_cells(table, name))]
    exact = {"".join(_words(name)): name for name in reversed(free)}
    ending = {_words(name)[-1]: name for name in reversed(free) if _words(name)}
    return next((exact[word] for word in words if word in exact), None) or next(
        (ending[word] for word in words if word in ending), None
    )


def _words(name: str) -> list[str]:
    """The words of a column's name.

    >>> _words("productID"), _words("image_url"), _words("Name")
    (['product', 'id'], ['image', 'url'], ['name'])
    """
    return [word.lower() for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if word]


def _cells(table: Table, name: str) -> list[Cell]:
    return [row[name] for row in table.rows]


def _tells_apart(cells: Sequence[Cell]) -> bool:
    return len(set(cells)) == len(cells) and all(isinstance(c, (str, int)) and not isinstance(c, bool) for c in cells)


def _are_names(cells: Sequence[Cell]) -> bool:
    return all(isinstance(cell, str) for cell in cells) and len(set(cells)) > 1


def _are_pictures(cells: Sequence[Cell]) -> bool:
    """Files; addresses on the web are not shown, because a page shows nothing from elsewhere."""
    given = [cell for cell in cells if cell is not None]
    return bool(given) and all(
        isinstance(cell, str) and cell.lower().endswith(IMAGE_SUFFIXES) and "://" not in cell for cell in given
    )


def _is_reference(table: Table, name: str) -> bool:
    """Whether a column is named as a key, label or picture, and all cells differ: such a column says nothing about similarity."""
    cells = [cell for cell in _cells(table, name) if cell is not None]
    last = (_words(name) or [""])[-1]
    if len(set(cells)) < len(cells):
        return False
    if all(isinstance(cell, str) for cell in cells):
        return last in (*_KEYS, *_LABELS, *_IMAGES)
    return last in _NUMBERED_KEYS and all(isinstance(cell, int) for cell in cells)


def _is_dropped(table: Table, name: str) -> bool:
    cells = _cells(table, name)
    return all(cell is None for cell in cells) or bool(why_dropped(table, name, asked_for=False))


def _numbered(table: Table) -> tuple[Table, str]:
    name = next(name for name in ("row", "row number", "row number of the table") if name not in table.columns)
    rows = tuple({name: number, **row} for number, row in enumerate(table.rows, start=1))
    return replace(table, columns=(name, *table.columns), rows=rows), name
