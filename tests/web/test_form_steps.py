"""Steps and angles in the form that describes a study."""

import pytest

from choicebo.errors import SpaceError
from choicebo.space import Angle, Integer, Real
from choicebo.web.study_form import COLUMNS, StudyForm

EMPTY = dict.fromkeys(COLUMNS, "")


def described(**typed):
    row = {**EMPTY, "name": "a", "kind": "real", "scale": "linear", **typed}
    return StudyForm(name="s", rows=(row,)).space().parameters[0]


@pytest.mark.parametrize(
    ("typed", "parameter"),
    [
        ({"low": "0", "high": "1"}, Real("a", 0, 1, step=0.01)),
        ({"low": "0", "high": "1", "step": "0,25"}, Real("a", 0, 1, step=0.25)),
        ({"low": "0", "high": "1", "step": "0"}, Real("a", 0, 1)),
        ({"low": "1", "high": "100", "scale": "log"}, Real("a", 1, 100, log=True, step=0.05)),
        ({"kind": "angle"}, Angle("a", step=5)),
        ({"kind": "angle", "low": "-180", "high": "180", "unit": "deg", "step": "1"}, Angle("a", -180, 180, "deg", 1)),
        ({"kind": "integer", "low": "0", "high": "9", "step": "x"}, Integer("a", 0, 9)),
    ],
)
def test_a_step_that_was_left_empty_is_chosen(typed, parameter):
    assert described(**typed) == parameter


@pytest.mark.parametrize(("step", "told"), [("x", "Step of 'a'"), ("-1", "above 0"), ("5", "at most 1")])
def test_a_step_that_cannot_be_used_says_why(step, told):
    with pytest.raises(SpaceError, match=told):
        described(low="0", high="1", step=step)
