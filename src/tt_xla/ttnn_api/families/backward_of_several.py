"""Gradients of functions of two and three tensors, composed as TT-NN composes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.ttnn_api.configs import step
from tt_xla.ttnn_api.enums import Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.backward import INF, NAN, delivered, gelu_gradient, like_operand
from tt_xla.ttnn_api.operation import Functions, Part, define, operation
from tt_xla.ttnn_api.plan import Operand, Step
from tt_xla.ttnn_api.tensor import Tensor

Pair = tuple[Tensor, Tensor]
Gradients = Callable[..., Pair]
"""Takes the functions to compose, the gradient of the result, and both operands."""


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
        return grad, f.multiply(f.neg(grad), f.div(a, b, rounding_mode=mode))

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


BINARY: dict[str, Gradients] = {
    "atan2": _atan2,
    "fmod": _quotient("trunc"),
    "hypot": _hypot,
    "ldexp": _ldexp,
    "logaddexp": _logaddexp(lambda f, x: f.exp(x)),
    "logaddexp2": _logaddexp(lambda f, x: f.rpow(x, 2.0), in_first=True),
    "max": _extreme(greatest=True),
    "min": _extreme(greatest=False),
    "remainder": _quotient("floor"),
    "squared_difference": _squared_difference,
    "xlogy": _xlogy,
}
"""Gradients of functions of two tensors. fmod and remainder also take a number, whose gradient is left out."""


def _rule(gradients: Gradients) -> Callable[..., list[Tensor]]:
    def rule(
        grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Any, memory_config: Any, scalar: Any = None
    ) -> list[Tensor]:
        other = input_tensor_b if scalar is None else scalar
        if not isinstance(other, Tensor):
            return [grad_tensor]
        return list(gradients(Functions(memory_config), grad_tensor, input_tensor_a, other))

    rule.__doc__ = "Returns the gradients of both operands."
    return rule


for _name, _gradients in BINARY.items():
    _named = ["grad_tensor", "input_tensor_a", "input_tensor_b", "memory_config"]
    _named += ["scalar"] if _name in ("fmod", "remainder") else []
    define(f"ttnn.{_name}_bw", _rule(_gradients), _named, composite=True)


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


def _both(
    required: Sequence[bool] | None,
    makers: Sequence[Callable[[], Tensor]],
    into: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Returns the gradients that the caller asks for, and None for the others.

    Raises:
        TTFatal: it asks for none.
    """
    wanted = [True] * len(makers) if required is None else list(required)
    if not any(wanted):
        raise TTFatal(
            "Atleast one gradient is expected to be calculated.", hint="Pass are_required_outputs=[True, True]."
        )
    return [
        delivered(make(), target) if want else None for want, make, target in zip(wanted, makers, into, strict=True)
    ]


def _divided(
    f: Functions, grad: Tensor, a: Tensor, b: Tensor, dtypes: Sequence[Any]
) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """Returns the rule of the gradients of a quotient, which have the types of its operands."""

    def first() -> Tensor:
        return f.multiply(grad, f.reciprocal(b), dtype=dtypes[0])

    def second() -> Tensor:
        inverse = f.reciprocal(b)
        return f.multiply(f.neg(grad), f.multiply(f.multiply(a, inverse), inverse), dtype=dtypes[1])

    return first, second


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


def _arithmetic(name: str) -> Callable[..., list[Tensor | None]]:
    def rule(
        grad_tensor: Tensor,
        input_tensor: Tensor | None,
        input_tensor_a: Tensor | None,
        other_tensor: Any,
        scalar: Any,
        are_required_outputs: Sequence[bool] | None,
        memory_config: Any,
        input_grad: Tensor | None,
        other_grad: Tensor | None,
        rounding_mode: str | None = None,
    ) -> list[Tensor | None]:
        f, grad = Functions(memory_config), grad_tensor
        a: Any = input_tensor if input_tensor is not None else input_tensor_a
        b = other_tensor if other_tensor is not None else scalar
        if rounding_mode not in (None, "trunc", "floor"):
            raise TTFatal(
                "Incorrect rounding mode (expected None, 'trunc', or 'floor')", hint="Pass one of these rounding modes."
            )
        one = other = f
        if isinstance(b, Tensor):  # each gradient lies where its tensor does
            one, other = f.with_default(a.memory_config()), f.with_default(b.memory_config())
        fused = _is_fused(are_required_outputs, (grad, a, b))
        dtypes = a.dtype, b.dtype if isinstance(b, Tensor) else a.dtype
        first, second = {
            "add": (_copied(one, grad, a), lambda: other.multiply(grad, 1.0, dtype=dtypes[1])),
            "sub": (_copied(one, grad, a), lambda: _opposite(other, grad, b, 1.0)),
            "mul": (
                lambda: _of_product(one, grad, b, a, fused=fused),
                lambda: _of_product(other, grad, a, b, fused=fused),
            ),
            "div": (_divided(one, grad, a, b, dtypes)[0], _divided(other, grad, a, b, dtypes)[1]),
        }[name]
        if rounding_mode is not None:
            first = second = lambda: f.zeros_like(grad)
        if isinstance(b, Tensor):
            return _both(are_required_outputs, (first, second), (input_grad, other_grad))
        by_number = name == "div" and rounding_mode is None
        return [delivered(_divided_by_number(f, grad, b, a) if by_number else first(), input_grad)]

    rule.__doc__ = f"Returns the gradients of the operands of {name}."
    return rule


