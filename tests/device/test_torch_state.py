"""What a user sets for all of torch changes no bit of what the emulated card computes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tt_xla.compiler import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

MODULE = """
func.func @main(%x: tensor<4x48x96xf32>, %w: tensor<96x64xf32>, %v: tensor<4x96x32xf32>, %t: tensor<8xf32>,
                %i: tensor<1x3x9x9xf32>, %k: tensor<4x3x3x3xf32>)
    -> (tensor<4x48x64xf32>, tensor<4x48x32xf32>, tensor<8xf32>, tensor<4x48xf32>, tensor<1x4x7x7xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %third = stablehlo.constant dense<3> : tensor<8xi32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
    : (tensor<4x48x96xf32>, tensor<96x64xf32>) -> tensor<4x48x64xf32>
  %1 = stablehlo.dot_general %x, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<4x48x96xf32>, tensor<4x96x32xf32>) -> tensor<4x48x32xf32>
  %2 = stablehlo.multiply %t, %t : tensor<8xf32>
  %4 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<4x48x96xf32>, tensor<f32>) -> tensor<4x48xf32>
  %5 = stablehlo.convolution(%i, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x3x9x9xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x7x7xf32>
  %6 = stablehlo.convert %third : (tensor<8xi32>) -> tensor<8xf32>
  %7 = stablehlo.divide %t, %6 : tensor<8xf32>
  return %0, %1, %2, %4, %5, %7 : tensor<4x48x64xf32>, tensor<4x48x32xf32>, tensor<8xf32>, tensor<4x48xf32>,
    tensor<1x4x7x7xf32>, tensor<8xf32>
}
"""


@contextlib.contextmanager
def changed(setter: Callable[[object], object], value: object, usual: object) -> Iterator[None]:
    setter(value)
    try:
        yield
    finally:
        setter(usual)


def set_precision(name: str) -> None:
    torch.backends.mkldnn.matmul.fp32_precision = torch.backends.mkldnn.conv.fp32_precision = name


class Seeing(TorchDispatchMode):
    """Counts the ops that reach the mode of a script."""

    ops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ops += 1
        return func(*args, **(kwargs or {}))


STATES = {
    "float64": lambda: changed(torch.set_default_dtype, torch.float64, torch.float32),
    "bfloat16": lambda: changed(torch.set_default_dtype, torch.bfloat16, torch.float32),
    "medium precision": lambda: changed(torch.set_float32_matmul_precision, "medium", "highest"),
    "precision of oneDNN": lambda: changed(set_precision, "bf16", "none"),
    "no denormals": lambda: changed(torch.set_flush_denormal, True, False),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "inference mode": torch.inference_mode,
    "gradients": torch.enable_grad,
    "no gradients": torch.no_grad,
    "default device": lambda: torch.device("meta"),
    "dispatch mode": Seeing,
}


def operands() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    sizes = (4, 48, 96), (96, 64), (4, 96, 32), (8,), (1, 3, 9, 9), (4, 3, 3, 3)
    tensors = [torch.randn(size, generator=generator, dtype=torch.float32, device="cpu") for size in sizes]
    tensors[3] = torch.tensor([1e-20, 1e-22, 1e-30, 3e-39, -1e-20, 1e20, 0.0, 2.0], dtype=torch.float32, device="cpu")
    return tensors


@pytest.mark.parametrize("numerics", ["silicon", "exact", "bit_exact"])
@pytest.mark.parametrize("state", STATES)
def test_a_state_of_torch_changes_no_bit(state: str, numerics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither when the program is loaded, nor in its first run, nor when fused kernels have been made."""
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "now")
    program = compile_module(parse_module(MODULE), CompileOptions.parse({"numerics": numerics}), load_target("p150"))
    inputs = operands()
    expected = get_device("p150").load(program).run(inputs, [None] * len(inputs))
    with STATES[state]():
        executable = get_device("p150").load(program)
        runs = [executable.run(inputs, [None] * len(inputs)) for _ in range(3)]
        if state == "no denormals":
            assert torch.tensor(1e-40) * 1.0 == 0.0  # the user's own state is as it was
    equal = [[torch.equal(*pair) for pair in zip(results, expected, strict=True)] for results in runs]
    assert equal == [[True] * len(expected)] * len(runs)
    assert (expected[2][0] == 0.0) == (numerics == "bit_exact")  # the chip itself has no denormals


def test_a_dispatch_mode_sees_no_op_of_a_run() -> None:
    program = compile_module(parse_module(MODULE), CompileOptions(), load_target("p150"))
    inputs = operands()
    executable = get_device("p150").load(program)
    with Seeing() as mode:
        for _ in range(2):
            executable.run(inputs, [None] * len(inputs))
        assert mode.ops == 0
        torch.ones(1) + 1
    assert mode.ops == 2  # the mode goes on
