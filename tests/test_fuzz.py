"""Junk to every public call: whatever is given, the answer is a result, one of choicebo's errors, or a TypeError.

Everything happens in a temporary folder. Text that stands for a path is put below that folder and cannot leave it.
"""

from __future__ import annotations

import functools
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import choicebo as cb
from choicebo import insight, pareto, plots
from choicebo.choices import unit_scaled
from choicebo.errors import ChoiceboError
from choicebo.model.engines import Elliptical, Hamiltonian, Laplace, Variational
from choicebo.optimizer import Settings
from choicebo.space import Constraint, from_dict
from choicebo.study import Storage
from choicebo.study.definition import Show

ALLOWED = (ChoiceboError, TypeError)


class Unspeakable:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


def nested(depth: int) -> list[Any]:
    result: list[Any] = []
    for _ in range(depth):
        result = [result]
    return result


JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400), 10**5000),
    *(0.0, -0.0, 0.5, -0.5, 1e308, 5e-324, math.nan, math.inf, -math.inf, 1j),
    *("", " ", "a", "auto", "x" * 5000, "\ud800", "\0", "a\0b", "\x1b[2J", "\u202e", "$x^$", "{", "{}", "[]", "nan"),
    *("a <= ", "a <= 9" + "9" * 5000, "(" * 900, "1e999", "a" * 300),
    *(b"", b"\xff", bytearray(b"a"), memoryview(b"ab")),
    *(
        [],
        [[]],
        [None],
        [0],
        [0, 1],
        [0.5],
        ["a"],
        [[0.5]],
        [[0.5, "b"]],
        [[math.nan]],
        [[0.5], [0.5, 1]],
        [{}],
        [[{}]],
    ),
    *([10**400], [[10**400]], [[10**5000]], ["\ud800"], [10**5000], nested(2000), (), (0,), ((0, 1), (0,)), (1, 2, 3)),
    *({}, {"a": 1}, {1: 2}, {None: None}, {"a": math.nan}, {"a": 10**400}, {"a": "\ud800"}, {"a": nested(2000)}),
    *({"kind": "space"}, {"\ud800": "\0"}, {("a",): 1}, set(), {1, 2}, frozenset(), range(3), slice(1), Ellipsis),
    *(object(), Unspeakable(), [Unspeakable()], {"a": Unspeakable()}, object, int, len, lambda *a, **k: None, iter([])),
    *(np.int64(-1), np.float64("nan"), np.bool_(True), np.str_("a"), np.datetime64("2020-01-01"), np.array(1)),
    *(np.array([]), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((2, 2)), np.ones((2, 3, 2)), np.full((2, 2), np.nan)),
    *(np.array(["x", "y"]), np.array([None, {}]), np.array([[1, 2], [3, 4]], dtype=object), np.array([[1j]])),
    *(np.array([0, 1]), np.array([[10**400]], dtype=object), np.ones((2, 2), dtype=bool), np.ma.masked),
    *(Path("nowhere"), ValueError("x")),
)
"""Numbers, texts, containers, objects and arrays that nobody should give."""


@dataclass
class World:
    """Good things, to be spoilt one argument at a time."""

    folder: Path
    space: cb.Space
    catalogue: cb.Catalogue
    data: cb.ChoiceData
    posterior: cb.Posterior
    study: cb.Study
    written: cb.Study

    @functools.cached_property
    def objectives(self) -> list[insight.Objective]:
        return insight.drivers(self.posterior, draws=3)

    def optimizer(self) -> cb.ChoiceOptimizer:
        loop = cb.ChoiceOptimizer(self.space, acquisition="sobol", engine="laplace", latent_dim=1)
        loop.tell(loop.ask(), [0])
        loop.ask()
        return loop

    def path(self, given: Any, below: str = "") -> Any:
        """Text as a name in the folder; anything else as it is."""
        if isinstance(given, Path):
            given = str(given)
        if not isinstance(given, str):
            return given
        name = given.replace("/", "_").replace("\\", "_")
        return f"{self.folder}/junk{below}/{name}" if name.strip(". ") else ""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "junk").mkdir()
    before = Path.cwd()
    os.chdir(folder / "junk")
    space = cb.Space([cb.Real("a", 0, 1), cb.Integer("b", 1, 9), cb.Categorical("c", ["x", "y"])], ["a + b <= 9"])
    catalogue = cb.Catalogue([{"sku": "A", "price": 3.0}, {"sku": "B", "price": 5.5}, {"sku": "C", "price": 4.0}])
    data = cb.ChoiceData([[0.1, 0.2], [0.5, 0.9], [0.9, 0.4]], [((0, 1, 2), (1,)), ((0, 2), (2,))])
    posterior = cb.ChoiceGP(1, engine=Laplace(num_samples=50)).fit(data)
    with Storage(folder / "good.db") as storage:
        kept = {"acquisition": "sobol", "latent_dim": 1, "engine": "laplace"}
        study = cb.Study.create(storage, "read", cb.Space([cb.Real("a", 0, 1)]), **kept)
        study.tell(study.ask(), [0])
        study.pareto_set()
        written = cb.Study.create(storage, "written", space, **kept)
        written.tell(written.ask(), [0])
        yield World(folder, space, catalogue, data, posterior, study, written)
    os.chdir(before)


