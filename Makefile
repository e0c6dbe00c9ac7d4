# The commands of this repository; `make help` lists them.

PYTHON ?= python3
WORKERS ?= 2
MODEL ?= qwen2.5-coder-1.5b
OUT ?= /tmp/swarm-embedded

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CODE := $(wildcard core reputation dashboard tests benchmarks)

.DEFAULT_GOAL := help
.PHONY: help venv demo test check fix bench faults embedded

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## make .venv and install the project with its tools

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Swarm needs Python 3.11 or newer; this is %d.%d. Try: make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY) ## one request from end to end, on a model of this machine (MODEL=smollm2-135m: a small one)
	@$(BIN)/python -m tests.support.demo $(MODEL)

test: $(READY) ## run the tests; the small model for some of them is pulled once (93 MB)
	@$(BIN)/swarm models pull smollm2-135m --json > /dev/null || true
	$(BIN)/python -m pytest -n $(WORKERS)

embedded: $(READY) ## what the model of this machine makes of the README's requests: half an hour
	@$(BIN)/swarm models pull $(MODEL)
	$(BIN)/python -m benchmarks.embedded --model $(MODEL) $(OUT)

check: $(READY) ## lint, format, types, floors; changes nothing
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy --strict $(CODE)
	$(BIN)/lint-imports

fix: $(READY) ## mend what ruff can mend, and format
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: $(READY) ## measure what it costs
	$(BIN)/python -m benchmarks

faults: $(READY) ## run the long form of every fault test
	$(BIN)/python -m pytest -m faults -n 0 -s
