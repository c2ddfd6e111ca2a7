"""The paper's four real data sets, and its cross-validation with choices made from their outputs.

The files are not part of choicebo: they are read from a folder that the user names and checked against
their sha256. The paper does not say which columns it used nor which outputs are to be large; the columns and
signs of ``SOURCES`` are inferred from its counts of inputs and outputs and from re-running its Oracle-GP.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from choicebo.choices import Choice, ChoiceData
from choicebo.errors import DataError, InvalidInputError
from choicebo.experiments.choosers import pareto_choice, random_sets

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Scale = Callable[[ArrayLike, ArrayLike], Array]
"""How rows are brought into the unit cube: ``min_max`` or ``rank_scaled``."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and which of its columns are used."""

    name: str
    sha256: str
    publisher: str
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    signs: tuple[int, ...]
    """+1 for an output that is better when larger, -1 when smaller."""

    @property
    def file(self) -> str:
        """Name of the file inside the user's data folder."""
        return f"{self.name}.csv"


_ALL = (
    Source(
        "enb",
        "754ddcd0ca599767262479ef88845538138e49461cd6c5c23a744683d8bb7361",
        "the UCI Machine Learning Repository (Energy Efficiency, id 242; Tsanas and Xifara 2012)",
        (
            "relative_compactness",
            "surface_area_m2",
            "wall_area_m2",
            "roof_area_m2",
            "overall_height_m",
            "glazing_area_ratio",
        ),
        ("heating_load_kwh_m2", "cooling_load_kwh_m2"),
        (-1, -1),
    ),
    Source(
        "jura",
        "10c6cd2b7ccc7d382cc2b9c4e472ec47332ca05ba86435a1ccfad81d3d1f11d0",
        "the R package gstat (data set jura, prediction and validation locations; Goovaerts 1997)",
        ("x_km", "y_km", "chromium_mg_kg", "nickel_mg_kg", "lead_mg_kg", "zinc_mg_kg"),
        ("cadmium_mg_kg", "cobalt_mg_kg"),
        (-1, -1),
    ),
    Source(
        "real-estate",
        "74fd4e0c8009c0f16e3f2517210ade6b99f7825b8265a5b836570910cbb7b6e9",
        "the UCI Machine Learning Repository (Real Estate Valuation, id 477; Yeh and Hsu 2018)",
        ("transaction_date", "house_age_years", "n_convenience_stores", "latitude", "longitude"),
        ("house_price_10k_twd_per_ping", "distance_to_mrt_m"),
        (1, 1),
    ),
    Source(
        "slump",
        "46710cf79c34e54c409facf5011738a97f0532de10574a9daeb9be882e707195",
        "the UCI Machine Learning Repository (Concrete Slump Test, id 182; Yeh 2007)",
        (
            "cement_kg_m3",
            "slag_kg_m3",
            "fly_ash_kg_m3",
            "water_kg_m3",
            "superplasticizer_kg_m3",
            "coarse_aggregate_kg_m3",
            "fine_aggregate_kg_m3",
        ),
        ("slump_cm", "compressive_strength_28d_mpa"),
        (-1, 1),
    ),
)

SOURCES: dict[str, Source] = {source.name: source for source in _ALL}


@dataclass(frozen=True)
class RealData:
    """A multi-output regression data set whose outputs play the hidden objectives."""

    name: str
    inputs: Array
    """Inputs as published, (n, d)."""
    outputs: Array
    """Outputs times their signs, so that larger is better, (n, n_o)."""
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    signs: tuple[int, ...]


def real_data(name: str, folder: str | Path) -> RealData:
    """Read one of the four data sets from ``folder``.

    >>> sorted(SOURCES)
    ['enb', 'jura', 'real-estate', 'slump']
    """
    if name not in SOURCES:
        raise InvalidInputError(f"No data set is called {name!r}; choose one of {', '.join(SOURCES)}.")
    return read(SOURCES[name], folder)


def read(source: Source, folder: str | Path) -> RealData:
    """Read the columns of a source from its file, after checking that the file is the expected one."""
    names = (*source.input_names, *source.output_names)
    values = published(Path(folder) / source.file, source.sha256, source.publisher, names)
    inputs, outputs = np.split(values, [len(source.input_names)], axis=1)
    return RealData(
        name=source.name,
        inputs=inputs,
        outputs=outputs * np.array(source.signs),
        input_names=source.input_names,
        output_names=source.output_names,
        signs=source.signs,
    )


