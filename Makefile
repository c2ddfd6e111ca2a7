# `make run` and `make test` are all that a fresh checkout needs: Python 3.11 or later with venv and pip, and make.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin

# Versions of all dependencies; `make CONSTRAINTS= ...` takes the newest that are allowed.
CONSTRAINTS ?= constraints.txt
INSTALL = $(BIN)/pip install --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

# Small matrices: BLAS threads of their own only stand in each other's way.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run test test-slow check audit bench figures docs docs-version dist constraints clean venv

# The web app on a ready example study; its file stays, so that the next time it goes on.
run: $(VENV)/.installed-web
	mkdir -p out
	test -e out/palette.db || $(BIN)/choicebo example palette out/palette.db
	$(BIN)/choicebo serve out/palette.db

# The model is compiled once, before two processes would do so at the same time.
test: $(VENV)/.installed-dev
	$(BIN)/python -c 'from choicebo.model.compiling import prepare; prepare()'
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

# With a real notebook, which takes long to install and is needed nowhere else.
test-slow: $(VENV)/.installed-dev
	$(INSTALL) 'jupyterlab>=4.2'
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m slow

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory audit

# Known vulnerabilities of what is installed; where the database is out of reach, it says so.
audit: $(VENV)/.installed-dev
	@found="$$($(BIN)/pip-audit --progress-spinner off --skip-editable 2>&1)"; \
	case "$$found" in \
	*"Found "*"known vulnerabilit"*) echo "$$found"; exit 1 ;; \
	*"could not be audited"*) echo "The audit database does not know all dependencies: audited as far as it does." ;; \
	*"No known vulnerabilities found"*) echo "No known vulnerabilities in the dependencies." ;; \
	*) echo "The audit database could not be reached: the dependencies were not audited." ;; \
	esac

bench: $(VENV)/.installed-cli
	$(BIN)/choicebo bench

# The figures of README and of the page of results, from the raw results.
figures: $(VENV)/.installed-cli
	$(BIN)/python benchmarks/write_figures.py

# The site in `site`; a warning is an error. `mkdocs serve` shows it while you write.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

# One version of the site beside the others, on the branch gh-pages: make docs-version VERSION=0.2 ALIAS=latest
docs-version: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --push --update-aliases $(VERSION) $(ALIAS)

# Wheel and source archive, and whether the wheel works in an environment of its own with the core alone.
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build
	$(PYTHON) -m venv --clear build/clean
	build/clean/bin/pip install --quiet dist/*.whl
	build/clean/bin/python -I .github/smoke_test.py

# uv (https://docs.astral.sh/uv) resolves for the oldest Python that is supported.
constraints:
	{ head -2 constraints.txt; uv pip compile pyproject.toml --quiet --upgrade --extra dev --extra docs \
		--python-version 3.11 --no-annotate --no-header; } > constraints.new
	mv constraints.new constraints.txt

venv: $(VENV)/.installed-dev

clean:
	rm -rf site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Sources are installed in place, so that only a change of the dependencies asks for another installation.
$(VENV)/.installed-cli: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) --editable '.[cli]'
	touch $@

$(VENV)/.installed-web: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) --editable '.[web]'
	touch $@ $(VENV)/.installed-cli

$(VENV)/.installed-dev: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) --editable '.[dev]'
	touch $@ $(VENV)/.installed-cli $(VENV)/.installed-web

$(VENV)/.installed-docs: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	$(INSTALL) --editable '.[docs]'
	touch $@
