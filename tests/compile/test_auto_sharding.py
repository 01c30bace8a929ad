"""The search for shardings of arguments: what it chooses, what it keeps, and what it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from benchmarks.programs import PROGRAMS
from tests.golden import Goldens
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.auto_sharding import Outcome, Search, jax_code, torch_code
from tt_xla.compiler.pipeline import search_shardings
from tt_xla.cost import predicted_device_us
from tt_xla.errors import CompileError, MeshError, OptionError, ResourceExhaustedError
from tt_xla.ir.mesh import Sharding, replicated
from tt_xla.ir.program_text import number
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

BOX = load_target("n300-llmbox")


def array(*shape: int, dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def module_of(function: Callable[..., Any], *shapes: Any) -> Any:
    return parse_module(jax.jit(function).lower(*shapes).as_text(), "test")


def outcome_on(devices: tuple[int, ...]) -> Outcome:
    """Searches for a mesh of two devices of the box that the user chose."""
    program = mlp(2, 1024, 4096, 1)
    return search_shardings(program, (2,), CompileOptions(), BOX, devices).run()


def searched(module: Any, shape: tuple[int, ...] = (2, 4), **options: object) -> Outcome:
    return search_shardings(module, shape, CompileOptions.parse(options), BOX).run()


def predicted(module: Any) -> float:
    program = compile_module(module, CompileOptions(), BOX)
    return predicted_device_us(program.functions[0], BOX, program.functions, program.mesh)


def mlp(layers: int, width: int, inner: int, batch: int) -> Any:
    """Returns layers whose weights follow each other among the arguments; the input is the last one."""

    def forward(weights: list[Any], x: Any) -> Any:
        for up, down in weights:
            x = x + jax.nn.relu(x @ up) @ down
        return x

    return module_of(forward, [(array(width, inner), array(inner, width))] * layers, array(batch, width))


def axes(sharding: Sharding) -> list[tuple[int, ...]]:
    return [tuple(sorted(split)) for split in sharding.dims]


SEARCHES = ("one row", "square weights", "heads")
"""Names of the searches whose trials have golden texts."""


def trials(outcome: Outcome) -> Iterator[str]:
    """Yields the outcome of a search and, for each trial, its predicted figures and the axes that split arguments."""
    yield outcome.summary()
    for trial in outcome.trials:
        shardings = "; ".join(str([list(split) for split in sharding.dims]) for sharding in trial.shardings)
        yield f"{number(trial.us)} us, {trial.dram_bytes} B, links {number(trial.link_us)} us: {shardings}"


def test_every_golden_search_has_a_test(goldens: Goldens) -> None:
    goldens.has_only("auto_sharding", {"searches": SEARCHES})


def test_one_row_splits_weights(goldens: Goldens) -> None:
    """Each layer's inner dimension is split in both weights, for all layers alike, and the input is on all chips."""
    outcome = searched(mlp(4, 1024, 4096, 1))
    goldens.check("auto_sharding/searches", SEARCHES[0], trials(outcome))
    *weights, x = outcome.chosen.shardings
    assert x.is_replicated
    assert len(set(weights[::2])) == len(set(weights[1::2])) == 1
    assert weights[0].dims[1] == weights[1].dims[0] != ()
    assert outcome.chosen.us < 0.8 * predicted(mlp(4, 1024, 4096, 1))


def test_many_rows_of_a_small_model_split_the_batch() -> None:
    outcome = searched(mlp(4, 256, 512, 4096))
    *weights, x = outcome.chosen.shardings
    assert axes(x) == [(0, 1), ()]
    assert all(weight.is_replicated for weight in weights)
    assert outcome.chosen.link_us == 0


def test_a_model_too_large_for_one_chip_becomes_one_that_fits() -> None:
    module = mlp(12, 8192, 40960, 32)
    with pytest.raises(ResourceExhaustedError):
        compile_module(module, CompileOptions(), BOX)
    chosen = searched(module).chosen
    assert 0 < chosen.dram_bytes < BOX.dram_banks * BOX.dram_bank_bytes
    assert not any(sharding.is_replicated for sharding in chosen.shardings[:-1])


