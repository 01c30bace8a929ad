"""Bounds of rounding errors: a TTIR program in float32 whose every float is multiplied by a number near 1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, TensorType, bf16, f32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tests.fuzz.texts.changes import entry_of
from tt_xla.compiler.rewriting import body, functions
from tt_xla.ir import ttir
from tt_xla.ir.base import shape
from tt_xla.ir.text import parse_module, print_module

MOVES = frozenset(
    f"ttir.{name}"
    for name in (
        *("reshape", "permute", "broadcast", "concat", "slice_static", "pad", "reverse", "transpose", "repeat"),
        *("repeat_interleave", "rearrange", "index", "squeeze", "unsqueeze", "constant", "full", "arange", "zeros"),
        *("ones", "empty", "where", "neg", "abs", "relu", "relu6", "maximum", "minimum", "max", "min", "clamp_scalar"),
        *("clamp_tensor", "all_gather", "mesh_partition", "collective_permute", "all_to_all", "mesh_shard"),
        *("collective_broadcast", "embedding", "gather", "rows_gather", "index_select", "slice_dynamic", "to_layout"),
        *("concatenate_heads", "split_query_key_value_and_split_heads", "get_dimension_size", "typecast", "sort"),
        *("topk", "update_cache", "fill_cache", "paged_update_cache", "paged_fill_cache", "rows_scatter", "scatter"),
    )
)
"""Ops that round nothing: each element of their results is an element of an operand."""

SUMS = frozenset(
    f"ttir.{name}"
    for name in (
        *("sum", "mean", "prod", "cumsum", "cumprod", "softmax", "matmul", "linear", "dot_general", "conv1d", "conv2d"),
        *("conv3d", "conv_transpose2d", "avg_pool2d", "global_avg_pool2d", "layer_norm", "rms_norm", "group_norm"),
        *("batch_norm_inference", "batch_norm_training", "distributed_rms_norm", "distributed_layer_norm"),
        *("scaled_dot_product_attention", "scaled_dot_product_attention_decode", "all_reduce", "reduce_scatter"),
        *("all_reduce_async", "embedding_backward", "rows_scatter", "scatter", "sdpa_fw", "sdpa_bw", "sparse_matmul"),
        *("paged_scaled_dot_product_attention_decode", "chunked_scaled_dot_product_attention", "upsample2d"),
        *("paged_flash_multi_latent_attention_decode", "gelu_bw", "adamw"),
    )
)
"""Ops whose terms may be added in any order."""

JUMPS = frozenset(
    f"ttir.{name}"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge", "floor", "ceil", "round", "trunc", "frac", "sign", "signbit", "isfinite"),
        *("logical_not", "logical_and", "logical_or", "logical_xor", "remainder", "argmax", "sort", "topk"),
        *("bitcast_convert", "quantize", "quantize_unrolled", "requantize", "requantize_unrolled", "reduce_and"),
        *("reduce_or", "atan2", "topk_router_gpt", "sampling"),
    )
)
"""Ops whose results jump where an operand changes a little. So do casts to integers."""


_OF_BITS = frozenset(
    f"ttir.{name}"
    for name in (
        *("bitcast_convert", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "right_shift"),
        *("logical_left_shift", "logical_right_shift"),
    )
)

_BY_FLOATS = frozenset(f"ttir.{name}" for name in ("sum", "mean", "max", "min", "prod", "cumsum", "matmul", "linear"))
"""Ops that compute integers in float32 in default numerics, as tt-mlir does."""


@dataclass(frozen=True)
class Kinds:
    """What is known about the results of a program, one entry for each result.

    Attributes:
        summed: Whether terms were added on the way to the result, whose order nobody prescribes.
        rounded: Whether a float was rounded on the way.
        jumps: Whether the result jumps where a rounded float changes a little.
        jumps_by_sums: Whether the result jumps where a sum changes a little.
    """

    summed: tuple[bool, ...]
    rounded: tuple[bool, ...]
    jumps: tuple[bool, ...]
    jumps_by_sums: tuple[bool, ...]


def is_float(value: SSAValue) -> bool:
    """Whether a value consists of the chip's floats, which stand for booleans too."""
    return isinstance(value.type, TensorType) and value.type.element_type in (bf16, f32)


