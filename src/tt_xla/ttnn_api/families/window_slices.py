"""Convolutions and poolings that TT-NN cuts into slices of height or width, each from DRAM through L1 and back."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.ttnn_api.configs import Config, SliceTypeEnum
from tt_xla.ttnn_api.enums import Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE


def check_convolution(slices: Config | None, in_dram: bool, output: Sequence[int], layout: Layout) -> bool:
    """Returns whether a convolution is cut into more than one slice by its user.

    Args:
        slices: its slice config; 0 slices are TT-NN's choice.
        in_dram: whether its input lies in DRAM, or comes there from the host.
        output: height and width of the result.
        layout: layout of the result.

    Raises:
        TTFatal: the input lies in L1, or the result cannot be cut into as many slices.
    """
    if slices is None or slices.slice_type is SliceTypeEnum.L1Full:
        return False
    if not in_dram:
        raise TTFatal(
            "Conv DRAM expects the input tensor to be in DRAM.",
            hint="Move the input with ttnn.to_memory_config(input_tensor, ttnn.DRAM_MEMORY_CONFIG), or leave the slice "
            "config out.",
        )
    _check_count(slices, output, layout)
    return slices.num_slices > 1


def check_pooling(
    slices: Config | None,
    in_dram: bool,
    input: Sequence[int],
    output: Sequence[int],
    padding: Sequence[int],
    window: tuple[Sequence[int], Sequence[int], Sequence[int]],
    layout: Layout,
) -> bool:
    """Returns whether a pooling is cut into slices, which TT-NN does with inputs in DRAM only.

    Args:
        slices: its slice config.
        in_dram: whether its input lies in DRAM.
        input: height and width of the images.
        output: height and width of the result.
        padding: at the top, bottom, left and right.
        window: kernel size, stride and dilation.
        layout: layout of the result.

    Raises:
        TTFatal: slices are smaller than a window, or the result cannot be cut into as many.
    """
    if slices is None or slices.slice_type is SliceTypeEnum.L1Full or slices.num_slices < 2 or not in_dram:
        return False
    axis = _axis(slices)
    kernel, stride, dilation = (each[axis] for each in window)
    size, before = input[axis], padding[2 * axis]
    reach, each = dilation * (kernel - 1) + 1, output[axis] // slices.num_slices
    smallest = size
    for first in (0, output[axis] - each):
        start, end = first * stride - before, (first + each - 1) * stride - before + reach
        smallest = min(smallest, max(min(end, size) - max(start, 0), 0))
    if smallest < reach:
        name = ("height", "width")[axis]
        raise TTFatal(
            f"Cannot fit Pool2D operation in L1 memory with DRAM slicing. The smallest input slice (size={smallest}) "
            f"in the {name} dimension is smaller than the effective kernel size ({reach}).",
            hint=f"The result has {output[axis]} positions of {name}: ask for fewer than {slices.num_slices} slices.",
        )
    _check_count(slices, output, layout)
    return True


def _axis(slices: Config) -> int:
    """Returns the side that is cut: 0 for height, 1 for width."""
    return 0 if slices.slice_type is SliceTypeEnum.DRAMSliceHeight else 1


def _check_count(slices: Config, output: Sequence[int], layout: Layout) -> None:
    """Refuses more slices than the result has rows of positions, or tiles of columns."""
    axis = _axis(slices)
    unit = TILE_SIZE if axis == 1 and layout is Layout.TILE else 1
    most = -(-output[axis] // unit)
    if slices.num_slices > most:
        raise TTFatal(
            f"Number of slices ({slices.num_slices}) exceeds the maximum allowed ({most}) for the given output "
            "dimension and alignment.",
            hint=f"Ask for at most {most} slices, or for 0, which leaves the number open.",
        )
