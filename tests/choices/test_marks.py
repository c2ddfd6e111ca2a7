"""Marks: what a person says of options beyond which they keep, and the choices that it is read as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.choices import ChoiceData
from choicebo.choices.marks import Marks, read_marks, require_learnable
from choicebo.errors import DataError


@st.composite
def answers(draw):
    """How many options there are, and the marks on them as a person gives them."""
    shown = draw(st.integers(2, 6))
    order = draw(st.permutations(range(shown)))
    kind = draw(st.sampled_from(["best", "best-worst", "ranking"]))
    if kind == "ranking":
        return shown, {"ranking": order[: draw(st.integers(1, shown))]}
    return shown, {"best": order[0]} if kind == "best" else {"best": order[0], "worst": order[1]}


@given(answers())
def test_marks_are_read_back_as_they_were_written(answer):
    shown, said = answer
    marks = read_marks(shown, **said)
    assert marks.to_dict() == said
    assert Marks.from_dict(marks.to_dict()) == marks == read_marks(shown, **marks.to_dict())


@given(answers())
def test_marks_are_read_as_tables_of_answers_are(answer):
    shown, said = answer
    X = [[place / shown] for place in range(shown)]
    if "ranking" in said:
        data = ChoiceData.from_rankings(X, [said["ranking"]], shown=[range(shown)])
    elif "worst" in said:
        data = ChoiceData.from_best_worst(X, [range(shown)], [said["best"]], [said["worst"]])
    else:
        data = ChoiceData.from_best(X, [range(shown)], [said["best"]])
    expected = [(choice.shown, choice.kept) for choice in data.choices]
    assert [(tuple(among), tuple(kept)) for among, kept in read_marks(shown, **said).choices(shown)] == expected


@given(answers())
def test_the_first_choice_is_among_all_options_and_keeps_what_is_kept(answer):
    shown, said = answer
    marks = read_marks(shown, **said)
    assert marks.choices(shown)[0] == (tuple(range(shown)), marks.kept)


def test_a_tie_is_one_place():
    marks = read_marks(3, ranking=[[2, 0], 1])
    assert marks.to_dict() == {"ranking": [[2, 0], 1]}
    assert (marks.kept, marks.words(), [marks.of(place) for place in range(3)]) == (
        (0, 2),
        "in order: 3 = 1, 2",
        ["1", "2", "1"],
    )


@pytest.mark.parametrize(
    "said", [{"best": 3}, {"best": -1}, {"best": True}, {"best": 0, "worst": 0}, {"ranking": [0, 3]}, {"ranking": []}]
)
def test_what_is_no_option_is_refused(said):
    with pytest.raises(DataError):
        read_marks(3, **said)


@pytest.mark.parametrize(
    ("likelihood", "shown", "kept", "learns"),
    [
        ("choice", 3, 2, True),
        ("pseudo_rational", 3, 2, True),
        ("batch_preference", 3, 1, True),
        ("batch_preference", 2, 2, False),
        ("noticeable_difference", 2, 2, True),
        ("noticeable_difference", 3, 2, False),
        ("noticeable_difference", 3, 1, True),
    ],
)
def test_a_likelihood_says_what_it_can_learn_from(likelihood, shown, kept, learns):
    choice = (tuple(range(shown)), tuple(range(kept)))
    if learns:
        require_learnable(likelihood, [choice])
    else:
        with pytest.raises(DataError, match="name one, or skip"):
            require_learnable(likelihood, [choice])
