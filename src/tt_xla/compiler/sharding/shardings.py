"""Shardy's attributes in terms of the digits of positions: reading, checking, and writing them for one mesh."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.sharding.axes import Digit, Digits, digits_of, finest_mesh, part, row_major, whole_axes
from tt_xla.compiler.sharding.walk import walk
from tt_xla.errors import CompileError, MalformedModuleError
from tt_xla.ir.mesh import Mesh, Shape, Sharding

SHARDING = "sdy.sharding"
"""Attribute with the sharding of an argument, of a result, or of each result of an op."""

_PER_VALUE = ("in_shardings", "out_shardings")
"""Attributes of regions of Shardy's, with one sharding for each operand or result."""

_MESH_NAME = "tt_mesh"


class Meshes:
    """The meshes that a module declares, with the digits of their axes."""

    def __init__(self, module: Any, chips: int | None) -> None:
        """Reads the meshes of a module.

        Args:
            module: a StableHLO module.
            chips: number of chips that the module says it is for; None if it says nothing.

        Raises:
            CompileError: two meshes have different numbers of devices, or a mesh differs from the module's number.
        """
        self.declared = {
            op.attributes["sym_name"].value: sdy.MeshAttr(op.attributes["mesh"])
            for op in module.body.operations
            if op.operation.name == "sdy.mesh"
        }
        self._orders: dict[Any, tuple[int, ...]] = {}
        """Chips of the positions of meshes whose axes are not digits of the chips' numbers."""
        self._axes: dict[Any, dict[str, Digits]] = {}
        self._dims: dict[Any, tuple[Digits, ...]] = {}
        self._unreduced: dict[Any, Digits] = {}
        counts = {name: math.prod(_sizes(mesh)) for name, mesh in self.declared.items() if len(mesh.axes) > 0}
        sizes = {count for count in counts.values() if count > 1}
        if chips is not None:
            sizes.add(chips)
        if len(sizes) > 1:
            listed = ", ".join(f"@{name} of {count}" for name, count in counts.items())
            partitions = "" if chips is None else f", and mhlo.num_partitions is {chips}"
            raise CompileError(
                f"The meshes of the module have different numbers of devices: {listed}{partitions}.",
                hint="Use meshes of all the devices that the program runs on.",
            )
        self.chips = sizes.pop() if sizes else 1
        """Number of chips that the module is for."""
        for mesh in self.declared.values():
            self._axes_of(mesh)

    @property
    def differ(self) -> bool:
        """Whether the module has several meshes, or one whose devices are not in order."""
        large = [mesh for mesh in self.declared.values() if len(mesh.axes) > 0]
        return len({str(mesh) for mesh in large}) > 1 or any(len(mesh.device_ids) > 0 for mesh in large)

    @property
    def names(self) -> dict[Digit, str]:
        """Names that meshes have for single digits."""
        names: dict[Digit, str] = {}
        for axes in self._axes.values():
            for name, digits in axes.items():
                if len(digits) == 1:
                    names.setdefault(digits[0], name)
        return names

    def all_digits(self) -> Iterator[Digit]:
        """Yields the digits of all axes of all meshes."""
        for axes in self._axes.values():
            for digits in axes.values():
                yield from digits

    def axis(self, mesh_or_reference: Any, name: str) -> Digits:
        """Returns the digits of a mesh axis.

        Raises:
            MalformedModuleError: the mesh has no such axis, or is not declared.
        """
        axes = self._axes_of(self._mesh(mesh_or_reference))
        if name not in axes:
            raise MalformedModuleError(
                f"A sharding uses the mesh axis '{name}', which is not there; "
                f"the mesh has {', '.join(axes) or 'no axes'}."
            )
        return axes[name]

    def dims(self, attribute: Any) -> tuple[Digits, ...]:
        """Returns the digits that split each dimension of a tensor with a sharding."""
        if attribute not in self._dims:
            sharding = sdy.TensorShardingAttr(attribute)
            self._dims[attribute] = tuple(
                tuple(digit for axis in dim.axes for digit in self._axis_part(sharding.mesh_or_ref, axis))
                for dim in map(sdy.DimensionShardingAttr, sharding.dimension_shardings)
            )
        return self._dims[attribute]

    def unreduced(self, attribute: Any) -> Digits:
        """Returns the digits along which chips hold partial sums of a tensor with a sharding."""
        if attribute not in self._unreduced:
            sharding = sdy.TensorShardingAttr(attribute)
            self._unreduced[attribute] = tuple(
                digit for axis in sharding.unreduced_axes for digit in self._axis_part(sharding.mesh_or_ref, axis)
            )
        return self._unreduced[attribute]

    def digits(self, attribute: Any) -> Iterator[Digit]:
        """Yields every digit that a sharding uses."""
        yield from itertools.chain.from_iterable(self.dims(attribute))
        yield from self.unreduced(attribute)

    def even_dims(self, attribute: Any, shape: Shape) -> list[Digits]:
        """Returns the digits that split each dimension of a tensor, as far as whole axes split it evenly.

        Args:
            attribute: a sharding.
            shape: global shape of the tensor.
        """
        sharding = sdy.TensorShardingAttr(attribute)
        dims: list[Digits] = []
        for dim, size in zip(map(sdy.DimensionShardingAttr, sharding.dimension_shardings), shape, strict=True):
            even: list[Digit] = []
            for axis in map(sdy.AxisRefAttr, dim.axes):
                digits = self.axis(sharding.mesh_or_ref, axis.name)
                count = math.prod(digit.size for digit in (*even, *digits))
                if axis.sub_axis_info is not None or size % count:
                    break
                even += digits
            dims.append(tuple(even))
        return dims

    def order(self, attribute: Any) -> tuple[int, ...] | None:
        """Returns the chip at each position of a sharding's mesh, if its axes are not digits of the chips' numbers.

        Such a sharding is read as if its mesh had the chips in order.
        """
        return self._orders.get(self._mesh(sdy.TensorShardingAttr(attribute).mesh_or_ref))

    def _axis_part(self, mesh: Any, axis: Any) -> Digits:
        reference = sdy.AxisRefAttr(axis)
        digits = self.axis(mesh, reference.name)
        if reference.sub_axis_info is None:
            return digits
        info = sdy.SubAxisInfoAttr(reference.sub_axis_info)
        return part(digits, info.pre_size, info.size)

    def _mesh(self, mesh_or_reference: Any) -> Any:
        if sdy.MeshAttr.isinstance(mesh_or_reference):
            return sdy.MeshAttr(mesh_or_reference)
        name = ir.FlatSymbolRefAttr(mesh_or_reference).value
        if name not in self.declared:
            raise MalformedModuleError(f"A sharding names the mesh @{name}, which the module does not declare.")
        return self.declared[name]

    def _axes_of(self, mesh: Any) -> dict[str, Digits]:
        if mesh not in self._axes:
            names = [sdy.MeshAxisAttr(axis).name for axis in mesh.axes]
            digits = _mesh_digits(mesh)
            if digits is None:
                self._orders[mesh] = tuple(mesh.device_ids)
                digits = _in_order(_sizes(mesh))
            self._axes[mesh] = dict(zip(names, digits, strict=True))
        return self._axes[mesh]


