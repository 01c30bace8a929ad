"""Splits tensors into the shards of a mesh's chips, and joins shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F

from tt_xla.ir.mesh import Mesh, Sharding, replicated
from tt_xla.ir.program import Argument, Result


class Held(NamedTuple):
    """Describes the shards of a tensor on the chips of a mesh.

    Tensors of one description are split alike, whatever axes say so.

    Attributes:
        shape: shape of the whole tensor.
        local: shape of every chip's shard.
        parts: for each chip by position, the first and the last index of its shard along each dimension, and the term
            that it is of a sum.
    """

    shape: tuple[int, ...]
    local: tuple[int, ...]
    parts: tuple[tuple[tuple[tuple[int, int], ...], tuple[int, ...]], ...]


def held_by_chips(declared: Argument | Result, mesh: Mesh) -> Held:
    """Returns what chips hold of an argument or result of a Program with a mesh."""
    sharding, shape = sharding_of(declared), global_shape_of(declared)
    regions = (sharding.region(mesh, shape, position) for position in range(mesh.size))
    bounds = [tuple((part.start, part.stop) for part in region) for region in regions]
    terms = [sharding.term(mesh, position) for position in range(mesh.size)]
    return Held(shape, tuple(declared.shape), tuple(zip(bounds, terms, strict=True)))


def sharding_of(declared: Argument | Result) -> Sharding:
    """Returns how an argument or result of a Program with a mesh is split."""
    return declared.sharding or replicated(len(declared.shape))


def global_shape_of(declared: Argument | Result) -> tuple[int, ...]:
    """Returns the shape of an argument or result for all chips together."""
    return tuple(declared.shape if declared.global_shape is None else declared.global_shape)


def split(tensor: torch.Tensor, sharding: Sharding, mesh: Mesh) -> list[torch.Tensor]:
    """Returns the shard of every chip, by position. Chips with the same shard get the same tensor object.

    Args:
        tensor: a tensor of the global shape. Shards are contiguous; those that lie so in the tensor are views of it.
        sharding: how it is split. Dimensions that do not divide evenly are padded with zeros at their end. Of chips
            that hold partial sums, the first along each unreduced axis gets the tensor, and the others get zeros.
        mesh: the mesh.
    """
    local = sharding.local_shape(mesh, tensor.shape)
    shards: dict[tuple[int, ...], torch.Tensor] = {}
    for position in range(mesh.size):
        key = sharding.shard_key(mesh, position)
        if key in shards:
            continue
        if any(sharding.term(mesh, position)):
            shards[key] = tensor.new_zeros(local)
            continue
        part = tensor[sharding.region(mesh, tensor.shape, position)] if sharding.dims else tensor
        missing = [length - size for length, size in zip(local, part.shape, strict=True)]
        if any(missing):
            part = F.pad(part, [size for pad in reversed(missing) for size in (0, pad)])
        shards[key] = part.contiguous()
    return [shards[sharding.shard_key(mesh, position)] for position in range(mesh.size)]


def join(shards: Sequence[torch.Tensor], sharding: Sharding, mesh: Mesh, global_shape: Sequence[int]) -> torch.Tensor:
    """Returns the tensor that chips hold in shards, without the padding. Partial sums are added.

    Args:
        shards: the shard of every chip, by position. Of replicas the first is read.
        sharding: how the tensor is split.
        mesh: the mesh.
        global_shape: shape of the tensor. A replicated one is returned without a copy.
    """
    if sharding.is_replicated:
        return shards[0]
    joined = shards[0].new_empty(tuple(global_shape))
    seen: set[tuple[int, ...]] = set()
    for position, shard in enumerate(shards):
        key = sharding.shard_key(mesh, position)
        if key not in seen:
            seen.add(key)
            region = sharding.region(mesh, global_shape, position)
            part = shard[tuple(slice(part.stop - part.start) for part in region)]
            if any(sharding.term(mesh, position)):
                joined[region] += part
            else:
                joined[region] = part
    return joined
