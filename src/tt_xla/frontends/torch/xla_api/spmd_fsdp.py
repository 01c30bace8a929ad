"""``torch_xla.experimental.spmd_fully_sharded_data_parallel``: modules whose parameters all chips share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch import nn
from torch_xla.distributed.fsdp.wrap import Policy as _Policy
from torch_xla.distributed.fsdp.wrap import recursive_wrap as _recursive_wrap

from tt_xla.frontends.torch.device.chips import DEVICE_TYPE as _DEVICE_TYPE

_AXIS = "fsdp"


class SpmdFullyShardedDataParallel(nn.Module):
    """Splits the parameters of a module over the mesh axis ``fsdp``, and its output along the first dimension.

    Args:
        module: the module. It is moved to device ``tt``.
        mesh: a mesh with an axis ``fsdp``; by default the global one.
        shard_output: called with the output and the mesh instead of splitting the output; what it returns, if anything,
            replaces the output.
        auto_wrap_policy: called with ``module``, ``recurse`` and ``unwrapped_params``, the number of parameters that
            are not wrapped yet; says which submodules to wrap on their own. Policies of ``torch.distributed.fsdp``,
            which take ``nonwrapped_numel``, are called with that.
        auto_wrapper_callable: wraps them, called with the submodule, ``mesh``, ``shard_output`` and
            ``extra_data_axis``; by default this class.
        extra_data_axis: a further axis that splits the first dimension of the output.

    Raises:
        ValueError: there is no mesh, or it has no axis ``fsdp`` or no ``extra_data_axis``; or a submodule is wrapped
            already and there is a policy.
        RuntimeError: the module is wrapped already, or has no ``forward``.
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
            raise RuntimeError("The module is wrapped already. Wrap inner modules first, then the outer one.")
        if getattr(module.forward, "__func__", None) is nn.Module.forward:
            raise RuntimeError(
                f"{type(module).__name__} has no forward method, whose output would be split. Wrap the modules in it."
            )
        mesh = mesh if mesh is not None else _spmd.get_global_mesh()
        axes = () if mesh is None else mesh.axis_names or ()
        missing = [axis for axis in (_AXIS, extra_data_axis) if axis is not None and axis not in axes]
        if mesh is None or missing:
            given = "there is no mesh" if mesh is None else f"the mesh has the axes {list(axes)}"
            absent = (
                ""
                if mesh is None or extra_data_axis in (None, *axes)
                else (f"The provided {extra_data_axis} axis is not in the mesh. ")
            )
            raise ValueError(
                f"{absent}The mesh needs the axes {missing}; {given}. Pass mesh=, or call xs.set_global_mesh."
            )
        if auto_wrap_policy is not None:
            wrap = auto_wrapper_callable or SpmdFullyShardedDataParallel
            options = {"mesh": mesh, "shard_output": shard_output, "extra_data_axis": extra_data_axis}
            _recursive_wrap(module, _with_count(auto_wrap_policy), wrap, only_wrap_children=True, **options)
        module = module.to(_DEVICE_TYPE)
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
        raise RuntimeError(
            f"The output type is not supported: {type(output).__name__}, expected a tensor or a tuple. Pass "
            "shard_output=."
        )

    def _split_batch(self, output: torch.Tensor) -> torch.Tensor:
        spec = (self._batch_axes, *[None] * (output.dim() - 1)) if output.dim() else ()
        return _spmd.mark_sharding_with_gradients(output, self._mesh, spec)

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


def _with_count(policy: Callable[..., bool]) -> _Policy:
    """Returns a policy that gets the number of parameters that are not wrapped under torch_xla's name."""
    try:
        names = list(inspect.signature(policy).parameters)
    except ValueError:  # a function that is not written in Python
        names = []
    if "nonwrapped_numel" not in names:
        return policy
    return lambda module, recurse, unwrapped_params: policy(
        module=module, recurse=recurse, nonwrapped_numel=unwrapped_params
    )
