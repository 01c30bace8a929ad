"""Collectives from StableHLO to values on the emulated chips, compared with numpy on the tensors of all chips.

Chip ``i`` has row ``i`` of every argument and result, and the module is written for one chip.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import Localised
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.target import load_target

pytestmark = [pytest.mark.usefixtures("same_bits_on_workers"), pytest.mark.quick]

Array = NDArray[np.float32]
MESH = Mesh((2, 4), ("x", "y"))
PLACES = {"f32": np.float32, "i32": np.int32}
COLUMNS = [[0, 4], [1, 5], [2, 6], [3, 7]]
ROWS = [[0, 1, 2, 3], [4, 5, 6, 7]]
ALL = [[0, 1, 2, 3, 4, 5, 6, 7]]
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
"""Halves of the second axis."""
TURNED = [[3, 0, 2, 1], [7, 4, 6, 5]]
"""The second axis in another order."""


@pytest.fixture(scope="module")
def board() -> Device:
    return Device(load_target("n300-llmbox"), trace_region_bytes=None)


def by_chip(sizes: Sequence[int]) -> tuple[Sharding, tuple[int, ...]]:
    """Returns sharding and global shape of a tensor whose first dimension, of size 1 on each chip, is that of chips."""
    return Sharding(((0, 1), *(() for _ in sizes[1:]))), (MESH.size, *sizes[1:])


def run(
    board: Device,
    source: str,
    inputs: Sequence[Array],
    results: Sequence[Sequence[int]],
    same: Container[int] = (),
    **options: object,
) -> tuple[Program, list[Array]]:
    """Runs a module for one chip on all chips, each with its row of the inputs; of inputs in ``same``, with all."""
    arguments = tuple(
        (Sharding(((),) * value.ndim), value.shape) if number in same else by_chip((1, *value.shape[1:]))
        for number, value in enumerate(inputs)
    )
    localised = Localised(parse_module(source), MESH, arguments, tuple(by_chip(sizes) for sizes in results))
    program = compile_module(localised, CompileOptions.parse(options), load_target("n300-llmbox"))
    assert program.mesh is not None
    shards = [
        split(torch.from_numpy(value), argument.sharding, program.mesh)
        for value, argument in zip(inputs, program.arguments, strict=True)
    ]
    outputs = board.load(program).run(shards, [None] * len(shards))
    joined = [
        join(output, result.sharding, program.mesh, result.global_shape).numpy()
        for output, result in zip(outputs, program.results, strict=True)
    ]
    return program, joined


def text(op: str, operand: str, result: str, body: str = "") -> str:
    region = ""
    if body:
        scalar = f"tensor<{operand.rpartition('x')[2]}>"
        region = f"""({{
    ^bb0(%a: {scalar}, %b: {scalar}):
      %s = stablehlo.{body} %a, %b : {scalar}
      stablehlo.return %s : {scalar}
    }})"""
    return f"""
