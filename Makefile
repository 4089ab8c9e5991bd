# Everything this project needs, it installs by these targets. `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# A program from a Debian package: root gets it installed, others are told.
ensure = @command -v $(1) >/dev/null || { test $$(id -u) = 0 && apt-get -q update && apt-get -q -y install --no-install-recommends $(2); } || { echo "$(1) is missing; install it with: sudo apt-get install $(2)"; exit 1; }
export TESTCONTAINERS_RYUK_DISABLED := true

.DEFAULT_GOAL := help
.PHONY: help setup setup-engine tools engine-image demo test reliability bench check gen check-gen lock clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: $(STAMPS)/coordinator ## Make .venv with the odf command

$(STAMPS)/coordinator: requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@mkdir -p $(STAMPS) && touch $@

setup-engine: $(STAMPS)/engine ## Add what runs the engine as a child process (pyspark, the jar)

$(STAMPS)/engine: $(STAMPS)/coordinator engine-spark/requirements.lock $(wildcard engine-spark/java/odf/*.java)
	$(call ensure,javac,openjdk-17-jdk-headless)
	$(call ensure,bwrap,bubblewrap)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r engine-spark/requirements.lock
	$(BIN)/python engine-spark/java/build.py
	@touch $@

engine-image: setup ## Build the engine's container image, without a registry
	$(BIN)/odf engine build

demo: setup ## The whole story on a small file: ingest, derive in the container, verify, tamper
	@$(MAKE) --no-print-directory engine-image
	@bash examples/demo.sh

tools: setup-engine
	$(call ensure,strace,strace)
	$(call ensure,fusermount3,fuse3)

test: tools check ## All checks and all test suites that this machine can run
	@if docker info >/dev/null 2>&1; then $(MAKE) --no-print-directory engine-image; fi
	$(BIN)/pytest

reliability: tools ## The long reliability suites, one table (R="-k kill" chooses)
	$(BIN)/python -m tests.reliability $(R)

bench: setup ## Measure: ratios against raw library calls, 1 M rows (BENCH=--full: 10 M rows)
	$(BIN)/python -m benchmarks.run $(BENCH)

check: setup ## Lint, types, import contracts, generated code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache > $(VENV)/lint-imports.log || (cat $(VENV)/lint-imports.log; exit 1)
	@$(MAKE) --no-print-directory check-gen

gen: setup ## Regenerate the code made from protos/ and fbs/
	$(call ensure,flatc,flatbuffers-compiler)
	bash protos/generate.sh protos coordinator

check-gen: setup
	$(call ensure,flatc,flatbuffers-compiler)
	@out=$$(mktemp -d) && bash protos/generate.sh $$out $$out \
	  && diff -r -x __init__.py -x __pycache__ $$out/odf_wire/_gen protos/odf_wire/_gen \
	  && diff -r -x __init__.py -x __pycache__ $$out/odf_coordinator/codec/_gen coordinator/odf_coordinator/codec/_gen \
	  && rm -rf $$out && echo "generated code is up to date"

lock: ## Choose versions anew and write both lock files
	$(BIN)/uv pip compile pyproject.toml --extra dev --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --upgrade -q -o requirements.lock
	$(BIN)/uv pip compile engine-spark/requirements.in -c requirements.lock --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --upgrade -q -o engine-spark/requirements.lock

clean: ## Remove what the targets made here (not the caches in ~/.cache/odf)
	rm -rf $(VENV) engine-spark/build .mypy_cache .ruff_cache .pytest_cache .hypothesis
