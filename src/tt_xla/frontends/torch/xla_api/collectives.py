"""Collectives of ``torch_xla.core.xla_model``.

In replicas (``xmp.spawn``) each has a tensor of its own, and the collectives are over the replicas. Otherwise they are
over chips that act as one device, each of which has the whole tensor, and results are those of the first chip.

All chips are those of one process, so layouts, channels and kinds of device numbers, which the real package takes as
arguments, need no choice.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch_xla.runtime as _runtime

from tt_xla.frontends.torch import replicas as _replicas
from tt_xla.frontends.torch.device.buffers import is_computed
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE

REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX = "sum", "mul", "and", "or", "min", "max"


def all_reduce(
    reduce_type: str,
    inputs: torch.Tensor | list[torch.Tensor],
    scale: float = 1.0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> torch.Tensor | list[torch.Tensor]:
    """Reduces over the chips of each group, every one of which has the whole tensor, and scales the result.

    A list of tensors is reduced in place, and returned.

    Raises:
        ValueError: the reduction is unknown, or groups name a chip that is not there.
    """
    if reduce_type not in _REDUCTIONS:
        raise ValueError(f"all_reduce({reduce_type!r}): the reductions are {', '.join(_REDUCTIONS)}.")
    if _replicas.size() > 1:
        reduced = [_scaled(_reduced(reduce_type, _of_group(value, groups)), scale) for value in _as_list(inputs)]
        if isinstance(inputs, torch.Tensor):
            return reduced[0]
        for value, result in zip(inputs, reduced, strict=True):
            value.detach().copy_(result)
        return inputs
    if isinstance(inputs, torch.Tensor):
        return _scaled(_collective("all_reduce", inputs, groups, inputs.shape, reduction=reduce_type), scale)
    for tensor in inputs:
        if _group_size(groups) > 1 or scale != 1.0:
            reduced = _collective("all_reduce", tensor, groups, tensor.shape, reduction=reduce_type)
            tensor.detach().copy_(_scaled(reduced, scale))
    return inputs


def all_gather(
    value: Any,
    dim: int = 0,
    groups: list[list[int]] | None = None,
    output: Any = None,
    pin_layout: bool = True,
    channel_id: int | None = None,
    use_global_device_ids: bool | None = None,
) -> Any:
    """Joins the tensors of the chips or replicas of a group along ``dim``. A list of tensors gives a list.

    Raises:
        IndexError: the tensor has no dimension ``dim``.
        ValueError: groups name a chip that is not there.
    """
    if not isinstance(value, torch.Tensor):
        return all_gather_bucketized(value, dim, groups, output)
    dim = _dimension(value, dim)
    if _replicas.size() > 1:
        gathered = torch.cat(_of_group(value, groups), dim)
    else:
        shape = _with_size(value.shape, dim, value.shape[dim] * _group_size(groups))
        gathered = _collective("all_gather", value, groups, shape, integers={"all_gather_dim": dim})
    return _into(output, gathered)


def reduce_scatter(
    reduce_type: str,
    input: Any,
    scale: float,
    scatter_dim: int,
    shard_count: int,
    groups: list[list[int]] | None = None,
    output: Any = None,
    pin_layout: bool = True,
    channel_id: int | None = None,
    use_global_device_ids: bool | None = None,
) -> Any:
    """Reduces over the chips or replicas of a group, splits the result along ``scatter_dim``, and returns a part.

    That is the replica's own part, or that of the first chip. A list of tensors gives a list.

    Raises:
        IndexError: the tensor has no dimension ``scatter_dim``.
        ValueError: the reduction is unknown, ``shard_count`` is not the size of a group or does not divide the
            dimension, or groups name a chip that is not there.
    """
    if reduce_type not in _REDUCTIONS:
        raise ValueError(f"reduce_scatter({reduce_type!r}): the reductions are {', '.join(_REDUCTIONS)}.")
    if not isinstance(input, torch.Tensor):
        return reduce_scatter_bucketized(reduce_type, input, scale, scatter_dim, shard_count, groups, output)
    if shard_count != _group_size(groups):
        raise ValueError(f"reduce_scatter(shard_count={shard_count}): the group size is {_group_size(groups)}.")
    scatter_dim = _dimension(input, scatter_dim)
    if input.shape[scatter_dim] % shard_count:
        raise ValueError(
            f"reduce_scatter cannot split dimension {scatter_dim} of {list(input.shape)} into {shard_count} parts."
        )
    if _replicas.size() > 1:
        reduced = _reduced(reduce_type, _of_group(input, groups))
        part = reduced.chunk(shard_count, scatter_dim)[_own_group(groups).index(_replicas.ordinal())]
    else:
        shape = _with_size(input.shape, scatter_dim, input.shape[scatter_dim] // shard_count)
        integers = {"scatter_dimension": scatter_dim}
        part = _collective("reduce_scatter", input, groups, shape, reduction=reduce_type, integers=integers)
    part = _scaled(part, scale)
    return _into(output, part)


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
    if _replicas.size() > 1:
        position = _own_group(groups).index(_replicas.ordinal())
        parts = [other.chunk(split_count, split_dimension)[position] for other in _of_group(value, groups)]
        return torch.cat(parts, concat_dimension)
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
    if _replicas.size() > 1:
        sources = [source for source, target in pairs if target == _replicas.ordinal()]
        everywhere = _of_group(value, None)
        return everywhere[sources[0]] if sources else torch.zeros_like(value)
    return _collective("collective_permute", value, [list(pair) for pair in pairs], value.shape)


_REDUCTIONS = (REDUCE_SUM, REDUCE_MUL, REDUCE_AND, REDUCE_OR, REDUCE_MIN, REDUCE_MAX)


def _group_size(groups: list[list[int]] | None) -> int:
    """Returns the number of chips of a group; without groups, that of all chips in SPMD mode, else 1.

    Raises:
        ValueError: groups differ in size, or name a chip that is not there.
    """
    count = _runtime.global_runtime_device_count()
    if not groups:
        return count if _runtime.is_spmd() else _replicas.size()
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


def _into(output: torch.Tensor | None, result: torch.Tensor) -> torch.Tensor:
    """Returns the result, in ``output`` if there is one, which gets its shape."""
    if output is None:
        return result
    with torch.no_grad():
        return output.resize_(result.shape).copy_(result)


def _own_group(groups: list[list[int]] | None) -> list[int]:
    """Returns the group that has this replica.

    Raises:
        ValueError: none has it.
    """
    for group in groups or [list(range(_replicas.size()))]:
        if _replicas.ordinal() in group:
            return group
    raise ValueError(f"None of the groups {groups} has replica {_replicas.ordinal()}.")


def _of_group(value: torch.Tensor, groups: list[list[int]] | None) -> list[torch.Tensor]:
    """Returns the tensors of the replicas of this one's group."""
    return [*_replicas.gather(value, _own_group(groups)).unbind()]