def _sizes(mesh: Any) -> list[int]:
    return [sdy.MeshAxisAttr(axis).size for axis in mesh.axes]


def _mesh_digits(mesh: Any) -> list[Digits] | None:
    """Returns the digits of the chips' numbers that each axis of a mesh takes; None if an axis takes none."""
    sizes, ids = _sizes(mesh), list(mesh.device_ids)
    return digits_of(np.array(ids, np.int64).reshape(sizes)) if ids and sizes else _in_order(sizes)


def _in_order(sizes: Sequence[int]) -> list[Digits]:
    """Returns the digits of the axes of a mesh that has the chips in order."""
    return [(digit,) if digit.size > 1 else () for digit in row_major(sizes)]


def tensor_shardings(module: Any) -> Counter[Any]:
    """Returns the sharding attributes of a module, in order, and how often each of them occurs."""
    written: Counter[Any] = Counter()
    for op in walk(module.operation):
        if len(op.attributes) > 0:
            written.update(_written(op))
    shardings: Counter[Any] = Counter()
    for attribute, count in written.items():
        for sharding in per_value(attribute):
            shardings[sharding] += count
    return shardings


def op_shardings(op: Any) -> Iterator[Any]:
    """Yields the sharding attributes of an op: of its results, arguments, operands and constraints."""
    for attribute in _written(op):
        yield from per_value(attribute)


def _written(op: Any) -> Iterator[Any]:
    """Yields the attributes of an op that hold shardings, of one value or of several."""
    attributes = op.attributes
    for name in (SHARDING, "sharding", *_PER_VALUE):
        if name in attributes:
            yield attributes[name]
    for name in ("arg_attrs", "res_attrs"):
        if name in attributes:
            for declared in attributes[name]:
                if SHARDING in declared:
                    yield declared[SHARDING]


def per_value(attribute: Any) -> Sequence[Any]:
    """Returns the shardings in an attribute; none if it is another kind of attribute."""
    if sdy.TensorShardingPerValueAttr.isinstance(attribute):
        return list(sdy.TensorShardingPerValueAttr(attribute).shardings)
    return [attribute] if sdy.TensorShardingAttr.isinstance(attribute) else []


