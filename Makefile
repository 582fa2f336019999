# Needs only make and Python >= 3.11; everything else goes into .venv (and .venv-peers for the benchmarks).
BIN := .venv/bin
PEERS := .venv-peers/bin
BENCH_PYTHON = $(PEERS)/python
# The first interpreter that runs and is new enough: a shim may exist with no version behind it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
# A 3.13 that runs, on the path or kept by pyenv; where there is none, uv is asked to fetch one.
PYTHON313 ?= $(shell for p in python3.13 $(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python3.13) 3.13; do \
  test $$p = 3.13 && echo 3.13 && break; $$p -c '' >/dev/null 2>&1 && echo $$p && break; done)
export UV_SYSTEM_CERTS := 1
# Tests start hundreds of processes: what one of them has compiled, the others read.
export PYTHONDONTWRITEBYTECODE :=
INSTALL = $(BIN)/uv pip install --quiet --compile-bytecode
SECONDS ?= 60
SEED ?= 1
MUTANTS ?= 200
BENCHES := $(filter-out bench-scale,$(patsubst benchmarks/%.py,bench-%,$(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))))
SCALE := scale scale_hosts scale_simulation scale_spark

.PHONY: help demo test quick test-313 test-learning test-r check audit fuzz mutate format lint types layers docs dist container bench bench-scale lock clean
help:      ## what can be done here
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):[^#]*## /  make \1 \t/' | expand -t 20

demo: .venv/run      ## set up everything and show what lapwing does
	@$(BIN)/lapwing demo

# Workers share the cores already; a process that starts no threads for its matrices is up 50 to 100 ms sooner.
test quick audit test-313: export OPENBLAS_NUM_THREADS := 1
test: .venv/dev .venv/browser      ## run every test, doctests of the README and docstrings included
	@grep . .venv/browser || true
	$$(grep -q . .venv/browser && echo env LAPWING_NO_BROWSER=1) $(BIN)/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

quick: .venv/dev .venv/browser      ## the tests of what has changed SINCE=main, nearest first, in under two minutes
	@PYTHONPATH=src:tests $$(grep -q . .venv/browser && echo env LAPWING_NO_BROWSER=1) \
	  $(BIN)/python -m quick $(if $(SINCE),--since $(SINCE))

test-313: .venv-313/dev      ## run every test on Python 3.13, the one of this machine or one that uv fetches
	.venv-313/bin/python -m pytest -n auto --dist loadscope --no-loadscope-reorder

test-learning: .venv-learning/ready      ## what needs PyTorch: devices and modules of a training
	PYTHONPATH=src:tests .venv-learning/bin/python -m pytest -q --noconftest -o addopts= tests/learning/with_torch.py

test-r: .venv/dev      ## the client in R: built, checked and tested against real servers by this machine's R, where there is one
	@command -v R >/dev/null || { echo 'NOT TESTED: there is no R here. Install it, such as by: apt-get install r-base-core'; \
	  echo 'r-cran-httr2 r-cran-jsonlite r-cran-testthat r-cran-ggplot2 r-cran-knitr r-cran-rmarkdown'; exit 1; }
	PYTHONPATH=src:tests $(BIN)/python -m pytest -q --noconftest -o addopts= tests/doors/client/with_r.py

audit: .venv/dev      ## the subtle lies, the whole blind trial, long looks at whole sessions: minutes
	$(BIN)/python -m pytest -n auto --dist worksteal -v --durations=0 tests/audit/subtle.py

fuzz: .venv/dev      ## every fuzzer for SECONDS=60 each, from SEED=1: random questions, kills, damage, SQL, its truth
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(SECONDS) --seed $(SEED)

mutate: .venv/dev      ## MUTANTS=200 small mistakes from SEED=1 in what bounds, prices and charges: each must fail a test
	PYTHONPATH=src:tests $(BIN)/python -m mutation --mutants $(MUTANTS) --seed $(SEED)

check: lint types layers test      ## what must be green before a commit

format: .venv/dev      ## put every file into its final shape
	$(BIN)/ruff check --quiet --fix --unsafe-fixes . ; $(BIN)/ruff format --quiet .

lint: .venv/dev      ## style and mistakes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev      ## mypy, strict: the source, and the Python of README, docs and examples as readers type it
	$(BIN)/mypy
	$(BIN)/python tests/typing_tests/pages.py

layers: .venv/dev      ## imports point down
	$(BIN)/lint-imports

docs: .venv-docs/ready      ## the site, in site/_build/html: every warning and every link to nowhere is an error
	.venv-docs/bin/sphinx-build -W --keep-going -q -c site -b html . site/_build/html
	@.venv-docs/bin/python site/check.py site/_build/html
	@echo 'open site/_build/html/index.html'

dist: .venv/run      ## wheel, source and list of parts, in dist: built twice, installed clean, tried with each extra
	$(BIN)/python release/dist.py

container: .venv/run      ## try the Containerfile: with a container engine, or its steps one by one
	$(BIN)/python release/container.py

bench: $(filter-out $(SCALE:%=bench-%),$(BENCHES)) bench-scale      ## every benchmark beside its peers; make bench-noise etc. for one

$(BENCHES): bench-%: .venv-peers/ready
	$(BENCH_PYTHON) benchmarks/$*.py

# Each is run, also where one before it has missed a goal. Servers and Spark are the product's own extras, and the proxy
# is Debian's HAProxy: where there is none, the benchmark says so, and routes by a few lines of its own.
bench-scale: .venv/dev      ## several processes, hosts behind a proxy, the simulation and Spark, one after the other: five minutes
	@missed=; for one in $(SCALE); do printf '\n== benchmarks/%s.py\n' $$one; \
	  $(BIN)/python benchmarks/$$one.py || missed="$$missed $$one"; done; \
	  test -z "$$missed" || { printf '\nMissed a goal, or failed:%s\n' "$$missed"; exit 1; }

lock: .venv/run      ## choose new versions of what lapwing stands on
	$(BIN)/uv pip compile --quiet --universal --upgrade --no-header --no-annotate --all-extras --group dev --group docs \
	  pyproject.toml -o constraints.txt

clean:      ## forget all environments
	rm -rf .venv .venv-*

.venv/run: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo 'Python 3.11 or newer not found. Install it, or say: make PYTHON=/path/to/python'; exit 1; }
	@echo 'Setting up .venv (once)'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
	@$(INSTALL) --python $(BIN)/python -c constraints.txt -e '.[plots]'
	@touch $@

