"""Judges a StableHLO module with its inputs: our compiler and card beside XLA's CPU client."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import torch

from tests.fuzz import noise, reference
from tests.fuzz.cases import Difference, NotDrawnError
from tests.fuzz.values import is_float
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target

SYSTEM = "n150"
EXACT_NOISE = 2.0**-21
"""Relative noise of float32 in exact numerics: a few units in the last place for each op."""
DEFAULT_NOISE = 2.0**-8
"""Relative noise in default numerics: the rounding of bfloat16."""
MARGIN = 8.0
"""How many times further than the noise a result may lie."""
TINY = 2.0**-120
"""Differences below it count as none: XLA's CPU client flushes denormals."""
_IN_32_BITS = {
    "float16": "float32",
    "float64": "float32",
    "complex128": "complex64",
    "int64": "int32",
    "uint64": "uint32",
}


@dataclass
class Module:
    """A StableHLO module and its arguments.

    Attributes:
        source: The module's text.
        inputs: Its arguments.
        special: Whether the inputs have NaN, infinities or numbers near the ends of the range, at which default
            numerics may differ.
        options: Further compile options of all checks.
        plain: The same module without the ops that XLA's CPU client refuses, such as annotations; empty for ``source``.
        in_parts: Whether chips compute parts of sums, and round each to the type of the sum before they are added.
    """

    source: str
    inputs: Sequence[np.ndarray]
    special: bool = False
    options: dict[str, Any] = field(default_factory=lambda: {})
    plain: str = ""
    in_parts: bool = False

    @property
    def text(self) -> str:
        lines = [f"// argument {index}: {value.dtype} {value.tolist()}" for index, value in enumerate(self.inputs)]
        return "\n".join([self.source, *(line if len(line) < 2000 else line[:2000] + " ..." for line in lines)])

    @functools.cached_property
    def module(self) -> Any:
        return parse_module(self.source)

    @property
    def plain_module(self) -> Any:
        """The module that the reference computes."""
        return parse_module(self.plain) if self.plain else self.module

    @functools.cached_property
    def expected(self) -> list[np.ndarray]:
        """XLA's results."""
        return reference.Program(self.plain or self.source)(self.inputs)

    @functools.cached_property
    def expected_in_32_bits(self) -> list[np.ndarray]:
        """XLA's results where it computes in 32 bits what the module computes in 64 or as float16, in its types; those
        of the module where the copy is none."""
        with np.errstate(all="ignore"):
            inputs = [value.astype(_IN_32_BITS.get(value.dtype.name, value.dtype)) for value in self.inputs]
            try:
                results = reference.Program(noise.in_32_bits(self.plain_module))(inputs)
            except NotDrawnError:
                return self.expected
            return [value.astype(whole.dtype) for value, whole in zip(results, self.expected, strict=True)]

    @functools.cached_property
    def expected_of_mixed_bits(self) -> list[np.ndarray]:
        """XLA's results where it converts floats to 64-bit integers as to ones of 32 bits, and computes with them in
        64; those of the module where the copy is none."""
        try:
            return reference.Program(noise.converted_to_32_bits(self.plain_module))(self.inputs)
        except NotDrawnError:
            return self.expected

    @functools.cached_property
    def expected_of_interpreter(self) -> list[np.ndarray]:
        """The results of StableHLO's interpreter, which takes the first of equal elements of a window; XLA may read the
        window in another order. Those of XLA where the module has no window that selects."""
        if "stablehlo.select_and_scatter" not in self.source:
            return self.expected
        return reference.interpreted(self.plain_module, self.inputs)

    @functools.cached_property
    def rounding(self) -> float:
        """The relative rounding error of the coarsest type of floats in the module; 0 if there is only float32."""
        return max((error for name, error in noise.ROUNDING.items() if f"{name}>" in self.source), default=0.0)

    @functools.cached_property
    def may_overflow(self) -> bool:
        """Whether an argument or a constant has so large numbers that products and sums of them are infinite."""
        with np.errstate(all="ignore"):
            sizes = [np.abs(wide(value)) for value in self.inputs if is_float(value.dtype)]
            large = any(bool((np.isfinite(size) & (size > 1e10)).any()) for size in sizes)
            return large or bool(re.search(r'e\+[1-3]\d|dense<"0x', self.source))

    @functools.cached_property
    def may_be_in_32_bits(self) -> bool:
        """Whether the module has types for which the chip may take 32 bits (docs/architecture/limits.md)."""
        return bool(re.search(r"[x<](?:f16|f64|u?i64)>", self.source))

    @functools.cached_property
    def has_float16(self) -> bool:
        """Whether the module has float16, for which the chip takes float32."""
        return bool(re.search(r"[x<]f16>", self.source))

    @functools.cached_property
    def multiplies_nan(self) -> bool:
        """Whether zeros between the elements of a convolution's input may meet NaN (docs/conformance-torch.md)."""
        nan = [bool(np.isnan(wide(value)).any()) for value in self.expected if wide(value).dtype.kind in "fc"]
        return any(nan) and "stablehlo.convolution" in self.source

    @functools.cached_property
    def may_spread_nan(self) -> bool:
        """Whether NaN of indices outside of an array are scattered: a product adds updates in default numerics, in
        which they spread along their column (docs/architecture/limits.md)."""
        return bool(re.search(r"stablehlo\.scatter\b", self.source) and re.search("0x[7F]F[C8]0", self.source))

    @functools.cached_property
    def sorts_nan(self) -> bool:
        """Whether the order of NaN, which TT-NN leaves open, may decide (docs/architecture/limits.md). The gradient of
        a maximum over a window goes to NaN here, and to what follows NaN in XLA."""
        arrays = [wide(value) for value in self.inputs if is_float(value.dtype)]
        ordered = "chlo.top_k" in self.source or "select_and_scatter" in self.source
        return ordered and any(bool(np.isnan(array).any()) for array in arrays)

    @functools.cached_property
    def may_choose_a_zero(self) -> bool:
        """Whether an op takes the greater or lesser of numbers: torch, unlike IEEE 754, may take either of -0 and 0.
        XLA leaves out an addition of 0, which makes 0 of -0."""
        chooses = re.search(r"(?:maximum|minimum|clamp|top_k|select_and_scatter)\b", self.source)
        adds_zero = re.search(r"\badd\b", self.source) and "dense<0.0" in self.source
        return bool(chooses or adds_zero)

    def check(self) -> Iterator[Difference]:
        """Yields the differences; see :meth:`tests.fuzz.cases.Subject.check`."""
        if self.may_choose_a_zero and re.search("TOTALORDER|bitcast_convert|atan2", self.source):
            raise NotDrawnError("the sign of a zero, which a maximum leaves open, decides")
        if self.sorts_nan:
            raise NotDrawnError("the order of NaN is left open")
        bits = defined(self.module)
        expected = self.expected
        judge = Judge(self)
        for level in (0, 2):
            program = self.compiled(numerics="exact", optimization_level=level)
            results = run(program, self.inputs)
            yield from judge.compare(f"exact at level {level}", results, expected, bits, EXACT_NOISE)
        yield from self._same_bits_when_traced(results)
        if self.special:
            return
        for level in (0, 2):
            results = run(self.compiled(optimization_level=level), self.inputs)
            yield from judge.compare(f"default at level {level}", results, expected, None, DEFAULT_NOISE)

    def _same_bits_when_traced(self, results: Sequence[np.ndarray]) -> Iterator[Difference]:
        """Compares a quarter of the programs, in three runs of a trace, with what ran without."""
        if len(self.source) % 4:
            return
        program = self.compiled(numerics="exact", optimization_level=2, enable_trace=True)
        for index, (one, other) in enumerate(zip(run(program, self.inputs, runs=3), results, strict=True)):
            yield from differing(f"traced, result {index}", one, other, ~same(one, other))

    def compiled(self, **options: Any) -> Program:
        """Returns the program for one chip."""
        return compile_module(self.module, CompileOptions.parse({**self.options, **options}), load_target(SYSTEM))


