"""Elementwise ops as TT-NN's kernels compute them.

A float32 operand makes the accumulator 32 bits wide, without one it has 16. Functions that :mod:`.functions` does not
know are computed by the emulated card's table and rounded as the vector unit rounds; denormals are zero, and the packer
makes an infinity of a NaN unless the result is float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bit_exact import angles, curves, fast_functions, functions, matrix_unit, powers, special
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.functions import negative
from tt_xla.runtime.emulator.bit_exact.padding import elementwise_kernel
from tt_xla.runtime.emulator.bit_exact.registers import integer_of_float, packed, source
from tt_xla.runtime.emulator.context import Call, Context
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.kernels import elementwise
from tt_xla.runtime.emulator.registry import kernels

Tensor = torch.Tensor
Functions = Sequence[Any]
"""Elementwise functions, each as the named fields of its ``#ttnn.unary_with_param``."""


_CURVES = curves.FUNCTIONS | fast_functions.FUNCTIONS | special.FUNCTIONS
_KNOWN = {**functions.FUNCTIONS, **angles.FUNCTIONS, **_CURVES}


_ON_PATTERNS = (
    *("ceil", "floor", "logical_not", "relu", "relu6", "rsqrt", "sign"),
    *("log_approx", "log10_approx", "log2_approx", "rsqrt_approx", "sqrt_approx", "xielu"),
)
"""Functions that look at bits before they compute, so that a denormal is no zero to them."""


_WITH_NUMBER = ("add_unary_sfpu", "mul_unary_sfpu", "sub_unary_sfpu")
"""Functions of an element and a float32 number, of whose results an accumulator of 16 bits keeps the first 16."""


def applied(name: str, x: Tensor, parameters: Sequence[float] = (), *, wide: bool) -> Tensor:
    """Returns the accumulator's values after a function of its contents.

    Args:
        name: the function's name in TT-NN.
        x: the accumulator, float32.
        parameters: parameters of the function.
        wide: whether the accumulator has 32 bits.
    """
    if name == "div_unary_sfpu":
        return sfpu.stored(_by_number(x, parameters[0]), wide=wide)
    function = [(("op_type", name), ("params", tuple(parameters)))]
    if name == "power":
        return sfpu.stored(powers.power(x, parameters[0], wide=wide), wide=wide)
    if name in _WITH_NUMBER:
        return sfpu.stored(elementwise.applied(x, function), wide=wide)
    known = _KNOWN.get(name)
    if known is not None and (name in _CURVES or not parameters):
        return sfpu.stored(known(x, *parameters, wide=wide), wide=wide)
    result = elementwise.applied(x, function)
    if not result.is_floating_point():
        return result.to(torch.float32)
    result = result.to(torch.float32)
    result = torch.where(result.isnan(), torch.nan, result)
    return sfpu.stored(result if wide else sfpu.to_bfloat16(result), wide=wide)


def _by_number(x: Tensor, divisor: float) -> Tensor:
    """Returns a quotient by a number: TT-NN multiplies by the number's inverse, which its host rounds to float32."""
    return sfpu.multiply(x, float(torch.tensor(divisor, dtype=torch.float32, device="cpu").reciprocal()))


def _unary(name: str) -> Callable[..., Tensor]:
    def run(ctx: Context, input: Tensor) -> Tensor:
        if not input.is_floating_point():
            return otherwise(ctx, {})(input)
        wide = ctx.spec("input").layout.dtype is DataType.F32
        return result_of(ctx, applied(name, loaded(input, keeps_denormals=name in _ON_PATTERNS), wide=wide))

    return run


def loaded(tensor: Tensor, *, keeps_denormals: bool = False) -> Tensor:
    """Returns an operand as the vector unit reads it. A NaN is positive, as TT-NN's host makes it."""
    number = tensor.to(torch.float32)
    number = torch.where(number.isnan(), torch.nan, number)
    return number if keeps_denormals else sfpu.stored(number, wide=True)


