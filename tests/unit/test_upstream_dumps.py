"""Tests of upstream's dumps where they differ from the text of TT-NN or of this project."""

import pytest

from tt_xla.errors import MalformedModuleError
from tt_xla.ir.text import parse_module
from tt_xla.ir.ttnn.window import ConvTranspose2dOp

pytestmark = pytest.mark.quick

LAYOUT = "#{name} = #ttnn.ttnn_layout<(d0, d1, d2, d3) -> ({map}, d3), <1x1>, memref<{memref}, #dram>, <interleaved>>\n"
TILES = "{}x1x!ttcore.tile<32x32, bf16>"


def _layouts(**layouts: tuple[str, str]) -> str:
    lines = [LAYOUT.format(name=name, map=rows, memref=memref) for name, (rows, memref) in layouts.items()]
    return "".join(["#dram = #ttnn.buffer_type<dram>\n", *lines])


def _relu(rows: str) -> str:
    return (
        _layouts(rows=(rows, TILES.format(2)))
        + """
func.func @main(%a: tensor<1x1x64x16xbf16, #rows>) -> tensor<1x1x64x16xbf16, #rows> {
  %0 = "ttnn.relu"(%a) : (tensor<1x1x64x16xbf16, #rows>) -> tensor<1x1x64x16xbf16, #rows>
  return %0 : tensor<1x1x64x16xbf16, #rows>
}
"""
    )


def _transposed(padding: str, rows: int) -> str:
    layouts = _layouts(
        flat=(f"d0 * {rows} + d1 * {rows} + d2", TILES.format(2)),
        image=("d0 * 16 + d1 * 16 + d2", "16x8xbf16"),
        weights=("d0 * 72 + d1 * 72 + d2", TILES.format(3)),
    )
    function = """
!image = tensor<1x1x16x8xbf16, #image>
!weights = tensor<1x1x72x4xbf16, #weights>
!flat = tensor<1x1xROWSx4xbf16, #flat>
func.func @main(%a: !image, %w: !weights, %d: !ttnn.device) -> !flat {
  %0 = "ttnn.conv_transpose2d"(%a, %w, %d) <{batch_size = 1 : i32, dilation = array<i32: 1, 1>, groups = 1 : i32,
    in_channels = 8 : i32, input_height = 4 : i32, input_width = 4 : i32, kernel_size = array<i32: 3, 3>,
    out_channels = 4 : i32, output_padding = array<i32: 0, 0>, padding = array<i32: PADDING>,
    stride = array<i32: 2, 2>}> : (!image, !weights, !ttnn.device) -> !flat
  return %0 : !flat
}
"""
    return layouts + function.replace("ROWS", str(rows)).replace("PADDING", padding)


def test_the_stride_of_a_dimension_of_one_element_is_any_number():
    parse_module(_relu("d0 * 62 + d1 * 62 + d2"))
    with pytest.raises(MalformedModuleError, match="does not fit shape"):
        parse_module(_relu("d0 * 62 + d1 * 62 + d2 * 2"))


@pytest.mark.parametrize(
    ("padding", "rows", "expected"),
    [
        ("0, 0, 1, 1", 64, (0, 1, 0, 1)),  # top, left, bottom, right: 8 x 8
        ("0, 1, 0, 1", 64, (0, 1, 0, 1)),  # top, bottom, left, right: 8 x 8
        ("0, 0, 1, 1", 63, (0, 0, 1, 1)),  # top, bottom, left, right: 9 x 7
    ],
)
def test_padding_of_transposed_convolutions_in_either_order(padding: str, rows: int, expected: tuple[int, ...]):
    module = parse_module(_transposed(padding, rows))
    [convolution] = [op for op in module.walk() if isinstance(op, ConvTranspose2dOp)]
    assert convolution.padding == expected


def test_padding_that_fits_in_no_order_is_refused():
    with pytest.raises(MalformedModuleError, match="result has shape"):
        parse_module(_transposed("0, 0, 0, 1", 64))