def run(program: Program, inputs: Sequence[np.ndarray], runs: int = 1) -> list[np.ndarray]:
    """Returns the results of the last of several runs, of the program as a file would hold it."""
    executable = get_device(SYSTEM).load(Program.from_bytes(program.to_bytes()))
    arguments = tensors_of(program, inputs)
    for _ in range(runs):
        results = executable.run(arguments, [0] * len(inputs))
    return arrays_of(program, results)


def tensors_of(program: Program, inputs: Sequence[np.ndarray]) -> list[torch.Tensor]:
    """Returns the tensors in which the runtime takes a program's arguments."""
    return [to_torch(value, argument.dtype) for value, argument in zip(inputs, program.arguments, strict=True)]


def arrays_of(program: Program, results: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Returns the arrays of a program's results."""
    return [to_numpy(value, result.dtype) for value, result in zip(results, program.results, strict=True)]


def to_torch(array: np.ndarray, element: str) -> torch.Tensor:
    """Returns the tensor in which the runtime takes an argument of an element type."""
    kept, array = getattr(torch, ElementType(element).torch), np.array(array)
    if not ElementType(element).is_ml_dtype:
        return torch.from_numpy(array)
    if not is_float(array.dtype):
        return torch.from_numpy(array.astype(str(kept).removeprefix("torch.")))
    return torch.from_numpy(array.view(np.int16 if array.dtype.itemsize == 2 else np.uint8)).view(kept)


def to_numpy(tensor: torch.Tensor, element: str) -> np.ndarray:
    """Returns the array of a result of an element type; the reverse of :func:`to_torch`."""
    dtype = ElementType(element).numpy_dtype()
    if not ElementType(element).is_ml_dtype:
        return tensor.numpy()
    if not is_float(dtype):
        return tensor.numpy().astype(dtype)
    bits = tensor.contiguous().view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    return bits.numpy().view(dtype)


def defined(module: Any) -> list[bool]:
    """Returns for each result of a module whether IEEE 754 and integer arithmetic define its bits.

    They do where no op on the way to it rounds otherwise: a function such as exp, or a sum of several floats.
    """
    names = {op.name for op in reference.operations(module.operation, into_sums=True)}
    multiplies = "stablehlo.divide" in names and reference.is_simplified(module.operation.get_asm())
    (main,) = [op for op in module.body.operations if op.operation.name == "func.func" and op.name.value == "main"]
    known: dict[Any, bool] = {}
    functions = {
        op.name.value: all(map(_is_exact, reference.operations(op.operation, into_sums=True)))
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    block = main.regions[0].blocks[0]
    for op in block.operations:
        inner = reference.operations(op.operation, into_sums=True)
        exact = all(map(_is_exact, inner)) and functions.get(_callee(op), True) and all(functions.values())
        exact = exact and not multiplies  # by the reciprocal
        given = all(known.get(operand, True) for operand in op.operands)
        if op.operation.name == "func.return":
            return [known.get(operand, True) for operand in op.operands]
        for value in op.results:
            known[value] = exact and given
    raise NotDrawnError("@main returns nothing")


def _callee(op: Any) -> str:
    return op.attributes["callee"].value if op.operation.name == "func.call" else ""


def _is_exact(op: Any) -> bool:
    """Whether the floats that an op makes have defined bits; of integers all have."""
    if op.name in noise.EXACT:
        return True
    types = [str(value.type) for value in (*op.results, *op.operands)]
    if op.name in noise.SUMS:
        return not any("f" in text.rpartition("x")[2] for text in types) or _chooses(op)
    return not any(kind in text for text in types for kind in ("f16", "f32", "f64", "f8", "complex"))


def _chooses(op: Any) -> bool:
    """Whether the body of a reduction or scatter chooses among elements, and adds none."""
    bodies = [inner for inner in reference.operations(op, into_sums=True) if inner is not op]
    return bool(bodies) and all(inner.name in noise.MOVES for inner in bodies)


class Judge:
    """Compares results with XLA's, within the noise of rounding where that decides.

    Args:
        subject: the module.
        adds_zeros: whether results may be sums with zeros, which make 0 of -0.
    """

    def __init__(self, subject: Module, *, adds_zeros: bool = False) -> None:
        self._subject = subject
        self._may_choose_a_zero = adds_zeros or subject.may_choose_a_zero
        self._spreads: dict[tuple[float, int], list[np.ndarray] | None] = {}

    def compare(
        self,
        check: str,
        results: Sequence[np.ndarray],
        expected: Sequence[np.ndarray],
        bits: Sequence[bool] | None,
        size: float,
    ) -> Iterator[Difference]:
        """Yields a difference for each result that lies too far from what is expected.

        Args:
            check: name of the comparison.
            results: what was computed.
            expected: XLA's results.
            bits: for each result, whether all bits are defined; None in default numerics, which defines none.
            size: relative noise of float32.
        """
        for index, (got, wanted) in enumerate(zip(results, expected, strict=True)):
            name = f"{check}, result {index}"
            if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
                yield Difference(name, f"{got.dtype}{got.shape}, expected {wanted.dtype}{wanted.shape}")
                continue
            rounds = bits is None or not bits[index] or (wanted.dtype.name in _IN_32_BITS and wanted.dtype.kind in "fc")
            wrong = self._apart(index, got, wanted, size) if rounds else ~same(got, wanted)
            if wrong.any() and self._subject.special and not rounds:
                wrong &= ~self._flushes(index, got, wanted)
            if self._may_choose_a_zero:
                wrong &= ~((got == 0) & (wanted == 0))
                if wide(got).dtype.kind in "fc":  # 1 / -0 is not 1 / 0
                    wrong &= ~(np.isinf(wide(got)) & np.isinf(wide(wanted)))
            if wrong.any() and self._subject.may_be_in_32_bits:
                other = self._subject.expected_in_32_bits[index]
                wrong &= self._apart(index, got, other, size) if rounds else ~same(got, other)
                if wrong.any():
                    wrong &= ~same(got, self._subject.expected_of_mixed_bits[index])
            if wrong.any():
                other = self._subject.expected_of_interpreter[index]
                wrong &= self._apart(index, got, other, size) if rounds else ~same(got, other)
            if self._subject.multiplies_nan and wide(got).dtype.kind in "fc":
                wrong &= ~np.isnan(wide(got))
            if bits is None:
                wrong &= _is_ordinary(wanted)
                if self._subject.may_spread_nan and wide(got).dtype.kind in "fc":
                    wrong &= ~np.isnan(wide(got))
            if self._subject.has_float16 and wide(wanted).dtype.kind in "fc":  # beyond 65,504 the chip goes on
                wrong &= np.isfinite(wide(wanted)) | ~np.isfinite(wide(got))
            yield from differing(name, got, wanted, wrong)

    def _apart(self, index: int, got: np.ndarray, wanted: np.ndarray, size: float) -> np.ndarray:
        """Returns which elements of a result lie further from what is expected than noise carries them."""
        wrong = _apart(got, wanted, size)
        if self._subject.special and wide(got).dtype.kind in "fc":
            # Whether sums and products of large terms are infinite, and then are NaN, depends on their order.
            finite = np.isfinite(wide(got)), np.isfinite(wide(wanted))
            wrong &= finite[0] & finite[1] if self._subject.may_overflow else finite[0] | finite[1]
        for runs in (6, 40):
            if not wrong.any():
                break
            bounds = self._spread(size, runs)
            if bounds is None and wide(wanted).dtype.kind not in "fc":
                return np.zeros_like(wrong)  # rounding may change integers, as those of the bits of floats
            if bounds is None:
                return wrong & _apart(got, wanted, 64 * max(size, self._subject.rounding))
            wrong &= ~_within(got, wanted, bounds[index])
        return wrong

    def _flushes(self, index: int, got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Returns where a result is that of float64 and either it or XLA's is NaN or infinite: XLA makes zeros of
        denormals, by which infinities become NaN and divisions infinite."""
        subject = self._subject
        try:
            (results,) = noise.spread(subject.plain_module, subject.inputs, 0.0, 1, in_parts=subject.in_parts)
        except NotDrawnError:
            return np.zeros(got.shape, np.bool_)
        one, other = wide(got), results[index]
        if one.dtype.kind not in "fc":
            return np.zeros(got.shape, np.bool_)
        infinite = ~np.isfinite(one) | ~np.isfinite(wide(wanted))
        return np.asarray(infinite & ((one == other) | (np.isnan(one) & np.isnan(other))))

    def _spread(self, size: float, runs: int) -> list[np.ndarray] | None:
        """Returns for each result how far noise carries each of its elements; None if XLA has no such program."""
        if (size, runs) not in self._spreads:
            self._spreads[size, runs] = self._computed(size, runs)
        return self._spreads[size, runs]

    def _computed(self, size: float, runs: int) -> list[np.ndarray] | None:
        subject = self._subject
        try:
            noisy = noise.spread(subject.plain_module, subject.inputs, size, runs, in_parts=subject.in_parts)
        except NotDrawnError:
            return None
        return [
            np.max([_distance(results[index], wanted) for results in noisy], axis=0)
            for index, wanted in enumerate(subject.expected)
        ]


def wide(array: np.ndarray) -> np.ndarray:
    """Returns an array in float64 or complex128, and integers as they are."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if is_float(array.dtype) else array


def same(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns where two arrays have the same bits; any two NaN, and any two denormals, count as the same."""
    one, other = wide(got), wide(wanted)
    equal = one == other
    if equal.dtype != np.bool_ or one.dtype.kind not in "fc":
        return np.asarray(equal)
    small = _smallest(got.dtype)
    if one.dtype.kind == "c":
        return np.asarray(same(one.real, other.real) & same(one.imag, other.imag))
    signs = np.signbit(one) == np.signbit(other)
    tiny = (np.abs(one) < small) & (np.abs(other) < small)
    return np.asarray((equal & signs) | (np.isnan(one) & np.isnan(other)) | tiny & ((one != 0) | (other != 0)))


def _smallest(dtype: np.dtype) -> float:
    """Returns the smallest normal number of a type of floats."""
    return float(ml_dtypes.finfo(dtype).tiny)


def _distance(noisy: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns how far a result with noise lies from the plain one; infinity where one is finite, or for integers that
    differ at all."""
    wanted = wide(wanted)
    with np.errstate(all="ignore"):
        if wanted.dtype.kind not in "fc":
            return np.where(noisy == wanted, 0.0, np.inf)
        distance = np.abs(noisy - wanted)
        unknown = np.isfinite(noisy) != np.isfinite(wanted)
    return np.where(unknown, np.inf, np.where(np.isnan(distance), 0.0, distance))


def _apart(got: np.ndarray, wanted: np.ndarray, size: float) -> np.ndarray:
    """Returns where two arrays differ by more than a fraction of the element."""
    one, other = wide(got), wide(wanted)
    if one.dtype.kind not in "fc":
        return np.asarray(one != other)
    with np.errstate(all="ignore"):
        near = np.abs(one - other) <= size / 2 * np.abs(other) + TINY
    return np.asarray(~(near | (one == other) | (np.isnan(one) & np.isnan(other))))


def _within(got: np.ndarray, wanted: np.ndarray, bound: np.ndarray) -> np.ndarray:
    one, other = wide(got), wide(wanted)
    if one.dtype.kind not in "fc":
        return np.asarray((one == other) | np.isinf(bound))
    with np.errstate(all="ignore"):
        return np.asarray((np.abs(one - other) <= MARGIN * bound + TINY) | np.isinf(bound))


def _is_ordinary(wanted: np.ndarray) -> np.ndarray:
    """Returns which elements default numerics must compute: finite ones that are not near the ends of the range."""
    values = wide(wanted)
    if values.dtype.kind not in "fc":
        return np.ones(values.shape, np.bool_)
    with np.errstate(all="ignore"):
        return np.asarray(np.isfinite(values) & (np.abs(values) < 1e30))


def differing(check: str, got: np.ndarray, wanted: np.ndarray, wrong: np.ndarray) -> Iterator[Difference]:
    """Yields one difference that lists the first wrong elements, if there are any."""
    if not wrong.any():
        return
    places = np.argwhere(wrong)[:4]
    lines = [f"{list(map(int, place))}: {got[tuple(place)]!r}, expected {wanted[tuple(place)]!r}" for place in places]
    yield Difference(
        check, f"{int(wrong.sum())} of {wrong.size} elements of {got.dtype}{got.shape} differ: " + "; ".join(lines)
    )
