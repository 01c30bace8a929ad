"""Changes of a sharding: the collectives that bring a tensor from one sharding to another."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, local_shape
from tt_xla.compiler.sharding.emitter import Emitter, Shard
from tt_xla.errors import InternalCompilerError
from tt_xla.ir.mesh import Axes, Mesh, Shape, Sharding

Dims = list[tuple[int, ...]]


def reshard_dims(context: Emitter, shard: Shard, sharding: Sharding) -> Shard:
    """Returns the same tensor split in another way; neither sharding has unreduced axes.

    A constant of one value needs nothing. Where each dimension keeps its number of shards, chips only exchange them
    (``collective_permute``). Otherwise dimensions are split further where chips have more than they need, axes move
    from one dimension to another (``all_to_all``), and what remains is gathered and split.
    """
    splat = _splat(context, shard, sharding)
    if splat is not None:
        return splat
    if _counts(context.mesh, shard.sharding.dims) == _counts(context.mesh, sharding.dims):
        return _permuted(context, shard, sharding)
    return _Steps(context, shard, sharding).run()


def _counts(mesh: Mesh, dims: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return Sharding(tuple(dims)).counts(mesh)


def moved_elements(mesh: Mesh, shape: Shape, old: Sharding, new: Sharding) -> int:
    """Returns an estimate of the elements that a chip receives for a change of sharding."""
    if old == new:
        return 0
    part = math.prod(old.local_shape(mesh, shape))
    if old.counts(mesh) == new.counts(mesh):
        return part
    removed: set[int] = set()
    for now, target in zip(old.dims, new.dims, strict=True):
        removed.update(now[len(_common_start(now, target)) :])
    moved = removed & new.splitting_axes
    gathered = math.prod(mesh.shape[axis] for axis in removed - moved)
    return (part if moved else 0) + (part * gathered if gathered > 1 else 0)


def _common_start(now: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the axes that two sequences have in common at their start."""
    pairs = enumerate(zip(now, target, strict=False))
    return now[: next((index for index, (a, b) in pairs if a != b), min(len(now), len(target)))]


def axes_before(axes: Axes, others: Collection[int]) -> Axes:
    """Returns the axes before the first that is one of ``others``."""
    return axes[: next((index for index, axis in enumerate(axes) if axis in others), len(axes))]


def _splat(context: Emitter, shard: Shard, sharding: Sharding) -> Shard | None:
    """Returns a constant of one value in another sharding; None if the tensor is not one."""
    value = constant_value(shard.value)
    if value is None or not value.is_splat:
        return None
    element = value.get_splat_value()
    ranked = ir.RankedTensorType(shard.value.type)
    shape = sharding.local_shape(context.mesh, shard.shape)
    local = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get(list(shape), ranked.element_type), element)
    return Shard(context.builder.constant(local), shard.shape, sharding)


