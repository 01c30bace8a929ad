"""Gradients of functions of one tensor, composed of TT-NN's functions as TT-NN composes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api import hal
from tt_xla.ttnn_api.chosen_shards import for_elements
from tt_xla.ttnn_api.configs import UnaryWithParam, step
from tt_xla.ttnn_api.enums import GeluVariant, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.operation import OPERATIONS, Functions, Part, define, delivered
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor

INF, NAN = math.inf, math.nan

Gradient = Callable[[Functions, Tensor, Tensor], Tensor]
"""Takes the functions to compose, the gradient of the result, and the operand."""


def _infinite(f: Functions, grad: Tensor) -> Tensor:
    """Returns infinities with the signs of a gradient."""
    return f.multiply(f.sign(grad), INF)


def _zeros(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    return f.zeros_like(grad)


def _sqrt(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(grad, f.reciprocal(f.multiply(f.sqrt(x), 2.0)), dtype=x.dtype)
    result = f.where(f.lez(x), NAN, result)
    result = f.where(f.logical_and(f.eqz(x), f.ltz(grad)), -INF, result)
    return f.where(f.logical_and(f.eqz(x), f.gtz(grad)), INF, result)


def _rsqrt(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(f.multiply(grad, _chain(f, f.rsqrt(x), step("power", 3.0))), -0.5)
    result = f.where(f.ltz(x), NAN, result)
    return f.where(f.logical_and(f.eqz(x), f.eqz(grad)), NAN, result)


def _chain(f: Functions, x: Tensor, *steps: UnaryWithParam) -> Tensor:
    """Returns the result of functions that one kernel applies one after another."""
    return f.unary_chain(x, steps)


def _of_two(op: str) -> Part:
    """Returns the kernel of a gradient, which has the type of the operand."""

    def rule(grad: Operand, x: Operand, memory_config: MemoryConfig | None, **attributes: Any) -> Step:
        memory = for_elements(memory_config, x.shape, x.layout, [x]) or x.memory
        return Step(op, {"lhs": grad, "rhs": x}, [x.type.with_(memory=memory)], attributes)

    return Part(op, rule, named=("grad", "x", "memory_config", *(("approximate",) if "gelu" in op else ())))


_KERNELS = {name: _of_two(f"ttnn.{name}_bw") for name in ("gelu", "sigmoid", "tanh")}
"""Gradients that TT-NN computes in kernels of their own."""


def _by_kernel(name: str) -> Gradient:
    def gradient(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
        return f.apply(_KERNELS[name], grad, x)

    return gradient


def _silu(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    gate = f.sigmoid(x)
    slope = f.add(f.multiply(f.rsub(gate, 1.0), x), 1.0)
    return f.multiply(f.multiply(grad, gate), slope, dtype=x.dtype)


def _log_sigmoid(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    below = f.ltz(x)
    power = f.exp(f.neg(f.abs(x)))
    part = f.multiply(power, f.reciprocal(f.add(power, 1.0)))
    return f.multiply(grad, f.subtract(f.where(below, 1.0, 0.0), f.multiply(f.where(below, 1.0, -1.0), part)))


def _log(base: float) -> Gradient:
    def gradient(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
        if base == 1.0:
            at_zero = f.where(f.eqz(grad), NAN, _infinite(f, grad))
            return f.where(f.eqz(x), at_zero, f.multiply(grad, f.reciprocal(x)))
        infinite = f.where(f.ltz(grad), -INF, INF)
        result = f.multiply(grad, f.reciprocal(f.multiply(x, base)))
        return f.where(f.logical_and(f.eqz(x), f.eqz(grad)), NAN, f.where(f.eqz(x), infinite, result))

    return gradient


def _log1p(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    shifted = f.add(x, 1.0)
    result = f.multiply(grad, f.reciprocal(shifted))
    result = f.where(f.eq(x, -1.0), f.where(f.ltz(grad), -INF, INF), result)
    return f.where(f.logical_and(f.eqz(shifted), f.eqz(grad)), NAN, result)


def _acosh(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    squared = f.square(x)
    result = f.multiply(grad, f.rsqrt(f.subtract(squared, 1.0)))
    negative = f.multiply(f.signbit(grad), -1.0)
    signed = f.multiply(f.add(negative, f.eqz(negative)), hal.INFINITY)
    outside = f.logical_or(f.lt(squared, 1.0), f.logical_and(f.eq(x, 1.0), f.eqz(grad)))
    edge = f.logical_and(f.le(x, 1.0), f.ge(x, -1.0))
    return f.where(outside, hal.NOT_A_NUMBER, f.where(edge, signed, result))


def _between(f: Functions, x: Tensor, result: Tensor, at_edge: Tensor) -> Tensor:
    """Returns ``result`` within -1 and 1, ``at_edge`` at both of them, and NaN outside."""
    outside = f.logical_or(f.lt(x, -1.0), f.gt(x, 1.0))
    result = f.where(outside, NAN, result)
    return f.where(f.eq(x, -1.0), at_edge, f.where(f.eq(x, 1.0), at_edge, result))


def _acos(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    root = f.rsqrt(f.add(f.multiply(f.neg(x), x), 1.0))
    return _between(f, x, f.multiply(grad, f.neg(root)), f.multiply(f.sign(grad), -INF))


def _asin(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    root = _chain(f, x, step("square"), step("neg"), step("add_unary_sfpu", 1.0), step("rsqrt"))
    less, more = f.add(x, -1.0), f.add(x, 1.0)
    result = f.where(f.eqz(less), _infinite(f, grad), f.multiply(grad, root))
    result = f.where(f.gtz(less), NAN, f.where(f.eqz(more), _infinite(f, grad), result))
    return f.where(f.ltz(more), NAN, result)


def _atanh(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(grad, _chain(f, x, step("square"), step("sub_unary_sfpu", 1.0), step("neg"), step("recip")))
    edge = f.logical_or(f.eq(x, 1.0), f.eq(x, -1.0))
    result = f.where(f.logical_and(edge, f.eqz(grad)), NAN, result)
    result = f.where(f.logical_and(edge, f.nez(grad)), INF, result)
    return f.where(f.logical_and(f.eq(result, INF), f.ltz(grad)), -INF, result)


def _bounded(f: Functions, result: Tensor) -> Tensor:
    """Replaces numbers that are nearly the greatest ones by infinities."""
    return f.where(f.ge(result, 3.4e38), INF, f.where(f.le(result, -3.4e38), -INF, result))


def _logit(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(grad, f.reciprocal(f.multiply(x, f.rsub(x, 1.0))))
    inside = f.logical_and(f.ge(x, 0.0), f.le(x, 1.0))
    edge = f.logical_or(f.eq(x, 0.0), f.eq(x, 1.0))
    return f.where(edge, _infinite(f, grad), f.where(inside, result, NAN))


def _logiteps(f: Functions, grad: Tensor, x: Tensor, eps: float) -> Tensor:
    result = f.multiply(grad, f.reciprocal(f.multiply(x, f.rsub(x, 1.0))))
    outside = f.logical_or(f.lt(x, eps), f.gt(x, 1.0 - eps))
    edge = f.logical_or(f.eq(x, 0.0), f.eq(x, 1.0))
    at_edge = f.where(f.ltz(f.full_like(x, eps)), NAN, 0.0)
    return f.where(f.eq(outside, 1.0), at_edge, f.where(edge, _infinite(f, grad), result))


def _hardswish(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    middle = f.multiply(grad, f.add(f.multiply(x, 0.3333), 0.5))
    return f.where(f.lt(x, -3.0), 0.0, f.where(f.le(x, 3.0), middle, grad))


def _hardsigmoid(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    return f.where(f.logical_or(f.le(x, -3.0), f.ge(x, 3.0)), 0.0, Functions().multiply(grad, 1 / 6))


def _selu(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    scaled = f.multiply(grad, 1.0507)
    return f.where(f.gtz(x), scaled, f.multiply(f.multiply(scaled, 1.67326), f.exp(x)))


def _reciprocal(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    infinite = f.multiply(grad, -INF, input_tensor_a_activations=[step("sign")])
    before = [step("square"), step("recip")]
    result = f.multiply(grad, x, input_tensor_a_activations=[step("neg")], input_tensor_b_activations=before)
    return f.where(f.eqz(x), f.where(f.eqz(grad), NAN, infinite), result)


def _digamma(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(grad, f.polygamma(x, 1))
    result = f.where(f.logical_and(f.eqz(x), f.eqz(grad)), NAN, result)
    result = f.where(f.logical_and(f.eqz(x), f.ltz(grad)), -INF, result)
    return f.where(f.logical_and(f.eqz(x), f.gtz(grad)), INF, result)


def _polygamma(f: Functions, grad: Tensor, x: Tensor, n: int) -> Tensor:
    infinite = INF if n % 2 == 0 else -INF
    result = f.multiply(grad, f.polygamma(x, n + 1))
    result = f.where(f.logical_and(f.le(x, 0.0), f.eqz(grad)), NAN, result)
    result = f.where(f.logical_and(f.eqz(x), f.gtz(grad)), infinite, result)
    return f.where(f.logical_and(f.eqz(x), f.ltz(grad)), -infinite, result)


def _multigammaln(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    result = f.multiply(grad, f.digamma(x))
    for shift in (-0.5, -1.0, -1.5):
        result = f.add(result, f.multiply(grad, f.digamma(f.add(x, shift))))
    return result


def _erf(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    before = [step("square"), step("neg"), step("exp")]
    return f.multiply(f.multiply(x, grad, input_tensor_a_activations=before), 2 / math.sqrt(math.pi))


def _erfinv(f: Functions, grad: Tensor, x: Tensor) -> Tensor:
    before = [step("erfinv"), step("square"), step("exp")]
    result = f.multiply(f.multiply(x, grad, input_tensor_a_activations=before), math.sqrt(math.pi) * 0.5)
    infinite = f.multiply(grad, INF, input_tensor_a_activations=[step("sign")])
    result = f.where(f.logical_or(f.lt(x, -1.0), f.gt(x, 1.0)), NAN, result)
    return f.where(f.eq(f.abs(x), 1.0), infinite, result)


def _softplus(f: Functions, grad: Tensor, x: Tensor, beta: float, threshold: float) -> Tensor:
    scaled = f.multiply(x, beta)
    return f.where(f.gt(scaled, threshold), grad, f.multiply(grad, f.sigmoid(scaled)))


def _pow(f: Functions, grad: Tensor, x: Tensor, exponent: float) -> Tensor:
    if exponent < 0:
        raise TTFatal("negative exponents are not supported; use recip(pow(input,abs(exponent)))", hint="")
    if exponent == 0:
        return f.zeros_like(x)
    power = f.pow(x, abs(exponent - 1.0))
    if exponent < 1:
        power = f.reciprocal(power)
    return f.where(f.lez(x), INF, f.multiply(f.multiply(power, exponent), grad))


def _rpow(f: Functions, grad: Tensor, x: Tensor, exponent: float) -> Tensor:
    """Returns the gradient of ``x ** exponent``, as TT-NN does, although the function computes ``exponent ** x``."""
    if exponent == 0:
        return f.zeros_like(x)
    result = f.multiply(grad, f.multiply(f.pow(x, exponent - 1), exponent))
    return f.where(f.ltz(x), NAN, result)


def _rdiv(f: Functions, grad: Tensor, x: Tensor, scalar: float, rounding_mode: str | None) -> Tensor:
    if rounding_mode not in (None, "trunc", "floor"):
        raise TTFatal(
            "Incorrect rounding mode (expected None, 'trunc', or 'floor')", hint="Pass one of these rounding modes."
        )
    if rounding_mode is not None:
        return f.zeros_like(grad)
    inverse = f.reciprocal(x)
    result = f.multiply(f.neg(grad), f.multiply(f.multiply(inverse, scalar), inverse))
    result = f.where(f.nez(x), result, NAN)
    if scalar:
        infinite = math.copysign(INF, scalar)
        result = f.where(f.logical_and(f.eqz(x), f.ltz(grad)), infinite, result)
        result = f.where(f.logical_and(f.eqz(x), f.gtz(grad)), -infinite, result)
    return result


def _div_no_nan(f: Functions, grad: Tensor, x: Tensor, scalar: float) -> Tensor:
    if not scalar:
        return f.zeros_like(grad)
    return f.where(f.eq(f.full_like(x, scalar), 0.0), 0.0, f.multiply(grad, 1 / scalar))


def _clamp(f: Functions, grad: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    if low is None and high is None:
        raise TTFatal(
            "Only one of 'min' or 'max' can be None. Please provide one value", hint="Pass min, max, or both."
        )
    if high is None:
        return f.where(f.ge(x, low), grad, 0.0)
    if low is None:
        return f.where(f.le(x, high), grad, 0.0)
    f = f.with_default(x.memory_config())
    return f.where(f.logical_and(f.ge(x, low), f.le(x, high)), grad, 0.0)


def gelu_gradient(f: Functions, grad: Tensor, x: Tensor, variant: GeluVariant) -> Tensor:
    """Returns the gradient of gelu: of its approximation by tanh for ``GeluVariant.Tanh``."""
    approximate = "tanh" if variant is GeluVariant.Tanh else "none"
    return f.apply(_KERNELS["gelu"], grad, x, approximate=approximate)


UNARY: dict[str, Gradient] = {
    "abs": lambda f, g, x: f.multiply(g, f.sign(x)),
    "acos": _acos,
    "acosh": _acosh,
    "asin": _asin,
    "asinh": lambda f, g, x: f.multiply(g, _chain(f, x, step("square"), step("add_unary_sfpu", 1.0), step("rsqrt"))),
    "atan": lambda f, g, x: f.multiply(g, _chain(f, x, step("square"), step("add_unary_sfpu", 1.0), step("recip"))),
    "atanh": _atanh,
    "ceil": _zeros,
    "cos": lambda f, g, x: f.multiply(g, f.neg(f.sin(x))),
    "cosh": lambda f, g, x: _bounded(f, f.multiply(g, f.sinh(x))),
    "deg2rad": lambda f, g, x: f.multiply(g, math.pi / 180),
    "digamma": _digamma,
    "erf": _erf,
    "erfc": lambda f, g, x: f.multiply(f.multiply(f.exp(f.neg(f.square(x))), g), -2 / math.sqrt(math.pi)),
    "erfinv": _erfinv,
    "exp": lambda f, g, x: f.multiply(g, f.exp(x), dtype=x.dtype),
    "exp2": lambda f, g, x: f.multiply(g, f.multiply(f.exp2(x), math.log(2))),
    "expm1": lambda f, g, x: f.multiply(g, f.exp(x)),
    "fill": _zeros,
    "fill_zero": _zeros,
    "floor": _zeros,
    "frac": lambda f, g, x: g,
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
    "i0": lambda f, g, x: f.multiply(g, f.i1(x)),
    "lgamma": lambda f, g, x: f.multiply(g, f.digamma(x)),
    "log": _log(1.0),
    "log10": _log(math.log(10)),
    "log1p": _log1p,
    "log2": _log(math.log(2)),
    "log_sigmoid": _log_sigmoid,
    "logit": _logit,
    "multigammaln": _multigammaln,
    "neg": lambda f, g, x: f.neg(g),
    "rad2deg": lambda f, g, x: f.multiply(g, 180 / math.pi),
    "reciprocal": _reciprocal,
    "relu": lambda f, g, x: f.where(f.gtz(x), g, 0.0),
    "relu6": lambda f, g, x: f.where(f.logical_and(f.gtz(x), f.lt(x, 6.0)), g, 0.0),
    "round": _zeros,
    "rsqrt": _rsqrt,
    "selu": _selu,
    "sigmoid": _by_kernel("sigmoid"),
    "sign": _zeros,
    "silu": _silu,
    "sin": lambda f, g, x: f.multiply(g, f.cos(x)),
    "sinh": lambda f, g, x: _bounded(f, f.multiply(g, f.cosh(x))),
    "softsign": lambda f, g, x: f.multiply(
        g, _chain(f, x, step("abs"), step("add_unary_sfpu", 1.0), step("square"), step("recip"))
    ),
    "sqrt": _sqrt,
    "square": lambda f, g, x: f.multiply(f.multiply(g, 2.0), x),
    "tan": lambda f, g, x: f.multiply(g, f.add(f.square(f.tan(x)), 1.0)),
    "tanh": _by_kernel("tanh"),
    "tanhshrink": lambda f, g, x: f.multiply(g, f.square(f.tanh(x))),
    "trunc": _zeros,
}
"""Gradients of functions without parameters."""

WITH_ONE_PARAMETER: dict[str, tuple[Callable[[Functions, Tensor, Tensor, Any], Tensor], Sequence[str]]] = {
    "celu": (
        lambda f, g, x, alpha: f.where(f.gt(x, 0.0), g, f.multiply(g, f.exp(f.multiply(x, 1.0 / alpha)))),
        ("alpha",),
    ),
    "div_no_nan": (_div_no_nan, ()),
    "elu": (lambda f, g, x, alpha: f.where(f.gtz(x), g, f.multiply(g, f.multiply(f.exp(x), alpha))), ("alpha",)),
    "gelu": (gelu_gradient, ("variant",)),
    "hardshrink": (lambda f, g, x, lambd: f.where(f.eqz(f.hardshrink(x, lambd=lambd)), 0.0, g), ("lambd",)),
    "leaky_relu": (lambda f, g, x, slope: f.where(f.gtz(x), g, f.multiply(g, slope)), ("negative_slope",)),
    "logiteps": (_logiteps, ("eps",)),
    "polygamma": (_polygamma, ("n",)),
    "pow": (_pow, ("exponent",)),
    "rpow": (_rpow, ("exponent",)),
    "softshrink": (lambda f, g, x, lambd: f.where(f.logical_or(f.lt(x, -lambd), f.gt(x, lambd)), g, 0.0), ("lambd",)),
}
"""Gradients of functions with one parameter, and its name; that of a number is the operand's."""

