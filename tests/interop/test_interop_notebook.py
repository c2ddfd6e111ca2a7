"""The widget in a real notebook: JupyterLab under Chromium, answered by mouse and keyboard."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import choicebo as cb

pytest.importorskip("anywidget")

from choicebo.errors import ChoiceboError
from choicebo.interop.notebook import ChoiceWidget

CHROMIUM = Path("/usr/bin/chromium")
AXE = next((Path(__file__).parents[1] / "e2e/vendor").glob("axe-*.min.js"))
SPACE = cb.Space([cb.Real("temperature", 150, 220, unit="°C"), cb.Categorical("flour", ["rye", "<b>oat</b>"])])


def act(widget: ChoiceWidget, act: str, **more: object) -> None:
    """What the browser sends."""
    question = widget.question.id if widget.question else None
    widget._received(widget, {"act": act, "question": question, **more}, [])


def test_answers_skips_and_undo_reach_the_optimizer():
    loop = cb.ChoiceOptimizer(SPACE, seed=0)
    widget = loop.widget()
    assert widget.question.id == 1
    act(widget, "keep", kept=[0, 2])
    assert (loop.n_answers, widget.question.id) == (1, 2)
    act(widget, "skip")
    assert (loop.n_answers, widget.question.id) == (1, 3)
    act(widget, "undo")
    act(widget, "undo")
    assert (loop.n_answers, widget.question.id) == (0, 1)
    assert 'data-order="0,2"' in widget.html  # as it was answered
    assert "Taken back" in widget.html


def test_answers_reach_a_study_with_its_pictures(tmp_path):
    show = {"kind": "svg", "template": "<svg xmlns='http://www.w3.org/2000/svg'><text>{flour}</text></svg>"}
    with cb.Study.create(tmp_path / "s.db", "bread", SPACE, question="Which <loaf>?", show=show) as study:
        widget = study.widget()
        assert "data:image/svg+xml;base64" in widget.html
        assert "Which &lt;loaf&gt;?" in widget.html
        act(widget, "keep", kept=[1], seconds=2.5)
        assert study.history()[0].kept == (1,)
        assert study.history()[0].seconds == 2.5
        act(widget, "undo")
        assert 'data-order="1"' in widget.html


@pytest.mark.parametrize(
    ("way", "marked", "expected"),
    [
        ("best", [1], {"best": 1}),
        ("best-worst", [2, 0], {"best": 2, "worst": 0}),
        ("ranking", [2, 0], {"ranking": [2, 0]}),
        ("pair", [1], {"best": 1}),
    ],
)
def test_marks_are_read_in_the_way_of_the_study(tmp_path, way, marked, expected):
    size = {} if way == "pair" else {"query_size": 3}
    with cb.Study.create(tmp_path / "s.db", "bread", SPACE, answer=way, **size) as study:
        widget = study.widget()
        assert study.question in widget.html
        act(widget, "keep", kept=[])
        assert "or skip" in widget.html
        act(widget, "keep", kept=marked)
        assert study.history()[0].marks.to_dict() == expected
        act(widget, "undo")
        assert f'data-order="{",".join(map(str, marked))}"' in widget.html
    loop = cb.ChoiceOptimizer(SPACE, answer=way, **size)
    act(loop.widget(), "keep", kept=marked)
    assert loop.events[1].marks.to_dict() == expected


def test_who_cannot_decide_keeps_both():
    loop = cb.ChoiceOptimizer(SPACE, answer="pair")
    widget = loop.widget()
    assert "I cannot decide" in widget.html
    act(widget, "both")
    assert loop.events[1].kept == (0, 1)


def test_values_are_escaped():
    html = cb.ChoiceOptimizer(SPACE).widget(question="<script>").html
    assert "<b>oat" not in html
    assert "&lt;b&gt;oat" in html
    assert "<script" not in html


def test_what_is_sent_twice_counts_once():
    loop = cb.ChoiceOptimizer(SPACE)
    widget = loop.widget()
    widget._received(widget, {"act": "keep", "question": 1, "kept": [0]}, [])
    widget._received(widget, {"act": "keep", "question": 1, "kept": [0]}, [])
    assert loop.n_answers == 1


def test_an_answer_given_in_another_cell_stands():
    loop = cb.ChoiceOptimizer(SPACE)
    widget = loop.widget()
    loop.tell(widget.question, [1])
    act(widget, "keep", kept=[0])
    assert loop.n_answers == 1
    assert "answered already" in widget.html
    assert widget.question.id == 2


@pytest.mark.parametrize("kept", [None, "01", [True], [0.5], ["0"], {}])
def test_what_is_no_list_of_positions_is_refused_and_can_be_tried_again(kept):
    loop = cb.ChoiceOptimizer(SPACE)
    widget = loop.widget()
    before = widget.turn
    act(widget, "keep", kept=kept)
    assert loop.n_answers == 0
    assert widget.turn > before  # the cell has its reply
    act(widget, "again")
    assert widget.question.id == 1


@pytest.mark.parametrize("content", [None, "keep", {}, {"act": "delete"}])
def test_what_it_does_not_know_it_ignores(content):
    widget = cb.ChoiceOptimizer(SPACE).widget()
    before = widget.html
    widget._received(widget, content, [])
    assert widget.html == before


def test_a_failure_is_shown_and_can_be_tried_again(monkeypatch):
    loop = cb.ChoiceOptimizer(SPACE)
    widget = loop.widget()

    def fail(**_: object) -> None:
        raise ChoiceboError("The <disk> is full.")

    with monkeypatch.context() as patch:
        patch.setattr(loop, "ask", fail)
        act(widget, "keep", kept=[0])
        assert "The &lt;disk&gt; is full." in widget.html
        assert "Try again" in widget.html
    act(widget, "again")
    assert widget.question.id == 2
    assert loop.n_answers == 1


def test_none_of_these_needs_something_to_compare_with():
    loop = cb.ChoiceOptimizer(SPACE)
    act(loop.widget(), "none")
    assert loop.n_answers == 0
    today = {"temperature": 200.0, "flour": "rye"}
    with_today = cb.ChoiceOptimizer(SPACE, baseline=today)
    widget = with_today.widget()
    assert "What you have today" in widget.html
    act(widget, "none")
    assert with_today.n_answers == 1


# ---- in a notebook

CELL = """\
import choicebo as cb
space = cb.Space([cb.Real("temperature", 150, 220, unit="°C"), cb.Integer("minutes", 5, 40, unit="min"),
                  cb.Categorical("flour", ["rye", "wheat"])])
