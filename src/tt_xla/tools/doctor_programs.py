"""The programs that ``tt-xla doctor`` runs: a product and a trace, beside the emulated card and the predicted time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import torch

from tt_xla.compiler import compile_module, read_module
from tt_xla.environment import RUNTIMES, runtime_for_now, selected_system
from tt_xla.errors import TTXLAError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.ttnn.executable import TTNNExecutable
from tt_xla.target import load_target
from tt_xla.testing.divergence.distances import deviation
from tt_xla.tools.findings import Finding, State

_PRODUCT = """\
func.func @main(%x: tensor<64x96xbf16>, %w: tensor<96x128xbf16>) -> tensor<64x128xbf16> {
  %0 = "ttir.matmul"(%x, %w) <{transpose_a = false, transpose_b = false}>
    : (tensor<64x96xbf16>, tensor<96x128xbf16>) -> tensor<64x128xbf16>
  return %0 : tensor<64x128xbf16>
}
"""
_ROUNDS = 20


def trials(runtime: str, *, computes: bool, times: bool) -> Iterator[Finding]:
    """Yields what a product and a trace say.

    Args:
        runtime: value of TTXLA_RUNTIME to run them with.
        computes: whether that runtime computes values.
        times: whether its times mean something.
    """
    with runtime_for_now(runtime):
        for name, trace in (("product", False), ("trace", True)):
            yield _trial(name, runtime, trace=trace, computes=computes, times=times)


def _trial(name: str, runtime: str, *, trace: bool, computes: bool, times: bool) -> Finding:
    try:
        program = _program(trace=trace)
        generator = torch.Generator().manual_seed(0)
        shapes = [argument.shape for argument in program.arguments]
        arguments = [torch.randn(shape, generator=generator).to(torch.bfloat16) for shape in shapes]
        device = get_device(selected_system())
        expected = Executable(device, program).run(arguments, [None] * 2)
        if runtime == RUNTIMES[0]:
            return Finding(name, State.OK, f"the emulated card ran it, predicted {program.predicted_device_us:.1f} us")
        executable = TTNNExecutable(device, program)
        results = [executable.run(arguments, [None] * 2) for _ in range(3 if trace else 1)]
        if not computes:
            return Finding(name, State.OK, "TT-NN accepts every call")
        worst = max((deviation(one, expected[0]) for (one,) in results), key=lambda each: each.largest)
    except TTXLAError as error:
        if trace and "slow dispatch" in error.message:
            return Finding(name, State.NONE, "TT-NN records no traces with slow dispatch, as simulators need it")
        return Finding(name, State.ERROR, error.message, error.hint)
    text = f"largest distance from the emulated card {worst.largest} ULP, PCC {worst.pcc:.6f}"
    if worst.pcc < 0.999:
        return Finding(
            name, State.ERROR, text, "The card computes other values. Run tt-xla compare --against ttnn, and report it."
        )
    if times:
        call = f"{_call_us(executable, arguments):.0f} us a call"
        text = f"{text}; {call}, predicted {program.predicted_device_us:.1f} us on the device"
    if worst.largest:
        return Finding(name, State.WARNING, text, "numerics=bit_exact is to have the chip's bits; please report it.")
    return Finding(
        name,
        State.OK,
        text.replace("largest distance from the emulated card 0 ULP, PCC 1.000000", "the emulated card's bits"),
    )


def _program(*, trace: bool) -> Program:
    options = CompileOptions.parse({"numerics": "bit_exact", "enable_trace": trace})
    return compile_module(
        read_module(_PRODUCT.encode(), "doctor"), options, load_target(selected_system()), name="doctor"
    )


def _call_us(executable: TTNNExecutable, arguments: list[torch.Tensor]) -> float:
    """Returns the median wall-clock time of a call in microseconds, the transfers of arguments and result included."""
    seconds: list[float] = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        executable.run(arguments, [None] * len(arguments))
        seconds.append(time.perf_counter() - started)
    return 1e6 * statistics.median(seconds)
