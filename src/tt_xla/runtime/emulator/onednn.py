"""oneDNN's fused products and convolutions, as torch has them: weights in oneDNN's own order, bias and activation
applied to the float32 accumulator before the one rounding, as the chip applies them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import place

Tensor = torch.Tensor

ACTIVATIONS: dict[str | None, tuple[str, list[float], str]] = {
    None: ("none", [], ""),
    "gelu": ("gelu", [], "none"),
    "hardsigmoid": ("hardsigmoid", [], ""),
    "leaky_relu": ("leaky_relu", [0.01], ""),
    "relu": ("relu", [], ""),
    "relu6": ("hardtanh", [0.0, 6.0], ""),
    "sigmoid": ("sigmoid", [], ""),
    "silu": ("swish", [], ""),
    "tanh": ("tanh", [], ""),
}
"""By our names: torch's name of the post-op, its numbers, its algorithm."""

_WORTH_IT = 2**12 + 1
"""Multiplications from which torch's own bfloat16 linear calls oneDNN too, and takes longer than the call."""

_LANES, _TOO_WIDE = 16, 15

_ops: Any = torch.ops.mkldnn


@functools.cache
def available() -> bool:
    """Whether the card computes on a CPU that oneDNN multiplies bfloat16 on, with a torch that has oneDNN."""
    if place.device().type != "cpu":
        return False
    return torch.backends.mkldnn.is_available() and bool(_ops._is_mkldnn_bf16_supported())


def takes(multiplications: int, activation: str | None) -> bool:
    """Whether a bfloat16 product of this size, with this activation, is oneDNN's."""
    return multiplications >= _WORTH_IT and activation in ACTIVATIONS and available()


def ends(weights: Sequence[int], stride: Sequence[int], groups: int) -> bool:
    """Whether a bfloat16 convolution with weights of this shape, OIHW, comes to an end.

    oneDNN 3.12 loops for ever on CPUs with AVX-512 where each of up to 16 channels has a kernel of its own, 15 or more
    wide, which moves by 1 over a channels-last image.
    """
    alone = weights[:2] == (groups, 1)
    return not (alone and groups <= _LANES and weights[3] >= _TOO_WIDE and stride[1] == 1)


def ordered(weights: Tensor, rows: int) -> Tensor:
    """[N, K] in the order oneDNN reads it in when it multiplies so many rows."""
    return _ops._reorder_linear_weight(weights.contiguous(), rows)


def plain(weights: Tensor) -> Tensor:
    """:func:`ordered` weights as [N, K]."""
    return weights.to_dense() if weights.is_mkldnn else weights


def linear(input: Tensor, weights: Tensor, bias: Tensor | None, activation: str | None) -> Tensor:
    """``activation(input @ weights.T + bias)``; weights as they are or :func:`ordered`."""
    return _linear()(input, weights, bias, *ACTIVATIONS[activation])


@functools.cache
def _linear() -> Any:
    return _ops._linear_pointwise.default


@functools.cache
def _convolution() -> Any:
    return _ops._convolution_pointwise.default


class Convolution:
    """A convolution of one shape over channels-last tensors.

    Args:
        shape: of the input, [N, C, H, W].
        padding: of height and width, the same on both sides.
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
        self._activation = ACTIVATIONS[activation]

    def ordered(self, weights: Tensor) -> Tensor:
        """OIHW in the order oneDNN reads it in."""
        return _ops._reorder_convolution_weight(weights, *self._window, self._shape)

    def __call__(self, input: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
        """Weights as they are or :meth:`ordered`; the result is channels-last."""
        return _convolution()(input, weights, bias, *self._window, *self._activation)
