"""Gradients of functions of two and three tensors, composed as TT-NN composes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.configs import step
from tt_xla.ttnn_api.enums import Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.backward import INF, NAN, define_gradients, gelu_gradient, like_operand
from tt_xla.ttnn_api.operation import Functions, Part
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor

Gradient = Tensor | Callable[[], Tensor]
"""A gradient, or the function that computes it if the caller asks for it."""
Gradients = Callable[..., Sequence[Gradient]]
"""Takes the functions to compose, the gradient of the result, the operands, and parameters."""
Pair = tuple[Gradient, Gradient]


def _atan2(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    scaled = f.multiply(grad, f.unary_chain(f.hypot(a, b), [step("square"), step("recip")]))
    origin = f.logical_and(f.eqz(a), f.eqz(b))
    return (
        f.where(origin, NAN, f.multiply(b, scaled)),
        f.where(origin, NAN, f.multiply(f.neg(a), scaled)),
    )


def _xlogy(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    log = f.where(f.ltz(b), NAN, f.log(b, fast_and_approximate_mode=True))
    nothing = f.logical_and(f.logical_or(f.eqz(a), f.eqz(grad)), f.le(b, 0.0))
    ratio = f.multiply(a, b, input_tensor_b_activations=[step("recip")])
    return f.multiply(grad, f.where(nothing, 0.0, log)), f.multiply(grad, ratio)


def _hypot(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    f = f.with_default(a.memory_config())
    inverse = f.reciprocal(f.hypot(a, b))
    return f.multiply(grad, f.multiply(a, inverse)), f.multiply(grad, f.multiply(b, inverse))


def _ldexp(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    f = f.with_default(a.memory_config())
    power = f.multiply(grad, f.rpow(b, 2.0))
    return power, f.multiply(a, f.multiply(power, math.log(2)))


def _logaddexp(power: Callable[[Functions, Tensor], Tensor], *, in_first: bool = False) -> Gradients:
    """Returns the gradients of a logarithm of a sum of powers, which lie where the first of both tensors does
    (``in_first``), or where the gradient does."""

    def gradients(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
        for each in (grad, a, b):
            if each.dtype.element.is_block_float:
                raise TTFatal("BFLOAT8_B/BFLOAT4_B dtypes are not supported !!", hint="Use bfloat16 or float32.")
        f = f.with_default(a.memory_config()) if in_first else f

        def share(one: Tensor, other: Tensor) -> Tensor:
            return f.multiply(grad, f.reciprocal(f.add(power(f, f.subtract(other, one)), 1.0)))

        return share(a, b), share(b, a)

    return gradients


def _quotient(mode: str) -> Gradients:
    def gradients(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
        return grad, lambda: f.multiply(f.neg(grad), f.div(a, b, rounding_mode=mode))

    return gradients


def _squared_difference(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    first = f.multiply(f.multiply(grad, f.subtract(a, b)), 2.0)
    return first, f.multiply(first, -1.0)


def _extreme(*, greatest: bool) -> Gradients:
    def gradients(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
        half, difference = f.multiply(grad, 0.5), f.subtract(b, a)
        tie = f.where(f.eqz(difference), half, 0.0)
        first = f.where(f.ltz(difference), grad, tie)
        second = f.where(f.gtz(difference), grad, tie)
        return (first, second) if greatest else (second, first)

    return gradients


def _fused_product(grad: Operand, other: Operand, memory_config: Any, dtype: Any) -> Step:
    result = grad.type.with_(memory=memory_config, dtype=dtype)
    return Step("ttnn.multiply", {"lhs": grad, "rhs": other}, [result], {"fast_and_approximate_mode": False})


_PRODUCT = Part("ttnn.multiply", _fused_product)
"""A product of the kernel that computes both gradients of a product, which multiplies on the vector unit."""


def _of_product(f: Functions, grad: Tensor, other: Any, operand: Tensor, *, fused: bool) -> Tensor:
    """Returns a gradient of a product in the type of an operand, summed along dimensions in which that was expanded."""
    if fused:
        return f.apply(_PRODUCT, grad, other, dtype=operand.dtype)
    result = f.multiply(grad, other, dtype=operand.dtype)
    rank, added = len(result.shape), len(result.shape) - len(operand.shape)
    sizes = [1] * added + [*operand.shape]
    expanded = [axis for axis in range(rank) if axis < added or (sizes[axis] == 1 and result.shape[axis] > 1)]
    result = f.sum(result, dim=expanded, keepdim=True) if expanded else result
    return f.reshape(result, list(operand.shape)) if added else result


def _is_fused(required: Sequence[bool] | None, tensors: Sequence[Any]) -> bool:
    """Returns whether one kernel computes both gradients of a product: of tiles that are not sharded."""
    return (
        (required is None or all(required))
        and all(isinstance(each, Tensor) and each.layout is Layout.TILE for each in tensors)
        and not any(each.memory_config().is_sharded() for each in tensors)
        and len({tuple(each.shape) for each in tensors}) == 1
    )


def _divided_by_number(f: Functions, grad: Tensor, number: float, x: Tensor) -> Tensor:
    if number:
        return f.multiply(grad, 1.0 / number, dtype=x.dtype)
    into = {} if grad.dtype is x.dtype else {"output_tensor": f.empty_like(x)}
    return f.where(f.eqz(grad), NAN, f.multiply(f.sign(grad), INF), **into)


def _copied(f: Functions, grad: Tensor, like: Tensor | None = None) -> Callable[[], Tensor]:
    return lambda: f.clone(grad, dtype=(grad if like is None else like).dtype)


def _opposite(f: Functions, grad: Tensor, like: Tensor, alpha: float) -> Tensor:
    """Returns the negative of a gradient in the type of an operand, by a factor."""
    into = {} if grad.dtype is like.dtype else {"output_tensor": f.empty_like(like)}
    return f.multiply(f.neg(grad, **into), alpha)


def _beside(f: Functions, a: Tensor, b: Any) -> tuple[Functions, Functions]:
    """Returns functions whose results lie where the operands do; beside a number, where TT-NN puts them."""
    if not isinstance(b, Tensor):
        return f, f
    return f.with_default(a.memory_config()), f.with_default(b.memory_config())


def _add(f: Functions, grad: Tensor, a: Tensor, b: Any) -> Pair:
    one, other = _beside(f, a, b)
    return _copied(one, grad, a), lambda: other.multiply(grad, 1.0, dtype=b.dtype)


def _sub(f: Functions, grad: Tensor, a: Tensor, b: Any) -> Pair:
    one, other = _beside(f, a, b)
    return _copied(one, grad, a), lambda: _opposite(other, grad, b, 1.0)


def _mul(f: Functions, grad: Tensor, a: Tensor, b: Any, are_required_outputs: Sequence[bool] | None) -> Pair:
    one, other = _beside(f, a, b)
    fused = _is_fused(are_required_outputs, (grad, a, b))
    return (
        lambda: _of_product(one, grad, b, a, fused=fused),
        lambda: _of_product(other, grad, a, b, fused=fused),
    )


def _div(f: Functions, grad: Tensor, a: Tensor, b: Any, rounding_mode: str | None) -> Pair:
    if rounding_mode not in (None, "trunc", "floor"):
        raise TTFatal(
            "Incorrect rounding mode (expected None, 'trunc', or 'floor')", hint="Pass one of these rounding modes."
        )
    one, other = _beside(f, a, b)

    def first() -> Tensor:
        if isinstance(b, Tensor):
            return one.multiply(grad, one.reciprocal(b), dtype=a.dtype)
        return _divided_by_number(f, grad, b, a)

    def second() -> Tensor:
        inverse = other.reciprocal(b)
        return other.multiply(other.neg(grad), other.multiply(other.multiply(a, inverse), inverse), dtype=b.dtype)

    def zeros() -> Tensor:
        return f.zeros_like(grad)

    return (first, second) if rounding_mode is None else (zeros, zeros)


def _rsub(f: Functions, grad: Tensor, a: Tensor, b: Tensor) -> Pair:
    return lambda: f.neg(grad), _copied(f, grad)


def _like(f: Functions, operand: Tensor, compute: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Returns the function that computes a gradient in the data type and the memory of its operand."""
    return lambda: like_operand(compute(), operand, f.memory)