@dataclass(frozen=True)
class Call:
    """A public call with good arguments."""

    name: str
    of: Callable[[World], Callable[..., Any]]
    good: Callable[[World], dict[str, Any]]
    paths: tuple[str, ...] = ()
    """Arguments that name files."""

    def run(self, world: World, spoilt: dict[str, Any]) -> str | None:
        """Call with some arguments replaced; what came out of it that may not, in words."""
        arguments = self.good(world) | spoilt
        for name in self.paths:
            arguments[name] = world.path(arguments[name]) if name in spoilt else arguments[name]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = self.of(world)
                result = function(**arguments)
                if isinstance(result, Iterator):
                    list(result)
        except ALLOWED as error:
            str(error).encode("utf-8", "surrogatepass")
            return None
        except Exception as error:
            return f"{self.name}({_shown(spoilt)}): {type(error).__name__}: {str(error)[:150]}"
        return None


def _shown(spoilt: dict[str, Any]) -> str:
    words = []
    for name, value in spoilt.items():
        try:
            words.append(f"{name}={repr(value)[:60]}")
        except Exception:
            words.append(f"{name}=<{type(value).__name__}>")
    return ", ".join(words)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _shown({"value": value})


POINTS = {"points": [[0.5, 0.5, 0.0]]}
ONE = {"a": 0.5, "b": 3, "c": "x"}
OTHER = {"a": 0.25, "b": 4, "c": "y"}


def record(world: World) -> dict[str, Any]:
    return {"given": world.optimizer().to_dict()}


def fit_arguments(world: World) -> dict[str, Any]:
    return {"data": world.data, "seed": 0, "progress": None, "start": None}


def static(function: Callable[..., Any]) -> Callable[[World], Callable[..., Any]]:
    return lambda world: function


