"""C++ of a chain of ops that go row by row, over one shape: elementwise ops, rms_norm and rotary embeddings; of small
tensors, softmax, layer_norm and functions of float64 besides.

Its results have the bits of the kernels called one after another: the same operations of float32 in the same order,
each rounded to the type of its result, no contraction of products and sums. The sum of rms_norm is one of float64 on
both sides, which in float32 is the same in whatever order it is made, but for about one row in millions.

A row is worked through in phases, a loop over its elements each. A sum ends one: what comes after needs all of it.
What a later phase reads lies in a buffer of one row.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.chains.prelude import TYPES
from tt_xla.runtime.emulator.registry import Context
from tt_xla.runtime.emulator.small import FUNCTIONS, are_small

Shape = tuple[int, ...]

LONGEST_ROW = 1 << 14
"""Elements: what rows of a phase that another one reads take of the stack."""

_GRAIN = 1 << 15
"""Elements below which one thread is enough, as in torch."""

_FLOATS = (DataType.BF16, DataType.F32)
_UNNAMED = 1 << 30
"""From here on, numbers of what no op makes."""

_KINDS = dict.fromkeys(_FLOATS, "float") | {DataType.SI32: "int32_t"}
"""C++ type that values of each type are computed in."""


@dataclass(frozen=True)
class Operand:
    """A tensor that comes into a chain or leaves it."""

    shape: Shape
    stride: Shape
    dtype: torch.dtype


def contiguous(shape: Shape) -> Shape:
    """Strides of elements side by side."""
    return tuple(math.prod(size or 1 for size in shape[dim + 1 :]) for dim in range(len(shape)))


@dataclass(frozen=True)
class _Sum:
    name: str
    c_type: str = "double"
    start: str = "0.0"
    sign: str = "+"
    """Of OpenMP."""


@dataclass
class _Phase:
    lines: list[tuple[int | None, str]] = field(default_factory=lambda: [])
    """C++ of one element, and which value it makes."""
    sums: list[_Sum] = field(default_factory=lambda: [])
    after: list[str] = field(default_factory=lambda: [])
    """What is made of the sums."""
    in_halves: bool = False
    """Elements before the middle and those after it have loops of their own."""


class Chain:
    """The C++ of one chain, while it is put together.

    Args:
        domain: the shape that all of its values have, but for leading dimensions of 1.
    """

    def __init__(self, domain: Shape) -> None:
        self._domain = domain
        self._phases = [_Phase()]
        self._made_in: dict[int, int] = {}
        """Phase by value."""
        self._kinds: dict[int, str] = {}
        """C++ type by value."""
        self._aliases: dict[int, int] = {}
        self._buffered: set[int] = set()
        self._inputs: list[tuple[int, Operand]] = []
        self._unnamed = itertools.count(_UNNAMED)

    def take(self, value: int, operand: Operand) -> None:
        """A value that comes from outside."""
        self._inputs.append((value, operand))

    def add(self, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int) -> None:
        """An op that :func:`domain_of` takes."""
        _OPS[context.op].emit(self, context, attributes, inputs, result)

    def same(self, value: int, result: int) -> None:
        """``result`` is what ``value`` is."""
        self._aliases[result] = self._root(value)

    def assign(self, result: int, expression: str, dtype: DataType) -> None:
        """``result`` is this expression of one element, of float32 or int32, rounded to ``dtype``."""
        rounded = f"rounded({expression})" if dtype is DataType.BF16 else expression
        self._phases[-1].lines.append((result, f"const {_KINDS[dtype]} v{result} = {rounded};"))
        self._made_in[result] = len(self._phases) - 1
        self._kinds[result] = _KINDS[dtype]

    def keep(self, expression: str) -> int:
        """A value that no op has: this expression of one element, of float64."""
        value = next(self._unnamed)
        self._phases[-1].lines.append((value, f"const double v{value} = {expression};"))
        self._made_in[value] = len(self._phases) - 1
        self._kinds[value] = "double"
        return value

    def sum(self, term: str, finished: str = "{}", c_type: str = "double") -> str:
        """Ends the phase with a sum of float64, and returns the name of what ``finished`` makes of it."""
        name = f"s{next(self._unnamed)}"
        self._phases[-1].sums.append(_Sum(name))
        return self._ended(f"{name} += {term};", f"const {c_type} k{name} = ({c_type})({finished.format(name)});", name)

    def largest(self, term: str) -> str:
        """Ends the phase with a maximum of float32, and returns its name."""
        name = f"s{next(self._unnamed)}"
        self._phases[-1].sums.append(_Sum(name, "float", "-INFINITY", "max"))
        return self._ended(f"{name} = {name} < {term} ? {term} : {name};", f"const double k{name} = {name};", name)

    def _ended(self, line: str, after: str, name: str) -> str:
        self._phases[-1].lines.append((None, line))
        self._phases[-1].after.append(after)
        self._phases.append(_Phase())
        return f"k{name}"

    def makes(self, value: int) -> bool:
        """Whether the value is computed here; else it is one that came from outside."""
        return self._root(value) in self._made_in

    def halve(self, value: int) -> None:
        """Has the phase go through halves of the row, so that elements of ``value`` in the other can be read."""
        if self._made_in.get(self._root(value)) == len(self._phases) - 1:
            self._phases.append(_Phase())
        self._phases[-1].in_halves = True

    def read(self, value: int, index: str = "j") -> str:
        """The element of a value at this place of the row."""
        value = self._root(value)
        for at, (found, operand) in enumerate(self._inputs):
            if found == value:
                step = self._strides(operand)[-1]
                return f"load(x{at}[{f'{index} * {step}' if step > 1 else index if step else 0}])"
        if self._made_in[value] == len(self._phases) - 1:
            return f"v{value}"
        self._buffered.add(value)
        return f"b{value}[{index}]"

    def lines(self, given: Sequence[str], outputs: Sequence[tuple[int, Operand, str]]) -> list[str]:
        """Its loops.

        Args:
            given: C++ pointers to the inputs, in the order they were taken in.
            outputs: values that are made here, and pointers to where they go.
        """
        rows = self._domain[:-1] or (1,)
        loops = [f"for (long i{at} = 0; i{at} < {size}; ++i{at})" for at, size in enumerate(rows)]
        several = math.prod(self._domain) > _GRAIN and math.prod(rows) > 1
        body = [
            f"#pragma omp parallel for collapse({len(rows)})" if several else "",
            *loops,
            "{",
            *(
                self._pointer("const ", f"x{at}", pointer, operand)
                for at, ((_, operand), pointer) in enumerate(zip(self._inputs, given, strict=True))
            ),
            *(self._pointer("", f"y{at}", pointer, operand) for at, (_, operand, pointer) in enumerate(outputs)),
            *(f"{self._kinds[value]} b{value}[{self._domain[-1]}];" for value in sorted(self._buffered)),
            *(line for phase in range(len(self._phases)) for line in self._phase_lines(phase, outputs)),
            "}",
        ]
        return [line for line in body if line]

    def _root(self, value: int) -> int:
        return self._aliases.get(value, value)

    def _strides(self, operand: Operand) -> Shape:
        """Of each dimension of the domain; 0 where the operand is broadcast."""
        own = [0 if size == 1 else step for size, step in zip(operand.shape, operand.stride, strict=True)]
        missing = len(self._domain) - len(own)
        return (0,) * missing + tuple(own[max(0, -missing) :])

    def _pointer(self, const: str, name: str, given: str, operand: Operand) -> str:
        c_type = TYPES[operand.dtype]
        steps = [f" + i{dim} * {step}L" for dim, step in enumerate(self._strides(operand)[:-1]) if step]
        return f"{const}{c_type}* const {name} = ({const}{c_type}*){given}{''.join(steps)};"

    def _phase_lines(self, index: int, outputs: Sequence[tuple[int, Operand, str]]) -> list[str]:
        phase, length = self._phases[index], self._domain[-1]
        stored = [(at, self._root(value), operand) for at, (value, operand, _) in enumerate(outputs)]
        inside: list[str] = []
        for value, line in phase.lines:
            inside.append(line)
            if value is not None and value in self._buffered:
                inside.append(f"b{value}[j] = v{value};")
            inside += [
                f"store(y{at}[j * {self._strides(operand)[-1]}], v{value});"
                for at, root, operand in stored
                if value is not None and root == value
            ]
        if not inside:
            return []
        simd = "#pragma omp simd" + "".join(f" reduction({each.sign}:{each.name})" for each in phase.sums)
        ranges = [("0", str(length), "")]
        if phase.in_halves:
            half = length // 2
            ranges = [
                ("0", str(half), f"const long q = j + {half}; const float g = -1.0f;"),
                (str(half), str(length), f"const long q = j - {half}; const float g = 1.0f;"),
            ]
        lines = [f"{each.c_type} {each.name} = {each.start};" for each in phase.sums]
        for start, end, first in ranges:
            lines += [simd, f"for (long j = {start}; j < {end}; ++j) {{", first, *inside, "}"]
        return lines + phase.after


Emit = Callable[[Chain, Context, Mapping[str, Any], Sequence[int], int], None]


@dataclass(frozen=True)
class _Op:
    emit: Emit
    calls: int
    """Calls of torch that its kernel makes, about."""
    kinds: tuple[str, ...] = ("float",)
    """C++ types that it is written for."""
    small: bool = False
    """Of small tensors alone, where its kernel computes in float64."""


def calls_of(context: Context, attributes: Mapping[str, Any]) -> int:
    """How many calls of torch the op takes on its own, about."""
    return _OPS[context.op].calls + sum(len(attributes.get(name) or ()) for name in _ACTIVATIONS)


def domain_of(context: Context, attributes: Mapping[str, Any]) -> Shape | None:
    """The shape, without leading dimensions of 1, that an op of a chain has; None for what is no op of chains."""
    if context.op not in _OPS or len(context.results) != 1:
        return None
    specs = [*context.operands.values(), context.result]
    if not all(isinstance(spec, TensorSpec) and spec.layout.dtype in _KINDS for spec in specs):
        return None
    if len({_KINDS[dtype] for dtype in _dtypes(context)}) > 1 or _KINDS[context.dtype] not in _OPS[context.op].kinds:
        return None
    if _OPS[context.op].small and not are_small(specs):
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
    """One dimension at least is left."""
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
    if context.op == "ttnn.softmax":
        return attributes["dimension"] in (-1, len(context.result.shape) - 1)
    if context.op == "ttnn.pow_scalar":
        return attributes["rhs"] in (2.0, 3.0) and len(_dtypes(context)) == 1
    if context.op in ("ttnn.rms_norm", "ttnn.layer_norm"):
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
"""Attributes of elementwise ops: functions of the result, and of the operands before."""

_FUNCTIONS = {
    "add_unary_sfpu": "(({x}) + {p})",
    "mul_unary_sfpu": "(({x}) * {p})",
    "neg": "(-({x}))",
    "relu": "relu({x})",
    "rsub": "({p} - ({x}))",
    "sub_unary_sfpu": "(({x}) - {p})",
}
"""C++ of them, in float32 and not rounded between, by their names in ``#ttnn.unary_with_param``."""


