"""``torch_xla.experimental.spmd_fully_sharded_data_parallel``: modules whose parameters all chips share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch import nn

from tt_xla.frontends.torch.xla_api import finder as _finder

_AXIS = "fsdp"


class SpmdFullyShardedDataParallel(nn.Module):
    """Splits the parameters of a module over the mesh axis ``fsdp``, and its output along the first dimension.

    Args:
        module: the module, on device ``tt``.
        mesh: a mesh with an axis ``fsdp``; by default the global one.
        shard_output: called with the output and the mesh instead of splitting the output; what it returns, if anything,
            replaces the output.
        auto_wrap_policy: called with ``module``, ``recurse`` and ``nonwrapped_numel``, the number of parameters; says
            which submodules to wrap on their own.
        auto_wrapper_callable: wraps them; by default this class.
        extra_data_axis: a further axis that splits the first dimension of the output.

    Raises:
        ValueError: there is no mesh, or it has no axis ``fsdp`` or no ``extra_data_axis``.
        TypeError: the module is wrapped already.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        mesh: _spmd.Mesh | None = None,
        shard_output: Callable[..., Any] | None = None,
        auto_wrap_policy: Callable[..., bool] | None = None,
        auto_wrapper_callable: Callable[..., nn.Module] | None = None,
        extra_data_axis: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(module, SpmdFullyShardedDataParallel):
            raise TypeError("The module is wrapped already. Wrap inner modules first, then the outer one.")
        mesh = mesh if mesh is not None else _spmd.get_global_mesh()
        axes = () if mesh is None else mesh.axis_names or ()
        missing = [axis for axis in (_AXIS, extra_data_axis) if axis is not None and axis not in axes]
        if mesh is None or missing:
            given = "there is no mesh" if mesh is None else f"the mesh has the axes {list(axes)}"
            raise ValueError(f"The mesh needs the axes {missing}; {given}. Pass mesh=, or call xs.set_global_mesh.")
        if auto_wrap_policy is not None:
            wrap = auto_wrapper_callable or SpmdFullyShardedDataParallel
            options = {"mesh": mesh, "shard_output": shard_output, "extra_data_axis": extra_data_axis}
            _wrap_children(module, auto_wrap_policy, lambda child: wrap(child, **options))
        for parameter in module.parameters():
            if not _spmd.sharding_of(parameter):
                _spmd.mark_sharding(parameter, mesh, _largest_dimension_split(parameter))
        self._orig_module, self._mesh, self._shard_output = module, mesh, shard_output
        self._batch_axes = _AXIS if extra_data_axis is None else (extra_data_axis, _AXIS)

    @property
    def module(self) -> nn.Module:
        """The wrapped module."""
        return self._orig_module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self._orig_module(*args, **kwargs)
        if self._shard_output is not None:
            replaced = self._shard_output(output, self._mesh)
            return output if replaced is None else replaced
        if isinstance(output, tuple) and output and isinstance(output[0], torch.Tensor):
            return (self._split_batch(output[0]), *output[1:])
        if isinstance(output, torch.Tensor):
            return self._split_batch(output)
        raise TypeError(f"The output is a {type(output).__name__}, expected a tensor or a tuple. Pass shard_output=.")

    def _split_batch(self, output: torch.Tensor) -> torch.Tensor:
        from tt_torch import sharding_constraint_tensor

        spec = (self._batch_axes, *[None] * (output.dim() - 1)) if output.dim() else ()
        return sharding_constraint_tensor(output, self._mesh, spec)

    def __getattr__(self, name: str) -> Any:
        """Returns an attribute of the wrapped module."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_module"), name)

    def __getitem__(self, key: int) -> nn.Module:
        return self._orig_module[key]  # type: ignore[index]  # a sequence of modules


def _largest_dimension_split(parameter: torch.Tensor) -> tuple[Any, ...]:
    """Returns the partition spec that splits the largest dimension."""
    if not parameter.dim():
        return ()
    largest = max(range(parameter.dim()), key=lambda dim: parameter.shape[dim])
    return tuple(_AXIS if dim == largest else None for dim in range(parameter.dim()))


def _wrap_children(module: nn.Module, policy: Callable[..., bool], wrap: Callable[[nn.Module], nn.Module]) -> None:
    """Wraps those submodules that a policy selects, the inner ones first."""
    for name, child in module.named_children():
        numel = sum(parameter.numel() for parameter in child.parameters())
        if policy(module=child, recurse=True, nonwrapped_numel=numel):
            _wrap_children(child, policy, wrap)
        if policy(module=child, recurse=False, nonwrapped_numel=numel):
            setattr(module, name, wrap(child))


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
