"""Small programs compared with XLA's CPU client on the same module.

With ``numerics=exact`` the tolerances are tight, so that they judge the compiler. In bfloat16 with the chip's numerics
the correlation is compared. Inputs are arguments, so nothing folds away.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from typing import Any

import jax
import jaxlib
import numpy as np
import pytest
import torch
from generated import statements
from jax.extend import backend as jax_backend
from schedules import nightly_but
from small_programs import BF16, CASES, Case

from tests.golden import Goldens
from tt_xla.compiler.pipeline import OPTIONAL, compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.ir.program_text import program_lines
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
    """Returns the results of XLA's CPU client, which runs each program once and so optimises little."""
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    options = jaxlib._jax.CompileOptions()
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0
    options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    executable = client.compile_and_load(module.operation.get_asm(), devices, options)
    with jax.enable_x64(True):
        arrays = [jax.device_put(value, client.local_devices()[0]) for value in inputs]
        return [np.asarray(value) for value in executable.execute(arrays)]


def compiled(module: Any, *, without: Container[str] = (), **options: Any) -> Program:
    """Returns the program of a module for an n150, without some stages."""
    return compile_module(module, CompileOptions.parse(options), load_target("n150"), without=without)


def run(program: Program, inputs: tuple[np.ndarray, ...], runs: int = 1) -> list[np.ndarray]:
    """Returns the results of the last of several runs on the emulated card."""
    executable = get_device("n150").load(Program.from_bytes(program.to_bytes()))
    for _ in range(runs):
        results = executable.run([to_torch(value) for value in inputs], [0] * len(inputs))
    return [to_numpy(value) for value in results]


def on_card(
    module: Any, inputs: tuple[np.ndarray, ...], runs: int = 1, *, without: Container[str] = (), **options: Any
) -> list[np.ndarray]:
    """Compiles a module without some stages and returns the results of the last of several runs."""
    return run(compiled(module, without=without, **options), inputs, runs)


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


def takes_floats(case: Case) -> bool:
    return any(value.dtype == np.float32 for value in case.inputs)


class Subject:
    """A case with what its tests share: each program is compiled once, and XLA computes the results once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.case = CASES[name]

    @functools.cached_property
    def module(self) -> Any:
        return lowered(self.case.program, self.case.inputs)

    @functools.cached_property
    def references(self) -> list[np.ndarray]:
        """XLA's results."""
        return on_cpu(self.module, self.case.inputs)

    @functools.cached_property
    def exact(self) -> Program:
        """The program at level 2 with exact numerics."""
        return compiled(self.module, numerics="exact", optimization_level=2)

    @functools.cached_property
    def inputs_with_edges(self) -> tuple[np.ndarray, ...]:
        return tuple(with_edges(value) if index == 0 else value for index, value in enumerate(self.case.inputs))

    @functools.cached_property
    def rounded_inputs(self) -> tuple[np.ndarray, ...]:
        """The inputs in bfloat16, if the case correlates with its float32 form then."""
        if not self.case.correlates:
            return self.case.inputs
        return tuple(value.astype(BF16) if value.dtype == np.float32 else value for value in self.case.inputs)

    @functools.cached_property
    def rounded_module(self) -> Any:
        """The module that takes the rounded inputs."""
        program = self.case.program
        if isinstance(program, str) and self.case.correlates:
            program = program.replace("f32", "bf16")
        return lowered(program, self.rounded_inputs)

    @functools.cached_property
    def program(self) -> Program:
        """The program of the rounded module at level 2 with the chip's numerics."""
        return compiled(self.rounded_module, optimization_level=2)


@pytest.fixture(scope="module")
def subject(request: pytest.FixtureRequest) -> Subject:
    """The case of the tests that run now: pytest groups them by case, so that one case is in memory at a time."""
    return Subject(request.param)


