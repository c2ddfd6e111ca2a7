"""Tables as data frames of pandas or polars, whichever is installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from choicebo.errors import InvalidInputError, MissingExtraError
from choicebo.formatting import as_given

LIBRARIES = ("pandas", "polars")


def to_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """A data frame with the given columns.

    Args:
        columns: Values by column name, all of one length.
        library: ``"pandas"`` or ``"polars"``. None: the one of them that the program has imported; where that decides nothing,
            pandas if it is installed, else polars.

    Raises:
        MissingExtraError: Neither is installed, or not the one asked for.
        InvalidInputError: ``library`` is none of them.

    >>> list(to_frame({"minutes": [12, 30]}).columns)
    ['minutes']
    """
    if library is not None and library not in LIBRARIES:
        raise InvalidInputError(f"library must be 'pandas' or 'polars', got {as_given(library)}.")
    name = library or _preferred()
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        raise MissingExtraError(f"to_frame(library={name!r}) needs {name}: pip install {name}", name) from None
    if name == "polars":
        # Whole numbers may become fractions later in a column, and texts may follow numbers.
        return module.DataFrame({key: list(values) for key, values in columns.items()}, strict=False)
    return module.DataFrame({key: list(values) for key, values in columns.items()})


def _preferred() -> str:
    imported = [name for name in LIBRARIES if name in sys.modules]
    if len(imported) == 1:
        return imported[0]
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingExtraError("to_frame() needs pandas or polars: pip install pandas, or pip install polars", "pandas")


def of_options(options: Sequence[Mapping[str, Any]], **more: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of a table with an option in each row, and further columns after its values.

    A column of the same name as a value of the options gets an underscore.

    >>> of_options([{"minutes": 12}, {"minutes": 30}], probability=[0.9, 0.4])
    {'minutes': [12, 30], 'probability': [0.9, 0.4]}
    """
    names = list(dict.fromkeys(name for option in options for name in option))
    found = {name: [option.get(name) for option in options] for name in names}
    for name, values in more.items():
        while name in found:
            name += "_"
        found[name] = list(values)
    return found
