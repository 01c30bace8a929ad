"""Shapes of convolutions and poolings, and how their images and weights lie in memory.

Activations are flattened, [1, 1, N*H*W, C]. Seen as NCHW they have torch's channels-last strides, and so have results,
so that reading and writing them costs no copy and torch takes its fast path. Weights come as OIHW or prepared, as the
matrix [1, 1, kh*kw*I, O] whose memory is O, kh, kw, I: seen as OIHW that too is channels-last. Prepared weights of
groups are those of one convolution without groups, zero between groups, as TT-NN prepares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.context import Context

Tensor = torch.Tensor
Config = Mapping[str, Any] | None
Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int], int]
"""Stride, padding of height and width, dilation, groups: the arguments of ``F.conv2d`` after the bias."""


def image(input: Tensor, batch: int, height: int, width: int, channels: int) -> Tensor:
    """Views [..., N*H*W, C] as [N, C, H, W]."""
    return input.reshape(batch, height, width, channels).permute(0, 3, 1, 2)


def flattened(result: Tensor) -> Tensor:
    """Views [N, C, H, W] as [1, 1, N*H*W, C]."""
    return result.permute(0, 2, 3, 1).reshape(1, 1, -1, result.shape[1])


def four_sides(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Returns the padding at top, bottom, left and right, given as one, two (height, width) or four numbers."""
    if len(padding) == 1:
        return padding[0], padding[0], padding[0], padding[0]
    if len(padding) == 2:
        return padding[0], padding[0], padding[1], padding[1]
    top, bottom, left, right = padding
    return top, bottom, left, right


def is_prepared(ctx: Context, weight: Sequence[int], iohw: Sequence[int]) -> bool:
    """Whether the weight of a transposed convolution is in the order of TT-NN's convolution.

    Of one channel and kernels of one column it has the shape of any other weight. Then those in tiles are prepared.

    Args:
        ctx: the op.
        weight: shape of the weight.
        iohw: shape of a weight that is not prepared: inputs, outputs of a group, rows, columns.
    """
    if tuple(weight) != tuple(iohw):
        return True
    return ctx.spec("weight").layout.tiled and tuple(iohw[:2]) == (1, 1) and iohw[3] == 1