WITH_TWO_PARAMETERS: dict[str, tuple[Callable[[Functions, Tensor, Tensor, Any, Any], Tensor], Sequence[str]]] = {
    "clamp": (_clamp, ("min", "max")),
    "clip": (_clamp, ("min", "max")),
    "hardtanh": (lambda f, g, x, low, high: f.where(f.le(x, low), 0.0, f.where(f.ge(x, high), 0.0, g)), ("min", "max")),
    "rdiv": (_rdiv, ("rounding_mode",)),
    "softplus": (_softplus, ("beta", "threshold")),
    "threshold": (lambda f, g, x, threshold, value: f.where(f.gtz(f.add(x, -threshold)), g, 0.0), ("min", "max")),
}
"""The same of functions with two."""

IN_PLACE = ("exp", "fill", "gelu", "neg", "pow", "rsqrt", "silu", "sqrt", "tanh")
"""Functions whose gradient can be written into a tensor that the caller passes."""


IN_ROWS = ("gelu", "neg", "rsqrt", "tanh")
"""Functions of :data:`IN_PLACE` whose gradient takes row-major tensors."""


def like_operand(result: Tensor, x: Tensor, memory: Any) -> Tensor:
    """Returns a gradient in the layout and data type of the operand, and in its memory unless the call names one."""
    if result.layout is not x.layout and not x.dtype.element.is_block_float:
        result = OPERATIONS["ttnn.to_layout"](result, x.layout)
    if result.dtype is not x.dtype:
        result = OPERATIONS["ttnn.typecast"](result, x.dtype)
    wanted = memory or x.memory_config()
    return result if result.memory_config() == wanted else OPERATIONS["ttnn.to_memory_config"](result, wanted)


