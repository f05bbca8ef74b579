# `make help` lists the targets. Everything lives in .venv* folders of this repository.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
PYTEST_ARGS ?= -q -n auto
WHICH ?= not long
INTERPRETED = $(WHICH) and interpreted and not compiled
COMPILED = $(WHICH) and (compiled or not interpreted)
BENCH_ARGS ?=
SEEDS ?= 1
RUN ?= runs/demo

BIN := .venv/bin
PEERS := .venv-bench/bin/python
# Python compiles the modules that are imported: that is a tenth of those that are installed. It has to
# keep what it compiled, or each process of a test compiles them again.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install -q --disable-pip-version-check --no-input --no-compile
# What another version of Gymnasium could break: registration, spaces, signatures, autoreset, checkers.
GYMNASIUM_TESTS := $(addprefix tests/,test_vector_checks.py $(addprefix envs/test_,info.py reset.py)) \
    tests/envs/test_family.py -k 'not test_family or checker or every_mode'
# Long tests (`make soak`), and those of their own.
TEST_FOLDERS := $(addprefix --ignore=tests/,soak browser clients)
# What an older or newer dependency could break: how Gymnasium, NumPy, Numba and the libraries of the
# extras are called. The physics itself does not depend on them.
comma := ,
EXTRAS_OF_VERSIONS := agents,mujoco,onnx,test,view
VERSION_TESTS := $(addprefix tests/,test_body_files.py test_cache.py test_vector_checks.py test_plot.py test_sb3.py \
    test_simulate.py agents/view \
    $(addprefix envs/test_,info.py planning.py rendering.py reset.py rigid_top.py) \
    $(addprefix agents/test_,cli.py cli_tables.py policies.py training.py)) \
    'tests/envs/test_family.py::test_gymnasiums_checker_has_nothing_to_say[AttitudeReach-v0]' \
    'tests/agents/test_export.py::test_the_shipped_policy_answers_in_onnx_as_in_python' \
    -k 'not agree_bit_for_bit'

define create_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "rbgym needs Python 3.11 or later, and PYTHON=$(PYTHON) is not one." >&2; \
	    echo "Name another: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@echo "creating $(1)"
	@$(PYTHON) -m venv $(if $^,--clear) $(1)
	@touch $@
endef

# Steps of `make test`: lanes of a stage, parted by |, run side by side, for they keep one core busy or
# wait for a network. The suite keeps them all busy; what comes after it finds its kernels made. .venv is
# installed before the lanes begin: two of them would install it at once.
STAGES := .venv/.dev .venv-gymnasium/.created 'types,wheel-test|lint,docs' pytest-interpreted pytest-compiled pytest-gymnasium

.PHONY: help demo test test-long check lint types docs pytest pytest-rllib wheel-test bench performance validate
.PHONY: pytest-compiled pytest-gymnasium pytest-interpreted
.PHONY: mutations digests format clean soak test-browser test-clients train-all shelf cards learning-study fidelity-map pictures
.PHONY: test-lowest test-newest lowest-pins dist wheel-policies licences

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/.agents  ## train a policy on RigidTop-v0 and compare it with a PD law
	$(BIN)/rbgym train RigidTop-v0 --algo ppo --out $(RUN)
	$(BIN)/rbgym evaluate RigidTop-v0 --policy $(RUN) --policy pd --plot $(RUN)/comparison.png

test:  ## everything CI runs, and what each step took
	+@$(PYTHON) tests/in_lanes.py "$(MAKE)" $(STAGES)

test-long: .venv/.browser  ## what takes longer: more cases, whole trainings, the page in a browser
	+$(MAKE) pytest WHICH=long
	+$(MAKE) test-browser

check: lint types  ## lint, formatting, spelling and types

lint: .venv/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell

