"""Programs that say what each chip does: a body for one chip's tensors, on the chips of a mesh and beside them on one.

On one chip the tensors of all chips are stacked, and what chips exchange is computed on the stack.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from tests.fuzz.draft import Aval, Draft
from tests.fuzz.meshes import Layout
from tt_xla.ir.mesh import Mesh

_CHIPS = "chips"


@dataclass
class _Mode:
    """How exchanges are traced: ``shapes`` alone, ``chips`` of a mesh, or the ``stack`` of all chips' tensors."""

    name: str = "shapes"


@dataclass
class ChipDraft(Draft):
    """A body that is being drawn, with tensors of one chip.

    Attributes:
        layout: The mesh.
        manual: Axes along which the body says what chips do; others are left to propagation.
        replicas: Whether the chips are replicas of a module of one chip. Then each has tensors of its own, which are
            parts along the first dimension, and what they exchange is text.
        varying: For each value, the axes along which chips may hold different ones.
    """

    layout: Layout = field(kw_only=True)
    manual: tuple[str, ...] = field(kw_only=True)
    replicas: bool = False
    varying: list[frozenset[str]] = field(default_factory=list)
    _splits: list[list[tuple[str, ...]]] = field(default_factory=list)
    _mode: _Mode = field(default_factory=_Mode)

    @property
    def mesh(self) -> Mesh:
        """The mesh of the manual axes alone, whose positions are numbered."""
        return Mesh(tuple(self.layout.axes[axis] for axis in self.manual), self.manual)

    def argument(self, array: np.ndarray) -> int:
        """Adds an argument of which chips have parts with other elements, along drawn axes and dimensions."""
        dims: list[list[str]] = [[] for _ in array.shape]
        for axis in self.random.sample(self.manual, len(self.manual)):
            if dims and self.replicas:
                dims[0].append(axis)
            elif dims and self.random.random() < 0.75:
                dims[self.random.randrange(len(dims))].append(axis)
        counts = [math.prod(self.layout.axes[axis] for axis in axes) for axes in dims]
        generator = np.random.default_rng(self.random.getrandbits(64))
        whole = np.zeros([size * count for size, count in zip(array.shape, counts, strict=True)], array.dtype)
        for tile in np.ndindex(*counts):
            place = tuple(slice(t * s, (t + 1) * s) for t, s in zip(tile, array.shape, strict=True))
            whole[place] = generator.permutation(array.reshape(-1)).reshape(array.shape)
        self._splits.append([tuple(axes) for axes in dims])
        self.varying.append(frozenset(axis for axes in dims for axis in axes))
        number = super().argument(whole)
        self.avals[number] = Aval(array.shape, array.dtype)
        return number

    def add(self, function: Callable[..., Any], *operands: int, varying: frozenset[str] | None = None) -> list[int]:
        """Adds a step; its results vary along the axes along which an operand does, unless told otherwise."""
        results = super().add(function, *operands)
        axes = frozenset().union(*(self.varying[index] for index in operands)) if varying is None else varying
        self.varying.extend([axes] * len(results))
        return results

    def exchange(
        self,
        apply: Callable[..., Any],
        stacked: Callable[..., Any],
        *operands: int,
        varying: frozenset[str] | None = None,
    ) -> list[int]:
        """Adds an exchange between chips.

        Args:
            apply: what a chip calls.
            stacked: the same on tensors with all chips' ones along a new first dimension, by position.
            operands: values.
            varying: axes along which results differ; by default those along which an operand does.
        """
        mode, size = self._mode, self.mesh.size

        def function(*values: Any) -> Any:
            if mode.name == "chips":
                return apply(*values)
            if mode.name == "shapes":
                results = stacked(*(jnp.broadcast_to(value, (size, *value.shape)) for value in values))
                return jax.tree.map(lambda result: result[0], results)
            results = stacked(*(lax.all_gather(value, _CHIPS) for value in values))
            return jax.tree.map(lambda result: result[lax.axis_index(_CHIPS)], results)

        return self.add(function, *operands, varying=varying)

    def programs(self, results: Sequence[int]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Returns the program for the mesh, and the one that computes the same on one chip."""
        body = self.function(results)
        if self.replicas:
            places = [[self.manual, *[()] * (max(len(self.avals[index].shape), 1) - 1)] for index in results]
            return self._as("chips", _expanded(body)), self._as("stack", self._stacked(body, places))
        places = [self._placed(index) for index in results]
        split = self._splits
        names = tuple(self.layout.axes)

        sharded = jax.shard_map(
            _expanded(body),
            mesh=AbstractMesh(tuple(self.layout.axes.values()), names, axis_types=(AxisType.Auto,) * len(names)),
            in_specs=tuple(P(*dims) for dims in split),
            out_specs=tuple(P(*dims) for dims in places),
            axis_names=set(self.manual),
            check_vma=False,
        )

        return self._as("chips", sharded), self._as("stack", self._stacked(body, places))

    def _stacked(self, body: Callable[..., Any], places: Sequence[Any]) -> Callable[..., Any]:
        """Returns the program of one chip that computes a body on the stack of all chips' tensors."""

        def stacked(*arguments: Any) -> Any:
            parts = [self._parts(value, dims) for value, dims in zip(arguments, self._splits, strict=True)]
            values = jax.vmap(_expanded(body), axis_name=_CHIPS, axis_size=self.mesh.size)(*parts)
            return tuple(self._joined(value, dims) for value, dims in zip(values, places, strict=True))

        return stacked

    def local_arguments(self) -> list[Aval]:
        """Returns shape and type of the arguments of one chip."""
        return [self.avals[index] for index in self.argument_numbers()]

    def _as(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*arguments: Any) -> Any:
            with self._in(name):
                return function(*arguments)

        return traced

    @contextlib.contextmanager
    def _in(self, name: str) -> Iterator[None]:
        self._mode.name = name
        try:
            yield
        finally:
            self._mode.name = "shapes"

    def _placed(self, index: int) -> list[tuple[str, ...]]:
        """Returns the axes that split each dimension of a result: all those along which it varies."""
        rank = max(len(self.avals[index].shape), 1)
        dims: list[list[str]] = [[] for _ in range(rank)]
        for axis in self.manual:
            if axis in self.varying[index] or self.random.random() < 0.3:
                dims[self.random.randrange(rank)].append(axis)
        return [tuple(axes) for axes in dims]

    def _tile(self, dims: Sequence[Sequence[str]], position: int) -> list[int]:
        """Returns which part along each dimension the chip at a position has."""
        place = dict(zip(self.manual, self.mesh.coordinates(position), strict=True))
        sizes = self.layout.axes
        return [
            int(np.ravel_multi_index([place[a] for a in axes], [sizes[a] for a in axes])) if axes else 0
            for axes in dims
        ]

    def _parts(self, value: Any, dims: Sequence[Sequence[str]]) -> Any:
        counts = [math.prod(self.layout.axes[axis] for axis in axes) for axes in dims]
        sizes = [size // count for size, count in zip(value.shape, counts, strict=True)]
        parts = []
        for position in range(self.mesh.size):
            starts = [tile * size for tile, size in zip(self._tile(dims, position), sizes, strict=True)]
            ends = [start + size for start, size in zip(starts, sizes, strict=True)]
            parts.append(lax.slice(value, starts, ends))
        return jnp.stack(parts)

    def _joined(self, stacked: Any, dims: Sequence[Sequence[str]]) -> Any:
        counts = [math.prod(self.layout.axes[axis] for axis in axes) for axes in dims]
        owners = {tuple(self._tile(dims, position)): position for position in reversed(range(self.mesh.size))}

        def joined(prefix: tuple[int, ...]) -> Any:
            if len(prefix) == len(counts):
                return stacked[owners[prefix]]
            pieces = [joined((*prefix, index)) for index in range(counts[len(prefix)])]
            return pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces, axis=len(prefix))

        return joined(())


def _expanded(body: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a body whose results have a dimension at least, along which chips' parts can follow each other."""

    def expanded(*arguments: Any) -> Any:
        return tuple(value[None] if value.ndim == 0 else value for value in body(*arguments))

    return expanded


def added(stack: Any) -> Any:
    """Returns the sum of the tensors of a stack, which is rounded to their type after each of them."""
    return lax.reduce(stack, stack.dtype.type(0), lax.add, (0,))


def by_groups(groups: Sequence[Sequence[int]], size: int, function: Callable[[Any, int], Any]) -> Callable[..., Any]:
    """Returns a function of a stack that gives each chip a function of its group's tensors and its place in it.

    Args:
        groups: positions of each group.
        size: number of chips.
        function: takes the tensors of a group, stacked, and the place of a chip.
    """
    place = {chip: (tuple(group), index) for group in groups for index, chip in enumerate(group)}

    def apply(stack: Any) -> Any:
        members: dict[tuple[int, ...], Any] = {}
        results = []
        for chip in range(size):
            group, index = place.get(chip, ((chip,), 0))
            if group not in members:
                members[group] = jnp.stack([stack[other] for other in group])
            results.append(function(members[group], index))
        return jnp.stack(results)

    return apply
