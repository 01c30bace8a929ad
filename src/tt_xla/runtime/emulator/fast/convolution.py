"""Convolutions that are one product of floats: oneDNN's, or a gradient of torch, with weights prepared once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import depthwise, matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Call, Context, Weighted
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import activate
from tt_xla.runtime.emulator.kernels.convolution import bfloat16_ends, convolve, row_major
from tt_xla.runtime.emulator.windows import Geometry, Window, flattened

Tensor = torch.Tensor


def take(context: Context, attributes: Mapping[str, Any]) -> Call | Weighted | None:
    """Returns the call of a convolution that is one product of floats; None for others."""
    names = list(context.operands)
    one_product = matrix_unit.is_one_product(attributes.get("compute_config"), silicon=context.silicon)
    floats = all(CONTAINERS[spec.layout.dtype] in (torch.bfloat16, torch.float32) for spec in context.specs)
    if names not in (["input", "weight"], ["input", "weight", "bias"]) or not one_product or not floats:
        return None
    if not all(math.prod(spec.shape) for spec in context.specs):
        return None
    geometry, shape = Geometry.of(attributes), context.result.shape
    if depthwise.takes(geometry.image_shape, geometry.weight, geometry.window):
        return None  # the kernel's way is the quickest, and fused kernels have its bits
    convolution = _Convolution(context, geometry, attributes)

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return with_prepared(input, convolution.prepared(weight), bias)  # in one order, oneDNN adds in one order

    def with_prepared(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        image = geometry.input_image(convolution.cut(input))
        return flattened(convolution(image, weight, geometry.row(bias, context))).reshape(shape)

    return Weighted(call, convolution.prepared, with_prepared, convolution.restored)


class _Convolution:
    """The convolution of an image of one shape, in one dtype."""

    def __init__(self, context: Context, geometry: Geometry, attributes: Mapping[str, Any]) -> None:
        self._geometry = geometry
        self._window = stride, padding, dilation, groups = geometry.window
        self._activation = activation = geometry.activation
        self._weights_dtype = CONTAINERS[context.spec("weight").layout.dtype]
        config = attributes.get("compute_config")
        self._input_bits, self._weight_bits = matrix_unit.source_bits(config, silicon=context.silicon)
        specs = (context.spec("input"), context.spec("weight"), context.result)
        all_bfloat16 = {CONTAINERS[spec.layout.dtype] for spec in specs} == {torch.bfloat16}
        self._taps: list[int] | None = None
        if "bias" not in context.operands and not activation:
            self._taps = _taps_of_gradient(geometry.image_shape, geometry.weight, self._window)
        self._onednn: onednn.Convolution | None = None
        # A convolution in bfloat16 is rounded to bfloat16 at once, after what oneDNN or an exact function does to it.
        ends = self._taps is None and bfloat16_ends(geometry.weight, stride, groups)
        by_onednn = onednn.takes(torch.bfloat16, activation, approximates=context.silicon)
        exact = activation in (None, "relu") and onednn.is_fast(torch.bfloat16)
        narrow = all_bfloat16 and ((ends and by_onednn) or exact)
        self._dtype = torch.bfloat16 if narrow else torch.float32
        takes = onednn.takes(self._dtype, activation, approximates=context.silicon)
        if takes and self._taps is None and (ends or not narrow):
            self._onednn = onednn.Convolution(geometry.image_shape, padding, stride, dilation, groups, activation)

    def cut(self, input: Tensor) -> Tensor:
        """Returns the input as the matrix unit's registers hold it."""
        return matrix_unit.significant(input, self._input_bits)

    def sources(self, weight: Tensor) -> Tensor:
        """Returns the weight OIHW as the matrix unit's registers hold it."""
        return row_major(matrix_unit.significant(self._geometry.oihw(weight), self._weight_bits).to(self._dtype))

    def prepared(self, weight: Tensor) -> Tensor:
        """Returns :meth:`sources` in the memory order that the convolution reads."""
        weight = self.sources(weight)
        return weight if self._onednn is None else self._onednn.ordered(weight)

    def restored(self, prepared: Tensor) -> Tensor:
        """Returns weights OIHW with the values of :meth:`prepared` ones."""
        return onednn.plain(prepared).to(self._weights_dtype)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Returns the result, NCHW.

        Args:
            x: the image, from what :meth:`cut` returned.
            weight: one of :meth:`sources` or :meth:`prepared`.
            bias: the bias of each channel.
        """
        x = x.to(self._dtype)
        bias = None if bias is None else bias.to(self._dtype)
        if self._onednn is not None:
            return self._onednn(x, weight, bias)
        if self._taps is not None:
            return _as_gradient(x, weight, self._taps, self._window)
        return activate(convolve(x, weight, bias, self._window), self._activation)


def _taps_of_gradient(x: Sequence[int], weight: Sequence[int], window: Window) -> list[int] | None:
    """Returns height and width of the result of a convolution that is better computed as a gradient.

    The result is smaller than the kernel, as in a backward pass: the convolution is the gradient of another one by its
    weight. None where it is not, or where the other one would have a larger result.

    Args:
        x: shape of the input, NCHW.
        weight: shape of the weight, OIHW.
        window: stride, padding, dilation and groups.
    """
    stride, padding, dilation, groups = window
    kernel = weight[2:]
    reach = [size + 2 * pad for size, pad in zip(x[2:], padding, strict=True)]
    counts = [
        (size - spread * (taps - 1) - 1) // step + 1
        for size, spread, taps, step in zip(reach, dilation, kernel, stride, strict=True)
    ]
    covered = [
        (size - step * (count - 1) - 1) // spread + 1
        for size, step, count, spread in zip(reach, stride, counts, dilation, strict=True)
    ]
    smaller = kernel[0] * kernel[1] > counts[0] * counts[1] and stride == (1, 1)  # not patches side by side
    return counts if groups == 1 and smaller and covered == list(kernel) else None


def _as_gradient(a: Tensor, b: Tensor, taps: Sequence[int], window: Window) -> Tensor:
    """Computes a convolution as the gradient, by its weight, of a convolution for which torch has a fast path.

    That one has batch and channels exchanged, and stride and dilation; ``b`` is the gradient of its result.

    Where oneDNN does not multiply bfloat16, torch would sum the gradient in bfloat16; this function sums in float32.
    """
    if a.dtype is torch.bfloat16 and not onednn.available():
        return _as_gradient(a.float(), b.float(), taps, window).to(a.dtype)
    stride, padding, dilation, _ = window
    weight = a.new_empty(b.shape[0], a.shape[0], *taps)
    # In other memory orders torch takes longer than these copies.
    x, gradient = (operand.transpose(0, 1).contiguous(memory_format=torch.channels_last) for operand in (a, b))
    mask = (False, True, False)
    gradients = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, dilation, padding, stride, False, (0, 0), 1, mask
    )
    return gradients[1].transpose(0, 1)
