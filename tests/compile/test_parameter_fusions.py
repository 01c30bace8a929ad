"""Fusions that need parameters: const-eval computes what depends on parameters alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from jax import lax
from jaxlib.mlir import ir

from tests.closeness import relative_error
from tt_xla.compiler.pipeline import compile_module
from tt_xla.host import unregistered_dialects
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)
MOVES = {"deallocate", "get_device", "load_cached", "to_layout", "to_device", "reshape"}


@dataclass(frozen=True)
class Case:
    program: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    """One input, followed by parameters."""
    ops: tuple[str, ...]
    """All ops of the forward function except moves, at level 1."""
    parameters: bool = True


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return (0.5 * np.random.default_rng([seed, *shape]).standard_normal(shape)).astype(dtype)


def positive(size: int, seed: int) -> np.ndarray:
    return np.abs(normal(size, seed=seed)) + np.float32(0.25)


def conv(x: Array, w: Array, padding: str | list[tuple[int, int]] = "SAME", groups: int = 1, stride: int = 1) -> Array:
    spatial = "HW"[: x.ndim - 2]
    numbers = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    strides = (stride,) * len(spatial)
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, feature_group_count=groups)


def norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    return (x - mean) * (scale * lax.rsqrt(variance + 1e-3)) + bias


def flax_norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    """Normalises in float32, whatever the type of x."""
    y = (x.astype(jnp.float32) - mean) * (lax.rsqrt(variance + 1e-3) * scale) + bias
    return y.astype(x.dtype)


def torch_norm(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    """Normalises channels first, step by step."""
    scale, bias, mean, variance = (value[:, None, None] for value in (scale, bias, mean, variance))
    return (x - mean) * (1 / jnp.sqrt(variance + 1e-3)) * scale + bias


def statistics(size: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    return (normal(size, seed=seed + 1), normal(size, seed=seed + 2), normal(size, seed=seed + 3), positive(size, seed))


def repvgg(x: Array, w3: Array, w1: Array, *rest: Array) -> Array:
    three, one, identity = rest[:4], rest[4:8], rest[8:]
    return jax.nn.relu(norm(conv(x, w3), *three) + norm(conv(x, w1), *one) + norm(x, *identity))


X = normal(2, 8, 8, 32)
W3, W1 = normal(3, 3, 32, 32, seed=1), normal(1, 1, 32, 32, seed=2)

CASES = {
    "batch_norm": Case(lambda x, w, *p: norm(conv(x, w), *p), (X, W3, *statistics(32)), ("conv2d",)),
    "batch_norm_then_relu": Case(
        lambda x, w, *p: jax.nn.relu(norm(conv(x, w), *p)), (X, W3, *statistics(32)), ("conv2d",)
    ),
    "batch_norm_of_flax_in_bf16": Case(
        lambda x, w, *p: flax_norm(conv(x, w), *p), (X.astype(BF16), W3.astype(BF16), *statistics(32)), ("conv2d",)
    ),
    "batch_norm_of_torch": Case(
        lambda x, w, *p: torch_norm(
            lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")), *p
        ),
        (normal(2, 32, 8, 8), normal(32, 32, 3, 3, seed=1), *statistics(32)),
        ("permute", "conv2d", "permute"),
    ),
    "batch_norm_after_bias": Case(
        lambda x, w, b, *p: norm(conv(x, w) + b, *p), (X, W3, normal(32, seed=9), *statistics(32)), ("conv2d",)
    ),
    "batch_norm_depthwise": Case(
        lambda x, w, *p: norm(conv(x, w, groups=32), *p),
        (X, normal(3, 3, 1, 32, seed=1), *statistics(32)),
        ("conv2d",),
    ),
    "divided_by_a_number": Case(lambda x, w: conv(x, w) / 3, (X, W3), ("conv2d",)),
    "sum_of_convs": Case(lambda x, v, w: conv(x, v) + conv(x, w), (X, W1, W3), ("conv2d",)),
    "sum_of_strided_convs": Case(
        lambda x, v, w: conv(x, v, [(1, 1), (1, 1)], stride=2) + conv(x, w, "VALID", stride=2),
        (X, W3, W1),
        ("conv2d",),
    ),
    "repvgg": Case(repvgg, (X, W3, W1, *statistics(32), *statistics(32, 4), *statistics(32, 8)), ("conv2d",)),
    "flattened_channels_first": Case(
        lambda x, w: x.transpose(0, 3, 1, 2).reshape(2, -1) @ w, (X, normal(2048, 8)), ("matmul",)
    ),
    "flattened_in_another_order_transposed": Case(
        lambda x, w, b: x.transpose(0, 2, 3, 1).reshape(2, -1) @ w.T + b, (X, normal(8, 2048), normal(8)), ("linear",)
    ),
    # Programs that must not be fused.
    "flattened_by_inputs": Case(
        lambda x, w: x.transpose(0, 3, 1, 2).reshape(2, -1) @ w,
        (X, normal(2048, 8)),
        ("permute", "matmul"),
        parameters=False,
    ),
    "flattened_in_part": Case(
        lambda x, w: x.transpose(0, 3, 1, 2).reshape(64, 64) @ w, (X, normal(64, 8)), ("permute", "matmul")
    ),
    "batch_norm_of_inputs": Case(
        lambda x, w, *p: norm(conv(x, w), *p),
        (X, W3, *statistics(32)),
        ("permute", "from_device", "prepare_conv2d_weights", "conv2d", "subtract", "multiply", "multiply", "add"),
        parameters=False,
    ),
    "scaled_by_position": Case(lambda x, w, s: conv(x, w) * s, (X, W3, normal(8, 1)), ("conv2d", "multiply")),
    "scaled_and_used_again": Case(
        lambda x, w, s: (lambda y: (y * s, y))(conv(x, w)), (X, W3, normal(32)), ("conv2d", "multiply")
    ),
    "sum_of_convs_of_other_strides": Case(
        lambda x, v, w: conv(x, v, stride=2) + conv(x[:, ::2, ::2], w),
        (X, W3, W1),
        ("conv2d", "slice_static", "conv2d", "add"),
    ),
    "sum_of_convs_that_read_elsewhere": Case(
        lambda x, v, w: conv(x, v, [(2, 0), (2, 0)]) + conv(x, w, [(0, 0), (2, 0)])[:, :8],
        (X, W3, normal(1, 3, 32, 32, seed=5)),
        ("conv2d",),
    ),
    "sum_of_convs_that_cannot_meet": Case(
        lambda x, v, w: conv(x, v, [(0, 3), (1, 1)]) + conv(x, w, [(1, 0), (0, 0)]),
        (X, W3, W1),
        ("conv2d", "conv2d", "add"),
    ),
    "residual": Case(lambda x, w: conv(x, w) + x, (X, W3), ("conv2d", "add")),
}


def lowered(case: Case) -> Any:
    module = jax.jit(case.program).lower(*case.inputs).compiler_ir("stablehlo")
    main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
    with unregistered_dialects(module.context):
        role = ir.DictAttr.get({"ttcore.argument_type": ir.StringAttr.get("parameter")})
        if case.parameters:
            main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get({}), *[role] * (len(case.inputs) - 1)])
    return module


def compiled(name: str, level: int) -> Program:
    options = CompileOptions.parse({"optimization_level": level})
    return compile_module(lowered(CASES[name]), options, load_target("n150"))


@pytest.mark.parametrize("name", CASES)
def test_ops(name: str) -> None:
    steps = compiled(name, 1).functions[0].body
    program_ops = Counter(step.op.partition(".")[2] for step in steps)
    assert Counter({op: count for op, count in program_ops.items() if op not in MOVES}) == Counter(CASES[name].ops)


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_results(name: str, level: int) -> None:
    """The results differ from JAX's by no more than sums of 288 products do in the chip's numerics."""
    case = CASES[name]
    with jax.default_device(jax.devices("cpu")[0]):
        references = jax.tree.leaves(jax.jit(case.program)(*case.inputs))
    program = compiled(name, level)
    got = (
        get_device("n150").load(program).run([to_torch(value) for value in case.inputs], list(range(len(case.inputs))))
    )
    for one, other in zip(got, references, strict=True):
        expected = np.asarray(other).astype(np.float32)
        assert relative_error(one, torch.from_numpy(expected.copy())) < 2**-7  # results have 8 significant bits