def _is_known(item: Any) -> bool:
    fields = dict(item)
    numbers = fields.get("params") or ()
    return fields["op_type"] in _FUNCTIONS and all(math.isfinite(_float32(number)) for number in numbers)


def _float32(number: float) -> float:
    return ctypes.c_float(number).value


def _applied(found: str, functions: Any) -> str:
    for item in functions or ():
        fields = dict(item)
        literals = [f"{_float32(number).hex()}f" for number in fields.get("params") or ()]
        found = _FUNCTIONS[str(fields["op_type"])].format(x=found, p=literals[0] if literals else "")
    return found


def _rotated(context: Context, attributes: Mapping[str, Any]) -> Shape | None:
    """The shape of the rows that are turned, where they can be: the result may have more, to fill a tile."""
    shape = _spec(context, "input").shape
    plain = attributes.get("token_index") is None and context.silicon and len(_dtypes(context)) == 1
    caches = [_spec(context, name).shape for name in ("cos_cache", "sin_cache")]
    alike = all(cache[-1] == shape[-1] and cache[-2] == shape[-2] for cache in caches)
    return shape if plain and alike and shape[-1] % 2 == 0 else None


def _emit_elementwise(expression: str) -> Emit:
    def emit(chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int) -> None:
        read = [chain.read(value) for value in inputs]
        before = [attributes.get(name) for name in _ACTIVATIONS[1:]]
        operands = [_applied(*pair) for pair in itertools.zip_longest(read, before[: len(read)])]
        chain.assign(result, _applied(expression.format(*operands), attributes.get("activations")), context.dtype)

    return emit


