"""``torch_xla.experimental.xla_quantized_matmul``: products with weights of 8 or 4 bits, for each channel or block.

Scripts quantize their weights with PyTorch's ops ``quantized_decomposed``, which are there once this is imported.
"""

from __future__ import annotations

import torch
import torch.ao.quantization.quantize_fx  # defines the ops quantized_decomposed
from torch import nn

_XLA = torch.library.Library("xla", "FRAGMENT")
_XLA.define(
    "quantized_matmul(Tensor x, Tensor w, Tensor scale, Tensor? zero_point=None, int? block_size=-1, "
    "bool? int4_weight=False, bool? quantize_activation=False) -> Tensor"
)


def _check(
    features: int, block_size: int, w: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor | None
) -> None:
    """Checks the shapes of quantized weights.

    Raises:
        AssertionError: weights, scales and zero points do not fit each other or the number of input features.
    """
    assert w.dtype == torch.int8, f"Weight dtype is expected to be torch.int8, got {w.dtype}."
    if block_size == -1:
        expected, scales = (scale.shape[0], features), (w.shape[0],)
        layout = "[out_features, in_features]"
    else:
        assert features % block_size == 0, f"{features} input features do not divide into blocks of {block_size}."
        expected, scales = (features // block_size, block_size, w.shape[-1]), (features // block_size, w.shape[-1])
        layout = "[in_features / block_size, block_size, out_features]"
    assert tuple(w.shape) == expected, f"The weight has shape {list(w.shape)}, expected {list(expected)}: {layout}."
    for name, tensor in (("scale", scale), ("zero point", zero_point)):
        shape = scales if tensor is None else tuple(tensor.shape)
        assert shape == scales, f"The {name} has shape {list(shape)}, expected {list(scales)}."


@torch.library.impl(_XLA, "quantized_matmul", "CompositeImplicitAutograd")
def quantized_matmul(
    x: torch.Tensor,
    w: torch.Tensor,
    scale: torch.Tensor,
    zero_point: torch.Tensor | None = None,
    block_size: int = -1,
    int4_weight: bool = False,
    quantize_activation: bool = False,
) -> torch.Tensor:
    """Multiplies by a quantized weight. ``torch.ops.xla.quantized_matmul`` calls it for tensors of any device.

    Args:
        x: inputs, of shape [..., in_features].
        w: the weight, of dtype int8: [out_features, in_features], or for blocks
            [in_features / block_size, block_size, out_features].
        scale: a scale for each output feature, [out_features], or for each block,
            [in_features / block_size, out_features].
        zero_point: what is subtracted for each unit of input, in the shape of ``scale`` and multiplied by it.
        block_size: number of input features that share a scale; -1 for one scale for each output feature.
        int4_weight: whether the weight's numbers are of 4 bits. They lie in 8 bits, so this changes nothing.
        quantize_activation: whether inputs are rounded to 8 bits first, with a scale for each row.

    Returns:
        A tensor of shape [..., out_features].

    Raises:
        AssertionError: the shapes do not fit, or inputs are to be rounded for weights in blocks.
    """
    _check(x.shape[-1], block_size, w, scale, zero_point)
    if block_size != -1:
        assert not quantize_activation, "quantize_activation is for scales per output feature, without block_size."
        blocks = x.reshape(*x.shape[:-1], -1, block_size)
        out = (torch.einsum("scn,...sc->...sn", w.to(x.dtype), blocks) * scale).sum(-2)
        return out if zero_point is None else out - blocks.sum(-1) @ zero_point
    row_scale = None
    if quantize_activation:
        row_scale = x.abs().amax(-1, keepdim=True) / 127
        x = torch.round(x / row_scale).to(torch.int32)
    out = nn.functional.linear(x, w.to(x.dtype)) * scale
    if zero_point is not None:
        out = out - x.sum(-1, keepdim=True) * zero_point
    return out if row_scale is None else out * row_scale


class XlaQuantizedLinear(nn.Module):
    """A linear layer without bias, with a quantized weight.

    Args:
        input_dim: number of input features.
        output_dim: number of output features.
        is_symmetric: whether there are no zero points.
        block_size: number of input features that share a scale; -1 for one scale for each output feature.
        int4_weight: whether the weight's numbers are of 4 bits.
        quantize_activation: whether inputs are rounded to 8 bits first.
    """

    weight: torch.Tensor
    weight_scaler: torch.Tensor
    zero_point: torch.Tensor | None

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        is_symmetric: bool = False,
        block_size: int = -1,
        int4_weight: bool = False,
        quantize_activation: bool = False,
    ) -> None:
        super().__init__()
        self.input_dim, self.output_dim = input_dim, output_dim
        self.is_symmetric, self.block_size = is_symmetric, block_size
        self.int4_weight, self.quantize_activation = int4_weight, quantize_activation
        self.register_buffer("weight", torch.zeros(output_dim, input_dim, dtype=torch.int8))
        self.register_buffer("weight_scaler", torch.zeros(output_dim))
        self.register_buffer("zero_point", None if is_symmetric else torch.zeros(output_dim))

    def load_quantized_weight(
        self, weight: torch.Tensor, weight_scaler: torch.Tensor, zero_point: torch.Tensor | None = None
    ) -> None:
        """Sets the weight, as :func:`quantized_matmul` takes it.

        Raises:
            AssertionError: the shapes do not fit the layer.
        """
        _check(self.input_dim, self.block_size, weight, weight_scaler, zero_point)
        out = weight.shape[0 if self.block_size == -1 else -1]
        assert out == self.output_dim, f"The weight has {out} output features, the layer has {self.output_dim}."
        self.weight, self.weight_scaler, self.zero_point = weight, weight_scaler, zero_point

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the products of the rows of ``x``."""
        return torch.ops.xla.quantized_matmul(
            x,
            self.weight,
            self.weight_scaler,
            self.zero_point,
            self.block_size,
            self.int4_weight,
            self.quantize_activation,
        )


__all__ = ["XlaQuantizedLinear", "quantized_matmul"]
