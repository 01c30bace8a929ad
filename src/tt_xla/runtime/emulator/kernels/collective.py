"""Ops between the chips of a mesh. Operands are the tensors of the chips of one group, in their order along the axis.

Where workers share the chips, ``places`` are those in a group whose results are wanted. In the program of a rank of
``torch.distributed`` the operand is the rank's own tensor, and ``ranks`` are the attributes of :mod:`tt_xla.ir.ranks`.

``ttnn.reduce_scatter`` follows tt-metal's ``reduce_scatter_minimal_async``: each chip's part is a chain of sums, which
passes from chip to chip in both directions and is rounded to the tensor's type at each of them. ``ttnn.all_reduce``
scatters and gathers like that when a dimension divides into the parts; else it gathers all tensors and adds them in
one pass (``all_reduce_async.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tt_xla.ir.element_types import TILE, DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime import process_groups
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.containers import DECLARED, hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.runtime.mesh import post

Tensor = torch.Tensor
Config = Mapping[str, Any] | None

_RING = "ring"


@kernel("ttnn.all_gather", keeps_values=True)
def all_gather(
    ctx: Context,
    input: Sequence[Tensor],
    all_gather_dim: int,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    topology: str | None = None,
    sub_device_id: int | None = None,
    **ranks: Any,
) -> Tensor:
    """Joins the tensors of all chips along a dimension."""
    if ranks:
        return _with_ranks(ctx, "all_gather", input, **ranks)
    return input[0] if len(input) == 1 else torch.cat(list(input), all_gather_dim)


@kernel("ttnn.all_reduce", "ttnn.all_reduce_async")
def all_reduce(
    ctx: Context,
    input: Sequence[Tensor],
    reduce_type: str,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    topology: str | None = None,
    sub_device_id: int | None = None,
    compute_config: Config = None,
    **ranks: Any,
) -> Tensor:
    """Reduces the tensors of all chips element by element."""
    if ranks:
        return _with_ranks(ctx, "all_reduce", input, reduction=reduce_type, **ranks)
    specs = ctx.operands["input"]
    assert not isinstance(specs, TensorSpec)
    shape = specs[0].shape if specs[0].layout.tiled else ()
    return reduced_everywhere(input, reduce_type, shape, ctx.dtype, silicon=ctx.silicon, topology=topology)


@kernel("ttnn.reduce_scatter")
def reduce_scatter(
    ctx: Context,
    input: Sequence[Tensor],
    reduce_type: str,
    scatter_dim: int,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    topology: str | None = None,
    sub_device_id: int | None = None,
    compute_config: Config = None,
    places: Sequence[int] | None = None,
    **ranks: Any,
) -> Tensor | list[Tensor]:
    """Reduces the tensors of all chips; each chip keeps its part of the result along a dimension."""
    if ranks:
        return _with_ranks(ctx, "reduce_scatter", input, reduction=reduce_type, **ranks)
    count = len(input)
    wanted = range(count) if places is None else places
    pieces = [torch.chunk(tensor, count, scatter_dim) for tensor in input]
    groups = [[piece[place] for piece in pieces] for place in wanted]
    parts = [
        reduced_at(group, place, reduce_type, ctx.dtype, silicon=ctx.silicon, topology=topology)
        for place, group in zip(wanted, groups, strict=True)
    ]
    return parts[0] if len(parts) == 1 else parts


@kernel("ttnn.all_to_all", keeps_values=True)
def all_to_all(
    ctx: Context,
    input: Sequence[Tensor],
    split_dim: int,
    concat_dim: int,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    topology: str | None = None,
    sub_device_id: int | None = None,
    places: Sequence[int] | None = None,
    **ranks: Any,
) -> Tensor | list[Tensor]:
    """Sends the n-th part of each chip's tensor along ``split_dim`` to the n-th chip, which joins what it gets."""
    if ranks:
        return _with_ranks(ctx, "all_to_all", input, **ranks)
    count = len(input)
    pieces = [torch.chunk(tensor, count, split_dim) for tensor in input]
    wanted = range(count) if places is None else places
    joined = [torch.cat([piece[place] for piece in pieces], concat_dim) for place in wanted]
    return joined[0] if len(joined) == 1 else joined


