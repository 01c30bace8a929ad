"""Elementwise functions of one, two and three tensors."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ttnn_api import chosen_shards, conditions, shards
from tt_xla.ttnn_api.configs import UnaryWithParam, function_of, gelu_op, step
from tt_xla.ttnn_api.enums import BufferType, DataType, GeluVariant, Layout, Named, SigmoidMode, TensorMemoryLayout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import Type, type_of
from tt_xla.ttnn_api.operation import OPERATIONS, Rule, define, operation, parameters_of, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Scalar, Step
from tt_xla.ttnn_api.shapes import Sizes

Function = UnaryWithParam | Named | str

_IN_MODES = ["erf", "exp", "log", "log10", "log2", "mish", "rsqrt", "sqrt", "tanh"]
"""Functions with a fast, approximate form, whose op has a name that ends with ``_approx``."""

_OF_OWN_RULES = (*_IN_MODES, "gelu", "round", "sigmoid")

_UNARY = [row.ttnn for row in UNARY if row.ttnn and row.python == row.ttnn and row.ttnn not in _OF_OWN_RULES]
"""Functions that TTNN has under the same name."""

_BINARY = {row.python: row.ttnn for row in BINARY if row.ttnn and row.python != "pow"} | {
    **{"div": "divide", "mul": "multiply", "sub": "subtract"}
}
"""TTNN op of each function of two tensors."""


def required(operand: Operand, name: str) -> Operand:
    """Returns a tensor argument that must lie on a device.

    Raises:
        TTFatal: it does not.
    """
    conditions.check_on_device(f"{name}: Operands to eltwise need to be on the device!", operand)
    return operand


def unary(op: str, names: Sequence[str] = ()) -> Rule:
    """Returns the rule of a function of one tensor.

    Args:
        op: full name of its op.
        names: parameters of the function, in the order of the kernel's.
    """

    def rule(
        input_tensor: Operand,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None = None,
        **parameters: Any,
    ) -> Step:
        source = required(input_tensor, op)
        if op == "ttnn.softcap" and not parameters["beta"]:
            raise TTFatal("Unary: SOFTCAP requires a non-zero beta", hint="Pass the greatest size of the results.")
        memory = chosen_shards.for_elements(memory_config, source.shape, source.layout, [source])
        given = [parameters[name] for name in names if parameters[name] is not None]
        attributes = {"params": given} if given else {}
        return Step(op, {"input": source}, [source.type.with_(memory=memory)], attributes, into=output_tensor)

    rule.__doc__ = f"Computes {op.removeprefix('ttnn.')} of each element."
    return rule


def define_unary(name: str, op: str = "", names: Sequence[str] = ()) -> None:
    """Registers a function of one tensor by its name, and that of its op where it has another one."""
    define(
        f"ttnn.{name}", unary(f"ttnn.{op or name}", names), ("input_tensor", *names, "memory_config", "output_tensor")
    )


def _in_modes(op: str) -> Rule:
    def rule(
        input_tensor: Operand,
        fast_and_approximate_mode: bool | None,
        variant: GeluVariant | None,
        mode: SigmoidMode | None,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None,
    ) -> Step:
        chosen, functions = f"{op}_approx" if fast_and_approximate_mode else op, None
        if op == "gelu":
            chosen = gelu_op(bool(fast_and_approximate_mode) if variant is None else variant.value)
        elif op == "sigmoid":
            fast = fast_and_approximate_mode or mode is SigmoidMode.AccurateWithFastExp
            chosen = "sigmoid_approx" if mode is SigmoidMode.FastApproximate else op
            chosen, functions = ("unary_chain", _FAST_SIGMOID) if fast else (chosen, None)
        made = unary(f"ttnn.{chosen}")(required(input_tensor, f"ttnn.{op}"), memory_config, output_tensor)
        return made if functions is None else dataclasses.replace(made, attributes={"functions": functions})

    rule.__doc__ = f"Computes {op} of each element, in the form that is asked for."
    return rule


_FAST_SIGMOID = [
    function_of(each) for each in (step("neg"), step("exp", 1.0), step("add_unary_sfpu", 1.0), step("recip"))
]
"""Functions of a sigmoid whose exponential is approximate."""

for _name in (*_UNARY, "atanh"):
    define_unary(_name)
for _name in (*_IN_MODES, "gelu", "sigmoid"):
    define(f"ttnn.{_name}", _in_modes(_name))
define("ttnn.sigmoid_accurate", _in_modes("sigmoid"))


@operation("ttnn.bitcast")
def bitcast(input_tensor: Operand, dtype: DataType, memory_config: MemoryConfig | None) -> Step:
    """Reinterprets the bits of each element."""
    return Step(
        "ttnn.bitcast_convert", {"input": input_tensor}, [input_tensor.type.with_(dtype=dtype, memory=memory_config)]
    )


@operation("ttnn.leaky_relu")
def leaky_relu(
    input_tensor: Operand, negative_slope: float, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step:
    """Multiplies negative elements by a slope."""
    result = input_tensor.type.with_(memory=memory_config)
    operands = {"input": input_tensor}
    return Step("ttnn.leaky_relu", operands, [result], {"parameter": float(negative_slope)}, into=output_tensor)


def broadcast(first: Sizes, second: Sizes, name: str) -> Sizes:
    """Returns the shape of two operands, whose dimensions of size 1 are expanded.

    Raises:
        TTFatal: other dimensions differ.
    """
    rank = max(len(first), len(second))
    one, other = first.to_rank(rank), second.to_rank(rank)
    for index, (left, right) in enumerate(zip(one, other, strict=True)):
        if left != right and 1 not in (left, right):
            raise TTFatal(
                f"{name}: Broadcasting rule violation for rank {index - rank}, dim a: {left}, dim b: {right}",
                hint="Dimensions must be equal or 1; reshape or repeat one of the tensors.",
            )
    return Sizes(right if left == 1 else left for left, right in zip(one, other, strict=True))


def _binary(op: str) -> Rule:
    def rule(
        input_tensor_a: Any,
        input_tensor_b: Any,
        input_b: Any,
        value: Any,
        scalar: Any,
        dtype: DataType | None,
        memory_config: MemoryConfig | None,
        output_tensor: Operand | None,
        rounding_mode: str | None,
        fast_and_approximate_mode: bool | None,
        activations: Sequence[Function] | None,
        input_tensor_a_activations: Sequence[Function] | None,
        input_tensor_b_activations: Sequence[Function] | None,
    ) -> Step | Calls:
        right = next((each for each in (input_tensor_b, input_b, value, scalar) if each is not None), None)
        left = input_tensor_a
        if op in ("divide", "multiply") and dtype is None and rounding_mode is None:
            dtype = promoted(left, right, always=op == "divide")
        whole = (DataType.INT32, DataType.UINT32)
        wrong = dtype not in (None, DataType.FLOAT32) and rounding_mode is None
        if op == "divide" and wrong and isinstance(left, Operand) and left.dtype in whole:
            raise TTFatal(
                "Incorrect output_dtype value for Integer Division(rounding_mode=None) ; valid input values are None "
                "or ttnn.float32",
                hint="Pass rounding_mode='trunc' for integers, or convert the result with ttnn.typecast.",
            )
        if rounding_mode not in (None, "trunc", "floor"):
            raise TTFatal(
                "Incorrect rounding mode (expected None, 'trunc', or 'floor')", hint=f"Got {rounding_mode!r}."
            )
        functions = {
            "activations": activations,
            "input_tensor_a_activations": input_tensor_a_activations,
            "input_tensor_b_activations": input_tensor_b_activations,
        }
        if rounding_mode is not None and any(each.dtype.element.is_float for each in _tensors(left, right)):
            is_fast = fast_and_approximate_mode and left.dtype is not DataType.BFLOAT16
            options = functions | {"dtype": dtype, "memory_config": memory_config, "fast_and_approximate_mode": is_fast}
            return Calls(functools.partial(_rounded_quotient, left, right, rounding_mode, options, output_tensor))
        rounding = [rounding_mode] if rounding_mode else []
        attributes = steps_around(functions | {"activations": [*rounding, *(activations or ())]})
        attributes |= mode_of(op, fast_and_approximate_mode)
        return pair(f"ttnn.{op}", left, right, dtype, memory_config, output_tensor, attributes)

    rule.__doc__ = f"Computes {op} of two tensors, or of a tensor and a number."
    return rule


def _tensors(*operands: Any) -> Sequence[Operand]:
    return [each for each in operands if isinstance(each, Operand)]


def _rounded_quotient(
    left: Any, right: Any, rounding: str, options: Mapping[str, Any], into: Operand | None, tensors: Sequence[Any]
) -> Any:
    """Returns a quotient of floats that another kernel rounds, after it has the type of the result."""
    one, other = (tensors[each.index] if isinstance(each, Operand) else each for each in (left, right))
    dtype, memory = options["dtype"], options["memory_config"]
    if into is not None:
        dtype = into.dtype
    whole = dtype is not None and not dtype.element.is_float
    with unrefused():
        quotient = OPERATIONS["ttnn.divide"](one, other, **{**options, "dtype": None if whole else dtype})
        result = OPERATIONS[f"ttnn.{rounding}"](quotient, memory_config=memory)
        result = OPERATIONS["ttnn.typecast"](result, dtype, memory_config=memory) if whole else result
        return result if into is None else OPERATIONS["ttnn.copy"](result, tensors[into.index])


_FAST_UNASKED = {"add": True, "subtract": True, "divide": False, "multiply": False}
"""Whether TT-NN computes a function of two tensors in its fast mode if a call says nothing of it."""


def mode_of(op: str, fast: bool | None) -> dict[str, Any]:
    """Returns the attributes of the mode of a function of two tensors: none for the mode that TT-NN takes by itself."""
    unasked = _FAST_UNASKED.get(op)
    return {} if unasked is None or fast in (None, unasked) else {"fast_and_approximate_mode": fast}


ACTIVATIONS = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
"""Parameters with functions that are applied to the result and to the operands."""


def steps_around(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes of the functions that a call applies to its result and its operands."""
    return {name: [*map(_around, arguments[name])] for name in ACTIVATIONS if arguments.get(name)}


