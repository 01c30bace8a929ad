"""The number of operations of a program, as XLA's cost analysis counts them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.program import Instruction, Program, TensorSpec

_TRANSCENDENTAL = {
    *("acos", "asin", "asinh", "atan", "atan2", "cbrt", "cos", "erf", "erfc", "exp", "expm1", "log", "log1p"),
    *("gelu", "gelu_approx", "mish", "pow_tensor", "rsqrt", "sigmoid", "silu", "sin", "sqrt", "tan", "tanh"),
}
"""TTNN ops that XLA counts as transcendental functions, or that compute one for each element."""
_ARITHMETIC = {row.ttnn or row.ttir for row in (*UNARY, *BINARY)} - _TRANSCENDENTAL - {"bitcast_convert"}
_REDUCTIONS = {"max", "mean", "min", "prod", "sum"}
_PRODUCTS = {"linear", "matmul"}
_ATTENTION = {"scaled_dot_product_attention", "scaled_dot_product_attention_decode"}


def operations(program: Program) -> dict[str, float]:
    """Returns ``flops`` and ``transcendentals`` of a program on one chip.

    A multiplication with its addition counts as two, each element of an arithmetic op as one. Functions of loops count
    once, as in XLA, and ops that only move data count as nothing.
    """
    counts = {"flops": 0.0, "transcendentals": 0.0}
    for function in program.functions:
        for instruction in function.body:
            if not instruction.results:  # an update in place
                continue
            counts["flops"] += _flops(instruction.op.rpartition(".")[2], instruction, function.values)
            for name in _functions(instruction):
                kind = "transcendentals" if name in _TRANSCENDENTAL else "flops"
                if name in _TRANSCENDENTAL | _ARITHMETIC:
                    counts[kind] += _elements(function.values[instruction.results[0]])
    return counts


def _functions(instruction: Instruction) -> Iterator[str]:
    """Yields the elementwise functions of an instruction: its own one, and those that it applies besides."""
    yield instruction.op.rpartition(".")[2]
    values: list[Any] = [instruction.attributes]
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            if isinstance(name := value.get("op_type", value.get("activation")), str):
                yield name
            values.extend(value.values())
        elif isinstance(value, list | tuple):
            values.extend(value)


def _flops(name: str, instruction: Instruction, values: Sequence[TensorSpec]) -> float:
    """Returns the flops of an instruction that is no elementwise function."""
    inputs = [values[number] for number in instruction.operand_values()]
    bias = _elements(values[instruction.results[0]]) if len(inputs) > 2 else 0.0
    if name in _REDUCTIONS:
        return _elements(inputs[0]) - _elements(values[instruction.results[0]])
    if name in _PRODUCTS:
        left = inputs[0].shape
        inner = left[-2] if instruction.attributes.get("transpose_a") and len(left) > 1 else left[-1]
        return 2.0 * _elements(values[instruction.results[0]]) * inner + bias
    if name in _ATTENTION:  # the products of queries and keys, and of probabilities and values
        return 4.0 * _elements(inputs[0]) * inputs[1].shape[-2]
    if name.startswith("conv"):
        output_channels = instruction.attributes["out_channels"]
        positions = inputs[0] if "transpose" in name else values[instruction.results[0]]
        channels = instruction.attributes["in_channels"] if "transpose" in name else output_channels
        return 2.0 * _elements(positions) * _elements(inputs[1]) / channels + bias
    return 0.0


def _elements(spec: TensorSpec) -> float:
    return float(math.prod(spec.shape))


__all__ = ["operations"]
