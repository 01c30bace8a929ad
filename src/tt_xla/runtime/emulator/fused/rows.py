"""C++ of ops that go row by row over one shape: elementwise ops, rms_norm and rotary embeddings.

Results have the bits of the kernels called one after another: the same operations of float32 in the same order, each
rounded to the type of its result, with no contraction of products and sums. The sum of rms_norm is one of float64 here
and in its kernel; the order of its terms shows in one float32 result of hundreds of millions.

A row is worked through in phases, a loop over its elements each. A sum ends a phase, because what comes after needs
all of it. What a later phase reads lies in a buffer of one row.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused.cpp import TYPES, Operand, Shape
from tt_xla.runtime.emulator.fused.forms import bfloat16_cpp, has_cpp

LONGEST_ROW = 1 << 14
"""Elements of a row, at most: the buffers of rows lie on the stack, or with each thread."""

_ON_STACK = 1 << 16
"""Elements of all buffers together, at most, that lie on the stack: a thread may have no more than 2 MiB."""

_GRAIN = 1 << 15
"""Elements up to which one thread is enough, as in torch."""

_FLOATS = (DataType.BF16, DataType.F32)
_KINDS = dict.fromkeys(_FLOATS, "float") | {DataType.SI32: "int32_t"}
"""C++ type in which values of each device dtype are computed."""


@dataclass
class _Phase:
    """One loop over the elements of a row."""

    lines: list[tuple[int | None, str]] = field(default_factory=lambda: [])
    """C++ statements for one element, and the value that each makes, if any."""
    sums: list[str] = field(default_factory=lambda: [])
    """C++ names of the sums of float64 that the phase accumulates."""
    after: list[str] = field(default_factory=lambda: [])
    """C++ statements after the loop, which finish the sums."""
    in_halves: bool = False
    """Whether the two halves of the row have loops of their own."""


class RowWriter:
    """Writes the C++ of ops over one shape, step by step.

    Args:
        domain: the shape of all values, without leading dimensions of 1.
    """

    def __init__(self, domain: Shape) -> None:
        self._domain = domain
        self._phases = [_Phase()]
        self._phase_of: dict[int, int] = {}
        """Index of the phase that makes a value, by value."""
        self._kinds: dict[int, str] = {}
        """C++ type of a value, by value."""
        self._aliases: dict[int, int] = {}
        """Values that have the elements of another one, and that one."""
        self._moved: set[int] = set()
        """Values whose elements are those of an operand, with all bits."""
        self._buffered: set[int] = set()
        """Values that a later phase reads."""
        self._inputs: list[tuple[int, Operand]] = []

    def take(self, value: int, operand: Operand) -> None:
        """Declares a value that is passed in."""
        self._inputs.append((value, operand))

    def add(self, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int) -> None:
        """Adds an op for which :func:`domain_of` returned a shape."""
        _OPS[context.op].emit(self, context, attributes, inputs, result)

    def same(self, value: int, result: int) -> None:
        """Makes ``result`` another name of ``value``."""
        self._aliases[result] = self._root(value)

    def assign(self, result: int, expression: str, dtype: DataType) -> None:
        """Defines ``result`` by the C++ expression of one element, float or int32_t, which is rounded to ``dtype``."""
        self._define(result, f"rounded({expression})" if dtype is DataType.BF16 else expression, dtype)

    def _define(self, result: int, expression: str, dtype: DataType) -> None:
        self._phases[-1].lines.append((result, f"const {_KINDS[dtype]} v{result} = {expression};"))
        self._phase_of[result] = len(self._phases) - 1
        self._kinds[result] = _KINDS[dtype]

    def choose(self, result: int, condition: int, first: int, second: int, dtype: DataType) -> None:
        """Defines ``result`` by elements of ``first`` where ``condition`` is not 0, else of ``second``, as they are."""
        chosen = f"{self.read(condition)} != 0 ? {self._read_finished(first)} : {self._read_finished(second)}"
        self._define(result, chosen, dtype)
        self._moved.add(result)

    def _read_finished(self, value: int) -> str:
        """Returns the C++ of a value's element with the bits that it has once it is stored."""
        root, element = self._root(value), self.read(value)
        computed = root in self._phase_of and root not in self._moved and self._kinds[root] == "float"
        return f"one_nan({element})" if computed else element

    def sum(self, term: str, finished: str) -> str:
        """Ends the phase with a sum of float64 over the row.

        Args:
            term: C++ expression of one element's term.
            finished: C++ expression of the sum ``{}``.

        Returns:
            The C++ name of the finished sum, a float.
        """
        name = f"s{len(self._phases)}"
        phase = self._phases[-1]
        phase.sums.append(name)
        phase.lines.append((None, f"{name} += {term};"))
        phase.after.append(f"const float k{name} = (float)({finished.format(name)});")
        self._phases.append(_Phase())
        return f"k{name}"

    def makes(self, value: int) -> bool:
        """Whether the value is computed here, rather than passed in under this name or another."""
        return self._root(value) in self._phase_of

    def halve(self, value: int) -> None:
        """Has the phase go through halves of the row, so that ``read(value, "q")`` gives the other half's element."""
        if self._phase_of.get(self._root(value)) == len(self._phases) - 1:
            self._phases.append(_Phase())
        self._phases[-1].in_halves = True

    def read(self, value: int, index: str = "j") -> str:
        """Returns the C++ of a value's element at this index of the row."""
        value = self._root(value)
        for position, (input_value, operand) in enumerate(self._inputs):
            if input_value == value:
                step = self._strides(operand)[-1]
                return f"load(x{position}[{f'{index} * {step}' if step > 1 else index if step else 0}])"
        if self._phase_of[value] == len(self._phases) - 1:
            return f"v{value}"
        self._buffered.add(value)
        return f"b{value}[{index}]"

    def lines(
        self, pointers: Sequence[str], outputs: Sequence[tuple[int, Operand, str]], counts: Sequence[str] = ()
    ) -> list[str]:
        """Returns the loops.

        Args:
            pointers: C++ pointers to the inputs, in the order of :meth:`take`.
            outputs: values that are computed here and leave, and C++ pointers to their memory.
            counts: C++ numbers of rows along each dimension but the last; by default those of the domain.
        """
        rows = self._domain[:-1] or (1,)
        loops = [
            f"for (long i{dim} = 0; i{dim} < {size}; ++i{dim})" for dim, size in enumerate(counts or map(str, rows))
        ]
        several = math.prod(self._domain) > _GRAIN and math.prod(rows) > 1
        place = "static thread_local " if len(self._buffered) * self._domain[-1] > _ON_STACK else ""
        body = [
            f"#pragma omp parallel for collapse({len(rows)})" if several else "",
            *loops,
            "{",
            *(
                self._pointer("const ", f"x{index}", pointer, operand)
                for index, ((_, operand), pointer) in enumerate(zip(self._inputs, pointers, strict=True))
            ),
            *(self._pointer("", f"y{index}", pointer, operand) for index, (_, operand, pointer) in enumerate(outputs)),
            *(f"{place}{self._kinds[value]} b{value}[{self._domain[-1]}];" for value in sorted(self._buffered)),
            *(line for phase in range(len(self._phases)) for line in self._phase_lines(phase, outputs)),
            "}",
        ]
        return [line for line in body if line]

    def _root(self, value: int) -> int:
        return self._aliases.get(value, value)

    def _strides(self, operand: Operand) -> Shape:
        """Returns the stride along each dimension of the domain; 0 where the operand is broadcast."""
        own = [0 if size == 1 else step for size, step in zip(operand.shape, operand.stride, strict=True)]
        missing = len(self._domain) - len(own)
        return (0,) * missing + tuple(own[max(0, -missing) :])

    def _pointer(self, const: str, name: str, pointer: str, operand: Operand) -> str:
        c_type = TYPES[operand.dtype]
        steps = [f" + i{dim} * {step}L" for dim, step in enumerate(self._strides(operand)[:-1]) if step]
        return f"{const}{c_type}* const {name} = ({const}{c_type}*){pointer}{''.join(steps)};"

    def _phase_lines(self, index: int, outputs: Sequence[tuple[int, Operand, str]]) -> list[str]:
        phase, length = self._phases[index], self._domain[-1]
        stored = [(position, self._root(value), operand) for position, (value, operand, _) in enumerate(outputs)]
        inside: list[str] = []
        for value, line in phase.lines:
            inside.append(line)
            if value is not None and value in self._buffered:
                inside.append(f"b{value}[j] = v{value};")
            store = "keep" if value in self._moved else "store"
            inside += [
                f"{store}(y{position}[j * {self._strides(operand)[-1]}], v{value});"
                for position, root, operand in stored
                if value is not None and root == value
            ]
        if not inside:
            return []
        simd = "#pragma omp simd" + "".join(f" reduction(+:{name})" for name in phase.sums)
        ranges = [("0", str(length), "")]
        if phase.in_halves:
            half = length // 2
            ranges = [
                ("0", str(half), f"const long q = j + {half}; const float g = -1.0f;"),
                (str(half), str(length), f"const long q = j - {half}; const float g = 1.0f;"),
            ]
        lines = [f"double {name} = 0.0;" for name in phase.sums]
        for start, end, first in ranges:
            lines += [simd, f"for (long j = {start}; j < {end}; ++j) {{", first, *inside, "}"]
        return lines + phase.after