def published(path: Path, sha256: str, publisher: str, names: Sequence[str]) -> Array:
    """Columns of numbers of a CSV file, (rows, names), after checking that the file is the one that ``sha256`` tells.

    Raises:
        DataError: The file is missing, is another one, lacks a column, or has a cell that is not a number.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror}); get the data from {publisher} "
            f"and save them there as CSV with the columns {', '.join(names)}."
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{path} has the sha256 {found}, expected {sha256}: it is not the file that the reported "
            f"figures rest on. Restore it from {publisher}."
        )
    rows = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
    absent = [name for name in names if name not in (rows.fieldnames or ())]
    if absent:
        raise DataError(
            f"{path} has no column {', '.join(absent)}; its header line is {', '.join(rows.fieldnames or ())}."
        )
    try:
        return np.array([[float(row[name]) for name in names] for row in rows]).reshape(-1, len(names))
    except (TypeError, ValueError) as error:
        raise DataError(f"{path} has a cell that is not a number ({error}); every used column must be.") from None


@dataclass(frozen=True)
class Fold:
    """One fold: what may be learned from, and the unseen sets to be predicted."""

    train_inputs: Array
    train_outputs: Array
    choices: tuple[Choice, ...]
    """Training choices, as indices into the rows of ``train_inputs``."""
    test_inputs: Array
    test_outputs: Array
    test_sets: Indices
    """Test sets as indices into the rows of ``test_inputs``, (n_test, set_size)."""
    test_kept: tuple[tuple[int, ...], ...]
    """Positions kept in each test set."""

    def choice_data(self, scale: Scale) -> ChoiceData:
        """The training choices among the rows that they show, scaled into the unit cube."""
        scaled = scale(self.train_inputs, self.train_inputs)
        return ChoiceData.from_sets(
            [scaled[list(choice.shown)] for choice in self.choices],
            [[choice.shown.index(row) for row in choice.kept] for choice in self.choices],
        )

    def test_options(self, scale: Scale) -> Array:
        """The test sets as options, scaled as the training rows are, (n_test, set_size, d)."""
        return scale(self.train_inputs, self.test_inputs)[self.test_sets]


def folds(
    data: RealData, n_choices: int, seed: int = 0, n_folds: int = 5, set_size: int = 3, n_test: int = 200
) -> Iterator[Fold]:
    """Cross-validation: choices among random training rows, test sets of random held-out rows.

    Folds and test sets depend on the seed alone, and more choices only add to fewer. A training set that
    shows two rows with equal inputs is drawn again, for nobody can be shown the same option twice; test sets
    are not.
    """
    n = len(data.inputs)
    if not 2 <= n_folds <= n:
        raise InvalidInputError(f"folds was given n_folds={n_folds}; give a number from 2 to the number of rows, {n}.")
    if n_choices < 1 or n_test < 1:
        raise InvalidInputError(f"folds was given n_choices={n_choices}, n_test={n_test}; give at least one of each.")
    streams = np.random.default_rng(seed).spawn(1 + 2 * n_folds)
    for k, held_out in enumerate(np.array_split(streams[0].permutation(n), n_folds)):
        test = np.sort(held_out)
        train = np.setdiff1d(np.arange(n), test)
        test_outputs, train_outputs = data.outputs[test], data.outputs[train]
        test_sets = random_sets(len(test), set_size, n_test, streams[1 + 2 * k])
        train_sets = _sets_of_different_options(data.inputs[train], set_size, n_choices, streams[2 + 2 * k])
        yield Fold(
            train_inputs=data.inputs[train],
            train_outputs=train_outputs,
            choices=tuple(
                Choice(
                    shown=tuple(int(row) for row in shown),
                    kept=tuple(int(shown[i]) for i in pareto_choice(train_outputs[shown])),
                )
                for shown in train_sets
            ),
            test_inputs=data.inputs[test],
            test_outputs=test_outputs,
            test_sets=test_sets,
            test_kept=tuple(pareto_choice(test_outputs[shown]) for shown in test_sets),
        )


def _sets_of_different_options(inputs: Array, set_size: int, n_sets: int, rng: np.random.Generator) -> Indices:
    _, option = np.unique(inputs, axis=0, return_inverse=True)
    option = option.reshape(-1)
    drawn: dict[tuple[int, ...], None] = {}
    # Each round draws one set; a share of at least a few per cent is usable unless the options hardly differ.
    for _ in range(1000 + 100 * n_sets):
        if len(drawn) == n_sets:
            return np.array(list(drawn), dtype=np.intp)
        (rows,) = random_sets(len(inputs), set_size, 1, rng)
        if len(np.unique(option[rows])) == set_size:
            drawn[tuple(rows.tolist())] = None
    raise DataError(
        f"{n_sets} different sets of {set_size} options were asked for, but the {len(inputs)} training rows "
        f"hold only {len(np.unique(option))} different options; ask for fewer or smaller sets."
    )


def min_max(train: ArrayLike, rows: ArrayLike) -> Array:
    """Scale ``rows`` (n, d) so that each column of ``train`` fills [0, 1]; values beyond are clipped.

    A column that is constant in ``train`` becomes 0.5.

    >>> min_max([[0, 3], [4, 3]], [[1, 3], [9, 3]]).tolist()
    [[0.25, 0.5], [1.0, 0.5]]
    """
    learned, given = np.asarray(train, dtype=float), np.asarray(rows, dtype=float)
    low, span = learned.min(axis=0), np.ptp(learned, axis=0)
    constant = span == 0
    return np.where(constant, 0.5, np.clip((given - low) / np.where(constant, 1.0, span), 0.0, 1.0))


def rank_scaled(train: ArrayLike, rows: ArrayLike) -> Array:
    """Replace each value of ``rows`` (n, d) by its rank among the column of ``train``, as a share in [0, 1].

    Ties share their average rank; a value between two of ``train`` is interpolated, one beyond them clipped.

    >>> rank_scaled([[1], [10], [100]], [[10], [55], [1000]]).tolist()
    [[0.5], [0.75], [1.0]]
    """
    learned, given = np.asarray(train, dtype=float), np.asarray(rows, dtype=float)
    scaled = np.full(given.shape, 0.5)
    for j in range(given.shape[1]):
        values, first = np.unique(learned[:, j], return_index=True)
        if len(values) > 1:
            ranks = (rankdata(learned[:, j])[first] - 1) / (len(learned) - 1)
            scaled[:, j] = np.interp(given[:, j], values, ranks)
    return scaled
