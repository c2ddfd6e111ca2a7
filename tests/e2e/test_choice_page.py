"""The choice page as people use it: by mouse, by keyboard, on a phone; and what happens when things go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from choicebo.study import Study
from choicebo.study.definition import Show
from choicebo.web.addresses import study_path

from .e2e_helpers import Server

Open = Callable[..., Any]
NewStudy = Callable[..., Study]


def wait_for_question(page: Any, number: int) -> None:
    page.wait_for_selector(f'#stage[data-question="{number}"]')


def go(page: Any, server: Server, study: Study, where: str = "") -> None:
    page.goto(server.address + study_path(study.name, where))


def test_a_study_by_mouse_from_the_first_question_to_the_history(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, page = new_study(), open_page()
    go(page, server, study)
    for number in (1, 2, 3):
        wait_for_question(page, number)
        cards = page.locator(".card")
        assert cards.count() == 5
        cards.nth(0).click()
        cards.nth(3).click()
        cards.nth(3).click()
        cards.nth(2).click()
        page.get_by_role("button", name="Keep 2 of 5").click()
    wait_for_question(page, 4)
    page.get_by_role("button", name="Skip").click()
    wait_for_question(page, 5)
    page.get_by_role("button", name="Undo").click()
    wait_for_question(page, 4)
    page.get_by_text("Why these?").click()
    assert page.get_by_text("The order is random").is_visible()
    assert [(act.kept, act.kind) for act in study.history() if act.state == "standing"] == [((0, 2), "answer")] * 3
    assert all(act.seconds is not None for act in study.history() if act.kind == "answer")
    page.get_by_role("link", name="History").click()
    page.locator(".past").first.wait_for()
    assert page.locator(".past").count() == 3
    page.get_by_role("button", name="Retract answer to question 3").click()
    page.get_by_role("button", name="Restore answer to question 3").wait_for()
    assert study.n_answers == 2
    page.get_by_role("button", name="Restore answer to question 3").click()
    page.get_by_role("button", name="Retract answer to question 3").wait_for()
    assert study.n_answers == 3


def test_a_study_by_keyboard_alone(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study = new_study(baseline={"temperature": 180, "minutes": 20, "flour": "rye"})
    page = open_page()
    go(page, server, study)
    press = page.keyboard.press
    wait_for_question(page, 1)
    press("Enter")
    assert "Nothing is marked yet" in page.locator("#notice").inner_text()
    for key in ("1", "2", "5", "2", "Enter"):
        press(key)
    wait_for_question(page, 2)
    press("0")
    wait_for_question(page, 3)
    press("s")
    wait_for_question(page, 4)
    press("?")
    assert page.locator("#why[open]").count() == 1
    press("Escape")
    assert page.locator("#why[open]").count() == 0
    press("u")
    wait_for_question(page, 3)
    press("u")
    wait_for_question(page, 2)
    press("3")
    press("Enter")
    wait_for_question(page, 3)
    standing = [act.kept for act in study.history() if act.counts]
    assert standing == [(0, 4), (2,)]
    for _ in range(30):  # every card can be reached and toggled by Tab and Space as well
        press("Tab")
        if page.evaluate("document.activeElement.name") == "kept":
            break
    press("Space")
    assert page.locator("input[name=kept]:checked").count() == 1


def test_a_study_on_a_phone(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study = new_study()
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    go(page, server, study)
    for number in (1, 2):
        wait_for_question(page, number)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".card").nth(4).scroll_into_view_if_needed()
        page.locator(".card").nth(4).tap()
        page.get_by_role("button", name="Keep 1 of 5").tap()
    wait_for_question(page, 3)
    assert [act.kept for act in study.history()] == [(4,), (4,)]


def test_a_study_without_scripts(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(), open_page(java_script_enabled=False)
    for number in (1, 2):
        for _ in range(30):  # the page looks again by itself; here we do
            go(page, server, study)
            if page.locator("#choose").count():
                break
            page.wait_for_timeout(500)
        assert page.locator("#stage").get_attribute("data-question") == str(number)
        page.locator(".card").nth(1).click()
        page.get_by_role("button", name="Keep these").click()
    assert [act.kept for act in study.history()] == [(1,), (1,)]


def test_a_reload_in_mid_answer_keeps_the_question_and_the_marks(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, page = new_study(), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    page.keyboard.press("2")
    page.keyboard.press("4")
    before = page.locator(".card-face").all_inner_texts()
    page.reload()
    wait_for_question(page, 1)
    assert page.locator(".card-face").all_inner_texts() == before
    assert page.locator("input[name=kept]:checked").evaluate_all("boxes => boxes.map(b => b.value)") == ["1", "3"]


def test_two_tabs_give_one_answer(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, first = new_study(), open_page()
    second = first.context.new_page()
    for page in (first, second):
        go(page, server, study)
        wait_for_question(page, 1)
    first.keyboard.press("1")
    first.keyboard.press("Enter")
    wait_for_question(first, 2)
    second.keyboard.press("3")
    second.keyboard.press("Enter")
    wait_for_question(second, 2)
    assert "answered already" in second.locator("#notice").inner_text()
    assert [act.kept for act in study.history()] == [(0,)]


def test_a_lost_connection_neither_loses_nor_doubles_the_answer(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, page = new_study(), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    lost = iter([True, True])

    def unreliable(route: Any) -> None:
        """The first request never arrives; of the second, which does, the response is lost."""
        if next(lost, False):
            if study.n_answers == 0 and unreliable.calls:  # type: ignore[attr-defined]
                route.fetch()
            unreliable.calls += 1  # type: ignore[attr-defined]
            route.abort("connectionreset")
        else:
            route.continue_()

    unreliable.calls = 0  # type: ignore[attr-defined]
    page.route("**/answer", unreliable)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.get_by_text("No connection. Your answer is kept here").wait_for()
    wait_for_question(page, 2)
    assert unreliable.calls == 2  # type: ignore[attr-defined]
    assert page.locator("#connection").is_hidden()
    assert [act.kept for act in study.history()] == [(1,)]


def test_an_answer_given_while_the_server_is_down_is_stored_when_it_is_back(tmp_path: Any, open_page: Open) -> None:
    import choicebo as cb

    url = str(tmp_path / "study.db")
    space = cb.Space([cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat"])])
    study = Study.create(url, "bread", space, acquisition="sobol", query_size=3)
    server = Server(url).start()
    try:
        page = open_page()
        go(page, server, study)
        wait_for_question(page, 1)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        wait_for_question(page, 2)
        server.kill()
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.get_by_text("No connection. Your answer is kept here").wait_for()
        server.start()
        wait_for_question(page, 3)
        assert [act.kept for act in study.history()] == [(0,), (1,)]
        assert server.stop() == 0
    finally:
        server.kill()


def test_a_rater_answers_by_their_link_and_the_owner_sees_it(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, owner, rater = new_study(), open_page(), open_page()
    go(owner, server, study, "raters")
    owner.get_by_label("Name").fill("Ann")
    owner.get_by_role("button", name="Make a link").click()
    rater.goto(owner.locator("#link").inner_text())
    wait_for_question(rater, 1)
    assert rater.get_by_text("You are Ann").is_visible()
    rater.keyboard.press("1")
    rater.keyboard.press("Enter")
    wait_for_question(rater, 2)
    go(owner, server, study, "raters")
    assert owner.locator("tr", has_text="Ann").locator("td").first.inner_text() == "1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_that_need_escaping_have_working_pages(
    server: Server, new_study: NewStudy, open_page: Open, scheme: str
) -> None:
    study = new_study(name=f"50% rye/wheat ?# {scheme}")
    page = open_page(color_scheme=scheme)
    go(page, server, study)
    wait_for_question(page, 1)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_for_question(page, 2)
    for link in ("History", "Raters", "Choose"):
        page.get_by_role("link", name=link, exact=True).click()
        page.locator("h1").first.wait_for()
        assert page.locator("h1").count() == 1


def test_the_first_visit_shows_how_to_choose_once_and_it_is_left_by_keyboard(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, page = new_study(), open_page(coached=False, viewport={"width": 390, "height": 844})
    go(page, server, study)
    page.wait_for_selector("#coach:modal")
    assert page.evaluate("document.activeElement.textContent") == "Start"
    assert page.locator(".cup.kept").count() == 2
    last = page.locator("#coach button.primary").bounding_box()
    assert last["y"] + last["height"] < 844  # the whole of it is on a phone's screen
    page.keyboard.press("2")  # no answer is given behind it
    with page.expect_response("**/coached"):
        page.keyboard.press("Escape")
    assert page.locator("input[name=kept]:checked").count() == 0
    page.reload()
    wait_for_question(page, 1)
    assert page.locator("#coach:modal").count() == 0
    page.get_by_role("link", name="How to choose").click()
    page.get_by_role("button", name="Start").click()
    page.keyboard.press("2")
    assert page.locator("input[name=kept]:checked").count() == 1


def test_how_to_choose_without_scripts(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(), open_page(coached=False, java_script_enabled=False)
    go(page, server, study)
    page.get_by_role("button", name="Start").click()
    assert page.locator("#coach").is_hidden()
    page.get_by_role("link", name="How to choose").click()
    assert page.locator("#coach").is_visible()
    assert page.locator("button.enlarge:visible").count() == 0  # what needs a script is not offered


def test_a_card_is_enlarged_compared_and_kept_by_keyboard(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    press = page.keyboard.press
    press("z")
    page.get_by_role("heading", name="Option 1 of 5").wait_for()
    press("ArrowLeft")
    page.get_by_role("heading", name="Option 5 of 5").wait_for()
    press("ArrowRight")
    press("ArrowRight")
    page.get_by_role("heading", name="Option 2 of 5").wait_for()
    press("Space")
    page.get_by_role("button", name="Kept", pressed=True).wait_for()
    press("4")
    page.get_by_role("button", name="Keep", exact=True, pressed=False).wait_for()
    press("Escape")
    page.locator("[name=kept][value='3']:focus").wait_for(state="attached")
    assert page.locator("input[name=kept]:checked").evaluate_all("boxes => boxes.map(b => b.value)") == ["1"]
    page.locator("[data-enlarge='2']").click()
    page.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_role("button", name="Close").click()
    page.locator("[name=kept][value='2']:focus").wait_for(state="attached")
    press("Enter")
    wait_for_question(page, 2)
    assert [act.kept for act in study.history()] == [(1, 2)]


@pytest.mark.parametrize(
    ("width", "height", "rows", "least"), [(1280, 900, 2, 300), (1280, 700, 1, 230), (1920, 1080, 1, 350)]
)
def test_five_pictures_use_the_screen_and_are_seen_at_once(
    server: Server, new_study: NewStudy, open_page: Open, width: int, height: int, rows: int, least: int
) -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 220"><rect width="{minutes}" height="9"/></svg>'
    study, page = new_study(name=f"drawn {width} {height}", show=Show("svg", template=drawing)), open_page()
    page.set_viewport_size({"width": width, "height": height})
    go(page, server, study)
    wait_for_question(page, 1)
    boxes = [card.bounding_box() for card in page.locator(".card").all()]
    assert len({round(box["y"]) for box in boxes}) == rows
    assert min(box["width"] for box in boxes) > least
    bar = page.locator(".actions").bounding_box()
    assert max(box["y"] + box["height"] for box in boxes) < bar["y"] + 14  # nothing is behind the buttons


def test_the_history_names_what_was_not_kept_and_leaves_its_colours_alone(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"><rect width="{minutes}" height="9"/></svg>'
    study, page = new_study(show=Show("svg", template=drawing)), open_page()
    study.tell(study.ask(), [1])
    go(page, server, study, "history")
    for _ in range(2):  # a retracted answer is marked, and not bleached either
        assert [words.strip() for words in page.locator(".past .mark").all_inner_texts()].count("not kept") == 4
        looks = page.locator(".past .picture").evaluate_all(
            "all => all.map((each) => getComputedStyle(each)).map((style) => [style.opacity, style.filter])"
        )
        assert looks == [["1", "none"]] * 5
        if study.n_answers:
            page.get_by_role("button", name="Retract").click()
            page.get_by_role("button", name="Restore").wait_for()
