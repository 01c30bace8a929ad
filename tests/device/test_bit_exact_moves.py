"""With numerics=bit_exact, conversions and moves have the numbers of TT-NN on Tenstorrent's functional simulator.

The expected numbers were read there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bind import bind
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.context import Context, Weighted

pytestmark = pytest.mark.quick


def spec(shape: Sequence[int], dtype: DataType, *, tiled: bool = True) -> TensorSpec:
    return TensorSpec(tuple(shape), TensorLayout.of(tuple(shape), dtype, tiled=tiled))


def computed(op: str, tensor: torch.Tensor, operand: TensorSpec, result: TensorSpec, **attributes: Any) -> torch.Tensor:
    call = bind(Context(op, "bit_exact", {"input": operand}, (result,)), attributes)
    assert not isinstance(call, Weighted)
    return call(tensor)


def converted(numbers: list[float] | list[int], source: DataType, dtype: DataType) -> list[Any]:
    kind = torch.float64 if source.is_float else torch.int64
    tensor = hold(torch.tensor([numbers], dtype=kind).to(torch.float32 if source.is_float else kind), source)
    shape = tuple(tensor.shape)
    return computed("ttnn.typecast", tensor, spec(shape, source), spec(shape, dtype)).flatten().tolist()


@pytest.mark.parametrize("source", [DataType.F32, DataType.BF16])
def test_floats_round_to_16_bits_and_are_cut_for_other_integers(source: DataType) -> None:
    numbers = [93.5, 0.5, 2.71875, -2.84375, -88.5, 286.0, 65536.0, math.inf, -math.inf, math.nan]
    nearest = [94, 1, 3, 0, 0, 286, 65535, 65535, 0, 65535]
    assert converted(numbers, source, DataType.U16) == nearest
    assert converted(numbers, source, DataType.U8) == [93, 0, 2, 254, 168, 30, 0, 0, 0, 0]
    largest, least = 2**31 - 1, -(2**31)
    assert converted(numbers, source, DataType.SI32) == [93, 0, 2, -2, -88, 286, 65536, largest, least, largest]
    assert converted(numbers, source, DataType.U32) == [93, 0, 2, 0, 0, 286, 65536, 2**32 - 1, 0, 2**32 - 1]


def test_integers_get_the_nearest_of_16_bits_and_the_low_byte() -> None:
    numbers = [2147483646, 1073741824, -1, 255, 256, 77]
    assert converted(numbers, DataType.SI32, DataType.U16) == [65535, 65535, 0, 255, 256, 77]
    assert converted(numbers, DataType.SI32, DataType.U8) == [254, 0, 255, 255, 0, 77]
    assert converted([200, 7], DataType.U8, DataType.U16) == [200, 7]


def test_integers_round_halves_away_from_zero() -> None:
    assert converted([285, 286, -285], DataType.SI32, DataType.BF16) == [286.0, 286.0, -286.0]
    assert converted([226, 285, 10, 74] * 4, DataType.SI32, DataType.BFP_BF8)[:4] == [228.0, 288.0, 12.0, 76.0]


def test_bfloat4_b_cuts_what_seven_bits_hold() -> None:
    numbers = [43.25, 248.0, 122.75, 164.875, 226.0, 98.9, 294.0, 61.0] * 2
    expected = [0.0, 192.0, 64.0, 128.0, 192.0, 64.0, 256.0, 0.0]
    assert converted(numbers, DataType.BF16, DataType.BFP_BF4)[:8] == expected


SPECIAL = [1.5, -0.0, 1e-40, -1e-40, math.nan, -math.inf]
PACKED = [1.5, 0.0, 0.0, 0.0, math.inf, -math.inf]


def test_floats_lose_signs_of_zeros_and_nan_in_the_packer() -> None:
    assert repr(converted(SPECIAL, DataType.BF16, DataType.F32)) == repr(PACKED)
    assert repr(converted(SPECIAL, DataType.F32, DataType.BF16)) == repr(PACKED)


@pytest.mark.parametrize(
    ("op", "size", "made", "attributes"),
    [
        ("permute", (32, 32), (32, 32), {"permutation": [1, 0]}),
        ("transpose", (32, 32), (32, 32), {"dim0": 0, "dim1": 1}),
        ("repeat_interleave", (32, 32), (32, 64), {"repeats": 2, "dim": 1}),
        ("repeat", (32, 40), (32, 80), {"repeat_dims": [1, 2]}),
        ("slice_static", (64, 32), (31, 32), {"begins": [1, 0], "ends": [32, 32], "step": [1, 1]}),
        ("slice_static", (32, 32), (32, 16), {"begins": [0, 0], "ends": [32, 32], "step": [1, 2]}),
    ],
)
def test_tiles_that_are_rearranged_pass_the_packer(
    op: str, size: tuple[int, int], made: tuple[int, int], attributes: dict[str, Any]
) -> None:
    tensor = torch.ones(size, dtype=torch.bfloat16)
    tensor[1, : len(SPECIAL)] = torch.tensor(SPECIAL)
    moved = computed(f"ttnn.{op}", tensor, spec(size, DataType.BF16), spec(made, DataType.BF16), **attributes)
    kept = computed(f"ttnn.{op}", tensor.float(), spec(size, DataType.F32), spec(made, DataType.F32), **attributes)
    expected = torch.where(kept.isnan(), torch.inf, torch.where(kept.abs() < 1e-30, 0.0, kept))
    assert moved.view(torch.int16).tolist() == expected.to(torch.bfloat16).view(torch.int16).tolist()


@pytest.mark.parametrize(
    ("size", "made", "tiled", "attributes"),
    [
        ((64, 32), (20, 32), True, {"begins": [32, 0], "ends": [52, 32]}),
        ((64, 32), (31, 32), False, {"begins": [1, 0], "ends": [32, 32]}),
    ],
)
def test_whole_tiles_and_rows_move_as_they_are(
    size: tuple[int, int], made: tuple[int, int], tiled: bool, attributes: dict[str, Any]
) -> None:
    operand, result = (spec(shape, DataType.BF16, tiled=tiled) for shape in (size, made))
    tensor = torch.full(size, -0.0, dtype=torch.bfloat16)
    assert torch.signbit(computed("ttnn.slice_static", tensor, operand, result, **attributes, step=[1, 1])).all()


@pytest.mark.parametrize(("dim", "passes"), [(0, False), (1, True)])
def test_a_concat_of_whole_tiles_moves_them(dim: int, passes: bool) -> None:
    shape = (32, 40)
    result = spec((64, 40) if dim == 0 else (32, 80), DataType.BF16)
    context = Context("ttnn.concat", "bit_exact", {"inputs": (spec(shape, DataType.BF16),) * 2}, (result,))
    call = bind(context, {"dim": dim})
    assert not isinstance(call, Weighted)
    moved = call(*[torch.full(shape, -0.0, dtype=torch.bfloat16)] * 2)
    assert torch.signbit(moved).any() != passes


def test_tensors_on_the_host_stay_as_they_are() -> None:
    tensor = torch.full((32, 32), -0.0, dtype=torch.bfloat16)
    layouts = (
        TensorLayout.of((32, 32), DataType.BF16, tiled=tiled, buffer=BufferType.SYSTEM_MEMORY)
        for tiled in (True, False)
    )
    tiles, rows = (TensorSpec((32, 32), layout) for layout in layouts)
    assert torch.signbit(computed("ttnn.to_layout", tensor, tiles, rows)).all()


def test_a_change_of_layout_passes_the_packer() -> None:
    tensor = torch.full((32, 32), -0.0, dtype=torch.bfloat16)
    tiles, rows = (spec(tensor.shape, DataType.BF16, tiled=tiled) for tiled in (True, False))
    assert torch.signbit(computed("ttnn.to_layout", tensor, tiles, tiles)).all()
    for operand, result in ((tiles, rows), (rows, tiles)):
        assert not torch.signbit(computed("ttnn.to_layout", tensor, operand, result)).any()
