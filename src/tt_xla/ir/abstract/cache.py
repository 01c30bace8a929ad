"""Key and value caches, which are written in place. cache [B, G, K, D]: G heads, K positions, D head size.

Until ``ttnn-write-in-place`` has looked at who else needs the old cache, these ops are functions: they have a result,
the cache after the write. From there on they have none, as in upstream's text, and write to their operand's memory.
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

    def fits(self, *, heads: int, longest: bool) -> None:
        """That the dimension ``heads`` of input, its last and, for ``longest``, its third fit the cache."""
        cache, value = self.rank("cache", 4), self.rank("input", 4)
        self.need(value[3] == cache[3], f"input has head size {value[3]}, the cache has {cache[3]}")
        self.need(value[heads] == cache[1], f"input has {value[heads]} heads, the cache has {cache[1]}")
        self.need(not longest or value[2] <= cache[2], f"input has {value[2]} positions, the cache has {cache[2]}")


class UpdateCache(CacheOp, ABC):
    """Writes input [1, G, B, D] at the position ``update_index`` of each sequence from ``batch_offset`` on."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    update_index = operand_def(TensorType)
    batch_offset = prop_def(I32)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.fits(heads=1, longest=False)
        return (shape(self.cache),)


class FillCache(CacheOp, ABC):
    """Writes input [B, G, S, D] at the first positions, from sequence ``batch_offset`` on."""

    batch_offset = prop_def(I32)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.fits(heads=1, longest=True)
        return (shape(self.cache),)


class PagedUpdateCache(CacheOp, ABC):
    """Writes input [1, B, G, D] at each sequence's ``update_index`` [B], into the page that page_table [B, N] has."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    update_index = operand_def(TensorType)
    page_table = opt_operand_def(TensorType)
    share_cache = defaulted(BOOL, False)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        cache, value = self.rank("cache", 4), self.rank("input", 4)
        self.need(value[3] == cache[3], f"input has head size {value[3]}, the cache has {cache[3]}")
        self.need(
            len(shape(self.update_index)) == 1, f"update_index has shape {shape(self.update_index)}, expected rank 1"
        )
        return (shape(self.cache),)


class PagedFillCache(CacheOp, ABC):
    """Writes input [B, G, S, D] into the pages that page_table [B, pages] names."""

    cache = operand_def(TensorType)
    input = operand_def(TensorType)
    page_table = operand_def(TensorType)
    batch_idx_tensor = opt_operand_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        self.fits(heads=1, longest=False)
        self.rank("page_table", 2)
        return (shape(self.cache),)
