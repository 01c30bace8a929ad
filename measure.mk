# Benchmarks and conformance suites, which `make help-all` lists: what is measured, and against what results are compared.
# Most write tables into docs/. Makefile includes this file.

##@ Measure

bench: $(STAMP) ## measure compile times and run times
	@$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-columns=min,median,rounds

##@+ Benchmarks

bench-step: $(STAMP) ## compare a training step with eager torch, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.training_step --document docs/benchmarks.md

bench-models: $(STAMP) ## compare thirty models of four libraries with eager and inductor, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.real_models --document docs/benchmarks.md

bench-generation: $(STAMP) ## compare generate of transformers and a JAX decoder with eager and inductor, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.generation --document docs/benchmarks.md

bench-trainer: $(STAMP) ## compare steps of transformers' Trainer with eager and inductor, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.trainer --document docs/benchmarks.md

bench-profiling: $(STAMP) ## measure the overhead of recording, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.profiling --document docs/benchmarks.md

bench-calls: $(STAMP) ## compare calls of tiny compiled models with inductor's, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.calls --document docs/benchmarks.md

bench-first-call: $(STAMP) ## compare first calls, cold and from the caches, with inductor's and eager's, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.first_call --document docs/benchmarks.md

bench-jax-calls: $(STAMP) ## compare small jitted functions with JAX's CPU backend, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.jax_calls --document docs/benchmarks.md

bench-emulator: $(STAMP) ## compare the emulated card with torch, inductor, JAX and oneDNN, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.emulator --document docs/benchmarks.md

bench-data-parallel: $(STAMP) ## compare the emulation of data-parallel models on eight chips with one chip, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.data_parallel --document docs/benchmarks.md

bench-mesh-workers: $(STAMP) ## compare Ray workers with one process on models for eight chips, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.mesh_workers --document docs/benchmarks.md

bench-compile: $(STAMP) ## compare compile times and programs with upstream's compiler, in docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m benchmarks.compare_compilers --folder build/programs --dumps build/upstream --make-dumps --document docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m benchmarks.compare_mesh_compilers --folder build/programs --document docs/benchmarks.md

bench-growth: $(STAMP) ## measure compile times of 400 to 20,000 ops, in docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m benchmarks.growth --document docs/benchmarks.md

bench-shardings: $(STAMP) ## compare auto_sharding with splits by hand, by predicted time, in docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m benchmarks.shardings --document docs/benchmarks.md

bench-hand-tuned: $(STAMP) ## compare predicted throughput with hand-tuned models on silicon, in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.hand_tuned --document docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m benchmarks.decoders --document docs/benchmarks.md
	@$(BIN)/python -m benchmarks.torch_decoders --document docs/benchmarks.md

bench-guide: $(STAMP) ## predict what each recommendation of docs/performance.md gains, and write it there
	@$(BIN)/python -m benchmarks.guide --document docs/performance.md

##@+ The cost model

calibrate: $(STAMP) ## compare the cost model with measured times, in docs/cost_model.md: PERF=folder of CSV files
	@$(BIN)/python -m benchmarks.calibrate_cost $(if $(PERF),--folder $(PERF)) --document docs/cost_model.md

cross-validate: $(STAMP) ## cross-validate the cost model by sweeps, in docs/cost_model.md: PERF=folder
	@$(BIN)/python -m benchmarks.cross_validate_cost $(if $(PERF),--folder $(PERF)) --document docs/cost_model.md
	@$(BIN)/python -m benchmarks.fit_collectives --document docs/cost_model.md

##@+ Comparisons of numbers

numerics: $(STAMP) ## measure the deviations of ops from the exact value, in docs/numerics.md
	@$(BIN)/python -m conformance.numerics --document docs/numerics.md

default-numerics: $(STAMP) ## compare the default with bit_exact for models, in docs/numerics.md
	@TTXLA_SYSTEM=p150 JAX_PLATFORMS=cpu $(BIN)/python -m conformance.default_numerics --document docs/numerics.md

bench-training: $(STAMP) ## compare the losses of 200 training steps with the CPU's, in docs/benchmarks.md
	@$(BIN)/python -m conformance.training --document docs/benchmarks.md

bench-accuracy: $(STAMP) ## measure what the formats of hand-tuned models cost in accuracy, in docs/benchmarks.md; slow
	@$(BIN)/python -m conformance.accuracy --document docs/benchmarks.md

check-programs: $(STAMP) ## compare results of the benchmark programs with JAX's at each level, in docs/benchmarks.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m conformance.check_programs --document docs/benchmarks.md
	@$(BIN)/python -m conformance.check_mesh_programs --document docs/benchmarks.md

differential: $(STAMP) ## compare the emulated card with TT-NN (TT_METAL_SIMULATOR or a card), in docs/numerics.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m conformance.differential $(if $(JUDGE),--judge "$(JUDGE)") --document docs/numerics.md

differential-calls: $(STAMP) ## compare results of drawn calls of ttnn with TT-NN's (TT_METAL_SIMULATOR or a card), in docs/numerics.md: KEEP=folder LIST=1 SEED=1
	@$(BIN)/python -m conformance.ttnn_values $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep $(abspath $(KEEP))) $(if $(LIST),--list) --document docs/numerics.md

