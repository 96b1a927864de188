# Everything from a clean clone: `make demo` and `make test` set up what they need, once.
# Every pip call goes through the constraints file; see there why.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Two test workers on two cores: each gets one thread, or they would wait for each other.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint web docs scoreboard benchmarks hostile browser clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "  Expected: Python 3.11 or newer"; \
	  echo "  Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "Making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

# The stamps say what has been installed, so that the second time is quick.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing bedside with what the demo needs …"
	@$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing bedside with what its tests need …"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## watch two small nets train, one of them sick
	@$(BIN)/bedside demo

lint: $(VENV)/.dev  ## ruff, mypy, import contracts, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/make_docs.py --check
	@if [ -d web/node_modules ]; then cd web && npm run --silent verify; fi

web:  ## build the front end of reports and the live page; needs node, which users do not
	cd web && npm ci --no-audit --no-fund && npm run check && npm run build

test: lint browser  ## lint, then every test
	$(BIN)/pytest -n 2

docs: $(VENV)/.dev  ## write the generated pages, and build the documentation as a site in site/
	$(BIN)/python scripts/make_docs.py
	$(BIN)/zensical build --clean --strict

pictures: $(VENV)/.dev browser  ## make the pictures of the README anew, from a run trained now
	$(BIN)/python scripts/make_pictures.py

SEEDS ?= 0
scoreboard: $(VENV)/.dev  ## how good the diagnosis is: the zoo on one seed; CORPUS=folder-with-labels.json adds real logs
	$(BIN)/bedside zoo score --seeds $(SEEDS)
	@if [ -n "$(CORPUS)" ]; then $(BIN)/python benchmarks/diagnosis.py $(CORPUS); fi

benchmarks: $(VENV)/.dev  ## what watching costs
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/overhead.py --limits

SOAK ?= 3600
hostile: $(VENV)/.dev  ## the long version of tests/hostile: kills, interrupts, damaged files; SOAK=seconds
	$(BIN)/python -m benchmarks.hostile --soak $(SOAK)
	$(BIN)/python -m benchmarks.bitwise

# Only tests that drive a browser need one, and only then is it installed.
browser:
	@if grep -rqs 'mark\.browser' tests && ! command -v chromium >/dev/null; then \
	  echo "Installing chromium for the browser tests …"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; fi

clean:  ## remove what was made here, the environment included
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
