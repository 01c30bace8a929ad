"""C++ of a chain of ops that go row by row: elementwise ops, rms_norm and rotary embeddings, over one shape.

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
from tt_xla.runtime.emulator.registry import Context

Shape = tuple[int, ...]

LONGEST_ROW = 1 << 14
"""Elements: what rows of a phase that another one reads take of the stack."""

_GRAIN = 1 << 15
"""Elements below which one thread is enough, as in torch."""

_TYPES = {torch.bfloat16: "uint16_t", torch.float32: "float", torch.int32: "int32_t"}
_FLOATS = (DataType.BF16, DataType.F32)
_KINDS = dict.fromkeys(_FLOATS, "float") | {DataType.SI32: "int32_t"}
"""C++ type that values of each type are computed in."""

PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
static inline uint32_t bits(float x) { uint32_t u; std::memcpy(&u, &x, 4); return u; }
static inline float number(uint32_t u) { float x; std::memcpy(&x, &u, 4); return x; }
static inline float load(uint16_t x) { return number((uint32_t)x << 16); }
static inline float load(float x) { return x; }
static inline int32_t load(int32_t x) { return x; }
static inline float rounded(float x) {
  uint32_t u = bits(x), to_even = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  return number(x != x ? 0x7fc00000u : to_even);
}
// Integers wrap.
static inline float sum(float x, float y) { return x + y; }
static inline int32_t sum(int32_t x, int32_t y) { return (int32_t)((uint32_t)x + (uint32_t)y); }
static inline float difference(float x, float y) { return x - y; }
static inline int32_t difference(int32_t x, int32_t y) { return (int32_t)((uint32_t)x - (uint32_t)y); }
static inline float product(float x, float y) { return x * y; }
static inline int32_t product(int32_t x, int32_t y) { return (int32_t)((uint32_t)x * (uint32_t)y); }
static inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
static inline void store(uint16_t& to, float x) { to = (uint16_t)(bits(x) >> 16); }
static inline void store(float& to, float x) { to = x; }
static inline void store(int32_t& to, int32_t x) { to = x; }
"""


@dataclass(frozen=True)
class Operand:
    """A tensor that comes into a chain or leaves it."""

    shape: Shape
    stride: Shape
    dtype: torch.dtype


@dataclass
class _Phase:
    lines: list[tuple[int | None, str]] = field(default_factory=lambda: [])
    """C++ of one element, and which value it makes."""
    sums: list[str] = field(default_factory=lambda: [])
    after: list[str] = field(default_factory=lambda: [])
    """What is made of the sums."""
    in_halves: bool = False
    """Elements before the middle and those after it have loops of their own."""


class Chain:
    """The C++ function of one chain, while it is put together.

    Args:
        name: of the function.
        domain: the shape that all of its values have, but for leading dimensions of 1.
    """

    def __init__(self, name: str, domain: Shape) -> None:
        self._name = name
        self._domain = domain
        self._phases = [_Phase()]
        self._made_in: dict[int, int] = {}
        """Phase by value."""
        self._kinds: dict[int, str] = {}
        """C++ type by value."""
        self._aliases: dict[int, int] = {}
        self._buffered: set[int] = set()
        self._inputs: list[tuple[int, Operand]] = []

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

    def sum(self, result: int, term: str, finished: str) -> str:
        """Ends the phase with a sum of float64, and returns the name of the float32 that ``finished`` makes of it."""
        phase = self._phases[-1]
        phase.sums.append(f"s{result}")
        phase.lines.append((None, f"s{result} += {term};"))
        phase.after.append(f"const float k{result} = (float)({finished.format(f's{result}')});")
        self._phases.append(_Phase())
        return f"k{result}"

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

    def text(self, outputs: Sequence[tuple[int, Operand]]) -> str:
        """The function: pointers to inputs as they were taken, then to ``outputs``, each made in the chain."""
        parameters = [f"const void* a{at}" for at in range(len(self._inputs))]
        parameters += [f"void* o{at}" for at in range(len(outputs))]
        rows = self._domain[:-1] or (1,)
        loops = [f"for (long i{at} = 0; i{at} < {size}; ++i{at})" for at, size in enumerate(rows)]
        several = math.prod(self._domain) > _GRAIN and math.prod(rows) > 1
        body = [
            f'extern "C" void {self._name}({", ".join(parameters)}) {{',
            f"#pragma omp parallel for collapse({len(rows)})" if several else "",
            *loops,
            "{",
            *(self._pointer("const ", "x", "a", at, operand) for at, (_, operand) in enumerate(self._inputs)),
            *(self._pointer("", "y", "o", at, operand) for at, (_, operand) in enumerate(outputs)),
            *(f"{self._kinds[value]} b{value}[{self._domain[-1]}];" for value in sorted(self._buffered)),
            *(line for phase in range(len(self._phases)) for line in self._phase_lines(phase, outputs)),
            "}",
            "}",
        ]
        return "\n".join(line for line in body if line) + "\n"

    def _root(self, value: int) -> int:
        return self._aliases.get(value, value)

    def _strides(self, operand: Operand) -> Shape:
        """Of each dimension of the domain; 0 where the operand is broadcast."""
        own = [0 if size == 1 else step for size, step in zip(operand.shape, operand.stride, strict=True)]
        missing = len(self._domain) - len(own)
        return (0,) * missing + tuple(own[max(0, -missing) :])

    def _pointer(self, const: str, name: str, given: str, at: int, operand: Operand) -> str:
        c_type = _TYPES[operand.dtype]
        steps = [f" + i{dim} * {step}L" for dim, step in enumerate(self._strides(operand)[:-1]) if step]
        return f"{const}{c_type}* const {name}{at} = ({const}{c_type}*){given}{at}{''.join(steps)};"

    def _phase_lines(self, index: int, outputs: Sequence[tuple[int, Operand]]) -> list[str]:
        phase, length = self._phases[index], self._domain[-1]
        stored = [(at, self._root(value), operand) for at, (value, operand) in enumerate(outputs)]
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
        sums = ", ".join(phase.sums)
        simd = "#pragma omp simd" + (f" reduction(+:{sums})" if sums else "")
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


Emit = Callable[[Chain, Context, Mapping[str, Any], Sequence[int], int], None]


@dataclass(frozen=True)
class _Op:
    emit: Emit
    calls: int
    """Calls of torch that its kernel makes, about."""
    kinds: tuple[str, ...] = ("float",)
    """C++ types that it is written for."""


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
    if context.op == "ttnn.rms_norm":
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
    factor = chain.sum(result, f"(double){x} * (double){x}", f"1.0 / std::sqrt({{}} / {length} + {epsilon!r})")
    found = f"{chain.read(named['input'])} * {factor}"
    if "weight" in named:
        found = f"({found}) * {chain.read(named['weight'])}"
    if "bias" in named:
        found = f"({found}) + {chain.read(named['bias'])}"
    chain.assign(result, found, context.dtype)


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
    "ttnn.rms_norm": _Op(_emit_rms_norm, 9),
    "ttnn.rotary_embedding": _Op(_emit_rotary, 8),
    "ttnn.sqrt": _Op(_emit_elementwise("std::sqrt({0})"), 1),
    "ttnn.subtract": _Op(_emit_elementwise("difference({0}, {1})"), 1, _BOTH),
    "ttnn.where": _Op(_emit_elementwise("({0} != 0 ? {1} : {2})"), 4, _BOTH),
    **dict.fromkeys(MOVES, _Op(_emit_move, 0, _BOTH)),
}