def _around(function: Any) -> list[tuple[str, Any]]:
    """Returns the fields of a function around an op of two tensors, where TT-NN reads no parameter of a relu."""
    kind = function[0] if isinstance(function, (list, tuple)) else getattr(function, "op_type", function)
    return function_of("relu" if getattr(kind, "name", "") == "RELU" else function)


def promoted(left: Any, right: Any, *, always: bool) -> DataType | None:
    """Returns the float type of a product or quotient of integers with floats; None for that of the first tensor.

    Args:
        left: a tensor or a number.
        right: a tensor or a number.
        always: whether integers alone give floats too.
    """
    tensors = [each for each in (left, right) if isinstance(each, Operand)]
    if tensors[0].dtype.element.is_float:
        return None
    if len(tensors) > 1 and tensors[1].dtype.element.is_float:
        return DataType.BFLOAT16 if tensors[1].dtype.element.is_block_float else tensors[1].dtype
    fraction = any(isinstance(each, float) for each in (left, right))
    return DataType.FLOAT32 if always or fraction else None


def in_place(rule: Rule) -> Rule:
    """Returns the rule of a function whose result takes the place of its first operand."""
    names = parameters_of(rule)

    def changing(**values: Any) -> Step:
        operands = {
            f"input_tensor_{side}": next(
                each for name in (f"input_tensor_{side}", f"input_{side}") if (each := values.get(name)) is not None
            )
            for side in "ab"
        }
        values |= operands | {"output_tensor": operands["input_tensor_a"], "input_b": None}
        return rule(**{name: values.get(name) for name in names})

    changing.__doc__ = rule.__doc__
    return changing