CALLS = [
    # ---- what can be offered
    Call(
        "Real",
        static(cb.Real),
        lambda w: {"name": "a", "low": 1, "high": 2, "log": False, "unit": "", "step": 0.1, "circular": False},
    ),
    Call("Real(log)", static(cb.Real), lambda w: {"name": "a", "low": 1, "high": 2, "log": True, "step": 0.1}),
    Call(
        "Real(circular)", static(cb.Real), lambda w: {"name": "a", "low": 1, "high": 2, "step": 0.1, "circular": True}
    ),
    Call("Angle", static(cb.Angle), lambda w: {"name": "a", "low": 0, "high": 360, "unit": "°", "step": 5}),
    Call(
        "Integer",
        static(cb.Integer),
        lambda w: {"name": "a", "low": 1, "high": 4, "log": False, "unit": "", "circular": True},
    ),
    Call("Ordinal", static(cb.Ordinal), lambda w: {"name": "a", "values": [1, 2]}),
    Call("Categorical", static(cb.Categorical), lambda w: {"name": "a", "values": ["x", "y", "z"]}),
    Call("Fixed", static(cb.Fixed), lambda w: {"name": "a", "value": 1}),
    *(
        Call(
            f"{kind.name}.{method}",
            static(getattr(kind, method)),
            lambda w, m=method: {"value" if m != "parse" else "text": "1"},
        )
        for kind in (
            cb.Real("Real", 0, 1),
            cb.Real("Real(step)", 0, 2, step=0.25),
            cb.Angle("Angle"),
            cb.Integer("Integer", 0, 9),
            cb.Ordinal("Ordinal", [1, 2]),
            cb.Categorical("Categorical", ["1", "y"]),
        )
        for method in ("check", "parse", "moves")
    ),
    Call("Constraint", static(Constraint), lambda w: {"text": "a <= 1"}),
    Call("Constraint.holds", static(Constraint("a <= 1").holds), lambda w: {"option": {"a": 1}}),
    Call("Constraint.mask", static(Constraint("a <= 1").mask), lambda w: {"columns": {"a": [1]}}),
    Call("Constraint.mask(a)", static(lambda a: Constraint("a <= 1").mask({"a": a})), lambda w: {"a": [1]}),
    Call("Constraint.check", static(Constraint("a <= 1").check), lambda w: {"parameters": [cb.Real("a", 0, 1)]}),
    Call(
        "Space",
        static(cb.Space),
        lambda w: {"parameters": [cb.Real("a", 0, 1)], "constraints": ["a <= 1"], "fixed": {"b": 1}},
    ),
    Call(
        "Space(in lists)",
        static(lambda p, c, f: cb.Space([cb.Real("a", 0, 1), p], [c], {"b": f})),
        lambda w: {"p": cb.Real("c", 0, 1), "c": "a <= 1", "f": 1},
    ),
    *(
        Call(f"Space.{method}", lambda w, m=method: getattr(w.space, m), lambda w, g=good: dict(g))
        for method, good in (
            ("encode", {"options": [ONE]}),
            ("decode", POINTS),
            ("snap", POINTS),
            ("feasible", POINTS),
            ("validate", {"option": ONE}),
            ("contains", {"option": ONE}),
            ("violated", {"option": ONE}),
            ("sample", {"n": 2, "seed": 0}),
            ("sobol", {"n": 2, "seed": 0, "skip": 0}),
            ("enumerate", {"limit": 10}),
            ("neighbours", {"point": [0.5, 0.5, 0.0]}),
            ("place", {"quantiles": [[0.5, 0.5, 0.0]]}),
        )
    ),
    Call(
        "Space.encode(value)", lambda w: lambda a, b, c: w.space.encode([{"a": a, "b": b, "c": c}]), lambda w: dict(ONE)
    ),
    Call("Space.enumerate(few)", static(cb.Space([cb.Integer("a", 1, 3)]).enumerate), lambda w: {"limit": 10}),
    Call("Space.sample(few)", static(cb.Space([cb.Integer("a", 1, 3)]).sample), lambda w: {"n": 2, "seed": 0}),
    Call("Space.sobol(few)", static(cb.Space([cb.Integer("a", 1, 3)]).sobol), lambda w: {"n": 2, "seed": 0, "skip": 0}),
    Call("Space.from_dict", static(cb.Space.from_dict), lambda w: {"record": w.space.to_dict()}),
    Call(
        "Space.from_dict(**)",
        lambda w: lambda **r: cb.Space.from_dict({"version": 1, "kind": "space", **r}),
        lambda w: {name: w.space.to_dict()[name] for name in ("parameters", "constraints", "fixed")},
    ),
    Call(
        "from_dict(parameter)",
        lambda w: (
            lambda **r: cb.Space.from_dict(
                {"version": 1, "kind": "space", "parameters": [r], "constraints": [], "fixed": {}}
            )
        ),
        lambda w: {"kind": "real", "name": "a", "low": 0, "high": 1, "log": False},
    ),
    Call("space.from_dict", static(from_dict), lambda w: {"record": w.catalogue.to_dict()}),
    Call(
        "Catalogue",
        static(cb.Catalogue),
        lambda w: {
            "rows": [{"sku": "A", "p": 1}, {"sku": "B", "p": 2}],
            "key": "sku",
            "label": None,
            "image": None,
            "features": ["p"],
        },
        paths=("rows",),
    ),
    Call(
        "Catalogue(cells)",
        static(lambda key, a, b, name: cb.Catalogue([{"sku": key, name: a}, {"sku": "B", name: b}])),
        lambda w: {"key": "A", "a": 1, "b": 2, "name": "p"},
    ),
    *(
        Call(f"Catalogue.{method}", lambda w, m=method: getattr(w.catalogue, m), lambda w, g=good: dict(g))
        for method, good in (
            ("encode", {"options": ["A"]}),
            ("decode", {"points": [[0.5]]}),
            ("index", {"points": [[0.5]]}),
            ("snap", {"points": [[0.5]]}),
            ("feasible", {"points": [[0.5]]}),
            ("validate", {"option": "A"}),
            ("parse", {"text": "A"}),
            ("contains", {"option": "A"}),
            ("sample", {"n": 2, "seed": 0}),
            ("sobol", {"n": 2, "seed": 0, "skip": 0}),
            ("enumerate", {"limit": 10}),
        )
    ),
    Call(
        "Catalogue.validate(row)",
        lambda w: lambda sku, price: w.catalogue.validate({"sku": sku, "price": price}),
        lambda w: {"sku": "A", "price": 3.0},
    ),
    Call("Catalogue.from_dict", static(cb.Catalogue.from_dict), lambda w: {"record": w.catalogue.to_dict()}),
    Call(
        "Catalogue.from_dict(**)",
        static(lambda **r: cb.Catalogue.from_dict({"version": 1, "kind": "catalogue", **r})),
        lambda w: {name: w.catalogue.to_dict()[name] for name in ("rows", "key", "label", "image", "features")},
    ),
    # ---- what was answered
    Call("Choice", static(cb.Choice), lambda w: {"shown": (0, 1), "kept": (0,)}),
    Call("ChoiceData", static(cb.ChoiceData), lambda w: {"X": [[0.1], [0.2]], "choices": [((0, 1), (0,))]}),
    Call("ChoiceData.from_sets", static(cb.ChoiceData.from_sets), lambda w: {"sets": [[[0.1], [0.2]]], "kept": [[0]]}),
    *(
        Call(
            f"ChoiceData.{method}",
            static(getattr(cb.ChoiceData, method)),
            lambda w, g=good: {"X": [[0.1], [0.2], [0.3]], **g},
        )
        for method, good in (
            ("from_pairs", {"pairs": [(0, 1)], "undecided": [(1, 2)], "weights": None}),
            ("from_best", {"shown": [(0, 1)], "best": [0], "weights": [2.0]}),
            ("from_rankings", {"rankings": [[0, 1]], "shown": [(0, 1, 2)], "weights": None}),
            ("from_best_worst", {"shown": [(0, 1, 2)], "best": [0], "worst": [1], "weights": None}),
            ("from_approvals", {"approvals": [(0, True)], "baseline": 1, "weights": None}),
            ("from_ratings", {"sittings": [{0: 1, 1: 2}], "weights": None}),
        )
    ),
    Call(
        "ChoiceData.from_frame",
        static(cb.ChoiceData.from_frame),
        lambda w: (
            {"table": [{"choice": 1, "kept": k, "x": k} for k in (0, 1)], "kind": "choices"}
            | dict.fromkeys(("columns", "inputs", "options", "space", "baseline"))
        ),
        paths=("table", "options"),
    ),
    Call(
        "ChoiceData.from_frame(values)",
        static(
            lambda a, b: cb.ChoiceData.from_frame(
                [{"winner.a": a, "winner.b": b, "loser.a": 0.75, "loser.b": 1}],
                "pairs",
                space=cb.Space([cb.Real("a", 0, 1), cb.Ordinal("b", [1, 2, 4])]),
            )
        ),
        lambda w: {"a": 0.5, "b": 2},
    ),
    Call(
        "ChoiceData.from_frame(key)",
        lambda w: lambda key: cb.ChoiceData.from_frame([{"winner": key, "loser": "B"}], "pairs", space=w.catalogue),
        lambda w: {"key": "A"},
    ),
    Call(
        "ChoiceData.from_frame(cells)",
        static(
            lambda choice, kept, option, x: cb.ChoiceData.from_frame(
                [
                    {"choice": choice, "kept": kept, "option": option, "x": x},
                    {"choice": 1, "kept": 1, "option": 1, "x": 0.5},
                ]
            )
        ),
        lambda w: {"choice": 1, "kept": 0, "option": 2, "x": 0.25},
    ),
    *(
        Call(f"ChoiceData.{method}", lambda w, m=method: getattr(w.data, m), lambda w, g=good: dict(g))
        for method, good in (
            ("append", {"choice": ((0, 1), (0,)), "X_new": [[0.3, 0.3]]}),
            ("with_choices", {"choices": [((0, 1), (0,))]}),
            ("without", {"k": 0}),
            ("subset", {"choice_indices": [0]}),
            ("__eq__", {"other": 1}),
        )
    ),
    Call("ChoiceData.from_json", static(cb.ChoiceData.from_json), lambda w: {"text": w.data.to_json()}),
    Call("ChoiceData.from_csv", static(cb.ChoiceData.from_csv), lambda w: {"text": w.data.to_csv()}),
    Call("ChoiceData.save", lambda w: w.data.save, lambda w: {"path": w.folder / "a.csv"}, paths=("path",)),
    Call(
        "ChoiceData.save(.csv)",
        lambda w: lambda stem: w.data.save(w.path(f"{stem}.csv") if isinstance(stem, str) else stem),
        lambda w: {"stem": "a"},
    ),
    Call("ChoiceData.load", static(cb.ChoiceData.load), lambda w: {"path": w.folder / "no.csv"}, paths=("path",)),
    Call("unit_scaled", static(unit_scaled), lambda w: {"X": [[1.0], [2.0]], "bounds": [(0, 3)]}),
    Call("pareto.dominates", static(pareto.dominates), lambda w: {"a": [1.0], "b": [2.0]}),
    Call("pareto.non_dominated", static(pareto.non_dominated), lambda w: {"values": [[1.0]]}),
    Call("pareto.hypervolume", static(pareto.hypervolume), lambda w: {"values": [[1.0]], "reference": [0.0]}),
    Call(
        "pareto.contributions",
        static(pareto.hypervolume_contributions),
        lambda w: {"values": [[1.0]], "reference": [0.0]},
    ),
    # ---- what is believed
    Call(
        "ChoiceGP",
        static(cb.ChoiceGP),
        lambda w: {
            "latent_dim": 1,
            "kernel": "rbf",
            "engine": "vi",
            "likelihood": "choice",
            "lapse": 0.01,
            "nugget": 0.01,
            "prior": cb.ChoiceGP().prior,
            "correlated": True,
        },
    ),
    Call("ChoiceGP.fit", static(cb.ChoiceGP(1, engine=Laplace(num_samples=50)).fit), fit_arguments),
    Call("Posterior.loo", lambda w: w.posterior.loo, lambda w: {"refit_limit": 0, "seed": 0, "progress": None}),
    Call("Laplace", static(Laplace), lambda w: {"num_samples": 10, "starts": 1}),
    Call(
        "Hamiltonian",
        static(Hamiltonian),
        lambda w: {"num_samples": 10, "groups": 1, "max_samples": 10, "target_acceptance": 0.8, "num_warmup": 3},
    ),
    Call("Elliptical", static(Elliptical), lambda w: {"num_samples": 10, "num_chains": 1, "thin": 1, "num_warmup": 3}),
    Call("Variational", static(Variational), lambda w: {"num_samples": 10, "max_steps": 10, "covariance": "full"}),
    *(
        Call(f"Posterior.{method}", lambda w, m=method: getattr(w.posterior, m), lambda w, g=good: dict(g))
        for method, good in (
            ("latent", {"X": [[0.5, 0.5]]}),
            ("sample", {"X": [[0.5, 0.5]], "draws": 3, "seed": 0}),
            ("choice_probabilities", {"X_set": [[0.5, 0.5], [0.1, 0.2]], "normalised": True, "seed": 0}),
            ("predict_choice", {"X_set": [[0.5, 0.5], [0.1, 0.2]], "rule": "pareto", "seed": 0}),
            ("predict_choices", {"X_sets": [[[0.5, 0.5], [0.1, 0.2]]], "rule": "pareto", "seed": 0}),
            ("pareto_probability", {"X": [[0.5, 0.5]], "draws": 3, "seed": 0}),
            ("pareto_set", {"X": [[0.5, 0.5]], "threshold": 0.5, "draws": 3, "seed": 0}),
        )
    ),
    Call(
        "Posterior.predict_choices(mean)",
        lambda w: w.posterior.predict_choices,
        lambda w: {"X_sets": [[[0.5, 0.5], [0.1, 0.2]]], "rule": "mean", "seed": 0},
    ),
    Call(
        "select_latent_dim",
        static(cb.select_latent_dim),
        lambda w: {
            "data": w.data,
            "max_dim": 2,
            "seed": 0,
            "model": cb.ChoiceGP(),
            "refit_limit": 1,
            "stop_early": True,
            "progress": None,
        },
    ),
    Call(
        "choice_log_likelihood",
        static(cb.choice_log_likelihood),
        lambda w: {"latent": [[0.0], [1.0], [2.0]], "data": w.data, "noise": 1.0, "likelihood": "choice", "lapse": 0.0},
    ),
    # ---- what a person wants to know
    Call("insight.surprises", static(insight.surprises), lambda w: {"posterior": w.posterior, "labels": None}),
    Call(
        "insight.drivers",
        static(insight.drivers),
        lambda w: {"posterior": w.posterior, "space": None, "like": None, "draws": 3, "seed": 0},
    ),
    Call(
        "insight.stop_advice",
        static(insight.stop_advice),
        lambda w: {
            "posterior": w.posterior,
            "candidates": w.data.X,
            "question": w.data.X[:2],
            "threshold": 0.5,
            "draws": 3,
            "seed": 0,
        },
    ),
    Call(
        "insight.calibration",
        static(insight.calibration),
        lambda w: {"posterior": w.posterior, "held_out": w.data, "bins": 3},
    ),
    Call("plots.dimension_scores", static(plots.dimension_scores), lambda w: {"selection": None}),
    Call("plots.driver_bars", static(plots.driver_bars), lambda w: {"objectives": w.objectives, "most": 2}),
    Call("plots.effect_curves", static(plots.effect_curves), lambda w: {"objectives": w.objectives, "most": 2}),
    Call("plots.reliability", static(plots.reliability), lambda w: {"calibration": None}),
    Call("plots.surprise_marks", static(plots.surprise_marks), lambda w: {"surprises": insight.surprises(w.posterior)}),
    Call(
        "plots.latent_against_input",
        static(plots.latent_against_input),
        lambda w: {
            "posterior": w.posterior,
            "x_range": (0.0, 1.0),
            "labels": ["a"],
            "column": 0,
            "x_of_unit": None,
            "input_name": "x",
            "order": [0],
        },
    ),
    Call("plots.pareto_map", static(plots.pareto_map), lambda w: {"posterior": w.posterior, "threshold": 0.5}),
    Call(
        "plots.parallel_options",
        static(plots.parallel_options),
        lambda w: {
            "posterior": w.posterior,
            "space": cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)]),
            "threshold": 0.5,
        },
    ),
    Call(
        "plots.matching_order",
        static(plots.matching_order),
        lambda w: {"posterior": w.posterior, "X": w.data.X, "values": [[0.1], [0.2], [0.3]]},
    ),
    Call("plots.in_units", static(plots.in_units), lambda w: {"values": [0.1], "x_of_unit": (0.0, 1.0)}),
    # ---- the loop
    Call(
        "ChoiceOptimizer",
        static(lambda **k: cb.ChoiceOptimizer(**k).ask(look_beside=False)),
        lambda w: (
            {name: getattr(Settings, name) for name in Settings.__dataclass_fields__}
            | {"space": w.space, "settings": None}
        ),
    ),
    Call("ChoiceOptimizer(unknown=)", lambda w: lambda **k: cb.ChoiceOptimizer(w.space, **k), lambda w: {"unknown": 1}),
    *(
        Call(
            f"ChoiceOptimizer({name}=)",
            lambda w: lambda **k: cb.ChoiceOptimizer(w.space, **k).ask(look_beside=False),
            lambda w, n=name: {n: getattr(Settings, n)},
        )
        for name in Settings.__dataclass_fields__
    ),
    Call(
        "ChoiceOptimizer(settings=)",
        lambda w: lambda settings: cb.ChoiceOptimizer(w.space, settings),
        lambda w: {"settings": Settings()},
    ),
    Call("ChoiceOptimizer(space=)", static(cb.ChoiceOptimizer), lambda w: {"space": w.space}),
    Call("Settings.from_dict", static(Settings.from_dict), lambda w: {"record": {}}),
    *(
        Call(f"ChoiceOptimizer.{method}", lambda w, m=method: getattr(w.optimizer(), m), lambda w, g=good: dict(g))
        for method, good in (
            ("ask", {"look_beside": False, "progress": None}),
            ("tell", {"question": 2, "kept": [0]}),
            ("skip", {"question": 2}),
            ("undo", {"n": 1}),
            ("add", {"shown": [ONE, OTHER], "kept": [0]}),
        )
    ),
    Call("ChoiceOptimizer.from_dict", static(cb.ChoiceOptimizer.from_dict), record),
    *(
        Call(
            f"ChoiceOptimizer.from_dict({name}=)",
            static(
                lambda **r: (lambda loop: (loop.ask(look_beside=False), loop.data))(cb.ChoiceOptimizer.from_dict(r))
            ),
            lambda w: w.optimizer().to_dict(),
        )
        for name in ("**",)
    ),
    Call(
        "ChoiceOptimizer.from_dict(first version)",
        static(lambda **r: cb.ChoiceOptimizer.from_dict(r)),
        lambda w: {
            "format": "choicebo-optimizer",
            "version": 1,
            "space": w.space.to_dict(),
            "settings": {},
            "log": [],
            "latent_dim_history": [],
        },
    ),
    Call(
        "ChoiceOptimizer.from_dict(first version, entry)",
        lambda w: (
            lambda **e: cb.ChoiceOptimizer.from_dict(
                {
                    "format": "choicebo-optimizer",
                    "version": 1,
                    "space": w.space.to_dict(),
                    "settings": {},
                    "log": [e],
                    "latent_dim_history": [],
                }
            )
        ),
        lambda w: {"kind": "add", "shown": [ONE, OTHER], "kept": [0], "query": {}},
    ),
    Call(
        "ChoiceOptimizer.from_dict(question)",
        lambda w: (
            lambda **e: (
                lambda r: (r["log"][0]["asked"].update(e), cb.ChoiceOptimizer.from_dict(r).ask(look_beside=False))
            )(w.optimizer().to_dict())
        ),
        lambda w: dict(w.optimizer().to_dict()["log"][0]["asked"]),
    ),
    Call(
        "ChoiceOptimizer.from_dict(entry)",
        lambda w: (
            lambda **e: (lambda r: (r["log"][1].update(e), cb.ChoiceOptimizer.from_dict(r).ask(look_beside=False)))(
                w.optimizer().to_dict()
            )
        ),
        lambda w: {**w.optimizer().to_dict()["log"][1], "seconds": 1.0, "rater": "", "at": ""},
    ),
    Call("Question", static(cb.Question), lambda w: {"id": 1, "options": [], "reason": "", "new": (), "found_by": ()}),
    # ---- the loop, kept
    Call(
        "Study.create",
        lambda w: lambda **k: cb.Study.create(**k).close(),
        lambda w: {
            "url": w.folder / "junk.db",
            "name": "a",
            "space": w.space,
            "question": "?",
            "show": None,
            "folder": None,
            "baseline": None,
            "raters": "together",
            "executor": None,
            "query_size": 3,
            "seed": 0,
            "lapse": 0.01,
            "acquisition": "sobol",
        },
        paths=("url", "folder"),
    ),
    *(
        Call(
            f"Study.create({name}=).ask",
            lambda w: lambda **k: _create_and_ask(w, **k),
            lambda w, n=name, v=value: {n: v},
        )
        for name, value in (
            ("seed", 0),
            ("name", "a"),
            ("question", "?"),
            ("raters", "together"),
            ("baseline", None),
            ("latent_dim", 1),
        )
    ),
    Call("Show", static(Show), lambda w: {"kind": "svg", "template": "<svg/>"}),
    Call(
        "Study.create_from_file",
        lambda w: lambda **k: cb.Study.create_from_file(**k).close(),
        lambda w: {"url": w.folder / "x.db", "study_file": w.study.definition, "name": "a"},
        paths=("url", "study_file"),
    ),
    Call(
        "Study.open",
        lambda w: lambda **k: cb.Study.open(**k).close(),
        lambda w: {"url": w.folder / "good.db", "name": "read", "executor": None},
        paths=("url",),
    ),
    Call("Study.list", static(cb.Study.list), lambda w: {"url": w.folder / "good.db"}, paths=("url",)),
    Call(
        "Study.delete", static(cb.Study.delete), lambda w: {"url": w.folder / "good.db", "name": "none"}, paths=("url",)
    ),
    Call(
        "Study.import_json",
        lambda w: lambda **k: cb.Study.import_json(**k).close(),
        lambda w: {"url": w.folder / "i.db", "source": w.folder / "no", "name": "a"},
        paths=("url", "source"),
    ),
    Call(
        "Study.import_json(text)",
        lambda w: lambda source: cb.Study.import_json(w.folder / "i.db", "{" + _text(source)).close(),
        lambda w: {"source": "}"},
    ),
    Call(
        "Study.import_json(**)",
        lambda w: lambda **k: _import(w, k),
        lambda w: json.loads(w.study.export_json()),
    ),
    Call(
        "Study.of_token",
        static(cb.Study.of_token),
        lambda w: {"url": w.folder / "good.db", "token": "x"},
        paths=("url",),
    ),
    *(
        Call(f"Study.{method}", lambda w, m=method: getattr(w.written, m), lambda w, g=good: dict(g), paths)
        for method, good, paths in (
            ("ask", {"rater": None, "another": False, "stand_in": False, "progress": None}, ()),
            ("prepare", {"rater": None, "progress": None}, ()),
            ("open_question", {"rater": None}, ()),
            ("standing", {"rater": None}, ()),
            ("is_ready", {"rater": None}, ()),
            ("needs_model", {"rater": None}, ()),
            ("waits_for_model", {"rater": None}, ()),
            ("tell", {"question": 1, "kept": [0], "rater": None, "seconds": None, "correction": False}, ()),
            ("skip", {"question": 1, "rater": None}, ()),
            ("undo", {"n": 3, "rater": None}, ()),
            ("retract", {"answer": 99}, ()),
            ("restore", {"answer": 99}, ()),
            ("add", {"shown": [ONE, OTHER], "kept": [0], "rater": None}, ()),
            ("count_answers", {"rater": None}, ()),
            ("questions", {"open_only": True, "rater": None}, ()),
            ("get_question", {"id": 1}, ()),
            ("history", {"rater": None}, ()),
            ("latest", {"rater": None, "start": 0, "stop": 1}, ()),
            ("count_latest", {"rater": None}, ()),
            ("get_answer", {"id": 2}, ()),
            ("optimizer", {"rater": None, "fit": False, "progress": None}, ()),
            ("has_posterior", {"rater": None}, ()),
            ("add_rater", {"name": "ann"}, ()),
            ("new_token", {"rater": "owner"}, ()),
            ("rater_of", {"token": "x"}, ()),
            ("export_json", {"path": None}, ("path",)),
            ("export_csv", {"table": "options", "path": None}, ("path",)),
            ("import_pairs", {"source": [(ONE, OTHER)], "rater": None}, ("source",)),
            ("import_choices", {"data": "", "rater": None}, ("data",)),
            ("import_table", {"table": "", "kind": "choices", "columns": None, "options": None}, ("table", "options")),
            ("add", {"shown": [ONE, OTHER], "kept": None, "best": None, "worst": None, "ranking": [0, 1]}, ()),
        )
    ),
    *(
        Call(f"Study.{method}", lambda w, m=method: getattr(w.study, m), lambda w, g=good: dict(g))
        for method, good in (
            ("posterior", {"rater": None, "progress": None}),
            ("pareto_set", {"threshold": 0.5, "rater": None, "progress": None}),
            ("status", {"rater": None, "insight": False, "progress": None}),
        )
    ),
    Call(
        "Study.import_pairs(pair)",
        lambda w: lambda winner, loser: w.written.import_pairs([(winner, loser)]),
        lambda w: {"winner": ONE, "loser": OTHER},
    ),
    Call("Storage", static(Storage), lambda w: {"url": w.folder / "a.db"}, paths=("url",)),
    Call(
        "Storage(://)",
        static(lambda tail: Storage("sqlite:///" + tail.replace("/", "_") if isinstance(tail, str) else tail)),
        lambda w: {"tail": "a.db"},
    ),
]


