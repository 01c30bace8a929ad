"""Small programs whose reports, graphs and sources have golden texts: a model, a step of training, and two chips."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.codegen.mesh_programs import tensor_parallel
from tt_xla.compiler import compile_module, read_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

_WEIGHT = 'ttcore.argument_type = "parameter", ttir.name'

MLP = f"""\
module @mlp {{
  func.func public @main(
    %x: tensor<2x64x96xbf16> {{ttir.name = "args_0"}},
    %up: tensor<96x128xbf16> {{{_WEIGHT} = "layers.0.fc.weight"}},
    %bias: tensor<128xbf16> {{{_WEIGHT} = "layers.0.fc.bias"}},
    %down: tensor<128x32xbf16> {{{_WEIGHT} = "layers.1.fc.weight"}}
  ) -> (tensor<2x64x32xbf16>, tensor<2x32xf32>) {{
    %0 = stablehlo.dot_general %x, %up, contracting_dims = [2] x [0]
      : (tensor<2x64x96xbf16>, tensor<96x128xbf16>) -> tensor<2x64x128xbf16> loc("model.py":7:8)
    %1 = stablehlo.broadcast_in_dim %bias, dims = [2]
      : (tensor<128xbf16>) -> tensor<2x64x128xbf16> loc("model.py":7:8)
    %2 = stablehlo.add %0, %1 : tensor<2x64x128xbf16> loc("model.py":7:8)
    %3 = stablehlo.tanh %2 : tensor<2x64x128xbf16> loc("model.py":8:8)
    %half = stablehlo.constant dense<0.5> : tensor<128x32xbf16>
    %scaled = stablehlo.multiply %down, %half : tensor<128x32xbf16> loc("model.py":6:8)
    %4 = stablehlo.dot_general %3, %scaled, contracting_dims = [2] x [0]
      : (tensor<2x64x128xbf16>, tensor<128x32xbf16>) -> tensor<2x64x32xbf16> loc("model.py":7:8)
    %5 = stablehlo.slice %4 [0:2, 63:64, 0:32] : (tensor<2x64x32xbf16>) -> tensor<2x1x32xbf16> loc("model.py":9:8)
    %6 = stablehlo.reshape %5 : (tensor<2x1x32xbf16>) -> tensor<2x32xbf16> loc("model.py":9:8)
    %7 = stablehlo.convert %6 : (tensor<2x32xbf16>) -> tensor<2x32xf32> loc("model.py":10:8)
    return %4, %7 : tensor<2x64x32xbf16>, tensor<2x32xf32>
  }}
}}
"""
"""Two layers, the second with a scaled weight, and the last position of their result."""

TRAINING = f"""\
module @training {{
  func.func public @main(
    %x: tensor<64x96xf32>, %y: tensor<64x32xf32>, %w: tensor<96x32xf32> {{{_WEIGHT} = "fc.weight"}}
  ) -> (tensor<96x32xf32>, tensor<f32>) {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32> loc("train.py":4:4)
    %1 = stablehlo.subtract %0, %y : tensor<64x32xf32> loc("train.py":5:4)
    %2 = stablehlo.multiply %1, %1 : tensor<64x32xf32> loc("train.py":6:4)
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32> loc("train.py":6:4)
    %4 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0]
      : (tensor<64x96xf32>, tensor<64x32xf32>) -> tensor<96x32xf32> loc("train.py":7:4)
    %rate = stablehlo.constant dense<0.01> : tensor<96x32xf32>
    %5 = stablehlo.multiply %4, %rate : tensor<96x32xf32> loc("train.py":8:4)
    %6 = stablehlo.subtract %w, %5 : tensor<96x32xf32> loc("train.py":8:4)
    return %6, %3 : tensor<96x32xf32>, tensor<f32>
  }}
}}
"""
"""A step of gradient descent, which returns the new weight and the loss."""

EXACT = f"""\
module @exact {{
  func.func public @main(
    %x: tensor<64x96xbf16>, %w: tensor<96x32xbf16> {{{_WEIGHT} = "up.weight"}},
    %v: tensor<32x64xbf16> {{{_WEIGHT} = "down.weight"}}
  ) -> tensor<64xbf16> {{
    %zero = stablehlo.constant dense<0.0> : tensor<64x32xbf16>
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x96xbf16>, tensor<96x32xbf16>) -> tensor<64x32xbf16> loc("exact.py":3:4)
    %1 = stablehlo.maximum %0, %zero : tensor<64x32xbf16> loc("exact.py":4:4)
    %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0]
      : (tensor<64x32xbf16>, tensor<32x64xbf16>) -> tensor<64x64xbf16> loc("exact.py":3:4)
    %3 = stablehlo.slice %2 [0:64, 5:6] : (tensor<64x64xbf16>) -> tensor<64x1xbf16> loc("exact.py":5:4)
    %4 = stablehlo.reshape %3 : (tensor<64x1xbf16>) -> tensor<64xbf16> loc("exact.py":6:4)
    return %4 : tensor<64xbf16>
  }}
}}
"""
"""Sums of small integers, which each processor adds up to the same bits. Only their rounding is not exact."""


def exact_inputs() -> list[np.ndarray[Any, Any]]:
    """Returns integers as arguments of :data:`EXACT`."""
    generator = np.random.default_rng(0)
    limits = {(64, 96): 4, (96, 32): 250, (32, 64): 2}
    return [generator.integers(-limit, limit + 1, shape).astype(np.float32) for shape, limit in limits.items()]


@dataclass(frozen=True)
class Example:
    """A module and the system that it is compiled for."""

    text: str
    system: str = "n150"


EXAMPLES = {
    "mlp": Example(MLP),
    "training": Example(TRAINING, "p150"),
    "tensor_parallel": Example(tensor_parallel((1, 2)), "n300"),
}


@functools.cache
def compiled(name: str, level: int = 2, **options: bool) -> Program:
    """Returns the Program of an example."""
    example = EXAMPLES[name]
    parsed = CompileOptions.parse({"optimization_level": level} | options)
    return compile_module(read_module(example.text, name, trusted=True), parsed, load_target(example.system), name=name)