@kernel("ttnn.broadcast", keeps_values=True)
def broadcast(
    ctx: Context,
    input: Sequence[Tensor],
    root: int,
    cluster_axis: int | None = None,
    num_links: int | None = None,
    topology: str | None = None,
    sub_device_id: int | None = None,
    **ranks: Any,
) -> Tensor:
    """Returns the tensor of the chip ``root``, which all chips get."""
    if ranks:
        return _with_ranks(ctx, "broadcast", input, root=root, **ranks)
    return input[root]


@kernel("ttnn.mesh_partition", keeps_values=True)
def mesh_partition(
    ctx: Context, input: Tensor, dim: int, part: int, parts: int, cluster_axis: int | None = None
) -> Tensor:
    """Returns one chip's part of a tensor along a dimension."""
    size = input.shape[dim] // parts
    return input.narrow(dim, part * size, size)


@kernel("ttnn.point_to_point", keeps_values=True)
def point_to_point(
    ctx: Context, input: Tensor, sender_coord: Sequence[int], receiver_coord: Sequence[int], **links: Any
) -> Tensor:
    """Returns the sender's tensor, which the receiver gets."""
    return input


@kernel("mesh.transfer", keeps_values=True)
def transfer(
    ctx: Context, inputs: Sequence[Tensor], to: Sequence[Sequence[int]], sources: Sequence[int]
) -> Tensor | list[Tensor]:
    """Sends tensors to other workers of the mesh and returns those that they send."""
    received = post.exchange(inputs, to, sources)
    return received[0] if len(received) == 1 else received


def _with_ranks(
    ctx: Context,
    kind: str,
    input: Any,
    process_group: str,
    element_type: str,
    reduction: str = "",
    root: int = 0,
    sent: Sequence[int] = (),
    received: Sequence[int] = (),
    **_: Any,
) -> Tensor:
    """Exchanges a tensor with the ranks of ``torch.distributed``, as its eager collectives do.

    Args:
        input: the tensor that this rank gives.
        process_group: name of the group.
        element_type: StableHLO element type in which tensors cross; the chip may hold another one.
        reduction, root, sent, received: as for :meth:`.process_groups.ProcessGroup.collective`.
    """
    given = input.ne(0) if element_type == "i1" else input.to(DECLARED[element_type])
    group = process_groups.find(process_group)
    result = group.collective(
        kind, given.cpu(), reduction=reduction, root=root, sent=sent, received=received, silicon=ctx.silicon
    )
    return hold(place.brought(result), ctx.dtype)


def reduced_everywhere(
    tensors: Sequence[Tensor],
    reduce_type: str,
    shape: Sequence[int],
    dtype: DataType,
    *,
    silicon: bool,
    topology: str | None = None,
) -> Tensor:
    """Reduces the tensors of all chips element by element, in TT-NN's order.

    Args:
        tensors: one tensor a chip, in the order of the chips.
        reduce_type: sum, mean, max, min or prod.
        shape: shape of each tensor if it is tiled; empty if it is not.
        dtype: type of the tensors' elements.
        silicon: whether sums are rounded as on the chip.
        topology: ``ring`` or a line.
    """
    count = len(tensors)
    dim = scattered_dim(shape, count)
    if dim is None or reduce_type not in ("sum", "mean") or not silicon:
        return reduced_at(tensors, 0, reduce_type, dtype, silicon=False)
    pieces = [torch.chunk(tensor, count, dim) for tensor in tensors]
    parts = [
        reduced_at([piece[place] for piece in pieces], place, reduce_type, dtype, silicon=silicon, topology=topology)
        for place in range(count)
    ]
    return torch.cat(parts, dim)