def _all_rows(*tensors: Tensor) -> bool:
    return all(each.layout is Layout.ROW_MAJOR for each in tensors)


_OPERANDS = (
    *("input_tensor", "input_tensor_a", "input_tensor_b", "input_tensor_c"),
    *("other_tensor", "bias", "scalar"),
)
"""Parameters with the operands, in the order of their places in all overloads."""
_RECEIVING = (("input_grad", "input_a_grad"), ("other_grad", "input_b_grad"))
"""Parameters with the tensor that receives each gradient."""


def define_gradients(name: str, gradients: Callable[..., Any], parameters: Sequence[str] = ()) -> None:
    """Registers the gradients of a function.

    Args:
        name: the function.
        gradients: takes the functions to compose, the gradient of the result, the operands, and parameters. Returns a
            gradient, or one for each operand; of each also a function that computes it if the caller asks for it.
        parameters: names of the parameters.
    """

    def rule(grad_tensor: Tensor, memory_config: Any, **values: Any) -> list[Tensor | None]:
        operands = [values[each] for each in _OPERANDS if values.get(each) is not None]
        into = [next((values[each] for each in names if values.get(each) is not None), None) for names in _RECEIVING]
        if name in IN_PLACE and name not in IN_ROWS and _all_rows(grad_tensor, *operands):
            raise TTFatal(
                "Optional output tensor with Row Major input is not supported right now for Elementwise operations",
                hint="Convert the tensors with ttnn.to_layout(tensor, ttnn.TILE_LAYOUT).",
            )
        made = gradients(Functions(memory_config), grad_tensor, *operands, *(values[each] for each in parameters))
        made = [made] if isinstance(made, Tensor) else made
        if name in IN_PLACE and into[0] is None:
            made = [like_operand(made[0], operands[0], memory_config)]
        count = sum(isinstance(each, Tensor) for each in operands)  # numbers have no gradients
        return _wanted(values.get("are_required_outputs"), made[:count], into)

    rule.__doc__ = f"Returns the gradients of the operands of {name}."
    named = ("grad_tensor", "memory_config", *_OPERANDS, *parameters, "are_required_outputs", *sum(_RECEIVING, ()))
    define(f"ttnn.{name}_bw", rule, named, composite=True)


def _wanted(
    required: Sequence[bool] | None, gradients: Sequence[Any], into: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Returns the gradients that the caller asks for, and None for the others.

    Raises:
        TTFatal: it asks for none.
    """
    wanted = [True] * len(gradients) if required is None else required
    if not any(wanted):
        raise TTFatal(
            "Atleast one gradient is expected to be calculated.", hint="Pass are_required_outputs=[True, True]."
        )
    return [
        delivered(each() if callable(each) else each, target) if want else None
        for want, each, target in zip(wanted, gradients, [*into, None][: len(gradients)], strict=True)
    ]


for _name, _gradient in UNARY.items():
    define_gradients(_name, _gradient)
for _name, (_gradient, _parameters) in (WITH_ONE_PARAMETER | WITH_TWO_PARAMETERS).items():
    define_gradients(_name, _gradient, _parameters)
