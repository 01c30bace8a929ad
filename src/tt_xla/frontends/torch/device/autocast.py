"""``torch.autocast("tt")``: ops in the lower precision, in float32, and in the dtype of their widest operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.signatures import overload_named

Choice = Callable[[Sequence[torch.Tensor], bool], torch.dtype | None]
"""Returns the dtype in which an op with these operands runs; None leaves them as they are. Takes also whether the
caller asked for a dtype."""


def _lower(tensors: Sequence[torch.Tensor], has_dtype: bool) -> torch.dtype:
    return torch.get_autocast_dtype(DEVICE_TYPE)


def _float32(tensors: Sequence[torch.Tensor], has_dtype: bool) -> torch.dtype:
    return torch.float32


def _float32_or_requested(tensors: Sequence[torch.Tensor], has_dtype: bool) -> torch.dtype | None:
    return None if has_dtype else torch.float32


def _widest(tensors: Sequence[torch.Tensor], has_dtype: bool) -> torch.dtype | None:
    types = {tensor.dtype for tensor in tensors}
    if torch.float32 in types or len(types) > 1:
        return torch.float32
    return None


def _refused(tensors: Sequence[torch.Tensor], has_dtype: bool) -> torch.dtype:
    raise RuntimeError(
        "binary_cross_entropy is unsafe under autocast, because probabilities lose too much accuracy in 16 bits. Use "
        "binary_cross_entropy_with_logits or BCEWithLogitsLoss without the sigmoid before it, or turn autocast off for "
        "the loss."
    )


POLICY: dict[Choice, tuple[str, ...]] = {
    _lower: (
        *("_convolution", "_convolution.deprecated", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d"),
        *("conv_transpose2d.input", "conv_transpose3d.input", "convolution", "prelu"),
        *("addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "chain_matmul", "einsum", "linalg_multi_dot"),
        *("linalg_vecdot", "linear", "matmul", "mm", "mv"),
        *("_thnn_fused_gru_cell", "_thnn_fused_lstm_cell", "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"),
        *("_scaled_dot_product_flash_attention", "scaled_dot_product_attention"),
    ),
    _float32: (
        *("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt"),
        *("sinh", "softplus", "tan", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor"),
        *("group_norm", "layer_norm", "native_layer_norm", "rms_norm"),
        *("cdist", "dist", "frobenius_norm.dim", "logsumexp", "norm.Scalar", "norm.ScalarOpt_dim", "nuclear_norm"),
        *("nuclear_norm.dim", "pdist", "renorm"),
        *("binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss"),
        *("huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss"),
        *("multilabel_margin_loss", "nll_loss", "nll_loss2d", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss"),
        "triplet_margin_loss",
        *("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d"),
        *("_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_bicubic2d", "upsample_bilinear2d"),
        *("upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
        "upsample_trilinear3d",
    ),
    _float32_or_requested: (
        *("cumprod", "cumsum", "linalg_matrix_norm", "linalg_matrix_norm.str_ord", "linalg_vector_norm"),
        *("log_softmax.int", "prod", "prod.dim_int", "softmax.int", "sum", "sum.dim_IntList"),
    ),
    _widest: (
        *("addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put", "scatter_add"),
        *("tensordot", "vdot"),
    ),
    _refused: ("binary_cross_entropy",),
}
"""Ops by how their dtype is chosen, as in PyTorch's policy for CUDA, without the ops of cuDNN.

Matrix products, convolutions and cells run in the lower precision; ops that lose too much accuracy in 16 bits run in
float32; ops whose operands must have one dtype run in the widest. PyTorch keeps the policy in ATen/autocast_mode.h.
"""


def register(library: torch.library.Library) -> None:
    """Registers the autocast policy with PyTorch's dispatcher."""
    for choose, names in POLICY.items():
        for name in names:
            packet = getattr(torch.ops.aten, name.partition(".")[0], None)
            if packet is not None and (name.partition(".")[2] or "default") in packet.overloads():
                library.impl(name, _casting(name, choose), "AutocastPrivateUse1")


def _casting(name: str, choose: Choice) -> Callable[..., Any]:
    """Returns a kernel that casts floating-point tensors of the device and calls the op without autocast."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        op = overload_named(name)
        with torch.autocast(DEVICE_TYPE, enabled=False):
            values = (*args, *kwargs.values())
            tensors = [tensor for tensor in _tensors(values) if _casts(tensor)]
            has_dtype = any(isinstance(value, torch.dtype) for value in values)
            dtype = choose(tensors, has_dtype) if tensors else None
            if dtype is None:
                return op(*args, **kwargs)
            return op(*[_cast(arg, dtype) for arg in args], **{key: _cast(arg, dtype) for key, arg in kwargs.items()})

    return kernel


def _casts(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype is not torch.float64 and tensor.device.type == DEVICE_TYPE


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            tensors += _tensors(value)
    return tensors


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if _casts(value) else value
    if isinstance(value, list | tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value
