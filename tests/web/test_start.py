"""The first minutes: an empty database, the examples, how to choose."""

from __future__ import annotations

import re
from collections.abc import Callable

from choicebo.study import Study
from choicebo.study.examples import EXAMPLES

from .web_helpers import Browser


def test_an_empty_database_offers_the_examples_and_one_click_opens_one(serve: Callable[..., Browser]) -> None:
    browser = serve()
    page = browser.get("/")
    assert 'href="/studies/new"' in page.text
    offered = re.findall(r'action="(/studies/example/[^"]+)"', page.text)
    assert offered == [f"/studies/example/{name}" for name in EXAMPLES]
    assert page.text.count('<img src="data:image/svg+xml;base64,') == 3  # palettes are drawn, the others told
    for address in offered:
        assert browser.post(address, follow_redirects=False).headers["location"] == f"/study/{address.rsplit('/')[-1]}"
    assert [info.name for info in Study.list(browser.url)] == list(EXAMPLES)
    assert "/studies/example/" not in browser.get("/studies").text  # those that are there are not offered again


def test_an_example_sent_twice_is_created_once_and_an_unknown_one_is_not_found(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies")
    for _ in range(2):
        assert browser.post("/studies/example/bread", follow_redirects=False).status_code == 303
    assert browser.post("/studies/example/soup").status_code == 404
    assert len(Study.list(browser.url)) == 1
    assert Study.open(browser.url).folder is None
