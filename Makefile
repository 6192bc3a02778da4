# Needs only Python >= 3.11 and make. All targets can be run again.
# VENV and PYTHON are not taken from the environment, only from the command line: `make test VENV=...`.
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PYTHON = $(firstword $(foreach p,python3.13 python3.12 python3.11 python3 python,\
	$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(p))))
WORKERS ?= 2
# A test is on a processor for about half of its time, so four test processes keep two cores busy.
TESTERS ?= 4
SOURCES := pyproject.toml setup.py

.PHONY: help compare test coverage check format nightly kernels bench docs site notebooks dist clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/run.stamp: $(SOURCES)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: install it, or run make PYTHON=..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install -qq --editable '.[gurobi,cp-sat,convex]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	$(BIN)/python -m pip install -qq --editable '.[dev]'
	@touch $@

compare: $(VENV)/run.stamp  ## compare all methods on a small suite and write a report
	$(BIN)/schedgap compare quick --workers $(WORKERS) --time-limit 5 --run runs/quick
	$(BIN)/schedgap report runs/quick --out runs/quick/report.html

test: $(VENV)/dev.stamp  ## run the test suite
	$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal -m 'not nightly and not bench'

coverage: export PYTHONPATH := $(CURDIR)/tests
coverage: $(VENV)/dev.stamp  ## run the suite with coverage, child processes included; fails below fail_under of pyproject.toml
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n $(TESTERS) --dist worksteal -m 'not nightly and not bench'
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

check: $(VENV)/dev.stamp  ## check style, prose, types and import contracts, on the package as installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/prose.py
# Otherwise setuptools would install stale files from build/lib.
	rm -rf build && mkdir -p build/check
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target build/check/site .
	cd build/check && PYTHONPATH=site "$(abspath $(BIN))/python" -m mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache -p schedgap
	cd build/check && PYTHONPATH=site "$(abspath $(BIN))/lint-imports" --config ../../pyproject.toml --no-cache

format: $(VENV)/dev.stamp  ## format the source with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

nightly: $(VENV)/dev.stamp  ## test on thousands of random instances, and every property on new ones
	$(BIN)/python -m pytest -n $(WORKERS) -m 'nightly or hypothesis'

kernels: $(VENV)/dev.stamp  ## compare kernels with their plain code, with checks of array bounds and without compiling
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n $(WORKERS) -k compiled_or_not tests/solvers tests/models
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) -k compiled_or_not tests/solvers tests/models

bench: $(VENV)/dev.stamp  ## measure gaps, growth, speed and memory in 75 minutes, with QUICK=--quick in 14
	$(BIN)/python -m pip install -qq --editable '.[bench]'
	$(BIN)/python tests/benchmarks/bench_gaps.py $(QUICK)
	$(BIN)/python tests/benchmarks/bench_peer.py $(QUICK)
	$(BIN)/python tests/benchmarks/bench_anytime.py $(QUICK)

docs: $(VENV)/run.stamp  ## generate the families' pages from the source
	$(BIN)/python -m schedgap.analysis.pages docs

site: $(VENV)/run.stamp  ## build the documentation in site/html, with the report of `make compare`; the first time runs the notebooks
	$(BIN)/python -m pip install -qq --editable '.[site]'
	rm -rf site/html
	$(BIN)/python -m sphinx -E -W --keep-going -q -c docs -d site/doctrees . site/html
	$(BIN)/python tests/site_links.py site/html

notebooks: $(VENV)/dev.stamp  ## open the notebooks
	$(BIN)/jupyter lab notebooks

dist: $(VENV)/dev.stamp  ## build the source archive and the wheel
	$(BIN)/python -m build

clean:  ## remove what the other targets created, except runs
	rm -rf $(VENV) build dist site *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
