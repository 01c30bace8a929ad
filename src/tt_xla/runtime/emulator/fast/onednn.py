"""Torch's ops for oneDNN's products and convolutions.

Weights lie in oneDNN's own memory order. Bias and activation are applied to the float32 sum before it is rounded once,
as the chip applies them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.functions import PostOp, post_op

Tensor = torch.Tensor

_ops: Any = torch.ops.mkldnn


@functools.cache
def available(dtype: torch.dtype = torch.bfloat16) -> bool:
    """Whether the card computes on a CPU whose oneDNN multiplies tensors of this dtype."""
    if place.device().type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    return dtype is torch.float32 or (dtype is torch.bfloat16 and bool(_ops._is_mkldnn_bf16_supported()))


def is_fast(dtype: torch.dtype) -> bool:
    """Whether torch's own product of a dtype is fast.

    Where oneDNN does not multiply bfloat16, torch's product takes fifty times as long as that of float32 on a CPU.
    """
    return dtype is not torch.bfloat16 or place.device().type != "cpu" or available(dtype)


def takes(dtype: torch.dtype, activation: str | None, *, approximates: bool) -> bool:
    """Whether a product of this dtype, with this activation, is oneDNN's, whatever its size.

    Args:
        dtype: dtype of the operands and of the result.
        activation: function that the product ends with.
        approximates: whether oneDNN's approximations of functions will do.
    """
    operation = post_op(activation)
    return operation is not None and (approximates or not operation.approximates) and available(dtype)


def ordered(weights: Tensor, rows: int) -> Tensor:
    """Returns weights [N, K] in the memory order that oneDNN reads when it multiplies this number of rows."""
    return _ops._reorder_linear_weight(weights.contiguous(), rows)


def plain(weights: Tensor) -> Tensor:
    """Returns weights in oneDNN's memory order as a plain tensor of the same shape."""
    return weights.to_dense() if weights.is_mkldnn else weights


def linear(input: Tensor, weights: Tensor, bias: Tensor | None, activation: str | None) -> Tensor:
    """Returns ``activation(input @ weights.T + bias)``.

    Args:
        weights: [N, K], plain or :func:`ordered`.
        activation: one that :func:`takes` accepts.
    """
    return _linear()(input, weights, _dense(bias), *_arguments(activation))


def _dense(bias: Tensor | None) -> Tensor | None:
    """Returns a bias whose numbers lie beside each other: torch's ops read it so, whatever its stride is."""
    return bias if bias is None else bias.contiguous()


@functools.cache
def _arguments(activation: str | None) -> tuple[str, list[float], str]:
    """Arguments of torch's op for the post-op: its name, its scalars, its algorithm."""
    operation = post_op(activation)
    assert isinstance(operation, PostOp)
    return operation.name, list(operation.scalars), operation.algorithm


@functools.cache
def _linear() -> Any:
    return _ops._linear_pointwise.default


@functools.cache
def _convolution() -> Any:
    return _ops._convolution_pointwise.default


class Convolution:
    """A convolution over channels-last tensors of one shape.

    Args:
        shape: shape of the input, [N, C, H, W].
        padding: padding of height and width, the same on both sides.
        stride: steps of the window along height and width.
        dilation: distances between the window's elements along height and width.
        groups: number of groups of channels.
        activation: one that :func:`takes` accepts.
    """

    def __init__(
        self,
        shape: Sequence[int],
        padding: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
        groups: int,
        activation: str | None,
    ) -> None:
        self._shape = list(shape)
        self._window = (list(padding), list(stride), list(dilation), groups)
        self._activation = _arguments(activation)

    def ordered(self, weights: Tensor) -> Tensor:
        """Returns weights OIHW in the memory order that oneDNN reads."""
        return _ops._reorder_convolution_weight(weights, *self._window, self._shape)

    def __call__(self, input: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        """Returns the channels-last result; weights are plain OIHW or :meth:`ordered`."""
        return _convolution()(input, weights, _dense(bias), *self._window, *self._activation)
