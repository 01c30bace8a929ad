"""The table of lowering rules, the decorators that fill it, and what every rule needs.

A rule takes a :class:`Context` and the op's arguments, tensors as ``jax`` arrays, and returns arrays. Those are brought
to the dtype that torch inferred for the op (:func:`apply`), so a rule does not repeat torch's promotion rules;
:func:`pointwise` rules also get their operands promoted and broadcast.
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
from tt_xla.registry import Registry

Array = jax.Array
Rule = Callable[..., Any]

LOWERINGS: Registry[OpOverload, Rule] = Registry("lowering rule")

NAMED: Registry[str, Rule] = Registry("lowering rule")
"""Rules for ops of other libraries by name, as they may be loaded later or never."""

DTYPES: dict[torch.dtype, np.dtype] = {
    torch.bool: jnp.dtype("bool"),
    torch.uint8: jnp.dtype("uint8"),
    torch.uint16: jnp.dtype("uint16"),
    torch.uint32: jnp.dtype("uint32"),
    torch.uint64: jnp.dtype("uint64"),
    torch.int8: jnp.dtype("int8"),
    torch.int16: jnp.dtype("int16"),
    torch.int32: jnp.dtype("int32"),
    torch.int64: jnp.dtype("int64"),
    torch.float16: jnp.dtype("float16"),
    torch.bfloat16: jnp.dtype(jnp.bfloat16),
    torch.float32: jnp.dtype("float32"),
    torch.float64: jnp.dtype("float64"),
    torch.complex64: jnp.dtype("complex64"),
    torch.complex128: jnp.dtype("complex128"),
}


class InvalidUseError(UnsupportedOpError):
    """No decomposition may give a use of an op a meaning."""


@dataclass(frozen=True)
class Context:
    """One op of the graph.

    Attributes:
        node: the FX node.
        out: what torch inferred for its result: a fake tensor, or a list of them.
        location: the user's source line, for errors.
    """

    node: torch.fx.Node
    out: Any
    location: str = ""

    @property
    def first(self) -> torch.Tensor:
        return self.out if isinstance(self.out, torch.Tensor) else self.out[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the (first) result."""
        return shape_of(self.first)

    @property
    def dtype(self) -> np.dtype:
        """Element type of the (first) result."""
        return DTYPES[self.first.dtype]

    def used(self, index: int) -> bool:
        """Whether anything reads this one of the results; computing the others is a waste."""
        return any(user.args[1] == index for user in self.node.users if len(user.args) > 1)

    def invalid(self, reason: str) -> NoReturn:
        """Raises the error for a use of an op that torch refuses: on the host it says so in its own words."""
        raise InvalidUseError(f"{self.node.target} takes no {reason}: {describe(self.node)}.", location=self.location)

    def unsupported(self, reason: str) -> NoReturn:
        """Raises the error for a use of an op that its rule does not cover."""
        raise UnsupportedOpError(
            f"{self.node.target} is not supported {reason}: {describe(self.node)}.", location=self.location
        )


def shape_of(value: torch.Tensor) -> tuple[int, ...]:
    """Sizes as ints; a symbolic one is specialised, which guards the compiled graph on it."""
    return tuple(int(size) for size in value.shape)


def describe(node: torch.fx.Node) -> str:
    """The arguments of a node with shapes and dtypes, for errors."""

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
"""Registers ``rule(ctx, *args, **kwargs)`` for ops."""

lower_named = NAMED.register
"""The same for ops of other libraries, such as ``"library::op"``."""


def rule_of(op: OpOverload) -> Rule | None:
    """The rule that lowers an op, if it has one."""
    return LOWERINGS.get(op) or NAMED.get(op._schema.name)


def pointwise(*ops: OpOverload, operands: int = 0, promote_inputs: bool = False) -> Callable[[Rule], Rule]:
    """Registers ``rule(*operands, **rest)`` for elementwise ops.

    The first ``operands`` arguments (all positional ones, when 0) arrive with the result's shape and one dtype: the
    result's, or with ``promote_inputs`` (comparisons, whose result is bool) the one torch promotes the inputs to.
    """

    def register(rule: Rule) -> Rule:
        def prepared(ctx: Context, *args: Any, **kwargs: Any) -> Any:
            count = operands or len(args)
            dtype = _promoted(ctx.node.args[:count]) if promote_inputs else ctx.dtype
            ready = [spread(arg, ctx.shape, dtype) for arg in args[:count]]
            return rule(*ready, *args[count:], **kwargs)

        prepared.__name__ = getattr(rule, "__name__", "rule")
        for op in ops:
            LOWERINGS[op] = prepared
        return rule

    return register