def two(values: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers for height and width, given as one or two."""
    return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


_ALONG_ONE = 3
"""Dimensions of the weights of a convolution along one dimension."""


def prepare(weight: Tensor, groups: int) -> Tensor:
    """Turns weights OIHW, or OIH of a convolution along one dimension, into [1, 1, kh*kw*I, O] with O outermost in
    memory."""
    weight = _without_groups(weight if weight.ndim > _ALONG_ONE else weight[..., None], groups)
    ordered = weight.permute(0, 2, 3, 1).contiguous(memory_format=torch.contiguous_format)
    return ordered.view(weight.shape[0], -1).t().unsqueeze(0).unsqueeze(0)


def _without_groups(weight: Tensor, groups: int) -> Tensor:
    """Turns weights [O, I/groups, kh, kw] into the [O, I, kh, kw] of a convolution without groups."""
    if groups == 1:
        return weight
    outputs, inputs, height, width = weight.shape
    dense = weight.new_zeros(groups, outputs // groups, groups, inputs, height, width)
    dense.diagonal(dim1=0, dim2=2).copy_(weight.reshape(groups, -1, inputs, height, width).permute(1, 2, 3, 4, 0))
    return dense.reshape(outputs, groups * inputs, height, width)


def unprepare(matrix: Tensor, channels: int, kernel_size: Sequence[int], groups: int) -> Tensor:
    """Views what :func:`prepare` returned as [O, channels/groups, kh, kw]; further rows are padding."""
    height, width = kernel_size
    columns = matrix.reshape(matrix.shape[-2:])[: height * width * channels].t()
    dense = columns.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
    if groups == 1:
        return dense
    blocks = dense.reshape(groups, -1, groups, channels // groups, height, width).diagonal(dim1=0, dim2=2)
    return blocks.permute(4, 0, 1, 2, 3).reshape(-1, channels // groups, height, width)


def activation_name(activation: Any) -> str | None:
    """Returns the name of a convolution's activation, which its config has as a name or as a record."""
    if isinstance(activation, Mapping):
        return str(activation.get("op_type") or activation.get("type") or "") or None  # pyright: ignore
    return str(activation) if activation else None


@dataclass(frozen=True)
class Geometry:
    """Attributes of a convolution, by their names in IR, and what follows from them."""

    in_channels: int
    out_channels: int
    batch_size: int
    input_height: int
    input_width: int
    kernel_size: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int
    conv2d_config: Config = None

    @staticmethod
    def of(attributes: Mapping[str, Any]) -> Geometry:
        """Reads the geometry from the attributes of an instruction."""
        names = (field.name for field in fields(Geometry))
        return Geometry(**{name: attributes[name] for name in names if name in attributes})

    @property
    def weight(self) -> tuple[int, int, int, int]:
        """Shape of the weight, OIHW."""
        return self.out_channels, self.in_channels // self.groups, *two(self.kernel_size)

    @property
    def turned_weight(self) -> tuple[int, int, int, int]:
        """Shape of the weight of a transposed convolution, IOHW."""
        return self.in_channels, self.out_channels // self.groups, *two(self.kernel_size)

    @property
    def sides(self) -> tuple[int, int, int, int]:
        """Padding at top, bottom, left and right."""
        return four_sides(self.padding)

    @property
    def is_symmetric(self) -> bool:
        """Whether opposite sides have the same padding, which torch's convolution then does itself."""
        top, bottom, left, right = self.sides
        return (top, left) == (bottom, right)

    @property
    def window(self) -> Window:
        """Arguments of torch's convolution of :meth:`input_image`."""
        top, _, left, _ = self.sides
        padding = (top, left) if self.is_symmetric else (0, 0)
        return two(self.stride), padding, two(self.dilation), self.groups

    @property
    def image_shape(self) -> tuple[int, int, int, int]:
        """Shape of :meth:`input_image`, NCHW."""
        height, width = self.input_height, self.input_width
        if not self.is_symmetric:
            top, bottom, left, right = self.sides
            height, width = height + top + bottom, width + left + right
        return self.batch_size, self.in_channels, height, width

    def input_image(self, input: Tensor) -> Tensor:
        """Views the activations as NCHW, padded where torch's convolution cannot pad itself."""
        x = image(input, self.batch_size, self.input_height, self.input_width, self.in_channels)
        if self.is_symmetric:
            return x
        top, bottom, left, right = self.sides
        return torch.nn.functional.pad(x, (left, right, top, bottom))

    def row(self, bias: Tensor | None, context: Context) -> Tensor | None:
        """Returns the bias as a vector of the output channels, with the values of the format that the convolution
        stores it in: a bias beside unprepared weights gets theirs."""
        if bias is None:
            return None
        vector, weight = bias.reshape(-1)[: self.out_channels], context.spec("weight")
        if tuple(weight.shape) not in (self.weight, self.turned_weight):
            return vector
        return hold(vector[None], self._stored or weight.layout.dtype)[0]

    @property
    def activation(self) -> str | None:
        """Name of the function that the convolution ends with."""
        return activation_name((self.conv2d_config or {}).get("activation"))

    def oihw(self, weight: Tensor) -> Tensor:
        """Returns the weight as OIHW, with the values of the format that the convolution stores it in."""
        shape, groups = self.weight, self.groups
        if tuple(weight.shape) != shape:
            return unprepare(weight, self.in_channels, shape[2:], groups)
        if self._stored is not None:
            return unprepare(hold(prepare(weight, groups), self._stored), self.in_channels, shape[2:], groups)
        return weight

    @property
    def stores_blocks(self) -> bool:
        """Whether the convolution stores its weights in a block format."""
        return self._stored is not None

    @property
    def _stored(self) -> DataType | None:
        """The block format in which the convolution stores weights and bias; None for another format."""
        stored = (self.conv2d_config or {}).get("weights_dtype")
        return DataType(stored) if stored and DataType(stored).is_block_float else None