optimizer = cb.ChoiceOptimizer(space, acquisition="sobol", seed=0)
optimizer.widget()"""
PRINT = 'print("answers:", [(e.kind, e.kept) for e in optimizer.events if e.is_act])'


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab with one notebook of two cells: its address."""
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("lab")
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate((CELL, PRINT))
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "bread.ipynb").write_text(json.dumps(notebook), "utf-8")
    port = free_port()
    homes = {
        name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "HOME")
    }
    arguments = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=",
    ]
    arguments.append("--expose-app-in-browser")  # so that the theme can be changed
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            *arguments,
            "--LabApp.collaborative=False",
            f"--ServerApp.root_dir={folder}",
        ],
        env={**os.environ, **homes, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "JupyterLab ended"
                time.sleep(0.25)
        yield address
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_a_question_is_answered_in_a_cell_by_mouse_and_keyboard(lab):
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(90_000)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{lab}/lab/tree/bread.ipynb?reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.get_by_text("| Idle").wait_for()  # until then cells are not run
        page.locator(".jp-CodeCell").first.click()
        page.keyboard.press("Control+Enter")
        widget = page.locator(".choicebo")
        widget.locator(".card").first.wait_for()
        shoot(page, "light")

        widget.locator(".card").nth(1).click()  # by mouse
        assert widget.locator("[data-count]").inner_text() == "Keep 1 of 5"
        widget.locator("button[value=keep]").click()
        widget.locator('form[data-question="2"]').wait_for()

        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("() => axe.run('.choicebo', { rules: { region: { enabled: false } } })")
        assert [each["id"] for each in found["violations"]] == []

        cells = page.locator(".jp-Cell").count()
        widget.locator("input").first.focus()  # and by keyboard, whose keys JupyterLab knows too
        page.keyboard.press("2")
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        widget.locator('form[data-question="3"]').wait_for()
        assert widget.locator("input").first.evaluate("box => box === document.activeElement")
        page.keyboard.press("s")
        widget.locator('form[data-question="4"]').wait_for()
        page.keyboard.press("u")
        widget.locator('form[data-question="3"]').wait_for()
        page.keyboard.press("Enter")
        assert "Nothing is marked yet" in widget.locator(".notice").inner_text()
        page.keyboard.press("?")
        assert widget.locator("details[open]").count() == 1
        assert page.locator(".jp-Cell").count() == cells
        assert page.locator(".jp-MarkdownCell").count() == 0

        page.locator(".jp-CodeCell").nth(1).locator(".jp-InputArea").click()
        page.keyboard.press("Control+Enter")
        printed = page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea-output")
        printed.wait_for()
        assert printed.inner_text().strip() == "answers: [('answer', (1,)), ('answer', (1, 3)), ('skip', None)]"
        page.emulate_media(color_scheme="dark")  # JupyterLab's theme counts: it is light
        assert widget.evaluate("each => getComputedStyle(each).colorScheme") == "light"
        assert complaints == []
        command(page, "apputils:change-theme", theme="JupyterLab Dark")
        page.wait_for_selector('body[data-jp-theme-light="false"]', state="attached")
        assert widget.evaluate("each => getComputedStyle(each).colorScheme") == "dark"
        shoot(page, "dark")
        command(page, "application:toggle-left-area")
        page.set_viewport_size({"width": 560, "height": 1000})
        shoot(page, "narrow")
        too_wide = "each => each.scrollWidth > each.clientWidth + 1"
        assert not widget.evaluate(too_wide)
        browser.close()


def command(page, name: str, **arguments: str) -> None:
    page.evaluate("([name, arguments]) => { window.jupyterapp.commands.execute(name, arguments) }", [name, arguments])


def shoot(page, name: str) -> None:
    """A picture, where somebody asks for it."""
    if folder := os.environ.get("CHOICEBO_SHOTS"):
        page.screenshot(path=f"{folder}/widget-{name}.png")
