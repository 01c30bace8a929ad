"""Integer ranges: guards of indices that the program computes are removed, guards of its arguments stay.

Each program also runs on the emulated card and is compared with JAX's CPU backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.analysis import ranges
from tt_xla.compiler.pipeline import compile_module
from tt_xla.ir.base import tensor
from tt_xla.ir.program import Program
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

Array = Any

GUARDS = {"lt", "le", "gt", "ge", "eq", "ne", "where", "clamp_scalar", "logical_and", "sign", "maximum", "minimum"}
"""Ops that guard indices."""

TABLE = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
ROWS = np.array([0, 5, -1, -6, 3], np.int32)
NUMBERS = np.array([-7, -6, -1, 0, 1, 5, 6, 7, 2**31 - 1, -(2**31)], np.int32)
WORDS = np.array([0, 1, 77, 2**31, 2**32 - 1], np.uint32)
SHIFTS = np.array([0, 1, 31, 32, 2**31], np.uint32)


def threefry_rotation(x: Array, by: Array) -> Array:
    return lax.shift_left(x, by) | lax.shift_right_logical(x, jnp.uint32(32) - by)


def beam(x: Array) -> Array:
    """Returns the best entries of a flattened table and their columns."""
    place = lax.top_k(x.reshape(-1), 5)[1]
    return x[place // 8], place % 8


FREE: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "argmax_as_index": (lambda x: jnp.take_along_axis(x, jnp.argmax(x, 1)[:, None], 1), (TABLE,)),
    "positions_of_topk": (lambda x: jnp.take_along_axis(x, lax.top_k(x, 3)[1], 1), (TABLE,)),
    "order_of_a_sort": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), (TABLE,)),
    "quotient_and_rest": (beam, (TABLE,)),
    "remainder_of_iota": (lambda x: x + (jnp.arange(8) % 8 >= 0), (TABLE,)),
    "shifts_of_32_bits": (threefry_rotation, (WORDS, SHIFTS)),
    "low_bits": (lambda x: jnp.clip(x & 5, 0, 5), (ROWS,)),
}
KEPT: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "argument_as_index": (lambda x, i: x[i], (TABLE, ROWS)),
    "floor_division": (lambda x: (x // 3, x // -3), (NUMBERS,)),
    "floor_remainder": (lambda x: (x % 3, x % -3), (NUMBERS,)),
    "sums_that_wrap": (lambda x: (x + 2**30 > 0, x * 2 < 4), (NUMBERS,)),
    "clipped_after_a_wrap": (lambda x: jnp.clip(jnp.maximum(x, 0) + 2**30, 0, 2**31 - 2), (NUMBERS,)),
    "sign_and_rest": (lambda x: (jnp.sign(x) != 1) & (lax.rem(x, 4) != 0), (NUMBERS,)),
    "of_an_unsigned": (lambda x: jnp.where(x < 5, x + 1, x), (WORDS,)),
    "nan_as_an_integer": (lambda x: jnp.clip(x, 5, 9).astype(jnp.int32) >= 5, (np.array([1, np.nan], np.float32),)),
    "chosen_by_another": (lambda x, y: jnp.clip(jnp.where(x < 0, y, x), 0, 5), (NUMBERS, -NUMBERS[::-1])),
}


def compiled(program: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> Program:
    module = jax.jit(program).lower(*inputs).compiler_ir("stablehlo")
    return compile_module(module, CompileOptions.parse({"numerics": "exact"}), load_target("n150"))


def ops(program: Program) -> list[str]:
    return [step.op.partition(".")[2] for function in program.functions for step in function.body]


def test_computed_positions_need_no_guards() -> None:
    for name, (program, inputs) in FREE.items():
        assert GUARDS.isdisjoint(ops(compiled(program, inputs))), name


def test_a_clamp_of_what_is_clamped_already_goes() -> None:
    program_ops = ops(compiled(lambda x: lax.clamp(1, lax.clamp(-3, x, 3) + 4, 7), (NUMBERS,)))
    assert program_ops.count("clamp_scalar") == 1


def test_arguments_keep_theirs() -> None:
    for name, (program, inputs) in KEPT.items():
        assert GUARDS.intersection(ops(compiled(program, inputs))), name


def test_a_remainder_that_rounds_down_is_told_by_its_sign() -> None:
    """The program needs one comparison instead of the three comparisons and the conjunction that JAX writes."""
    program_ops = ops(compiled(lambda x: x % 3, (NUMBERS,)))
    assert [program_ops.count(name) for name in ("remainder", "lt", "add", "where", "ne", "logical_and")] == [
        1,
        1,
        1,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize("name", [*FREE, *KEPT])
def test_equals_the_cpu(name: str) -> None:
    program, inputs = (FREE | KEPT)[name]
    references = jax.tree.leaves(jax.jit(program)(*inputs))
    tensors = [torch.from_numpy(value.copy()) for value in inputs]
    got = get_device("n150").load(compiled(program, inputs)).run(tensors, [0] * len(inputs))
    for one, other in zip(got, references, strict=True):
        np.testing.assert_array_equal(one.numpy(), np.asarray(other))


def test_a_value_that_is_used_often_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    value: SSAValue = ConstantOp.create(
        properties={"value": DenseIntOrFPElementsAttr.from_list(tensor((1,), si32), [1])},
        result_types=[tensor((1,), si32)],
    ).result
    for _ in range(7):
        value = ranges.Add.make([value, value], [tensor((1,), si32)]).results[0]
    asked: list[SSAValue] = []
    tensor_type = ranges.tensor_type
    monkeypatch.setattr(ranges, "tensor_type", lambda value: asked.append(value) or tensor_type(value))
    assert ranges.bounds(value) == (128, 128)
    assert len(set(asked)) == 8
    assert max(map(asked.count, asked)) == 2  # once for the type of the sum, and once for its rounding


def test_a_large_constant_is_no_splat_without_a_look_at_each_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(DenseIntOrFPElementsAttr, "get_values")
    for numbers, expected in (([3.5] * 4, 3.5), ([3.5, 1, 3.5, 3.5], None), ([1, 1, 1, 2], None)):
        type_ = tensor((4,), bf16)
        data = DenseIntOrFPElementsAttr.from_list(type_, numbers)
        assert splat(ConstantOp.create(properties={"value": data}, result_types=[type_]).result) == expected


def test_a_constant_without_elements_is_no_splat() -> None:
    type_ = tensor((0, 3), si32)
    data = DenseIntOrFPElementsAttr.from_list(type_, [])
    assert splat(ConstantOp.create(properties={"value": data}, result_types=[type_]).result) is None


@pytest.mark.parametrize(
    ("dtype", "products"), [(np.bool_, 3), (np.int8, 3), (np.int16, 6), (np.int32, 8)], ids=lambda value: str(value)
)
def test_integers_are_multiplied_in_no_more_parts_than_their_range_needs(dtype: Any, products: int) -> None:
    """The other operand is of unknown 32-bit integers, in three parts; the product of the two highest overflows."""
    chosen, numbers = np.ones((4, 5), dtype), np.ones((5, 6), np.int32)
    lowered = jax.jit(lambda x, y: x.astype(jnp.int32) @ y).lower(chosen, numbers)
    program = compile_module(lowered.compiler_ir("stablehlo"), CompileOptions(), load_target("n150"))
    assert ops(program).count("matmul") == products
