# Everything from a bare Python >= 3.11 and make. All targets can be repeated.
# VENV and PYTHON of the caller's shell do not count: `make test VENV=...` says it on purpose.
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PYTHON = $(firstword $(foreach p,python3.13 python3.12 python3.11 python3 python,\
	$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(p))))
WORKERS ?= 2
SOURCES := pyproject.toml setup.py

.PHONY: help compare test coverage check format nightly bench docs notebooks dist clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/run.stamp: $(SOURCES)
	@test -n "$(PYTHON)" || { echo "need Python 3.11 or later: install it, or say make PYTHON=..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[gurobi,cp-sat,convex]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

compare: $(VENV)/run.stamp  ## exact against algorithms and baselines on a small suite, with a report
	$(BIN)/schedgap compare quick --workers $(WORKERS) --time-limit 5 --run runs/quick
	$(BIN)/schedgap report runs/quick --out runs/quick/report.html

test: $(VENV)/dev.stamp  ## the test suite
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not nightly and not bench'

coverage: export PYTHONPATH := $(CURDIR)/tests
coverage: $(VENV)/dev.stamp  ## the suite with coverage, child processes too; fails under the floor of pyproject.toml
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -n $(WORKERS) -m 'not nightly and not bench'
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

check: $(VENV)/dev.stamp  ## style, types and import contracts, against the package as users get it
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
# setuptools takes what an older source has left in build/lib
	rm -rf build && mkdir -p build/check
	$(BIN)/python -m pip install --quiet --no-deps --target build/check/site .
	cd build/check && PYTHONPATH=site "$(abspath $(BIN))/python" -m mypy --config-file ../../pyproject.toml -p schedgap
	cd build/check && PYTHONPATH=site "$(abspath $(BIN))/lint-imports" --config ../../pyproject.toml --no-cache

format: $(VENV)/dev.stamp  ## let ruff put the source in form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

nightly: $(VENV)/dev.stamp  ## thousands of random instances
	$(BIN)/python -m pytest -n $(WORKERS) -m nightly

bench: $(VENV)/dev.stamp  ## speed, memory and gaps, as tables
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	for script in tests/benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

docs: $(VENV)/run.stamp  ## write the families' pages from the source
	$(BIN)/python -m schedgap.analysis.pages docs

notebooks: $(VENV)/dev.stamp  ## open the notebooks
	$(BIN)/jupyter lab notebooks

dist: $(VENV)/dev.stamp  ## source archive and wheel
	$(BIN)/python -m build

clean:  ## remove what the other targets made, but no run
	rm -rf $(VENV) build dist *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
