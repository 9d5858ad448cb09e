# `make demo` and `make test` do all their own set-up from a bare python3 with pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check
EXAMPLE := examples/lantern-festival.txt

.PHONY: help demo test lint types clean

help: ## Show what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.project: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --constraint $(CONSTRAINTS) --editable '.[local]'
	@touch $@

$(VENV)/.test: $(VENV)/.project
	$(PIP) install --quiet --constraint $(CONSTRAINTS) --group test
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(PIP) install --quiet --constraint $(CONSTRAINTS) --group dev
	@touch $@

demo: $(VENV)/.project ## Catch up on the example chat, with no model and no network
	@$(BIN)/remember-graph catchup $(EXAMPLE)

test: $(VENV)/.test ## Run the tests; what needs a component that is not installed is skipped
	$(BIN)/python -m pytest $(PYTEST_OPTIONS)

lint: $(VENV)/.dev ## Check style and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy --strict

clean: ## Remove what the targets made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
