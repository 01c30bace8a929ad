"""Functions of complex tensors and their gradients, composed of functions of both parts as TT-NN composes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.complex_tensors import ComplexTensor
from tt_xla.ttnn_api.families.backward import NAN
from tt_xla.ttnn_api.operation import OF_COMPLEX, Functions, define, operation
from tt_xla.ttnn_api.tensor import Tensor

Function = Callable[..., Any]
"""Takes the functions to compose, then its operands."""


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


def _not_at_zero(f: Functions, divisor: ComplexTensor, result: ComplexTensor) -> ComplexTensor:
    """Returns the result, and NaN where the divisor is 0."""
    zero = f.logical_and(f.eqz(divisor.real), f.eqz(divisor.imag))
    return ComplexTensor((f.where(zero, NAN, result.real), f.where(zero, NAN, result.imag)))


def _negated(f: Functions, x: ComplexTensor) -> ComplexTensor:
    return ComplexTensor((f.neg(x.real), f.neg(x.imag)))


def _reciprocal_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor) -> Sequence[ComplexTensor]:
    inverse = _reciprocal(f, x)
    result = _multiply(f, _negated(f, grad), _conj(f, _multiply(f, inverse, inverse)))
    return [_not_at_zero(f, x, result)]


def _of_parts(
    f: Functions, grad: Tensor, zero: Tensor, inverse: Tensor, parts: Sequence[Tensor]
) -> Sequence[ComplexTensor]:
    """Returns the gradient whose parts are multiples of ``inverse``, and 0 where that has no value."""
    real, imag = (f.where(zero, 0.0, f.multiply(grad, f.multiply(each, inverse))) for each in parts)
    return [ComplexTensor((real, imag))]


def _abs_bw(f: Functions, grad: Tensor, x: ComplexTensor) -> Sequence[ComplexTensor]:
    size = _abs(f, x)
    return _of_parts(f, grad, f.eqz(size), f.reciprocal(size), (x.real, x.imag))


def _angle_bw(f: Functions, grad: Tensor, x: ComplexTensor) -> Sequence[ComplexTensor]:
    zero = f.logical_and(f.eqz(x.real), f.eqz(x.imag))
    inverse = f.reciprocal(f.add(f.square(x.real), f.square(x.imag)))
    return _of_parts(f, grad, zero, inverse, (f.neg(x.imag), x.real))


def _polar_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor) -> Sequence[ComplexTensor]:
    result, turned = _polar(f, x), _conj(f, grad)
    size = _abs(f, result)
    zero, inverse = f.eqz(size), f.reciprocal(size)
    signs = [f.where(zero, 0.0, f.multiply(part, inverse)) for part in (result.real, result.imag)]
    quarter = ComplexTensor((f.zeros_like(x.real), f.ones_like(x.imag)))
    sign = ComplexTensor((signs[0], signs[1]))
    real, imag = (_multiply(f, turned, each).real for each in (sign, _multiply(f, result, quarter)))
    return [ComplexTensor((real, imag))]


def _scaled(f: Functions, grad: ComplexTensor, factor: float) -> ComplexTensor:
    return ComplexTensor((f.multiply(grad.real, factor), f.multiply(grad.imag, factor)))


def _sum_bw(sign: float) -> Function:
    def gradients(
        f: Functions, grad: ComplexTensor, x: ComplexTensor, y: ComplexTensor, alpha: float
    ) -> Sequence[ComplexTensor]:
        return [grad, _scaled(f, grad, sign * alpha)]

    return gradients


def _mul_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor, y: ComplexTensor) -> Sequence[ComplexTensor]:
    return [_multiply(f, grad, _conj(f, each)) for each in (y, x)]


def _div_bw(f: Functions, grad: ComplexTensor, x: ComplexTensor, y: ComplexTensor) -> Sequence[ComplexTensor]:
    first = _divide(f, grad, _conj(f, y))
    quotient = _divide(f, _divide(f, x, y), y)
    second = _multiply(f, _negated(f, grad), _conj(f, quotient))
    return [_not_at_zero(f, y, each) for each in (first, second)]


def _called(function: Function, names: Sequence[str]) -> Callable[..., Any]:
    """Returns an operation with parameters of given names, whose results a memory config may place."""

    def apply(*arguments: Any, memory_config: Any = None, **keywords: Any) -> Any:
        values = dict(zip(names, arguments, strict=False)) | keywords
        return function(Functions(memory_config), *(values[each] for each in names))

    apply.__doc__ = "Computes a function of complex tensors, or its gradients as a list."
    return apply


_ONE, _TWO = ("input_tensor",), ("input_tensor_a", "input_tensor_b")

_ALONE: dict[str, Callable[[Functions, ComplexTensor], Any]] = {
    "angle": lambda f, x: f.atan2(x.imag, x.real),
    "conj": _conj,
    "imag": lambda f, x: x.imag,
    "is_imag": lambda f, x: f.eqz(x.real),
    "is_real": lambda f, x: f.eqz(x.imag),
    "polar": _polar,
    "real": lambda f, x: x.real,
}
"""Functions of complex tensors alone."""

_GRADIENTS: dict[str, Callable[[Functions, Any, ComplexTensor], Sequence[ComplexTensor]]] = {
    "angle": _angle_bw,
    "conj": lambda f, grad, x: [_conj(f, grad)],
    "imag": lambda f, grad, x: [ComplexTensor((f.zeros_like(x.real), grad))],
    "polar": _polar_bw,
    "real": lambda f, grad, x: [ComplexTensor((grad, f.zeros_like(x.real)))],
}
"""Their gradients."""

_OF_REAL_TOO: dict[str, tuple[Function, Sequence[str]]] = {
    "abs": (_abs, _ONE),
    "reciprocal": (_reciprocal, _ONE),
    "add": (_add, _TWO),
    **dict.fromkeys(("subtract", "sub"), (_subtract, _TWO)),
    **dict.fromkeys(("multiply", "mul"), (_multiply, _TWO)),
    **dict.fromkeys(("divide", "div"), (_divide, _TWO)),
    "abs_bw": (_abs_bw, ("grad_tensor", *_ONE)),
    "reciprocal_bw": (_reciprocal_bw, ("grad_tensor", *_ONE)),
    "add_bw": (_sum_bw(1.0), ("grad_tensor", *_TWO, "alpha")),
    "sub_bw": (_sum_bw(-1.0), ("grad_tensor", *_TWO, "alpha")),
    "mul_bw": (_mul_bw, ("grad_tensor", *_TWO)),
    "div_bw": (_div_bw, ("grad_tensor", *_TWO)),
}
"""Functions that take real tensors too, and their parameters."""

for _name, _function in _ALONE.items():
    define(f"ttnn.{_name}", _called(_function, _ONE), (*_ONE, "memory_config"), composite=True)
for _name, _function in _GRADIENTS.items():
    _names = ("grad_tensor", *_ONE)
    define(f"ttnn.{_name}_bw", _called(_function, _names), (*_names, "memory_config"), composite=True)
for _name, (_function, _names) in _OF_REAL_TOO.items():
    OF_COMPLEX[f"ttnn.{_name}"] = _called(_function, _names)
