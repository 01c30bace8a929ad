"""Facts that a StableHLO module states beside its computation: the devices it is for, and which arguments are marked.

The markers themselves (custom calls and ``sdy`` ops whose result is their operand) are dropped when their op is
converted; see :mod:`tt_xla.compiler.stablehlo.expand`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.stablehlo.replica_groups import table_of
from tt_xla.errors import CompileError, MalformedModuleError
from tt_xla.ir.program import ARGUMENT_MARK

INDEXES = "ttir.indexes"
"""Attribute of a ``clamp`` that limits indices which the program gives: the op and the dimension that they index."""

PART = "ttir.part"
"""Attribute of a scatter into a chip's part of a tensor, which leaves out the indices of other parts."""

_DEVICE_COUNTS = ("mhlo.num_partitions", "mhlo.num_replicas")

_FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
_MESHES_AS_TEXT = "xla.sdy.meshes"
"""Frontend attribute of a module in whose text XLA keeps the meshes when it replaces ``sdy`` by custom calls."""

_SHARDY_SHARDINGS = ("sdy.sharding", "sharding")
"""Attributes of arguments, results and ``sdy`` ops that may have a mesh of their own instead of a mesh's name."""

_KINDS: dict[type[ir.Attribute], str] = {
    ir.IntegerAttr: "an integer",
    ir.DictAttr: "a dictionary",
    ir.StringAttr: "a string",
}
"""Kinds of attributes in words."""

_AXIS_SIZE = re.compile(r'\\?"[^"\\]*\\?"=(\d+)')
_TILE_SIZES = re.compile(r"devices=\[([\d,]+)\]")


def check_one_device(module: Any, function: Any) -> None:
    """Checks that a module is for one device.

    Args:
        module: a StableHLO module.
        function: its public function.

    Raises:
        CompileError: the module asks for several partitions or replicas, or declares a mesh of several devices, or an
            argument or result of the function is split.
    """
    requests = [*_module_requests(module), *_function_requests(function)]
    if requests:
        raise _several_devices(requests)


def check_sharding(op: Any) -> None:
    """Checks that the sharding in the attributes of an op leaves its tensor on one device.

    Raises:
        CompileError: the sharding splits or copies the tensor over several devices.
    """
    requests = [*_sharding_requests(op.attributes, f"the sharding of a {op.operation.name}")]
    if requests:
        raise _several_devices(requests)


def check_group_sizes(op: Any) -> None:
    """Checks that a collective op, such as ``stablehlo.all_reduce``, has groups of one device.

    Raises:
        CompileError: a group has several devices.
    """
    if "replica_groups" in op.attributes:
        group_size = table_of(op).shape[1]
        if group_size > 1:
            raise _several_devices([f"{op.name} over groups of {group_size} devices"])
    if "source_target_pairs" in op.attributes:
        pairs = np.array(op.attributes["source_target_pairs"]).tolist()
        if any(source != target for source, target in pairs):
            raise _several_devices([f"{op.name} between devices {pairs}"])


def replicas(module: Any, chips: int) -> int:
    """Returns the number of replicas that a module is for.

    Raises:
        MalformedModuleError: the chips do not divide into so many replicas.
    """
    attribute = _attribute(module.operation.attributes, "mhlo.num_replicas", ir.IntegerAttr)
    count = 1 if attribute is None else int(attribute.value)
    if count < 1 or chips % count:
        raise MalformedModuleError(f"The module has mhlo.num_replicas = {count}, expected a divisor of {chips} chips.")
    return count


def marked_arguments(function: Any) -> dict[int, str]:
    """Returns the names of arguments that are marked as parameters, by argument position.

    ``tt_jax.mark_parameters`` leaves a custom call on each array that it marks. Two layers that were marked one by one
    may use the same name; the position makes the second one unique. An array that is marked by itself has no name.
    """
    names: dict[int, str] = {}
    for argument in function.regions[0].blocks[0].arguments:
        for use in argument.uses:
            if is_mark(use.owner):
                position = argument.arg_number
                name = _backend_config(use.owner) or f"arg{position}"
                names[position] = f"{name}.{position}" if name in names.values() else name
                break
    return names


def _backend_config(op: Any) -> str:
    """Returns the text of a custom call; an empty one is lost on the way from JAX."""
    return str(op.attributes["backend_config"].value) if "backend_config" in op.attributes else ""


def is_mark(op: Any) -> bool:
    """Returns whether an op is the custom call that marks an argument as a parameter."""
    return op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == ARGUMENT_MARK


def _module_requests(module: Any) -> Iterator[str]:
    attributes = module.operation.attributes
    for name in _DEVICE_COUNTS:
        count = _attribute(attributes, name, ir.IntegerAttr)
        if count is not None and count.value > 1:
            yield f"{name} = {count.value}"
    for op in module.body.operations:
        if op.operation.name == "sdy.mesh":
            axes = [sdy.MeshAxisAttr(axis) for axis in sdy.MeshAttr(op.attributes["mesh"]).axes]
            if math.prod(axis.size for axis in axes) > 1:
                shape = ", ".join(f"{axis.name}={axis.size}" for axis in axes)
                yield f"sdy.mesh @{op.attributes['sym_name'].value} with axes {shape}"
    frontend = _attribute(attributes, _FRONTEND_ATTRIBUTES, ir.DictAttr)
    meshes = None if frontend is None else _attribute(frontend, _MESHES_AS_TEXT, ir.StringAttr)
    if meshes is not None and _has_large_axis(meshes.value):
        yield f"{_MESHES_AS_TEXT} = {meshes.value}"


def _attribute(attributes: Any, name: str, kind: type[ir.Attribute]) -> Any:
    """Returns an attribute of the module; None if it is absent.

    Raises:
        MalformedModuleError: the attribute is of another kind.
    """
    if name not in attributes:
        return None
    attribute = attributes[name]
    if not isinstance(attribute, kind):
        raise MalformedModuleError(f"The module attribute {name} is {attribute}, expected {_KINDS[kind]}.")
    return attribute


def _function_requests(function: Any) -> Iterator[str]:
    for name, kind in (("arg_attrs", "argument"), ("res_attrs", "result")):
        if name in function.attributes:
            for position, attributes in enumerate(function.attributes[name]):
                yield from _sharding_requests(attributes, f"the sharding of {kind} {position}")


def _sharding_requests(attributes: Any, place: str) -> Iterator[str]:
    """Yields a phrase for each sharding over several devices in some attributes."""
    if "mhlo.sharding" in attributes:
        text = str(attributes["mhlo.sharding"])
        for match in _TILE_SIZES.finditer(text):
            if math.prod(map(int, match[1].split(","))) > 1:
                yield f"{place}, {text}"
    for name in _SHARDY_SHARDINGS:
        if name in attributes and _has_large_axis(str(attributes[name])):
            yield f"{place}, {attributes[name]}"


def _has_large_axis(mesh: str) -> bool:
    """Whether the text of a mesh, such as ``#sdy.mesh<["x"=2]>``, has an axis of several devices."""
    return any(int(size) > 1 for size in _AXIS_SIZE.findall(mesh))


def _several_devices(requests: list[str]) -> CompileError:
    return CompileError(
        f"The module is for several devices ({'; '.join(requests)}); tt-xla compiles programs for one chip.",
        hint="Lower the program for one device: without shardings, or with a mesh of size 1.",
    )
