from __future__ import annotations

import json
import subprocess
import sys

import choicebo

HEAVY = {
    "arviz_stats",
    "distributed",
    "llvmlite",
    "matplotlib",
    "moocore",
    "numba",
    "pandas",
    "scipy",
    "sqlalchemy",
}
REFERENCE = {"blackjax", "jax", "jaxlib", "optax"}
"""What only the tests use."""


def loaded_after(statement: str) -> set[str]:
    """The modules that a fresh process has loaded after one statement."""
    program = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(output.stdout))


def modules_after(statement: str) -> set[str]:
    """Only the top-level ones."""
    return {name.partition(".")[0] for name in loaded_after(statement)}


def test_import_choicebo_loads_nothing_heavy() -> None:
    assert modules_after("import choicebo").isdisjoint(HEAVY | REFERENCE)


def test_choices_can_be_written_down_without_the_numerics() -> None:
    statement = "import choicebo as cb; cb.ChoiceData([[0.0], [1.0]], [cb.Choice((0, 1), (0,))])"
    assert modules_after(statement).isdisjoint(HEAVY | REFERENCE)


def test_a_fit_loads_nothing_that_it_does_not_need() -> None:
    """SciPy's statistics take half a second to load; JAX, blackjax and optax are only what the tests compare with."""
    statement = (
        "import choicebo as cb; "
        "data = cb.ChoiceData([[0.1], [0.5], [0.9]], [cb.Choice((0, 1, 2), (0, 2)), cb.Choice((0, 1), (0,))]); "
        "posterior = cb.ChoiceGP().fit_silently(data); "
        "posterior.predict_choice(data.X)"
    )
    loaded = loaded_after(statement)
    assert "numba" in loaded
    assert loaded.isdisjoint({"scipy.stats", "arviz_stats", "matplotlib"})
    assert REFERENCE.isdisjoint(name.partition(".")[0] for name in loaded)


def test_the_check_would_notice_a_heavy_module() -> None:
    assert "scipy" in modules_after("import scipy")


def test_every_public_name_resolves() -> None:
    for name in choicebo.__all__:
        assert getattr(choicebo, name) is not None


def test_public_names_are_listed_once_and_offered_to_completion() -> None:
    assert len(set(choicebo.__all__)) == len(choicebo.__all__)
    assert set(choicebo.__all__) == set(dir(choicebo))


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(choicebo, "ChoiceGp")