def _reduced(reduction: str, values: Sequence[torch.Tensor]) -> torch.Tensor:
    return functools.reduce(_BINARY[reduction], values)


_BINARY: dict[str, Callable[..., torch.Tensor]] = {
    REDUCE_SUM: torch.add,
    REDUCE_MUL: torch.mul,
    REDUCE_AND: torch.bitwise_and,
    REDUCE_OR: torch.bitwise_or,
    REDUCE_MIN: torch.minimum,
    REDUCE_MAX: torch.maximum,
}


def _as_list(value: torch.Tensor | list[torch.Tensor]) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else value


def _with_size(shape: Sequence[int], dim: int, size: int) -> list[int]:
    return [*shape[:dim], size, *shape[dim + 1 :]]


def _scaled(tensor: torch.Tensor, scale: float) -> torch.Tensor:
    return tensor if scale == 1.0 else tensor * scale


def collective_broadcast(
    tensors: list[torch.Tensor],
    root_ordinal: int = 0,
    groups: list[list[int]] | None = None,
    pin_layout: bool = True,
) -> None:
    """Gives tensors, in place, the contents that they have in one replica; without replicas, they have them already.

    Contents that are there, such as the buckets of ``DistributedDataParallel``, are copied without a recorded op, so
    reading them runs nothing.

    Args:
        tensors: the tensors.
        root_ordinal: the replica whose contents all get.
        groups: groups of replicas; None for one of all.
        pin_layout: changes nothing.
    """
    if _replicas.size() > 1:
        members = _own_group(groups)
        for tensor in tensors if root_ordinal in members else ():
            contents = _contents_of(tensor, root_ordinal, members)
            if contents is None:
                contents = _of_group(tensor, groups)[members.index(root_ordinal)]
            tensor.detach().copy_(contents)


def _contents_of(tensor: torch.Tensor, root_ordinal: int, members: Sequence[int]) -> torch.Tensor | None:
    """Returns the contents that a tensor has in one replica, on the CPU; None where recorded ops compute them."""
    if torch.compiler.is_compiling():
        return None
    is_there = _replicas.ordinal() == root_ordinal and tensor.device.type == DEVICE_TYPE and is_computed(tensor)
    return _replicas.exchange(tensor.detach().cpu() if is_there else None, members)[members.index(root_ordinal)]


def all_gather_bucketized(
    input_list: Sequence[torch.Tensor],
    dim: int = 0,
    groups: list[list[int]] | None = None,
    output: Sequence[torch.Tensor] | None = None,
    pin_layout: bool = False,
    channel_id: int | None = None,
    use_global_device_ids: bool | None = None,
    bucket_cap_mb: int = 160,
) -> Sequence[torch.Tensor]:
    """Joins each of several tensors as :func:`all_gather` does. Buckets, which save calls of a network, save none here.

    Raises:
        IndexError, ValueError: as :func:`all_gather`.
    """
    outputs = [None] * len(input_list) if output is None else output
    return [all_gather(value, dim, groups, out) for value, out in zip(input_list, outputs, strict=True)]


def reduce_scatter_bucketized(
    reduce_type: str,
    input_list: Sequence[torch.Tensor],
    scale: float,
    scatter_dim: int,
    shard_count: int,
    groups: list[list[int]] | None = None,
    output: Sequence[torch.Tensor] | None = None,
    pin_layout: bool = False,
    channel_id: int | None = None,
    use_global_device_ids: bool | None = None,
    bucket_cap_mb: int = 160,
) -> Sequence[torch.Tensor]:
    """Reduces and splits each of several tensors as :func:`reduce_scatter` does.

    Raises:
        IndexError, ValueError: as :func:`reduce_scatter`.
    """
    outputs = [None] * len(input_list) if output is None else output
    return [
        reduce_scatter(reduce_type, value, scale, scatter_dim, shard_count, groups, out)
        for value, out in zip(input_list, outputs, strict=True)
    ]