func.func public @main(%x: tensor<{operand}>) -> tensor<{result}> {{
  %r = "stablehlo.{op} {region} : (tensor<{operand}>) -> tensor<{result}>
  return %r : tensor<{result}>
}}"""


def attribute(groups: Sequence[Sequence[int]]) -> str:
    return f"replica_groups = dense<{[list(group) for group in groups]}> : tensor<{len(groups)}x{len(groups[0])}xi64>"


def drawn(dtype: str, *sizes: int) -> Array:
    """Returns small integers, whose sums and products are exact."""
    generator = np.random.default_rng(len(sizes))
    return generator.integers(-3, 4, (MESH.size, *sizes[1:])).astype(PLACES[dtype])


every_level = pytest.mark.parametrize("level", [0, 2])
every_group = pytest.mark.parametrize(
    "groups", [COLUMNS, ROWS, ALL, PAIRS, TURNED], ids=["columns", "rows", "all", "pairs", "turned"]
)
REDUCERS: dict[str, Callable[..., Array]] = {
    "add": np.sum,
    "maximum": np.max,
    "minimum": np.min,
    "multiply": np.prod,
}


@every_group
@pytest.mark.parametrize("dtype", PLACES)
@pytest.mark.parametrize("reducer", REDUCERS)
def test_all_reduce(board: Device, reducer: str, dtype: str, groups: list[list[int]]) -> None:
    x = drawn(dtype, 1, 5, 7)
    source = text(f'all_reduce"(%x) <{{{attribute(groups)}}}>', f"1x5x7x{dtype}", f"1x5x7x{dtype}", reducer)
    _, (y,) = run(board, source, [x], [(1, 5, 7)])
    for group in groups:
        for position in group:
            np.testing.assert_array_equal(y[position], REDUCERS[reducer](x[group], axis=0))


@every_group
@every_level
def test_all_gather(board: Device, level: int, groups: list[list[int]]) -> None:
    count = len(groups[0])
    x = drawn("f32", 1, 5, 7)
    source = text(
        f'all_gather"(%x) <{{all_gather_dim = 2 : i64, {attribute(groups)}}}>', "1x5x7xf32", f"1x5x{7 * count}xf32"
    )
    _, (y,) = run(board, source, [x], [(1, 5, 7 * count)], optimization_level=level)
    for group in groups:
        for position in group:
            np.testing.assert_array_equal(y[position], np.concatenate(x[group], axis=1))


@every_group
@pytest.mark.parametrize("reducer", ["add", "minimum"])
def test_reduce_scatter(board: Device, reducer: str, groups: list[list[int]]) -> None:
    count = len(groups[0])
    x = drawn("f32", 1, 16, 7)
    operation = f'reduce_scatter"(%x) <{{scatter_dimension = 1 : i64, {attribute(groups)}}}>'
    _, (y,) = run(board, text(operation, "1x16x7xf32", f"1x{16 // count}x7xf32", reducer), [x], [(1, 16 // count, 7)])
    for group in groups:
        parts = np.split(REDUCERS[reducer](x[group], axis=0), count)
        for place, position in enumerate(group):
            np.testing.assert_array_equal(y[position], parts[place])


@every_group
def test_all_to_all(board: Device, groups: list[list[int]]) -> None:
    count = len(groups[0])
    x = drawn("f32", 1, 16, 7)
    operation = (
        f'all_to_all"(%x) <{{split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = {count} : i64, '
        f"{attribute(groups)}}}>"
    )
    result = (1, 16 // count, 7 * count)
    _, (y,) = run(board, text(operation, "1x16x7xf32", f"1x{16 // count}x{7 * count}xf32"), [x], [result])
    for group in groups:
        parts = [np.split(x[source], count) for source in group]
        for place, position in enumerate(group):
            np.testing.assert_array_equal(y[position], np.concatenate([part[place] for part in parts], axis=1))


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (5, 0)],
        [(position, (position + 3) % 8) for position in range(8)],
        [(2, 2), (3, 4), (4, 3)],
        [(position, position ^ 4) for position in range(8)],
    ],
)
def test_collective_permute(board: Device, pairs: list[tuple[int, int]]) -> None:
    x = drawn("f32", 1, 5, 7)
    x[0, 0, 0] = np.nan  # what chips without a source get does not depend on what they had
    rows = f"dense<{[list(pair) for pair in pairs]}> : tensor<{len(pairs)}x2xi64>"
    source = text(f'collective_permute"(%x) <{{source_target_pairs = {rows}}}>', "1x5x7xf32", "1x5x7xf32")
    _, (y,) = run(board, source, [x], [(1, 5, 7)])
    expected = np.zeros_like(x)
    for sender, receiver in pairs:
        expected[receiver] = x[sender]
    np.testing.assert_array_equal(y, expected)


def test_collective_broadcast(board: Device) -> None:
    x = drawn("f32", 1, 5, 7)
    source = text(f'collective_broadcast"(%x) <{{{attribute([[3, 1, 7]])}}}>', "1x5x7xf32", "1x5x7xf32")
    _, (y,) = run(board, source, [x], [(1, 5, 7)])
    expected = np.zeros_like(x)
    expected[[3, 1, 7]] = x[3]
    np.testing.assert_array_equal(y, expected)


def test_numbers_and_parts_of_chips(board: Device) -> None:
    source = """
