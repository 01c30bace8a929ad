"""The program config and the fidelity that TT-NN chooses for a product of a call that names none.

Source: tt-metal's ``matmul_program_config.cpp`` (``create_matmul_program_config``) and
``matmul_device_operation.cpp`` (``create_matmul_attributes``). Counts are tiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.enums import DataType, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import TILE_SIZE

if TYPE_CHECKING:
    from tt_xla.ttnn_api.geometry import CoreGrid
    from tt_xla.ttnn_api.plan import Operand

_NARROW = 8
"""A product whose sides differ by more than this factor is divided along one side alone."""
_INTERLEAVED_BLOCK = 4
"""Largest block of the inner dimension of a product of interleaved tensors."""
_BLOCK_FLOATS = (DataType.BFLOAT8_B, DataType.BFLOAT4_B)


def fidelity(a: DataType, b: DataType, *, configured: bool) -> str:
    """Returns the math fidelity of a product without a compute config.

    Args:
        a: data type of the left operand.
        b: data type of the right operand.
        configured: whether the call names a program config or a grid of cores.
    """
    if a is b is DataType.FLOAT32:
        return "hifi4"
    return "lofi" if configured or (a in _BLOCK_FLOATS and b in _BLOCK_FLOATS) else "hifi2"


def divides(turned: Sequence[Sequence[int]]) -> bool:
    """Returns whether cores can divide the product of two shapes: both are matrices, and none of them is empty."""
    return all(len(shape) > 1 and all(shape) for shape in turned)


def of_grid(
    grid: CoreGrid, a: Operand, b: Operand, turned: Sequence[Sequence[int]], function: dict[str, Any] | None
) -> dict[str, Any]:
    """Returns the fields of the program config that TT-NN makes for a grid of cores.

    Args:
        grid: the call's ``core_grid``; if it is empty or larger than the chip's, the chip's is taken.
        a: the left operand.
        b: the right operand.
        turned: shapes of both operands, transposed where the call asks for it.
        function: the function that the call applies to the product, as a ``#ttnn.unary_with_param``.

    Raises:
        TTFatal: a function follows a product of batched weights.
    """
    (*batch, rows, inner), (*batch_b, _, columns) = turned
    m, k, n = (-(-size // TILE_SIZE) for size in (rows, inner, columns))
    across, down = _cores(grid, a)
    common: dict[str, Any] = {"compute_with_storage_grid_size": [across, down]}
    if math.prod(batch_b) > 1:
        if function is not None:
            raise TTFatal(
                "Cannot use activation with batched input b",
                hint="Leave activation out and apply the function afterwards, or leave core_grid out.",
            )
        return common | {"config": "reuse", "in0_block_w": _of_batched(a, k), "per_core_m": m, "per_core_n": n}
    m *= math.prod(batch)
    if function is not None:
        common["fused_activation"] = function
    layout = a.memory.memory_layout
    is_block_sharded = layout is TensorMemoryLayout.BLOCK_SHARDED
    is_narrow = max(m, n) // min(m, n) > _NARROW or 1 in (-(-rows // TILE_SIZE), k, n)
    if not is_block_sharded and (is_narrow or a.memory.is_sharded()):
        return common | _along_one_side(m, k, n, across * down, layout)
    width = _divisor(k, _INTERLEAVED_BLOCK)
    per_core = (-(-m // down), -(-n // across))
    if is_block_sharded and a.memory.shard_spec is not None:
        height, shard = (size // TILE_SIZE for size in a.memory.shard_spec.shape)
        width, per_core = math.gcd(shard, k), (height, max(n * shard // k, 1))
    return common | {"config": "multi_cast", "in0_block_w": width} | _parts(*per_core)


def _cores(grid: CoreGrid, a: Operand) -> tuple[int, int]:
    """Returns the columns and rows of cores that take part."""
    assert a.device is not None
    most = a.device.compute_with_storage_grid_size()
    return (grid.x, grid.y) if 0 < grid.x <= most.x and 0 < grid.y <= most.y else (most.x, most.y)


def _of_batched(a: Operand, inner: int) -> int:
    """Returns the block of the inner dimension for batched weights."""
    if a.memory.shard_spec is not None:
        return a.memory.shard_spec.shape[1] // TILE_SIZE
    is_shared = math.prod(a.shape[:-2]) == 1
    return 2 - inner % 2 if is_shared else 1


def _along_one_side(m: int, k: int, n: int, cores: int, layout: TensorMemoryLayout) -> dict[str, Any]:
    """Returns the fields for a product whose cores divide the longer side; shards say which side it is."""
    sides = {TensorMemoryLayout.HEIGHT_SHARDED: True, TensorMemoryLayout.WIDTH_SHARDED: False}
    is_tall = sides.get(layout, m > n)
    per_core = (-(-m // cores), n) if is_tall else (m, -(-n // cores))
    fields = {"config": "multi_cast_1d", "in0_block_w": _divisor(k, -(-k // cores)), "mcast_in0": not is_tall}
    return fields | _parts(*per_core)


def _parts(rows: int, columns: int) -> dict[str, Any]:
    return {"per_core_m": rows, "per_core_n": columns}


def _divisor(size: int, most: int) -> int:
    """Returns the largest divisor up to a bound."""
    return next(width for width in range(most, 0, -1) if size % width == 0)