_ARITHMETIC = [
    *("grad_tensor", "input_tensor", "input_tensor_a", "other_tensor", "scalar", "are_required_outputs"),
    *("memory_config", "input_grad", "other_grad"),
]
for _name in ("add", "sub", "mul", "div"):
    _named = [*_ARITHMETIC, "rounding_mode"] if _name == "div" else _ARITHMETIC
    define(f"ttnn.{_name}_bw", _arithmetic(_name), _named, composite=True)


@operation("ttnn.rsub_bw", composite=True)
def rsub_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    are_required_outputs: Sequence[bool],
    memory_config: Any,
    input_grad: Tensor | None,
    other_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the gradients of ``b - a``."""
    f = Functions(memory_config)
    makers = (lambda: f.neg(grad_tensor), _copied(f, grad_tensor))
    return _both(are_required_outputs, makers, (input_grad, other_grad))


def _like(
    operands: Sequence[Tensor], memory: Any, makers: Sequence[Callable[[], Tensor]]
) -> tuple[Callable[[], Tensor], ...]:
    """Returns makers of gradients in the data type and the memory of their operands."""

    def made(maker: Callable[[], Tensor], operand: Tensor) -> Callable[[], Tensor]:
        return lambda: like_operand(maker(), operand, memory)

    return tuple(made(maker, operand) for maker, operand in zip(makers, operands, strict=True))


@operation("ttnn.addalpha_bw", composite=True)
def addalpha_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    alpha: float,
    are_required_outputs: Sequence[bool],
    memory_config: Any,
    input_a_grad: Tensor | None,
    input_b_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the gradients of ``a + alpha * b``."""
    f = Functions(memory_config)
    makers = _like(
        (input_tensor_a, input_tensor_b),
        memory_config,
        (
            _copied(f, grad_tensor, input_tensor_a),
            lambda: f.multiply(grad_tensor, alpha, dtype=input_tensor_b.dtype),
        ),
    )
    return _both(are_required_outputs, makers, (input_a_grad, input_b_grad))


@operation("ttnn.subalpha_bw", composite=True)
def subalpha_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    alpha: float,
    are_required_outputs: Sequence[bool],
    memory_config: Any,
    input_grad: Tensor | None,
    other_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the gradients of ``a - alpha * b``."""
    f = Functions(memory_config)
    makers = _like(
        (input_tensor_a, input_tensor_b),
        memory_config,
        (_copied(f, grad_tensor, input_tensor_a), lambda: _opposite(f, grad_tensor, input_tensor_b, alpha)),
    )
    return _both(are_required_outputs, makers, (input_grad, other_grad))


@operation("ttnn.assign_bw", composite=True)
def assign_bw(
    grad_tensor: Tensor,
    input_tensor: Tensor | None,
    input_tensor_b: Tensor | None,
    are_required_outputs: Sequence[bool] | None,
    memory_config: Any,
    input_a_grad: Tensor | None,
    input_b_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the gradients of a copy."""
    if input_tensor_b is None:
        return [delivered(grad_tensor, input_a_grad)]
    f = Functions(memory_config)
    makers = (_copied(f, grad_tensor, input_tensor), _copied(f, grad_tensor, input_tensor_b))
    return _both(are_required_outputs, makers, (input_a_grad, input_b_grad))