Emit = Callable[[RowWriter, Context, Mapping[str, Any], Sequence[int], int], None]


@dataclass(frozen=True)
class _Op:
    emit: Emit
    calls: int
    """Number of torch calls that the op's kernel makes, about."""
    kinds: tuple[str, ...] = ("float",)
    """C++ types that the op is written for."""


def calls_of(context: Context, attributes: Mapping[str, Any]) -> int:
    """Returns the number of torch calls that the op takes on its own, about."""
    return _OPS[context.op].calls + sum(len(attributes.get(name) or ()) for name in _ACTIVATIONS)


def has_loop(op: str) -> bool:
    """Whether an op of this name is written as a loop over rows."""
    return op in _OPS


def functions_of(context: Context, attributes: Mapping[str, Any]) -> list[str]:
    """Returns the functions of one number that the op computes: itself, or what it applies to operands and result."""
    items = [item for name in _ACTIVATIONS for item in attributes.get(name) or ()]
    name = context.op.removeprefix("ttnn.")
    return [str(dict(item)["op_type"]) for item in items] + ([name] if name in FUNCTIONS else [])


def domain_of(context: Context, attributes: Mapping[str, Any], *, small: bool = False) -> Shape | None:
    """Returns the shape that the op goes over, without leading dimensions of 1; None for ops that cannot be fused.

    Args:
        small: whether its tensors are small, so that calls of torch take longer than its loops.
    """
    if context.op not in _OPS or len(context.results) != 1:
        return None
    functions = functions_of(context, attributes)
    if not all(has_cpp(name) and (small or not FUNCTIONS[name].slow_cpp) for name in functions):
        return None
    specs = [*context.operands.values(), context.result]
    if not all(isinstance(spec, TensorSpec) and spec.layout.dtype in _KINDS for spec in specs):
        return None
    if len({_KINDS[dtype] for dtype in _dtypes(context)}) > 1 or _KINDS[context.dtype] not in _OPS[context.op].kinds:
        return None
    shape = context.result.shape
    if context.op == "ttnn.rotary_embedding":
        shape = _rotated(context, attributes)
        if shape is None:
            return None
    elif not _takes(context, attributes):
        return None
    shape = _without_leading_ones(shape)
    return shape if 0 < shape[-1] <= LONGEST_ROW and math.prod(shape) else None


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
    if context.op == "ttnn.rms_norm":
        if "residual" in context.operands:
            return False
        return all(_spec(context, name).shape[-1:] == context.result.shape[-1:] for name in context.operands) and all(
            math.prod(_spec(context, name).shape) == context.result.shape[-1]
            for name in context.operands
            if name != "input"
        )
    functions = [item for name in _ACTIVATIONS for item in attributes.get(name) or ()]
    if functions and (_KINDS[context.dtype] != "float" or not all(map(_is_known, functions))):
        return False
    return len(_dtypes(context)) == 1


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
        cpp = bfloat16_cpp(name) if context.dtype is DataType.BF16 else FUNCTIONS[name].cpp
        rows.assign(result, cpp.format(x=rows.read(inputs[0]), p=""), context.dtype)

    return emit


