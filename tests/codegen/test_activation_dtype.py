"""Activations in bfloat8_b: what TT-NN takes, and how near the values stay to those of bfloat16."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
import torch

from tt_xla.codegen.judge import judge
from tt_xla.codegen.mock import Mock
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime.device import Device
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

ROWS, WIDTH, HEADS = 64, 128, 4


def _normalised(x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def _encoder(x: jax.Array, fused: jax.Array, out: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Returns the result of a transformer's encoder layer whose product follows it."""
    heads = (x @ fused).reshape(2, ROWS, 3, HEADS, WIDTH // HEADS).transpose(2, 0, 3, 1, 4)
    scores = jax.nn.softmax(heads[0] @ heads[1].swapaxes(-1, -2) * (WIDTH // HEADS) ** -0.5, axis=-1)
    attended = (scores @ heads[2]).swapaxes(1, 2).reshape(2, ROWS, WIDTH) @ out
    x = _normalised(x + attended)
    return _normalised(x + jax.nn.gelu(x @ up, approximate=False) @ down) @ out


SHAPES = ((2, ROWS, WIDTH), (WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))


def _compiled(**options: object) -> Program:
    arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in SHAPES]
    text = jax.jit(_encoder).lower(*arguments).as_text()
    text = re.sub(r"(%arg[1-4]: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', text)
    return compile_module(parse_module(text), CompileOptions.parse(options), load_target("p150"))


def _formats(program: Program) -> set[DataType]:
    """Returns the element types of what TT-NN's ops in the main function return."""
    function = program.functions[0]
    steps = [step for step in function.body if step.op.startswith("ttnn.")]
    return {function.values[result].layout.dtype for step in steps for result in step.results}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_ttnn_takes_block_float_activations(ttnn_mock: Mock, level: int) -> None:
    options = {"optimization_level": level, "experimental_activation_dtype": "bfp_bf8"}
    program, beside = _compiled(**options), _compiled(**options, experimental_weight_dtype="bfp_bf8")
    assert DataType.BFP_BF8 in _formats(program)
    assert not any(judged.refusals for judged in judge([program, beside], ttnn_mock))


def test_values_stay_near_those_of_bfloat16() -> None:
    torch.manual_seed(0)
    arguments = [torch.randn(shape) / (shape[0] ** 0.5 if len(shape) == 2 else 1) for shape in SHAPES]
    results: list[torch.Tensor] = []
    for dtype in ("bf16", "bfp_bf8"):
        program = _compiled(optimization_level=2, experimental_activation_dtype=dtype)
        inputs = [argument.bfloat16() for argument in arguments]
        (result,) = Device(load_target("p150")).load(program).run(inputs, [None] * len(inputs))
        assert result.dtype is torch.bfloat16
        results.append(result.flatten().float())
    coefficient = torch.corrcoef(torch.stack(results))[0, 1].item()
    assert 0.99 < coefficient < 0.99999
    predicted = [_compiled(optimization_level=2, experimental_activation_dtype=dtype) for dtype in ("bf16", "bfp_bf8")]
    assert predicted[1].predicted_device_us < predicted[0].predicted_device_us


def test_bfp8_conversion_converts_weights_and_ops() -> None:
    both = CompileOptions.parse({"enable_bfp8_conversion": True})
    assert (both.experimental_weight_dtype, both.experimental_activation_dtype) == ("bfp_bf8", "bfp_bf8")
    kept = _compiled(enable_bfp8_conversion=True, experimental_activation_dtype="bf16")
    assert DataType.BFP_BF8 not in _formats(kept)
    assert DataType.BFP_BF8 in _formats(_compiled(enable_bfp8_conversion=True))
