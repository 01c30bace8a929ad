"""Whether a module asks for several chips: a cheap look at its attributes and meshes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.sharding.gspmd import HLO_SHARDING
from tt_xla.compiler.sharding.round_trip import MESHES, frontend_attributes, plain_text
from tt_xla.compiler.sharding.shardings import SHARDING
from tt_xla.compiler.stablehlo.signature import entry_function
from tt_xla.errors import CompileError, MalformedModuleError

_TILE_SIZES = re.compile(r"devices=\[([\d,]{1,200})\]")
_INLINE_MESH = re.compile(r"<mesh<\[([^\]]*)\]")
_AXIS_SIZE = re.compile(r'\\?"[^"\\]*\\?"=(\d{1,18})')


@dataclass(frozen=True)
class Requests:
    """The chips that a module asks for."""

    several: bool
    """Whether it is for several."""
    partitions: int | None
    """Number of chips if it says that: ``mhlo.num_partitions``, or the devices of a sharding without a mesh."""
    replicas: int = 1
    """Number of chips that run the module as it is, each on tensors of its own: ``mhlo.num_replicas``."""


def requests(module: Any) -> Requests:
    """Returns a module's statements about the chips it is for.

    Raises:
        MalformedModuleError: an attribute of the module is of a wrong kind.
        CompileError: the module is for several replicas, and each of them for several chips.
    """
    attributes = module.operation.attributes
    partitions, replicas = _count(attributes, "mhlo.num_partitions"), _count(attributes, "mhlo.num_replicas")
    if replicas > 1 and partitions > 1:
        raise CompileError(
            f"The module is for {replicas} replicas (mhlo.num_replicas) of {partitions} partitions "
            "(mhlo.num_partitions); tt-xla runs modules with either.",
            hint="Use jax.jit with shardings, or jax.shard_map, over a mesh of all chips.",
        )
    if replicas > 1:
        return Requests(True, None, replicas)
    several = partitions > 1 or _has_large_mesh(module)
    entry = entry_function(module)
    if not several:
        partitions = _chips_of_signature(entry)
        several = partitions > 1
    if not several:
        return Requests(False, None)
    return Requests(True, partitions if partitions > 1 else None)


def _count(attributes: Any, name: str) -> int:
    if name not in attributes:
        return 1
    try:
        value = attributes[name]
    except TypeError:  # MLIR's Python has no class for a location that stands for an attribute
        value = "a location"
    if not isinstance(value, ir.IntegerAttr):
        raise MalformedModuleError(f"The module attribute {name} is {value}, expected an integer.")
    return value.value


def _has_large_mesh(module: Any) -> bool:
    for op in module.body.operations:
        if op.operation.name == "sdy.mesh":
            sizes = [sdy.MeshAxisAttr(axis).size for axis in sdy.MeshAttr(op.attributes["mesh"]).axes]
            if math.prod(sizes) > 1:
                return True
    frontend = frontend_attributes(module.operation.attributes)
    return MESHES in frontend and any(int(size) > 1 for size in _AXIS_SIZE.findall(plain_text(frontend, MESHES)))


def _chips_of_signature(function: Any) -> int:
    """Returns the number of chips that the shardings of arguments and results are for; 1 if they say nothing."""
    for name in ("arg_attrs", "res_attrs"):
        if name not in function.attributes:
            continue
        for attributes in function.attributes[name]:
            for key, sizes in ((HLO_SHARDING, _TILE_SIZES), (SHARDING, _INLINE_MESH)):
                match = sizes.search(str(attributes[key])) if key in attributes else None
                if match is not None:
                    count = math.prod(int(size) for size in re.findall(r"(?<![\w.])\d+", match[1]))
                    if count > 1:
                        return count
    return 1