def over(names: Iterable[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("subject", list(names), indirect=True)


FIRST = {case.theme: name for name, case in reversed(CASES.items())}.values()
"""The first case of each theme."""

NO_CONVOLUTIONS = [name for name in CASES if not name.startswith("conv")]
CORRELATED = [name for name, case in CASES.items() if case.correlates and takes_floats(case)]

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


@over(name for name in CASES if name.startswith(ON_CHIP))
def test_nothing_is_left_to_the_host(subject: Subject) -> None:
    assert subject.program.host_ops == ()


NATIVE = {
    "conv_transposed_bias_silu": True,
    "conv_transposed_padded_at_the_end": True,
    "conv_transposed_padded_before": False,
}
"""Whether a convolution of a dilated input is the chip's transposed convolution."""


@over(NATIVE)
def test_convolutions_of_dilated_inputs_are_transposed_ones(subject: Subject) -> None:
    """The rewrite applies if the padding before the input does not exceed the kernel's extent."""
    ops = [instruction.op for instruction in subject.program.functions[0].body]
    native = NATIVE[subject.name]
    assert ("ttnn.conv_transpose2d" in ops, "ttnn.conv2d" in ops) == (native, not native)


@pytest.mark.sample(240)
@over(CASES)
def test_exact(subject: Subject) -> None:
    assert_close(run(subject.exact, subject.case.inputs), subject)


@over(nightly_but(FIRST, CASES))
def test_exact_at_level_0(subject: Subject) -> None:
    assert_close(on_card(subject.module, subject.case.inputs, numerics="exact", optimization_level=0), subject)


def assert_close(results: list[np.ndarray], subject: Subject) -> None:
    """Checks that results agree with XLA's in type and shape, and in their values within the case's tolerance."""
    for one, other in zip(results, subject.references, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=subject.case.atol)
        else:
            np.testing.assert_array_equal(one, other)


@over(nightly_but(FIRST, NO_CONVOLUTIONS))
def test_exact_numerics_change_no_bit(subject: Subject) -> None:
    """Under exact numerics level 2 computes what level 0 computes without folds and fusions, bit by bit.

    Convolutions are left out: the order of their sums depends on whether weights are prepared.
    """
    inputs = subject.inputs_with_edges
    plain = on_card(subject.module, inputs, numerics="exact", optimization_level=0, without=OPTIONAL)
    for result, value in zip(run(subject.exact, inputs), plain, strict=True):
        assert_identical(result, value)


@over(nightly_but(FIRST, CASES))
def test_exact_with_parameters_and_a_trace(subject: Subject) -> None:
    """All inputs but the first are parameters, so const-eval takes part; the third run replays a trace."""
    inputs = subject.case.inputs
    source = str(subject.module)
    for index in range(1, len(inputs)):
        source = re.sub(rf"(%arg{index}: tensor<[^>]*>)", r'\1 {ttcore.argument_type = "parameter"}', source, count=1)
    got = on_card(parse_module(source), inputs, 3, optimization_level=2, enable_trace=True, numerics="exact")
    for one, other in zip(got, subject.references, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=subject.case.atol)


@pytest.mark.sample(90)
@over(CORRELATED)
def test_bfloat16_on_silicon_numerics_correlates(subject: Subject) -> None:
    """The program in bfloat16 with the chip's numerics correlates with the same program in float32."""
    assert_correlated_floats(run(subject.program, subject.rounded_inputs), subject)


@over(CASES)
def test_program(subject: Subject, goldens: Goldens) -> None:
    lines = program_lines(subject.program, locations=False)
    goldens.check(f"small_programs/{subject.case.theme}", subject.name, lines, lowered_by_jax=True)


def by_theme(cases: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names of golden texts of cases, by the file that they are in."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in cases:
        names[CASES[name].theme].append(name)
    return names


def test_every_golden_program_has_a_case(goldens: Goldens) -> None:
    goldens.has_only("small_programs", by_theme(CASES))


WITH_SOURCES = (
    *("argmax", "arccos", "arcsin", "arcsinh", "arctan", "avg_pool", "binary_arctan2", "binary_power"),
    *("bits_as_a_uniform_number", "bool_logical_xor", "bool_not", "cbrt", "ceil", "clamp_by_tensors"),
    *("compare_less_equal", "conv_bias_channels_last", "conv_transposed_bias_silu", "cross_entropy", "cumsum"),
    *("custom_jvp", "elu", "erf", "erfc", "gradient_of_max_pool_on_lines", "integer_floor_divide", "integer_not"),
    *("isfinite", "kept_branches_-1", "kept_loop_of_no_rounds", "layer_norm", "linear", "log", "log1p", "nn_gelu"),
    *("nn_hard_sigmoid", "nn_mish", "nn_relu6", "nn_sigmoid", "no_elements", "prod_middle_kept"),
    *("reduce_minimum_from_0", "rms_norm", "round", "round_away", "rows_at_int8", "rsqrt", "scatter_body_maximum"),
    *("shift_left", "signs_of_zero_sorted", "sort_positions_of_top_k", "sqrt", "tan", "window_any"),
    "without_elements_computed_start",
)
"""Cases whose programs have all ops between them that programs of this file have."""


@pytest.mark.parametrize("language", ["py", "cpp"])
@over(WITH_SOURCES)
def test_generated_source(subject: Subject, language: str, goldens: Goldens) -> None:
    lines = statements(subject.program, language)
    goldens.check(f"small_sources/{language}_{subject.case.theme}", subject.name, lines, lowered_by_jax=True)


def test_every_golden_source_has_a_case(goldens: Goldens) -> None:
    names = by_theme(WITH_SOURCES)
    files = {f"{language}_{theme}": cases for theme, cases in names.items() for language in ("py", "cpp")}
    goldens.has_only("small_sources", files)


@over(nightly_but(FIRST, CORRELATED))
def test_bfloat16_at_level_0_correlates(subject: Subject) -> None:
    assert_correlated_floats(on_card(subject.rounded_module, subject.rounded_inputs, optimization_level=0), subject)


def assert_correlated_floats(results: list[np.ndarray], subject: Subject) -> None:
    """Checks that results that are floats correlate with XLA's in float32."""
    for one, other in zip(results, subject.references, strict=True):
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
