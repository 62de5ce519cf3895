# kipwire: what there is to do. "make" lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := generator runtime pipeline tests benchmarks examples

.DEFAULT_GOAL := help
.PHONY: help setup generate check-generated test lint types bench bench-records bench-encodings bench-space demo wheel clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(VENV)/.ready  ## Make .venv with everything that development needs

$(VENV)/.ready: pyproject.toml scripts/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) bash scripts/setup.sh
	@touch $@

generate: setup  ## Generate the classes from the specs; only what changed
	$(BIN)/kipgen generate

check-generated: setup  ## Fail if the generated classes are not what the specs say
	$(BIN)/kipgen check
	$(BIN)/kipgen generate --check

test: setup  ## Run the tests, on all cores
	$(BIN)/pytest

lint: setup  ## Check style and layout of all code
	$(BIN)/ruff check $(CODE)
	$(BIN)/black --check --quiet $(CODE) generated

types: setup  ## Check the types of all code, by mypy and by pyright
	$(BIN)/mypy
	$(BIN)/pyright

demo: generate  ## The main job: generate, then decode a capture of a real cluster and encode it again
	$(BIN)/python examples/decode_capture.py

bench: setup  ## Measure encode, decode and cold start beside kio and kafka-python
	$(BIN)/python -m benchmarks.compare

bench-records: setup  ## Decode and encode record batches beside kafka-python and aiokafka
	$(BIN)/python -m benchmarks.records

bench-encodings: setup  ## Sizes and times of KIP-625's encodings, beside the table of its text
	$(BIN)/python -m benchmarks.encodings

bench-space: setup  ## What message formats add to a batch, beside the table of the KIP-98 draft; with a plot
	$(BIN)/python -m benchmarks.space --plot docs/kip-98-space.svg

wheel: setup  ## Build the wheel into dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## Remove .venv and everything that tools leave behind
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
