"""Calls that exchange tensors between the chips of a mesh. Number of links and topology are TT-NN's choice."""

from __future__ import annotations

from collections.abc import Sequence

from tt_xla.codegen.calls.registry import Op, calls, without_none
from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.layout import TILE


@calls("ttnn.all_gather")
def all_gather(op: Op) -> Call:
    return _exchange(op, op.get("all_gather_dim"))


@calls("ttnn.all_reduce")
def all_reduce(op: Op) -> Call:
    _check_sum(op)
    return _exchange(op)


@calls("ttnn.reduce_scatter")
def reduce_scatter(op: Op) -> Call:
    """Returns the exchange. TT-NN has none for vectors, so a vector becomes a matrix of one row."""
    _check_sum(op)
    (size, *others) = op.spec("input").shape
    if others or op.chips == 1:
        return _exchange(op, op.get("scatter_dim"), compute_kernel_config=op.compute)
    row = Call("ttnn.reshape", (op["input"], (1, size)))
    part = Call(
        "ttnn.reduce_scatter", (row, 1), without_none(cluster_axis=op.cluster_axis, compute_kernel_config=op.compute)
    )
    return Call("ttnn.reshape", (part, tuple(op.result.shape)), without_none(memory_config=op.memory))


@calls("ttnn.all_to_all")
def all_to_all(op: Op) -> Call:
    """Returns the exchange, whose ``in_dim`` is the dimension that is joined and ``out_dim`` the one that is split.

    TT-NN has no kernel for parts of tiles; then each chip gathers all tensors and takes its part.
    """
    shape, rank = op.spec("input").shape, len(op.spec("input").shape)
    split, join = (int(op.get(name)) % rank for name in ("split_dim", "concat_dim"))
    if op.chips == 1:
        return Call("ttnn.clone", (op["input"],), without_none(memory_config=op.memory))
    if split != join and _is_between_tiles(shape, split, join, op.chips):
        keywords = without_none(cluster_axis=op.cluster_axis, memory_config=op.memory)
        names: dict[str, Expression] = {"in_dim": join, "out_dim": split}
        return Call("ttnn.experimental.all_to_all_async_generic", (op["input"],), names | keywords)
    source, same = op["input"], split == join
    if same:  # the parts become a dimension of their own, which is split
        source = Call(
            "ttnn.reshape", (source, (*shape[:split], op.chips, shape[split] // op.chips, *shape[split + 1 :]))
        )
        join += 1
    rows = Call("ttnn.to_layout", (source, Name("ttnn.ROW_MAJOR_LAYOUT")))
    axis = without_none(cluster_axis=op.cluster_axis)
    part = Call("ttnn.mesh_partition", (Call("ttnn.all_gather", (rows, join), axis), split), axis)
    if same:
        part = Call("ttnn.reshape", (part, tuple(op.result.shape)))
    return Call("ttnn.to_layout", (part, op.layout), without_none(memory_config=op.memory))


def _is_between_tiles(shape: Sequence[int], split: int, join: int, chips: int) -> bool:
    """Returns whether the parts of an exchange end where TT-NN's kernel can cut: at tiles, or at half tiles of rows."""
    rank = len(shape)
    units = {rank - 2: TILE // 2, rank - 1: TILE}
    return rank >= 2 and shape[join] % units.get(join, 1) == 0 and shape[split] // chips % units.get(split, 1) == 0


@calls("ttnn.broadcast")
def broadcast(op: Op) -> Call:
    """Refuses the op, which only ranks of ``torch.distributed`` have."""
    return _exchange(op)


@calls("ttnn.mesh_partition")
def mesh_partition(op: Op) -> Call:
    return _exchange(op, op.get("dim"))


@calls("ttnn.point_to_point")
def point_to_point(op: Op) -> Call:
    """Returns a call that sends the tensor of one chip to another.

    Other chips keep what the output has. Operands are moved to the result's memory, as TT-NN requires. Its fabric of
    one dimension reaches chips of the same row or column; to other chips the tensor goes along the row first.
    """
    source = _in_memory_of_result(op, "input")
    sender, receiver = op.coordinates("sender_coord"), op.coordinates("receiver_coord")
    corner = (sender[0], receiver[1])
    if corner not in (sender, receiver):
        source = Call("ttnn.point_to_point", (source, _coordinate(sender), _coordinate(corner)))
        sender = corner
    output = without_none(output_tensor=_in_memory_of_result(op, "optional_output_tensor"))
    return Call("ttnn.point_to_point", (source, _coordinate(sender), _coordinate(receiver)), output)


def _coordinate(place: tuple[int, int]) -> Call:
    return Call("ttnn.MeshCoordinate", place)


def _in_memory_of_result(op: Op, name: str) -> Expression:
    """Returns an operand, in the memory config of the result; None if it is absent."""
    if op[name] is None or op.memory_of(name) == op.memory:
        return op[name]
    return Call("ttnn.to_memory_config", (op[name], op.memory))


def _exchange(op: Op, *arguments: Expression, **keywords: Expression) -> Call:
    """Returns the call along the op's axis of the mesh. Along an axis of one chip, every collective is a copy.

    Some forms of TT-NN's collectives return the result in DRAM, whatever the memory config says.
    """
    if op.chips == 1:
        return Call("ttnn.clone", (op["input"],), without_none(memory_config=op.memory))
    named = without_none(cluster_axis=op.cluster_axis, memory_config=op.memory, **keywords)
    call = Call(op.instruction.op, (op["input"], *arguments), named)
    return call if op.memory == Name("ttnn.DRAM_MEMORY_CONFIG") else Call("ttnn.to_memory_config", (call, op.memory))


def _check_sum(op: Op) -> None:
    """Checks that an op adds.

    Raises:
        UnsupportedOpError: it reduces by another function, which TT-NN's collectives cannot.
    """
    reduce_type = op.get("reduce_type")
    if reduce_type != "sum":
        raise UnsupportedOpError(
            f"TT-NN's {op.instruction.op} adds; this one has reduce_type {reduce_type}.",
            location=op.instruction.location,
            hint="Gather the tensors of the chips and reduce them on each chip.",
        )
