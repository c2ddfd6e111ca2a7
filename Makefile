# `make run` and `make test` are all that a fresh checkout needs: Python 3.11 or later with venv and pip, and make.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin

# Small matrices: BLAS threads of their own only stand in each other's way.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run test test-slow check bench docs clean venv

run: $(VENV)/.installed-core
	$(BIN)/choicebo demo learn

test: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

test-slow: $(VENV)/.installed-dev
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m slow

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-core
	$(BIN)/choicebo bench

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict --site-dir site

venv: $(VENV)/.installed-dev

clean:
	rm -rf site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Sources are installed in place, so that only a change of the dependencies asks for another installation.
$(VENV)/.installed-core: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed-core

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed-core
