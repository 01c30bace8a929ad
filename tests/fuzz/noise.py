"""How far rounding may carry the results of a StableHLO module: Monte Carlo arithmetic.

A copy of the module computes in float64 and multiplies each float that arithmetic makes by 1 + d, with |d| as large as
the format's rounding. Where the results of several runs lie apart, rounding decides them, and no result may be
expected to be closer (D. S. Parker, Monte Carlo Arithmetic, 1997). Noise is a hash of the bits of the value, so it is
the same in each process; runs differ because their arguments do, by less than float32 can tell.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.dialects import stablehlo as hlo
from jaxlib.mlir.passmanager import PassManager

from tests.fuzz.reference import Program, operations
from tt_xla.compiler.mlir_context import copy_of, module_text
from tt_xla.compiler.stablehlo.expand import register_passes

MOVES = frozenset(
    f"stablehlo.{name}"
    for name in re.findall(
        r"\w+",
        """
        abs all_gather all_to_all bitcast_convert broadcast_in_dim case ceil clamp collective_broadcast
        collective_permute compare complex concatenate constant convert dynamic_broadcast_in_dim dynamic_gather
        dynamic_iota dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice floor gather get_tuple_element
        if imag iota is_finite maximum minimum negate optimization_barrier pad real real_dynamic_slice reshape
        reverse round_nearest_afz round_nearest_even select sign slice sort transpose tuple while return
        reduce_precision
        """,
    )
) | {"func.call", "func.return", "func.func", "builtin.module", "chlo.constant", "chlo.constant_like", "chlo.top_k"}
"""Ops that move, choose or truncate floats and round none; of those with regions, that of their bodies counts."""

SUMS = frozenset(
    f"stablehlo.{name}"
    for name in re.findall(
        r"\w+",
        """
        all_reduce batch_norm_grad batch_norm_inference batch_norm_training cholesky convolution dot_general
        dynamic_conv fft reduce reduce_scatter reduce_window scatter select_and_scatter triangular_solve
        """,
    )
)
"""Ops whose rounding errors are those of their terms, and may be larger than their result."""

EXACT = MOVES | frozenset(
    f"stablehlo.{name}"
    for name in ("add", "subtract", "multiply", "divide", "sqrt", "remainder", "and", "or", "xor", "not")
)
"""Ops whose floats IEEE 754 defines to the bit."""

ROUNDING = {"bf16": 2.0**-8, "f16": 2.0**-10, "f8E4M3FN": 2.0**-3, "f8E5M2": 2.0**-2}
"""Relative rounding error of the formats in which a result may be coarser than the noise."""

_MOST_EXACT_INTEGER = 2.0**24
"""Sums of integers are computed in float32 in default numerics, which holds integers up to this one exactly."""

_RUNS = 6


def spread(
    module: Any,
    inputs: Sequence[np.ndarray],
    size: float,
    runs: int = _RUNS,
    *,
    in_parts: bool = False,
    least: float = 0.0,
) -> list[list[np.ndarray]]:
    """Returns the results of runs with noise, in float64.

    Args:
        module: the StableHLO module.
        inputs: its arguments.
        size: the largest relative noise of a float32.
        runs: number of runs.
        in_parts: whether the terms of a sum have the noise of the type of the sum, as its parts are rounded to it.
        least: the largest noise of a number that is 0, as functions that are approximated have it.

    Raises:
        NotDrawnError: XLA refuses the copy in float64.
    """
    noisy = Program(_with_noise(module, _Noise(size, in_parts=in_parts, least=least)))
    drawn = np.random.default_rng(0)
    results: list[list[np.ndarray]] = []
    for run in range(runs):
        arguments = [_moved(drawn, array) for array in inputs]
        results.append(noisy([*arguments, np.array(run, np.int64)]))
    return results


def _moved(drawn: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Returns an argument in float64 whose last bits are drawn."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    if not _is_float(array.dtype):
        return array
    return array.astype(np.float64) * (1 + drawn.uniform(-1e-12, 1e-12, array.shape))


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def _with_noise(module: Any, noise: _Noise) -> str:
    """Returns the text of the copy with noise, whose functions take the number of the run as a further argument."""
    copy = copy_of(module)
    register_passes()
    with copy.context, ir.Location.unknown():
        # Ops of CHLO have noise at each of their steps, which may cancel.
        passes = "stablehlo-legalize-composite-to-call,chlo-legalize-to-stablehlo"
        PassManager.parse(f"builtin.module(func.func({passes}))").run(copy.operation)
        functions = [op for op in copy.body.operations if op.operation.name == "func.func"]
        inner = [list(operations(function.operation, into_sums=False)) for function in functions]
        places = [[op for op in ops if noise.takes(op)] for ops in inner]
        sizes = [[[noise.size_of(value.type) for value in op.results] for op in ops] for ops in places]
        ops = list(operations(copy.operation, into_sums=True))
        casts = [(op, op.operands[0].type, op.results[0].type) for op in ops if op.name == "stablehlo.bitcast_convert"]
        for op in ops:
            _retype(op, _wide)
        for op, source, target in casts:
            _cast(op, source, target)
        for function, ops, its_ops, its_sizes in zip(functions, inner, places, sizes, strict=True):
            noise.run = _with_run(function)
            for op, op_sizes in zip(its_ops, its_sizes, strict=True):
                noise.add(op, op_sizes)
            for op in ops:
                if op.name == "func.call":
                    _call_with_run(op, noise.run)
        return module_text(copy)


def _cast(op: Any, source: Any, target: Any) -> None:
    """Lets an op that reads or makes bits of floats have its own types between conversions."""
    (operand,), (result,) = op.operands, op.results
    if operand.type != source:
        with ir.InsertionPoint(op):
            op.operands[0] = hlo.convert(source, operand)
    if result.type != target:
        uses, wide = [(use.owner, use.operand_number) for use in result.uses], result.type
        result.set_type(target)
        with ir.InsertionPoint.after(op):
            converted = hlo.convert(wide, result)
        for owner, number in uses:
            owner.operands[number] = converted


def _with_run(function: Any) -> Any:
    """Adds the number of the run to the arguments of a function, and returns it."""
    number = ir.RankedTensorType.get([], ir.IntegerType.get_signless(64))
    kind = function.type
    type_ = ir.FunctionType.get([*kind.inputs, number], kind.results)
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    if "arg_attrs" in function.attributes:
        del function.attributes["arg_attrs"]
    return function.entry_block.add_argument(number, ir.Location.unknown())


def _call_with_run(op: Any, run: Any) -> None:
    """Replaces a call by one that passes the number of the run on."""
    with ir.InsertionPoint(op):
        types = [value.type for value in op.results]
        call = func.CallOp(types, ir.FlatSymbolRefAttr.get(op.attributes["callee"].value), [*op.operands, run])
    for value, new in zip(op.results, call.results, strict=True):
        value.replace_all_uses_with(new)
    op.erase()


class _Noise:
    """
    Args:
        size: the largest relative noise of a float32.
        in_parts: see :func:`spread`.
        least: see :func:`spread`.

    Attributes:
        run: An integer scalar that differs between runs, in the function that receives noise.
    """

    run: Any

    def __init__(self, size: float, *, in_parts: bool, least: float) -> None:
        self._size = size
        self._least = least
        self._in_parts = in_parts
        self._salt = 0

    def takes(self, op: Any) -> bool:
        """Whether the floats of an op are rounded."""
        if op.name == "stablehlo.convert":
            return True
        return op.name not in MOVES and not op.name.startswith("sdy.")

    def size_of(self, type_: Any) -> float:
        """Returns the largest relative noise of a result; 0 if it is no float."""
        element = _element(type_)
        if element is None or not _is_float_type(element):
            return 0.0
        return max(self._size, ROUNDING.get(str(element), 0.0))

    def add(self, op: Any, sizes: Sequence[float]) -> None:
        """Multiplies the results of an op by noise, and the operands of a sum."""
        if op.name in SUMS:
            of_terms = max(self._size, *sizes) if self._in_parts else self._size
            # Pooling chooses among elements that are rounded to bfloat16, of which neighbours are up to 2^-7 apart.
            pools = op.name == "stablehlo.select_and_scatter" and self._size >= ROUNDING["bf16"]
            for position, operand in enumerate(op.operands):
                if self._may_have_noise(operand.type):
                    with ir.InsertionPoint(op):
                        op.operands[position] = self._noisy(operand, 4 * of_terms if pools else of_terms)
            if self._size >= ROUNDING["bf16"] and _makes_wide_integers(op):
                self._add_to_integers(op)
        if not any(sizes):
            return  # no float is made, as by the last op of a block
        with ir.InsertionPoint.after(op):
            for value, size in zip(op.results, sizes, strict=True):
                if size and self._may_have_noise(value.type):
                    uses = [(use.owner, use.operand_number) for use in value.uses]
                    noisy = self._noisy(value, size)
                    for owner, number in uses:
                        owner.operands[number] = noisy

    def _add_to_integers(self, op: Any) -> None:
        """Gives a sum or an extreme of integers another value where float32 does not hold it, or its terms together."""
        (value,) = op.results
        element = _element(value.type)
        uses = [(use.owner, use.operand_number) for use in value.uses]
        with ir.InsertionPoint.after(op):
            size = self._sum_of_sizes(op, element) if _adds(op) else _size(element, value)
            most = ir.DenseElementsAttr.get_splat(size.type, ir.FloatAttr.get_f64(_MOST_EXACT_INTEGER))
            is_exact = hlo.compare(size, hlo.constant(most), hlo.ComparisonDirectionAttr.get("LE"))
            number = hlo.convert(ir.RankedTensorType.get([], element), self.run)
            drawn = ir.DenseElementsAttr.get_splat(number.type, ir.IntegerAttr.get(element, 0x2545F491))
            other = hlo.broadcast_in_dim(
                value.type, hlo.multiply(number, hlo.constant(drawn)), ir.DenseI64ArrayAttr.get([])
            )
            chosen = hlo.select(is_exact, value, hlo.xor(value, other))
        for owner, position in uses:
            owner.operands[position] = chosen

    def _sum_of_sizes(self, op: Any, element: Any) -> Any:
        """Returns the sum that an op computes, of the terms without their signs, in float64."""
        sizes = {
            position: _size(element, operand)
            for position, operand in enumerate(op.operands)
            if _element(operand.type) == element and (op.name, position) != ("stablehlo.scatter", 1)
        }
        copy = op.operation.clone()
        for position, operand in sizes.items():
            copy.operands[position] = operand
        for inner in operations(copy, into_sums=True):
            _retype(inner, functools.partial(_as_float64, element))
        return copy.results[0]

    def _may_have_noise(self, type_: Any) -> bool:
        element = _element(type_)
        return element is not None and isinstance(element, ir.F64Type) and ir.RankedTensorType(type_).has_static_shape

    def _noisy(self, value: Any, size: float) -> Any:
        """Returns value * (1 + d) with d from the bits of the value, and more where numbers near 0 have noise."""
        self._salt = (self._salt * 6364136223846793005 + 1442695040888963407) % 2**63
        shape = value.type.shape
        bits = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(64))

        def integer(number: int) -> Any:
            attribute = ir.DenseElementsAttr.get_splat(bits, ir.IntegerAttr.get(bits.element_type, number))
            return hlo.constant(attribute)

        def number(real: float) -> Any:
            attribute = ir.DenseElementsAttr.get_splat(value.type, ir.FloatAttr.get(ir.F64Type.get(), real))
            return hlo.constant(attribute)

        run = hlo.broadcast_in_dim(bits, self.run, ir.DenseI64ArrayAttr.get([]))
        salt = hlo.multiply(hlo.add(run, integer(1)), integer(self._salt | 1))
        hashed = hlo.xor(hlo.bitcast_convert(bits, value), salt)
        hashed = hlo.multiply(hashed, integer(0x9E3779B97F4A7C15 - 2**64))
        hashed = hlo.xor(hashed, hlo.shift_right_logical(hashed, integer(29)))
        hashed = hlo.multiply(hashed, integer(0xBF58476D1CE4E5B9 - 2**64))
        unit = hlo.multiply(hlo.convert(value.type, hashed), number(2.0**-63))
        moved = hlo.multiply(value, hlo.add(hlo.multiply(unit, number(size)), number(1.0)))
        return hlo.add(moved, hlo.multiply(unit, number(self._least))) if self._least else moved


def _makes_wide_integers(op: Any) -> bool:
    """Whether the one result of an op is integers of 32 bits or more."""
    return [str(_element(value.type)) for value in op.results] in (["i32"], ["ui32"], ["i64"], ["ui64"])


def _adds(op: Any) -> bool:
    """Whether an op adds terms, and does not choose one of them."""
    bodies = [inner.name for inner in operations(op, into_sums=True) if inner is not op]
    return not bodies or "stablehlo.add" in bodies


def _size(element: Any, value: Any) -> Any:
    """Returns integers without their signs in float64."""
    return hlo.abs(hlo.convert(_as_float64(element, value.type), value))


def _as_float64(element: Any, type_: Any) -> Any:
    """Returns float64 in place of an element type."""
    return ir.RankedTensorType.get(type_.shape, ir.F64Type.get()) if _element(type_) == element else type_


def _element(type_: Any) -> Any:
    return ir.RankedTensorType(type_).element_type if isinstance(type_, ir.RankedTensorType) else None


def _is_float_type(element: Any) -> bool:
    return isinstance(element, ir.FloatType)


def _wide(type_: Any) -> Any:
    """Returns float64 in place of other floats."""
    element = _element(type_)
    if element is None:
        return type_
    if _is_float_type(element):
        return ir.RankedTensorType.get(type_.shape, ir.F64Type.get())
    if isinstance(element, ir.ComplexType) and not isinstance(ir.ComplexType(element).element_type, ir.F64Type):
        return ir.RankedTensorType.get(type_.shape, ir.ComplexType.get(ir.F64Type.get()))
    return type_


def _of_32_bits(type_: Any) -> Any:
    """Returns 32 bits in place of 64, and of those of float16."""
    narrow = {"f16": "f32", "f64": "f32", "i64": "i32", "ui64": "ui32", "complex<f64>": "complex<f32>"}
    element = narrow.get(str(_element(type_)))
    return type_ if element is None else ir.RankedTensorType.get(type_.shape, ir.Type.parse(element))


def in_32_bits(module: Any) -> str:
    """Returns the text of a module that computes in 32 bits what the module computes in 64 or as float16, as the chip
    may (docs/architecture/limits.md)."""
    copy = copy_of(module)
    with copy.context, ir.Location.unknown():
        for op in operations(copy.operation, into_sums=True):
            _retype(op, _of_32_bits)
        return module_text(copy)


def converted_to_32_bits(module: Any) -> str:
    """Returns the text of a module whose conversions of floats to integers of 64 bits end at the range of 32 bits, as
    those of the chip do whose result the host computes with in 64 bits."""
    copy = copy_of(module)
    with copy.context, ir.Location.unknown():
        for op in list(operations(copy.operation, into_sums=False)):
            if op.name == "stablehlo.convert" and str(_element(op.operands[0].type)) not in ("i64", "ui64"):
                (value,) = op.results
                uses = [(use.owner, use.operand_number) for use in value.uses]
                with ir.InsertionPoint.after(op):
                    within = _within_32_bits(value)
                for owner, number in uses:
                    owner.operands[number] = within
        return module_text(copy)


def _within_32_bits(value: Any) -> Any:
    """Returns integers within the range of 32 bits, to whose ends the chip takes others."""
    limits = {"i64": (-(2**31), 2**31 - 1), "ui64": (0, 2**32 - 1)}.get(str(_element(value.type)))
    if limits is None:
        return value
    low, high = (
        hlo.constant(ir.DenseElementsAttr.get_splat(value.type, ir.IntegerAttr.get(_element(value.type), limit)))
        for limit in limits
    )
    return hlo.clamp(low, value, high)


def _retype(op: Any, retyped: Callable[[Any], Any]) -> None:
    """Gives the values of an op and of its blocks other types. A constant is converted behind."""
    if op.name in ("stablehlo.constant", "chlo.constant"):
        (value,) = op.results
        if retyped(value.type) != value.type:
            uses = [(use.owner, use.operand_number) for use in value.uses]
            with ir.InsertionPoint.after(op):
                converted = hlo.convert(retyped(value.type), _within_32_bits(value))
            for owner, number in uses:
                owner.operands[number] = converted
        return
    for value in op.results:
        value.set_type(retyped(value.type))
    for region in op.regions:
        for block in region.blocks:
            for value in block.arguments:
                value.set_type(retyped(value.type))
    if "function_type" in op.attributes:
        signature = op.attributes["function_type"].value
        inputs, results = list(map(retyped, signature.inputs)), list(map(retyped, signature.results))
        op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    if op.name == "chlo.constant_like" and isinstance(op.attributes["value"], ir.FloatAttr):
        element = _element(op.results[0].type)
        op.attributes["value"] = ir.FloatAttr.get(element, op.attributes["value"].value)
