"""``torch_xla.core.xla_model``, which scripts import as ``xm``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch_xla
import torch_xla.runtime as _runtime

from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.private.functions import tree_map_only as _tree_map_only
from tt_xla.frontends.torch.xla_api import finder as _finder


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """Returns the torch device of a chip; by default that of the current one.

    Raises:
        RuntimeError: the system has no such chip.
    """
    return torch_xla.device(n)


def get_xla_supported_devices(devkind: str | None = None) -> list[str]:
    """Returns the names of all devices of a kind, such as ``tt:0``."""
    return [str(device) for device in torch_xla.devices()] if devkind in (None, "TT") else []


def xla_device_hw(device: torch.device | str) -> str:
    return str(torch.device(device).type).upper()


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    torch_xla.sync(wait, reset_scope)


def wait_device_ops(devices: list[str] | None = None) -> None:
    """Waits for running programs: does nothing, because programs have finished when ``sync`` returns."""


def optimizer_step(
    optimizer: torch.optim.Optimizer, barrier: bool = False, optimizer_args: dict[str, Any] | None = None
) -> Any:
    """Steps the optimizer. With one device there are no gradients to reduce. ``barrier`` runs all recorded ops."""
    loss = optimizer.step(**(optimizer_args or {}))
    if barrier:
        mark_step()
    return loss


def reduce_gradients(optimizer: torch.optim.Optimizer, groups: Any = None, pin_layout: bool = True) -> None:
    """Does nothing: with one device there are no gradients to reduce."""


REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX = "sum", "mul", "and", "or", "min", "max"


def all_reduce(
    reduce_type: str,
    inputs: torch.Tensor | list[torch.Tensor],
    scale: float = 1.0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> Any:
    """Reduces over the chips of each group, every one of which has the whole tensor, and scales the result.

    A list of tensors is reduced in place.

    Raises:
        ValueError: the reduction is unknown, or groups name a chip that is not there.
    """
    if reduce_type not in _REDUCTIONS:
        raise ValueError(f"all_reduce({reduce_type!r}): the reductions are {', '.join(_REDUCTIONS)}.")
    if isinstance(inputs, torch.Tensor):
        return _scaled(_collective("all_reduce", inputs, groups, inputs.shape, reduction=reduce_type), scale)
    for tensor in inputs:
        if _group_size(groups) > 1 or scale != 1.0:
            tensor.copy_(_scaled(_collective("all_reduce", tensor, groups, tensor.shape, reduction=reduce_type), scale))
    return None


def all_gather(
    value: torch.Tensor,
    dim: int = 0,
    groups: list[list[int]] | None = None,
    output: torch.Tensor | None = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """Joins the tensors of the chips of a group along ``dim``; every chip has the whole tensor.

    Raises:
        IndexError: the tensor has no dimension ``dim``.
        ValueError: groups name a chip that is not there.
    """
    dim = _dimension(value, dim)
    shape = _with_size(value.shape, dim, value.shape[dim] * _group_size(groups))
    gathered = _collective("all_gather", value, groups, shape, integers={"all_gather_dim": dim})
    return gathered if output is None else output.copy_(gathered)


def reduce_scatter(
    reduce_type: str,
    input: torch.Tensor,
    scale: float,
    scatter_dim: int,
    shard_count: int,
    groups: list[list[int]] | None = None,
    output: torch.Tensor | None = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """Reduces over the chips of a group, splits the result along ``scatter_dim``, and returns the first chip's part.

    Raises:
        IndexError: the tensor has no dimension ``scatter_dim``.
        ValueError: the reduction is unknown, ``shard_count`` is not the size of a group or does not divide the
            dimension, or groups name a chip that is not there.
    """
    if reduce_type not in _REDUCTIONS:
        raise ValueError(f"reduce_scatter({reduce_type!r}): the reductions are {', '.join(_REDUCTIONS)}.")
    if shard_count != _group_size(groups):
        raise ValueError(f"reduce_scatter(shard_count={shard_count}): the group size is {_group_size(groups)}.")
    scatter_dim = _dimension(input, scatter_dim)
    if input.shape[scatter_dim] % shard_count:
        raise ValueError(
            f"reduce_scatter cannot split dimension {scatter_dim} of {list(input.shape)} into {shard_count} parts."
        )
    shape = _with_size(input.shape, scatter_dim, input.shape[scatter_dim] // shard_count)
    integers = {"scatter_dimension": scatter_dim}
    part = _collective("reduce_scatter", input, groups, shape, reduction=reduce_type, integers=integers)
    part = _scaled(part, scale)
    return part if output is None else output.copy_(part)


def all_to_all(
    value: torch.Tensor,
    split_dimension: int,
    concat_dimension: int,
    split_count: int,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> torch.Tensor:
    """Sends a part along ``split_dimension`` to each chip of a group, which joins them along ``concat_dimension``.

    Returns:
        The first chip's result.

    Raises:
        IndexError: the tensor lacks one of the dimensions.
        ValueError: ``split_count`` is not the size of a group or does not divide the dimension, or groups name a chip
            that is not there.
    """
    split_dimension, concat_dimension = _dimension(value, split_dimension), _dimension(value, concat_dimension)
    if split_count != _group_size(groups) or value.shape[split_dimension] % split_count:
        raise ValueError(
            f"all_to_all(split_count={split_count}) of a tensor of shape {list(value.shape)}: a group has "
            f"{_group_size(groups)} chips, which must be the count and divide dimension {split_dimension}."
        )
    shape = _with_size(value.shape, split_dimension, value.shape[split_dimension] // split_count)
    shape = _with_size(shape, concat_dimension, shape[concat_dimension] * split_count)
    integers = {
        "split_dimension": split_dimension,
        "concat_dimension": concat_dimension,
        "split_count": split_count,
    }
    return _collective("all_to_all", value, groups, shape, integers=integers)


def collective_permute(value: torch.Tensor, pairs: list[list[int]]) -> torch.Tensor:
    """Sends each chip's tensor to the chip that ``pairs`` (source, target) names; others get zeros.

    Returns:
        The first chip's result.

    Raises:
        ValueError: a pair names a chip that is not there.
    """
    _group_size(pairs)
    return _collective("collective_permute", value, [list(pair) for pair in pairs], value.shape)


_REDUCTIONS = (REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX)


def _group_size(groups: list[list[int]] | None) -> int:
    """Returns the number of chips of a group; without groups, that of all chips in SPMD mode, else 1.

    Raises:
        ValueError: groups differ in size, or name a chip that is not there.
    """
    count = _runtime.global_runtime_device_count()
    if not groups:
        return count if _runtime.is_spmd() else 1
    if any(not 0 <= chip < count for group in groups for chip in group):
        raise ValueError(f"Groups {groups} name devices that do not exist. The system has {count}: 0 to {count - 1}.")
    if len({len(group) for group in groups}) > 1:
        raise ValueError(f"Groups {groups} differ in size.")
    return len(groups[0])


def _dimension(value: torch.Tensor, dim: int) -> int:
    """Returns a dimension of a tensor, which may count from the last one, as a number from 0 on.

    Raises:
        IndexError: the tensor has no such dimension.
    """
    rank = value.dim()
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension {dim} of a tensor of shape {list(value.shape)}: expected {-rank} to {rank - 1}.")
    return dim % rank


def _collective(
    op: str,
    value: torch.Tensor,
    groups: list[list[int]] | None,
    shape: Sequence[int],
    *,
    reduction: str = "",
    integers: dict[str, int] | None = None,
) -> torch.Tensor:
    """Returns the result of a collective of StableHLO; on one chip, a copy."""
    if _group_size(groups) == 1 and op != "collective_permute":
        return value.clone()
    if _runtime.global_runtime_device_count() == 1:
        return value.clone() if [0, 0] in (groups or []) else torch.zeros_like(value)
    config = {"op": op, "groups": groups or [], "reduction": reduction, "integers": integers or {}}
    return torch.ops.tt.collective(value, json.dumps(config), list(shape))


def _with_size(shape: Sequence[int], dim: int, size: int) -> list[int]:
    return [*shape[:dim], size, *shape[dim + 1 :]]


def _scaled(tensor: torch.Tensor, scale: float) -> torch.Tensor:
    return tensor if scale == 1.0 else tensor * scale


def mesh_reduce(tag: str, data: Any, reduce_fn: Callable[[list[Any]], Any]) -> Any:
    return reduce_fn([data])


def rendezvous(tag: str, payload: bytes = b"", replicas: list[int] | None = None) -> list[bytes]:
    """Returns at once: there is no other process to wait for."""
    return [payload]


def broadcast_master_param(model: torch.nn.Module) -> None:
    """Does nothing: there is no other process to send parameters to."""


def add_step_closure(closure: Callable[..., Any], args: tuple[Any, ...] = (), run_async: bool = False) -> None:
    """Runs all recorded ops, then the closure."""
    mark_step()
    closure(*args)


def get_num_cached_compilation_graph() -> int:
    """Returns the number of compiled programs that are kept."""
    from tt_xla.frontends.torch.backend import compiled_programs

    return len(compiled_programs())


def get_memory_info(device: torch.device | str | None = None) -> dict[str, int]:
    """Returns the use of DRAM in bytes, under the names of the real package."""
    from tt_xla.runtime import get_device

    report = get_device(chip=_chips.chip_of(None if device is None else torch.device(device))).memory()
    used = report.resident
    return {"bytes_used": used, "bytes_limit": report.usable, "peak_bytes_used": used + report.program_peak}


def get_rng_state(device: str | None = None) -> int:
    """Returns the initial seed of a device, by default the current one, not its state: torch_xla has one integer."""
    return _chips.generator(_chips.chip_of(None if device is None else torch.device(device))).initial_seed()


def get_ordinal() -> int:
    return 0


def is_master_ordinal(local: bool = True) -> bool:
    return True


def get_local_ordinal() -> int:
    return 0


def xrt_world_size() -> int:
    return 1


def set_replication(device: torch.device | str, devices: Sequence[torch.device | str]) -> None:
    """Does nothing: one process drives all chips, so no device has replicas in other processes."""


def collective_broadcast(
    tensors: list[torch.Tensor],
    root_ordinal: int = 0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> None:
    """Does nothing: the tensors of the one process are those of its root."""


def send_cpu_data_to_device(datas: Any, device: torch.device | str, input_sharding: Any = None) -> Any:
    """Moves all tensors in nested lists, tuples and dicts to a device: in place in lists and dicts.

    Returns:
        The moved data. As in the real package, callers may ignore it where ``datas`` is a list or a dict.
    """
    moved = _tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), datas)
    return _replace_leaves(datas, moved)


def _replace_leaves(target: Any, source: Any) -> Any:
    """Writes the leaves of ``source`` into the lists and dicts of ``target``, which has the same structure."""
    if isinstance(target, dict):
        for key, value in source.items():
            target[key] = _replace_leaves(target[key], value)
        return target
    if isinstance(target, list):
        target[:] = [_replace_leaves(old, new) for old, new in zip(target, source, strict=True)]
        return target
    return source


def _fetch_gradients(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """Returns the gradients of the optimizer's parameters. accelerate reduces them over processes."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _maybe_convert_to_cpu(data: Any, convert: bool = True) -> Any:
    """Returns data with all its tensors on the CPU. accelerate calls it before saving."""
    return _tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), data) if convert else data


def set_rng_state(seed: int, device: str | None = None) -> None:
    """Seeds the generator of a device; by default those of all devices and of the CPU."""
    torch_xla.manual_seed(seed, device)


def save(
    data: Any, file_or_path: str | os.PathLike[str], master_only: bool = True, global_master: bool = False
) -> None:
    """Saves data with all its tensors on the CPU."""
    torch.save(_maybe_convert_to_cpu(data), file_or_path)


def master_print(*args: Any, **options: Any) -> None:
    print(*args, **options)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