##@+ Comparisons with TT-NN, of generated source and of our ttnn

check-generated: $(STAMP) ## run generated sources in TT-NN's mock mode and check the C++ with g++, in docs/codegen.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m conformance.check_generated --examples --meshes \
	  --folder build/programs $(foreach folder,$(PACKAGES),--packages $(abspath $(folder))) --document docs/codegen.md

run-generated: $(STAMP) ## run generated Python of the benchmark programs on the emulated card, in docs/ttnn_api.md
	@JAX_PLATFORMS=cpu $(BIN)/python -m conformance.run_generated --document docs/ttnn_api.md

check-ttnn-api: $(STAMP) ## compare our ttnn with the functions and signatures of TT-NN (TTXLA_TTNN_PYTHON), in docs/ttnn_api.md
	@$(BIN)/python -m conformance.ttnn_signatures --document docs/ttnn_api.md

check-ttnn-calls: $(STAMP) ## make drawn calls of ttnn with ours and with the real one (TTXLA_TTNN_PYTHON), in docs/ttnn_api.md; LIST=1
	@$(BIN)/python -m conformance.dump_ttnn_refusals
	@$(BIN)/python -m conformance.ttnn_acceptance --document docs/ttnn_api.md $(if $(LIST),--list)

conformance-ttnn: $(STAMP) ## run tt-metal's unit tests of operations: TT_METAL=path/to/tenstorrent/tt-metal TTNN=site-packages EACH=40 SEED=b
	@$(BIN)/python -m conformance.run_ttnn $(TT_METAL) $(if $(TTNN),--goldens $(TTNN)) --each-file $(or $(EACH),40) \
	  --sample $(or $(SAMPLE),0) $(if $(SEED),--seed $(SEED)) \
	  $(if $(FAMILIES),--families "$(FAMILIES)",--document docs/ttnn_api.md)

conformance-ttnn-goldens: $(STAMP) ## compare results of our ttnn with TT-NN's golden functions over drawn calls: TTNN=site-packages
	@TTXLA_SYSTEM=p150 $(BIN)/python -m conformance.run_ttnn_goldens $(TTNN) --document docs/ttnn_api.md

##@+ Other projects' tests

conformance-jax: $(STAMP) ## run a sample of JAX's tests on platform tt; JAX_TESTS=DIR names a checkout, SAMPLE=0 runs all, FILES="pjit_test" some
	@$(BIN)/python -m conformance.run_jax $(if $(JAX_TESTS),--tests $(JAX_TESTS)) --sample $(or $(SAMPLE),25) \
	  $(if $(FILES),--files $(FILES) --no-table)

conformance-torch: $(STAMP) ## run PyTorch's op samples through torch.compile; SAMPLE=0 runs all, OPS="sort fft.*" some
	@$(BIN)/python -m conformance.run_torch --sample $(or $(SAMPLE),3) $(if $(OPS),--ops $(OPS))

conformance-torch-modules: $(STAMP) ## compare modules and optimizers with the CPU, eagerly and compiled; OPS="nn.Linear optim.*" runs some
	@$(BIN)/python -m conformance.run_torch --judge modules --sample $(or $(SAMPLE),2) $(if $(OPS),--ops $(OPS))

conformance-torch-special: $(STAMP) ## run them with NaN, infinities, zeros, ties, empty and 0-dim tensors; OPS="sort topk" runs some
	@$(BIN)/python -m conformance.run_torch_special --sample $(or $(SAMPLE),2) $(if $(OPS),--ops $(OPS))

conformance-torch-ranks: $(STAMP) ## run PyTorch's tests of torch.distributed with gloo and tt: PYTORCH=path/to/pytorch FILES="_tensor/*" AGAIN=1
	@$(BIN)/python -m conformance.run_torch_ranks $(PYTORCH) $(if $(AGAIN),--again) \
	  $(if $(FILES),--files "$(FILES)",--document docs/distributed.md)

conformance-stablehlo: $(STAMP) ## run StableHLO's tests on the emulated card: STABLEHLO=path/to/openxla/stablehlo
	@$(BIN)/python -m conformance.run_stablehlo $(STABLEHLO) --report docs/conformance.md

conformance-multi-chip: $(STAMP) ## run upstream's tests of several chips: TT_XLA=path/to/tenstorrent/tt-xla
	@$(BIN)/python -m conformance.run_multi_chip $(TT_XLA) --document docs/testing.md

conformance-torch-xla: $(STAMP) ## run pytorch/xla's tests: TORCH_XLA=path/to/pytorch/xla PACKAGES=site-packages FILES="spmd/*" SAMPLE=5 JOBS=2 AGAIN=1
	@$(BIN)/python -m conformance.run_torch_xla $(TORCH_XLA) $(if $(PACKAGES),--packages $(PACKAGES)) --jobs $(or $(JOBS),1) \
	  --sample $(or $(SAMPLE),0) $(if $(AGAIN),--again) \
	  $(if $(FILES)$(SAMPLE),--files "$(or $(FILES),*)",--document docs/conformance-torch-xla.md)
