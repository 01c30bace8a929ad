"""A decoder of many users computes their rows together, whatever dimensions the program puts around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from benchmarks.decoders import Decoder, row
from benchmarks.programs import language
from conformance.check_programs import to_numpy, to_torch
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.emulator.formats import quantize
from tt_xla.target import load_target

USERS, LENGTH, HEADS, GROUPS, HEAD = 32, 512, 8, 2, 32
WIDTH = HEADS * HEAD


def arrays(shapes: Any) -> Any:
    """Draws values for shapes, scaled so that activations keep their magnitude."""
    random = np.random.default_rng(0)

    def draw(of: jax.ShapeDtypeStruct) -> Any:
        if jnp.issubdtype(of.dtype, jnp.integer):
            return jnp.asarray(random.integers(0, 40, of.shape), of.dtype)
        scale = 1 if len(of.shape) < 2 else of.shape[0] ** -0.5
        return jnp.asarray(random.standard_normal(of.shape) * scale, of.dtype)

    return jax.tree.map(draw, shapes)


def llama(params: Any, caches: Any, tokens: Any, position: Any) -> Any:
    return language.llama_decode(params, caches, tokens, position, HEADS, GROUPS)


def inputs() -> tuple[Any, ...]:
    bf16 = jnp.bfloat16
    return arrays(
        (
            language.llama_parameters(bf16, 2, WIDTH, HEADS, GROUPS, 2 * WIDTH, 512),
            language.cache_shapes(bf16, 2, GROUPS, LENGTH, HEAD, USERS),
            jax.ShapeDtypeStruct((USERS, 1), jnp.int32),
            jax.ShapeDtypeStruct((), jnp.int32),
        )
    )


def compiled(function: Callable[..., Any], values: tuple[Any, ...], **options: Any) -> Program:
    text = jax.jit(function, donate_argnums=(1,), keep_unused=True).lower(*values).as_text()
    return compile_module(parse_module(text), CompileOptions.parse(options), load_target("n150"))


def products(program: Program) -> list[tuple[int, ...]]:
    """Returns the shape of each product's result."""
    return [
        function.values[step.results[0]].shape
        for function in program.functions
        for step in function.body
        if step.op in ("ttnn.matmul", "ttnn.linear")
    ]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_products_of_a_decoder_have_all_users_in_one_tile_of_rows(level: int) -> None:
    program = compiled(llama, inputs(), optimization_level=level)
    assert {shape[-2] for shape in products(program)} == {USERS}


def test_the_benchmark_of_decoders_scales_a_layer() -> None:
    decoder = Decoder(4, WIDTH, HEADS, GROUPS, 2 * WIDTH, vocabulary=512, length=LENGTH)
    programs = tuple(decoder.compiled(layers, 2) for layers in (1, 2, 4))
    line, ops = row("small", decoder, programs[:2])
    assert sum(argument.role == "parameter" for argument in programs[0].arguments) == 12
    assert ops["ttnn.paged_update_cache"] > 0
    predicted = float(line.split("|")[5].split()[0])
    assert predicted == pytest.approx(1e6 / programs[2].predicted_device_us, rel=0.05)


@pytest.mark.parametrize("level", [0, 2])
def test_a_decoder_attends_by_the_op_for_decoding(level: int) -> None:
    program = compiled(llama, inputs(), optimization_level=level)
    ops = [step.op for function in program.functions for step in function.body]
    assert ops.count("ttnn.scaled_dot_product_attention_decode") == 2
    assert "ttnn.scaled_dot_product_attention" not in ops
    assert sum(op == "ttnn.paged_update_cache" for op in ops) == 4


@pytest.mark.parametrize("trace", [False, True])
def test_logits_of_a_decoder_leave_in_rows(trace: bool) -> None:
    """In tiles each of the 32 rows would be padded to a tile."""
    values = inputs()
    program = compiled(llama, values, optimization_level=2, enable_trace=trace)
    entry = program.functions[0]
    logits = entry.values[entry.results[0]]
    assert logits.shape == (USERS, 1, 512)
    assert not logits.layout.tiled
    moved = [
        step.cost.total_us
        for function in program.functions
        for step in function.body
        if step.op == "ttnn.reshape" and function.values[step.results[0]].shape == logits.shape
    ]
    assert moved == [0.0]
    leaves = [to_torch(value) for value in jax.tree.leaves(values)]
    result = get_device("n150").load(program).run(leaves, [None] * len(leaves))[0]
    expected = np.asarray(jax.jit(llama)(*values)[0], np.float32)
    assert np.abs(to_numpy(result).astype(np.float32) - expected).max() <= 2**-5 * np.abs(expected).max()


