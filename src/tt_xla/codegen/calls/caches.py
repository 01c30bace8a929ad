"""Calls that write to caches. They return nothing and change their first argument."""

from __future__ import annotations

from tt_xla.codegen.calls.registry import Op, calls, row, without_none
from tt_xla.codegen.expressions import Call


@calls("ttnn.paged_update_cache")
def paged_update_cache(op: Op) -> Call:
    keywords = without_none(update_idxs_tensor=op["update_index"], page_table=op["page_table"])
    shared = {"share_cache": True} if op.get("share_cache") else {}
    return Call("ttnn.experimental.paged_update_cache", (op["cache"], op["input"]), keywords | shared)


row("ttnn.fill_cache", "cache", "input", "batch_offset")
