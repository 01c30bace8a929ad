"""Small programs compared with XLA's CPU client on the same module.

With ``numerics=exact`` the tolerances are tight, so that they judge the compiler. In bfloat16 with the chip's numerics
the correlation is compared. Inputs are arguments, so nothing folds away.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container
from typing import Any

import jax
import jaxlib
import numpy as np
import pytest
import torch
from jax.extend import backend as jax_backend
from small_programs import BF16, CASES, Case

from tt_xla.compiler.pipeline import OPTIONAL, compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target
from tt_xla.testing import pcc


def lowered(program: Callable[..., Any] | str, inputs: tuple[np.ndarray, ...]) -> Any:
    """Returns the StableHLO module of a case."""
    if isinstance(program, str):
        return parse_module(program)
    return jax.jit(program, keep_unused=True).lower(*inputs).compiler_ir("stablehlo")


def on_cpu(module: Any, inputs: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(module.operation.get_asm(), devices)
    with jax.enable_x64(True):
        arrays = [jax.device_put(value, client.local_devices()[0]) for value in inputs]
        return [np.asarray(value) for value in executable.execute(arrays)]


def on_card(
    module: Any, inputs: tuple[np.ndarray, ...], runs: int = 1, *, without: Container[str] = (), **options: Any
) -> list[np.ndarray]:
    """Returns the results of the last of several runs on the emulated card, compiled without some stages."""
    target = load_target("n150")
    program = compile_module(module, CompileOptions.parse(options), target, without=without)
    executable = get_device("n150").load(Program.from_bytes(program.to_bytes()))
    for _ in range(runs):
        results = executable.run([to_torch(value) for value in inputs], [0] * len(inputs))
    return [to_numpy(value) for value in results]


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype == BF16:
        return torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BF16)
    return tensor.numpy()


def assert_identical(result: np.ndarray, expected: np.ndarray, message: str = "") -> None:
    """Checks that two arrays agree in type, shape and every bit; any two NaN count as equal."""
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape), message
    if result.dtype == BF16:
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(result, expected, err_msg=message)
    if result.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]), err_msg=message)


def with_edges(array: np.ndarray) -> np.ndarray:
    """Returns a copy of floats that includes NaN, infinities, signed zeros and numbers near the ends of the range."""
    if array.dtype.kind != "f" and array.dtype != BF16:
        return array
    edges = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, -1e30, 3e-39, 88.8, -104.0, 0.5, 1.5], np.float32)
    changed = array.copy()
    places = np.linspace(0, array.size - 1, min(array.size, len(edges))).astype(int)
    with np.errstate(over="ignore"):
        changed.reshape(-1)[places] = edges[: len(places)].astype(array.dtype)
    return changed


@functools.cache
def expected(name: str) -> tuple[Any, list[np.ndarray]]:
    module = lowered(CASES[name].program, CASES[name].inputs)
    return module, on_cpu(module, CASES[name].inputs)


def takes_floats(case: Case) -> bool:
    return any(value.dtype == np.float32 for value in case.inputs)


ON_CHIP = (
    *(
        "beside",
        "bits",
        "conv_batch",
        "conv_three",
        "gradient",
        "index_put",
        "kept",
        "padded",
        "precision",
        "scatter",
        "sort",
        "top_k",
    ),
    *("total_order", "unsigned", "window", "without_elements"),
)
"""Prefixes of the names of cases whose every op the chip runs."""


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(ON_CHIP)])
def test_nothing_is_left_to_the_host(name: str) -> None:
    module, _ = expected(name)
    assert compile_module(module, CompileOptions.parse({}), load_target("n150")).host_ops == ()


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("conv_transposed_bias_silu", True),
        ("conv_transposed_padded_at_the_end", True),
        ("conv_transposed_padded_before", False),
    ],
)
def test_convolutions_of_dilated_inputs_are_transposed_ones(name: str, native: bool) -> None:
    """The rewrite applies if the padding before the input does not exceed the kernel's extent."""
    module, _ = expected(name)
    program = compile_module(module, CompileOptions.parse({}), load_target("n150"))
    ops = [instruction.op for instruction in program.functions[0].body]
    assert ("ttnn.conv_transpose2d" in ops, "ttnn.conv2d" in ops) == (native, not native)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", CASES)
def test_exact(name: str, level: int) -> None:
    module, references = expected(name)
    got = on_card(module, CASES[name].inputs, numerics="exact", optimization_level=level)
    assert len(got) == len(references)
    for one, other in zip(got, references, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=CASES[name].atol)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("conv")])
def test_exact_numerics_change_no_bit(name: str) -> None:
    """Under exact numerics level 2 computes what level 0 computes without folds and fusions, bit by bit.

    Convolutions are left out: the order of their sums depends on whether weights are prepared.
    """
    module, _ = expected(name)
    inputs = tuple(with_edges(value) if index == 0 else value for index, value in enumerate(CASES[name].inputs))
    plain = on_card(module, inputs, numerics="exact", optimization_level=0, without=OPTIONAL)
    for result, value in zip(on_card(module, inputs, numerics="exact", optimization_level=2), plain, strict=True):
        assert_identical(result, value)


@pytest.mark.parametrize("name", CASES)
def test_exact_with_parameters_and_a_trace(name: str) -> None:
    """All inputs but the first are parameters, so const-eval takes part; the third run replays a trace."""
    module, references = expected(name)
    source = str(module)
    for index in range(1, len(CASES[name].inputs)):
        source = re.sub(rf"(%arg{index}: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', source, count=1)
    got = on_card(
        parse_module(source), CASES[name].inputs, 3, optimization_level=2, enable_trace=True, numerics="exact"
    )
    for one, other in zip(got, references, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=CASES[name].atol)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.correlates and takes_floats(case)])
def test_bfloat16_on_silicon_numerics_correlates(name: str, level: int) -> None:
    """The program in bfloat16 with the chip's numerics correlates with the same program in float32."""
    _, references = expected(name)
    inputs = tuple(value.astype(BF16) if value.dtype == np.float32 else value for value in CASES[name].inputs)
    program = CASES[name].program
    if isinstance(program, str):
        program = program.replace("f32", "bf16")
    got = on_card(lowered(program, inputs), inputs, optimization_level=level)
    for one, other in zip(got, references, strict=True):
        if other.dtype.kind == "f":
            assert_correlated(one.astype(np.float32), other)


def assert_correlated(got: np.ndarray, reference: np.ndarray) -> None:
    assert got.shape == reference.shape
    finite = np.isfinite(reference)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    got, reference = got[finite].astype(np.float64), reference[finite].astype(np.float64)
    scale = np.abs(reference).max(initial=0)
    if reference.size < 3 or reference.std() < 1e-2 * scale:
        np.testing.assert_allclose(got, reference, rtol=0.05, atol=0.05 * scale + 0.02)
        return
    assert pcc(got, reference, rtol=0, atol=0) > 0.99
    assert np.abs(got).max() == pytest.approx(scale, rel=0.1)
