"""numerics=bit_exact has the bits that TT-NN has on Tenstorrent's functional simulator."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import library
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.bit_exact import matrix_unit, native
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context, Weighted

DATA = Path(__file__).parents[1] / "data"
GRID = (10, 13)
"""Rows and columns of the simulator's cores."""


def recorder() -> Any:
    found = importlib.util.spec_from_file_location("record_bit_exact", DATA / "record_bit_exact.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


CASES = {case.name: case for case in recorder().CASES}


@pytest.fixture(scope="module")
def recorded() -> Any:
    return np.load(DATA / "bit_exact.npz")


def spec(case: Any, shape: tuple[int, ...], dtype: Any, *, sharded: bool = False) -> TensorSpec:
    place: dict[str, Any] = {"buffer": BufferType.L1, "grid": GRID} if case.in_l1 else {}
    if sharded:
        memory = MemoryLayout.BLOCK_SHARDED if case.shards[0] > 1 else MemoryLayout.WIDTH_SHARDED
        place = {"buffer": BufferType.L1, "memory": memory, "grid": case.shards}
    return TensorSpec(
        tuple(shape), TensorLayout.of(tuple(shape), DataType(dtype), tiled=not case.rows and len(shape) > 1, **place)
    )


def computed(case: Any, shape: tuple[int, ...]) -> np.ndarray:
    sharded = case.shards is not None
    specs = {
        name: spec(case, size, dtype, sharded=sharded and name == "input")
        for name, (size, dtype) in case.operands.items()
    }
    context = Context(case.op, "bit_exact", specs, (spec(case, shape, case.result, sharded=sharded),), grid=GRID)
    arrays = {name: torch.from_numpy(array) for name, array in case.arrays().items()}
    operands = [hold(array, DataType(case.operands[name][1])) for name, array in arrays.items()]
    call = bind(context, case.attributes)
    assert not isinstance(call, Weighted)
    result = call(*operands)
    assert result.dtype is CONTAINERS[DataType(case.result)]
    return result.to(torch.float32).numpy()


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_of_the_simulator(name: str, recorded: Any) -> None:
    expected = recorded[name]
    actual = computed(CASES[name], expected.shape)
    assert np.array_equal(actual.view(np.int32), expected.view(np.int32))


def of_rows(op: str, **rows: list[float]) -> list[float]:
    """Returns the result of an op on rows of bfloat16, computed with numerics=bit_exact."""
    shape = (1, len(next(iter(rows.values()))))
    tiled = TensorSpec(shape, TensorLayout.of(shape, DataType.BF16, tiled=True))
    call = bind(Context(op, "bit_exact", dict.fromkeys(rows, tiled), (tiled,), grid=GRID), {})
    assert not isinstance(call, Weighted)
    return call(*(torch.tensor([row], dtype=torch.bfloat16) for row in rows.values())).flatten().tolist()


def test_a_norm_in_shards_adds_the_same_averages_for_each_number_of_dimensions() -> None:
    """Which core begins a sum follows from the rows of a matrix, not from how many dimensions the tensor has."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(128, 480, generator=generator) * 100

    def normalised(*shape: int) -> torch.Tensor:
        place = {"buffer": BufferType.L1, "memory": MemoryLayout.BLOCK_SHARDED, "grid": (1, 5)}
        sharded = TensorSpec(shape, TensorLayout.of(shape, DataType.F32, **place))
        call = bind(Context("ttnn.rms_norm", "bit_exact", {"input": sharded}, (sharded,), grid=GRID), {"epsilon": 0.0})
        assert not isinstance(call, Weighted)
        return call(x.reshape(shape)).reshape(128, 480)

    assert torch.equal(normalised(128, 480), normalised(1, 1, 128, 480))
    assert torch.equal(normalised(2, 64, 480), normalised(1, 2, 64, 480))


@pytest.mark.parametrize(("op", "expected"), [("ttnn.subtract", 0.100000024), ("ttnn.lt", 0.0), ("ttnn.gt", 1.0)])
def test_float32_without_dimensions_keeps_its_bits(op: str, expected: float) -> None:
    layout = TensorLayout.of((), DataType.F32, tiled=True)
    specs = dict.fromkeys(("lhs", "rhs"), TensorSpec((), layout))
    call = bind(Context(op, "bit_exact", specs, (TensorSpec((), layout),), grid=GRID), {})
    assert not isinstance(call, Weighted)
    lhs, rhs = (1.0, 0.899999976) if op == "ttnn.subtract" else (1.00000012, 1.0)
    assert torch.equal(call(torch.tensor(lhs), torch.tensor(rhs)), torch.tensor(expected))


def test_a_triangle_begins_at_the_diagonal() -> None:
    matrix = TensorSpec((32, 32), TensorLayout.of((32, 32), DataType.BF16))
    ones = torch.ones(32, 32, dtype=torch.bfloat16)
    for op, expected in (("ttnn.tril", ones.tril()), ("ttnn.triu", ones.triu())):
        call = bind(Context(op, "bit_exact", {"input": matrix}, (matrix,), grid=GRID), {})
        assert not isinstance(call, Weighted)
        assert torch.equal(call(ones), expected)


def test_squares_of_differences_keep_the_bits_of_the_matrix_unit() -> None:
    """The expected numbers are those of the simulator."""
    assert of_rows(
        "ttnn.squared_difference",
        lhs=[0.1025390625, 4.09375, -1.53125, -0.16796875, 4.6875],
        rhs=[0.734375, 0.76171875, 3.859375, 0.466796875, 0.203125],
    ) == [0.400390625, 11.0625, 29.25, 0.40625, 20.25]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("abs", [math.inf, math.inf, math.inf, 0.0, 0.5]),
        ("ceil", [math.inf, math.inf, -math.inf, 0.0, 0.0]),
        ("log", [math.inf, math.inf, math.inf, -math.inf, math.inf]),
        ("logical_not", [0.0, 0.0, 0.0, 0.0, 0.0]),
        ("neg", [-math.inf, -math.inf, math.inf, 0.0, 0.5]),
        ("relu6", [6.0, 6.0, 0.0, 0.0, 0.0]),
        ("sign", [1.0, 1.0, -1.0, 0.0, -1.0]),
    ],
)
def test_functions_of_nan_infinities_and_a_negative_zero(op: str, expected: list[float]) -> None:
    """The expected numbers are those of the simulator."""
    assert repr(of_rows(f"ttnn.{op}", input=[math.nan, math.inf, -math.inf, -0.0, -0.5])) == repr(expected)


@pytest.mark.parametrize(
    ("op", "first", "second"), [("add", math.nan, 1.0), ("divide", math.inf, math.inf), ("multiply", math.inf, -0.0)]
)
def test_no_number_is_a_positive_infinity(op: str, first: float, second: float) -> None:
    """The expected numbers are those of the simulator."""
    assert of_rows(f"ttnn.{op}", lhs=[first], rhs=[second]) == [math.inf]


def test_a_product_with_a_positive_zero_is_zero() -> None:
    """The expected numbers are those of the simulator."""
    assert of_rows("ttnn.multiply", lhs=[math.inf, math.nan, 0.0], rhs=[0.0, 0.0, -math.inf]) == [0.0, 0.0, 0.0]


def test_truncation_to_zero_has_no_sign_and_no_nan() -> None:
    """The expected numbers are those of the simulator."""
    result = of_rows("ttnn.trunc", input=[math.nan, math.inf, -math.inf, -0.0, -0.5, 1.5, -2.5])
    assert repr(result) == repr([math.inf, math.inf, -math.inf, 0.0, 0.0, 1.0, -2.0])


@pytest.mark.parametrize(
    ("op", "attributes"), [("prod", {"dim_arg": 0, "keep_dim": True}), ("cumsum", {"dim": 0}), ("cumprod", {"dim": 0})]
)
def test_no_elements_are_no_fault(op: str, attributes: dict[str, Any]) -> None:
    empty, made = (TensorSpec(shape, TensorLayout.of(shape, DataType.F32)) for shape in ((0, 3), (op == "prod", 3)))
    call = bind(Context(f"ttnn.{op}", "bit_exact", {"input": empty}, (made,), grid=GRID), attributes)
    assert not isinstance(call, Weighted)
    assert call(torch.zeros(0, 3)).tolist() == ([[1.0] * 3] if op == "prod" else [])


@pytest.mark.parametrize("phases", [1, 2, 3, 4])
@pytest.mark.parametrize("wide", [True, False])
def test_the_product_in_cpp_has_the_bits_of_the_one_in_torch(phases: int, wide: bool) -> None:
    if library.library() is None:
        pytest.skip("There is no C++ compiler.")
    generator = torch.Generator().manual_seed(phases)
    scale = torch.randint(-60, 60, (3, 70), generator=generator).float()
    a, b = torch.randn(3, 70, generator=generator) * 2**scale, torch.randn(70, 20, generator=generator)
    a[0, :5], b[:4, 1] = (
        torch.tensor([0.0, -0.0, torch.inf, torch.nan, 1e-40]),
        torch.tensor([1e38, -1e38, torch.inf, 0]),
    )
    start = torch.randn(3, 20, generator=generator)
    expected = matrix_unit.product(a, b, start, phases=phases, wide=wide)
    actual = native.product(a, b, start, phases=phases, wide=wide)
    assert torch.equal(actual.view(torch.int32), expected.view(torch.int32))
