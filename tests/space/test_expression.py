from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.errors import SpaceError
from choicebo.space.expression import identifier, names, parse


@pytest.mark.parametrize(
    "text",
    [
        "temperature + 2*minutes <= 280",
        "a*b >= 3",
        "sqrt(a) + log(b) < 2",
        "0.2 <= a/b <= 0.8",
        "flour == 'rye'",
        "flour != 'rye' or temperature <= 200",
        "flour in ['rye', 'wheat'] and not a > 3",
        "a**2 + b**-0.5 < 3",
        "minutes % 5 == 0",
        "min(a, b, 3) <= abs(-c)",
    ],
)
def test_what_people_write_is_read(text):
    assert names(parse(text))


@pytest.mark.parametrize(
    ("text", "spot", "message"),
    [
        ("a + * b < 1", "*", "invalid syntax"),
        ("a = 3", "=", "Write == for 'equals'"),
        ("a ≤ 3", "≤", "Write <= for 'at most'"),
        ("a < 1 && b < 2", "&", "Write 'and'"),
        ("a^2 < 1", "a^2", r"Write a\*\*2"),
        ("a.b < 1", "a.b", "Attribute"),
        ("a[0] < 1", "a[0]", "Subscript"),
        ("(lambda: 1) < a", "lambda: 1", "Lambda"),
        ("__import__('os') < a", "__import__", "not a known function"),
        ("a < sum(b)", "sum", "Known are: 'abs'"),
        ("a < sqroot(b)", "sqroot", "Did you mean 'sqrt'"),
        ("sqrt(a, b) < 1", "sqrt(a, b)", "sqrt takes one number"),
        ("min(a) < 1", "min(a)", "two or more"),
        ("max(*a) < 1", "max(*a)", "two or more"),
        ("a < 9**9**9**9", "9**9**9", "exponent"),
        ("a**b < 2", "b", "exponent"),
        ("a**20 < 2", "20", "from -16 to 16"),
        ("a < 1e999", "1e999", "too large"),
        ("a < 2j", "2j", "not accepted"),
        ("a < None", "None", "not accepted"),
        ("a is 3", "a is 3", "Write == or !="),
        ("a in b", "b", "needs a list"),
        ("a in [x for x in b]", "[x for x in b]", "needs a list"),
        ("a // 2 < 3", "a // 2", "not accepted"),
        ("(a := 3) < 4", "a := 3", "not accepted"),
        ("f'{a}' == 'b'", "f'{a}'", "not accepted"),
        ("1 < 2", "1 < 2", "mentions no parameter"),
        ("é + ü*b.c < 1", "b.c", "Attribute"),
    ],
)
def test_what_is_refused_is_pointed_at(text, spot, message):
    with pytest.raises(SpaceError, match=message) as caught:
        parse(text)
    shown, carets = str(caught.value).splitlines()[1:3]
    assert shown == f"    {text}"
    marked = "".join(letter for letter, caret in zip(shown, carets, strict=False) if caret == "^")
    assert marked == spot


@pytest.mark.parametrize(
    "text",
    [
        "(" * 400 + "a" + ")" * 400 + " < 1",
        "-" * 900 + "a < 1",
        "not " * 200 + "a < 1",
        "+".join(["a"] * 400) + " < 1",
        "a < " + "9" * 900,
        "a" * 5000,
        "a < 1\0",
        "[" * 300,
    ],
)
def test_hostile_text_is_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(SpaceError):
        parse(text)
    assert time.perf_counter() - start < 1.0


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_an_explanation(text):
    with contextlib.suppress(SpaceError):
        assert names(parse(text))


@given(st.text(min_size=1, max_size=12).filter(str.isprintable))
def test_every_name_has_a_spelling_that_the_parser_reads_back(name):
    word = identifier(name)
    assert names(parse(f"{word} <= 1")) == (word,)
    assert identifier(word) == word or word.endswith("_")


def test_a_name_that_is_an_identifier_is_itself():
    assert identifier("oven__temperature_2") == "oven__temperature_2"