IN_PLACE_PARAMETERS = ("input_tensor_a", "input_a", "input_tensor_b", "input_b")
_WITH_IN_PLACE_FORM = (
    *("add", "subtract", "sub", "multiply", "mul", "divide", "div", "eq", "ne", "lt", "le", "gt", "ge"),
    *("logical_and", "logical_or", "logical_xor"),
)
"""Functions that also exist with a final underscore, which write to their first operand."""


def pair(
    op: str,
    left: Any,
    right: Any,
    dtype: DataType | None,
    memory: MemoryConfig | None,
    output: Operand | None,
    attributes: dict[str, Any],
) -> Step:
    """Returns the step of an op of two tensors, one of which may be a number."""
    tensors = [required(each, op) for each in (left, right) if isinstance(each, Operand)]
    first = tensors[0]
    lhs, rhs = (each if isinstance(each, Operand) else number(op, each, first.type) for each in (left, right))
    shape = broadcast(lhs.type.shape, rhs.type.shape, op)
    if output is not None and list(output.shape) != list(shape):
        raise TTFatal(
            f"Shape of Output tensor {output.shape} provided does not match the broadcasted output shape {shape}",
            hint="Make the tensor that receives the result with this shape.",
        )
    if output is not None and all(each.layout is Layout.ROW_MAJOR for each in tensors):
        raise TTFatal(
            "Optional output tensor with Row Major input is not supported right now for Elementwise operations",
            hint="Convert the tensors with ttnn.to_layout(tensor, ttnn.TILE_LAYOUT).",
        )
    result = first.type if output is None else output.type
    if output is None:
        layout = next((each.layout for each in tensors if each.layout is Layout.TILE), None)
        memory = chosen_shards.for_elements(memory, shape, layout or first.layout, tensors)
        memory = memory or common_memory(tensors, shape)
        result = first.type.with_(shape=shape, dtype=dtype, layout=layout, memory=memory)
    return Step(op, {"lhs": lhs, "rhs": rhs}, [result], attributes, into=output)


