"""The trap of indices that lie outside of the dimension that they index.

Programs limit such indices to the dimension, or drop what they would write, as StableHLO says. With the trap the
compiler marks each of these limits with what it is for (``indexes``), and the card compares the indices with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tt_xla.errors import IndexTrapError
from tt_xla.runtime.emulator.context import Call
from tt_xla.runtime.traps.site import Site, first_of


def with_index_check(site: Site, call: Call) -> Call:
    """Returns the call of an instruction that raises IndexTrapError when an index lies outside of its dimension."""
    attributes = site.instruction.attributes
    if site.op == "ttnn.clamp_scalar" and attributes.get("indexes"):
        return _checking(site, call, 0, int(attributes["max"]), str(attributes["indexes"]))
    if site.op not in _INDEXING:
        return call
    operand, size = _INDEXING[site.op](site)
    position = list(site.context.operands).index(operand)
    return _checking(site, call, position, size - 1, f"{site.op}, operand {operand}")


def _rows(site: Site) -> tuple[str, int]:
    *sizes, _ = site.context.spec("weight").shape
    return "input", int(torch.Size(sizes).numel())


def _along(site: Site) -> tuple[str, int]:
    return "index", site.context.spec("input").shape[site.instruction.attributes["dim"]]


_INDEXING: dict[str, Callable[[Site], tuple[str, int]]] = {
    "ttnn.embedding": _rows,
    "ttnn.gather": _along,
    "ttnn.scatter": _along,
}
"""For each op that takes indices, the name of that operand, and the number of positions that they may name."""


def _checking(site: Site, call: Call, position: int, last: int, what: str) -> Call:
    def checked(*tensors: torch.Tensor) -> Any:
        indices = tensors[position]
        if indices.numel():
            low, high = torch.aminmax(indices)
            if low < 0 or high > last:
                _fail(site, indices, last, what)
        return call(*tensors)

    return checked


def _fail(site: Site, indices: torch.Tensor, last: int, what: str) -> None:
    element, count = first_of((indices < 0) | (indices > last))
    raise IndexTrapError(
        f"Index {int(indices[element])} is outside of 0 to {last}: element {list(element)} of the indices of {what}"
        f"{site.where}, one of {count} outside among {indices.numel()}.",
        hint="Without the trap a read takes the nearest element, and a write outside is dropped. Limit the indices "
        "where they are computed, or correct them.",
        location=site.location,
        kind="index",
        op=what.partition(",")[0],
        element=element,
    )


__all__ = ["with_index_check"]
