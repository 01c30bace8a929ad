"""``torch.accelerator`` and ``torch.nn.DataParallel``, which ask PyTorch's C++ core about devices.

The core believes that a device written in Python has one device only, which is always the current one, and its copies
between devices exist in builds for CUDA alone.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

import torch
from torch.nn.parallel import DataParallel

from tt_xla.frontends.torch.trees import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

_SAME_NAMES = (
    *("empty_cache", "memory_allocated", "memory_reserved", "memory_stats", "max_memory_allocated"),
    *("max_memory_reserved", "reset_accumulated_memory_stats", "reset_peak_memory_stats"),
)
"""Functions about memory that the device module has too. The core knows allocators in C++ alone."""

REPLACED = ((torch, "accelerator"), (DataParallel, "forward"))
"""Owner and name of each attribute that :func:`apply` replaces."""


def apply(device_type: str, module: Any) -> None:
    """Makes ``torch.accelerator`` and ``torch.nn.DataParallel`` use the device module.

    Args:
        device_type: name of the device, ``tt``.
        module: ``torch.tt``.
    """
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != device_type:
        return
    sys.modules["torch.accelerator"] = torch.accelerator = _accelerator_of(module)
    _replace_data_parallel(device_type, module)


def _accelerator_of(module: Any) -> ModuleType:
    """Returns PyTorch's module with the device module's functions in place of those that ask the core."""

    def set_device_index(device: Any, /) -> None:
        module.set_device(device)

    def synchronize(device: Any = None, /) -> None:
        module.synchronize(device)

    ours = ModuleType(torch.accelerator.__name__, torch.accelerator.__doc__)
    vars(ours).update(
        vars(torch.accelerator),
        current_device_index=module.current_device,
        device_index=module.device,
        get_memory_info=module.mem_get_info,
        set_device_index=set_device_index,
        synchronize=synchronize,
        **{name: getattr(module, name) for name in _SAME_NAMES},
    )
    return ours


def _replace_data_parallel(device_type: str, module: Any) -> None:
    """Makes ``torch.nn.DataParallel`` copy to the chips and back by ``.to``, whose gradients autograd adds.

    PyTorch runs the replicas in threads. Here the ops of one chip are recorded after those of another, and they run on
    their chips when a result is read.
    """
    forward = DataParallel.forward

    @functools.wraps(forward)
    def forward_on_chips(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids or self.src_device_obj.type != device_type:
            return forward(self, *inputs, **kwargs)
        state = [*self.module.named_parameters(), *self.module.named_buffers()]
        results: list[Any] = []
        for index, part in zip(self.device_ids, _parts((inputs, kwargs), len(self.device_ids), self.dim), strict=False):
            chip = torch.device(device_type, index)
            with module.device(chip):
                copies = {name: tensor.to(chip) for name, tensor in state}
                args, options = tree_map_only(torch.Tensor, lambda tensor, chip=chip: tensor.to(chip), part)
                results.append(torch.func.functional_call(self.module, copies, args, options))
        is_host = self.output_device < 0  # as torch.nn.parallel writes it
        return _joined(results, torch.device("cpu" if is_host else f"{device_type}:{self.output_device}"), self.dim)

    DataParallel.forward = forward_on_chips  # type: ignore[method-assign]


def _parts(tree: Any, count: int, dim: int) -> list[Any]:
    """Returns trees with parts of each tensor along a dimension, up to ``count``; one if the tree has no leaves."""
    leaves, structure = tree_flatten(tree)
    columns = [leaf.chunk(count, dim) if isinstance(leaf, torch.Tensor) else [leaf] * count for leaf in leaves]
    return [tree_unflatten([*row], structure) for row in zip(*columns, strict=False)] or [tree]


def _joined(trees: list[Any], device: torch.device, dim: int) -> Any:
    """Returns a tree with the tensors of several joined on a device; other leaves are those of the first."""
    leaves = [tree_leaves(tree) for tree in trees]
    joined = [
        torch.cat([torch.atleast_1d(part).to(device) for part in column], dim)
        if isinstance(column[0], torch.Tensor)
        else column[0]
        for column in zip(*leaves, strict=True)
    ]
    return tree_unflatten(joined, tree_flatten(trees[0])[1])


__all__ = ["REPLACED", "apply"]
