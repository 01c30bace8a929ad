"""Elementwise functions that compiled programs do not use."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import conditions
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.pointwise import (
    ACTIVATIONS,
    broadcast,
    define_unary,
    mode_of,
    number,
    pair,
    promoted,
    steps_around,
    unary,
)
from tt_xla.ttnn_api.families.reduction import dims_of, memory_of, reduced, scaled_by
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, Rule, define, operation, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step
from tt_xla.ttnn_api.shards import matrix

_WITHOUT_PARAMETERS = (
    "acosh alt_complex_rotate90 cosh deg2rad digamma eqz erfinv exp2 frac gez gtz hardmish hardswish i0 i1 isinf "
    "isnan isneginf isposinf lez lgamma log_sigmoid ltz nez rad2deg signbit sinh softsign square "
    "tanhshrink trunc"
)
"""Functions without parameters."""

_PARAMETERS = {
    "celu": ("alpha",),
    "elu": ("alpha",),
    "fill": ("fill_value",),
    "hardshrink": ("lambd",),
    "hardtanh": ("min_val", "max_val"),
    "heaviside": ("value",),
    "logit": ("eps",),
    "rdiv": ("value", "rounding_mode"),
    "relu_max": ("upper_limit",),
    "relu_min": ("lower_limit",),
    "rpow": ("exponent",),
    "selu": ("scale", "alpha"),
    "softcap": ("beta",),
    "softplus": ("beta", "threshold"),
    "softshrink": ("lambd",),
    "threshold": ("threshold", "value"),
    "xielu": ("alpha_p", "alpha_n"),
}
"""Parameters of the other functions of one tensor, in the order of the kernel's."""

_BINARY = (
    *("div_no_nan", "floor_div", "hypot", "ldexp", "logaddexp", "logaddexp2", "nextafter", "prelu", "remainder"),
    *("squared_difference", "xlogy"),
)
"""Functions of two tensors, whose kernels have their names but for that of the remainder."""

_QUOTIENTS = ("ttnn.div_no_nan", "ttnn.floor_div")
"""Functions whose results of integers are float32."""

_OF_TWO = (
    *("input_tensor_a", "input_tensor_b", "value", "weight", "dtype", "memory_config", "output_tensor"),
    *ACTIVATIONS,
)
"""Parameters of functions of two tensors, of which each has some."""


for _name in _WITHOUT_PARAMETERS.split():
    define_unary(_name)
for _name, _names in _PARAMETERS.items():
    define_unary(_name, names=_names)
define_unary("swish", "silu")
define("ttnn.polygamma", unary("ttnn.polygamma", ("k",)), ("input_tensor", "k", "memory_config"))


@operation("ttnn.identity")
def identity(input_tensor: Operand, memory_config: MemoryConfig | None, output_tensor: Operand | None) -> Step:
    """Returns the elements, which the compute cores copy."""
    plain = unary("ttnn.unary_chain")(input_tensor, memory_config, output_tensor)
    return dataclasses.replace(plain, attributes={"functions": []})


