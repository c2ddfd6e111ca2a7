"""The core runs without any extra, and whoever needs one is told which: packages are hidden from a fresh process."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import choicebo as cb
from choicebo.extras import needs

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
STUDY = {"sqlalchemy", "alembic", "pydantic", "pydantic_core", "tomli_w", "typing_extensions"}
CLI = {"typer", "click", "rich"}
WEB = {"fastapi", "starlette", "uvicorn", "jinja2", "segno", "multipart", "python_multipart", "openpyxl"}
BRIDGES = {
    "arviz",
    "torch",
    "botorch",
    "gpytorch",
    "sklearn",
    "anywidget",
    "traitlets",
    "pandas",
    "polars",
    "psycopg",
    "distributed",
}
OPTIONAL = STUDY | CLI | WEB | BRIDGES | {"matplotlib"}

HIDE = """
import sys

class Hiding:
    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else self._finder.find_spec(name, path, target)

HIDDEN = set(sys.argv.pop(1).split(","))
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""
LOOP = """
import choicebo as cb
space = cb.Space([cb.Real("heat", 150, 220), cb.Categorical("flour", ["rye", "oat"])], constraints=["heat <= 210"])
loop = cb.ChoiceOptimizer(space, latent_dim=2, engine="laplace", initial_queries=1, seed=0)
"""


def run(program: str, *arguments: str, hidden: set[str] = OPTIONAL) -> subprocess.CompletedProcess[str]:
    """Run a program in a process in which some packages cannot be imported."""
    command = [sys.executable, "-c", HIDE + program, ",".join(sorted(hidden)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def complaints(statements: dict[str, str]) -> dict[str, str]:
    """The messages of the MissingExtraErrors that statements raise, tried one after the other in one process."""
    program = f"""{LOOP}
import json
said = {{}}
for name, statement in {statements!r}.items():
    try:
        exec(statement)
    except cb.MissingExtraError as error:
        said[name] = str(error)
print(json.dumps(said))"""
    found = run(program)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_the_core_asks_learns_and_answers():
    found = run(
        LOOP
        + """
for _ in range(2):
    question = loop.ask()
    loop.tell(question, kept=[0, 1])
assert "sobol" not in loop.ask().found_by
assert loop.pareto_set()
posterior = loop.posterior()
posterior.predict_choice(posterior.options[:3])
posterior.loo(refit_limit=0)
assert loop.best_unseen() is not None
from choicebo import insight
insight.drivers(posterior, space)
loop.undo()
print("answers:", loop.n_answers)
print(question._repr_html_()[:6])
"""
    )
    assert found.stdout.split("\n")[:2] == ["answers: 1", "<style"], found.stderr


def test_what_needs_an_extra_says_which():
    statements = {
        "study": "cb.Study",
        "record": "loop.to_dict()",
        "plots": "from choicebo import plots; plots.new_figure()",
        "arviz": "loop.tell(loop.ask(), [0]); loop.posterior().to_arviz()",
        "botorch": "import choicebo.interop.botorch",
        "sklearn": "import choicebo.interop.sklearn",
        "notebook": "loop.widget()",
        "frame": "loop.data.to_frame()",
    }
    found = complaints(statements)
    assert "pip install pandas, or pip install polars" in found.pop("frame")
    assert "pip install 'choicebo[study]'" in found.pop("record")
    for extra in set(statements) - {"frame", "record"}:
        assert re.search(rf"needs the package \w+: pip install 'choicebo\[{extra}\]'", found[extra])


def test_the_command_says_which_extra_it_needs():
    program = "from choicebo.__main__ import main; main()"
    found = run(program, "demo")
    assert found.returncode == 1
    assert found.stderr.startswith("Error: The command choicebo needs the package ")
    assert "pip install 'choicebo[cli]'" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_is_there_with_the_library_alone(arguments):
    found = run("from choicebo.__main__ import main; main()", *arguments)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("Usage: choicebo COMMAND")
    assert "pip install 'choicebo[cli]'" in found.stdout


def test_the_version_is_there_with_the_library_alone():
    found = run("from choicebo.__main__ import main; main()", "--version")
    assert (found.returncode, found.stdout) == (0, f"choicebo {cb.__version__}\n")


def test_the_command_without_the_web_app_says_so(tmp_path):
    serve = "from choicebo.__main__ import main; main()"
    assert run(serve, "--help", hidden=WEB | BRIDGES).returncode == 0
    found = run(serve, "serve", str(tmp_path / "bread.db"), hidden=WEB | BRIDGES)
    assert found.returncode == 1
    assert "pip install 'choicebo[web]'" in " ".join(found.stderr.split())


def test_a_mistake_of_ours_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError, match=r"choicebo\.nothing") as found, needs("web", "The web app"):
        importlib.import_module("choicebo.nothing")
    assert type(found.value) is ModuleNotFoundError


def test_every_extra_that_a_message_names_exists():
    source = Path(__file__).parents[1] / "src"
    named = {
        extra
        for file in source.rglob("*.py")
        for group in re.findall(r"choicebo\[([\w,]+)\]|needs\(\"(\w+)\"", file.read_text("utf-8"))
        for extra in "".join(group).split(",")
    }
    assert named <= set(PROJECT["optional-dependencies"])
    assert {"study", "cli", "web", "plots"} <= named


def test_all_has_every_extra_but_those_for_development():
    extras = set(PROJECT["optional-dependencies"])
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(everything.removeprefix("choicebo[").removesuffix("]").split(",")) == extras - {"all", "dev", "docs"}