_PREFERRED = (
    *(TensorMemoryLayout.BLOCK_SHARDED, TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.WIDTH_SHARDED),
    TensorMemoryLayout.ND_SHARDED,
)
"""Ways to shard a result whose operands are sharded in several, in the order in which TT-NN takes them."""


def common_memory(tensors: Sequence[Operand], shape: Sizes) -> MemoryConfig:
    """Returns the memory of a result of several tensors: that of a sharded one, its shards resized for the result's
    shape, else that of the first tensor. Blocks come before rows, and these before columns.
    A first tensor in L1 without shards keeps the result there."""
    first = tensors[0].memory
    if first.buffer_type is BufferType.L1 and not first.is_sharded():
        return first
    sharded = [each for each in tensors if each.memory.is_sharded()]
    sharded = min(sharded, key=lambda each: _PREFERRED.index(each.memory.memory_layout), default=None)
    if sharded is None or sharded.memory.shard_spec is None:
        return tensors[0].memory
    if list(sharded.shape) == list(shape):
        return sharded.memory
    return shards.resized(sharded.memory, sharded.shape, shape, sharded.layout)


_CUTS_NUMBERS = ("ttnn.floor_div", "ttnn.full", "ttnn.lerp", "ttnn.mac", "ttnn.where")
"""Ops that take the first 16 bits of a float32 number beside bfloat16; the others round it."""

_IN_FLOAT32 = ("ttnn.modulo", "ttnn.prelu", "ttnn.remainder")
"""Ops that take a number in float32, whatever the tensor's type."""


def number(op: str, value: float, like: Type) -> Scalar:
    """Returns a number that takes the place of a tensor.

    It has the tensor's type, but bfloat16 beside block floats, and float32 if it is no integer beside integers. Which
    ops cut or keep float32 was found with TT-NN 0.81 on Tenstorrent's functional simulator.
    """
    dtype = DataType.BFLOAT16 if like.dtype.element.is_block_float else like.dtype
    is_whole = not dtype.element.is_float and isinstance(value, int)
    if not is_whole and (not dtype.element.is_float or op in _IN_FLOAT32):
        dtype = DataType.FLOAT32
    return Scalar(as_taken(op, value, dtype), type_of((), dtype, Layout.ROW_MAJOR, on_device=False))


def as_taken(op: str, value: float, dtype: DataType) -> float:
    """Returns a number as an op takes it: cut to bfloat16 by some of those that write it."""
    if dtype is not DataType.BFLOAT16 or op not in _CUTS_NUMBERS:
        return value
    import numpy

    pattern = numpy.float32(value).view(numpy.uint32)
    return float(numpy.uint32(pattern & 0xFFFF0000).view(numpy.float32))


