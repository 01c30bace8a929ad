"""Finds the instructions that can compute the shards of several chips at once, in one tensor.

Shards that are *stacked* form one tensor, in which one dimension is as many times as long; all dimensions before it
have size 1. So its elements are those of the first shard, then of the second one, and reshaping is free. An op that
treats the elements along that dimension alike, such as a product with weights that all chips share, then reads its
weights once, as in a program for one chip with the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.runtime.emulator.registry import find

STARTING = ("ttnn.conv2d", "ttnn.layer_norm", "ttnn.linear", "ttnn.matmul", "ttnn.rms_norm")
"""Ops for which shards are worth a copy into one tensor: products, which would read their weights for every shard, and
norms, which products follow."""


_FEW_ROWS, _FEW_COLUMNS = 64, 16
"""Numbers of rows and columns of a result below which a library chooses the order of its sums by their number. From
there on the sums of one row were the same, bit for bit, for any number of other rows."""

_SUMMING = ("attention", "convolution", "matrix", "pooling", "reduction")
"""Families of kernels that sum in an order which a library chooses."""


def depends_on_rows(instruction: Instruction, values: Sequence[TensorSpec], count: int) -> bool:
    """Returns whether the bits of stacked shards may depend on how many shards are stacked.

    Args:
        instruction: the instruction of one chip.
        values: specs of the function's values.
        count: least number of shards that are stacked.
    """
    if not instruction.results or find(instruction.op).family not in _SUMMING:
        return False
    *rows, columns = values[instruction.results[0]].shape or (1,)
    return math.prod(rows) * count < _FEW_ROWS or columns < _FEW_COLUMNS


@dataclass(frozen=True)
class Stacked:
    """An instruction on stacked shards."""

    operands: Mapping[str, int]
    """Dimension along which the shards of an operand are stacked, by name; other operands are taken as they are."""
    results: tuple[int, ...]
    """Dimension along which the shards of each result are stacked."""
    attributes: Mapping[str, Any]
    """Attributes that change."""


class Case:
    """An instruction whose operands are stacked if they differ between the chips.

    Args:
        instruction: the instruction of one chip.
        values: specs of the function's values.
        differs: whether a value differs between the chips.
        count: number of shards.
    """

    def __init__(
        self, instruction: Instruction, values: Sequence[TensorSpec], differs: Callable[[int], bool], count: int
    ) -> None:
        self.count = count
        self.attributes = instruction.attributes
        self.operands = instruction.operands
        self.shapes = {name: self._first(operand, values).shape for name, operand in self.operands.items()}
        self.results = [values[value].shape for value in instruction.results]
        self._differs = differs

    def differs(self, name: str) -> bool:
        """Returns whether an operand differs between the chips."""
        operand = self.operands.get(name)
        if operand is None:
            return False
        return self._differs(operand) if isinstance(operand, int) else any(map(self._differs, operand))

    def dims(self, name: str) -> list[int]:
        """Returns an attribute that is a dimension or a list of them as dimensions that count from 0."""
        value = self.attributes[name]
        rank = len(next(iter(self.shapes.values())))
        return [dim % rank for dim in ([value] if isinstance(value, int) else value)]

    def along(self, dim: int = 0, **attributes: Any) -> Stacked | None:
        """Returns the instruction on its first operand stacked along a dimension, if no other operand differs."""
        first, *others = self.operands
        if any(map(self.differs, others)) or self.shapes[first][dim:] == ():
            return None
        return Stacked({first: dim}, (dim,) * len(self.results), attributes)

    @staticmethod
    def _first(operand: Operand, values: Sequence[TensorSpec]) -> TensorSpec:
        return values[operand if isinstance(operand, int) else operand[0]]


Rule = Callable[[Case], Stacked | None]


def stacked(
    instruction: Instruction, values: Sequence[TensorSpec], differs: Callable[[int], bool], count: int
) -> Stacked | None:
    """Returns an instruction on stacked shards; None where it computes each shard on its own.

    The arguments are those of :class:`Case`.
    """
    rule = _RULES.get(instruction.op)
    if rule is None:
        rule = _elementwise if find(instruction.op).family in ("elementwise", "layout") else None
    if rule is None or not instruction.results:
        return None
    outcome = rule(Case(instruction, values, differs, count))
    if outcome is None:
        return None
    touched = [operand for name, operand in instruction.operands.items() if name in outcome.operands]
    numbers = [value for operand in touched for value in ((operand,) if isinstance(operand, int) else operand)]
    specs = [values[value] for value in (*numbers, *instruction.results)]
    # A block of a block float would mix elements of two chips.
    return None if any(len(spec.shape) < 2 and spec.layout.dtype.is_block_float for spec in specs) else outcome


def _elementwise(case: Case) -> Stacked | None:
    return _aligned(case, case.operands)


def _aligned(case: Case, names: Sequence[str] | Mapping[str, Operand]) -> Stacked | None:
    """Stacks along the first dimension; operands broadcast as those of an elementwise op do."""
    shape = case.results[0]
    dims: dict[str, int] = {}
    for name in names:
        own = case.shapes[name]
        aligned = bool(shape) and len(own) == len(shape) and own[0] == shape[0]
        if case.differs(name) and not aligned:
            return None
        if case.differs(name) or (aligned and own[0] != 1):
            dims[name] = 0
    return Stacked(dims, (0,) * len(case.results), {}) if dims else None


def _product(case: Case) -> Stacked | None:
    a, b, result = case.shapes["a"], case.shapes["b"], case.results[0]
    if not case.differs("a") or len(a) < 2 or len(a) != len(result) or a[0] != result[0]:
        return None
    if len(a) == 2:
        if case.differs("b") or case.attributes.get("transpose_a"):
            return None
        dims = {"a": 0}
    elif case.differs("b") or (len(b) == len(a) and b[0] != 1):
        if len(b) != len(a) or b[0] != a[0]:
            return None
        dims = {"a": 0, "b": 0}
    else:
        dims = {"a": 0}
    if "bias" in case.operands:
        bias = _aligned(case, ("bias",))
        if case.differs("bias") and bias is None:
            return None
        dims |= {} if bias is None else bias.operands
    return Stacked(dims, (0,), {})


def _attention(case: Case) -> Stacked | None:
    names = [name for name in ("query", "key", "value", "attention_mask") if name in case.operands]
    if set(names) != set(case.operands) or any(
        case.shapes[name][0] != case.results[0][0] for name in ("query", "key", "value")
    ):
        return None
    aligned = _aligned(case, names)
    return None if aligned is None else Stacked({**aligned.operands, "query": 0, "key": 0, "value": 0}, (0,), {})


def _reshape(case: Case) -> Stacked | None:
    shape = list(case.results[0])
    return case.along(shape=[shape[0] * case.count, *shape[1:]]) if shape else None


def _slice(case: Case) -> Stacked | None:
    begins, ends, step = (list(case.attributes[name]) for name in ("begins", "ends", "step"))
    (shape,) = case.shapes.values()
    if not shape or (begins[0], ends[0], step[0]) != (0, shape[0], 1):
        return None
    return case.along(ends=[ends[0] * case.count, *ends[1:]])


def _concat(case: Case) -> Stacked | None:
    return Stacked({"inputs": 0}, (0,), {}) if 0 not in case.dims("dim") else None


def _window(case: Case) -> Stacked | None:
    """Images are [1, 1, batch * height * width, channels], with the batch as an attribute."""
    (result, *_), shape = case.results, next(iter(case.shapes.values()))
    flat = len(shape) == len(result) == 4 and shape[:2] == result[:2] == (1, 1)
    return case.along(2, batch_size=case.attributes["batch_size"] * case.count) if flat else None


def _apart_from(attribute: str) -> Rule:
    """Returns the rule of an op along the dimensions that an attribute names."""

    def rule(case: Case) -> Stacked | None:
        if case.attributes.get(attribute) is None or 0 in case.dims(attribute):
            return None
        return case.along()

    return rule


def _batched(case: Case) -> Stacked | None:
    """The rule of an op that treats the elements along the first dimension alike."""
    shape = next(iter(case.shapes.values()))
    return case.along() if all(result[:1] == shape[:1] for result in case.results) else None


def _rows(case: Case) -> Stacked | None:
    """The rule of an op along the last dimension."""
    return case.along() if len(case.results[0]) > 1 else None


_RULES: dict[str, Rule] = {
    "ttnn.concat": _concat,
    "ttnn.pad": lambda case: case.along() if not any(case.attributes["padding"][:2]) else None,
    "ttnn.permute": lambda case: case.along() if case.attributes["permutation"][0] == 0 else None,
    "ttnn.repeat": lambda case: _batched(case) if len(case.results[0]) == len(case.shapes["input"]) else None,
    "ttnn.reshape": _reshape,
    "ttnn.rotary_embedding": lambda case: _batched(case) if case.shapes["cos_cache"][0] == 1 else None,
    "ttnn.scaled_dot_product_attention": _attention,
    "ttnn.slice_static": _slice,
    "ttnn.softmax": _apart_from("dimension"),
    "ttnn.split_query_key_value_and_split_heads": lambda case: _batched(case) if len(case.operands) == 1 else None,
    "ttnn.transpose": lambda case: case.along() if 0 not in case.dims("dim0") + case.dims("dim1") else None,
    **dict.fromkeys(("ttnn.max", "ttnn.mean", "ttnn.min", "ttnn.prod", "ttnn.sum"), _apart_from("dim_arg")),
    **dict.fromkeys(
        ("ttnn.cumprod", "ttnn.cumsum", "ttnn.repeat_interleave", "ttnn.sort", "ttnn.topk"), _apart_from("dim")
    ),
    **dict.fromkeys(("ttnn.layer_norm", "ttnn.rms_norm"), _rows),
    **dict.fromkeys(("ttnn.avg_pool2d", "ttnn.conv2d", "ttnn.max_pool2d"), _window),
    **dict.fromkeys(("ttnn.linear", "ttnn.matmul"), _product),
    **dict.fromkeys(
        (
            "ttnn.batch_norm_inference",
            "ttnn.concatenate_heads",
            "ttnn.embedding",
            "ttnn.global_avg_pool2d",
            "ttnn.nlp_concat_heads",
        ),
        _batched,
    ),
}
"""Rules by op; elementwise ops and changes of layout are not listed."""


def scaled(spec: TensorSpec, dim: int, count: int) -> TensorSpec:
    """Returns the spec of shards that are stacked along a dimension."""
    shape = (*spec.shape[:dim], spec.shape[dim] * count, *spec.shape[dim + 1 :])
    return TensorSpec(shape, spec.layout.with_(shape))


def elements(spec: TensorSpec) -> int:
    """Returns the number of a tensor's elements."""
    return math.prod(spec.shape)
