"""``torch.overrides``: the stack of modes that see calls of PyTorch's functions in this thread."""

from __future__ import annotations

from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._device import DeviceContext


def insert(mode: TorchFunctionMode) -> None:
    """Puts a mode below those that are entered as contexts, so that their ends find the stack as they left it."""
    others = _popped()
    if others and isinstance(others[0], DeviceContext):
        _push_mode(others.pop(0))  # PyTorch expects the default device at the bottom
    for other in [mode, *others]:
        _push_mode(other)


def remove(mode: TorchFunctionMode) -> None:
    """Takes a mode off the stack, wherever it is."""
    for other in _popped():
        if other is not mode:
            _push_mode(other)


def _popped() -> list[TorchFunctionMode]:
    """Empties the stack and returns its modes, the lowest first."""
    modes = list(_get_current_function_mode_stack())
    for _ in modes:
        _pop_mode()
    return modes


__all__ = ["TorchFunctionMode", "insert", "remove"]