# mypy cannot follow setuptools' package-dir mapping, so it gets the tree as it is installed, made of
# links. It runs inside that tree; sed turns rbgym/envs/x.py back into envs/x.py.
types: .venv/.dev
	@mkdir -p .mypy-tree/rbgym && find .mypy-tree -type l -delete
	@cd .mypy-tree/rbgym && ln -sfn ../../rbgym/* ../../envs ../../agents .
	cd .mypy-tree && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache \
	    | sed -E 's#^rbgym/(envs|agents)/#\1/#'

# Every warning is an error: a link or an anchor that leads nowhere, a page that no other leads to, a
# docstring that cannot be read. So Sphinx is the link checker; what is on other servers is not asked.
# The pages are read from files, without a network: nothing may be loaded from elsewhere.
docs: .venv/.dev  ## build the documentation site, docs/build/index.html: links, spelling, figures
	@rm -rf docs/build
	$(BIN)/codespell docs README.md CHANGELOG.md CONTRIBUTING.md
	$(BIN)/pytest -q -n 0 tests/test_docs_figures.py
	$(BIN)/sphinx-build -q -W --keep-going docs docs/build
	@! grep -rnE '(src=|url\(|<link [^>]*href=)["]?(https?:)?//' docs/build --include=*.html --include=*.css

pytest: pytest-interpreted pytest-compiled  ## the test suite; PYTEST_ARGS="-k name" picks tests

# Where PYTEST_ARGS picks tests of one kind alone, the other run has none, and pytest ends with 5.
OR_NONE := || [ $$? = 5 ]

pytest-interpreted: .venv/.dev  ## tests of what does what, with Python in the place of machine code
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(TEST_FOLDERS) --durations=5 -m '$(INTERPRETED)' \
	    --dist worksteal $(PYTEST_ARGS) $(OR_NONE)

# Neighbours, which share kernels, stay with one worker as long as it goes.
pytest-compiled: .venv/.dev  ## all other tests
	$(BIN)/pytest $(TEST_FOLDERS) --durations=15 -m '$(COMPILED)' \
	    --dist worksteal $(PYTEST_ARGS) $(OR_NONE)

# Gymnasium 1.2 in the place of the one in .venv; kernels are those that the suite left on disk.
pytest-gymnasium: .venv/.dev .venv-gymnasium/.created
	PYTHONPATH=.venv-gymnasium NUMBA_DISABLE_JIT=1 $(BIN)/pytest -m '$(INTERPRETED)' $(PYTEST_ARGS) $(GYMNASIUM_TESTS)
	PYTHONPATH=.venv-gymnasium $(BIN)/pytest -m '$(COMPILED)' $(PYTEST_ARGS) $(GYMNASIUM_TESTS)

pytest-rllib: .venv-rllib/.test  ## what docs/libraries.md shows of RLlib
	.venv-rllib/bin/pytest tests/clients -q

# Built by way of the source archive; imported from another folder in an environment without extras.
wheel-test: .venv/.dev .venv-wheel/.created  ## build the wheel, install it elsewhere, step an env
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT; \
	$(BIN)/python -P -m build --no-isolation --outdir "$$tmp" > "$$tmp/build.log" 2>&1 \
	    || { cat "$$tmp/build.log" >&2; exit 1; }; \
	rm -rf .venv-wheel/lib/python*/site-packages/rbgym{,-*}; \
	tests/install.sh .venv-wheel/bin/python -c constraints.txt "$$tmp"/*.whl; \
	.venv-wheel/bin/python -P -m pip check --disable-pip-version-check; \
	root=$$PWD && cd "$$tmp" && NUMBA_DISABLE_JIT=1 "$$root/.venv-wheel/bin/python" -I "$$root/tests/wheel_smoke.py" *.whl "$$root"

wheel-policies: .venv/.dev .venv-wheel-agents/.created  ## judge all trained policies from the wheel, offline
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT; tests/build_dist.sh "$$tmp" .venv; \
	rm -rf .venv-wheel-agents/lib/python*/site-packages/rbgym{,-*}; \
	.venv-wheel-agents/bin/python -P $(PIP_INSTALL) -c constraints.txt "$$(echo "$$tmp"/*.whl)[agents]"; \
	offline="unshare --map-root-user --net"; $$offline true 2> /dev/null || offline=; \
	echo "network: $${offline:-left, only proxies lead nowhere}"; \
	root=$$PWD && cd "$$tmp" && $$offline "$$root/.venv-wheel-agents/bin/python" -I "$$root/tests/wheel_policies.py"