for _name, _op in _BINARY.items():
    define(f"ttnn.{_name}", _binary(_op))

for _name in _WITH_IN_PLACE_FORM:
    define(f"ttnn.{_name}_", in_place(_binary(_BINARY[_name])), (*IN_PLACE_PARAMETERS, *ACTIVATIONS))


@operation("ttnn.pow")
def power(
    input_tensor: Any,
    exponent: Any,
    dtype: DataType | None,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Raises elements to a power."""
    if isinstance(input_tensor, Operand) and not isinstance(exponent, Operand):
        result = input_tensor.type.with_(memory=memory_config)
        return Step("ttnn.pow_scalar", {"lhs": input_tensor}, [result], {"rhs": exponent}, into=output_tensor)
    return pair("ttnn.pow_tensor", input_tensor, exponent, dtype, memory_config, output_tensor, {})


@operation("ttnn.where")
def where(
    predicate: Operand,
    true_value: Any,
    false_value: Any,
    memory_config: MemoryConfig | None,
    output_tensor: Operand | None,
) -> Step:
    """Takes elements of one tensor where the predicate is not 0, and of another where it is."""
    given = [each for each in (true_value, false_value) if isinstance(each, Operand)]
    tensor = given[0] if given else predicate
    values = (true_value, false_value)
    chosen = [each if isinstance(each, Operand) else number("ttnn.where", each, tensor.type) for each in values]
    shape = predicate.shape
    for each in chosen:
        shape = broadcast(shape, each.type.shape, "ttnn.where")
    tensors = [each for each in (predicate, true_value, false_value) if isinstance(each, Operand)]
    memory = chosen_shards.for_elements(memory_config, shape, tensor.layout, tensors)
    if len(given) == 1 and not tensor.memory.is_sharded():
        memory = memory or tensor.memory  # beside a number, the tensor that is chosen decides, and not the predicate
    memory = memory or common_memory(tensors, shape)
    layout = next((each.layout for each in tensors if each.layout is Layout.TILE), None)
    result = tensor.type.with_(shape=shape, memory=memory, layout=layout)
    operands = {"first": predicate, "second": chosen[0], "third": chosen[1]}
    return Step("ttnn.where", operands, [result], into=output_tensor)


def _clamped_as_floats(
    bounds: Mapping[str, float | None], memory: MemoryConfig | None, into: Operand | None, tensors: Sequence[Any]
) -> Any:
    """Limits integers to a range of numbers with a point."""
    with unrefused():
        floats = OPERATIONS["ttnn.typecast"](tensors[0], DataType.FLOAT32, memory_config=memory)
        result = OPERATIONS["ttnn.clamp"](floats, **bounds, memory_config=memory)
        return result if into is None else OPERATIONS["ttnn.copy"](result, tensors[into.index])


@operation("ttnn.clamp", "ttnn.clip")
def clamp(
    input_tensor: Operand, min: Any, max: Any, memory_config: MemoryConfig | None, output_tensor: Operand | None
) -> Step | Calls:
    """Limits elements to a range; integers by numbers with a point become float32."""
    if min is None and max is None:
        raise TTFatal(
            "Only one of 'min' or 'max' can be None. Please provide one value", hint="Pass min, max, or both."
        )
    kinds = {type(each) for each in (min, max) if isinstance(each, (int, float))}
    if input_tensor.dtype is DataType.INT32 and float in kinds:
        if len(kinds) > 1:
            raise TTFatal("std::get: wrong index for variant", hint="Pass two whole numbers, or two with a point.")
        return Calls(functools.partial(_clamped_as_floats, {"min": min, "max": max}, memory_config, output_tensor))
    result = input_tensor.type.with_(memory=memory_config)
    if isinstance(min, Operand) or isinstance(max, Operand):
        operands = {"input": input_tensor, "min": min, "max": max}
        return Step("ttnn.clamp_tensor", operands, [result], into=output_tensor)
    bounds = {"min": -float("inf") if min is None else min, "max": float("inf") if max is None else max}
    return Step("ttnn.clamp_scalar", {"input": input_tensor}, [result], bounds, into=output_tensor)
