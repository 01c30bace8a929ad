"""Key and value caches [B, G, K, D], which ops update in place: B sequences, G heads, K positions, D head size.

Before the pass ``ttnn-write-in-place`` these ops are functions, whose result is the cache after the write. The pass
checks what else reads the old cache; after it the ops have no result, as in upstream's text, and write to their
operand's memory.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, opt_operand_def, opt_result_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import ShapedOp
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I32, defaulted, prop_def


class CacheOp(ShapedOp, ABC):
    """An op that writes to its operand ``cache``."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    result = opt_result_def(TensorType)

    def check_fits(self, *, heads: int, has_positions: bool) -> None:
        """Checks that ``input`` fits the cache.

        Args:
            heads: dimension of ``input`` that counts heads.
            has_positions: whether dimension 2 of ``input`` counts positions, which must not exceed the cache's.

        Raises:
            ValueError: ``input`` does not fit.
        """
        cache, value = self.shape_of_rank("cache", 4), self.shape_of_rank("input", 4)
        self.require(value[3] == cache[3], f"input has head size {value[3]}, the cache has {cache[3]}")
        self.require(value[heads] == cache[1], f"input has {value[heads]} heads, the cache has {cache[1]}")
        self.require(
            not has_positions or value[2] <= cache[2], f"input has {value[2]} positions, the cache has {cache[2]}"
        )


class UpdateCache(CacheOp, ABC):
    """Writes input [1, G, B, D] at the position ``update_index`` of each sequence from ``batch_offset`` on."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    update_index = operand_def(TensorType)
    batch_offset = prop_def(I32)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.check_fits(heads=1, has_positions=False)
        return (shape(self.cache),)


class FillCache(CacheOp, ABC):
    """Writes input [B, G, S, D] at the first S positions of the sequences from ``batch_offset`` on."""

    batch_offset = prop_def(I32)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.check_fits(heads=1, has_positions=True)
        return (shape(self.cache),)


class PagedUpdateCache(CacheOp, ABC):
    """Writes input [1, B, G, D] at each sequence's ``update_index`` [B], into the page that page_table [B, N] lists."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    update_index = operand_def(TensorType)
    page_table = opt_operand_def(TensorType)
    share_cache = defaulted(BOOL, False)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        cache, value = self.shape_of_rank("cache", 4), self.shape_of_rank("input", 4)
        self.require(value[3] == cache[3], f"input has head size {value[3]}, the cache has {cache[3]}")
        self.require(
            len(shape(self.update_index)) == 1, f"update_index has shape {shape(self.update_index)}, expected rank 1"
        )
        return (shape(self.cache),)


class PagedFillCache(CacheOp, ABC):
    """Writes input [B, G, S, D] into the pages that page_table [B, pages] lists."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    page_table = operand_def(TensorType)
    batch_idx_tensor = opt_operand_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.check_fits(heads=1, has_positions=False)
        self.shape_of_rank("page_table", 2)
        return (shape(self.cache),)