func.func public @main(%x: tensor<1x16xf32>) -> (tensor<1xi32>, tensor<1x2xf32>, tensor<1x5xf32>) {
  %id = stablehlo.partition_id : tensor<ui32>
  %p = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %n = stablehlo.reshape %p : (tensor<i32>) -> tensor<1xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %begin = stablehlo.multiply %p, %two : tensor<i32>
  %part = stablehlo.dynamic_slice %x, %zero, %begin, sizes = [1, 2] : (tensor<1x16xf32>, tensor<i32>, tensor<i32>)
    -> tensor<1x2xf32>
  %wide = stablehlo.dynamic_slice %x, %zero, %begin, sizes = [1, 5] : (tensor<1x16xf32>, tensor<i32>, tensor<i32>)
    -> tensor<1x5xf32>
  return %n, %part, %wide : tensor<1xi32>, tensor<1x2xf32>, tensor<1x5xf32>
}"""
    x = drawn("f32", 1, 16)
    _, (numbers, parts, wide) = run(board, source, [x], [(1,), (1, 2), (1, 5)])
    assert numbers.tolist() == list(range(8))
    for position in range(8):
        np.testing.assert_array_equal(parts[position], x[position, 2 * position : 2 * position + 2])
        begin = min(2 * position, 11)
        np.testing.assert_array_equal(wide[position], x[position, begin : begin + 5])


JOINED = """
func.func public @main(%x: tensor<1x64x64xf32>, %w: tensor<1x64x64xf32>,
    %b: tensor<1x1x64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>})
    -> (tensor<1x16x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64xf32>) {
  %id = stablehlo.partition_id : tensor<ui32>
  %four = stablehlo.constant dense<4> : tensor<ui32>
  %column = stablehlo.remainder %id, %four : tensor<ui32>
  %p = stablehlo.convert %column : (tensor<ui32>) -> tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %size = stablehlo.constant dense<16> : tensor<i32>
  %begin = stablehlo.multiply %p, %size : tensor<i32>
  %product = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %sum = "stablehlo.all_reduce"(%product) <{GROUPS}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %part = stablehlo.dynamic_slice %sum, %zero, %begin, %zero, sizes = [1, 16, 64]
    : (tensor<1x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x64xf32>
  %other = "stablehlo.all_reduce"(%x) <{GROUPS}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %third = "stablehlo.all_reduce"(%w) <{GROUPS}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %rows = stablehlo.reshape %b : (tensor<1x1x64xf32>) -> tensor<1x64xf32>
  return %part, %other, %third, %rows
    : tensor<1x16x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64xf32>
}"""


@every_level
@pytest.mark.parametrize("numerics", ["exact", "silicon"])
def test_joined_collectives_have_the_same_values(board: Device, numerics: str, level: int) -> None:
    """Where passes join and merge collectives, as exact numerics do not, the values stay."""
    x, w, b = drawn("f32", 1, 64, 64), drawn("f32", 1, 64, 64)[:, ::-1].copy(), drawn("f32", 1, 1, 64)
    source = JOINED.replace("GROUPS", attribute(ROWS))
    results = [(1, 16, 64), (1, 64, 64), (1, 64, 64), (1, 64)]
    program, (part, other, third, rows) = run(
        board, source, [x, w, b], results, numerics=numerics, optimization_level=level
    )
    ops = [step.op for function in program.functions for step in function.body]
    assert ops.count("ttnn.reduce_scatter") == (numerics != "exact")
    assert ops.count("ttnn.all_reduce") == (3 if numerics == "exact" else 1)
    for group in ROWS:
        total = (x[group] @ w[group]).sum(axis=0)
        for place, position in enumerate(group):
            np.testing.assert_array_equal(part[position], total[16 * place : 16 * place + 16])
            np.testing.assert_array_equal(other[position], x[group].sum(axis=0))
            np.testing.assert_array_equal(third[position], w[group].sum(axis=0))
    np.testing.assert_array_equal(rows, b[:, 0])


@every_level
def test_a_bias_is_added_on_one_chip(board: Device, level: int) -> None:
    """The product adds it before the sum over chips, and infinities do not become NaN on the others."""
    source = """
func.func public @main(%x: tensor<1x64x64xf32>, %w: tensor<1x64x64xf32>,
    %b: tensor<64xf32> {ttcore.argument_type = #ttcore.argument_type<parameter>}) -> tensor<1x64x64xf32> {
  %product = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %sum = "stablehlo.all_reduce"(%product) <{GROUPS}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<64xf32>) -> tensor<1x64x64xf32>
  %r = stablehlo.add %sum, %bias : tensor<1x64x64xf32>
  return %r : tensor<1x64x64xf32>
}""".replace("GROUPS", attribute(COLUMNS))
    x, w = drawn("f32", 1, 64, 64), drawn("f32", 1, 64, 64)[:, ::-1].copy()
    b = np.arange(64, dtype=np.float32)
    b[5] = np.inf
    program, (y,) = run(board, source, [x, w, b], [(1, 64, 64)], same={2}, optimization_level=level)
    steps = [step.op for step in program.functions[0].body]
    assert steps.index("ttnn.all_reduce") > max(steps.index(op) for op in steps if op in ("ttnn.add", "ttnn.linear"))
    for group in COLUMNS:
        for position in group:
            np.testing.assert_array_equal(y[position], (x[group] @ w[group]).sum(axis=0) + b)