def test_a_model_that_fits_on_no_mesh_is_refused() -> None:
    with pytest.raises(ResourceExhaustedError, match="DRAM does not hold the program"):
        searched(mlp(8, 16384, 65536, 32), (1, 2))


def test_square_weights_in_a_row_split_alternating_dimensions(goldens: Goldens) -> None:
    def forward(weights: list[Any], x: Any) -> Any:
        for weight in weights:
            x = jax.nn.relu(x @ weight)
        return x

    outcome = searched(module_of(forward, [array(4096, 4096)] * 4, array(32, 4096)), (1, 8))
    goldens.check("auto_sharding/searches", SEARCHES[1], trials(outcome))
    first, second, third, fourth, _ = outcome.chosen.shardings
    assert first == third
    assert second == fourth
    assert sorted([axes(first), axes(second)]) == [[(), (1,)], [(1,), ()]]


def test_heads_with_fewer_keys_are_split_as_far_as_keys_allow(goldens: Goldens) -> None:
    """Two heads of keys serve eight heads of queries, so the heads are split over two chips, not over four."""

    def attention(wq: Any, wk: Any, wv: Any, wo: Any, x: Any) -> Any:
        q = (x @ wq).reshape(1, 32, 8, 64).transpose(0, 2, 1, 3)
        k, v = ((x @ w).reshape(1, 32, 2, 64).transpose(0, 2, 1, 3) for w in (wk, wv))
        k, v = (jnp.repeat(each, 4, 1) for each in (k, v))
        return (jax.nn.softmax(q @ k.swapaxes(2, 3)) @ v).transpose(0, 2, 1, 3).reshape(1, 32, 512) @ wo

    module = module_of(
        attention, array(2048, 512), array(2048, 128), array(2048, 128), array(512, 2048), array(1, 32, 2048)
    )
    search = search_shardings(module, (2, 4), CompileOptions(), BOX)
    outcome = search.run()
    goldens.check("auto_sharding/searches", SEARCHES[2], trials(outcome))
    heads = next(unit for unit in search.units.units if (1, 1) in unit.places)
    assert sorted(heads.places) == [(0, 1), (1, 1), (2, 1), (3, 0)]
    assert heads.granularity == 2
    for trial in outcome.trials:
        assert {tuple(trial.shardings[number].dims[dim]) for number, dim in heads.places} in ({()}, {(0,)})


def test_repeated_layers_are_searched_as_one() -> None:
    counts = []
    for layers in (2, 24):
        search = search_shardings(mlp(layers, 256, 1024, 1), (2, 4), CompileOptions(), BOX)
        search.run()
        counts.append((len(search.units.units), len(search.estimator.shapes)))
    assert counts[0] == counts[1]


def test_the_search_is_deterministic() -> None:
    first, second = (searched(mlp(2, 512, 2048, 32)) for _ in range(2))
    assert first.trials == second.trials
    assert str(first.module) == str(second.module)


def test_shardings_of_the_user_stay() -> None:
    text = """
sdy.mesh @mesh = <["rows"=2, "columns"=4]>
func.func public @main(
  %x: tensor<4096x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"columns"}, {}]>},
  %w: tensor<256x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %v: tensor<512x256xbf16>
) -> tensor<4096x256xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4096x256xbf16>, tensor<256x512xbf16>) -> tensor<4096x512xbf16>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0]
    : (tensor<4096x512xbf16>, tensor<512x256xbf16>) -> tensor<4096x256xbf16>
  return %1 : tensor<4096x256xbf16>
}"""
    outcome = searched(parse_module(text, "test"), ())
    assert outcome.mesh.axes == ("rows", "columns")
    for trial in outcome.trials:
        assert trial.shardings[:2] == (Sharding(((1,), ())), replicated(2))
    assert outcome.chosen.shardings[2].axes <= {0}
    fixed = searched(outcome.module, ())
    assert [trial.shardings for trial in fixed.trials] == [outcome.chosen.shardings]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["bert", "llama_decode", "mlp_train"])
