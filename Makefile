# What people need. Each target makes the environment it runs in, on first use, with $(PYTHON) (3.11 or newer).
# The gate is .ci/run; single benchmarks are in benchmarks/ (make -C benchmarks help).
PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install --quiet --disable-pip-version-check
# Tests start hundreds of processes: each would compile the package anew where Python is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo explore test test-slow lint check check-all coverage docs site bench study clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 10

demo: .venv/demo.done  ## explain one applicant of the embedded credit data; in a terminal, then open the explorer
	$(BIN)/python -m counterpoint.demo --figures credit-figures $$([ -t 0 ] && [ -t 1 ] && echo --serve)

explore: .venv/demo.done  ## the same, and serve the explorer until Ctrl-C
	$(BIN)/python -m counterpoint.demo --serve

# The documentation's examples are run by `make docs`, the benchmarks' own tests by `make -C benchmarks test`; the gate runs all.
test: .venv/dev.done  ## run the tests of the library and the examples in the docstrings
	$(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow" tests src $(addprefix --ignore tests/,browser cluster docs)

test-slow: .venv/dev.done  ## the few tests of the library that `make test` leaves to the gate; see CONTRIBUTING.md
	$(BIN)/python -m pytest -q -m slow $$(grep -rl "^@pytest.mark.slow" tests)

lint: .venv/dev.done  ## lint and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test  ## lint, types and tests

check-all: check test-slow .venv-packages/done  ## the same, then what is slow: wheels, each extra alone, lowest versions, PYTHONS="python3.12 ..."
	.venv-packages/bin/python -m scripts.packages --lowest tests/unit --pythons $(PYTHONS)

docs: site  ## the site, with every example of it run and its links checked; build/site/index.html
	$(BIN)/python -m pytest -n 2 -q tests/docs

site: .venv/dev.done  ## the site alone, warnings are errors; no example is run
	$(BIN)/python -m sphinx -q -W --keep-going docs build/site

# Compiled kernels leave no trace, so that a second run has them as Python: the reference runs, whose bits must be the same, and laws
# and unit tests of modules that hold kernels. Left out of it are runs that take minutes so, one whose last bit depends on who computes
# an exponential, and a test of what is compiled. NumPy warns of overflow there, which the draws are made of.
WHOLE := tests/unit tests/contract src $(addprefix tests/integration/,batch test_adapters.py test_command_line.py test_explorer.py \
	test_many_results.py test_missing.py test_processes.py test_remote_model.py test_tables.py) \
	tests/property/test_proof_laws.py tests/property/test_remote_answers.py tests/cluster/test_dask_engine.py
AS_PYTHON := tests/golden/test_reference_bits.py tests/property/test_distance_laws.py $(addprefix tests/unit/,test_kernels_python.py \
	test_streams.py density/test_conditional.py neighbours rules models/test_trees.py result/choosing search/nsga2 \
	search/test_archive.py search/test_feasibility.py search/test_ways.py)
TOO_LONG := default/ or paper/ or files/ or dask or many/ or search/evaluations or classes/label or regression/interval or \
	missing/nice or missing-allowed/explore or own/forest-plausibility] or walked_by_the_same_kernel
PYTHON_PARTS = $(if $(PARTS),$(filter $(AS_PYTHON),$(PARTS)),$(AS_PYTHON))

coverage: .venv/dev.done  ## branch coverage of src, kernels counted as they run as Python; 20 CPU minutes; PARTS="tests/unit/rules ..." for less
	rm -f .coverage .coverage.*
	HYPOTHESIS_PROFILE=brief $(BIN)/python -m coverage run -m pytest -q $(or $(PARTS),$(WHOLE))
	[ -z "$(PYTHON_PARTS)" ] || HYPOTHESIS_PROFILE=brief NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q \
		-W "ignore:overflow encountered:RuntimeWarning" -k "not ($(TOO_LONG))" $(PYTHON_PARTS)
	$(BIN)/python -m coverage combine -q && $(BIN)/python -m coverage report

bench: .venv-bench/done  ## speed as ratios to the model's own and to the peers'; an hour; writes docs/performance; BENCH="--only sizes" for a part
	.venv-bench/bin/python -m benchmarks.speed $(BENCH)
	.venv-bench/bin/python -m benchmarks.growth

study: .venv-bench/done  ## the paper's study with its rivals; hours; resumes; writes docs/study
	.venv-bench/bin/python -m benchmarks.study all $(STUDY)

clean:  ## delete all environments and caches
	rm -rf build .venv .venv-adapters .venv-bench .venv-packages .venv-engines .study node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/demo.done: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) -e ".[demo,serve]"
	touch $@

.venv/dev.done: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) -e ".[dev]"
	touch $@ .venv/demo.done

.venv-packages/done: pyproject.toml
	$(PYTHON) -m venv .venv-packages
	.venv-packages/bin/python $(PIP) -e ".[packages-test]"
	touch $@

# The peers need packages nobody else does. NICEx declares versions it does not need.
.venv-bench/done: pyproject.toml benchmarks/requirements-peers.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP) -e ".[dev,figures]"
	.venv-bench/bin/python $(PIP) -r benchmarks/requirements-peers.txt
	.venv-bench/bin/python $(PIP) --no-deps NICEx==0.2.3
	touch $@