class Writer:
    """Writes shardings over one mesh, whose axes are whole in each of them."""

    def __init__(self, mesh: Mesh, axes: Sequence[Digit], name: str = _MESH_NAME) -> None:
        self.mesh = mesh
        self.axes = axes
        self.name = name

    def sharding(self, dims: Sequence[Digits], open_dims: Iterable[int] = (), unreduced: Digits = ()) -> Any:
        """Returns the attribute of a sharding.

        Args:
            dims: digits that split each dimension.
            open_dims: dimensions that propagation may split further.
            unreduced: digits along which chips hold partial sums.
        """
        opened = set(open_dims)
        return sdy.TensorShardingAttr.get(
            self.name,
            [
                sdy.DimensionShardingAttr.get(self._references(digits), is_closed=index not in opened)
                for index, digits in enumerate(dims)
            ],
            unreduced_axes=self._references(tuple(sorted(unreduced, reverse=True))),
        )

    def values(self, shardings: Sequence[Any]) -> Any:
        """Returns the attribute with the shardings of several values."""
        return sdy.TensorShardingPerValueAttr.get(list(shardings))

    def axis_names(self, digits: Digits) -> list[str]:
        """Returns the names of the axes that some digits consist of."""
        return [self.mesh.axes[axis] for axis in whole_axes(digits, self.axes)]

    def _references(self, digits: Digits) -> list[Any]:
        return [sdy.AxisRefAttr.get(name) for name in self.axis_names(digits)]

    def declare(self, module: Any) -> None:
        """Adds the mesh to a module."""
        axes = [sdy.MeshAxisAttr.get(name, size) for name, size in zip(self.mesh.axes, self.mesh.shape, strict=True)]
        ir.Operation.create(
            "sdy.mesh",
            attributes={"sym_name": ir.StringAttr.get(self.name), "mesh": sdy.MeshAttr.get(axes)},
            ip=ir.InsertionPoint.at_block_begin(module.body),
            loc=ir.Location.unknown(),
        )


def rewrite_for_one_mesh(module: Any, meshes: Meshes, extra: Iterable[Digit]) -> Writer:
    """Writes all of Shardy's shardings of a module over one mesh, in place.

    Args:
        module: a module, whose shardings may use several meshes.
        meshes: its meshes.
        extra: further digits that shardings of the module use.

    Returns:
        The writer of shardings over that mesh, which the module declares now.
    """
    used = [digit for attribute in tensor_shardings(module) for digit in meshes.digits(attribute)]
    mesh, axes = finest_mesh([*meshes.all_digits(), *used, *extra], meshes.chips, meshes.names)
    writer = Writer(mesh, axes)

    def rewritten(attribute: Any) -> Any:
        if sdy.TensorShardingPerValueAttr.isinstance(attribute):
            return writer.values([rewritten(one) for one in sdy.TensorShardingPerValueAttr(attribute).shardings])
        if not sdy.TensorShardingAttr.isinstance(attribute):
            return attribute
        dims = [sdy.DimensionShardingAttr(dim) for dim in sdy.TensorShardingAttr(attribute).dimension_shardings]
        opened = [index for index, dim in enumerate(dims) if not dim.is_closed]
        return writer.sharding(meshes.dims(attribute), opened, meshes.unreduced(attribute))

    for op in walk(module.operation):
        if "manual_axes" in op.attributes:
            op.attributes["manual_axes"] = _manual_axes(op, meshes, writer)
        for name in (SHARDING, "sharding", *_PER_VALUE):
            if name in op.attributes:
                op.attributes[name] = rewritten(op.attributes[name])
        for name in ("arg_attrs", "res_attrs"):
            if name in op.attributes:
                op.attributes[name] = ir.ArrayAttr.get(
                    [
                        ir.DictAttr.get({item.name: rewritten(item.attr) for item in ir.DictAttr(attributes)})
                        for attributes in op.attributes[name]
                    ]
                )
    writer.declare(module)
    return writer


def manual_digits(op: Any, meshes: Meshes) -> Digits:
    """Returns the digits along which the region of a manual computation says what each chip does."""
    if "manual_axes" not in op.attributes or not sdy.ManualAxesAttr.isinstance(op.attributes["manual_axes"]):
        raise MalformedModuleError(f"A manual computation does not list its manual axes in manual_axes: {op}.")
    names = [str(name) for name in sdy.ManualAxesAttr(op.attributes["manual_axes"])]
    references = [
        sdy.TensorShardingAttr(attribute).mesh_or_ref
        for key in _PER_VALUE
        if key in op.attributes
        for attribute in per_value(op.attributes[key])
    ]
    if names and not references:
        raise MalformedModuleError(
            "A manual computation without operands and results does not say which mesh it is for."
        )
    return tuple(digit for name in names for digit in meshes.axis(references[0], name))


def _manual_axes(op: Any, meshes: Meshes, writer: Writer) -> Any:
    names = writer.axis_names(manual_digits(op, meshes))
    return sdy.ManualAxesAttr.get([ir.StringAttr.get(name) for name in names])


def as_sharding(dims: Iterable[Digits], axes: Sequence[Digit], unreduced: Digits = ()) -> Sharding:
    """Returns a sharding over the finest mesh."""
    return Sharding(tuple(whole_axes(digits, axes) for digits in dims), tuple(sorted(whole_axes(unreduced, axes))))