def _create_and_ask(world: World, **spoilt: Any) -> None:
    """What is accepted must work."""
    given = {"name": "one", "acquisition": "sobol", "latent_dim": 1} | spoilt
    file = world.folder / "accepted.db"
    file.unlink(missing_ok=True)
    with cb.Study.create(file, space=cb.Space([cb.Real("a", 0, 1)]), **given) as study:
        study.tell(study.ask(), [0])


def _import(world: World, document: dict[str, Any]) -> None:
    file = world.folder / "imported.db"
    file.unlink(missing_ok=True)
    try:
        text = json.dumps(document)
    except (TypeError, ValueError, RecursionError, RuntimeError):
        return
    with cb.Study.import_json(file, text) as study:
        study.ask()


def spoilt_calls(call: Call, world: World) -> Iterator[dict[str, Any]]:
    """Each argument replaced by each piece of junk."""
    for name in call.good(world):
        for value in JUNK:
            yield {name: iter([]) if isinstance(value, type(iter([]))) else value}


def _slow_if_long(call: Call) -> Any:
    """A call that opens a database, restores a loop, fits or draws takes milliseconds, and there are thousands."""
    long = call.name.startswith(("Study.", "ChoiceOptimizer.", "ChoiceGP.fit", "insight.", "plots."))
    return pytest.param(call, id=call.name, marks=[pytest.mark.slow] if long else [])


