from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import labels, spaces, values_of

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.space import Angle, Catalogue, Categorical, Fixed, Integer, Real, Space
from choicebo.study.definition import Show, StudyDefinition
from choicebo.study.study_file import dumps, json_schema, loads, read

BREAD = """
constraints = ["temperature + 2*minutes <= 280"]

[study]
name = "bread"
question = "Which loaves would you bake again?"
query_size = 4
new_per_query = 2

[[parameter]]
name = "temperature"
kind = "real"
low = 150
high = 220
unit = "°C"

[[parameter]]
name = "minutes"
kind = "integer"
low = 5
high = 40

[[parameter]]
name = "flour"
kind = "categorical"
values = ["rye", "wheat"]

[fixed]
oven = "gas"

[baseline]
temperature = 180
minutes = 30
flour = "rye"

[show]
kind = "svg"
template = "<svg><text>{flour}</text></svg>"
"""

PARAMETER = '[[parameter]]\nname = "a"\nkind = "real"\nlow = 0\nhigh = 1\n'
STUDY = '[study]\nname = "s"\n'
CSV = "sku,name,price\nA,Rye,3\nB,Bun,2\nC,Loaf,1\nD,Roll,2\nE,Pretzel,4\n"


def content(study):
    """All but the moment of reading and the folder."""
    return {**study.to_dict(), "created_at": None, "folder": None}


def described(**fields):
    return StudyDefinition.from_arguments(**fields)


def test_a_study_is_read_as_it_is_written():
    study = loads(BREAD)
    expected = described(
        name="bread",
        space=Space(
            [
                Real("temperature", 150, 220, unit="°C", step=0.5),  # a file that names none gets one
                Integer("minutes", 5, 40),
                Categorical("flour", ["rye", "wheat"]),
                Fixed("oven", "gas"),
            ],
            ["temperature + 2*minutes <= 280"],
        ),
        question="Which loaves would you bake again?",
        query_size=4,
        new_per_query=2,
        baseline={"temperature": 180.0, "minutes": 30, "flour": "rye", "oven": "gas"},
        show=Show("svg", template="<svg><text>{flour}</text></svg>"),
    )
    assert content(study) == content(expected)
    assert content(loads(dumps(study))) == content(study)


@pytest.mark.parametrize(
    ("lines", "parameter"),
    [
        ('kind = "real"\nlow = 0\nhigh = 1', Real("a", 0, 1, step=0.01)),
        ('kind = "real"\nlow = 0\nhigh = 1\nstep = 0', Real("a", 0, 1)),
        ('kind = "real"\nlow = 0\nhigh = 1\nstep = 0.25', Real("a", 0, 1, step=0.25)),
        ('kind = "real"\nlow = 1\nhigh = 1000\nlog = true', Real("a", 1, 1000, log=True, step=0.05)),
        ('kind = "real"\nlow = 0\nhigh = 24\ncircular = true', Real("a", 0, 24, step=0.2, circular=True)),
        ('kind = "integer"\nlow = 0\nhigh = 24\ncircular = true', Integer("a", 0, 24, circular=True)),
        ('kind = "angle"', Angle("a", step=5)),
        ('kind = "angle"\nhigh = 1\nunit = ""\nstep = 0', Angle("a", high=1, unit="")),
    ],
)
def test_a_number_without_a_step_gets_one_that_people_can_tell_apart(lines, parameter):
    study = loads(f'{STUDY}[[parameter]]\nname = "a"\n{lines}\n')
    assert study.space.parameters == (parameter,)
    assert loads(dumps(study)).space == study.space


def test_a_study_file_says_by_how_much_options_differ():
    study = loads(f"{STUDY}least_difference = 0.1\n{PARAMETER}")
    assert study.settings["least_difference"] == 0.1
    assert loads(dumps(study)).settings == study.settings


def test_a_study_file_says_which_differences_go_unnoticed():
    study = loads(f'{STUDY}answer = "pair"\nlikelihood = "noticeable_difference"\nthreshold = 0.7\n{PARAMETER}')
    assert (study.settings["likelihood"], study.settings["threshold"]) == ("noticeable_difference", 0.7)
    assert loads(dumps(study)).settings == study.settings
    assert "threshold" not in dumps(loads(f"{STUDY}{PARAMETER}"))


