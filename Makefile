# `make help` lists the targets. Everything lives in .venv* folders of this repository.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
PYTEST_ARGS ?= -q -n auto
BENCH_ARGS ?=
RUN ?= runs/demo

BIN := .venv/bin
PIP_INSTALL := -m pip install -q --disable-pip-version-check --no-input
# Tests that need no learning library, for the environment with Ray's Gymnasium.
NO_AGENTS := --ignore=tests/agents
# Schemes against papers, actuators against formulas, plots and pages: Gymnasium plays no part in
# them, and the first environment has run them.
NO_PAPERS := --ignore=tests/validation --ignore=tests/test_elliptic.py --ignore=tests/test_orders.py \
    $(addprefix --ignore=,$(wildcard tests/test_textbook*.py tests/test_docs*.py)) \
    --ignore=tests/test_plot.py --ignore=tests/test_html.py \
    $(addprefix --ignore=tests/envs/test_,wheels.py actuators.py bodies.py)
# Timed tests, whose result is no pass or fail (`make bench`), and long ones (`make soak`).
NO_BENCHMARKS := --ignore=tests/benchmarks --ignore=tests/soak --ignore=tests/browser

define create_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "rbgym needs Python 3.11 or later, and PYTHON=$(PYTHON) is not one." >&2; \
	    echo "Name another: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@echo "creating $(1)"
	@$(PYTHON) -m venv $(1)
	@touch $@
endef

.PHONY: help demo test check lint types docs pytest pytest-rllib wheel-test bench validate
.PHONY: mutations format clean soak test-browser train-all cards learning-study pictures

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/.agents  ## train a policy on RigidTop-v0 and compare it with a PD law
	$(BIN)/rbgym train RigidTop-v0 --algo ppo --out $(RUN)
	$(BIN)/rbgym evaluate $(RUN) --compare pd --plot $(RUN)/comparison.png

test: check docs pytest wheel-test test-browser pytest-rllib  ## everything CI runs

check: lint types  ## lint, formatting and types

lint: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

# mypy cannot follow setuptools' package-dir mapping, so it gets the tree as it is installed, made of
# links. It runs inside that tree; sed turns rbgym/envs/x.py back into envs/x.py.
types: .venv/.dev
	@mkdir -p .mypy-tree/rbgym && find .mypy-tree -type l -delete
	@cd .mypy-tree/rbgym && ln -sfn ../../rbgym/* ../../envs ../../agents . && ln -sfn ../../pytest_rbgym.py ..
	cd .mypy-tree && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache \
	    | sed -E 's#^rbgym/(envs|agents)/#\1/#'

# Every warning is an error: a link or an anchor that leads nowhere, a docstring that cannot be read.
# The pages are read from files, without a network: nothing may be loaded from elsewhere.
docs: .venv/.dev  ## build the documentation site: docs/build/index.html
	@rm -rf docs/build
	$(BIN)/sphinx-build -q -W --keep-going docs docs/build
	@! grep -rnE '(src=|url\(|<link [^>]*href=)["]?(https?:)?//' docs/build --include=*.html --include=*.css

pytest: .venv/.dev  ## the test suite; PYTEST_ARGS="-k name" picks tests
	$(BIN)/pytest $(NO_BENCHMARKS) --ignore=tests/rllib $(PYTEST_ARGS)

# The tests with Ray share one cluster, and so one process.
pytest-rllib: .venv-rllib/.test  ## tests with Ray, and core and env tests with its Gymnasium 1.2
	.venv-rllib/bin/pytest tests/rllib -q
	.venv-rllib/bin/pytest $(NO_BENCHMARKS) $(NO_AGENTS) $(NO_PAPERS) --ignore=tests/rllib $(PYTEST_ARGS)

# Built by way of the source archive; imported from another folder in an environment without extras.
wheel-test: .venv/.dev .venv-wheel/.created  ## build the wheel, install it elsewhere, step an env
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT; \
	$(BIN)/python -P -m build --no-isolation --outdir "$$tmp" > "$$tmp/build.log" 2>&1 \
	    || { cat "$$tmp/build.log" >&2; exit 1; }; \
	rm -rf .venv-wheel/lib/python*/site-packages/rbgym{,-*}; \
	.venv-wheel/bin/python -P $(PIP_INSTALL) -c constraints.txt "$$tmp"/*.whl; \
	root=$$PWD && cd "$$tmp" && "$$root/.venv-wheel/bin/python" -I "$$root/tests/wheel_smoke.py" *.whl "$$root"

bench: .venv/.dev  ## timed tests and throughput
	@if [ -d tests/benchmarks ]; then $(BIN)/pytest tests/benchmarks -s; fi
	$(BIN)/rbgym bench $(BENCH_ARGS)

validate: .venv/.dev  ## everything that `rbgym validate` measures, with a page: report.html
	$(BIN)/rbgym validate --html report.html

# Runs where there is a Chromium; in CI it may be installed, elsewhere nothing is.
test-browser: .venv/.browser  ## `rbgym view` in a headless Chromium, if there is one
	@if [ "$${CI:-}" = true ] && ! command -v chromium > /dev/null && command -v apt-get > /dev/null; then \
	    { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } > /dev/null \
	        || echo "chromium could not be installed" >&2; fi
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null; then \
	    $(BIN)/pytest tests/browser -q; \
	else echo "skipped the tests of the page in a browser: there is no chromium"; fi

soak: .venv/.browser  ## long checks: trainings killed ten times each, ten minutes of the page
	$(BIN)/pytest tests/soak -q

train-all: .venv/.dev  ## train every policy that the package ships, and write what came of it
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/studies/train_every_task.py

cards: .venv/.dev  ## measure the benchmark cards of all tasks: docs/cards.md
	$(BIN)/python docs/generate_cards.py

learning-study: .venv/.dev  ## train on three integrators and judge on exact physics
	$(BIN)/python docs/studies/integrators_and_learning.py

pictures: .venv/.dev  ## draw the pictures of the README and the documentation anew
	for name in energy tumble frames conventions work_precision plots; do $(BIN)/python docs/pictures/$$name.py; done

mutations: .venv/.dev  ## plant faults in a copy of the package; the validation must catch each
	$(BIN)/python tests/mutations.py

format: .venv/.dev  ## fix what ruff can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean:  ## remove environments, builds and caches; runs/ stays
	rm -rf .venv .venv-rllib .venv-wheel build docs/build dist *.egg-info .mypy-tree
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find rbgym envs agents tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamp files: an environment is installed again only when what it is made from has changed.
.venv/.created .venv-rllib/.created .venv-wheel/.created:
	$(call create_venv,$(@D))

.venv/.agents: pyproject.toml constraints.txt | .venv/.created
	@echo "installing rbgym[agents,render,view] in .venv"
	@$(BIN)/python -P $(PIP_INSTALL) -c constraints.txt -e '.[agents,render,view]'
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/.created
	@echo "installing rbgym[dev] in .venv"
	@$(BIN)/python -P $(PIP_INSTALL) -c constraints.txt -e '.[dev]'
	@touch .venv/.agents $@

.venv/.browser: .venv/.dev
	@echo "installing rbgym[browser] in .venv"
	@$(BIN)/python -P $(PIP_INSTALL) -c constraints.txt -e '.[browser]'
	@touch $@

.venv-rllib/.test: pyproject.toml constraints-rllib.txt | .venv-rllib/.created
	@echo "installing rbgym[evolve,rllib,test] in .venv-rllib"
	@.venv-rllib/bin/python -P $(PIP_INSTALL) -c constraints-rllib.txt -e '.[evolve,rllib,test]'
	@touch $@
