"""Checks that a Program fits its mesh, before it is expanded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tt_xla.errors import ExecutionError
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Argument, Instruction, Program, Result
from tt_xla.ir.ranks import PROCESS_GROUP
from tt_xla.spmd.collectives import EXCHANGES, MESH_PARTITION, POINT_TO_POINT

BETWEEN_CHIPS = (*EXCHANGES, MESH_PARTITION, POINT_TO_POINT)
"""Ops that need a mesh."""

_HINT = "Compile it again; if it came from this version's compiler, please report it."


def check(program: Program, mesh: Mesh) -> None:
    """Checks the mesh of a Program, its shardings, and the axes and chips that its instructions name.

    Raises:
        ExecutionError: they do not fit each other.
    """
    if len(mesh.shape) != len(mesh.axes) or min(mesh.shape, default=1) < 1:
        raise _fault(program, f"has a mesh {mesh.shape} with axes {mesh.axes}")
    for kind, declared in (("argument", program.arguments), ("result", program.results)):
        for index, item in enumerate(declared):
            problem = _problem(item, mesh)
            if problem:
                raise _fault(program, f"declares {kind} {index} {problem}")
    for instruction in _instructions(program):
        problem = _wrong_place(instruction, mesh)
        if problem:
            raise ExecutionError(
                f"{instruction.op} names {problem}, expected one of the mesh {mesh.shape}.",
                hint=_HINT,
                location=instruction.location,
            )


def check_without_mesh(program: Program) -> None:
    """Checks that a Program for one chip exchanges nothing between chips, other than with ranks in other processes.

    Raises:
        ExecutionError: it does.
    """
    for instruction in _instructions(program):
        if instruction.op in BETWEEN_CHIPS and PROCESS_GROUP not in instruction.attributes:
            raise ExecutionError(
                f"{instruction.op} works between chips, and program '{program.name}' has no mesh.",
                hint=_HINT,
                location=instruction.location,
            )


def _instructions(program: Program) -> Iterator[Instruction]:
    return itertools.chain.from_iterable(function.body for function in program.functions)


def _problem(declared: Argument | Result, mesh: Mesh) -> str:
    """Returns the fault of the sharding of an argument or result; empty if it has none."""
    sharding, shape = declared.sharding, declared.global_shape
    if sharding is None or shape is None:
        return "" if sharding is shape else "with a sharding or a global shape alone"
    axes = [*itertools.chain.from_iterable(sharding.dims), *sharding.unreduced]
    if len(set(axes)) != len(axes) or not set(axes) <= set(range(len(mesh.shape))):
        partial = f" and partial sums along {sharding.unreduced}" if sharding.unreduced else ""
        return f"with sharding {sharding.dims}{partial}, expected each axis of the mesh {mesh.shape} once at most"
    if len(sharding.dims) != len(shape) or sharding.local_shape(mesh, shape) != tuple(declared.shape):
        return f"as shards {tuple(declared.shape)} of shape {shape}, which sharding {sharding.dims} does not give"
    return ""


def _wrong_place(instruction: Instruction, mesh: Mesh) -> str:
    """Returns the axis or chip outside the mesh that an instruction names; empty if there is none."""
    attributes = instruction.attributes
    if instruction.op == POINT_TO_POINT:
        for name in ("sender_coord", "receiver_coord"):
            if not _is_place(attributes.get(name, ()), mesh):
                return f"{name} {attributes.get(name)}"
        return ""
    axis = attributes.get("cluster_axis")
    if instruction.op in BETWEEN_CHIPS and axis is not None and not 0 <= axis < len(mesh.shape):
        return f"cluster_axis {axis}"
    return ""


def _is_place(coordinates: Sequence[int], mesh: Mesh) -> bool:
    if len(coordinates) != len(mesh.shape):
        return False
    return all(0 <= place < size for place, size in zip(coordinates, mesh.shape, strict=True))


def _fault(program: Program, problem: str) -> ExecutionError:
    return ExecutionError(f"Program '{program.name}' {problem}.", hint=_HINT)
