from __future__ import annotations

import pytest

from choicebo.errors import SpaceError
from choicebo.space import Catalogue, Real, Space, from_dict
from choicebo.space.serialisation import parameter_from_dict

RECORD = Space([Real("a", 0, 1)]).to_dict()
MENU = Catalogue([{"sku": "A", "x": 1}, {"sku": "B", "x": 2}]).to_dict()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({**RECORD, "kind": "spaceship"}, "accepted are 'space' and 'catalogue'"),
        ({**RECORD, "version": 99}, "version 99; accepted is 1"),
        ({name: value for name, value in RECORD.items() if name != "fixed"}, "lacks 'fixed'"),
        ([], "kind None"),
        ({"kind": "catalogue", "version": 1}, "lacks 'rows'"),
        ({**MENU, "rows": "/etc/passwd"}, "no list of rows"),
        ({**RECORD, "parameters": 3}, "give a list of them"),
        (
            {**RECORD, "parameters": [*RECORD["parameters"], {"kind": "real"}]},
            "Parameter 2: A parameter lacks the key 'name'",
        ),
    ],
)
def test_a_record_that_cannot_be_read_says_why(record, message):
    with pytest.raises(SpaceError, match=message):
        from_dict(record)


def test_a_record_of_the_wrong_kind_is_refused():
    with pytest.raises(SpaceError, match="not a space"):
        Space.from_dict({"kind": "catalogue"})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"kind": "reel", "name": "a"}, "Did you mean 'real'"),
        ({"kind": "real", "name": "a", "low": 0, "hi": 1}, "'a' has the unknown key 'hi'. Did you mean 'high'"),
        ({"kind": "real", "name": "a", "low": 0}, "'a' lacks the key 'high'"),
        ({"name": "a"}, "'a' lacks the key 'kind': accepted are 'real'"),
        (3, "A parameter is 3"),
    ],
)
def test_a_parameter_record_that_cannot_be_read_says_why(record, message):
    with pytest.raises(SpaceError, match=message):
        parameter_from_dict(record)
