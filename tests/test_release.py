"""What a release needs: one version, workflows that fit the package, versions to develop with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import choicebo

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}


def test_the_version_is_written_in_the_package_and_the_citation_follows_it():
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/choicebo/__init__.py"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == choicebo.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    released = [heading for heading in headings if heading != "## [Unreleased]"]
    assert headings[:2].count("## [Unreleased]") == len(headings) - len(released) <= 1
    assert choicebo.__version__ in released[0]


def test_every_python_that_the_package_claims_is_tested():
    prefix = "Programming Language :: Python :: 3."
    claimed = {
        f"3.{each.removeprefix(prefix)}" for each in PROJECT["project"]["classifiers"] if each.startswith(prefix)
    }
    assert set(WORKFLOWS["test"]["jobs"]["test"]["strategy"]["matrix"]["python"]) == claimed
    assert set(WORKFLOWS["build"]["jobs"]["smoke"]["strategy"]["matrix"]["python"]) == claimed


def test_workflows_may_write_only_where_they_publish():
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
    publishing = {job for each in WORKFLOWS.values() for job, how in each["jobs"].items() if "permissions" in how}
    assert publishing == {"publish", "pypi", "github"}


def test_files_that_workflows_and_templates_name_exist():
    for file in (ROOT / ".github").rglob("*.y*ml"):
        text = file.read_text("utf-8")
        for named in re.findall(r"(?:tests/[\w/]+\.py|\.github/[\w/]+\.(?:py|yml)|constraints\.txt)", text):
            assert (ROOT / named).exists(), (file.name, named)
        for target in re.findall(r"run: make ([\w-]+)", text):
            assert f"\n{target}:" in (ROOT / "Makefile").read_text("utf-8")


def test_issue_templates_have_what_github_asks_for():
    for file in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        if file.stem != "config":
            form = yaml.safe_load(file.read_text("utf-8"))
            assert {"name", "description", "body"} <= set(form)
            assert all(each["attributes"]["label"] for each in form["body"])


def test_all_direct_dependencies_have_a_version_to_develop_with():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if not line.startswith("#")}
    lists = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    names = {re.split(r"[^\w.-]", each)[0].lower() for given in lists for each in given} - {"choicebo"}
    assert names - pinned == set()
