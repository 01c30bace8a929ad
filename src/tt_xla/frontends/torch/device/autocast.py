"""``torch.autocast("tt")``: ops in the lower precision, in float32, and in the dtype of their widest operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.device.signatures import overload_named
from tt_xla.frontends.torch.private.dispatcher import without_autocast

LOWER = (
    "_convolution",
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "linalg_multi_dot",
    "linalg_vecdot",
    "linear",
    "matmul",
    "mm",
    "mv",
    "prelu",
    "scaled_dot_product_attention",
)
"""Ops that run in the lower precision, as in PyTorch's policy for CUDA: matrix products and convolutions."""

FLOAT32 = (
    "acos",
    "asin",
    "cosh",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cdist",
    "cumprod",
    "cumsum",
    "dist",
    "erfinv",
    "exp",
    "expm1",
    "group_norm",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax.int",
    "logsumexp",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "nll_loss",
    "nll_loss2d",
    "norm.Scalar",
    "norm.ScalarOpt_dim",
    "pdist",
    "poisson_nll_loss",
    "pow.Scalar",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "prod",
    "prod.dim_int",
    "reciprocal",
    "renorm",
    "rsqrt",
    "sinh",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax.int",
    "softmin",
    "softplus",
    "sum",
    "sum.dim_IntList",
    "tan",
    "triplet_margin_loss",
)
"""Ops that run in float32, because they lose too much accuracy in 16 bits."""

WIDEST = (
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cat",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "scatter_add",
    "stack",
    "tensordot",
)
"""Ops whose operands must have one dtype: they run in the widest of the operands' dtypes."""

_FLOATS = (torch.bfloat16, torch.float16, torch.float32)

Choice = Callable[[Sequence[torch.Tensor]], torch.dtype | None]
"""Returns the dtype in which an op with these operands runs; None leaves them as they are."""


def register(library: torch.library.Library) -> None:
    """Registers the autocast policy with PyTorch's dispatcher."""
    for names, choose in ((LOWER, _lower), (FLOAT32, _float32), (WIDEST, _widest)):
        for name in names:
            if hasattr(torch.ops.aten, name.partition(".")[0]):
                library.impl(name, _casting(name, choose), "AutocastPrivateUse1")


def _lower(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    return torch.get_autocast_dtype(DEVICE_TYPE)


def _float32(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    return torch.float32


def _widest(tensors: Sequence[torch.Tensor]) -> torch.dtype | None:
    types = {tensor.dtype for tensor in tensors}
    if torch.float32 in types or len(types) > 1:
        return torch.float32
    return None


def _casting(name: str, choose: Choice) -> Callable[..., Any]:
    """Returns a kernel that casts floating-point tensors of the device and calls the op without autocast."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        op = overload_named(name)
        with without_autocast():
            tensors = [tensor for tensor in _tensors((*args, *kwargs.values())) if _casts(tensor)]
            dtype = choose(tensors) if tensors else None
            if dtype is None:
                return op(*args, **kwargs)
            return op(*[_cast(arg, dtype) for arg in args], **{key: _cast(arg, dtype) for key, arg in kwargs.items()})

    return kernel


def _casts(tensor: torch.Tensor) -> bool:
    return tensor.dtype in _FLOATS and tensor.device.type == DEVICE_TYPE


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
