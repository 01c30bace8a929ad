"""The kernels of one call of a program, with their predicted times."""

from __future__ import annotations

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tt_xla.compiler import compile_module, read_module
from tt_xla.cost.timeline import MOST_KERNELS, timeline
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

N150 = load_target("n150")
EXAMPLE = Path(__file__).parents[2] / "examples" / "mlp.mlir"


def compiled(text: str, **options: object) -> Program:
    return compile_module(read_module(text), CompileOptions.parse(options), N150)


@functools.cache
def loop(trips: int) -> Program:
    """Returns a program that multiplies by a matrix this often."""

    def multiply(x: jax.Array) -> jax.Array:
        return lax.fori_loop(0, trips, lambda _, y: jnp.tanh(y @ x), x)

    return compiled(jax.jit(multiply).lower(jax.ShapeDtypeStruct((64, 64), jnp.float32)).as_text())


@pytest.mark.parametrize("options", [{}, {"optimization_level": 2}, {"enable_trace": True}])
def test_the_kernels_take_the_time_that_is_predicted_for_the_program(options: dict[str, object]) -> None:
    program = compiled(EXAMPLE.read_text(), **options)
    slices = timeline(program, N150)
    assert "MatmulDeviceOperation" in [each.name for each in slices]
    assert {each.name.endswith("DeviceOperation") for each in slices} == {True}
    ends = [each.start_ns + each.duration_ns for each in slices]
    assert all(end < after.start_ns for end, after in zip(ends, slices[1:], strict=False))
    transfers = sum(
        instruction.cost.total_us + N150.gap_us_untraced
        for function in program.functions
        for instruction in function.body
        if instruction.op in ("ttnn.to_device", "ttnn.from_device", "ttnn.write_tensor")
        and function.kind in ("forward_device", "trace_main")
    )
    gap_of_the_trace = N150.gap_us_untraced if options.get("enable_trace") else 0
    assert ends[-1] / 1e3 + transfers + gap_of_the_trace == pytest.approx(program.predicted_device_us, abs=1e-2)


def test_each_round_of_a_loop_has_its_kernels() -> None:
    for trips in (2, 6):
        slices = timeline(loop(trips), N150)
        assert [each.name for each in slices].count("MatmulDeviceOperation") == trips
        assert (slices[-1].start_ns + slices[-1].duration_ns) / 1e3 == pytest.approx(
            loop(trips).predicted_device_us, rel=1e-3
        )


def test_a_long_loop_is_one_kernel() -> None:
    program = loop(MOST_KERNELS)
    slices = timeline(program, N150)
    (whole,) = [each for each in slices if each.op == "ttcore.while_loop"]
    assert whole.name == f"ttcore.while_loop ({MOST_KERNELS} rounds)"
    assert "MatmulDeviceOperation" not in [each.name for each in slices]
    assert whole.duration_ns / 1e3 == pytest.approx(program.predicted_device_us, rel=0.01)
