# Everything a newcomer types. `make` alone lists it. Needs only Python 3.11+ with pip; another one: make run PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test faults check format lock runtime tools

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s%s\n", $$1, $$2 }' Makefile

run: runtime  ## Start the embedded Temporal server, a worker and the API, until Ctrl-C
	@exec $(BIN)/python dev.py

# More processes than cores, since tests wait for servers as much as they compute; few tests at a time, so that none wait
# behind a long one. Python may keep what it compiled: every process would compile the tests anew.
test: export PYTHONDONTWRITEBYTECODE =
test: tools  ## Run the tests; some of them only: make test ARGS="tests/test_house.py -k wheel"
	@$(BIN)/python -m pytest -n 4 --maxschedchunk 8 $(ARGS)

faults: tools  ## The long fault suite, a quarter of an hour; DUETIME_FAULT_SEED repeats a run
	@$(BIN)/python -m pytest -s -m faults tests/faults tests/fencing $(ARGS)

check: tools  ## Formatting, lint, types and the direction of imports
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: tools  ## Format the code and mend what the linter can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lock: tools  ## Pin the newest versions that pyproject.toml allows
	@$(BIN)/python scripts/lock.py

runtime:
	@$(PYTHON) scripts/venv.py requirements.txt

tools:
	@$(PYTHON) scripts/venv.py requirements-dev.txt
