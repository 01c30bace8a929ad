"""The table of lowering rules, the decorators that fill it, and what every rule needs.

A rule takes a :class:`Context` and the op's arguments, with tensors as ``jax`` arrays, and returns arrays.
:func:`apply` converts them to the dtype that torch inferred for the op, so a rule does not repeat torch's promotion
rules. Rules registered by :func:`pointwise` also receive promoted and broadcast operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.symbolic import UndecidedError, is_active, size
from tt_xla.ir.element_types import ElementType
from tt_xla.registry import Registry

Array = jax.Array
Rule = Callable[..., Any]

LOWERINGS: Registry[OpOverload, Rule] = Registry("lowering rule")
"""Lowering rules of PyTorch's own ops."""

NAMED: Registry[str, Rule] = Registry("lowering rule")
"""Lowering rules of ops that other libraries define, by qualified name, as a library may be imported later or never."""

DTYPES: dict[torch.dtype, np.dtype] = {
    getattr(torch, element.torch): element.numpy_dtype()
    for element in ElementType
    if element.torch == element.numpy and not element.startswith("f8")
}
"""NumPy dtypes of the element types that lowering rules support, by torch dtype."""


class InvalidUseError(UnsupportedOpError):
    """A use of an op that PyTorch itself refuses, so that no decomposition may accept it."""


@dataclass(frozen=True)
class Context:
    """One op of the graph.

    Attributes:
        node: The op's FX node.
        out: The fake tensor, or list of fake tensors, that torch inferred for the op's results.
        location: The user's source line for error messages, ``file:line``; empty if unknown.
    """

    node: torch.fx.Node
    out: Any
    location: str = ""

    @property
    def first(self) -> torch.Tensor:
        """Fake tensor of the first result."""
        return self.out if isinstance(self.out, torch.Tensor) else self.out[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return shape_of(self.first)

    @property
    def dtype(self) -> np.dtype:
        """NumPy dtype of the first result."""
        return DTYPES[self.first.dtype]

    def used(self, index: int) -> bool:
        """Returns whether another node reads the result at this index, which a rule may leave out otherwise."""
        return any(user.args[1] == index for user in self.node.users if len(user.args) > 1)

    def invalid(self, reason: str) -> NoReturn:
        """Raises the error for arguments that PyTorch refuses. The op then runs on the host and raises PyTorch's error.

        Args:
            reason: What the op does not accept, as a noun phrase.
        """
        raise InvalidUseError(
            f"{self.node.target} does not accept a {reason}: {describe(self.node)}.", location=self.location
        )

    def refuse_booleans(self, *operands: Any) -> None:
        """Raises the error for a boolean operand of an op that PyTorch does not define on booleans."""
        if any(getattr(operand, "dtype", None) == np.bool_ for operand in operands):
            self.invalid("bool tensor")

    def unsupported(self, reason: str) -> NoReturn:
        """Raises the error for arguments that the op's rule does not cover.

        Args:
            reason: The condition, such as "with a sorter"; it completes "... is not supported".
        """
        raise UnsupportedOpError(
            f"{self.node.target} is not supported {reason}: {describe(self.node)}.", location=self.location
        )


def shape_of(value: torch.Tensor) -> tuple[int, ...]:
    """Returns a tensor's sizes (:func:`~tt_xla.frontends.torch.symbolic.size`)."""
    return tuple(map(size, value.shape))


def describe(node: torch.fx.Node) -> str:
    """Returns a call as text for error messages: the op and its arguments with their shapes and dtypes."""

    def text(value: Any) -> str:
        if isinstance(value, torch.fx.Node):
            value = value.meta.get("val", value)
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(str(size) for size in value.shape)}]"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(text(item) for item in value) + "]"
        return str(value)

    arguments = [text(arg) for arg in node.args] + [f"{name}={text(value)}" for name, value in node.kwargs.items()]
    return f"{node.target}({', '.join(arguments)})"


lower = LOWERINGS.register
"""Decorator that registers ``rule(ctx, *args, **kwargs)`` for ops."""

lower_named = NAMED.register
"""Decorator that registers a rule for ops of other libraries, by names such as ``"library::op"``."""


def rule_of(op: OpOverload) -> Rule | None:
    """Returns the lowering rule of an op, or None."""
    return LOWERINGS.get(op) or NAMED.get(op._schema.name)


def pointwise(*ops: OpOverload, operands: int = 0, promote_inputs: bool = False) -> Callable[[Rule], Rule]:
    """Returns a decorator that registers ``rule(*operands, **options)`` for elementwise ops.

    Args:
        ops: The ops that the rule lowers.
        operands: Number of leading arguments that are broadcast to the result's shape and converted to one dtype; 0 for
            all positional arguments.
        promote_inputs: Whether that dtype is the one that torch promotes the inputs to, as for comparisons, whose
            result is bool. Otherwise it is the result's dtype.
    """

    def register(rule: Rule) -> Rule:
        def prepared(ctx: Context, *args: Any, **kwargs: Any) -> Any:
            count = operands or len(args)
            dtype = _promoted(ctx.node.args[:count]) if promote_inputs else ctx.dtype
            promoted = [spread(arg, ctx.shape, dtype) for arg in args[:count]]
            return rule(*promoted, *args[count:], **kwargs)

        prepared.__name__ = getattr(rule, "__name__", "rule")
        for op in ops:
            LOWERINGS[op] = prepared
        return rule

    return register


def _promoted(args: Sequence[Any]) -> np.dtype:
    """Returns the dtype that torch promotes arguments to."""
    values = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args]
    values = [1 if isinstance(value, torch.SymInt) else value for value in values]  # all integers promote the same way
    if len(values) == 1:
        return DTYPES[values[0].dtype]
    return DTYPES[torch.result_type(values[0], values[1])]