def kinds_of(module: ModuleOp) -> Kinds:
    """Returns what is known about the results of a TTIR program."""
    function = entry_of(module)
    marks: dict[SSAValue, frozenset[str]] = {value: frozenset() for value in body(function).args}
    for op in body(function).ops:
        marked = frozenset[str]().union(*(marks.get(value, frozenset()) for value in op.operands))
        floats = [value for value in (*op.operands, *op.results) if is_float(value)]
        if op.name in JUMPS or (op.name == "ttir.typecast" and not is_float(op.results[0])):
            marked |= {f"jumps {mark}" for mark in ("summed", "rounded") if mark in marked}
        if op.name in SUMS or op.regions or not op.name.startswith("ttir."):
            marked |= {"summed", "rounded"} if floats else frozenset()
        if op.name in _BY_FLOATS and not is_float(op.results[0]):
            marked |= {"jumps rounded"}
        if floats and _rounds(op):
            marked |= {"rounded"}
        marks.update((result, marked) for result in op.results)
    returned = body(function).last_op
    assert isinstance(returned, ReturnOp)

    def of(mark: str) -> tuple[bool, ...]:
        return tuple(mark in marks[value] for value in returned.operands)

    return Kinds(of("summed"), of("rounded"), of("jumps rounded"), of("jumps summed"))


def _rounds(op: Operation) -> bool:
    if op.name == "ttir.typecast":
        return is_float(op.operands[0]) and is_float(op.results[0]) and op.results[0].type.element_type == bf16  # type: ignore[attr-defined]
    return op.name not in MOVES and op.name not in JUMPS


@dataclass(frozen=True)
class Noisy:
    """A program in float32 with factors as its last arguments.

    Attributes:
        module: The program.
        sizes: Shape and largest relative error of each factor.
    """

    module: ModuleOp
    sizes: tuple[tuple[tuple[int, ...], float], ...]

    def factors(self, drawn: np.random.Generator) -> list[np.ndarray]:
        """Returns drawn factors for one run."""
        return [(1 + error * drawn.uniform(-1, 1, size)).astype(np.float32) for size, error in self.sizes]


def with_noise(text: str, errors: dict[str, float], *, only_sums: bool) -> Noisy:
    """Returns a program in which each result of an op that rounds is multiplied by a factor.

    Args:
        text: TTIR, whose constants are numbers.
        errors: Largest relative error by element type: ``bf16``, ``f32``.
        only_sums: Whether nothing but sums have errors; else arguments of float32 have them too.

    Raises:
        ValueError: The program is not one of float32: it has constants given by their bits, or several functions.
    """
    original = parse_module(text)
    if "dense<0x" in text or 'dense<"0x' in text or re.search(r"dense<\[[^>]*0x", text):
        raise ValueError("a constant is given by its bits")
    if any(op.name in _OF_BITS and any(map(is_float, op.operands)) for op in original.walk()):
        raise ValueError("bits of another type mean something else")
    wide = parse_module(re.sub(r"(?<=[<x])bf16(?=>)", "f32", text))
    if len(list(functions(wide))) > 1:
        raise ValueError("the program has several functions")
    function, first = entry_of(wide), entry_of(original)
    count, sizes = len(body(function).args), list[tuple[tuple[int, ...], float]]()
    narrow = [value for op in body(first).ops for value in op.results]
    values = [value for op in body(function).ops for value in op.results]
    for old, value in zip([*body(first).args, *narrow], [*body(function).args, *values], strict=True):
        if not is_float(value) or not isinstance(old.type, TensorType):
            continue
        op = value.owner if isinstance(value.owner, Operation) else None
        name = "bf16" if old.type.element_type == bf16 else "f32"
        if op is None and (only_sums or name == "bf16" or value.index >= count):  # type: ignore[attr-defined]
            continue
        if op is not None and (op.name not in SUMS if only_sums else not _rounds_of(op, old)):
            continue
        factor = body(function).insert_arg(value.type, len(body(function).args))
        product: Any = ttir.BINARY_OPS["multiply"].make([value, factor], [value.type])
        place = InsertPoint.after(op) if op is not None else InsertPoint.at_start(body(function))
        Rewriter.insert_op(product, place)
        value.replace_uses_with_if(product.results[0], lambda use, new=product: use.operation is not new)
        sizes.append((shape(value), errors[name]))
    known = [DictionaryAttr({})] * count if function.arg_attrs is None else list(function.arg_attrs.data)
    added = len(body(function).args) - len(known)
    function.properties["arg_attrs"] = ArrayAttr([*known, *[DictionaryAttr({})] * added])
    returned = body(function).last_op
    assert returned is not None
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in body(function).args], [value.type for value in returned.operands]
    )
    return Noisy(parse_module(print_module(wide)), tuple(sizes))


def _rounds_of(op: Operation, old: SSAValue) -> bool:
    if op.name == "ttir.typecast":
        return isinstance(old.type, TensorType) and old.type.element_type == bf16
    return _rounds(op)
