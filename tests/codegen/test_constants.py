"""How a constant stands in generated source: as a number, as a short list, or as a file."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tt_xla.codegen.body import INLINE_ELEMENTS, Constants
from tt_xla.codegen.expressions import Data, Name
from tt_xla.codegen.formatting import flat, node_of
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import TensorSpec

pytestmark = pytest.mark.quick


def written(constants: Constants, array: Any, shape: tuple[int, ...], dtype: DataType = DataType.F32) -> str:
    spec = TensorSpec(shape, TensorLayout.of(shape, dtype))
    return flat(node_of(constants.data(Data(np.asarray(array).tobytes(), spec)), str, lambda data: Name("data")))


def counted(count: int) -> Any:
    return np.arange(count, dtype=np.float32)


@pytest.mark.parametrize(
    ("array", "shape", "dtype", "start"),
    [
        (counted(0), (0, 4), DataType.F32, "utils.full(0, [0, 4], "),
        (np.float32([2.5]), (3, 4), DataType.F32, "utils.full(2.5, [3, 4], "),
        (np.int32([-7]), (), DataType.SI32, "utils.full(-7, [], "),
        (np.array([1.5, -2.0], ml_dtypes.bfloat16), (2,), DataType.BF16, "utils.tensor([1.5, -2.0], "),
        (counted(3), (3,), DataType.F32, "utils.tensor([0.0, 1.0, 2.0], "),
        (counted(INLINE_ELEMENTS), (INLINE_ELEMENTS,), DataType.F32, "utils.tensor([0.0, "),
        (counted(INLINE_ELEMENTS + 1), (INLINE_ELEMENTS + 1,), DataType.F32, 'utils.load("constant0", '),
        (counted(4), (2, 2), DataType.F32, 'utils.load("constant0", '),  # a list has no shape
        (counted(2), (1, 2), DataType.F32, 'utils.load("constant0", '),
        (np.uint8(range(32)), (2,), DataType.BFP_BF8, 'utils.load("constant0", '),  # an element has no bytes of its own
    ],
)
def test_the_form_of_a_constant(array: Any, shape: tuple[int, ...], dtype: DataType, start: str) -> None:
    assert written(Constants(), array, shape, dtype).startswith(start)


def test_constants_with_the_same_elements_and_shape_share_a_file() -> None:
    constants = Constants()
    names = [written(constants, counted(4), shape).split(",")[0] for shape in ((2, 2), (1, 4), (2, 2))]
    assert names == [f'utils.load("constant{number}"' for number in (0, 1, 0)]
