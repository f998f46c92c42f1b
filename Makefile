# make demo   real repairs on this machine: no key, GPU or daemon
# make test   the whole test suite
# make check  ruff, pyright strict, import-linter, typos
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format clean

demo: $(STAMP)
	$(BIN)/groundwire demo

test: $(STAMP)
	$(BIN)/pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/typos

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group test --group check --editable ".[llm,docker,postgres,bubblewrap]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