def constant_value(value: Any) -> Any | None:
    """Returns the dense attribute of a constant; None if the value is no constant, or of complex numbers."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    if isinstance(element_type(value), ir.ComplexType):
        return None  # jaxlib's bindings cannot read them
    attribute = owner.attributes["value"]
    return attribute if isinstance(attribute, ir.DenseElementsAttr) else None


def _permuted(context: Emitter, shard: Shard, sharding: Sharding) -> Shard:
    """Exchanges shards between chips: every chip's new shard is another chip's old one."""
    mesh, old, new = context.mesh, shard.sharding, sharding
    by_old = {
        (old.shard_index(mesh, position), _copy_number(mesh, old, position)): position for position in range(mesh.size)
    }
    pairs = [
        (by_old[new.shard_index(mesh, position), _copy_number(mesh, new, position)], position)
        for position in range(mesh.size)
    ]
    value = shard.value
    if any(source != target for source, target in pairs):
        context.crossings += 1
        value = context.builder.collective_permute(value, pairs)
    return Shard(value, shard.shape, sharding)


def _copy_number(mesh: Mesh, sharding: Sharding, position: int) -> int:
    """Returns the number of a chip among those with the same shard."""
    free = tuple(axis for axis in range(len(mesh.shape)) if axis not in sharding.axes)
    return Sharding((free,)).shard_index(mesh, position)[0]


class _Steps:
    """The steps from one sharding to another."""

    def __init__(self, context: Emitter, shard: Shard, sharding: Sharding) -> None:
        self.context = context
        self.value = shard.value
        self.shape = shard.shape
        self.now: Dims = list(shard.sharding.dims)
        self.target: Dims = list(sharding.dims)

    def run(self) -> Shard:
        """Emits the steps; returns the tensor in the target sharding."""
        while self.now != self.target:
            self._split()
            if not self._move():
                self._gather()
        return Shard(self.value, self.shape, Sharding(tuple(self.now)))

    def _kept(self, dim: int) -> tuple[int, ...]:
        """Returns the major axes of a dimension that stay as they are.

        Shards of a padded dimension do not join to shards of fewer axes, so such a dimension keeps all axes or none.
        """
        now, target = self.now[dim], self.target[dim]
        common = _common_start(now, target)
        return common if self._nests(dim, common, now) and self._nests(dim, common, target) else ()

    def _length(self, dim: int, axes: tuple[int, ...]) -> int:
        return -(-self.shape[dim] // self.context.extent(axes))

    def _nests(self, dim: int, outer: tuple[int, ...], inner: tuple[int, ...]) -> bool:
        """Whether shards over ``inner`` axes are equal parts of shards over ``outer`` axes, or of the padded tensor."""
        parts = self.context.extent(inner[len(outer) :])
        return not outer or self._length(dim, outer) == parts * self._length(dim, inner)

    def _removable(self, dim: int) -> tuple[int, ...]:
        return self.now[dim][len(self._kept(dim)) :]

    def _split(self) -> None:
        """Splits dimensions further whose axes all stay, along axes that no dimension uses."""
        for dim in range(len(self.now)):
            added = self.target[dim][len(self.now[dim]) :]
            used = {axis for axes in self.now for axis in axes}
            if added and not self._removable(dim) and not used & {*added}:
                self._slice(dim, added)

    def _slice(self, dim: int, added: tuple[int, ...]) -> None:
        build, axes = self.context.builder, self.now[dim] + added
        length = self._length(dim, axes)
        missing = length * self.context.extent(added) - local_shape(self.value)[dim]
        value = build.pad_dim(self.value, dim, 0, missing)
        shape = local_shape(value)
        starts = [build.scalar(0)] * len(shape)
        starts[dim] = self.context.offset(added, length)
        shape[dim] = length
        self.value = build.dynamic_slice(value, starts, shape)
        self.now[dim] = axes

    def _move(self) -> bool:
        """Moves axes from the end of one dimension to the end of another; returns whether it found any to move."""
        for source in range(len(self.now)):
            removable = self._removable(source)
            for dim in range(len(self.now)):
                if dim == source or not removable or self._removable(dim):
                    continue
                missing = self.target[dim][len(self.now[dim]) :]
                for start in range(len(removable)):
                    axes = removable[start:]
                    if missing[: len(axes)] == axes and self._can_move(source, dim, axes):
                        self._all_to_all(source, dim, axes)
                        return True
        return False

    def _can_move(self, source: int, dim: int, axes: tuple[int, ...]) -> bool:
        stays = self.now[source][: -len(axes)]
        grown = self.now[dim] + axes
        return (
            self._nests(source, stays, self.now[source])
            and self._nests(dim, self.now[dim], grown)
            and self._nests(dim, grown, self.target[dim])
        )

    def _all_to_all(self, source: int, dim: int, axes: tuple[int, ...]) -> None:
        build, context = self.context.builder, self.context
        length = self._length(dim, self.now[dim] + axes)
        missing = length * context.extent(axes) - local_shape(self.value)[dim]
        value = build.pad_dim(self.value, dim, 0, missing)
        self.value = build.all_to_all(value, dim, source, context.groups(axes))
        self.now[dim] += axes
        self.now[source] = self.now[source][: -len(axes)]
        self._trim(source)

    def _gather(self) -> None:
        """Gathers one dimension: one whose axes no other dimension wants if there is one, else the least split."""
        target_axes = {axis for axes in self.target for axis in axes}
        dims = [dim for dim in range(len(self.now)) if self._removable(dim)]
        if not dims:
            if self.now != self.target:
                raise InternalCompilerError(f"No way leads from the sharding {self.now} to {self.target}.")
            return

        def order(dim: int) -> tuple[bool, int]:
            axes = self._removable(dim)
            return bool(target_axes & {*axes}), self.context.extent(axes)

        dim = min(dims, key=order)
        axes = self._removable(dim)
        self.value = self.context.builder.all_gather(self.value, dim, self.context.groups(axes))
        self.now[dim] = self.now[dim][: -len(axes)]
        self._trim(dim)

    def _trim(self, dim: int) -> None:
        """Cuts off the padding of a dimension that is no longer split."""
        self.value = self.context.builder.slice_dim(self.value, dim, 0, self._length(dim, self.now[dim]))
