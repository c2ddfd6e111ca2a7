import re

import pytest
from rich.table import Table

from choicebo import plots
from choicebo.experiments.document import Document, Picture, Section


@pytest.fixture
def picture() -> Picture:
    figure, (axes,) = plots.new_figure(size=(2.0, 1.5))
    axes.plot([0, 1], [1, 0])
    return Picture("line", figure, "A line & its <end>.")


@pytest.fixture
def table() -> Table:
    found = Table(title=r"Size \[m]")
    found.add_column("name")
    found.add_column("|A|", justify="right")
    found.add_row("one\ntwo", "[bold]3[/bold] ± 1")
    found.caption = "Measured."
    return found


@pytest.fixture
def document(picture, table) -> Document:
    return Document("A <report>", [Section("First", ["Some text, x < y.", table, picture])])


def test_markdown_has_headings_tables_and_pictures_that_are_written_beside_it(document, tmp_path):
    markdown, _ = document.write(tmp_path / "out", "mine")
    text = markdown.read_text()
    assert text.startswith("# A <report>\n\n## First\n\nSome text, x < y.\n")
    assert "**Size [m]**\n\n| name | \\|A\\| |\n|---|---:|\n| one<br>two | 3 ± 1 |\n\n*Measured.*" in text
    assert "![A line & its <end>.](line.png)" in text
    assert (tmp_path / "out" / "line.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_needs_no_other_file(document, tmp_path):
    _, page = document.write(tmp_path)
    text = page.read_text()
    assert re.findall(r'(?:src|href)="([^"]{,22})', text) == ["data:image/png;base64,"]
    assert "http" not in text
    assert "<script" not in text


def test_the_page_shows_text_as_text(document):
    page = document.html()
    assert "<title>A &lt;report&gt;</title>" in page
    assert "<p>Some text, x &lt; y.</p>" in page
    assert '<th scope="col" class="right">|A|</th>' in page
    assert '<td class="right">3 ± 1</td>' in page
    assert 'alt="A line &amp; its &lt;end&gt;."' in page
