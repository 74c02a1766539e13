# Everything runs from a virtual environment in .venv, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo papers test test-quick test-lowest test-papers lint types bench docs clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "eigenstream needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@echo "Creating a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'  # the first with dependency groups

$(VENV)/.installed: $(BIN)/python pyproject.toml
	@echo "Installing eigenstream and what it needs ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing the tools for tests ..."
	@$(PIP) --editable . --group dev
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(PIP) --editable . --group bench
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	@$(PIP) --editable . --group docs
	@touch $@

demo: $(VENV)/.installed ## learn a rotation-invariant view of print and write report.html
	@$(BIN)/eigenstream demo

papers: $(VENV)/.installed ## reproduce the tables and figures of the papers in reports/
	@$(BIN)/python -m papers all

lint: $(VENV)/.installed-dev ## ruff: style and imports; docstrings; names of values
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/docstrings.py
	$(BIN)/python tests/identifiers.py
	$(BIN)/codespell src tests docs joss papers benchmarks examples *.md

types: $(VENV)/.installed-dev ## mypy --strict on src and papers
	$(BIN)/mypy

# One BLAS thread a worker: more threads than cores wait for each other. Stealing keeps the tests
# of a module together, so that its fixtures are made once.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

test: $(VENV)/.installed-dev ## lint, types, tests and doctests
	@$(MAKE) --no-print-directory -j2 lint types
	$(PYTEST)

test-quick: $(VENV)/.installed-dev ## the tests that are not slow, with fewer random examples
	$(PYTEST) -m "not slow" --hypothesis-profile=quick tests

$(LOWEST)/.installed: pyproject.toml
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable '.[io,dask,onnx,fields]' --group lowest
	@touch $@

test-lowest: $(LOWEST)/.installed ## tests with the oldest versions that pyproject.toml allows
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n auto $(TESTS)

test-papers: $(VENV)/.installed-dev ## small versions of the papers' pages
	@# One fixture makes all pages: it may take longer than a test.
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --timeout 1200 -o faulthandler_timeout=1300 papers

bench: $(VENV)/.installed-bench ## the time of a dozen pieces of work, beside the stored baseline
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-docs ## the documentation as HTML pages in docs/_build
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

clean: ## remove all that the other commands made
	rm -rf $(VENV) $(LOWEST) docs/_build docs/gallery docs/reference/generated report.html reports .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
