"""Collectives between the ranks of ``torch.distributed``: processes, each of which runs a program of its own.

A program for a mesh names an axis of it; the program of a rank names a process group, and which chips its ranks have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tt_xla.ir.mesh import Mesh

TARGET = "tt.rank_collective"
"""Target of the custom call that stands for a :class:`RankCollective` in StableHLO; its backend config is the JSON."""

PROCESS_GROUP = "process_group"
"""Attribute of a TTNN collective whose tensors other processes have: the name of the process group."""

CLUSTER_AXIS = 1
"""Axis along which the ranks of a group lie: they are one row of chips."""


class RankCollective(msgspec.Struct, frozen=True):
    """A collective that a rank calls. It works along the first dimension of a tensor, as those of PyTorch do."""

    kind: str
    """``all_gather``, ``all_reduce``, ``all_to_all``, ``broadcast`` or ``reduce_scatter``."""
    process_group: str
    """Name of the process group."""
    ranks: int
    """Number of ranks in the group."""
    chips: tuple[int, ...] | None = None
    """Number of the device of each rank; empty for all chips of the system, which may lie in any order. None where they
    are on several hosts."""
    reduction: str = ""
    """The reduction: sum, mean, max, min or prod; empty for a kind without one."""
    root: int = 0
    """Number in the group of the rank that sends, for a broadcast."""
    sent: tuple[int, ...] = ()
    """Rows that this rank sends to each one in an all_to_all between different parts; empty for equal parts."""
    received: tuple[int, ...] = ()
    """Rows that each rank sends to this one there; empty for equal parts."""


def rows_of(sizes: Sequence[int]) -> int:
    """Returns the rows of the tensor on the chip that holds parts of some sizes: at least one, which may be unused."""
    return max(sum(sizes), 1)


def row_of_ranks(attributes: Mapping[str, Any]) -> Mesh | None:
    """Returns the chips of the ranks that take part in an instruction, as a mesh of one row.

    Args:
        attributes: attributes of the instruction.

    Returns:
        The mesh; None for an instruction between the chips of a program, and for ranks on several hosts.
    """
    chips = attributes.get("chips")
    if PROCESS_GROUP not in attributes or chips is None:
        return None
    return Mesh((1, int(attributes["ranks"])), ("", str(attributes[PROCESS_GROUP])), tuple(map(int, chips)))
