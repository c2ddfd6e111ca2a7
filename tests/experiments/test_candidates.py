"""``benchmarks/candidates.py`` and ``benchmarks/sparse_prior.py``: what was tried and not adopted can be tried again."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from choicebo.acquisition import ACQUISITIONS, propose, shares
from choicebo.model.covariance import HyperPrior

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


def test_every_candidate_asks_in_its_own_way_and_leaves_nothing_behind() -> None:
    program = load("candidates")
    before = propose.best_point, propose._companions, shares.shares, dict(ACQUISITIONS)
    curves = {name: program.run_once("tilted-bowls", name, 0, 4, 2) for name in program.CANDIDATES}
    assert (propose.best_point, propose._companions, shares.shares, dict(ACQUISITIONS)) == before
    as_it_is = curves.pop("as it is")
    assert all(len(curve) == len(as_it_is) == 9 for curve in curves.values())
    assert as_it_is == program.run_once("tilted-bowls", "as it is", 0, 4, 2)
    alike = [name for name, curve in curves.items() if curve == as_it_is]
    assert len(alike) <= 2, alike  # in four questions a share may happen to be divided as it is


def test_candidates_are_not_run_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = load("candidates")
    out = tmp_path / "candidates.jsonl"
    rows = [
        {"problem": "vlmop2", "candidate": name, "start": start, "questions": 25, "new": 2, "curve": [level] * 51}
        for name, level in (("as it is", 0.5), ("look-ahead", 0.25))
        for start in range(2)
    ]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    program.main(
        ["--problems", "vlmop2", "--candidates", "as it is; look-ahead", "--starts", "2", "--out", str(out)],
    )
    assert "after 40 new options -0.250: vlmop2 -0.25 ± 0.00 (2)" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 4


def test_the_slope_of_a_sparsity_prior_is_that_of_its_density() -> None:
    program = load("sparse_prior")
    for prior in (program.Sparse(), program.Sparser()):
        hyper = prior.centre(2, 2)
        away = np.array([[-1.0, 0.3], [0.7, 2.0]])
        hyper = hyper._replace(log_lengthscale=hyper.log_lengthscale + away, log_scale=hyper.log_scale + 0.2)
        step = 1e-5 * np.array([[1.0, -2.0], [0.5, 1.0]])
        ahead, behind = (
            prior.log_density(hyper._replace(log_lengthscale=hyper.log_lengthscale + sign * step)) for sign in (1, -1)
        )
        slope = (prior.gradient(hyper).log_lengthscale * step).sum()
        assert slope == pytest.approx((ahead - behind) / 2, rel=1e-5)
        np.testing.assert_allclose(prior.gradient(hyper).log_scale, HyperPrior().gradient(hyper).log_scale)
        # Half of the probability lies on either side of the median.
        median = hyper._replace(log_lengthscale=np.full((2, 2), -0.5 * np.log(prior.scale)))
        assert np.allclose(prior.gradient(median).log_lengthscale, 0.0)