@operation("ttnn.concat_bw", composite=True)
def concat_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    dim: int,
    are_required_outputs: Sequence[bool],
    memory_config: Any,
    input_a_grad: Tensor | None,
    input_b_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the parts of the gradient that belong to each operand."""
    f = Functions(memory_config)
    ranks = [len(each.shape) for each in (grad_tensor, input_tensor_a, input_tensor_b)]
    if ranks != [4, 4, 4]:
        raise TTFatal(
            "concat_bw expects rank-4 tensors, got grad rank {}, input rank {}, other rank {}".format(*ranks),
            hint="Add dimensions of size 1 with ttnn.reshape.",
        )
    axis, ends = dim % len(grad_tensor.shape), list(grad_tensor.shape)
    border = [0] * len(ends)
    border[axis] = input_tensor_a.shape[axis]
    makers = (
        lambda: f.slice(grad_tensor, [0] * len(ends), list(input_tensor_a.shape)),
        lambda: f.slice(grad_tensor, border, ends),
    )
    makers = _like((input_tensor_a, input_tensor_b), memory_config, makers)
    return _both(are_required_outputs, makers, (input_a_grad, input_b_grad))


@operation("ttnn.bias_gelu_bw", composite=True)
def bias_gelu_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor | None,
    input_tensor: Tensor | None,
    input_tensor_b: Any,
    bias: Any,
    variant: Any,
    memory_config: Any,
) -> list[Tensor]:
    """Returns the gradients of ``gelu(a + b)``."""
    first, second = (input_tensor_a, input_tensor_b) if input_tensor is None else (input_tensor, bias)
    f = Functions(memory_config)
    result = gelu_gradient(f, grad_tensor, f.add(first, second), variant)
    return [result, result] if isinstance(second, Tensor) else [result]


@operation("ttnn.addcmul_bw", composite=True)
def addcmul_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    input_tensor_c: Tensor,
    alpha: float,
    memory_config: Any,
) -> list[Tensor]:
    """Returns the gradients of ``a + alpha * b * c``."""
    f, grad = Functions(memory_config), grad_tensor
    return [
        grad,
        f.multiply(f.multiply(grad, input_tensor_c), alpha),
        f.multiply(f.multiply(grad, input_tensor_b), alpha),
    ]


@operation("ttnn.addcdiv_bw", composite=True)
def addcdiv_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    input_tensor_c: Tensor,
    alpha: float,
    memory_config: Any,
) -> list[Tensor]:
    """Returns the gradients of ``a + alpha * b / c``."""
    f, grad, divisor = Functions(memory_config), grad_tensor, input_tensor_c
    at_zero, zero = f.eqz(divisor), f.eqz(grad)
    inverse = f.reciprocal(divisor)
    first = f.multiply(f.multiply(grad, alpha), inverse)
    second = f.multiply(f.multiply(f.neg(grad), alpha), input_tensor_b)
    second = f.multiply(f.multiply(second, inverse), inverse)
    return [
        grad,
        f.where(at_zero, f.where(zero, NAN, INF), first),
        f.where(at_zero, f.where(zero, NAN, -INF), second),
    ]


@operation("ttnn.where_bw", composite=True)
def where_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    input_tensor_c: Tensor,
    memory_config: Any,
    are_required_outputs: Sequence[bool],
    input_a_grad: Tensor | None,
    input_b_grad: Tensor | None,
) -> list[Tensor | None]:
    """Returns the gradients of both choices; the first operand is the condition."""
    f = Functions(memory_config)
    makers = (
        lambda: f.where(input_tensor_a, grad_tensor, 0.0),
        lambda: f.where(input_tensor_a, 0.0, grad_tensor),
    )
    return _both(are_required_outputs, makers, (input_a_grad, input_b_grad))


@operation("ttnn.lerp_bw", composite=True)
def lerp_bw(
    grad_tensor: Tensor,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    input_tensor_c: Any,
    scalar: Any,
    memory_config: Any,
) -> list[Tensor]:
    """Returns the gradients of ``a + weight * (b - a)``, that of a weight tensor too."""
    f, grad = Functions(memory_config), grad_tensor
    weight = input_tensor_c if scalar is None else scalar
    if not isinstance(weight, Tensor):
        return [f.multiply(grad, 1.0 - weight), f.multiply(grad, weight)]
    weight_grad = f.multiply(grad, f.subtract(input_tensor_b, input_tensor_a))
    return [f.multiply(grad, f.rsub(weight, 1.0)), f.multiply(grad, weight), weight_grad]


@operation("ttnn.repeat_bw", composite=True)
def repeat_bw(grad_tensor: Tensor, input_tensor: Tensor, shape: Sequence[int], memory_config: Any) -> list[Tensor]:
    """Adds up the gradients of all copies."""
    f = Functions(memory_config)
    if 0 in shape:
        return [f.zeros_like(input_tensor)]
    repeated = [dim for dim, count in enumerate(shape) if count > 1]
    return [f.sum(grad_tensor, dim=repeated, keepdim=True)] if repeated else [grad_tensor]


@operation("ttnn.prod_bw", composite=True)
def prod_bw(grad_tensor: Tensor, input_tensor: Tensor, dim: int | None, memory_config: Any) -> list[Tensor]:
    """Returns the gradient of a product along a dimension, or of all elements."""
    f = Functions(memory_config)
    inverse = f.reciprocal(input_tensor)
    product = f.prod(input_tensor) if dim is None else f.prod(input_tensor, dim=dim, keepdim=True)
    grad, rank = grad_tensor, len(product.shape)
    if grad.shape != product.shape:  # TT-NN reads the first elements of a larger gradient
        grad = f.slice(grad, [0] * len(grad.shape), [*product.shape] if rank else [1] * len(grad.shape))
    return [f.multiply(inverse, f.multiply(product, grad))]
