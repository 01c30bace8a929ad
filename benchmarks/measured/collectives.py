"""Measured collectives: one row for an op, a system, a number of chips and a size."""

from __future__ import annotations

import dataclasses
import functools

from benchmarks.measured.measurement import Measurement, Row, RowError, board_target, integer, number, step, tensor
from tt_xla.ir.mesh import Mesh
from tt_xla.target import Link, Target

COLUMNS = frozenset({"op", "topology", "links", "chips", "size_bytes", "dtype", "kernel_us"})
OPS = ("all_gather", "all_reduce", "all_to_all", "reduce_scatter")
_MOST_CHIPS = 256
_TILE_ROWS = 32


def collective(row: Row, line: int, name: str, arch: str) -> Measurement:
    """Returns the measurement of a row.

    ``size_bytes`` is the tensor before it is split or after it is joined; for an all_to_all, the tensor of a chip.

    Args:
        row: the row.
        line: its line in the file.
        name: name of the file.
        arch: architecture of rows that name none.

    Raises:
        RowError: a cell has a value that no collective has.
    """
    op = row["op"].strip()
    if op not in OPS:
        raise RowError(f"op {op!r} is unknown; expected one of {', '.join(OPS)}")
    chips, links, size = (integer(row, column) for column in ("chips", "links", "size_bytes"))
    target = system(board_target(row.get("arch") or arch), row["topology"].strip(), chips, links)
    memory = f"{row.get('memory') or 'DRAM'}_INTERLEAVED"

    def split(parts: int) -> tuple[int, ...]:
        """Returns the shape of a part of the tensor, as one row of tiles of two-byte elements."""
        return (_TILE_ROWS, max(size // (2 * _TILE_ROWS * parts), 1))

    before, after = {"all_gather": (chips, 1), "reduce_scatter": (1, chips)}.get(op, (1, 1))
    tensors = [tensor(split(parts), row["dtype"], "TILE", memory, 1, target.grid) for parts in (before, after)]
    instruction, values = step(op, tensors[:1], tensors[1:], {"cluster_axis": 0})
    return Measurement(
        line=line,
        label=f"{op} {size} B, {row['topology']} of {chips}",
        family="collective",
        instruction=instruction,
        values=values,
        target=target,
        measured_us=number(row, "kernel_us"),
        mesh=Mesh((chips,), ("x",)),
    )


@functools.cache
def system(target: Target, topology: str, chips: int, channels: int) -> Target:
    """Returns a system whose chips form one line or ring.

    Args:
        target: the chip.
        topology: ``line`` or ``ring``.
        chips: number of chips.
        channels: number of channels between neighbours.

    Raises:
        RowError: the topology is unknown, or the number of chips is no mesh.
    """
    if topology not in ("line", "ring"):
        raise RowError(f"topology {topology!r} is unknown; expected line or ring")
    if not 2 <= chips <= _MOST_CHIPS:
        raise RowError(f"a collective of {chips} chips; expected 2 to {_MOST_CHIPS}")
    numbers = tuple(range(chips))
    links = [Link((chip, chip + 1), channels) for chip in numbers[:-1]]
    if topology == "ring" and chips > 2:
        links.append(Link((0, chips - 1), channels))
    return dataclasses.replace(
        target, chips=chips, chip_numbers=numbers, host_chips=numbers, links=tuple(sorted(links))
    )
