"""What is known already, in the forms of the page and in the API."""

from __future__ import annotations

from collections.abc import Callable

import choicebo as cb
from choicebo.study import Study

from .web_helpers import Browser, bread

PRICE = "minimise price = 2*flour"
FORM = {
    "name": "loaf",
    "p-kind": "real",
    "p-name": "flour",
    "p-low": "1",
    "p-high": "5",
    "acquisition": "sobol",
    "act": "create",
}


def test_the_form_takes_objectives(browser: Browser) -> None:
    browser.get("/studies/new")
    page = browser.post("/studies/new", {**FORM, "objectives": f"{PRICE}\n\nmaximise flour"})
    assert page.status_code == 200
    with Study.open(browser.url, "loaf") as study:
        assert [objective.text for objective in study.space.objectives] == [PRICE, "maximise flour"]


def test_a_name_that_is_misspelt_is_told_at_its_field(browser: Browser) -> None:
    browser.get("/studies/new")
    page = browser.post("/studies/new", {**FORM, "objectives": "minimise price = 2*flower"})
    assert page.status_code == 400
    assert "Did you mean &#39;flour&#39;?" in page.text
    assert "minimise price = 2*flower" in page.text  # nothing that was typed is lost


def test_a_table_may_say_which_columns_are_known(browser: Browser) -> None:
    browser.get("/studies/catalogue")
    table = b"sku,price,size\nA,3,1\nB,5,2\nC,4,9\n"
    files = [("table", ("menu.csv", table, "text/csv"))]
    form = {"name": "menu", "key": "sku", "acquisition": "sobol", "query_size": "3"}
    refused = browser.post("/studies/catalogue", {**form, "objectives": "minimise prize"}, files=files)
    assert refused.status_code == 400
    assert "Did you mean &#39;price&#39;?" in refused.text
    browser.post("/studies/catalogue", {**form, "objectives": "minimise price"}, files=files)
    with Study.open(browser.url, "menu") as study:
        assert study.space.known is not None
        assert study.space.known.names == ("price",)


def test_the_question_shows_what_a_formula_gives(serve: Callable[..., Browser]) -> None:
    browser = serve()
    space = cb.Space([cb.Integer("flour", 1, 50)], objectives=[PRICE])
    Study.create(browser.url, **bread(space=space)).close()
    page = browser.get("/study/bread")
    assert "price" in page.text
