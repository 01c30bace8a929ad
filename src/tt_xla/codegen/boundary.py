"""The arguments and results of a generated program: how it loads, splits and joins them."""

from __future__ import annotations

from dataclasses import dataclass

from tt_xla.codegen.body import File
from tt_xla.codegen.expressions import Call, Device, Expression, Name
from tt_xla.codegen.formatting import Node
from tt_xla.codegen.layouts import dtype, layout, memory_config
from tt_xla.codegen.meshes import DeviceMesh
from tt_xla.ir.mesh import replicated
from tt_xla.ir.program import Argument, Result


@dataclass(frozen=True)
class Boundary:
    """Writes the expressions that load arguments and join results."""

    file: File
    """The file that they are in."""
    mesh: DeviceMesh | None
    """The mesh device that arguments are split over; None if every argument is one tensor for all chips."""

    def argument(self, index: int, stored: bool) -> Node:
        """Returns the expression that loads an argument.

        Args:
            index: position of the argument.
            stored: whether it is read from a file; otherwise ones take its place.

        Raises:
            UnsupportedOpError: TT-NN cannot split the argument over the chips.
        """
        name, argument = f"arg{index}", self.file.program.arguments[index]
        entry = self.file.program.functions[0]
        spec = entry.values[entry.arguments[index]]
        element_type = spec.layout.dtype
        if element_type.is_host_only:
            array = Call("utils.stored", (name,))
            return self._node(
                array if (parts := self._parts(argument)) is None else Call("utils.split", (array, *parts))
            )
        split = self._split(argument) if stored else ()
        memory = memory_config(spec.layout, self.file.target.grid)
        placed: tuple[Expression, ...] = () if memory is None else (Device(), self.file.constants.named(memory))
        form = (dtype(element_type), layout(spec.layout.tiled))
        if stored:
            place = (placed or (Device(), None)) if split else placed
            return self._node(Call("utils.load", (name, *form, *place, *split)))
        return self._node(Call("utils.ones", (name, tuple(spec.shape), *form, *placed)))

    def results(self, mesh: DeviceMesh) -> list[Node]:
        """Returns the expressions that join the results of ``forward``, which are a list named ``results``.

        Raises:
            UnsupportedOpError: TT-NN cannot join a result.
        """
        nodes: list[Node] = []
        entry = self.file.program.functions[0]
        for index, result in enumerate(self.file.program.results):
            sharding = result.sharding or replicated(len(result.shape))
            parts = self._parts(result)
            if parts is not None and entry.values[entry.results[index]].layout.dtype.is_host_only:
                shape = whole_shape(result)
                nodes.append(self._node(Call("utils.joined", (Name(f"results[{index}]"), *parts, shape))))
                continue
            composer = mesh.composer(sharding)
            joined: tuple[Expression, ...] = ()
            if composer is not None:
                axes = mesh.replicated_axes(sharding)
                joined = (Device(), self.file.constants.named(composer), axes, whole_shape(result))
            nodes.append(self._node(Call("utils.composed", (Name(f"results[{index}]"), *joined))))
        return nodes

    def _split(self, argument: Argument) -> tuple[Expression, ...]:
        """Returns the mapper that splits an argument over the chips, and the padded shape if there is padding.

        There is no mapper for an argument that every chip holds.
        """
        if self.mesh is None or argument.sharding is None:
            return ()
        mapper = self.mesh.mapper(argument.sharding)
        if mapper is None:
            return ()
        counts = argument.sharding.counts(self.mesh.mesh)
        padded = tuple(size * count for size, count in zip(argument.shape, counts, strict=True))
        return (self.file.constants.named(mapper), *(() if padded == whole_shape(argument) else (padded,)))

    def _parts(self, tensor: Argument | Result) -> tuple[Expression, ...] | None:
        """Returns the number of shards of each dimension, and for each chip the place of its shard among them.

        Returns None for a tensor that every chip holds.

        Raises:
            UnsupportedOpError: the tensor is partial sums.
        """
        if self.mesh is None or tensor.sharding is None:
            return None
        self.mesh.check_reduced(tensor.sharding)
        mesh, sharding = self.mesh.mesh, tensor.sharding
        counts = sharding.counts(mesh)
        if all(count == 1 for count in counts):
            return None
        return tuple(counts), tuple(tuple(sharding.shard_index(mesh, chip)) for chip in range(mesh.size))

    def _node(self, expression: Expression) -> Node:
        return self.file.language.node(expression, str, self.file.constants.data)


def whole_shape(tensor: Argument | Result) -> tuple[int, ...]:
    """Returns the shape of an argument or result before it is split over the chips."""
    return tuple(tensor.shape if tensor.global_shape is None else tensor.global_shape)
