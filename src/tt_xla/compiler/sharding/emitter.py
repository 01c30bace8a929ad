"""Shards of tensors, and emission of what differs from chip to chip."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import Builder, local_shape
from tt_xla.ir.mesh import Mesh, Shape, Sharding


class Shard(msgspec.Struct, frozen=True):
    """The part of one tensor that every chip has.

    A dimension whose size is no multiple of its number of shards is padded at its end; what the padding holds is
    undefined.
    """

    value: Any
    """Value in the module of one chip."""
    shape: Shape
    """Shape of the tensor; inside code that says what each chip does, the shape that the tensor has there."""
    sharding: Sharding

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass
class Emitter:
    """Emits ops of the module of one chip, and remembers values that it has emitted."""

    mesh: Mesh
    builder: Builder
    crossings: int = field(default=0, init=False)
    """Number of ops emitted so far whose result depends on the chip or on other chips."""
    _scopes: list[dict[Any, Any]] = field(default_factory=lambda: [{}], init=False)
    """Facts about the values of the current block and of those around it. A block's facts go when it is done: ops that
    are erased with their block give their addresses, and so their identity, to later ones."""

    @contextlib.contextmanager
    def inside(self, block: Any) -> Generator[None]:
        """Emits into a block of a region for a while."""
        self._scopes.append({})
        try:
            with self.builder.inside(block):
                yield
        finally:
            self._scopes.pop()

    @contextlib.contextmanager
    def alone(self, block: Any) -> Generator[None]:
        """Emits into a block that sees no value of other blocks for a while."""
        outer, self._scopes = self._scopes, [{}]
        try:
            with self.builder.inside(block):
                yield
        finally:
            self._scopes = outer

    def once(self, key: Any, emit: Callable[[], Any]) -> Any:
        """Returns the values that were emitted for a key before, where they are still visible; else emits them."""
        known = self.noted(key)
        return self.note(key, emit()) if known is None else known

    def note(self, key: Any, fact: Any) -> Any:
        """Remembers and returns a fact about values of the current block, for as long as they are visible."""
        self._scopes[-1][key] = fact
        return fact

    def noted(self, key: Any) -> Any | None:
        """Returns the fact that was noted for a key about visible values; None if there is none."""
        return next((scope[key] for scope in self._scopes if key in scope), None)

    def is_padded(self, shard: Shard, dim: int) -> bool:
        """Whether some chip's shard has padding along a dimension."""
        return shard.shape[dim] % shard.sharding.counts(self.mesh)[dim] != 0

    def extent(self, axes: Sequence[int]) -> int:
        """Returns the number of chips along some axes together."""
        count = 1
        for axis in axes:
            count *= self.mesh.shape[axis]
        return count

    def offset(self, axes: Sequence[int], length: int) -> Any:
        """Returns the place at which a chip's shard starts in a dimension, as a scalar.

        Args:
            axes: mesh axes that split the dimension.
            length: size of a shard.
        """
        return self.once(("offset", tuple(axes), length), lambda: self._offset(axes, length))

    def _offset(self, axes: Sequence[int], length: int) -> Any:
        build, chips = self.builder, self.mesh.size
        total: Any = None
        for stride, size, weight in self._coordinates(axes, length):
            number = self.once("position", self._position)
            if stride > 1:
                number = build.binary("divide", number, build.scalar(stride))
            if stride * size < chips:
                number = build.binary("remainder", number, build.scalar(size))
            if weight != 1:
                number = build.binary("multiply", number, build.scalar(weight))
            total = number if total is None else build.add(total, number)
        return build.scalar(0) if total is None else total

    def _coordinates(self, axes: Sequence[int], length: int) -> list[tuple[int, int, int]]:
        """Returns stride and size of each part of a position that counts shards, and what one step of it adds."""
        parts: list[tuple[int, int, int]] = []
        for axis in reversed(axes):
            size, stride = self.mesh.shape[axis], math.prod(self.mesh.shape[axis + 1 :])
            if parts and stride == parts[-1][0] * parts[-1][1]:
                parts[-1] = (parts[-1][0], parts[-1][1] * size, parts[-1][2])
            else:
                parts.append((stride, size, length))
            length *= size
        return parts

    def _position(self) -> Any:
        self.crossings += 1
        return self.builder.convert(self.builder.partition_id(), ir.IntegerType.get_signless(32))

    def table(self, per_position: Sequence[int]) -> Any:
        """Returns a scalar that has a value of its own on each chip, given by position."""
        if len(set(per_position)) == 1:
            return self.builder.scalar(per_position[0])
        return self.once(("table", *per_position), lambda: self._table(per_position))

    def _table(self, per_position: Sequence[int]) -> Any:
        build = self.builder
        row = build.dynamic_slice(build.integers(per_position), [self.once("position", self._position)], [1])
        return build.reshape(row, [])

    def indices(self, shard: Shard, dim: int) -> Any:
        """Returns the place of each element of a shard along a dimension of the tensor, in the shape of the shard."""
        build, shape = self.builder, local_shape(shard.value)
        along = build.iota([shape[dim]], 0)
        axes = shard.sharding.dims[dim]
        if axes:
            along = build.add(along, build.broadcast(self.offset(axes, shape[dim]), [shape[dim]]))
        return build.broadcast(along, shape, [dim])

    def masked(self, shard: Shard, dims: Sequence[int], fill: Any) -> Shard:
        """Returns a shard whose padding along some dimensions holds a scalar value."""
        build, value = self.builder, shard.value
        for dim in dims:
            if self.is_padded(shard, dim):
                places = self.indices(shard, dim)
                limit = build.broadcast(build.scalar(shard.shape[dim]), local_shape(value))
                inside = build.compare(places, limit, "LT")
                value = build.select(inside, value, build.broadcast(fill, local_shape(value)))
        return Shard(value, shard.shape, shard.sharding)

    def groups(self, axes: Sequence[int]) -> list[list[int]]:
        """Returns the groups of positions over some axes, and notes that chips exchange data."""
        self.crossings += 1
        return self.mesh.groups(axes)