def _promoted(args: Sequence[Any]) -> np.dtype:
    values = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in args]
    values = [1 if isinstance(value, torch.SymInt) else value for value in values]  # any integer promotes alike
    if len(values) == 1:
        return DTYPES[values[0].dtype]
    return DTYPES[torch.result_type(values[0], values[1])]


_REFUSED_TYPE = "does not accept dtype"
"""Says JAX of an op that has no meaning for a type, such as a bitwise one for floats."""


def apply(ctx: Context, rule: Rule, args: Any, kwargs: Any) -> Any:
    """Runs a rule and gives its results the dtypes that torch inferred."""
    try:
        results = rule(ctx, *args, **kwargs)
    except TypeError as error:
        if _REFUSED_TYPE not in str(error):
            raise
        ctx.invalid("operands of these types")
    if isinstance(ctx.out, torch.Tensor):
        return _checked(ctx, results, ctx.out)
    return [
        _checked(ctx, result, out) if isinstance(out, torch.Tensor) and result is not None else result
        for result, out in zip(results, ctx.out, strict=True)
    ]


def _checked(ctx: Context, result: Any, out: torch.Tensor) -> Array:
    if tuple(result.shape) != shape_of(out):
        raise AssertionError(
            f"the lowering rule of {ctx.node.target} made shape {tuple(result.shape)}, torch says {shape_of(out)}: "
            f"{describe(ctx.node)}"
        )
    return cast(result, DTYPES[out.dtype])


# Small tools of the rules --------------------------------------------------------------------------------------------


def cast(x: Any, dtype: np.dtype) -> Array:
    """Converts as torch does: to bool means "is not zero"."""
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return lax.ne(x, full(x.shape, 0, x.dtype))
    return lax.convert_element_type(x, dtype)


def full(shape: Sequence[int], value: Any, dtype: np.dtype) -> Array:
    """A constant, the same everywhere. Integers wrap around as in torch."""
    if np.issubdtype(dtype, np.integer) and isinstance(value, int | float):
        value = np.asarray(int(value) & 0xFFFFFFFFFFFFFFFF, "uint64").astype(dtype)
    return lax.full(tuple(shape), value, dtype)


def like(x: Array, value: Any) -> Array:
    """A constant with shape and dtype of ``x``."""
    return full(x.shape, value, x.dtype)


def broadcast(x: Array, shape: Sequence[int]) -> Array:
    """Expands sizes of 1 and prepends dimensions, as torch and NumPy do."""
    shape = tuple(shape)
    if tuple(x.shape) == shape:
        return x
    offset = len(shape) - x.ndim
    if any(x.shape[i] != shape[offset + i] for i in range(x.ndim)):
        kept = [i for i in range(x.ndim) if x.shape[i] == shape[offset + i]]
        x = lax.reshape(x, [x.shape[i] for i in kept])
        return lax.broadcast_in_dim(x, shape, [offset + i for i in kept])
    return lax.broadcast_in_dim(x, shape, range(offset, len(shape)))


def spread(x: Any, shape: Sequence[int], dtype: np.dtype) -> Array:
    """An array of this shape and dtype from an array or a Python number."""
    if isinstance(x, bool | int | float | complex):
        return full(shape, x, dtype)
    return broadcast(cast(x, dtype), shape)


def axes(dims: Any, ndim: int) -> tuple[int, ...]:
    """Non-negative dimensions; None and the empty list mean all of them."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    dims = [dims] if isinstance(dims, int) else dims
    return tuple(dim % ndim for dim in dims) if ndim else ()


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype torch accumulates in: float32 for the 16-bit floats, else itself."""
    return jnp.dtype("float32") if dtype.itemsize == 2 and jnp.issubdtype(dtype, jnp.floating) else dtype


def along(x: Array, axis: int, shape: Sequence[int]) -> Array:
    """A vector laid along one axis of a shape."""
    return lax.broadcast_in_dim(x, tuple(shape), (axis,))