_REFUSED_TYPE = "does not accept dtype"
"""Part of JAX's error message for an op that a dtype does not support, such as a bitwise op on floats."""


def apply(ctx: Context, rule: Rule, args: Any, kwargs: Any) -> Any:
    """Runs a lowering rule, unless no result has an element: such results need no rule.

    Returns:
        The op's result, or the list of its results, converted to the dtypes that torch inferred.

    Raises:
        UnsupportedOpError: The rule does not cover the arguments, or PyTorch refuses them.
        AssertionError: The rule returned another shape than torch inferred, which is a bug in the rule.
    """
    outs = [ctx.out] if isinstance(ctx.out, torch.Tensor) else ctx.out
    if outs and all(isinstance(out, torch.Tensor) and 0 in shape_of(out) for out in outs):
        empty = [full(shape_of(out), 0, DTYPES[out.dtype]) for out in outs]
        return empty[0] if isinstance(ctx.out, torch.Tensor) else empty
    try:
        results = rule(ctx, *args, **kwargs)
    except TypeError as error:
        if _REFUSED_TYPE not in str(error):
            raise
        ctx.invalid("combination of these dtypes")
    if isinstance(ctx.out, torch.Tensor):
        return _checked(ctx, results, ctx.out)
    return [
        _checked(ctx, result, out) if isinstance(out, torch.Tensor) and result is not None else result
        for result, out in zip(results, ctx.out, strict=True)
    ]


def _checked(ctx: Context, result: Any, out: torch.Tensor) -> Array:
    """Converts a result to the dtype that torch inferred, and checks its shape.

    The operand of a copy may be a Python number, and so may its result: ``torch.vmap`` makes tensors of numbers so.
    """
    if isinstance(result, bool | int | float | complex):
        return full(shape_of(out), result, DTYPES[out.dtype])
    if is_active() and result.ndim == out.dim():
        for computed, inferred in zip(result.shape, shape_of(out), strict=True):
            if computed != inferred:
                text = f"JAX computes the size {computed} for {ctx.node.target}, and PyTorch {inferred}."
                raise UndecidedError(text, computed, "==", inferred)
    if tuple(result.shape) != shape_of(out):
        raise AssertionError(
            f"the lowering rule of {ctx.node.target} returned shape {tuple(result.shape)}, but torch inferred "
            f"{shape_of(out)}: {describe(ctx.node)}"
        )
    return cast(result, DTYPES[out.dtype])


# Helpers of the rules ------------------------------------------------------------------------------------------------


def cast(x: Any, dtype: np.dtype) -> Array:
    """Converts an array as torch does; a conversion to bool compares with zero."""
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return lax.ne(x, full(x.shape, 0, x.dtype))
    return lax.convert_element_type(x, dtype)


def full(shape: Sequence[int], value: Any, dtype: np.dtype) -> Array:
    """Returns an array filled with one value. Integers wrap at the width of the dtype, as in torch."""
    if np.issubdtype(dtype, np.integer) and isinstance(value, int | float):
        value = np.asarray(int(value) & 0xFFFFFFFFFFFFFFFF, "uint64").astype(dtype)
    return lax.full(tuple(shape), value, dtype)


def like(x: Array, value: Any) -> Array:
    """Returns an array of ``x``'s shape and dtype filled with one value."""
    return full(x.shape, value, x.dtype)


def broadcast(x: Array, shape: Sequence[int]) -> Array:
    """Broadcasts an array to a shape by the rules of torch and NumPy.

    Raises:
        UndecidedError: JAX cannot tell whether a symbolic size is the one that it is broadcast to.
    """
    shape = tuple(shape)
    if tuple(x.shape) == shape:
        return x
    offset = len(shape) - x.ndim
    for old, new in zip(x.shape, shape[offset:], strict=True):
        if old != new and not (isinstance(old, int) and old == 1):
            raise UndecidedError(f"JAX cannot tell whether the sizes {old} and {new} are equal.", old, "==", new)
    if any(x.shape[i] != shape[offset + i] for i in range(x.ndim)):
        unexpanded = [i for i in range(x.ndim) if x.shape[i] == shape[offset + i]]
        x = lax.reshape(x, [x.shape[i] for i in unexpanded])
        return lax.broadcast_in_dim(x, shape, [offset + i for i in unexpanded])
    return lax.broadcast_in_dim(x, shape, range(offset, len(shape)))


def spread(x: Any, shape: Sequence[int], dtype: np.dtype) -> Array:
    """Returns an array of a shape and dtype, broadcast from an array or filled with a Python number."""
    if isinstance(x, bool | int | float | complex):
        return full(shape, x, dtype)
    if is_active():
        x = jnp.asarray(x)  # a symbolic size that the user computes with becomes an array
    return broadcast(cast(x, dtype), shape)


def axes(dims: Any, ndim: int) -> tuple[int, ...]:
    """Returns dimensions as non-negative numbers; None and an empty list stand for all dimensions."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    dims = [dims] if isinstance(dims, int) else dims
    return tuple(dim % ndim for dim in dims) if ndim else ()


def wide(dtype: np.dtype) -> np.dtype:
    """Returns the dtype that torch accumulates in: float32 for 16-bit floats, otherwise the dtype itself."""
    return jnp.dtype("float32") if dtype.itemsize == 2 and jnp.issubdtype(dtype, jnp.floating) else dtype


def along(x: Array, axis: int, shape: Sequence[int]) -> Array:
    """Broadcasts a vector to a shape along one axis."""
    return lax.broadcast_in_dim(x, tuple(shape), (axis,))