# What a database cannot hold is refused beforehand.
questions = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


@given(spaces(), labels, questions, st.data())
def test_every_study_over_a_space_survives_the_file(space, name, question, data):
    option = {p.name: data.draw(values_of(p)) for p in space.parameters}
    study = described(
        name=name,
        space=space,
        question=question,
        query_size=2,
        new_per_query=data.draw(st.integers(1, 2)),
        baseline=data.draw(st.none() | st.just(option)),
        show=data.draw(st.sampled_from([Show(), Show("svg", "<svg>\n</svg>"), Show("image", template="{x}.png")])),
    )
    assert content(loads(dumps(study))) == content(study)


def test_a_catalogue_in_a_file_beside_the_study_is_found(tmp_path):
    (tmp_path / "menu.csv").write_text(CSV)
    path = tmp_path / "study.toml"
    path.write_text(STUDY + '[catalogue]\nfile = "menu.csv"\nkey = "sku"\nlabel = "name"\n[baseline]\nsku = "B"\n')
    study = read(path)
    assert study.space == Catalogue(tmp_path / "menu.csv", label="name")
    assert study.baseline == {"sku": "B", "name": "Bun", "price": 2}
    assert study.folder == tmp_path
    assert content(loads(dumps(study))) == content(study)


def test_a_short_catalogue_can_stand_in_the_study_file():
    rows = [{"sku": f"{k}", "x": k, "vegan": k > 2, "photo": "p.png" if k else None} for k in range(6)]
    menu = Catalogue(rows, image="photo")
    study = described(name="menu", space=menu, show=Show("image"), baseline={"sku": "3"})
    assert content(loads(dumps(study))) == content(study)


def test_a_template_in_a_file_beside_the_study_is_found(tmp_path):
    (tmp_path / "loaf.svg").write_text("<svg/>")
    study = loads(STUDY + PARAMETER + '[show]\nkind = "svg"\nfile = "loaf.svg"\n', tmp_path)
    assert study.show == Show("svg", template="<svg/>")
    assert content(loads(dumps(study))) == content(study)


