"""The conversion of colours."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.configs import YUVCoefficients
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.inferred import from_kernel
from tt_xla.ttnn_api.operation import OPERATIONS, Rule, define
from tt_xla.ttnn_api.operation_enums import RGBRange, YUVColorSpace, YUVRange

_SHARES = {
    YUVColorSpace.BT601: (0.299, 0.114),
    YUVColorSpace.BT709: (0.2126, 0.0722),
    YUVColorSpace.BT2020: (0.2627, 0.0593),
}
"""Parts of red and blue in the luma of each standard."""


def coefficients(
    space: YUVColorSpace,
    colours: RGBRange = RGBRange.MinusOneToOne,
    planes: YUVRange = YUVRange.Limited,
) -> YUVCoefficients:
    """Returns the coefficients of a standard."""
    red, blue = _SHARES[space]
    luma = (red, 1 - red - blue, blue)
    differences = [[-part / (2 * (1 - own)) for part in luma] for own in (blue, red)]
    differences[0][2] = differences[1][0] = 0.5
    limited, signed = planes is YUVRange.Limited, colours is RGBRange.MinusOneToOne
    height, width = (219.0, 224.0) if limited else (255.0, 255.0)
    scale = 0.5 if signed else 1.0
    black = (16.0 if limited else 0.0) + (height / 2 if signed else 0.0)
    rows = [[part * width * scale for part in row] + [128.0] for row in differences]
    return YUVCoefficients([part * height * scale for part in luma] + [black], rows[0], rows[1])


def _of_standard(space: YUVColorSpace) -> Rule:
    return lambda: coefficients(space)


for _space in (YUVColorSpace.BT601, YUVColorSpace.BT709):
    for _package in ("ttnn", "ttnn.experimental"):
        define(f"{_package}.yuv_{_space.name.lower()}_coefficients", _of_standard(_space), composite=True)


def _matrix(values: dict[str, Any]) -> dict[str, Any]:
    given = values["coefficients"]
    if given is None:
        given = coefficients(values["color_space"], values["input_range"], values["output_range"])
    return {"matrix": [list(given.y), list(given.cb), list(given.cr)]}


from_kernel(
    "ttnn.rgb_to_yuv",
    dtype=DataType.UINT8,
    layout=Layout.ROW_MAJOR,
    pack=tuple,
    prepare=_matrix,
    also_takes=("format", "color_space", "input_range", "output_range", "coefficients"),
)
define(
    "ttnn.experimental.rgb_to_yuv",
    OPERATIONS["ttnn.rgb_to_yuv"].rule,
    lambda: OPERATIONS["ttnn.rgb_to_yuv"].named,
)
