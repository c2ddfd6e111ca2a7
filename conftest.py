"""Objects that the examples in docstrings use without making them: small, quick and the same every time."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.doctest import DoctestItem

import choicebo as cb

SETTINGS: dict[str, Any] = {"latent_dim": 2, "engine": "laplace", "query_size": 3}


def loaf_space() -> cb.Space:
    """Loaves by temperature and minutes."""
    return cb.Space([cb.Real("temperature", 150, 220, unit="°C"), cb.Integer("minutes", 5, 40)])


def loaf_choices() -> cb.ChoiceData:
    """Eight answers about eight loaves."""
    loaves = [(155, 35), (165, 20), (175, 30), (180, 12), (190, 24), (200, 15), (205, 32), (215, 10)]
    answers = [
        ((0, 1, 4), (1, 4)),
        ((2, 3, 6), (2, 3)),
        ((3, 5, 7), (3, 7)),
        ((0, 2, 4), (4,)),
        ((1, 3, 7), (3, 7)),
        ((4, 6, 7), (4, 7)),
        ((0, 5, 6), (5,)),
        ((1, 2, 5), (1, 2, 5)),
    ]
    X = loaf_space().encode([{"temperature": t, "minutes": m} for t, m in loaves])
    return cb.ChoiceData(X, [cb.Choice(shown, kept) for shown, kept in answers])


@functools.cache
def loaf_posterior() -> cb.Posterior:
    """Their model, fitted once."""
    return cb.ChoiceGP(latent_dim=2, engine="laplace").fit(loaf_choices(), seed=0)


def answered(loop: Any) -> Any:
    """An optimiser or a study after two answers."""
    for kept in ([0], [0, 2]):
        loop.tell(loop.ask(), kept=kept)
    return loop


@functools.cache
def answered_study(folder: Path) -> Path:
    """The file of a study after two answers, of which every example gets a copy."""
    folder.mkdir()
    with cb.Study.create(folder / "bread.db", "bread", loaf_space(), **SETTINGS) as study:
        answered(study)
    return folder / "bread.db"


def copied(template: Path, folder: Path) -> cb.Study:
    """A study of one's own."""
    return cb.Study.open(shutil.copy(template, folder))


@pytest.fixture(autouse=True)
def names_in_examples(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put those that an example mentions into its namespace."""
    if not isinstance(request.node, DoctestItem):
        return
    namespace = request.getfixturevalue("doctest_namespace")
    code = "".join(example.source for example in request.node.dtest.examples)
    makers = {
        "space": loaf_space,
        "data": loaf_choices,
        "posterior": loaf_posterior,
        "optimizer": lambda: answered(cb.ChoiceOptimizer(loaf_space(), **SETTINGS)),
        "study": lambda: copied(
            answered_study(tmp_path_factory.getbasetemp() / "studies"), tmp_path_factory.mktemp("example")
        ),
    }
    namespace.update(cb=cb, np=np)
    for name, make in makers.items():
        if name in code:
            namespace[name] = make()