def _addalpha(f: Functions, grad: Tensor, a: Tensor, b: Tensor, alpha: float) -> Pair:
    return _like(f, a, _copied(f, grad, a)), _like(f, b, lambda: f.multiply(grad, alpha, dtype=b.dtype))


def _subalpha(f: Functions, grad: Tensor, a: Tensor, b: Tensor, alpha: float) -> Pair:
    return _like(f, a, _copied(f, grad, a)), _like(f, b, lambda: _opposite(f, grad, b, alpha))


def _assign(f: Functions, grad: Tensor, a: Tensor, b: Tensor | None = None) -> Sequence[Gradient]:
    return [grad] if b is None else [_copied(f, grad), _copied(f, grad, b)]


def _concat(f: Functions, grad: Tensor, a: Tensor, b: Tensor, dim: int) -> Pair:
    ranks = [len(each.shape) for each in (grad, a, b)]
    if ranks != [4, 4, 4]:
        raise TTFatal(
            "concat_bw expects rank-4 tensors, got grad rank {}, input rank {}, other rank {}".format(*ranks),
            hint="Add dimensions of size 1 with ttnn.reshape.",
        )
    start, border, ends = [0] * 4, [0] * 4, list(grad.shape)
    border[dim] = a.shape[dim]
    return (
        _like(f, a, lambda: f.slice(grad, start, list(a.shape))),
        _like(f, b, lambda: f.slice(grad, border, ends)),
    )


