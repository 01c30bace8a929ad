"""Norms of a dimension that is split over chips: the kernels of their ops, and a module that becomes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.device.test_mesh_modules import ALONG_Y, PARAMETER, drawn, load, run, summed
from tt_xla.ir.mesh import Sharding

RMS = f"""
func.func public @main(%x: tensor<32x64xf32>, %w: tensor<64xf32> {PARAMETER}) -> tensor<32x64xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<256.0> : tensor<32xf32>
  %eps = stablehlo.constant dense<0.25> : tensor<32xf32>
  %squares = stablehlo.multiply %x, %x : tensor<32x64xf32>
  %part = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %total = {summed("%part", ALONG_Y, "32")}
  %mean = stablehlo.divide %total, %n : tensor<32xf32>
  %shifted = stablehlo.add %mean, %eps : tensor<32xf32>
  %root = stablehlo.rsqrt %shifted : tensor<32xf32>
  %roots = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %normal = stablehlo.multiply %x, %roots : tensor<32x64xf32>
  %weights = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %out = stablehlo.multiply %normal, %weights : tensor<32x64xf32>
  return %out : tensor<32x64xf32>
}}"""


@pytest.mark.parametrize("numerics", ["silicon", "exact"])
def test_an_rms_norm_of_a_split_dimension(numerics):
    """Chips exchange their sums of squares; exact numerics keep the ops of the module."""
    split_weight, everywhere = Sharding(((1,),)), Sharding(((0,), (1,)))
    given = [(everywhere, (64, 256)), (split_weight, (256,))]
    executable = load(RMS, given, [(everywhere, (64, 256))], numerics=numerics)
    names = [step.op for function in executable.program.functions for step in function.body]
    assert names.count("ttnn.rms_norm_post_all_gather") == (numerics == "silicon")
    assert names.count("ttnn.all_reduce") == (numerics == "exact")
    x, weight = drawn(64, 256, seed=0), drawn(256, seed=1)
    (out,) = run(executable, x, weight)
    expected = x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 0.25) * weight
    np.testing.assert_allclose(out, expected, rtol=2e-6 if numerics == "exact" else 2e-3, atol=1e-6)


@pytest.mark.parametrize(("norm", "width"), [("rms_norm", 32), ("layer_norm", 64)])
def test_norms_by_statistics_of_several_chips(run_op, norm, width):
    """Each chip has 64 of 192 columns; its statistics fill the first column of one tile each."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 2, 5, 192, generator=generator) + 2
    weight, bias = torch.randn(2, 192, generator=generator)
    exact = {"numerics": "exact"}
    parts = x.split(64, -1)
    own = [run_op(f"ttnn.{norm}_pre_all_gather", {"input": part}, (1, 2, 5, width), "f32", **exact) for part in parts]
    assert own[0][..., 1:32].count_nonzero() == own[0][..., 33:].count_nonzero() == 0
    torch.testing.assert_close(own[1][..., 0], parts[1].square().sum(-1))
    if norm == "rms_norm":
        whole = torch.nn.functional.rms_norm(x, (192,), weight, 1e-3) + bias
    else:
        torch.testing.assert_close(own[1][..., 32], parts[1].sum(-1))
        whole = torch.nn.functional.layer_norm(x, (192,), weight, bias, 1e-3)
    stats = torch.cat(own, -1)
    for part, scale, shift, expected in zip(parts, weight.split(64), bias.split(64), whole.split(64, -1), strict=True):
        operands = {"input": part, "stats": stats, "weight": scale, "bias": shift}
        normal = run_op(f"ttnn.{norm}_post_all_gather", operands, part.shape, "f32", epsilon=1e-3, **exact)
        torch.testing.assert_close(normal, expected)