def test_a_drawing_stays_readable():
    drawing = "<svg>\n  <circle r='{size}'/>\n</svg>\n"
    study = described(name="s", space=SPACE, show=Show("svg", template=drawing))
    assert drawing in dumps(study)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[study\nname = 1", r"Line 1 is not TOML(.|\n)*\[study\n +\^"),
        ('[study]\nname = "a', "not TOML"),
        ("", r"lacks the section \[study\]"),
        ("[study]\n" + PARAMETER, "The study lacks 'name'"),
        ("[study]\nname = 3\n" + PARAMETER, "The name of the study is 3"),
        (
            STUDY + 'qestion = "?"\n' + PARAMETER,
            r"\[study\] has the unknown key 'qestion'. Did you mean 'question'",
        ),
        (STUDY, r"neither a \[\[parameter\]\] nor a \[catalogue\]"),
        (
            STUDY + PARAMETER + "hihg = 3\n",
            r"Parameter 1: 'a' has the unknown key 'hihg'. Did you mean 'high'",
        ),
        (STUDY + PARAMETER.replace("real", "reel"), "kind 'reel'. Did you mean 'real'"),
        (STUDY + PARAMETER.replace('kind = "real"\n', ""), "lacks the key 'kind'"),
        (STUDY + PARAMETER.replace("low = 0", 'low = "0"'), "Parameter 1: low of 'a' is '0': give a number"),
        (STUDY + PARAMETER.replace("low = 0", "low = 3"), "swap them"),
        (STUDY + PARAMETER.replace("low = 0", "low = nan"), "finite"),
        (STUDY + PARAMETER + 'constraints = ["a < 1"]\n', "move it to the top"),
        ('constraints = ["b < 1"]\n' + STUDY + PARAMETER, "unknown name 'b'"),
        ("constraints = [3]\n" + STUDY + PARAMETER, "A constraint is 3"),
        ("constraints = 3\n" + STUDY + PARAMETER, "constraints"),
        (STUDY + PARAMETER + "[baseline]\na = 3\n", "accepted is 0 to 1"),
        (
            'constraints = ["a < 0.5"]\n' + STUDY + PARAMETER + "[baseline]\na = 0.7\n",
            "breaks the constraint",
        ),
        (STUDY + "query_size = 1\n" + PARAMETER, "query_size is 1; give a whole number of at least 2"),
        (STUDY + "new_per_query = 9\n" + PARAMETER, "new_per_query is 9, more than query_size = 5"),
        (
            STUDY + PARAMETER + '[show]\nkind = "bar"\n',
            "'show.kind' of the study is 'bar': give 'bars', 'svg' or 'image'",
        ),
        (STUDY + PARAMETER + '[show]\nkind = "svg"\n', "needs a template"),
        (STUDY + PARAMETER + '[show]\nkind = "image"\n', "image column, or a template"),
        (STUDY + PARAMETER + '[show]\nkind = "svg"\nfile = "no.svg"\n', "cannot be read"),
        (STUDY + PARAMETER + '[show]\nkind = "svg"\nfile = "../no.svg"\n', "inside the folder"),
        (STUDY + PARAMETER + '[show]\ntemplate = "x"\n', "take no template"),
        (STUDY + '[catalogue]\nfile = "/etc/passwd"\n', "inside the folder"),
        (STUDY + '[catalogue]\nkey = "sku"\n', "either a file or"),
        (STUDY + '[catalogue]\nfile = "m.csv"\n' + PARAMETER, r"leave out \[\[parameter\]\]"),
        (STUDY + '[catalog]\nfile = "m.csv"\n', "unknown key 'catalog'. Did you mean 'catalogue'"),
        (STUDY + "[[parameter]]\nname='a'\nkind='ordinal'\nvalues=[1, true]\n", "values of 'a'"),
        ("study = 3\n", r"\[study\] is 3: give a section"),
        ("parameter = [3]\n" + STUDY, "Parameter 1: A parameter is 3"),
        (STUDY + PARAMETER.replace("[[parameter]]", "[parameter]"), r"\[\[parameter\]\]"),
        (STUDY + PARAMETER + '[show]\nkind = "image"\nfile = "a.png"\n', "for the kind 'svg'"),
        (STUDY + "[catalogue]\nrows = 3\n", "rows are 3"),
        (STUDY + "[catalogue]\nfile = 3\n", "cannot be read"),
        (STUDY + PARAMETER + "[baseline]\nb = 3\n", "unknown name 'b'"),
    ],
)
def test_a_study_file_that_cannot_be_used_says_where_and_why(tmp_path, text, message):
    with pytest.raises(InvalidInputError, match=message):
        loads(text, tmp_path)


def test_errors_of_a_file_begin_with_its_name(tmp_path):
    with pytest.raises(SpaceError, match=r"none\.toml: .*cannot be read"):
        read(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("# Müsli".encode("latin-1"))
    with pytest.raises(SpaceError, match=r"latin\.toml: .*not UTF-8"):
        read(tmp_path / "latin.toml")


SPACE = Space([Real("a", 0, 1)])


def test_the_schema_knows_every_key_of_a_study_file():
    schema = json_schema()
    assert set(schema["properties"]) == {
        "constraints", "study", "parameter", "fixed", "catalogue", "baseline", "show", "objectives",
    }  # fmt: skip
    kinds = {kind["properties"]["kind"]["const"] for kind in schema["properties"]["parameter"]["items"]["oneOf"]}
    assert kinds == {"real", "integer", "angle", "ordinal", "categorical"}
    angle = next(
        kind["properties"]
        for kind in schema["properties"]["parameter"]["items"]["oneOf"]
        if kind["properties"]["kind"]["const"] == "angle"
    )
    assert set(angle) == {"kind", "name", "low", "high", "unit", "step", "context"}
    assert schema["additionalProperties"] is False
    json.dumps(schema)
