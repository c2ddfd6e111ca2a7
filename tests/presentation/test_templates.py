from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import choicebo as cb
from choicebo.errors import SpaceError
from choicebo.presentation.templates import check, check_show, could_be, fill_path, fill_svg
from choicebo.study.study_file import read

OPTION = {
    "hue": 30,
    "share": 0.4567,
    "flour": "rye",
    "dark chocolate": "yes",
    "ratio a:b": 2,
    "hot": True,
    "note": None,
}
STYLED = "<svg><style>.leaf{fill:green} #a { opacity: .5; } @media print{.b{x:1}} .c{}</style>{flour}</svg>"


def test_a_name_in_braces_becomes_the_value():
    assert fill_svg("{hue} { flour } {dark chocolate} {ratio a:b}", OPTION) == "30 rye yes 2"


def test_true_false_and_nothing_are_written_as_a_drawing_needs_them():
    assert fill_svg("[{hot}][{note}]", OPTION) == "[true][]"


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{share:.2f}", "0.46"),
        ("{hue:.1f}", "30.0"),
        ("{hue:03.0f}", "030"),
        ("{share:.1e}", "4.6e-01"),
        ("{flour:.1f}", "rye"),
    ],
)
def test_numbers_can_be_given_a_format(template, filled):
    assert fill_svg(template, OPTION) == filled


def test_doubled_braces_are_braces():
    assert fill_svg("{{hue}} is {hue}", OPTION) == "{hue} is 30"


def test_style_sheets_need_no_doubling():
    assert fill_svg(STYLED, OPTION) == STYLED.replace("{flour}", "rye")
    check(STYLED, OPTION)
    assert fill_svg("a{hue:red}", OPTION) == "a{hue:red}"  # a property of that name, and no format


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Co", "Cn"])))
def test_no_value_can_become_markup_of_a_drawing(value):
    drawn = fill_svg("<svg a=\"{x}\" b='{x}'>{x}</svg>", {"x": value})
    parsed = ElementTree.fromstring(drawn)
    assert len(parsed) == 0
    assert (parsed.text or "", parsed.get("a"), parsed.get("b")) == (value, value, value)


def test_a_value_that_looks_like_a_template_is_not_filled_again():
    assert fill_svg("{flour}", {"flour": "{hue}", "hue": 1}) == "{hue}"


def test_paths_are_not_escaped_as_markup():
    assert fill_path("photos/{flour}-{hue}.jpg", {"flour": "salt & rye", "hue": 1}) == "photos/salt & rye-1.jpg"


@pytest.mark.parametrize("template", ["<svg>{flours}</svg>", "<svg>{ flours }</svg>", "<svg>{flours:.1f}</svg>"])
def test_an_unknown_name_is_refused_with_the_one_that_may_be_meant(template):
    with pytest.raises(SpaceError, match=r"options have no 'flours'. Did you mean 'flour'\?"):
        check(template, ["hue", "flour"])


def test_known_names_formats_and_doubled_braces_pass_the_check():
    check("{hue} {share:.1f} {{flours}} {dark chocolate} {ratio a:b}", OPTION)


def test_an_unknown_name_of_a_template_that_is_stored_stays_as_it_is():
    assert fill_svg("{flours}", OPTION) == "{flours}"


def test_a_study_file_with_an_unknown_name_in_its_drawing_is_refused_when_a_study_is_made(tmp_path):
    (tmp_path / "loaf.svg").write_text("<svg>{minuts}</svg>")
    (tmp_path / "bread.toml").write_text(
        "[study]\nname = 'bread'\n[[parameter]]\nkind = 'integer'\nname = 'minutes'\nlow = 5\nhigh = 40\n"
        "[show]\nkind = 'svg'\nfile = 'loaf.svg'\n"
    )
    with pytest.raises(SpaceError, match="Did you mean 'minutes'"):
        check_show(read(tmp_path / "bread.toml"))
    (tmp_path / "loaf.svg").write_text("<svg>{minutes}</svg>")
    assert isinstance(check_show(read(tmp_path / "bread.toml")).space, cb.Space)


@given(
    seed=st.integers(0, 10_000),
    template=st.sampled_from(
        [
            "{minutes}.png",
            "photos/{flour}-{minutes:.1f}.png",
            "{weight:.2f}/{flour}{{x}}.png",
            "{weight}-{grind}.jpg",
            "{weight:.3e} {minutes:,.0f}{unknown}.png",
            "{flour}{flour}{held}.png",
        ]
    ),
)
def test_the_image_of_every_option_is_one_that_options_name(seed, template):
    space = cb.Space(
        [
            cb.Integer("minutes", -5, 4000),
            cb.Real("weight", 0.0004, 2e6),
            cb.Ordinal("grind", [1, 2.5, 4]),
            cb.Categorical("flour", ["rye", "ry", "a.b", "(x", "r/ye"]),
        ],
        fixed={"held": "h"},
    )
    [option] = space.decode(space.sample(1, seed=seed))
    path = fill_path(template, option)
    assert could_be(template, path, space)
    for other in (f"{path}x", f"x{path}", path.replace(".", "-"), "private.png", ""):
        assert not could_be(template, other, space)


def test_numbers_without_anything_between_them_take_no_more_time_than_others():
    space = cb.Space([cb.Real(f"p{number}", 0, 1) for number in range(9)])
    template = "".join(f"{{{parameter.name}}}" for parameter in space.parameters)
    assert could_be(f"{template}.png", "0.5" * 9 + ".png", space)
    assert not could_be(f"{template}.png", "1" * 500 + ".pnx", space)  # it used to take years