def _emit_move(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    if len(_dtypes(context)) == 1:
        rows.same(inputs[0], result)
    else:
        rows.assign(result, rows.read(inputs[0]), context.dtype)


def _emit_rms_norm(
    rows: RowWriter, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = dict(zip(context.operands, inputs, strict=True))
    x = rows.read(named["input"])
    length, epsilon = context.result.shape[-1], float(attributes.get("epsilon", 1e-12))
    factor = rows.sum(f"(double){x} * (double){x}", f"1.0 / std::sqrt({{}} / {length} + {epsilon!r})")
    normalized = f"{rows.read(named['input'])} * {factor}"
    if "weight" in named:
        normalized = f"({normalized}) * {rows.read(named['weight'])}"
    if "bias" in named:
        normalized = f"({normalized}) + {rows.read(named['bias'])}"
    rows.assign(result, normalized, context.dtype)


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
    low, high = (int(attributes[name]) for name in ("min", "max"))
    value = rows.read(inputs[0])
    rows.assign(result, f"std::min(std::max({value}, (int32_t){low}), (int32_t){high})", context.dtype)


MOVES = ("ttnn.reshape", "ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast")
"""Ops whose results have the elements of their operand, in order."""

_BOTH = ("float", "int32_t")


def _comparison(sign: str) -> _Op:
    """Returns the op of a comparison, whose result is 1 or 0 in the operands' type."""
    return _Op(_emit_elementwise(f"({{0}} {sign} {{1}} ? 1 : 0)"), 2, _BOTH)


_OPS: dict[str, _Op] = {
    "ttnn.add": _Op(_emit_elementwise("sum({0}, {1})"), 1, _BOTH),
    "ttnn.clamp_scalar": _Op(_emit_clamp, 1, ("int32_t",)),
    "ttnn.divide": _Op(_emit_elementwise("{0} / {1}"), 1),
    "ttnn.eq": _comparison("=="),
    "ttnn.ge": _comparison(">="),
    "ttnn.gt": _comparison(">"),
    "ttnn.le": _comparison("<="),
    "ttnn.lt": _comparison("<"),
    "ttnn.multiply": _Op(_emit_elementwise("product({0}, {1})"), 1, _BOTH),
    "ttnn.ne": _comparison("!="),
    "ttnn.pow_scalar": _Op(_emit_power, 2),
    "ttnn.rms_norm": _Op(_emit_rms_norm, 9),
    "ttnn.rotary_embedding": _Op(_emit_rotary, 8),
    "ttnn.subtract": _Op(_emit_elementwise("difference({0}, {1})"), 1, _BOTH),
    "ttnn.where": _Op(_emit_where, 4, _BOTH),
    **dict.fromkeys(MOVES, _Op(_emit_move, 0, _BOTH)),
    **{
        f"ttnn.{name}": _Op(_emit_function(name), 1)
        for name, function in FUNCTIONS.items()
        if function.is_op and function.cpp
    },
}
