"""``benchmarks/where_lost.py``: the loop with one part replaced by an oracle."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from choicebo.experiments.problems import problem

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "where_lost.py"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("where_lost", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["where_lost"] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


def test_every_part_can_be_replaced_and_asks_in_its_own_way(program: ModuleType) -> None:
    asked = {}
    for name, variant in program.VARIANTS.items():
        run = program.run_once("tilted-bowls", 0, variant, options=2, new_count=2)
        assert len(run.X) == len(run.values) == 22
        np.testing.assert_allclose(run.values, problem("tilted-bowls").objectives(run.X), rtol=1e-12)
        assert len(run.curve()) == 3
        asked[name] = run.X[list(run.sets[-1])]
    as_it_is = asked.pop("as it is")
    alike = [name for name, points in asked.items() if points.shape == as_it_is.shape and (points == as_it_is).all()]
    assert alike in ([], ["companions by truth"])  # which may choose what the loop chose anyway


def test_companions_by_truth_are_those_that_settle_where_a_new_option_belongs(program: ModuleType) -> None:
    run = program.run_once("tilted-bowls", 1, program.VARIANTS["companions by truth"], options=4, new_count=1)
    for shown in run.sets[-4:]:
        new, others = run.values[shown[0]], run.values[: shown[0]]
        beaten = any((each > new).all() for each in others)
        # Whoever is beaten by a known option meets one that beats it.
        assert beaten == any((run.values[row] > new).all() for row in shown[1:])
