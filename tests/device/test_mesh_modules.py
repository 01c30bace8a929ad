"""Local StableHLO modules with collectives, compiled and run on the emulated chips of a system, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import Localised
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Role
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.target import load_target

pytestmark = pytest.mark.usefixtures("same_bits_on_workers")

SYSTEM = "n300-llmbox"
MESH = Mesh((2, 4), ("x", "y"))
WHOLE = Sharding(((), ()))
ROWS_OVER_X, ROWS_OVER_Y, COLUMNS_OVER_Y = Sharding(((0,), ())), Sharding(((1,), ())), Sharding(((), (1,)))
ALONG_X = "dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>"
ALONG_Y = "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>"
PARAMETER = '{ttcore.argument_type = "parameter"}'


def summed(value: str, groups: str, shape: str) -> str:
    return f""""stablehlo.all_reduce"({value}) <{{replica_groups = {groups}}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %sum = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }}) : (tensor<{shape}xf32>) -> tensor<{shape}xf32>"""


LAYER = f"""
func.func public @main(%x: tensor<4x64xf32>, %up: tensor<64x32xf32> {PARAMETER},
                       %down: tensor<32x64xf32> {PARAMETER}) -> (tensor<4x64xf32>, tensor<64xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x32xf32>
  %h = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
    : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %r = stablehlo.maximum %h, %zeros : tensor<4x32xf32>
  %part = stablehlo.dot_general %r, %down, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  %y = {summed("%part", ALONG_Y, "4x64")}
  %out = stablehlo.add %x, %y : tensor<4x64xf32>
  %rows = stablehlo.reduce(%out init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x64xf32>, tensor<f32>) -> tensor<64xf32>
  %total = {summed("%rows", ALONG_X, "64")}
  return %out, %total : tensor<4x64xf32>, tensor<64xf32>
}}"""


def load(text: str, arguments, results, **options: object):
    localised = Localised(parse_module(text), MESH, tuple(arguments), tuple(results))
    return Device(load_target(SYSTEM)).load(
        compile_module(localised, CompileOptions.parse(options), load_target(SYSTEM))
    )


def run(executable, *arrays: np.ndarray) -> list[np.ndarray]:
    program = executable.program
    tensors = zip(map(torch.from_numpy, arrays), program.arguments, strict=True)
    shards = [split(tensor, argument.sharding, program.mesh) for tensor, argument in tensors]
    versions = [None if argument.role is Role.INPUT else 70_000 + n for n, argument in enumerate(program.arguments)]
    results = zip(executable.run(shards, versions), program.results, strict=True)
    return [join(result, said.sharding, program.mesh, said.global_shape).numpy() for result, said in results]


def drawn(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_layer_over_two_axes(level, trace):
    """The batch over one axis, features over the other; small integers, whose products and sums are exact."""
    executable = load(
        LAYER,
        [(ROWS_OVER_X, (8, 64)), (COLUMNS_OVER_Y, (64, 128)), (ROWS_OVER_Y, (128, 64))],
        [(ROWS_OVER_X, (8, 64)), (Sharding(((),)), (64,))],
        optimization_level=level,
        enable_trace=trace,
    )
    up, down = drawn(64, 128, seed=1), drawn(128, 64, seed=2)
    for seed in range(4):
        x = drawn(8, 64, seed=seed)
        out, total = run(executable, x, up, down)
        expected = x + np.maximum(x @ up, 0) @ down
        assert np.array_equal(out, expected)
        np.testing.assert_allclose(total, expected.sum(0), rtol=1e-6)
    assert executable.state == ("captured" if trace else "warm")


LOOP = """
func.func public @main(%x: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %out:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<2x32xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %moved = "stablehlo.collective_permute"(%s) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5],
      [5, 6], [6, 7], [7, 4]]> : tensor<8x2xi64>}> : (tensor<2x32xf32>) -> tensor<2x32xf32>
    %sum = stablehlo.add %moved, %x : tensor<2x32xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<2x32xf32>
  }
  return %out#1 : tensor<2x32xf32>
}"""


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_ring_in_a_loop(level):
    """Each chip passes its sum to the next one along y, three times; after that it has added all four."""
    everywhere = Sharding(((0, 1), ()))
    executable = load(LOOP, [(everywhere, (16, 32))], [(everywhere, (16, 32))], optimization_level=level)
    x = drawn(16, 32, seed=0)
    (out,) = run(executable, x)
    sums = x.reshape(2, 4, 2, 32).sum(1, keepdims=True)
    assert np.array_equal(out, np.broadcast_to(sums, (2, 4, 2, 32)).reshape(16, 32))


def test_memory_is_that_of_one_chip():
    board = Device(load_target(SYSTEM))
    localised = Localised(
        parse_module(LAYER),
        MESH,
        ((ROWS_OVER_X, (8, 64)), (COLUMNS_OVER_Y, (64, 128)), (ROWS_OVER_Y, (128, 64))),
        ((ROWS_OVER_X, (8, 64)), (Sharding(((),)), (64,))),
    )
    program = compile_module(localised, CompileOptions.parse({}), load_target(SYSTEM))
    executable = board.load(program)
    run(executable, drawn(8, 64, seed=0), drawn(64, 128, seed=1), drawn(128, 64, seed=2))
    for chip in range(8):
        assert board.chip(chip).memory().program_peak == program.memory.dram_peak_bytes
    assert executable.executable.argument_bytes == sum(
        program.functions[0].values[value].layout.bytes
        for value in program.functions[0].arguments
        if program.functions[0].values[value].layout.on_device
    )


COUNTERS = """
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%seed: tensor<8x8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<8x8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %row = stablehlo.iota dim = 0 : tensor<8x8xui64>
    %column = stablehlo.iota dim = 1 : tensor<8x8xui64>
    %width = stablehlo.constant dense<4294967296> : tensor<ui64>
    %widths = stablehlo.broadcast_in_dim %width, dims = [] : (tensor<ui64>) -> tensor<8x8xui64>
    %start = stablehlo.multiply %widths, %row : tensor<8x8xui64>
    %place = stablehlo.add %start, %column : tensor<8x8xui64>
    %bits = stablehlo.constant dense<32> : tensor<8x8xui64>
    %shifted = stablehlo.shift_right_logical %place, %bits : tensor<8x8xui64>
    %high = stablehlo.convert %shifted : (tensor<8x8xui64>) -> tensor<8x8xui32>
    %low = stablehlo.convert %place : (tensor<8x8xui64>) -> tensor<8x8xui32>
    %both = stablehlo.xor %high, %low : tensor<8x8xui32>
    %result = stablehlo.add %both, %seed : tensor<8x8xui32>
    return %result : tensor<8x8xui32>
  }
}"""


def test_counters_of_random_numbers_are_those_of_one_device():
    """JAX counts random numbers with 64 bits, which the chip has not: every chip takes its part of constants."""
    target = load_target(SYSTEM)
    program = compile_module(parse_module(COUNTERS), CompileOptions(), target)
    seed = np.arange(64, dtype=np.uint32).reshape(8, 8)
    argument = program.arguments[0]
    shards = split(torch.from_numpy(seed), argument.sharding, program.mesh)
    (result,) = Device(target).load(program).run([shards], [None])
    joined = join(result, program.results[0].sharding, program.mesh, program.results[0].global_shape)
    row, column = np.indices((8, 8))
    assert np.array_equal(joined.numpy(), (row ^ column).astype(np.uint32) + seed)
