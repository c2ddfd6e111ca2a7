"""Every notebook of the gallery runs and comes to the result that it tells of."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from choicebo.pareto import non_dominated

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

GALLERY = Path(__file__).parents[1] / "docs/gallery"
Names = dict[str, Any]


def recipe(found: Names) -> None:
    """Few random loaves beat those proposed, and all of these are affordable."""
    assert found["still_best"].mean() > 0.5
    assert (found["best"]["price"] <= 2.4).all()


def pictures(found: Names) -> None:
    """The mugs in the window are among the better half of the catalogue in something."""
    everything = list(found["catalogue"].rows)
    truly_best = {everything[position]["sku"] for position in found["customer"](everything)}
    assert {mug["sku"] for mug in found["best"]} & truly_best


def controller(found: Names) -> None:
    """The best responses overshoot less than the first ones, which fill the space."""
    overshoot = [
        [-found["looks"](gains)[0] for gains in options] for options in (found["first"].options, found["best"])
    ]
    assert np.median(overshoot[1]) <= np.median(overshoot[0])


def panel(found: Names) -> None:
    """Those who agree are seen to agree, and the one who does not is seen not to."""
    agreement = found["agreement"].to_numpy()
    among_friends = agreement[:3, :3][np.triu_indices(3, 1)]
    assert among_friends.min() > agreement[3, :3].max()


def survey(found: Names) -> None:
    """Unseen answers are predicted far better than by guessing."""
    assert found["right"] > 0.6 * found["test"].n_choices


def known_price(found: Names) -> None:
    """With the price known, more of the laptops proposed are beaten by none of the random ones."""
    unbeaten = {}
    for name, laptops in found["found"].items():
        values = [(found["liking"](each), -found["price"](each)) for each in [*found["crowd"], *laptops]]
        unbeaten[name] = int(non_dominated(values)[len(found["crowd"]) :].sum())
    assert unbeaten["price known"] > unbeaten["price hidden"]


def comparison(found: Names) -> None:
    """One utility is not enough, and unseen answers agree."""
    assert found["selection"].best >= 2
    accuracy = {latent_dim: share for latent_dim, _, share in found["found"]}
    assert accuracy[1] < accuracy[2]


def acquisition(found: Names) -> None:
    """The acquisition finds a better compromise than points that merely fill the space."""
    assert found["curves"]["balanced"][:, -1].mean() > found["curves"]["sobol"][:, -1].mean()


CHECKS: dict[str, Callable[[Names], None]] = {
    "choices_from_a_survey": survey,
    "known_price": known_price,
    "model_comparison": comparison,
    "own_acquisition": acquisition,
    "panel_of_tasters": panel,
    "pictures_from_a_catalogue": pictures,
    "recipe_with_constraints": recipe,
    "tuning_a_controller": controller,
}
SLOW = {"own_acquisition"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in CHECKS]
)
def test_the_notebook_comes_to_its_result(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(GALLERY / f"{name}.py"))
    CHECKS[name](found)
    assert list(tmp_path.iterdir()) == [], "a notebook leaves nothing behind"


def test_every_notebook_is_run_and_listed() -> None:
    notebooks = {path.stem for path in GALLERY.glob("*.py")}
    assert notebooks == set(CHECKS)
    listed = (GALLERY / "index.md").read_text("utf-8")
    assert [name for name in notebooks if f"({name}.py)" not in listed] == []