.venv/dev: .venv/run
	@$(INSTALL) --python $(BIN)/python -c constraints.txt -e '.[plots,postgres,spark,spark-connect,server,sign-in]' --group dev
	@touch $@

# The pages are read by a real browser, Debian's. Where it cannot be had, this file says so, and so does every run.
.venv/browser: .venv/run
	@command -v chromium >/dev/null || \
	  { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } >/dev/null 2>&1 || true
	@command -v chromium >/dev/null && : > $@ || \
	  echo '*** No chromium here, and apt-get cannot install it: THE BROWSER TESTS DO NOT RUN. ***' > $@

.venv-313/dev: .venv/run
	@$(BIN)/uv venv --quiet --clear --python $(PYTHON313) .venv-313 || { \
	  echo 'NOT TESTED on Python 3.13: there is none here, and uv could not fetch one.'; \
	  echo 'Install it, or say: make test-313 PYTHON313=/path/to/python3.13'; exit 1; }
	@$(INSTALL) --python .venv-313/bin/python -c constraints.txt -e '.[plots,postgres,spark,spark-connect,server,sign-in]' --group dev
	@touch $@

bench-learning: BENCH_PYTHON = .venv-learning/bin/python
bench-learning: .venv-learning/ready

# PyTorch is large: name an index that has its wheel for processors alone, TORCH_INDEX=..., where there is no GPU.
.venv-learning/ready: .venv/run benchmarks/peers-learning.txt
	@echo 'Setting up .venv-learning (once)'
	@$(PYTHON) -m venv .venv-learning
	@$(INSTALL) --python .venv-learning/bin/python $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) torch
	@$(INSTALL) --python .venv-learning/bin/python -c constraints.txt -e '.[learning]' pytest
	@$(INSTALL) --python .venv-learning/bin/python -r benchmarks/peers-learning.txt
	@touch $@

# Surveys beside the packages of the local model, which want an old xxhash; and all of the rooms of width, one by one.
bench-surveys: .venv-ldp/ready
.PHONY: bench-width
bench-width: bench-surveys bench-graphs bench-width_bayes bench-learning

bench-queries: .venv-smartnoise/ready .venv-tumult/ready

# Each of bench-scale alone: its servers, its Spark and its Java come with what the tests need.
bench-scale_hosts bench-scale_simulation bench-scale_spark: BENCH_PYTHON = .venv/bin/python
bench-scale_hosts bench-scale_simulation bench-scale_spark: .venv/dev

bench-publishing: .venv-private-pgm/ready

.venv-docs/ready: .venv/run
	@$(PYTHON) -m venv .venv-docs
	@$(INSTALL) --python .venv-docs/bin/python -c constraints.txt -e '.[server,sign-in]' --group docs
	@touch $@

# Peers are yardsticks: they never share an environment with the product.
.venv-peers/ready: .venv/run benchmarks/peers.txt
	@echo 'Setting up .venv-peers (once)'
	@$(PYTHON) -m venv .venv-peers
	@$(INSTALL) --python $(PEERS)/python -e '.[postgres,server]' -r benchmarks/peers.txt
	@touch $@

# Peers that quarrel with the others. One that cannot be installed here is left out, and the benchmark says so.
.venv-%/ready: .venv/run benchmarks/peers-%.txt
	@echo 'Setting up .venv-$* (once)'
	@$(PYTHON) -m venv .venv-$*
	@$(INSTALL) --python .venv-$*/bin/python -r benchmarks/peers-$*.txt || echo '$* cannot be installed here'
	@touch $@
