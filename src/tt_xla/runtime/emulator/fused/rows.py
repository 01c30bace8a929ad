"""C++ of ops that go row by row over one shape: elementwise ops, reductions of rows, norms and rotary embeddings.

Results have the bits of the kernels called one after another: the same operations of float32 in the same order, each
rounded to the type of its result, with no contraction of products and sums.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused.cpp import Shape
from tt_xla.runtime.emulator.fused.row_writer import KINDS, RowWriter

Emit = Callable[[RowWriter, Context, Mapping[str, Any], Sequence[int], int], None]


@dataclass(frozen=True)
class _Op:
    emit: Emit
    kinds: tuple[str, ...] = ("float",)
    """C++ types that the op is written for."""
    is_test: bool = False
    """Whether the result is 1 or 0, in a type that may be another one."""


LONGEST_ROW = 1 << 17
"""Elements of a row, at most, of ops that need it in buffers: each thread has these."""


def emit(rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int) -> None:
    """Adds an op for which :func:`domain_of` returned a shape."""
    _OPS[context.op].emit(rows, context, attributes, inputs, result)


def _functions_of(context: Context, attributes: Mapping[str, Any]) -> list[str]:
    """Returns the functions of one number that the op computes: itself, or what it applies to operands and result."""
    items = [item for name in _ACTIVATIONS for item in attributes.get(name) or ()]
    name = context.op.removeprefix("ttnn.")
    return [str(dict(item)["op_type"]) for item in items] + ([name] if name in FUNCTIONS else [])


def is_one_call(context: Context, attributes: Mapping[str, Any]) -> bool:
    """Whether the op is about as quick as one call of torch on its own."""
    functions = any(attributes.get(name) for name in _ACTIVATIONS)
    return context.op in _ONE_CALL and not functions


def has_cpp(name: str) -> bool:
    """Whether a function of one number is written in C++."""
    return name in FUNCTIONS and bool(FUNCTIONS[name].cpp)


def domain_of(context: Context, attributes: Mapping[str, Any]) -> Shape | None:
    """Returns the shape that the op goes over, without leading dimensions of 1; None for ops that are not written as
    rows."""
    if context.op not in _OPS or len(context.results) != 1 or not all(map(has_cpp, _functions_of(context, attributes))):
        return None
    specs = [*context.operands.values(), context.result]
    if not all(isinstance(spec, TensorSpec) and spec.layout.dtype in KINDS for spec in specs):
        return None
    op = _OPS[context.op]
    kinds = {KINDS[spec.layout.dtype] for spec in (context.specs[:-1] if op.is_test else context.specs)}
    if context.op not in MOVES and (len(kinds) > 1 or not kinds.issubset(op.kinds)):
        return None
    shape = context.result.shape
    if context.op == "ttnn.rotary_embedding":
        shape = _rotated(context, attributes)
        if shape is None:
            return None
    elif context.op in _REDUCTIONS:
        shape = _spec(context, "input").shape
        if not _reduces_rows(context, attributes):
            return None
    elif not _takes(context, attributes):
        return None
    shape = _without_leading_ones(shape)
    has_buffers = context.op in (*_REDUCTIONS, *_NORMS, "ttnn.softmax")
    return shape if math.prod(shape) and (shape[-1] <= LONGEST_ROW or not has_buffers) else None


def _reduces_rows(context: Context, attributes: Mapping[str, Any]) -> bool:
    """Whether a reduction is one of the last dimension alone, which stays as a dimension of 1."""
    shape = _spec(context, "input").shape
    stays = bool(shape) and context.result.shape == (*shape[:-1], 1)
    return stays and summed_dims(context, attributes) == [len(shape) - 1] and attributes.get("scalar", 1.0) == 1


def summed_dims(context: Context, attributes: Mapping[str, Any]) -> list[int]:
    """Returns the dimensions along which an op reduces, in order."""
    rank, dims = len(_spec(context, "input").shape), attributes.get("dim_arg")
    dims = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    return sorted({dim % rank for dim in dims}) if rank else []


def _without_leading_ones(shape: Shape) -> Shape:
    """Removes leading dimensions of 1, but keeps at least one dimension."""
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape or (1,)


def _spec(context: Context, name: str) -> TensorSpec:
    spec = context.operands[name]
    assert isinstance(spec, TensorSpec)
    return spec


def _dtypes(context: Context) -> set[DataType]:
    specs = [spec for spec in context.operands.values() if isinstance(spec, TensorSpec)]
    return {spec.layout.dtype for spec in [*specs, context.result]}


def _takes(context: Context, attributes: Mapping[str, Any]) -> bool:
    if context.op == "ttnn.reshape":
        return _without_leading_ones(_spec(context, "input").shape) == _without_leading_ones(context.result.shape)
    if context.op in MOVES:
        return True
    if context.op == "ttnn.pow_scalar":
        return attributes["rhs"] in (2.0, 3.0) and len(_dtypes(context)) == 1
    if context.op == "ttnn.clamp_scalar":
        whole_bounds = all(isinstance(attributes[bound], int) for bound in ("min", "max"))
        return len(_dtypes(context)) == 1 and (whole_bounds or KINDS[context.dtype] == "float")
    if context.op == "ttnn.softmax":
        return attributes["dimension"] in (-1, len(context.result.shape) - 1)
    if context.op in _NORMS:
        whole = {"input": context.result.shape, "residual": context.result.shape}
        row = context.result.shape[-1:]
        shapes = {name: _spec(context, name).shape for name in context.operands}
        return all(
            shape == whole[name] if name in whole else shape[-1:] == row and math.prod(shape) == row[0]
            for name, shape in shapes.items()
        )
    functions = [item for name in _ACTIVATIONS for item in attributes.get(name) or ()]
    if functions and (
        _OPS[context.op].is_test or KINDS[context.dtype] != "float" or not all(map(_is_known, functions))
    ):
        return False
    dtypes = {spec.layout.dtype for spec in context.specs[:-1]} if _OPS[context.op].is_test else _dtypes(context)
    return len(dtypes) == 1


_ACTIVATIONS = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
"""Attributes of elementwise ops: functions that are applied to the result, and to each operand before."""


def _is_known(item: Any) -> bool:
    """Whether C++ has the function of a ``#ttnn.unary_with_param``."""
    fields = dict(item)
    name, numbers = str(fields["op_type"]), fields.get("params") or ()
    return has_cpp(name) and all(math.isfinite(_float32(number)) for number in numbers)


