"""Every page, in light and dark, is checked by axe; the set-up page is used as a person would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import choicebo as cb
from choicebo.study import Study

from .e2e_helpers import Server

AXE = Path(__file__).parent / "vendor" / "axe-4.14.0.min.js"


@pytest.fixture(scope="module")
def learned(server: Server) -> str:
    """A study with a real model behind its result, and a context."""
    space = cb.Space([cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1), cb.Context("season", ["summer", "winter"])])
    study = Study.create(
        server.url, "sweets", space, acquisition="sobol", query_size=3, latent_dim=2, engine="vi", initial_queries=2
    )
    for number in range(7):
        question = study.ask(context={"season": ("summer", "winter")[number % 2]})
        values = [(option["sweet"], -option["sweet"] + option["salt"]) for option in question.options]
        beaten = [any(a > v[0] and b > v[1] for a, b in values) for v in values]
        study.tell(question, [at for at, lost in enumerate(beaten) if not lost])
    study.retract(study.history()[0])
    for rater in ("ann", "ben"):
        study.add_rater(rater)
    study.remove_rater("ben")
    study.skip(study.ask())
    return study.name


@pytest.fixture(scope="module")
def weighed(server: Server) -> str:
    """A study with an objective that is measured."""
    space = cb.Space(
        [cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1)], objectives=["minimise cost", "maximise shelf life"]
    )
    study = Study.create(server.url, "weighed", space, latent_dim=1, engine="laplace", query_size=3)
    for _ in range(3):
        question = study.ask()
        study.tell(question, [0])
        study.measure(question.options[0], cost=10 * question.options[0]["sweet"])
    return study.name


@pytest.fixture(scope="module")
def panel(server: Server) -> str:
    """A study of two people whose tastes are related."""
    space = cb.Space([cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1)])
    study = Study.create(server.url, "panel", space, raters="related", latent_dim=1, engine="laplace")
    soups = space.decode(space.sample(8, seed=1))
    for name, salt in (("ann", 0.1), ("ben", 0.9)):
        study.add_rater(name)
        for at in range(6):
            shown = [soups[at], soups[(at + 3) % 8], soups[(at + 5) % 8]]
            study.add(shown, [min(range(3), key=lambda i: abs(shown[i]["salt"] - salt))], rater=name)
    return study.name


def serious(page: Any) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)))")
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_has_a_serious_finding(
    server: Server, learned: str, weighed: str, open_page: Callable[..., Any], scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 844})
    ready = {
        f"/study/{learned}/result": "#result .best",
        f"/study/{learned}": "#choose",
        f"/study/{learned}/history": ".past",
        f"/study/{learned}/raters": "table",
        f"/study/{learned}/raters?remove=ann": ".danger",
        f"/study/{learned}/settings": ".danger",
        f"/study/{weighed}/measurements": "table",
        f"/study/{weighed}/result": ".measure-link",
        "/studies": ".studies",
        "/studies/new": "#study-form",
        "/studies/catalogue": ".setup",
        "/enter": "form",
        "/api/v1/docs": ".panel",
        "/nowhere": "h1",
    }
    found = {}
    for path, there in ready.items():
        page.goto(server.address + path)
        page.wait_for_selector(there, timeout=300_000)
        if there == "#result .best":
            # Counts come first; without the model there is no bar beside the question of a study that asks without it.
            page.get_by_text("From the model of").wait_for(timeout=300_000)
        if there == ".studies":
            page.locator(".more-examples summary").click()
        if there == "#choose":
            for opened in ("z", "how"):
                page.keyboard.press("z") if opened == "z" else page.locator("a.how").click()
                found[f"{path} {opened}"] = serious(page)
                page.keyboard.press("Escape")
            page.locator("[role=meter]").wait_for()
            page.keyboard.press("1")
            page.keyboard.press("?")
        found[path] = serious(page)
    assert {path: problems for path, problems in found.items() if problems} == {}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_how_far_people_agree_is_shown_when_it_is_known(
    server: Server, panel: str, open_page: Callable[..., Any], scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 844})
    page.goto(f"{server.address}/study/{panel}/result")
    page.wait_for_selector(".alike", state="attached", timeout=300_000)  # without loading the page anew
    if not page.locator(".alike").is_visible():
        page.locator("#section-agreement > summary").click()
    assert page.locator(".alike tbody th").all_inner_texts() == ["ann", "ben"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []
    page.get_by_role("link", name="ben").click()
    page.wait_for_selector("text=This is what nothing beats for ben", timeout=300_000)


def test_the_charts_are_walked_through_by_keyboard(server: Server, learned: str, open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(f"{server.address}/study/{learned}/result")
    page.wait_for_selector("#result .best", timeout=300_000)
    page.locator(".parallel .item").first.focus()
    said = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert said.startswith("Best option")
    assert "sweet" in said


def test_a_part_of_an_axis_is_chosen_by_keyboard_and_by_pointer(
    server: Server, learned: str, open_page: Callable[..., Any]
) -> None:
    page = open_page()
    page.goto(f"{server.address}/study/{learned}/result")
    page.wait_for_selector("#result:not([data-thinking]) .parallel", timeout=300_000)
    axis, told = page.get_by_role("slider", name="Part of sweet"), page.locator("#brushed")
    lines = page.locator(".parallel [data-at]").count()
    axis.focus()
    page.keyboard.press("End")
    assert axis.get_attribute("aria-valuetext") == "0.750 to 1.000"
    inside = lines - page.locator(".parallel .out").count()
    assert 0 < inside < lines
    assert told.inner_text() == f"{inside} of {lines} options."
    page.keyboard.press("Escape")
    assert told.inner_text() == ""
    line = axis.locator(".axis-hit")
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4, steps=3)
    page.mouse.up()
    assert page.locator(".parallel .out").count() > 0


def test_two_options_are_compared_and_another_one_is_tried_without_loading_the_page(
    server: Server, learned: str, open_page: Callable[..., Any]
) -> None:
    page = open_page()
    page.goto(f"{server.address}/study/{learned}/result")
    page.wait_for_selector("#result:not([data-thinking]) #tried .big-share", timeout=300_000)
    page.evaluate("window.same = true")
    boxes = page.locator("#compare-form input[name=option]")
    for at in range(2):
        boxes.nth(at).check()
    page.wait_for_selector("#compared .side")
    assert page.locator("#compared .side").count() == 2
    before = page.locator("#tried").inner_text()
    slider = page.locator("#try-form input[type=range]").first
    slider.focus()
    page.keyboard.press("End" if float(slider.input_value()) < 0.5 else "Home")
    page.wait_for_function("before => document.querySelector('#tried').innerText !== before", arg=before)
    assert page.evaluate("window.same") is True


@pytest.mark.parametrize("width", [1280, 390])
def test_on_a_phone_the_result_is_short_and_says_nothing_of_keys(
    server: Server, learned: str, open_page: Callable[..., Any], width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 844})
    page.goto(f"{server.address}/study/{learned}/result")
    page.wait_for_selector("#result:not([data-thinking])", timeout=300_000)
    is_open = [section.get_attribute("open") is not None for section in page.locator("details.section").all()]
    assert is_open == [width == 1280] * 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#section-parallel > summary").click()
    if width == 390:
        assert not page.get_by_text("Tab key").is_visible()


def test_a_study_is_set_up_in_the_browser_with_live_validation(server: Server, open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(f"{server.address}/studies/new")
    page.get_by_label("Name of the study").fill("soup")
    rows = page.locator("fieldset.row")
    rows.nth(0).get_by_label("Name").fill("salt")
    rows.nth(0).get_by_label("From").fill("0")
    rows.nth(0).get_by_label("To", exact=True).fill("-5")
    page.locator("#error-p-high-0").get_by_text("is below From").wait_for()
    assert rows.nth(0).get_by_label("To", exact=True).get_attribute("aria-invalid") == "true"
    rows.nth(0).get_by_label("To", exact=True).fill("5")
    page.locator(".sample li").nth(4).wait_for()
    page.get_by_role("button", name="Add a parameter").click()
    rows.nth(2).wait_for()
    assert rows.nth(0).get_by_label("Name").input_value() == "salt"
    rows.nth(2).get_by_label("Name").fill("noodles")
    rows.nth(2).locator("select[name=p-kind]").select_option("categorical")
    rows.nth(2).get_by_label("Values").fill("egg, rice, glass")
    page.get_by_text("noodles egg").or_(page.get_by_text("noodles rice")).first.wait_for()
    page.get_by_label("Rules, one per line").fill("salt >= 9")
    page.locator("#error-constraints").get_by_text("never satisfied").wait_for()
    assert serious(page) == []
    page.get_by_label("Rules, one per line").fill("salt >= 1")
    page.locator(".sample li").nth(4).wait_for()
    page.get_by_role("button", name="Create the study").last.click()
    page.wait_for_selector('#stage[data-question="1"]')
    assert page.locator(".card").count() == 5


def test_a_refused_form_leads_to_its_first_mistake_on_a_phone(server: Server, open_page: Callable[..., Any]) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto(f"{server.address}/studies/new")
    page.get_by_label("Name of the study").fill("tea")
    page.locator("#field-p-name-0").fill("water temperature")
    page.locator("#field-p-low-0").fill("80")
    page.locator("#field-p-high-0").fill("100")
    page.get_by_label("Rules, one per line").fill("water temperature >= 90")
    page.get_by_role("button", name="Create the study").last.click()
    page.locator(".problem").first.wait_for()
    field = page.locator("#field-constraints")
    assert field.evaluate("field => field === document.activeElement")
    assert page.locator("#error-constraints").is_visible()
    assert "Did you mean water_temperature?" in page.locator("#error-constraints").inner_text()
    rule, carets = page.locator("#error-constraints .caret").inner_text().splitlines()[:2]
    assert carets == "^" * rule.index(" >=")
    assert serious(page) == []


def test_the_columns_of_a_table_are_shown_and_can_be_chosen_differently(
    server: Server, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "tea.csv").write_text("id,name,title,price\n1,Assam,x,3\n2,Sencha,y,4\n")
    page = open_page()
    page.goto(f"{server.address}/studies/catalogue")
    page.get_by_label("Table").set_input_files(tmp_path / "tea.csv")
    page.get_by_role("row", name="name the name that people see").wait_for()
    label = page.get_by_label("Column with their names")
    assert label.input_value() == "name"
    assert serious(page) == []
    label.select_option("title")
    page.get_by_role("row", name="title the name that people see").wait_for()
    assert label.evaluate("field => field.value") == "title"
    page.get_by_label("Name of the study").fill("teas")
    page.get_by_role("button", name="Create the study").click()
    page.wait_for_selector('#stage[data-question="1"]')
    assert Study.open(server.url, "teas").space.label == "title"