def _emit_move(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    if len(_dtypes(context)) == 1:
        chain.same(inputs[0], result)
    else:
        chain.assign(result, chain.read(inputs[0]), context.dtype)


def _emit_rms_norm(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = dict(zip(context.operands, inputs, strict=True))
    x = chain.read(named["input"])
    length, epsilon = context.result.shape[-1], float(attributes.get("epsilon", 1e-12))
    factor = chain.sum(f"(double){x} * (double){x}", f"1.0 / std::sqrt({{}} / {length} + {epsilon!r})", "float")
    found = f"{chain.read(named['input'])} * {factor}"
    if "weight" in named:
        found = f"({found}) * {chain.read(named['weight'])}"
    if "bias" in named:
        found = f"({found}) + {chain.read(named['bias'])}"
    chain.assign(result, found, context.dtype)


def _emit_layer_norm(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = dict(zip(context.operands, inputs, strict=True))
    length, epsilon = context.result.shape[-1], float(attributes.get("epsilon", 1e-12))
    mean = chain.sum(chain.read(named["input"]), f"{{}} / {length}")
    centred = f"((double){chain.read(named['input'])} - {mean})"
    factor = chain.sum(f"{centred} * {centred}", f"1.0 / std::sqrt({{}} / {length} + {epsilon!r})")
    found = f"((double){chain.read(named['input'])} - {mean}) * {factor}"
    if "weight" in named:
        found = f"({found}) * {chain.read(named['weight'])}"
    shift = chain.read(named["bias"]) if "bias" in named else "0.0"  # torch adds zero, which has a sign
    found = f"({found}) + {shift}"
    chain.assign(result, f"(float)({found})", context.dtype)


def _emit_softmax(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    top = chain.largest(chain.read(inputs[0]))
    power = chain.keep(f"std::exp({chain.read(inputs[0])} - {top})")
    total = chain.sum(chain.read(power))
    chain.assign(result, f"(float)({chain.read(power)} / {total})", context.dtype)


def _emit_function(name: str) -> Emit:
    """Of float64."""

    def emit(chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int) -> None:
        chain.assign(result, f"(float){name}((double){chain.read(inputs[0])})", context.dtype)

    return emit


def _emit_power(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    factors = [chain.read(inputs[0])] * int(attributes["rhs"])
    chain.assign(result, " * ".join(factors), context.dtype)


def _emit_rotary(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    named = dict(zip(context.operands, inputs, strict=True))
    chain.halve(named["input"])
    x, other = chain.read(named["input"]), chain.read(named["input"], "q")
    straight, turned = f"{x} * {chain.read(named['cos_cache'])}", f"g * {other} * {chain.read(named['sin_cache'])}"
    if context.dtype is DataType.BF16:
        straight, turned = f"rounded({straight})", f"rounded({turned})"
    chain.assign(result, f"{straight} + {turned}", context.dtype)


def _emit_clamp(
    chain: Chain, context: Context, attributes: Mapping[str, Any], inputs: Sequence[int], result: int
) -> None:
    low, high = (int(attributes[name]) for name in ("min", "max"))
    value = chain.read(inputs[0])
    chain.assign(result, f"std::min(std::max({value}, (int32_t){low}), (int32_t){high})", context.dtype)


MOVES = ("ttnn.reshape", "ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast")
"""Ops that have the elements of their operand, in order."""

_BOTH = ("float", "int32_t")


def _comparison(sign: str) -> _Op:
    """1 and 0 in the type of what is compared."""
    return _Op(_emit_elementwise(f"({{0}} {sign} {{1}} ? 1 : 0)"), 2, _BOTH)


_OPS: dict[str, _Op] = {
    "ttnn.abs": _Op(_emit_elementwise("std::fabs({0})"), 1),
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
    "ttnn.neg": _Op(_emit_elementwise("-{0}"), 1),
    "ttnn.reciprocal": _Op(_emit_elementwise("1.0f / {0}"), 1),
    "ttnn.relu": _Op(_emit_elementwise("relu({0})"), 1),
    "ttnn.pow_scalar": _Op(_emit_power, 2),
    "ttnn.rms_norm": _Op(_emit_rms_norm, 9),
    "ttnn.rotary_embedding": _Op(_emit_rotary, 8),
    "ttnn.rsqrt": _Op(_emit_elementwise("1.0f / std::sqrt({0})"), 2),
    "ttnn.sqrt": _Op(_emit_elementwise("std::sqrt({0})"), 1),
    "ttnn.subtract": _Op(_emit_elementwise("difference({0}, {1})"), 1, _BOTH),
    "ttnn.where": _Op(_emit_elementwise("({0} != 0 ? {1} : {2})"), 4, _BOTH),
    **dict.fromkeys(MOVES, _Op(_emit_move, 0, _BOTH)),
    "ttnn.layer_norm": _Op(_emit_layer_norm, 3, small=True),
    "ttnn.softmax": _Op(_emit_softmax, 3, small=True),
    **{f"ttnn.{name}": _Op(_emit_function(function), 3, small=True) for name, function in FUNCTIONS.items()},
}