def _commutes(item: Any) -> bool:
    return FUNCTIONS[str(dict(item)["op_type"])].commutes_with_rounding


def _float32(number: float) -> float:
    return ctypes.c_float(number).value


def _applied(expression: str, functions: Any) -> str:
    """Returns the C++ of functions applied to an expression, in float and with no rounding between them."""
    for item in functions or ():
        fields = dict(item)
        literals = [f"{_float32(number).hex()}f" for number in fields.get("params") or ()]
        cpp = FUNCTIONS[str(fields["op_type"])].cpp
        expression = cpp.format(x=expression, p=literals[0] if literals else "")
    return expression


def _rotated(context: Context, attributes: Mapping[str, Any]) -> Shape | None:
    """Returns the shape of a rotary embedding's input, whose result may have more rows to fill a tile.

    None where the op cannot be fused.
    """
    shape = _spec(context, "input").shape
    plain = attributes.get("token_index") is None and context.silicon and len(_dtypes(context)) == 1
    caches = [_spec(context, name).shape for name in ("cos_cache", "sin_cache")]
    alike = all(cache[-1] == shape[-1] and cache[-2] == shape[-2] for cache in caches)
    return shape if plain and alike and shape[-1] % 2 == 0 else None


def _emit_elementwise(expression: str) -> Emit:
    def emit(
        rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
    ) -> None:
        read = [rows.read(value) for value in inputs]
        before = [attributes.get(name) for name in _ACTIVATIONS[1:]]
        operands = [_applied(*pair) for pair in itertools.zip_longest(read, before[: len(read)])]
        value, functions = expression.format(*operands), attributes.get("activations") or ()
        if context.dtype is DataType.BF16 and functions and not any(before) and all(map(_commutes, functions)):
            value = f"rounded({value})"  # as the kernel: a tiny negative number becomes -0 before a relu
        rows.assign(result, _applied(value, functions), context.dtype)

    return emit


