"""Fusion of concatenated neighbouring slices of one tensor."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, producer
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import ConcatOp, SliceStaticOp


@pattern(ConcatOp)
def concat_of_slices(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Rewrites concat(x[a:b], x[b:c]) to x[a:c], or to x where that is all of it; other operands stay."""
    dim = op.dim % len(shape(op.result))
    slices: list[SSAValue] = []
    for value in op.operands:
        joined_slice = _joined(slices[-1], value, dim) if slices else None
        if joined_slice is None:
            slices.append(value)
            continue
        source, values = joined_slice
        if all(begin == 0 for begin in values["begins"]) and values["ends"] == shape(source):
            slices[-1] = source
            continue
        sizes = tuple(end - begin for begin, end in zip(values["begins"], values["ends"], strict=True))
        type_ = tensor(sizes, tensor_type(source).element_type)
        slices[-1] = insert_before(rewriter, op, SliceStaticOp, [source], type_, **values)
    if len(slices) == len(op.operands):
        return
    if len(slices) > 1:
        type_ = tensor_type(op.result)
        slices = [insert_before(rewriter, op, ConcatOp, [slices], type_, dim=dim)]
    rewriter.replace(op, [], slices)


def _joined(one: SSAValue, other: SSAValue, dim: int) -> tuple[SSAValue, dict[str, tuple[int, ...]]] | None:
    """Returns the source and bounds of one slice that replaces two, where the second begins as the first ends."""
    first, second = producer(one, SliceStaticOp), producer(other, SliceStaticOp)
    if first is None or second is None or first.input is not second.input:
        return None
    values, after = first.values(), second.values()
    if any(step != 1 for step in (*values["step"], *after["step"])) or values["ends"][dim] != after["begins"][dim]:
        return None
    for axis in range(len(shape(one))):
        if axis != dim and any(values[name][axis] != after[name][axis] for name in ("begins", "ends")):
            return None
    ends = tuple(after["ends"])
    return first.input, {"begins": tuple(values["begins"]), "ends": ends, "step": (1,) * len(ends)}


PATTERNS = (concat_of_slices,)