def reduced_at(
    pieces: Sequence[Tensor],
    place: int,
    reduce_type: str,
    dtype: DataType,
    *,
    silicon: bool,
    topology: str | None = None,
) -> Tensor:
    """Reduces the pieces that all chips send to the one at ``place``; see :func:`reduced_everywhere`."""
    count = len(pieces)
    if reduce_type not in ("sum", "mean"):
        return _reduced(pieces, reduce_type)
    is_chained = silicon and count > 1 and pieces[0].is_floating_point()
    total = _chained(pieces, place, dtype, topology) if is_chained else _sum_of(pieces)
    return _scaled(total, reduce_type, count)


def scattered_dim(shape: Sequence[int], count: int) -> int | None:
    """Returns the dimension along which TT-NN scatters before it gathers: the last one that divides into the parts.

    The last two dimensions of a tiled tensor count in tiles (``finding_scatter_dim`` in ``all_reduce_async.cpp``). None
    where no dimension divides, or a tensor is not tiled; then TT-NN gathers all tensors and adds them.
    """
    if len(shape) < 2:
        return None
    for dim in reversed(range(len(shape))):
        size = -(-shape[dim] // TILE) if dim >= len(shape) - 2 else shape[dim]
        if size and size % count == 0:
            even = dim < len(shape) - 2 or shape[dim] % (TILE * count) == 0
            return dim if even else None
    return None


def _chained(pieces: Sequence[Tensor], place: int, dtype: DataType, topology: str | None) -> Tensor:
    """Returns the sum of the pieces of all chips, in the order in which they reach the chip at ``place``.

    On a line, one chain of sums comes from the first chip and one from the last; the chip adds its own piece to the
    first chain, then the second chain. On a ring, each chain comes half of the way around, and the three are added in
    one step. Each sum that a chip sends on is rounded to the tensor's type.
    """
    count = len(pieces)
    if topology != _RING:
        before, after = list(range(place)), list(range(count - 1, place, -1))
        total = pieces[place]
        for chain in (before, after):
            if chain:
                total = _add(total, _relayed(pieces, chain, dtype), dtype)
        return total
    half = count // 2
    before = [(place - distance) % count for distance in range(half, 0, -1)]
    after = [(place + distance) % count for distance in range(count - 1 - half, 0, -1)]
    chains = [_relayed(pieces, chain, dtype) for chain in (before, after) if chain]
    return hold(_sum_of([pieces[place], *chains]), dtype)


def _relayed(pieces: Sequence[Tensor], chain: Sequence[int], dtype: Any) -> Tensor:
    """Returns the sum that the last chip of a chain sends on."""
    total = pieces[chain[0]]
    for chip in chain[1:]:
        total = _add(pieces[chip], total, dtype)
    return total


def _add(one: Tensor, other: Tensor, dtype: Any) -> Tensor:
    """Returns the sum as the tensor's type holds it."""
    return hold(one.to(torch.float32) + other.to(torch.float32), dtype)


def _sum_of(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the sum in the order of the tensors, floats in float32 without rounding in between."""
    wide = torch.float32 if tensors[0].is_floating_point() else torch.int64
    total = tensors[0].to(wide)
    for tensor in tensors[1:]:
        total = total + tensor.to(wide)
    return total


def _scaled(total: Tensor, reduce_type: str, count: int) -> Tensor:
    if reduce_type != "mean":
        return total
    return total.to(torch.float32) / count if total.is_floating_point() else total // count


_REDUCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "max": torch.maximum,
    "min": torch.minimum,
    "prod": torch.mul,
}


def _reduced(tensors: Sequence[Tensor], reduce_type: str) -> Tensor:
    """Returns the largest, the least or the product of the chips' elements.

    Raises:
        ValueError: TT-NN has no such reduction between chips.
    """
    function = _REDUCTIONS.get(reduce_type)
    if function is None:
        raise ValueError(f"it reduces by {reduce_type!r}; expected sum, mean, {', '.join(_REDUCTIONS)}")
    if reduce_type == "prod":
        tensors = [tensor.to(torch.float32 if tensor.is_floating_point() else torch.int64) for tensor in tensors]
    total = tensors[0]
    for tensor in tensors[1:]:
        total = function(total, tensor)
    return total
