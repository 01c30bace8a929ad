"""Functions that write keys and values into caches."""

from __future__ import annotations

from typing import Any

from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import required
from tt_xla.ttnn_api.geometry import TILE_SIZE
from tt_xla.ttnn_api.operation import forward, operation
from tt_xla.ttnn_api.plan import Operand, Step


def check_width(given: Operand) -> None:
    """Refuses tensors whose rows are divided among cores."""
    spec, width = given.memory.shard_spec, -(-given.shape[-1] // TILE_SIZE) * TILE_SIZE
    if spec is not None and spec.shape[1] != width:
        raise TTFatal(
            f"Input tensor shard width ({spec.shape[1]}) must equal padded width ({width})",
            hint="Divide the rows alone among cores.",
        )


@operation("ttnn.experimental.paged_update_cache")
def paged_update_cache(
    cache_tensor: Operand,
    input_tensor: Operand,
    update_idxs_tensor: Operand | None,
    share_cache: bool | None,
    page_table: Operand | None,
) -> Step:
    """Writes one position of each sequence into a cache."""
    if update_idxs_tensor is None:
        raise TTFatal(
            "ttnn.experimental.paged_update_cache: the emulated card takes positions as a tensor",
            hint="Pass update_idxs_tensor.",
        )
    operands = {"cache": cache_tensor, "input": input_tensor}
    operands |= {"update_index": update_idxs_tensor, "page_table": page_table}
    attributes: dict[str, Any] = {"share_cache": True} if share_cache else {}
    return Step("ttnn.paged_update_cache", operands, [], attributes, writes=cache_tensor)


@operation("ttnn.fill_cache")
def fill_cache(cache_tensor: Operand, input_tensor: Operand, batch_idx: int) -> Step:
    """Writes the first positions of a sequence into a cache.

    Raises:
        TTFatal: the cache has no such sequence.
    """
    required(input_tensor, "ttnn.fill_cache")
    check_width(input_tensor)
    if batch_idx >= cache_tensor.shape[0]:
        raise TTFatal(
            f"Batch index ({batch_idx}) must be less than cache tensor batch size ({cache_tensor.shape[0]})",
            hint="Make the cache with a row for each sequence.",
        )
    operands = {"cache": cache_tensor, "input": input_tensor}
    return Step("ttnn.fill_cache", operands, [], {"batch_offset": batch_idx}, writes=cache_tensor)


forward(
    "ttnn.kv_cache.fill_cache_for_user_",
    "ttnn.fill_cache",
    cache="cache_tensor",
    input="input_tensor",
    batch_index="batch_idx",
)