def _emit_where(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    condition, first, second = inputs
    rows.choose(result, condition, first, second, context.dtype)


def _emit_function(name: str) -> Emit:
    """Writes an op that is a function of one number."""

    def emit(
        rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
    ) -> None:
        rows.assign(result, FUNCTIONS[name].cpp.format(x=rows.read(inputs[0]), p=""), context.dtype)

    return emit


def _emit_move(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    (source,) = (spec.layout.dtype for spec in context.specs[:-1])
    if source is context.dtype:
        rows.same(inputs[0], result)
    else:
        widens = KINDS[source] == KINDS[context.dtype] == "float" and context.dtype is not DataType.BF16
        if widens:  # a NaN keeps its bits
            rows.widen(result, inputs[0])
            return
        rows.assign(result, _converted(rows.read(inputs[0]), KINDS[source], KINDS[context.dtype]), context.dtype)


def _converted(x: str, source: str, target: str) -> str:
    """Returns the C++ of a number in another type: floats are cut off toward 0 and limited, integers wrap."""
    if source == target:
        return x
    if target == "float":
        return f"(float){x}"
    if source == "float":
        return f"integer<{target}>({x})"
    return f"({target})(uint32_t){x}"


def _normalized(rows: RowWriter, context: Context, inputs: Sequence[int]) -> dict[str, int]:
    """Returns the operands of a norm by name; the input with its residual is one value."""
    named = dict(zip(context.operands, inputs, strict=True))
    if "residual" in named:
        total = f"{rows.read(named['input'])} + {rows.read(named['residual'])}"
        named["input"] = rows.hidden(total)
    return named


def _assign_scaled(rows: RowWriter, context: Context, named: Mapping[str, int], result: int, normalized: str) -> None:
    if "weight" in named:
        normalized = f"({normalized}) * {rows.read(named['weight'])}"
    if "bias" in named:
        normalized = f"({normalized}) + {rows.read(named['bias'])}"
    rows.assign(result, normalized, context.dtype)


def _epsilon(attributes: Mapping[str, Any]) -> str:
    return literal(attributes.get("epsilon", 1e-12))


def _emit_rms_norm(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = _normalized(rows, context, inputs)
    x, length = rows.read(named["input"]), context.result.shape[-1]
    squares = rows.reduce("Plus", f"{x} * {x}")
    factor = f"(1.0f / std::sqrt({squares} / {length}.0f + {_epsilon(attributes)}))"
    _assign_scaled(rows, context, named, result, f"{rows.read(named['input'])} * {factor}")


def _emit_layer_norm(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named, length = _normalized(rows, context, inputs), context.result.shape[-1]
    mean = f"{rows.reduce_value('Plus', named['input'])} / {length}.0f"
    centred = rows.hidden(f"{rows.read(named['input'])} - {mean}")
    squares = rows.reduce("Plus", f"{rows.read(centred)} * {rows.read(centred)}")
    factor = f"(1.0f / std::sqrt({squares} / {length}.0f + {_epsilon(attributes)}))"
    _assign_scaled(rows, context, named, result, f"{rows.read(centred)} * {factor}")


def _emit_softmax(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    most = rows.reduce_value("Most", inputs[0])
    power = rows.hidden(f"exponential({rows.read(inputs[0])} - {most})")
    total = rows.reduce_value("Plus", power)
    rows.assign(result, f"{rows.read(power)} * (1.0f / {total})", context.dtype)


EXTREMA = {"ttnn.max": "Most", "ttnn.min": "Least"}
"""How C++ combines two numbers of an extremum."""

_REDUCTIONS = {
    "ttnn.sum": ("Plus", "{0}"),
    "ttnn.mean": ("Plus", "{0} / {1}.0f"),
    **{name: (op, "{0} + 0.0f") for name, op in EXTREMA.items()},
}
"""Reductions of a row: how two numbers are combined, and the result by what is reduced and the number of terms. Zeros
of extrema are positive."""

_NORMS = ("ttnn.rms_norm", "ttnn.layer_norm")


def _emit_reduction(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    op, finished = _REDUCTIONS[context.op]
    total = rows.reduce_value(op, inputs[0])
    rows.keep_of_row(result, finished.format(total, _spec(context, "input").shape[-1]), context.dtype)


def _emit_power(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    factors = [rows.read(inputs[0])] * int(attributes["rhs"])
    rows.assign(result, " * ".join(factors), context.dtype)


def _emit_rotary(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = dict(zip(context.operands, inputs, strict=True))
    rows.halve(named["input"])
    x, other = rows.read(named["input"]), rows.read(named["input"], "q")
    straight, turned = f"{x} * {rows.read(named['cos_cache'])}", f"g * {other} * {rows.read(named['sin_cache'])}"
    if context.dtype is DataType.BF16:
        straight, turned = f"rounded({straight})", f"rounded({turned})"
    rows.assign(result, f"{straight} + {turned}", context.dtype)


def _emit_clamp(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    x = rows.read(inputs[0])
    low, high = attributes["min"], attributes["max"]
    if KINDS[context.dtype] == "float":
        low, high = (literal(_as_held(bound, context.dtype)) for bound in (low, high))
    else:
        low, high = (f"(int32_t){min(max(int(bound), -(2**31)), 2**31 - 1)}LL" for bound in (low, high))
    rows.assign(result, f"limited({x}, {low}, {high})", context.dtype)


def _as_held(number: float, dtype: DataType) -> float:
    """Returns a number as the op's own type holds it."""
    return float(torch.tensor(number, dtype=CONTAINERS[dtype], device="cpu"))


def literal(number: float) -> str:
    """Returns the C++ of a float32."""
    value = _float32(number)
    if math.isnan(value):
        return "NAN"
    return value.hex() + "f" if math.isfinite(value) else "INFINITY" if value > 0 else "-INFINITY"


MOVES = ("ttnn.reshape", "ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast")
"""Ops whose results have the elements of their operand, in order."""

_BOTH = ("float", "int32_t")
_INTEGERS = ("int32_t",)


def _test(condition: str) -> _Op:
    """Returns the op of a condition of two numbers, whose result is 1 or 0."""
    return _Op(_emit_elementwise(f"({condition} ? 1 : 0)"), _BOTH, is_test=True)


_ONE_CALL = frozenset(
    f"ttnn.{name}"
    for name in ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "clamp_scalar", "divide", "multiply", "subtract")
) | {f"ttnn.{name}" for name, function in FUNCTIONS.items() if function.is_op}

_OPS: dict[str, _Op] = {
    "ttnn.add": _Op(_emit_elementwise("sum({0}, {1})"), _BOTH),
    "ttnn.bitwise_and": _Op(_emit_elementwise("({0} & {1})"), _INTEGERS),
    "ttnn.bitwise_or": _Op(_emit_elementwise("({0} | {1})"), _INTEGERS),
    "ttnn.bitwise_xor": _Op(_emit_elementwise("({0} ^ {1})"), _INTEGERS),
    "ttnn.clamp_scalar": _Op(_emit_clamp, _BOTH),
    "ttnn.divide": _Op(_emit_elementwise("quotient({0}, {1})"), _BOTH),
    "ttnn.eq": _test("{0} == {1}"),
    "ttnn.ge": _test("{0} >= {1}"),
    "ttnn.gt": _test("{0} > {1}"),
    "ttnn.le": _test("{0} <= {1}"),
    "ttnn.logical_and": _test("{0} != 0 && {1} != 0"),
    "ttnn.logical_or": _test("{0} != 0 || {1} != 0"),
    "ttnn.lt": _test("{0} < {1}"),
    "ttnn.maximum": _Op(_emit_elementwise("larger({0}, {1})"), _BOTH),
    "ttnn.minimum": _Op(_emit_elementwise("smaller({0}, {1})"), _BOTH),
    "ttnn.multiply": _Op(_emit_elementwise("product({0}, {1})"), _BOTH),
    "ttnn.ne": _test("{0} != {1}"),
    "ttnn.pow_scalar": _Op(_emit_power),
    "ttnn.remainder": _Op(_emit_elementwise("remainder_of({0}, {1})"), _BOTH),
    "ttnn.rms_norm": _Op(_emit_rms_norm),
    "ttnn.layer_norm": _Op(_emit_layer_norm),
    "ttnn.softmax": _Op(_emit_softmax),
    "ttnn.rotary_embedding": _Op(_emit_rotary),
    "ttnn.subtract": _Op(_emit_elementwise("difference({0}, {1})"), _BOTH),
    "ttnn.where": _Op(_emit_where, _BOTH),
    **dict.fromkeys(_REDUCTIONS, _Op(_emit_reduction)),
    **dict.fromkeys(MOVES, _Op(_emit_move, (*_BOTH, "int64_t"))),
    **{
        f"ttnn.{name}": _Op(_emit_function(name))
        for name, function in FUNCTIONS.items()
        if function.is_op and function.cpp
    },
}
