PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check unit screenshots bench mcp-conformance chaos clean

$(VENV)/.ready: pyproject.toml pins.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r pins.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(VENV)/.ready  ## set up, then run the console on an embedded cluster
	$(BIN)/pilothouse demo

test: check unit  ## set up, then lint, types, import contracts and every test

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto --dist loadfile

screenshots: $(VENV)/.ready  ## make the pictures of the README anew from the running application
	$(BIN)/python -m screenshots.make

bench: $(VENV)/.ready  ## measure the budgets; fails on bytes, counts and ratios
	$(BIN)/python -m pytest tests/bench --bench -s

chaos: $(VENV)/.ready  ## kill servers, workers and supervisors at random while 2,000 jobs run; prints what was lost (nothing)
	$(BIN)/python -m tests.chaos

mcp-conformance: $(VENV)/.ready  ## the public MCP conformance suite and Inspector against our server; needs Node and npm
	$(BIN)/python -m tests.mcp_server.conformance

clean:
	rm -rf $(VENV) build dist *.egg-info
