"""Functions of complex tensors and their gradients, composed of functions of both parts as TT-NN composes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.complex_tensors import ComplexTensor
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.backward import NAN
from tt_xla.ttnn_api.operation import OF_COMPLEX, Functions, Rule, define, operation
from tt_xla.ttnn_api.tensor import Tensor


@operation("ttnn.complex_tensor", composite=True)
def complex_tensor(real: Tensor, imag: Tensor) -> ComplexTensor:
    """Makes a complex tensor of its parts."""
    return ComplexTensor((real, imag))


def _add(f: Functions, x: ComplexTensor, y: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((f.add(x.real, y.real), f.add(x.imag, y.imag)))


def _subtract(f: Functions, x: ComplexTensor, y: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((f.subtract(x.real, y.real), f.subtract(x.imag, y.imag)))


def _multiply(f: Functions, x: ComplexTensor, y: ComplexTensor) -> ComplexTensor:
    real = f.subtract(f.multiply(x.real, y.real), f.multiply(x.imag, y.imag))
    return ComplexTensor((real, f.add(f.multiply(x.real, y.imag), f.multiply(x.imag, y.real))))


def _reciprocal(f: Functions, x: ComplexTensor) -> ComplexTensor:
    inverse = f.reciprocal(f.add(f.square(x.real), f.square(x.imag)))
    return ComplexTensor((f.multiply(x.real, inverse), f.multiply(f.neg(x.imag), inverse)))


def _divide(f: Functions, x: ComplexTensor, y: ComplexTensor) -> ComplexTensor:
    return _multiply(f, x, _reciprocal(f, y))


def _abs(f: Functions, x: ComplexTensor) -> Tensor:
    return f.hypot(x.real, x.imag)


def _conj(f: Functions, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((x.real, f.neg(x.imag)))


def _polar(f: Functions, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((f.multiply(x.real, f.cos(x.imag)), f.multiply(x.real, f.sin(x.imag))))


UNARY: dict[str, Callable[[Functions, ComplexTensor], Any]] = {
    "angle": lambda f, x: f.atan2(x.imag, x.real),
    "conj": _conj,
    "imag": lambda f, x: x.imag,
    "is_imag": lambda f, x: f.eqz(x.real),
    "is_real": lambda f, x: f.eqz(x.imag),
    "polar": _polar,
    "real": lambda f, x: x.real,
}
"""Functions of complex tensors alone."""


def _of_complex(name: str, function: Callable[[Functions, ComplexTensor], Any]) -> Rule:
    def rule(input_tensor: Any, memory_config: Any) -> Any:
        if not isinstance(input_tensor, ComplexTensor):
            raise TTFatal(f"ttnn.{name} takes a complex tensor", hint="Make one with ttnn.complex_tensor(real, imag).")
        return function(Functions(memory_config), input_tensor)

    rule.__doc__ = f"Returns {name} of a complex tensor."
    return rule


for _name, _function in UNARY.items():
    define(f"ttnn.{_name}", _of_complex(_name, _function), composite=True)


def _one(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(input_tensor: ComplexTensor, *, memory_config: Any = None) -> Any:
        return function(Functions(memory_config), input_tensor)

    return apply


def _two(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(input_tensor_a: ComplexTensor, input_tensor_b: ComplexTensor, *, memory_config: Any = None) -> Any:
        return function(Functions(memory_config), input_tensor_a, input_tensor_b)

    return apply


for _name, _function in {"abs": _abs, "reciprocal": _reciprocal}.items():
    OF_COMPLEX[f"ttnn.{_name}"] = _one(_function)
for _names, _function in {
    ("add",): _add,
    ("subtract", "sub"): _subtract,
    ("multiply", "mul"): _multiply,
    ("divide", "div"): _divide,
}.items():
    for _name in _names:
        OF_COMPLEX[f"ttnn.{_name}"] = _two(_function)


def _not_at_zero(f: Functions, divisor: ComplexTensor, result: ComplexTensor) -> ComplexTensor:
    """Returns the result, and NaN where the divisor is 0."""
    zero = f.logical_and(f.eqz(divisor.real), f.eqz(divisor.imag))
    return ComplexTensor((f.where(zero, NAN, result.real), f.where(zero, NAN, result.imag)))


def _negated(f: Functions, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((f.neg(x.real), f.neg(x.imag)))


def _reciprocal_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor) -> ComplexTensor:
    inverse = _reciprocal(f, x)
    result = _multiply(f, _negated(f, grad), _conj(f, _multiply(f, inverse, inverse)))
    return _not_at_zero(f, x, result)


def _abs_bw(f: Functions, grad: Tensor, x: ComplexTensor) -> ComplexTensor:
    size = _abs(f, x)
    zero, inverse = f.eqz(size), f.reciprocal(size)

    def part(each: Tensor) -> Tensor:
        return f.where(zero, 0.0, f.multiply(grad, f.multiply(each, inverse)))

    return ComplexTensor((part(x.real), part(x.imag)))


def _angle_bw(f: Functions, grad: Tensor, x: ComplexTensor) -> ComplexTensor:
    zero = f.logical_and(f.eqz(x.real), f.eqz(x.imag))
    inverse = f.reciprocal(f.add(f.square(x.real), f.square(x.imag)))

    def part(each: Tensor) -> Tensor:
        return f.where(zero, 0.0, f.multiply(grad, f.multiply(each, inverse)))

    return ComplexTensor((part(f.neg(x.imag)), part(x.real)))


def _polar_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor) -> ComplexTensor:
    result, turned = _polar(f, x), _conj(f, grad)
    size = _abs(f, result)
    zero, inverse = f.eqz(size), f.reciprocal(size)
    signs = [f.where(zero, 0.0, f.multiply(part, inverse)) for part in (result.real, result.imag)]
    quarter = ComplexTensor((f.zeros_like(x.real), f.ones_like(x.imag)))
    sign = ComplexTensor((signs[0], signs[1]))
    return ComplexTensor((_multiply(f, turned, sign).real, _multiply(f, turned, _multiply(f, result, quarter)).real))


BACKWARD: dict[str, Callable[[Functions, Any, ComplexTensor], ComplexTensor]] = {
    "angle": _angle_bw,
    "conj": lambda f, grad, x: _conj(f, grad),
    "imag": lambda f, grad, x: ComplexTensor((f.zeros_like(x.real), grad)),
    "polar": _polar_bw,
    "real": lambda f, grad, x: ComplexTensor((grad, f.zeros_like(x.real))),
}
"""Gradients of functions of complex tensors alone."""


def _gradient(function: Callable[..., ComplexTensor]) -> Rule:
    def rule(grad_tensor: Any, input_tensor: Any, memory_config: Any = None) -> list[ComplexTensor]:
        return [function(Functions(memory_config), grad_tensor, input_tensor)]

    rule.__doc__ = "Returns the gradient of a complex tensor, as a list."
    return rule


for _name, _function in BACKWARD.items():
    define(f"ttnn.{_name}_bw", _gradient(_function), composite=True)
for _name, _function in {"abs": _abs_bw, "reciprocal": _reciprocal_bw}.items():
    OF_COMPLEX[f"ttnn.{_name}_bw"] = _gradient(_function)


def _scaled(f: Functions, grad: ComplexTensor, factor: float) -> ComplexTensor:
    return ComplexTensor((f.multiply(grad.real, factor), f.multiply(grad.imag, factor)))


def _sum_bw(sign: float) -> Callable[..., Sequence[ComplexTensor]]:
    def apply(
        grad_tensor: ComplexTensor,
        input_tensor_a: ComplexTensor,
        input_tensor_b: ComplexTensor,
        alpha: float,
        *,
        memory_config: Any = None,
    ) -> Sequence[ComplexTensor]:
        return [grad_tensor, _scaled(Functions(memory_config), grad_tensor, sign * alpha)]

    return apply


OF_COMPLEX["ttnn.add_bw"] = _sum_bw(1.0)
OF_COMPLEX["ttnn.sub_bw"] = _sum_bw(-1.0)


def _mul_bw(
    grad_tensor: ComplexTensor,
    input_tensor_a: ComplexTensor,
    input_tensor_b: ComplexTensor,
    *,
    memory_config: Any = None,
) -> Sequence[ComplexTensor]:
    f = Functions(memory_config)
    return [_multiply(f, grad_tensor, _conj(f, each)) for each in (input_tensor_b, input_tensor_a)]


def _div_bw(
    grad_tensor: ComplexTensor,
    input_tensor_a: ComplexTensor,
    input_tensor_b: ComplexTensor,
    *,
    memory_config: Any = None,
) -> Sequence[ComplexTensor]:
    f = Functions(memory_config)
    first = _divide(f, grad_tensor, _conj(f, input_tensor_b))
    quotient = _divide(f, _divide(f, input_tensor_a, input_tensor_b), input_tensor_b)
    second = _multiply(f, _negated(f, grad_tensor), _conj(f, quotient))
    return [_not_at_zero(f, input_tensor_b, each) for each in (first, second)]


OF_COMPLEX["ttnn.mul_bw"] = _mul_bw
OF_COMPLEX["ttnn.div_bw"] = _div_bw