def broadcast_by_packer(ctx: Context, lhs: Tensor, rhs: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the operands of an op as its kernel reads them, once a row or a column of one is repeated.

    The matrix unit repeats a row or a column of 16-bit numbers and block floats, and the packer writes the tile, which
    makes an infinity of a NaN (``is_llk_bcast`` and ``unary_bcast``). Of a row and a column it repeats the row.
    """
    types = types_of(ctx)
    narrow = len(types) == 1 and not types & {DataType.F32} and ctx.dtype is not DataType.F32
    tiled = all(spec.layout.tiled for spec in ctx.operands.values() if isinstance(spec, TensorSpec))
    if not (narrow and tiled and lhs.is_floating_point() and rhs.is_floating_point() and lhs.ndim and rhs.ndim):
        return lhs, rhs
    (rows, columns), (other_rows, other_columns) = ((1, *each.shape)[-2:] for each in (lhs, rhs))
    first, second = rows < other_rows, other_rows < rows
    if not (first and columns > other_columns) and not (second and other_columns > columns):
        first, second = first or columns < other_columns, second or other_columns < columns
    lhs = packed(loaded(lhs), *types).to(lhs.dtype) if first else lhs
    rhs = packed(loaded(rhs), *types).to(rhs.dtype) if second else rhs
    return lhs, rhs


def result_of(ctx: Context, accumulator: Tensor) -> Tensor:
    """Returns the packed values. The kernel converts to integers before, as a conversion of types does."""
    if not ctx.dtype.is_float:
        return integer_of_float(accumulator.to(torch.float64), ctx.dtype).to(ctx.container)
    return packed(accumulator, ctx.dtype).to(ctx.container)


def in_float32(ctx: Context) -> bool:
    """Returns whether an operand or the result is float32, which makes the accumulator 32 bits wide."""
    types = {spec.layout.dtype for spec in ctx.operands.values() if isinstance(spec, TensorSpec)}
    return DataType.F32 in (*types, ctx.dtype)


def otherwise(ctx: Context, attributes: dict[str, Any]) -> Call:
    """Returns the kernel of the other numerics."""
    definition = kernels()[ctx.op]
    if definition.prepared:
        return definition.function(ctx, **attributes)
    return functools.partial(definition.function, ctx, **attributes)


_DEFINED = [f"ttnn.{name}" for name, function in FUNCTIONS.items() if function.is_op and name != "bitwise_not"]
for _name in _DEFINED:
    elementwise_kernel(_name)(_unary(_name.removeprefix("ttnn.")))


@elementwise_kernel(*(f"ttnn.{name}" for name in (*_CURVES, "gelu_tanh") if f"ttnn.{name}" not in _DEFINED))
def curve(ctx: Context, input: Tensor, params: Sequence[float] = ()) -> Tensor:
    """A function that is no elementwise op of compiled programs, with its parameters."""
    if not input.is_floating_point():
        return otherwise(ctx, {"params": params} if params else {})(input)
    name, wide = ctx.op.removeprefix("ttnn."), ctx.spec("input").layout.dtype is DataType.F32
    return result_of(ctx, applied(name, loaded(input, keeps_denormals=name in _ON_PATTERNS), params, wide=wide))


def total(a: Tensor, b: Tensor, *, wide: bool = False) -> Tensor:
    """Returns a sum of the matrix unit as the accumulator holds it."""
    return matrix_unit.add(source(a, wide=True), source(b, wide=True), wide=wide)


def difference(a: Tensor, b: Tensor, *, wide: bool = False) -> Tensor:
    """Returns a difference of the matrix unit as the accumulator holds it."""
    return total(a, functions.negative(b), wide=wide)


def product_of_matrix_unit(a: Tensor, b: Tensor, *, wide: bool) -> Tensor:
    """Returns a product of the matrix unit, in HiFi4, as the accumulator holds it."""
    phases = matrix_unit.PHASES["hifi4"]
    return matrix_unit.multiply(source(a, wide=True), source(b, wide=True), phases=phases, wide=wide)


_BY_MATRIX_UNIT: dict[str, Callable[..., Tensor]] = {
    "ttnn.add": total,
    "ttnn.divide": product_of_matrix_unit,
    "ttnn.multiply": product_of_matrix_unit,
    "ttnn.subtract": difference,
}
"""Functions of two operands and the width of the accumulator. The divisor is inverted before."""


def short_product(a: Tensor, b: Tensor) -> Tensor:
    """Returns a product of the vector unit, rounded to nearest even; that with a positive zero is zero
    (``calculate_sfpu_binary_mul``)."""
    a, b = torch.broadcast_tensors(a, b)
    zero = (sfpu.bits(a) == 0) | (sfpu.bits(b) == 0)
    product = sfpu.stored(a, wide=True) * sfpu.stored(b, wide=True)
    return torch.where(zero, 0.0, sfpu.to_nearest_even(product))


_ON_16_BITS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "ttnn.add": lambda a, b: sfpu.to_nearest_even(a + b),
    "ttnn.divide": functions.quotient_of_bfloat16,
    "ttnn.multiply": short_product,
    "ttnn.subtract": lambda a, b: sfpu.to_nearest_even(a - b),
}
_ON_32_BITS = {
    "ttnn.add": torch.add,
    "ttnn.divide": functions.quotient,
    "ttnn.multiply": sfpu.multiply,
    "ttnn.subtract": torch.sub,
}


def _by_matrix_unit(ctx: Context, fast: bool | None) -> bool:
    """Returns whether the matrix unit computes a function of two operands (``is_binary_sfpu_op``).

    Args:
        fast: whether it does by the call's mode; None for the one that TT-NN takes by itself, in which the matrix unit
            adds, subtracts, and multiplies block floats.
    """
    types = types_of(ctx)
    if types == {DataType.F32}:
        return False
    multiplies = ctx.op == "ttnn.multiply" and any(dtype.is_block_float for dtype in types)
    return (multiplies or ctx.op in ("ttnn.add", "ttnn.subtract")) if fast is None else fast


@elementwise_kernel("ttnn.add", "ttnn.divide", "ttnn.subtract", "ttnn.multiply")
def binary(
    ctx: Context,
    lhs: Tensor,
    rhs: Tensor,
    activations: Functions = (),
    input_tensor_a_activations: Functions = (),
    input_tensor_b_activations: Functions = (),
    fast_and_approximate_mode: bool | None = None,
) -> Tensor:
    """The matrix unit adds bfloat16 and block floats, and multiplies block floats; the vector unit multiplies bfloat16,
    divides, and computes with float32. Another mode than TT-NN's own takes the other unit."""
    attributes = {
        "activations": activations,
        "input_tensor_a_activations": input_tensor_a_activations,
        "input_tensor_b_activations": input_tensor_b_activations,
    }
    of_integers = not lhs.is_floating_point() or not rhs.is_floating_point()
    if of_integers and not (ctx.op == "ttnn.divide" and ctx.dtype is DataType.F32):
        modes = [dict(item)["op_type"] for item in activations]
        if ctx.op == "ttnn.divide" and modes in (["floor"], ["trunc"]):
            return functions.rounded_quotient(lhs, rhs, modes[0]).to(ctx.container)
        return otherwise(ctx, attributes)(lhs, rhs)
    wide = of_integers or in_float32(ctx)
    by_matrix_unit = not of_integers and _by_matrix_unit(ctx, fast_and_approximate_mode)
    if by_matrix_unit and ctx.op == "ttnn.divide":
        input_tensor_b_activations = (*input_tensor_b_activations, {"op_type": "recip"})
    lhs, rhs = broadcast_by_packer(ctx, lhs, rhs)
    a, b = (
        source(loaded(each), wide=True) if by_matrix_unit else _read(ctx, each, ctx.operands[name], wide=wide)
        for name, each in (("lhs", lhs), ("rhs", rhs))
    )
    a = _with_functions(a, input_tensor_a_activations, ctx.operands["lhs"], wide=wide)
    b = _with_functions(b, input_tensor_b_activations, ctx.operands["rhs"], wide=wide)
    if not lhs.is_floating_point() and not rhs.is_floating_point():
        a, b = torch.broadcast_tensors(lhs, rhs)
        compute = functions.quotient_of_integers
    elif by_matrix_unit:
        compute = functools.partial(_BY_MATRIX_UNIT[ctx.op], wide=wide)
    else:
        compute = (_ON_32_BITS if wide else _ON_16_BITS)[ctx.op]
    result = sfpu.stored(compute(a, b), wide=True)
    result = torch.where(result.isnan(), torch.nan, result)
    for item in activations:
        result = _applied(dict(item), result, wide=wide)
    if lhs.dtype is torch.float32 and ctx.dtype is DataType.BF16:
        result = sfpu.to_nearest_even(result)  # as a conversion of the first operand's type rounds
    return result_of(ctx, result)


@elementwise_kernel("ttnn.tril", "ttnn.triu")
def triangle(ctx: Context, input: Tensor, diagonal: int = 0) -> Tensor:
    """A triangle of each matrix: TT-NN multiplies by a tensor of ones and zeros (``_tril`` and ``_triu``)."""
    if not input.is_floating_point():
        return otherwise(ctx, {"diagonal": diagonal})(input)
    mask = otherwise(ctx, {"diagonal": diagonal})(torch.ones_like(input))
    spec = ctx.spec("input")
    product = Context("ttnn.multiply", ctx.numerics, {"lhs": spec, "rhs": spec}, ctx.results, ctx.grid)
    return binary(product, input, mask)


def types_of(ctx: Context) -> set[DataType]:
    """Returns the data types of the tensors among the operands. The matrix unit adds tensors of different ones.

    An operand without dimensions is a number where another one has some.
    """
    specs = [spec for spec in ctx.operands.values() if isinstance(spec, TensorSpec)]
    return {spec.layout.dtype for spec in [spec for spec in specs if spec.shape] or specs}


@elementwise_kernel("ttnn.squared_difference")
def squared_difference(ctx: Context, lhs: Tensor, rhs: Tensor, **functions_of_operands: Functions) -> Tensor:
    """The vector unit squares the matrix unit's difference of bfloat16 and block floats."""
    if not lhs.is_floating_point() or not rhs.is_floating_point() or functions_of_operands:
        return otherwise(ctx, {})(lhs, rhs, **functions_of_operands)
    lhs, rhs = broadcast_by_packer(ctx, lhs, rhs)
    wide = in_float32(ctx)
    if types_of(ctx) == {DataType.F32}:
        distance = sfpu.add(*torch.broadcast_tensors(loaded(lhs), negative(loaded(rhs))))
    else:
        distance = sfpu.stored(difference(loaded(lhs), loaded(rhs), wide=wide), wide=True)
    square = sfpu.multiply(distance, distance) if wide else sfpu.to_nearest_even(distance * distance)
    return result_of(ctx, square)


@elementwise_kernel("ttnn.hardswish")
def hardswish(ctx: Context, input: Tensor) -> Tensor:
    """The matrix unit multiplies a 16-bit number and its hardsigmoid, and the vector unit float32 ones."""
    if not input.is_floating_point():
        return otherwise(ctx, {})(input)
    x, wide = loaded(input), ctx.spec("input").layout.dtype is DataType.F32
    factor = sfpu.stored(functions.hardsigmoid(x, wide=wide), wide=wide)
    if wide:
        return result_of(ctx, sfpu.multiply(factor, x))
    return result_of(ctx, product_of_matrix_unit(factor, x, wide=False))


@elementwise_kernel("ttnn.trunc")
def trunc(ctx: Context, input: Tensor) -> Tensor:
    """Zeros lose their sign in the packer, and a NaN becomes an infinity."""
    if not input.is_floating_point():
        return otherwise(ctx, {})(input)
    whole = torch.trunc(loaded(input))
    return result_of(ctx, torch.where(whole.isnan(), torch.nan, whole))


@elementwise_kernel("ttnn.threshold")
def threshold(ctx: Context, input: Tensor, params: Sequence[float]) -> Tensor:
    """A number takes the place of small elements; an accumulator of 16 bits keeps the first 16 of its bits."""
    x, wide = loaded(input), ctx.spec("input").layout.dtype is DataType.F32
    least, value = params
    return result_of(ctx, sfpu.stored(torch.where(x > least, x, value), wide=wide))


@elementwise_kernel("ttnn.prelu")
def prelu(ctx: Context, lhs: Tensor, rhs: Tensor, **functions_of_operands: Functions) -> Tensor:
    """The vector unit multiplies by a float32 slope; an accumulator of 16 bits keeps the first 16."""
    is_number = lhs.is_floating_point() and rhs.ndim == 0 and not functions_of_operands
    if not is_number:
        return otherwise(ctx, functions_of_operands)(lhs, rhs)
    return _with_slope(ctx, lhs, ctx.spec("lhs"), loaded(rhs))


@elementwise_kernel("ttnn.heaviside")
def heaviside(ctx: Context, input: Tensor, params: Sequence[float]) -> Tensor:
    """One where the sign bit is clear, which it is of a NaN, zero where it is set, and the parameter of zeros."""
    if not input.is_floating_point():
        return otherwise(ctx, {"params": params})(input)
    x = loaded(input, keeps_denormals=True)
    chosen = torch.where(x == 0, sfpu.single(params[0]), torch.where(x.signbit(), 0.0, 1.0))
    return result_of(ctx, sfpu.stored(chosen, wide=ctx.spec("input").layout.dtype is DataType.F32))


@elementwise_kernel("ttnn.leaky_relu")
def leaky_relu(ctx: Context, input: Tensor, parameter: float) -> Tensor:
    """A number, or the product of a negative one with a slope in float32."""
    if not input.is_floating_point():
        return otherwise(ctx, {"parameter": parameter})(input)
    return _with_slope(ctx, input, ctx.spec("input"), sfpu.single(parameter))


def _with_slope(ctx: Context, tensor: Tensor, spec: TensorSpec, slope: sfpu.Operand) -> Tensor:
    """Returns numbers, or products where the sign bit is set, as the packer writes them."""
    x, wide = loaded(tensor), spec.layout.dtype is DataType.F32
    return result_of(ctx, sfpu.stored(torch.where(x.signbit(), sfpu.multiply(x, slope), x), wide=wide))


def _addcmul(a: Tensor, b: Tensor, c: Tensor, value: float = 1.0) -> Tensor:
    return sfpu.mad(sfpu.multiply(b, sfpu.single(value)), c, a)


def _lerp(start: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    return sfpu.mad(end - start, weight, start)


_MULTIPLY_ADDS: dict[str, tuple[Callable[..., Tensor], Callable[[Tensor], Tensor]]] = {
    "ttnn.addcmul": (_addcmul, sfpu.to_bfloat16),
    "ttnn.lerp": (_lerp, sfpu.to_nearest_even),
    "ttnn.mac": (sfpu.mad, sfpu.to_bfloat16),
}
"""Function of three registers, and how its result is rounded for an accumulator of 16 bits."""


@elementwise_kernel(*_MULTIPLY_ADDS)
def multiply_add(ctx: Context, input: Tensor, **others: Any) -> Tensor:
    """A multiply-add of three tensors in float32. Beside floats the kernel takes the bits of an integer for those of a
    float, and gives them back if the first tensor has integers."""
    attributes = {name: value for name, value in others.items() if not isinstance(value, Tensor)}
    tensors = [input, *(value for value in others.values() if isinstance(value, Tensor))]
    if not any(tensor.is_floating_point() for tensor in tensors):
        return otherwise(ctx, attributes)(*tensors)
    function, rounded = _MULTIPLY_ADDS[ctx.op]
    result = function(*torch.broadcast_tensors(*map(_as_float, tensors)), **attributes)
    if not ctx.dtype.is_float:
        return sfpu.bits(result).to(ctx.container)
    is_wide = in_float32(ctx) or any(not tensor.is_floating_point() for tensor in tensors)
    return result_of(ctx, result if is_wide else rounded(result))


def _as_float(tensor: Tensor) -> Tensor:
    """Returns an operand as a float kernel reads it, which takes the bits of an integer for those of a float."""
    return loaded(tensor) if tensor.is_floating_point() else sfpu.stored(sfpu.number(tensor), wide=True)


@elementwise_kernel("ttnn.deg2rad", "ttnn.rad2deg")
def angle(ctx: Context, input: Tensor) -> Tensor:
    """A product with a constant, of which an accumulator of 16 bits keeps the first 16."""
    if not input.is_floating_point():
        return otherwise(ctx, {})(input)
    factor = math.pi / 180 if ctx.op == "ttnn.deg2rad" else 180 / math.pi
    wide = ctx.spec("input").layout.dtype is DataType.F32
    return result_of(ctx, sfpu.stored(sfpu.multiply(loaded(input), factor), wide=wide))


@elementwise_kernel("ttnn.atan2")
def atan2(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    wide = DataType.F32 in {ctx.spec("lhs").layout.dtype, ctx.spec("rhs").layout.dtype}
    lhs, rhs = broadcast_by_packer(ctx, lhs, rhs)
    angle = angles.atan2(loaded(lhs), loaded(rhs), wide=wide)
    return result_of(ctx, sfpu.stored(angle, wide=wide))


def _read(ctx: Context, tensor: Tensor, spec: Any, *, wide: bool) -> Tensor:
    """Returns an operand as the vector unit reads it. Where the accumulator has 32 bits, numbers of 16 are as the
    packer would write them. A product looks at the bits of denormals."""
    number = loaded(tensor, keeps_denormals=ctx.op == "ttnn.multiply" and not wide)
    is_short = isinstance(spec, TensorSpec) and spec.layout.dtype is DataType.BF16
    return packed(number, DataType.BF16) if wide and is_short and tensor.is_floating_point() else number


def _with_functions(tensor: Tensor, items: Functions, spec: Any, *, wide: bool) -> Tensor:
    """Returns an operand after its functions, as the buffer between holds it, which has the operand's type."""
    result = tensor
    for item in items:
        result = _applied(dict(item), result, wide=wide)
    number = DataType.F32 if wide else DataType.BF16
    return packed(result, spec.layout.dtype if isinstance(spec, TensorSpec) else number) if items else result


def _applied(item: dict[str, Any], x: Tensor, *, wide: bool) -> Tensor:
    return applied(item["op_type"], x, tuple(item.get("params") or ()), wide=wide)