def _bias_gelu(f: Functions, grad: Tensor, a: Tensor, b: Any, variant: Any) -> Pair:
    result = gelu_gradient(f, grad, f.add(a, b), variant)
    return result, result


def _addcmul(f: Functions, grad: Tensor, a: Tensor, b: Tensor, c: Tensor, alpha: float) -> Sequence[Tensor]:
    return [grad, f.multiply(f.multiply(grad, c), alpha), f.multiply(f.multiply(grad, b), alpha)]


def _addcdiv(f: Functions, grad: Tensor, a: Tensor, b: Tensor, divisor: Tensor, alpha: float) -> Sequence[Tensor]:
    at_zero, zero = f.eqz(divisor), f.eqz(grad)
    inverse = f.reciprocal(divisor)
    first = f.multiply(f.multiply(grad, alpha), inverse)
    second = f.multiply(f.multiply(f.neg(grad), alpha), b)
    second = f.multiply(f.multiply(second, inverse), inverse)
    return [
        grad,
        f.where(at_zero, f.where(zero, NAN, INF), first),
        f.where(at_zero, f.where(zero, NAN, -INF), second),
    ]


def _where(f: Functions, grad: Tensor, condition: Tensor, a: Tensor, b: Tensor) -> Pair:
    return lambda: f.where(condition, grad, 0.0), lambda: f.where(condition, 0.0, grad)


def _lerp(f: Functions, grad: Tensor, a: Tensor, b: Tensor, weight: Any) -> Sequence[Tensor]:
    if not isinstance(weight, Tensor):
        return [f.multiply(grad, 1.0 - weight), f.multiply(grad, weight)]
    of_weight = f.multiply(grad, f.subtract(b, a))
    return [f.multiply(grad, f.rsub(weight, 1.0)), f.multiply(grad, weight), of_weight]


def _repeat(f: Functions, grad: Tensor, x: Tensor, shape: Sequence[int]) -> Sequence[Tensor]:
    """Adds up the gradients of all copies."""
    if 0 in shape:
        return [f.zeros_like(x)]
    repeated = [dim for dim, count in enumerate(shape) if count > 1]
    return [f.sum(grad, dim=repeated, keepdim=True)] if repeated else [grad]


def _prod(f: Functions, grad: Tensor, x: Tensor, dim: int | None) -> Sequence[Tensor]:
    inverse = f.reciprocal(x)
    product = f.prod(x) if dim is None else f.prod(x, dim=dim, keepdim=True)
    rank = len(product.shape)
    if grad.shape != product.shape:  # TT-NN reads the first elements of a larger gradient
        grad = f.slice(grad, [0] * len(grad.shape), [*product.shape] if rank else [1] * len(grad.shape))
    return [f.multiply(inverse, f.multiply(product, grad))]


_GRADIENTS: dict[str, tuple[Gradients, Sequence[str]]] = {
    "add": (_add, ()),
    "addalpha": (_addalpha, ("alpha",)),
    "addcdiv": (_addcdiv, ("alpha",)),
    "addcmul": (_addcmul, ("alpha",)),
    "assign": (_assign, ()),
    "atan2": (_atan2, ()),
    "bias_gelu": (_bias_gelu, ("variant",)),
    "concat": (_concat, ("dim",)),
    "div": (_div, ("rounding_mode",)),
    "fmod": (_quotient("trunc"), ()),
    "hypot": (_hypot, ()),
    "ldexp": (_ldexp, ()),
    "lerp": (_lerp, ()),
    "logaddexp": (_logaddexp(lambda f, x: f.exp(x)), ()),
    "logaddexp2": (_logaddexp(lambda f, x: f.rpow(x, 2.0), in_first=True), ()),
    "max": (_extreme(greatest=True), ()),
    "min": (_extreme(greatest=False), ()),
    "mul": (_mul, ("are_required_outputs",)),
    "prod": (_prod, ("dim",)),
    "remainder": (_quotient("floor"), ()),
    "repeat": (_repeat, ("shape",)),
    "rsub": (_rsub, ()),
    "squared_difference": (_squared_difference, ()),
    "sub": (_sub, ()),
    "subalpha": (_subalpha, ("alpha",)),
    "where": (_where, ()),
    "xlogy": (_xlogy, ()),
}
"""Gradients by function, and the names of their parameters."""

for _name, (_gradients, _parameters) in _GRADIENTS.items():
    define_gradients(_name, _gradients, _parameters)
