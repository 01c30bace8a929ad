"""The cores that TT-NN chooses for a group norm of a tensor that is not in shards (``groupnorm_grid_utils.cpp``)."""

from __future__ import annotations

TILE = 32
"""Side of a tile."""


def virtual_columns(columns: int, groups: int, channels: int) -> int:
    """Returns the most columns of cores that can share whole groups in whole tiles; 0 if none can."""
    counts = range(min(columns, groups), 0, -1)
    return next((count for count in counts if channels // count % TILE == 0 and groups % count == 0), 0)


def chosen_grid(cores: tuple[int, int], channels: int, groups: int, tiles: int, batches: int) -> tuple[int, int] | None:
    """Returns columns and rows of cores: grids without idle columns come first, then wide ones. None if none fits.

    Args:
        cores: columns and rows of cores of the chip.
        channels: number of channels.
        groups: number of groups.
        tiles: rows of tiles of all batches.
        batches: number of batches.
    """
    fitting: list[tuple[bool, int, int]] = []
    for x in range(1, cores[0] + 1):
        columns = virtual_columns(x, groups, channels)
        for y in range(1, cores[1] + 1) if columns else ():
            rows = x // columns * y
            if tiles % rows == 0 and (rows < batches or rows % batches == 0):
                fitting.append((x % columns == 0, x, y))
    return max(fitting)[1:] if fitting else None
