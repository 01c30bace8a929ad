"""``torch.overrides``: the stack of modes that see calls of PyTorch's functions in this thread."""

from __future__ import annotations

import torch
from torch.overrides import TorchFunctionMode

from tt_xla.frontends.torch.private.names import names_of

with names_of("function_modes"):
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._device import DeviceContext, _device_constructors

_SPARSE = torch.sparse_bsc_tensor, torch.sparse_bsr_tensor, torch.sparse_compressed_tensor, torch.sparse_coo_tensor
_SPARSE += torch.sparse_csc_tensor, torch.sparse_csr_tensor

DEVICE_CONSTRUCTORS = _device_constructors() - {*_SPARSE}
"""Functions that create a dense tensor on the default device. Dynamo cannot look up a set that has the sparse ones."""


_RANDOM_NAMES = (
    *("alpha_dropout", "alpha_dropout_", "bernoulli", "bernoulli_", "binomial", "cauchy_", "dropout"),
    *("dropout1d", "dropout2d", "dropout3d", "dropout_", "exponential_", "feature_alpha_dropout", "feature_dropout"),
    *("fractional_max_pool2d", "fractional_max_pool3d", "geometric_", "gumbel_softmax", "kaiming_normal_"),
    *("kaiming_uniform_", "log_normal_", "multi_head_attention_forward", "multinomial", "native_dropout", "normal"),
    *("normal_", "orthogonal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like"),
    *("random_", "randperm", "rrelu", "rrelu_", "scaled_dot_product_attention", "sparse_", "trunc_normal_", "uniform_"),
    *("xavier_normal_", "xavier_uniform_"),
)
RANDOM_FUNCTIONS = {
    getattr(owner, name)
    for owner in (torch, torch.Tensor, torch.nn.functional, torch.nn.init)
    for name in _RANDOM_NAMES
    if hasattr(owner, name)
}
"""Functions that draw random numbers."""

current_modes = _get_current_function_mode_stack


def insert(mode: TorchFunctionMode) -> None:
    """Puts a mode below those that are entered as contexts, since the end of a context takes the highest mode off.

    The mode of ``torch.set_default_device`` stays the lowest, where PyTorch looks for it. ``with torch.device()`` is a
    context like others; C++ has entered it, so it remembers no device.
    """
    others = _popped()
    if others and isinstance(others[0], DeviceContext) and hasattr(others[0], "old_device"):
        TorchFunctionMode.__enter__(others.pop(0))
    for other in [mode, *others]:
        TorchFunctionMode.__enter__(other)


def remove(mode: TorchFunctionMode) -> None:
    """Takes a mode off the stack, wherever it is."""
    for other in _popped():
        if other is not mode:
            TorchFunctionMode.__enter__(other)


def _popped() -> list[TorchFunctionMode]:
    """Empties the stack and returns its modes, the lowest first. No mode's own code for entering and leaving runs."""
    modes = list(_get_current_function_mode_stack())
    for mode in reversed(modes):
        TorchFunctionMode.__exit__(mode, None, None, None)
    return modes


__all__ = [
    "DEVICE_CONSTRUCTORS",
    "RANDOM_FUNCTIONS",
    "DeviceContext",
    "TorchFunctionMode",
    "current_modes",
    "insert",
    "remove",
]