def test_quick_estimates_rank_plans_as_the_compiler_does(name: str) -> None:
    """Of plans taken evenly from the quick search, the order by estimate is close to that by predicted time."""
    program = PROGRAMS[name]()
    search = search_shardings(module_of(program.function, *program.shapes), (2, 4), CompileOptions(), BOX)
    search.limits = 1, 1
    search.run()
    with search.module.context:
        plans = [plan for plan in search.quick_plans() if not plan.stored]
        trials = {plan: search.trial(tuple(search.shardings(plan))) for plan in plans[:: max(len(plans) // 10, 1)]}
    pairs = [(search.score(plan), trial.us) for plan, trial in trials.items() if not trial.error]
    ordered = [
        (first[0] < second[0]) == (first[1] < second[1])
        for first, second in itertools.combinations(pairs, 2)
        if abs(first[1] - second[1]) > 0.1 * max(first[1], second[1])
    ]
    assert len(ordered) > 10
    assert sum(ordered) > 0.75 * len(ordered), sorted(pairs)


def test_meshes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MeshError, match="A mesh of 4x4 needs 16 chips; n300-llmbox has 8 chips"):
        searched(mlp(1, 64, 64, 64), (4, 4))


def test_a_module_for_another_mesh_is_refused() -> None:
    text = """
sdy.mesh @mesh = <["rows"=2, "columns"=4]>
func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}"""
    with pytest.raises(OptionError, match=r"asks for a mesh of 4x2; the module has a mesh of 2x4"):
        searched(parse_module(text, "test"), (4, 2))
    with pytest.raises(OptionError, match=r"asks for a mesh of 2x2, which has 4 chips; the module is for 8"):
        searched(parse_module(text, "test"), (2, 2))


def test_a_module_that_cannot_be_compiled_is_refused_as_without_the_search() -> None:
    text = """
func.func public @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.custom_call @unknown(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}"""
    with pytest.raises(CompileError, match="unknown"):
        searched(parse_module(text, "test"))


def test_chosen_devices_are_priced_by_the_links_between_them() -> None:
    first, linked, apart = outcome_on(()), outcome_on((1, 2)), outcome_on((0, 3))
    assert first.chosen.link_us == linked.chosen.link_us < apart.chosen.link_us
    assert (first.mesh.devices, linked.mesh.devices, apart.mesh.devices) == ((), (1, 2), (0, 3))
    assert first.module.operation.get_asm() == linked.module.operation.get_asm()


def test_estimates_of_the_search_know_the_chosen_devices() -> None:
    estimates: list[float] = []
    for devices in ((1, 2), (0, 3)):
        search = search_shardings(mlp(2, 1024, 4096, 1), (2,), CompileOptions(), BOX, devices)
        chosen = search.run().chosen
        estimates.append(max(search.estimator.estimate(plan).us for plan in search.quick_plans()))
        assert chosen.link_us > 0
    assert estimates[0] < estimates[1]


def test_loops_and_composites_are_looked_into() -> None:
    """The weights of all layers are one argument, which a scan slices."""

    def forward(up: Any, down: Any, x: Any) -> Any:
        return jax.lax.scan(lambda x, w: (x + jax.nn.gelu(x @ w[0]) @ w[1], None), x, (up, down))[0]

    outcome = searched(module_of(forward, array(4, 1024, 4096), array(4, 4096, 1024), array(1, 1024)), (1, 8))
    assert outcome.chosen.shardings[0].dims == ((), (), (1,))
    assert outcome.chosen.shardings[1].dims == ((), (1,), ())


def test_elementwise_ops_of_chlo_keep_the_batch_split() -> None:
    """Shardy itself has no rule for the ops of CHLO, such as the error function in gelu."""

    def forward(up: Any, down: Any, x: Any) -> Any:
        return jax.nn.gelu(x @ up, approximate=False) @ down

    outcome = searched(module_of(forward, array(512, 1024), array(1024, 512), array(4096, 512)))
    assert axes(outcome.chosen.shardings[2]) == [(0, 1), ()]
    assert outcome.chosen.link_us == 0


def test_a_training_step_that_does_not_fit_is_stored_in_parts() -> None:
    """A large batch is split, and parameters and optimizer's state are split over the same chips."""

    def step(weights: list[Any], momentum: list[Any], x: Any) -> Any:
        def loss(weights: list[Any]) -> Any:
            y = x
            for weight in weights:
                y = jnp.tanh(y @ weight)
            return jnp.mean(y.astype(jnp.float32) ** 2)

        gradients = jax.grad(loss)(weights)
        momentum = [0.9 * m + g for m, g in zip(momentum, gradients, strict=True)]
        return [w - 0.01 * m for w, m in zip(weights, momentum, strict=True)], momentum

    weights = [array(16384, 16384)] * 8
    module = module_of(step, weights, weights, array(4096, 16384))
    with pytest.raises(ResourceExhaustedError):
        compile_module(module, CompileOptions(), BOX)
    chosen = searched(module, (1, 8)).chosen
    assert chosen.dram_bytes < BOX.dram_banks * BOX.dram_bank_bytes
    assert all(not sharding.is_replicated for sharding in chosen.shardings[:16])


def test_the_option_compiles_for_the_chosen_shardings() -> None:
    module = mlp(2, 1024, 4096, 1)
    outcome = searched(module)
    program = compile_module(module, CompileOptions.parse({"auto_sharding": "2x4"}), BOX)
    assert program.mesh is not None
    assert program.mesh.shape == (2, 4)
    assert tuple(argument.sharding for argument in program.arguments) == outcome.chosen.shardings
    assert predicted_device_us(program.functions[0], BOX, program.functions, program.mesh) == outcome.chosen.us


def test_one_chip_has_nothing_to_split() -> None:
    module, chip = mlp(1, 64, 64, 64), load_target("n150")
    assert compile_module(module, CompileOptions.parse({"auto_sharding": True}), chip).mesh is None
    with pytest.raises(MeshError, match="A mesh of 2x4 needs 8 chips; n150 has 1 chip"):
        compile_module(module, CompileOptions.parse({"auto_sharding": "2x4"}), chip)


def test_the_chosen_shardings_are_printed_as_code() -> None:
    outcome = searched(mlp(1, 1024, 4096, 1), (1, 8))
    specs: dict[str, Any] = {"jax": jax}
    source = jax_code(outcome.arguments, outcome.chosen.shardings, outcome.mesh)
    lines = [line for line in source.splitlines() if not line.startswith("mesh = ")]  # the test has one device
    exec("\n".join(lines), specs)
    expected = [
        jax.sharding.PartitionSpec(*(outcome.mesh.axes[split[0]] if split else None for split in sharding.dims))
        if sharding.axes
        else jax.sharding.PartitionSpec()
        for sharding in outcome.chosen.shardings
    ]
    assert specs["specs"] == expected
    assert 'mesh = jax.make_mesh((1, 8), ("x", "y"))' in source
    torch_source = torch_code(outcome.arguments, outcome.chosen.shardings, outcome.mesh)
    assert 'xs.mark_sharding(arg0, mesh, (None, "y"))' in torch_source


def test_searches_say_how_far_they_are() -> None:
    search: Search = search_shardings(mlp(2, 512, 2048, 32), (2, 4), CompileOptions(), BOX)
    told: list[tuple[bool, int]] = []
    search.progress = lambda trial, coming: told.append((trial is None, coming))
    outcome = search.run()
    assert told[0][0]
    assert told[0][1] >= len(outcome.trials)
    assert len(told) == 1 + len(outcome.trials)
