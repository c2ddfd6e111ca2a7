"""What a notebook shows of objects: small tables in which nothing can become markup."""

from __future__ import annotations

import html.parser

import pytest

import choicebo as cb
from choicebo.model.engines import Laplace
from choicebo.notebook_html import MOST_ROWS, table
from choicebo.optimizer import ParetoOption, ParetoOptions

EVIL = "<script>alert('&')</script>"
DATA = cb.ChoiceData([[0.1], [0.5], [0.9]], [((0, 1, 2), (1,)), ((0, 2), (2,)), ((0, 1), (1,)), ((1, 2), (1, 2))])
FAST = Laplace(num_samples=50, num_chains=4)


class Reader(html.parser.HTMLParser):
    """Tags that are opened and closed, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += f" {data}"


def shown(thing: object) -> str:
    """The text of an object's table, which is well-formed, has a caption and headings, and holds no foreign tag."""
    read = Reader(thing._repr_html_())
    assert read.open == []
    names = {tag for tag, _ in read.tags}
    assert names <= {"style", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert "caption" in names
    assert all("scope" in attributes for tag, attributes in read.tags if tag == "th")
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    return read.text


def space() -> cb.Space:
    return cb.Space(
        [
            cb.Real("heat", 150, 220, unit="°C"),
            cb.Real("dose", 0.01, 10, log=True),
            cb.Categorical("flour", ["rye", EVIL]),
        ],
        constraints=["heat <= 200"],
        fixed={"oven": "gas"},
    )


def things() -> dict[str, object]:
    menu = cb.Catalogue([{"sku": f"s{n}", "price": n, "name": EVIL} for n in range(30)], key="sku", label="name")
    option = {"heat": 183.7000001, "flour": EVIL}
    question = cb.Question(3, [option, {"heat": 150.0, "flour": "rye"}], EVIL, (True, False), ("sobol",), kept=(1,))
    return {
        "space": space(),
        "catalogue": menu,
        "question": question,
        "choice": DATA.choices[0],
        "choices": DATA,
        "posterior": cb.ChoiceGP(1, engine=FAST).fit_silently(DATA),
        "option": ParetoOption(option, 0.876),
        "pareto set": ParetoOptions([ParetoOption(option, 0.876), ParetoOption({"heat": 160.0, "flour": "rye"}, 0.5)]),
        "selection": cb.select_latent_dim(DATA, max_dim=1, model=cb.ChoiceGP(engine=FAST), refit_limit=0),
    }


@pytest.mark.parametrize("name", list(things()))
def test_a_table_is_well_formed_and_escaped(name):
    shown(things()[name])


def test_tables_say_what_counts():
    found = {name: shown(each) for name, each in things().items()}
    assert "150 to 220" in found["space"]
    assert "on a log scale" in found["space"]
    assert "heat <= 200" in found["space"]
    assert "gas" in found["space"]
    assert EVIL in found["question"]
    assert "183.7" in found["question"]
    assert "88 %" in found["pareto set"]
    assert "4 choices among 3 options" in found["choices"]
    assert "worst R-hat" in found["posterior"]
    assert "1 hidden objective predicts" in found["selection"]


def test_a_long_table_is_cut_and_says_so():
    found = shown(things()["catalogue"])
    assert f"s{MOST_ROWS - 1}" in found
    assert f"s{MOST_ROWS} " not in found
    assert "and 10 more" in found


def test_what_was_kept_stands_out():
    rows = [attributes for tag, attributes in Reader(things()["question"]._repr_html_()).tags if tag == "tr"]
    assert [row.get("class") for row in rows] == [None, None, "kept"]


def test_commands_to_a_terminal_and_long_texts_do_not_get_through():
    found = table("x", ["a"], [["\x1b[2J" + "long " * 100]])
    assert "\x1b" not in found
    assert "…" in found


def test_the_table_follows_the_theme_of_the_notebook():
    found = table("x", ["a"], [[1]])
    assert "light-dark(" in found
    assert 'data-jp-theme-light="false"' in found