# From the last commit alone, twice with the same bytes, and each archive installed by itself.
dist: .venv/.dev .venv-release/.tools  ## build dist/ for a release, and try both archives
	@if [ -n "$$(git status --porcelain)" ]; then echo "dist/ is built from the last commit, without your changes" >&2; fi
	@rm -rf dist && tests/build_dist.sh dist .venv
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && root=$$PWD; \
	tests/build_dist.sh "$$tmp/again" .venv && diff -r dist "$$tmp/again"; \
	.venv-release/bin/twine check --strict dist/*; \
	for archive in dist/*; do \
	    rm -rf "$$tmp/env" && $(PYTHON) -m venv "$$tmp/env"; \
	    "$$tmp/env/bin/python" -P $(PIP_INSTALL) -c constraints.txt "$$archive"; \
	    "$$tmp/env/bin/python" -P -m pip check --disable-pip-version-check; \
	    (cd "$$tmp" && env/bin/python -I "$$root/tests/wheel_smoke.py" "$$root"/dist/*.whl "$$root"); \
	done
	@sha256sum dist/*

licences: .venv-release/.tools  ## list the licences of all that rbgym brings: docs/licences.md
	.venv-release/bin/python docs/generate_licences.py

test-lowest: .venv-lowest/.test  ## tests with the lowest versions that pyproject.toml declares
	.venv-lowest/bin/pytest $(PYTEST_ARGS) $(VERSION_TESTS)

# Not reproducible, by intention: it tells what the indexes will give to users tomorrow. torch stays.
test-newest: .venv-newest/.created  ## the same tests with the newest versions that there are
	@.venv-newest/bin/python -P $(PIP_INSTALL) -U --upgrade-strategy eager \
	    -c <(grep '^torch==' constraints.txt) -e '.[$(EXTRAS_OF_VERSIONS)]'
	@echo "not what constraints.txt pins:"; comm -13 <(sort constraints.txt) <(.venv-newest/bin/python -P \
	    -m pip list --format=freeze --disable-pip-version-check | tr A-Z_ a-z- | sed 's/+cpu$$//' | sort)
	.venv-newest/bin/pytest $(PYTEST_ARGS) $(VERSION_TESTS)

# What can be had of the peers is in an environment of its own.
bench: .venv-bench/.peers  ## rbgym next to its peers; BENCH_ARGS="--quick memory"
	$(PEERS) -W ignore -m benchmarks $(BENCH_ARGS)

performance: .venv-bench/.peers  ## write docs/records/performance.md from the last whole `make bench`
	$(PEERS) -m benchmarks.page runs/bench

validate: .venv/.dev  ## everything that `rbgym validate` measures
	$(BIN)/rbgym validate

# Runs where there is a Chromium; in CI it may be installed, elsewhere nothing is.
test-browser: .venv/.browser  ## `rbgym view` in a headless Chromium, if there is one
	@if [ "$${CI:-}" = true ] && ! command -v chromium > /dev/null && command -v apt-get > /dev/null; then \
	    { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } > /dev/null \
	        || echo "chromium could not be installed" >&2; fi
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null; then \
	    $(BIN)/pytest tests/browser -q; \
	else echo "skipped the tests of the page in a browser: there is no chromium"; fi

test-clients: .venv-clients/.libraries  ## run docs/libraries.md with the libraries that it names
	.venv-clients/bin/pytest tests/clients -q --durations=5

soak: .venv/.dev  ## long checks: hostile input, kills, drift over 1e9 steps, gains
	$(BIN)/pytest tests/soak -q

train-all: .venv/.dev  ## train every policy that the package ships, and write what came of it
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/studies/train_every_task.py

shelf: .venv/.dev  ## train a policy of every task with its defaults, two at a time, from SEEDS seeds
	$(BIN)/python docs/studies/shelf.py --seeds $(SEEDS)

cards: .venv/.dev  ## measure the benchmark cards of all tasks: docs/cards.md
	$(BIN)/python docs/generate_cards.py

learning-study: .venv/.dev  ## train on three integrators and judge on exact physics
	$(BIN)/python docs/studies/integrators_and_learning.py

fidelity-map: .venv/.dev .venv-bench/.peers  ## where the physics decides what is learned: docs/records/learning_study.md
	$(PEERS) -m benchmarks.nutation --out benchmarks/results
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/studies/fidelity_map.py

pictures: .venv/.dev  ## draw the pictures of the README and the documentation anew
	for name in energy slew tumble frames conventions work_precision plots; do $(BIN)/python docs/pictures/$$name.py; done

mutations: .venv/.dev  ## plant faults in a copy of the package; the validation must catch each
	$(BIN)/python tests/mutations.py

# The bits are those of one machine: after `--write` on the old code, compare on the new.
digests: .venv/.dev  ## compare with the recorded digests
	$(BIN)/python tests/digests.py

# Matplotlib 3.9 uses names that pyparsing 3.3 gave up. What a build of torch for GPUs brings is left out.
lowest-pins: .venv-release/.tools  ## resolve the lowest versions anew: constraints-lowest.txt
	@{ echo "# The lowest versions that pyproject.toml declares, with the newest of what these need."; \
	    echo "# Written by \`make lowest-pins\`; \`make test-lowest\` installs them."; \
	    .venv-release/bin/uv pip compile -q --python-version 3.11 --resolution lowest-direct \
	        $(addprefix --extra ,$(subst $(comma), ,$(EXTRAS_OF_VERSIONS))) --no-header --no-annotate \
	        -c <(grep '^torch==' constraints.txt; echo 'pyparsing<3.3') pyproject.toml \
	        | grep -vE '^(nvidia|cuda)-|^triton='; } > .venv-release/lowest.txt \
	    && mv .venv-release/lowest.txt constraints-lowest.txt

format: .venv/.dev  ## fix what ruff can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean:  ## remove environments, builds and caches; runs/ stays
	rm -rf .venv .venv-* build docs/build dist *.egg-info .mypy-tree
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find rbgym envs agents tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamp files: an environment is installed again only when what it is made from has changed.
.venv/.created $(patsubst %,.venv-%/.created,bench clients lowest newest release rllib wheel wheel-agents):
	$(call create_venv,$(@D))

# A wheel brings what it asks for: nothing that an older one asked for may be left.
.venv-wheel/.created .venv-wheel-agents/.created: pyproject.toml

.venv/.agents: pyproject.toml constraints.txt | .venv/.created
	@echo "installing rbgym[agents,render,view] in .venv"
	@tests/install.sh $(BIN)/python -c constraints.txt -e '.[agents,render,view]'
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/.created
	@echo "installing rbgym[dev] in .venv"
	@tests/install.sh $(BIN)/python -c constraints.txt -e '.[dev]'
	@touch .venv/.agents $@

.venv/.browser: .venv/.dev
	@echo "installing rbgym[browser] in .venv"
	@tests/install.sh $(BIN)/python -c constraints.txt -e '.[browser]'
	@touch $@

.venv-gymnasium/.created: constraints-rllib.txt | .venv/.created
	@rm -rf $(@D)
	@tests/install.sh $(BIN)/python --no-deps -c $< --target $(@D) gymnasium
	@touch $@

.venv-rllib/.test: pyproject.toml constraints-rllib.txt | .venv-rllib/.created
	@echo "installing rbgym[agents,campaign] and RLlib in .venv-rllib"
	@.venv-rllib/bin/python -P $(PIP_INSTALL) -c constraints-rllib.txt -e '.[agents,campaign]' 'ray[rllib]' pytest
	@touch $@

.venv-clients/.libraries: pyproject.toml constraints-clients.txt | .venv-clients/.created
	@echo "installing rbgym[agents,render] and the libraries of docs/libraries.md in .venv-clients"
	@.venv-clients/bin/python -P $(PIP_INSTALL) -c constraints-clients.txt -e '.[agents,render]' \
	    'minari[create,hdf5]' pytest rl_zoo3 skrl tianshou torchrl
	@touch $@

.venv-lowest/.test: pyproject.toml constraints-lowest.txt | .venv-lowest/.created
	@echo "installing rbgym[$(EXTRAS_OF_VERSIONS)] at its lowest in .venv-lowest"
	@.venv-lowest/bin/python -P $(PIP_INSTALL) -c constraints-lowest.txt -e '.[$(EXTRAS_OF_VERSIONS)]'
	@.venv-lowest/bin/python -P -m pip check --disable-pip-version-check
	@touch $@

.venv-release/.tools: pyproject.toml constraints.txt | .venv-release/.created
	@echo "installing rbgym[all,release] in .venv-release"
	@.venv-release/bin/python -P $(PIP_INSTALL) -c constraints.txt -e '.[all,release]'
	@touch $@

.venv-bench/.peers: pyproject.toml benchmarks/requirements.txt | .venv-bench/.created
	@echo "installing rbgym[agents] and what it is measured against in .venv-bench"
	@$(PEERS) -P $(PIP_INSTALL) -c benchmarks/requirements.txt -e '.[agents]'
	@$(PEERS) -P $(PIP_INSTALL) --only-binary :all: -r benchmarks/requirements.txt \
	    || grep -v '^#' benchmarks/requirements.txt | while read -r peer; do \
	        $(PEERS) -P $(PIP_INSTALL) --only-binary :all: -c benchmarks/requirements.txt "$$peer" \
	            || echo "left out: $$peer" >&2; \
	    done
	@touch $@