@pytest.mark.parametrize("numerics", ["exact", "silicon"])
@pytest.mark.parametrize("level", [0, 2])
def test_a_decoder_equals_jax(level: int, numerics: str) -> None:
    values = inputs()
    program = compiled(llama, values, optimization_level=level, numerics=numerics)
    leaves = [to_torch(value) for value in jax.tree.leaves(values)]
    results = get_device("n150").load(program).run(leaves, [None] * len(leaves))
    expected = jax.tree.leaves(jax.jit(llama)(*values))
    for result, reference in zip(results, expected, strict=True):
        wanted = np.asarray(reference, np.float32)
        difference = np.abs(to_numpy(result).astype(np.float32) - wanted).max()
        assert difference <= 2**-5 * np.abs(wanted).max()
        assert torch.isfinite(result).all()


MASKS: dict[str, Callable[[Any, Any], Any]] = {
    "le": lambda keys, at: jnp.where(keys <= at, 0.0, -1e30),
    "mirrored": lambda keys, at: jnp.where(at >= keys, 0.0, -jnp.inf),
    "before the next": lambda keys, at: jnp.where(keys < at + 1, 0.0, jnp.finfo(jnp.bfloat16).min),
    "hidden": lambda keys, at: jnp.where(keys > at, -1e30, 0.0),
    "without itself": lambda keys, at: jnp.where(keys < at, 0.0, -1e30),
    "the last keys": lambda keys, at: jnp.where(keys >= at, 0.0, -1e30),
    "weak": lambda keys, at: jnp.where(keys <= at, 0.0, -2.0),
    "biased": lambda keys, at: jnp.where(keys <= at, 1.0, -1e30),
    "every second": lambda keys, at: jnp.where(2 * keys <= at, 0.0, -1e30),
}


@pytest.mark.sample(9)
@pytest.mark.parametrize("each", [False, True], ids=["one position", "a position of each"])
@pytest.mark.parametrize("name", MASKS)
def test_a_mask_up_to_the_position_becomes_the_position(name: str, each: bool) -> None:
    """Only such a mask does; the results are those of JAX, for the first and the last position too."""
    users, groups, keys, head = 32, 2, 64, 32

    def attend(query: Any, key: Any, value: Any, position: Any) -> Any:
        mask = MASKS[name](jnp.arange(keys), position.reshape(-1, 1)).astype(jnp.bfloat16)[:, None, None]
        scores = jnp.matmul(query, jnp.repeat(key, 16, 1).swapaxes(2, 3)) * head**-0.5 + mask
        weights = jax.nn.softmax(scores.astype(jnp.float32), -1).astype(query.dtype)
        return jnp.matmul(weights, jnp.repeat(value, 16, 1))

    sizes = [(users, groups * 16, 1, head), (users, groups, keys, head), (users, groups, keys, head)]
    tensors = arrays([jax.ShapeDtypeStruct(each_size, jnp.bfloat16) for each_size in sizes])
    position = jnp.arange(users, dtype=jnp.int32) * 2 + 1 if each else jnp.asarray([63], jnp.int32)
    program, (result,) = run(attend, (*tensors, position), 2)
    steps = [step for function in program.functions for step in function.body]
    (attention,) = (step for step in steps if step.op == "ttnn.scaled_dot_product_attention_decode")
    taken = name in ("le", "mirrored", "before the next", "hidden", "without itself")
    assert ("cur_pos_tensor" in attention.operands) is taken
    assert ("attention_mask" in attention.operands) is not taken
    assert attention.attributes["is_causal"] is taken
    expected = np.asarray(attend(*tensors, position), np.float32)
    assert np.abs(to_numpy(result).astype(np.float32) - expected).max() <= 2**-5 * np.abs(expected).max()


def correlation(result: torch.Tensor, reference: Any) -> float:
    """Returns Pearson's correlation of a result with its reference."""
    return float(
        np.corrcoef(to_numpy(result).astype(np.float32).ravel(), np.asarray(reference, np.float32).ravel())[0, 1]
    )