@pytest.mark.parametrize("call", [_slow_if_long(call) for call in CALLS])
def test_junk_in_one_argument_is_refused_in_words(call: Call, world: World) -> None:
    found = [problem for spoilt in spoilt_calls(call, world) if (problem := call.run(world, spoilt)) is not None]
    assert not found, f"{len(found)} of them:\n" + "\n".join(found[:20])


def junk() -> st.SearchStrategy[Any]:
    """The list above, and what Hypothesis makes of texts, numbers and containers."""
    leaves = st.one_of(
        # By their numbers: Hypothesis would write out what it picks from, and some of it cannot be written out.
        st.integers(0, len(JUNK) - 1).map(lambda number: JUNK[number]),
        st.text(st.characters(), max_size=8),
        st.integers(),
        st.floats(),
        st.binary(max_size=4),
    )
    return st.recursive(
        leaves,
        lambda inside: (
            st.lists(inside, max_size=3)
            | st.dictionaries(st.text(max_size=3), inside, max_size=3)
            | st.tuples(inside, inside)
        ),
        max_leaves=6,
    )


@st.composite
def any_spoilt_call(draw: st.DrawFn) -> tuple[Call, Callable[[World], dict[str, Any]]]:
    call = draw(st.sampled_from(CALLS))
    values = draw(st.lists(st.tuples(st.integers(0, 30), junk()), min_size=1, max_size=3))

    def spoilt(world: World) -> dict[str, Any]:
        names = list(call.good(world))
        return {names[place % len(names)]: value for place, value in values}

    return call, spoilt


def _check_any(world: World, drawn: tuple[Call, Callable[[World], dict[str, Any]]]) -> None:
    call, spoilt = drawn
    problem = call.run(world, spoilt(world))
    assert problem is None, problem


_HOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@given(any_spoilt_call())
@settings(max_examples=150, **_HOW)
def test_junk_in_any_arguments_is_refused_in_words(world: World, drawn: Any) -> None:
    _check_any(world, drawn)


@pytest.mark.slow
@given(any_spoilt_call())
@settings(max_examples=5_000, **_HOW)
def test_much_junk_in_any_arguments_is_refused_in_words(world: World, drawn: Any) -> None:
    _check_any(world, drawn)
