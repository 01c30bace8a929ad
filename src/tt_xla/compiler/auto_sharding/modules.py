"""Modules of the search: the mesh of a module, and shardings of its arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.sharding.requests import requests
from tt_xla.compiler.sharding.shardings import SHARDING
from tt_xla.compiler.stablehlo.signature import entry_function
from tt_xla.errors import InternalCompilerError, OptionError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.target import Target, bound_devices, natural_shape

_PARTITIONS = "mhlo.num_partitions"
_MESH = "auto_mesh"


def axis_names(count: int) -> tuple[str, ...]:
    """Returns the names of the axes of a mesh that the user did not name."""
    return ("x", "y", "z", *(f"axis_{number}" for number in range(3, count)))[:count]


def with_mesh(module: ir.Module, shape: Sequence[int], target: Target, devices: Sequence[int] = ()) -> ir.Module:
    """Returns a copy of a module that declares a mesh.

    Args:
        module: a StableHLO module, for one chip or several.
        shape: number of chips along each axis of the mesh. An empty shape stands for the mesh of the module; without
            one, for all chips that the module is for, or else for all chips of the system.
        target: the system.
        devices: number of the device at each position of the mesh; by default the first ones, in order.

    Raises:
        OptionError: the module is for another mesh.
        MeshError: the links of the system allow no such mesh, or it has too few chips.
    """
    copy: Any = module.operation.clone()
    asked = requests(copy)
    declared = _declared(copy)
    chips = asked.partitions or (math.prod(declared[0]) if declared else None)
    shape = tuple(shape)
    if shape and chips is not None and math.prod(shape) != chips:
        raise OptionError(
            f"auto_sharding asks for a mesh of {text(shape)}, which has {math.prod(shape)} chips; the module is for "
            f"{chips}.",
            hint="Give a mesh of as many chips, or auto_sharding=True for the mesh of the module.",
        )
    if shape and declared and shape not in declared:
        raise OptionError(
            f"auto_sharding asks for a mesh of {text(shape)}; the module has a mesh of {text(declared[0])}.",
            hint="auto_sharding=True uses the mesh of the module.",
        )
    if not declared:
        shape = shape or natural_shape(target, chips or target.chips)
        bound_devices(target, shape, devices)
        _declare(copy, shape)
    return copy


def text(shape: Sequence[int]) -> str:
    """Returns the shape of a mesh as text, such as ``2x4``."""
    return "x".join(map(str, shape))


def _declared(module: Any) -> list[tuple[int, ...]]:
    """Returns the shapes of the meshes of several chips that a module declares."""
    meshes = [sdy.MeshAttr(op.attributes["mesh"]) for op in module.body.operations if op.operation.name == "sdy.mesh"]
    shapes = [tuple(sdy.MeshAxisAttr(axis).size for axis in mesh.axes) for mesh in meshes]
    return [shape for shape in shapes if math.prod(shape) > 1]


def mesh_of(module: Any) -> tuple[str, Mesh]:
    """Returns the name and the chips of the mesh that a module declares, in the order of its axes."""
    for op in module.body.operations:
        if op.operation.name == "sdy.mesh":
            axes = [sdy.MeshAxisAttr(axis) for axis in sdy.MeshAttr(op.attributes["mesh"]).axes]
            mesh = Mesh(tuple(axis.size for axis in axes), tuple(axis.name for axis in axes))
            if mesh.size > 1:
                return op.attributes["sym_name"].value, mesh
    raise InternalCompilerError("The module declares no mesh.", hint="This is a fault of tt-xla; please report it.")


def read_sharding(attribute: Any, mesh: Mesh) -> Sharding:
    """Returns a sharding of Shardy's. A part of an axis counts as the axis."""
    dims = [sdy.DimensionShardingAttr(dim) for dim in sdy.TensorShardingAttr(attribute).dimension_shardings]
    return Sharding(tuple(tuple(mesh.axes.index(sdy.AxisRefAttr(axis).name) for axis in dim.axes) for dim in dims))


def _declare(module: Any, shape: Sequence[int]) -> None:
    with module.context as context, ir.Location.unknown():
        sdy.register_dialect(context)
        axes = [sdy.MeshAxisAttr.get(*axis) for axis in zip(axis_names(len(shape)), shape, strict=True)]
        module.operation.attributes[_PARTITIONS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), math.prod(shape))
        with ir.InsertionPoint.at_block_begin(module.body):
            sdy.MeshOp(_MESH, sdy.MeshAttr.get(axes))


def with_shardings(module: ir.Module, mesh_name: str, mesh: Mesh, shardings: Mapping[int, Sharding]) -> ir.Module:
    """Returns a copy of a module whose arguments have shardings.

    Args:
        module: a module that declares the mesh.
        mesh_name: name of the mesh in the module.
        mesh: the mesh.
        shardings: shardings by argument; other arguments keep what they have.
    """
    copy: Any = module.operation.clone()
    with copy.context, ir.Location.unknown():
        entry = entry_function(copy)
        existing = list(entry.arg_attrs) if "arg_attrs" in entry.attributes else []
        existing = existing or [ir.DictAttr.get({})] * len(entry.arguments)
        attributes: list[Any] = []
        for number, own in enumerate(existing):
            named = {item.name: item.attr for item in ir.DictAttr(own)}
            if number in shardings:
                named[SHARDING] = sharding_attribute(mesh_name, mesh, shardings[number])
            attributes.append(ir.DictAttr.get(named))
        entry.arg_attrs = ir.ArrayAttr.get(attributes)
    return copy


def sharding_attribute(mesh_name: str, mesh: Mesh, sharding: Sharding) -> Any:
    """Returns a sharding as an attribute of Shardy, whose dimensions propagation may not split further."""
    dims = [[sdy.AxisRefAttr.get(mesh.axes[axis]) for axis in axes] for axes in sharding.dims]
    return sdy.TensorShardingAttr.get(mesh_name, [sdy.DimensionShardingAttr.get(axes, is_closed=True) for axes in dims])
