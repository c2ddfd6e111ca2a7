"""Who answered: carried by choices, data and files."""

import pytest

from choicebo import Choice, ChoiceData
from choicebo.errors import DataError

X = [[0.1], [0.7], [1.0]]
DATA = ChoiceData(
    X,
    [
        Choice((0, 1), (1,), rater="Bo"),
        Choice((1, 2), (2,)),
        Choice((0, 1), (0,), 2.0, "Ann"),
        Choice((0, 2), (2,), rater="Bo"),
    ],
)


def test_raters_come_in_the_order_of_their_first_answers() -> None:
    assert DATA.raters == ("Bo", "Ann")
    assert ChoiceData(X, [Choice((0, 1), (1,))]).raters == ()


def test_the_answers_of_one_person() -> None:
    of_bo = DATA.of_rater("Bo")
    assert [choice.shown for choice in of_bo.choices] == [(0, 1), (0, 2)]
    assert of_bo.n_options == 3
    with pytest.raises(DataError, match="made by 'Cy'; those who answered are 'Bo', 'Ann'"):
        DATA.of_rater("Cy")


@pytest.mark.parametrize("name", ["", "  ", 7, b"Ann"])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(DataError, match="must be a name"):
        Choice((0, 1), (1,), rater=name)  # type: ignore[arg-type]


def test_files_carry_who_answered() -> None:
    assert ChoiceData.from_json(DATA.to_json()) == DATA
    assert ChoiceData.from_csv(DATA.to_csv()) == DATA
    assert "rater" not in ChoiceData(X, [Choice((0, 1), (1,))]).to_csv()


def test_names_that_a_table_could_mistake_survive_it() -> None:
    odd = ChoiceData(X, [Choice((0, 1), (1,), rater='Ann, "B" \n C')])
    assert ChoiceData.from_csv(odd.to_csv()).raters == odd.raters


def test_who_answered_makes_other_data() -> None:
    ann, bo = (ChoiceData(X, [Choice((0, 1), (1,), rater=name)]) for name in ("Ann", "Bo"))
    assert ann != bo
    assert ann.fingerprint != bo.fingerprint


def test_equal_rows_of_options_keep_the_rater() -> None:
    assert ChoiceData([[0.0], [0.5], [0.0]], [Choice((1, 2), (2,), rater="Bo")]).raters == ("Bo",)
    assert ChoiceData([[0.0], [0.5], [0.0]], [Choice((0, 1, 2), (0, 2), rater="Bo")]).raters == ("Bo",)