@operation("ttnn.round")
def round_(
    input_tensor: Operand, decimals: int, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step:
    """Rounds to a number of decimals, halves to even."""
    op, names = ("ttnn.round_decimals", ("decimals",)) if decimals else ("ttnn.round", ())
    return unary(op, names)(input_tensor, memory_config, output_tensor, decimals=decimals)


def _binary(op: str) -> Rule:
    def rule(input_tensor_a: Any, memory_config: MemoryConfig | None, **others: Any) -> Step:
        right = next(others[name] for name in ("input_tensor_b", "value", "weight") if others.get(name) is not None)
        dtype, output = others.get("dtype"), others.get("output_tensor")
        if op in _QUOTIENTS:
            dtype = promoted(input_tensor_a, right, always=True)
        if op == "ttnn.div_no_nan" and not isinstance(right, Operand):
            return _by_number(input_tensor_a, right, memory_config)
        return pair(op, input_tensor_a, right, dtype, memory_config, output, steps_around(others))

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of two tensors, or of a tensor and a number."
    return rule


def _by_number(operand: Operand, divisor: float, memory: MemoryConfig | None) -> Step:
    """Returns div_no_nan by a number: TT-NN multiplies by the number's inverse, or makes zeros."""
    dtype = promoted(operand, divisor, always=True)
    if divisor:
        import numpy

        inverse = float(numpy.reciprocal(numpy.float32(divisor)))
        return pair("ttnn.multiply", operand, inverse, dtype, memory, None, {})
    zeros = operand.type.with_(dtype=dtype, memory=memory)
    return Step("ttnn.full", {}, [zeros], {"fill_value": 0.0, "shape": list(operand.shape)})


for _name in _BINARY:
    define(f"ttnn.{_name}", _binary(f"ttnn.{'modulo' if _name == 'remainder' else _name}"), _OF_TWO)


@operation("ttnn.rsub")
def rsub(
    input_tensor_a: Operand,
    input_tensor_b: Any,
    input_b: Any,
    dtype: Any,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
    fast_and_approximate_mode: bool | None,
) -> Step:
    """Subtracts the first operand from the second one."""
    right = input_tensor_b if input_tensor_b is not None else input_b
    mode = mode_of("subtract", fast_and_approximate_mode)
    step = pair("ttnn.subtract", input_tensor_a, right, dtype, memory_config, output_tensor, mode)
    step.operands = {"lhs": step.operands["rhs"], "rhs": step.operands["lhs"]}
    return step


@operation("ttnn.isclose")
def isclose(
    input_tensor_a: Operand,
    input_tensor_b: Operand,
    rtol: float,
    atol: float,
    equal_nan: bool,
    memory_config: MemoryConfig | None,
) -> Step:
    """Returns 1 where elements are nearly equal, else 0."""
    attributes = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    dtype = promoted(input_tensor_a, input_tensor_b, always=True)
    return pair("ttnn.isclose", input_tensor_a, input_tensor_b, dtype, memory_config, None, attributes)


def of_three(
    op: str, operands: dict[str, Any], attributes: dict[str, Any], memory: Any, output: Operand | None
) -> Step:
    first = next(iter(operands.values()))
    shape = first.shape
    tensors = [each for each in operands.values() if isinstance(each, Operand)]
    like = next((each for each in tensors if each.dtype is DataType.FLOAT32), first)  # which the accumulator is like
    for name, operand in operands.items():
        if not isinstance(operand, Operand):
            operands[name] = number(op, operand, like.type)
        shape = broadcast(shape, operands[name].type.shape, op)
    result = first.type.with_(shape=shape, memory=memory)
    return Step(op, operands, [result], attributes, into=output)


def _scaled(op: str) -> Rule:
    def rule(
        input_a: Operand,
        input_b: Operand,
        input_c: Operand,
        value: float,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None,
    ) -> Step | Calls:
        operands = {"input": input_a, "first": input_b, "second": input_c}
        _check_scaled(op, *operands.values())
        if op == "ttnn.addcdiv" and any(each.dtype.element.is_block_float for each in operands.values()):
            places = [each.index for each in operands.values()]
            return Calls(functools.partial(_divided_blocks, places, float(value), memory_config, output_tensor))
        return of_three(op, operands, {"value": float(value)}, memory_config, output_tensor)

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of three tensors."
    return rule


def _divided_blocks(
    places: Sequence[int], value: float, memory: MemoryConfig | None, into: Operand | None, tensors: Sequence[Any]
) -> Any:
    """Returns ``a + value * b / c`` in steps, as TT-NN computes it if a tensor has block floats."""
    a, b, c = (tensors[place] for place in places)
    with unrefused():
        f = Functions(memory)
        result = f.add(a, f.divide(f.multiply(b, value), c))
        if result.dtype is not DataType.FLOAT32:
            sign = f.where(f.eqz(b), 1.0, f.sign(b))
            result = f.where(f.eqz(c), f.multiply(sign, value * math.inf), result)
        return result if into is None else OPERATIONS["ttnn.copy"](result, tensors[into.index])


def _check_scaled(op: str, *operands: Operand) -> None:
    """Refuses data types of three tensors that are added, multiplied or divided."""
    types = [operand.dtype for operand in operands]
    if op == "ttnn.addcdiv" and set(types) == {DataType.INT32}:
        raise TTFatal("Addcdiv TTT does not support INT32 inputs.", hint="Convert the tensors with ttnn.typecast.")
    if op == "ttnn.addcmul" and len(set(types)) > 1:
        given = ", ".join(f"input_{letter}=DataType::{each.name}" for letter, each in zip("abc", types, strict=True))
        raise TTFatal(
            f"Addcmul TTT requires all input tensors to have the same dtype. Got {given}",
            hint="Convert them with ttnn.typecast.",
        )


for _name in ("addcmul", "addcdiv"):
    define(f"ttnn.{_name}", _scaled(f"ttnn.{_name}"))


@operation("ttnn.lerp")
def lerp(
    input: Operand, end: Operand, weight: Any, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step:
    """Interpolates between two tensors."""
    operands = {"input": input, "end": end, "weight": weight}
    return of_three("ttnn.lerp", operands, {}, memory_config, output_tensor)


@operation("ttnn.mac")
def mac(
    input_tensor_a: Operand,
    input_tensor_b: Any,
    input_tensor_c: Any,
    value: Any,
    value1: Any,
    value2: Any,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Multiplies by the second operand and adds the third one."""
    given = [each for each in (input_tensor_b, value, value1, input_tensor_c, value2) if each is not None]
    if input_tensor_b is not None and value is not None:
        given = [input_tensor_b, value]
    operands = {"input": input_tensor_a, "first": given[0], "second": given[1]}
    return of_three("ttnn.mac", operands, {}, memory_config, output_tensor)


def _triangle(op: str) -> Rule:
    def rule(input_tensor: Operand, diagonal: int, memory_config: MemoryConfig | None) -> Step:
        conditions.check_on_device(
            "Input tensor A must be on device, got storage type: StorageType::HOST", input_tensor
        )
        rows, columns = matrix(input_tensor.shape, input_tensor.layout)
        tiled = matrix(input_tensor.shape, Layout.TILE)
        if input_tensor.layout is Layout.ROW_MAJOR and (rows, columns) != tiled:
            raise TTFatal(
                f"to_layout: Converting layout to Layout::TILE implicitly changed physical shape from ({rows}, "
                f"{columns}) to {tiled} due to alignment constraints",
                hint="Pad the tensor explicitly with ttnn.pad.",
            )
        result = input_tensor.type.with_(memory=memory_config, layout=Layout.TILE)
        return Step(op, {"input": input_tensor}, [result], {"diagonal": diagonal})

    rule.__doc__ = "Keeps a triangle of each matrix and clears the rest."
    return rule


for _name in ("tril", "triu"):
    define(f"ttnn.{_name}", _triangle(f"ttnn.{_name}"))


def _spread(op: str) -> Rule:
    def rule(
        input_tensor: Operand,
        dim: int | Sequence[int] | None,
        keepdim: bool,
        memory_config: MemoryConfig | None,
        correction: bool,
        scalar: float,
    ) -> Step:
        dims = dims_of(input_tensor, dim, op)
        shape = reduced(input_tensor, dims, keep=keepdim)
        memory = memory_config or memory_of(op.removeprefix("ttnn."), input_tensor, dims, keep=keepdim)
        result = input_tensor.type.with_(shape=shape, memory=memory, layout=Layout.TILE)
        attributes = {"dim_arg": dims, "keep_dim": keepdim, "correction": correction} | scaled_by(scalar)
        return Step(op, {"input": input_tensor}, [result], attributes)

    rule.__doc__ = f"Computes the {op.removeprefix('ttnn.')} of elements along dimensions."
    return rule


for _name in ("var", "std"):
    define(f"ttnn.{_name}", _spread(f"ttnn.{_name}"))


def _gated(function: str) -> Rule:
    def rule(input_tensor: Any, dim: int, memory_config: MemoryConfig | None) -> Any:
        first, second = OPERATIONS["ttnn.split"](input_tensor, input_tensor.shape[dim] // 2, dim)
        gate = OPERATIONS[f"ttnn.{function}"](second)
        return OPERATIONS["ttnn.multiply"](first, gate, memory_config=memory_config)

    rule.__doc__ = f"Multiplies one half of a tensor by {function} of the other half."
    return rule


for _name, _function in {"glu": "sigmoid", "reglu": "relu", "geglu": "gelu", "swiglu": "silu"}.items():
    operation(f"ttnn.{_name}", composite=True)(_gated(_function))
