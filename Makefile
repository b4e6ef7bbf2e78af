# Everything runs in its own environment, .venv, made on first use with $(PYTHON) (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
PAPER ?= ../shared/paper
TORCH ?= torch==2.13.0+cpu

N ?= 10000

.PHONY: bench-scale fuzz demo explore figures test test-adapters test-browser test-page test-scale lint types bench variants models constrained plausibility interview ablation tuning optimality study study-small check clean test-engines

demo: .venv/demo.done  ## explain one applicant of the embedded credit data; in a terminal, then open the explorer
	$(BIN)/python -m counterpoint.demo --figures credit-figures $$([ -t 0 ] && [ -t 1 ] && echo --serve)

explore: .venv/demo.done  ## the same, and serve the explorer until Ctrl-C
	$(BIN)/python -m counterpoint.demo --serve

figures: .venv/dev.done  ## write the figures of the credit example to docs/figures
	$(BIN)/python -m counterpoint.demo --figures docs/figures

test: .venv/dev.done  ## run the tests and the examples in the docstrings
	$(BIN)/python -m pytest -n 2 --dist loadfile -q --ignore tests/browser --ignore tests/cluster

test-page: node_modules/done  ## lint the report's modules and test them with node
	npm run --silent lint
	npm test --silent

test-browser: .venv/browser.done node_modules/done  ## the report as a person uses it, in Chromium, none of it skipped
	COUNTERPOINT_BROWSER=required $(BIN)/python -m pytest -q tests/browser

test-adapters: .venv-adapters/done  ## models of all frameworks, none of them skipped
	COUNTERPOINT_FRAMEWORKS=all .venv-adapters/bin/python -m pytest -q \
		tests/integration/test_adapters.py tests/unit/models/test_files.py tests/integration/test_readme.py

test-scale: .venv/dev.done  ## batch jobs on a real Dask cluster, with faults injected, none of it skipped
	COUNTERPOINT_DASK=required $(BIN)/python -m pytest -n 2 --dist loadfile -q tests/cluster

test-engines: .venv-engines/done  ## the recipes for Dask, Spark (needs Java) and Ray, none of them skipped
	COUNTERPOINT_FRAMEWORKS=all .venv-engines/bin/python -m pytest -q tests/integration/batch/test_engines_page.py

fuzz: .venv/dev.done  ## ten thousand random tables, models, targets and rules; N=500 for fewer
	COUNTERPOINT_FUZZ=$(N) $(BIN)/python -m pytest -q tests/fuzz

lint: .venv/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev.done
	$(BIN)/mypy

check: lint types test

bench: .venv-bench/done  ## speed as ratios to the model's own and to the peers'; writes docs/performance
	COUNTERPOINT_PAPER=$(PAPER) .venv-bench/bin/python -m benchmarks.speed --peers
	.venv-bench/bin/python -m benchmarks.growth

bench-scale: .venv/dev.done  ## batch jobs on one and two workers, and what follows for more; writes docs/scale
	$(BIN)/python -m benchmarks.scale --again

variants: .venv/dev.done  ## the paper's five variants against its published runs
	$(BIN)/python -m benchmarks.variants --paper $(PAPER)

models: .venv/dev.done  ## the default search against the paper's on five kinds of model
	COUNTERPOINT_PAPER=$(PAPER) $(BIN)/python -m benchmarks.models

constrained: .venv/dev.done  ## what rules cost the search, on the embedded credit data
	$(BIN)/python -m benchmarks.constrained

plausibility: .venv/dev.done  ## which plausibility follows the true density
	$(BIN)/python -m benchmarks.plausibility

optimality: .venv/dev.done  ## how far our searches stay from the exact optimum; writes docs/study/optimality.md
	$(BIN)/python -m benchmarks.optimality

interview: .venv/dev.done  ## what the interview's recommendation is worth to simulated users; writes docs/choosing.md
	$(BIN)/python -m benchmarks.interview

ablation: .venv/dev.done  ## what each idea of the default search is worth; writes docs/ablation.*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[figures]"
	COUNTERPOINT_PAPER=$(PAPER) $(BIN)/python -m benchmarks.ablation

# TUNING="--budget 3000 --out build/tuning" is the paper's; what was interrupted goes on where it was.
TUNING ?= --budget 1000 --compare 60
tuning: .venv/dev.done  ## tune the paper's search by iterated F-racing; writes docs/study/tuning.*
	$(BIN)/python -m benchmarks.tuning --data $(PAPER)/data $(TUNING)

study: .venv-bench/done  ## the paper's study with its rivals; hours; resumes; writes docs/study
	COUNTERPOINT_PAPER=$(PAPER) .venv-bench/bin/python -m benchmarks.study all $(if $(wildcard $(PAPER)/data),--data $(PAPER)/data) $(STUDY)

study-small: .venv/dev.done  ## the same with few rows and methods on embedded data, in minutes; writes .study/small
	$(BIN)/python -m benchmarks.study small

.venv/demo.done: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[demo,serve]"
	touch $@

.venv/dev.done: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ .venv/demo.done

# Playwright drives the Chromium of the system: it must be there, or be installed by whoever may.
.venv/browser.done: .venv/dev.done
	command -v chromium || command -v chromium-browser || { apt-get update -qq && apt-get install -y -qq chromium; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[browser-test]"
	touch $@

node_modules/done: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

# Of PyTorch the build without CUDA is taken where there is one: it is a tenth of the size.
.venv-adapters/done: pyproject.toml
	$(PYTHON) -m venv .venv-adapters
	-.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	.venv-adapters/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,adapters-test]"
	touch $@

.venv-engines/done: pyproject.toml
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,engines-test]"
	touch $@

# The peers need packages nobody else does. NICEx declares versions it does not need.
.venv-bench/done: pyproject.toml benchmarks/requirements-peers.txt
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,figures]"
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-peers.txt
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps NICEx==0.2.3
	touch $@

clean:
	rm -rf .venv .venv-adapters .venv-bench .venv-engines .study node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
