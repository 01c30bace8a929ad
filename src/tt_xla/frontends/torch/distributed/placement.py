"""Finds the chips of the ranks of process groups: a rank has the chip of its number among its host's processes."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from tt_xla.environment import launched_process, selected_system
from tt_xla.errors import MeshError
from tt_xla.frontends.torch.device import chips
from tt_xla.runtime import process_groups


def chips_of(group: Any) -> tuple[int, ...] | None:
    """Returns the number of the chip of each rank of a process group, for the price of its exchanges.

    Returns:
        The numbers; none if the group has all chips of the system, which may then lie in any order, as in a mesh of all
        chips. None if the ranks are on several hosts, or no links lead from one to another.
    """
    from tt_xla.target import arrange, load_target

    own = launched_process()
    first = 0 if own is None else own.rank - own.local_rank
    numbers = tuple(rank - first for rank in dist.get_process_group_ranks(group))
    if any(not 0 <= number < chips.chip_count() for number in numbers):
        return None
    if numbers == tuple(range(chips.chip_count())):
        return ()
    try:
        arrange(load_target(selected_system()), (1, len(numbers)), numbers)
    except MeshError:
        return None
    return numbers


def described() -> list[Any]:
    """Returns this process's place among the ranks and the ranks of each of its groups, as part of a cache's key.

    What PyTorch traces may contain the number of the rank, such as where its part of a tensor begins.
    """
    if not dist.is_available() or not dist.is_initialized():
        return []
    groups = {name: dist.get_process_group_ranks(group) for name, group in process_groups.registered().items()}
    return [dist.get_rank(), dist.get_world_size(), sorted(groups.items())]


__all__ = ["chips_of", "described"]