@pytest.mark.parametrize("dtype", ["bfp_bf8", "bf16"])
@pytest.mark.parametrize("level", [0, 2])
def test_a_cache_in_another_format(level: int, dtype: str) -> None:
    """It is written in place and read as it is, arrives and leaves as declared, and the logits agree with float32."""
    values = inputs()
    program = compiled(llama, values, optimization_level=level, experimental_kv_cache_dtype=dtype)
    caches = [
        (function.values[step.operands["cache"]].layout.dtype, step)
        for function in program.functions
        for step in function.body
        if step.op == "ttnn.paged_update_cache"
    ]
    assert {str(found) for found, _ in caches} == {dtype}
    steps = [step for function in program.functions for step in function.body]
    assert all(step.op != "ttnn.assign" for step in steps)
    entry = program.functions[0]
    big = (USERS, GROUPS, LENGTH, HEAD)
    assert not [step for step in steps if step.op == "ttnn.typecast" and entry.values[step.results[0]].shape == big]
    leaves = [to_torch(value) for value in jax.tree.leaves(values)]
    results = get_device("n150").load(program).run(leaves, [None] * len(leaves), donated=range(len(leaves)))
    exact = jax.tree.leaves(jax.jit(llama)(*jax.tree.map(_widened, values)))
    assert [result.dtype for result in results] == [torch.bfloat16] * 5
    assert all(correlation(*pair) > 0.999 for pair in zip(results, exact, strict=True))
    for cache in results[1:]:
        assert torch.equal(quantize(cache[0], dtype), cache[0].float())


def _widened(value: Any) -> Any:
    return value.astype(jnp.float32) if jnp.issubdtype(value.dtype, jnp.floating) else value


def test_a_very_wide_weight_is_cut_into_parts_that_fit_over_the_banks() -> None:
    """The parts are joined in their order, and const-eval cuts them once."""
    random = np.random.default_rng(0)
    x, weight = (jnp.asarray(random.standard_normal(sizes), jnp.bfloat16) for sizes in ((32, 768), (768, 49152)))
    text = jax.jit(jnp.matmul).lower(x, weight).as_text()
    text = text.replace(
        "%arg1: tensor<768x49152xbf16>", '%arg1: tensor<768x49152xbf16> {ttcore.argument_type = "parameter"}'
    )
    options = CompileOptions.parse({"optimization_level": 2, "enable_bfp8_conversion": True, "math_fidelity": "lofi"})
    program = compile_module(parse_module(text), options, load_target("n150"))
    products = [step for step in program.functions[0].body if step.op == "ttnn.matmul"]
    assert [step.attributes["matmul_program_config"]["config"] for step in products] == ["dram_sharded"] * 2
    assert "ttnn.slice_static" not in {step.op for step in program.functions[0].body}
    (result,) = get_device("n150").load(program).run([to_torch(x), to_torch(weight)], [None, None])
    assert correlation(result, np.asarray(x, np.float32) @ np.asarray(weight, np.float32)) > 0.999


def run(function: Callable[..., Any], values: tuple[Any, ...], level: int) -> tuple[Program, list[Any]]:
    """Returns the program of a function without caches, and its results on the card."""
    text = jax.jit(function).lower(*values).as_text()
    options = CompileOptions.parse({"optimization_level": level})
    program = compile_module(parse_module(text), options, load_target("n150"))
    tensors = [to_torch(value) for value in values]
    return program, get_device("n150").load(program).run(tensors, [None] * len(tensors))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_step_along_a_dimension_of_one_row(level: int) -> None:
    """It selects that row; the folded rows have no step."""

    def function(x: Any) -> Any:
        return jax.nn.relu(x)[:, ::2, 1:60:3] + 1

    x = np.random.default_rng(0).standard_normal((32, 1, 64)).astype(np.float32)
    _, (result,) = run(function, (x,), level)
    np.testing.assert_allclose(to_numpy(result), np.asarray(function(x)), rtol=1e-6)


@pytest.mark.parametrize("level", [0, 2])
def test_tables_of_rotations_have_other_users_too(level: int) -> None:
    """The rotation uses no repeat, reshape or concatenation of a table that comes after it."""

    def function(x: Any, cosine: Any, sine: Any) -> Any:
        rotated = x * cosine + jnp.concatenate((-x[..., 32:], x[..., :32]), -1) * sine
        return rotated, jnp.broadcast_to(cosine, (1, 1, 64, 64)) * 1.5, jnp.tile(sine, (1, 1, 64, 1))

    shapes = [jax.ShapeDtypeStruct(sizes, jnp.bfloat16) for sizes in ((2, 4, 64, 64), *[(1, 1, 1, 64)] * 2)]
    values = tuple(arrays(shapes))
    program, results = run(function, values, level)
    assert "ttnn.rotary_embedding" in {step.op for each in program.functions for step in each.body}
    for result, expected in zip(results, function(*values), strict=True):
        wanted = np.asarray(expected, np.float32)
        np.testing.assert_allclose(to_numpy(result).astype(np.float32), wanted, rtol=0.02, atol=0.02)
