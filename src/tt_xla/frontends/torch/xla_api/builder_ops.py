"""Computations of ``torch_xla.core.xla_builder``: graphs of single ops, each of which is a function of ``jax.lax``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import torch
from jax import lax

from tt_xla.frontends.torch import jax_calls
from tt_xla.frontends.torch.aten.registry import DTYPES
from tt_xla.frontends.torch.device.text import XLA_NAMES
from tt_xla.host import wide


class Type:
    """Names of element types."""

    F32, F64, BF16, F16 = "f32", "f64", "bf16", "f16"
    U8, S8, U16, S16 = "u8", "s8", "u16", "s16"
    U32, S32, U64, S64 = "u32", "s32", "u64", "s64"
    C64, C128, PRED = "c64", "c128", "pred"


XLA_TYPES = {name: dtype for dtype, name in XLA_NAMES.items()}


class Shape:
    """Sizes and element type of an op, or the shapes of a tuple's elements.

    Args:
        shape: ``type`` and ``sizes``, or the list of elements' shapes in this form.
    """

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    @classmethod
    def create(cls, dtype: str, sizes: Iterable[int], dynamic_dimensions: Any = None) -> Shape:
        """Returns a shape.

        Raises:
            NotImplementedError: a dimension is to be dynamic.
        """
        if dynamic_dimensions is not None:
            raise NotImplementedError(
                "Shape.create(dynamic_dimensions=...): every program of the device has fixed sizes."
            )
        return cls({"type": str(dtype), "sizes": tuple(sizes)})

    @classmethod
    def of(cls, value: Any) -> Shape:
        """Returns the shape of an array of JAX, or of a tuple of arrays."""
        if isinstance(value, tuple):
            return cls([cls.of(each).shape for each in value])
        return cls.create(XLA_NAMES[jax_calls.torch_dtype(value.dtype)], value.shape)

    def is_tuple(self) -> bool:
        return isinstance(self.shape, list | tuple)

    def tuple_size(self) -> int:
        return len(self.shape)

    def tuple_shape(self, index: int) -> Any:
        return self.shape[index]

    def is_dynamic(self) -> bool:
        return False

    def as_scalar(self) -> Shape:
        return Shape.create(self.dtype, ())

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.shape["sizes"]

    @property
    def dtype(self) -> str:
        return self.shape["type"]

    def aval(self) -> Any:
        """Returns what JAX traces functions with."""
        if self.is_tuple():
            return tuple(Shape(each).aval() for each in self.shape)
        return jax.ShapeDtypeStruct(self.sizes, _jax_dtype(self.dtype))


def _jax_dtype(name: str | None) -> Any:
    return DTYPES[XLA_TYPES[name or Type.F32]]


@dataclass(eq=False)
class Builder:
    """The parameters of one computation.

    Attributes:
        name: name of the computation.
        parameters: the parameters so far, by number.
    """

    name: str
    parameters: dict[int, Op] = field(default_factory=dict)


class Op:
    """An op of a computation. Its methods make further ops, as those of ``xla::XlaOp`` do.

    Args:
        builder: the computation that it belongs to.
        function: computes it of its operands' values; None for a parameter.
        operands: its operands.
        aval: shape and dtype; None to infer it.
    """

    __hash__ = object.__hash__

    def __init__(
        self, builder: Builder, function: Callable[..., Any] | None, operands: Sequence[Op] = (), aval: Any = None
    ) -> None:
        self._builder, self.function, self.operands = builder, function, operands
        with wide():
            self.aval = jax.eval_shape(function, *(op.aval for op in operands)) if function else aval

    def shape(self) -> Shape:
        return Shape.of(self.aval)

    def builder(self) -> Builder:
        return self._builder

    def build(self, name: str) -> Computation:
        """Returns the computation whose result is this op."""
        return Computation(name, [op for _, op in sorted(self._builder.parameters.items())], self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"Op.{name} is not among the ops of xla_builder that this torch_xla has. xla_builder.call_jax takes a "
            "function of JAX, which has them all in jax.lax."
        )

    @classmethod
    def to_torch_type(cls, dtype: str | None) -> torch.dtype:
        return XLA_TYPES[dtype] if dtype else torch.float32

    @classmethod
    def from_torch_type(cls, dtype: torch.dtype) -> str:
        return XLA_NAMES[dtype]

    @classmethod
    def constant(cls, builder: Builder, value: torch.Tensor) -> Op:
        """Returns a constant with the contents of a tensor."""
        array = jax.dlpack.from_dlpack(value.detach().cpu().contiguous())
        return cls(builder, lambda: jnp.asarray(array))

    @classmethod
    def scalar(cls, builder: Builder, value: float, dtype: str | None = None) -> Op:
        return cls(builder, lambda: jnp.asarray(value, _jax_dtype(dtype)))

    @classmethod
    def zero(cls, builder: Builder, dtype: str | None = None) -> Op:
        return cls.scalar(builder, 0, dtype)

    @classmethod
    def one(cls, builder: Builder, dtype: str | None = None) -> Op:
        return cls.scalar(builder, 1, dtype)

    @classmethod
    def iota(cls, builder: Builder, shape: Shape, iota_dimension: int) -> Op:
        return cls(builder, lambda: lax.broadcasted_iota(_jax_dtype(shape.dtype), shape.sizes, iota_dimension))

    @classmethod
    def mkwhile(cls, ops: Sequence[Op], condition_fn: Callable[..., Op], body_fn: Callable[..., Op]) -> Any:
        """Returns the tuple that ``body_fn`` makes of ``ops`` while ``condition_fn`` holds."""
        return _apply(_while_loop, tuple(ops), condition_fn, body_fn)

    def mkconditional(self, ops: Sequence[Op], true_fn: Callable[..., Op], false_fn: Callable[..., Op]) -> Any:
        """Returns what one of two functions makes of ``ops``, as this op says."""
        return _apply(_conditional, self, tuple(ops), tuple(ops), true_fn, false_fn)


@dataclass(frozen=True)
class Computation:
    """A function of arrays.

    Attributes:
        name: name of the computation.
        parameters: its parameters.
        root: its result.
    """

    name: str
    parameters: list[Op]
    root: Op

    def __call__(self, *values: Any) -> Any:
        """Computes the root.

        Raises:
            ValueError: it depends on a parameter of another computation.
        """
        known = {id(op): value for op, value in zip(self.parameters, values, strict=True)}
        stack = [self.root]
        while stack:
            op = stack[-1]
            missing = [each for each in op.operands if id(each) not in known]
            if id(op) in known:
                stack.pop()
            elif op.function is None:
                raise ValueError(f"Computation {self.name!r} reads a parameter of another one: pass it as an operand.")
            elif missing:
                stack += missing
            else:
                known[id(op)] = op.function(*(known[id(each)] for each in op.operands))
        return known[id(self.root)]

    @functools.cached_property
    def traced(self) -> tuple[jax.stages.Traced, str]:
        """The computation as a function of JAX, and the name under which the device calls it."""
        with wide():
            traced = jax.jit(self.__call__).trace(*(op.aval for op in self.parameters))
            return traced, jax_calls.register(traced)


def create_builder(name: str) -> Builder:
    return Builder(name)


def mkshape(dtype: str, sizes: Iterable[int], dynamic_dimensions: Any = None) -> Shape:
    return Shape.create(dtype, sizes, dynamic_dimensions)


def mkparam(builder: Builder, param_no: int, shape: Shape) -> Op:
    """Returns a parameter of a computation."""
    return builder.parameters.setdefault(param_no, Op(builder, None, aval=shape.aval()))


def create_computation(name: str, fn: Callable[..., Op], shapes: Sequence[Shape], **kwargs: Any) -> Computation:
    """Returns the computation that a function of ops builds.

    Args:
        name: name of the computation.
        fn: the function.
        shapes: shapes of its parameters.
        kwargs: keyword arguments of the function.
    """
    builder = create_builder(name)
    parameters = [mkparam(builder, number, shape) for number, shape in enumerate(shapes)]
    return fn(*parameters, **kwargs).build(name)


# Ops -----------------------------------------------------------------------------------------------------------------


def _apply(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Op:
    """Returns the op that a function of arrays computes. Ops among its arguments, also nested ones, are operands."""
    leaves, tree = jax.tree.flatten((args, {name: value for name, value in kwargs.items() if name != "builder"}))
    operands = [leaf for leaf in leaves if isinstance(leaf, Op)]

    def computed(*values: Any) -> Any:
        rest = iter(values)
        filled, named = jax.tree.unflatten(tree, [next(rest) if isinstance(leaf, Op) else leaf for leaf in leaves])
        return function(*filled, **named)

    return Op(kwargs.get("builder") or operands[0].builder(), computed, operands)


def _callee(computation: Any) -> Callable[..., Any]:
    """Returns a computation, or a Python function that builds one, as a function of arrays."""

    def build(*ops: Op) -> Op:
        if len(ops) == 1 and ops[0].shape().is_tuple():
            ops = tuple(_apply(_element, ops[0], index) for index in range(ops[0].shape().tuple_size()))
        result = computation(*ops)
        return _apply(tuple, list(result)) if isinstance(result, tuple | list) else result

    def call(*values: Any) -> Any:
        if isinstance(computation, Computation):
            return computation(*values)
        return create_computation("computation", build, [Shape.of(value) for value in values])(*values)

    return call


def _element(values: tuple[Any, ...], index: int) -> Any:
    return values[index]


def _while_loop(start: Any, condition_computation: Any, body_computation: Any) -> Any:
    return lax.while_loop(_callee(condition_computation), _callee(body_computation), start)


def _conditional(
    predicate: Any, true_operand: Any, false_operand: Any, true_computation: Any, false_computation: Any
) -> Any:
    true, false = _callee(true_computation), _callee(false_computation)
    return lax.cond(predicate, lambda a, b: true(a), lambda a, b: false(b), true_operand, false_operand)


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an op of two arrays that are broadcast against each other."""
    return lambda a, b: function(*jnp.broadcast_arrays(a, b))


def _reshape(x: Any, sizes: Sequence[int], dimensions: Any = None, inferred_dimension: Any = None) -> Any:
    return lax.reshape(x, tuple(sizes), None if dimensions is None else tuple(dimensions))


def _reduce(x: Any, init_value: Any, computation: Any, dimensions: Sequence[int]) -> Any:
    return lax.reduce(x, init_value, _callee(computation), tuple(dimensions))


def _reduce_window(
    x: Any,
    init_value: Any,
    computation: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str = "valid",
) -> Any:
    sizes, strides = tuple(window_dimensions), tuple(window_strides)
    return lax.reduce_window(x, init_value, _callee(computation), sizes, strides, padding.upper())


def _conv(
    x: Any,
    kernel: Any,
    window_strides: Sequence[int],
    padding: Any = "valid",
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision_config: Any = None,
) -> Any:
    padding = padding.upper() if isinstance(padding, str) else [tuple(pair) for pair in padding]
    groups = {"feature_group_count": feature_group_count, "batch_group_count": batch_group_count}
    return lax.conv_general_dilated(x, kernel, tuple(window_strides), padding, **groups)


def _triangular_solve(
    a: Any, b: Any, left_side: bool = False, lower: bool = False, unit_diagonal: bool = False, transpose_a: bool = False
) -> Any:
    options = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal, "transpose_a": transpose_a}
    return lax.linalg.triangular_solve(a, b, **{name: bool(value) for name, value in options.items()})


def _map(arrays: Sequence[Any], computation: Any, dimensions: Any, static_operands: Sequence[Any] = ()) -> Any:
    return jnp.vectorize(_callee(computation))(*arrays, *static_operands)


_OPERATORS = {
    **{"__add__": lax.add, "__sub__": lax.sub, "__mul__": lax.mul, "__truediv__": lax.div, "__mod__": lax.rem},
    **{"__and__": lax.bitwise_and, "__or__": lax.bitwise_or, "__xor__": lax.bitwise_xor, "__pow__": jnp.power},
    **{"__eq__": lax.eq, "__ne__": lax.ne, "__le__": lax.le, "__lt__": lax.lt, "__ge__": lax.ge, "__gt__": lax.gt},
    **{"__lshift__": lax.shift_left, "__rshift__": lax.shift_right_arithmetic},
    **{"atan2": lax.atan2, "max": lax.max, "min": lax.min},
}
_UNARY = {
    **{"__neg__": lax.neg, "__not__": lax.bitwise_not, "acos": lax.acos, "asin": lax.asin, "atan": lax.atan},
    **{"ceil": lax.ceil, "clz": lax.clz, "conj": lax.conj, "cos": lax.cos, "cosh": lax.cosh, "erf": lax.erf},
    **{"erfc": lax.erfc, "erfinf": lax.erf_inv, "exp": lax.exp, "expm1": lax.expm1, "floor": lax.floor},
    **{"imag": lax.imag, "log": lax.log, "log1p": lax.log1p, "real": lax.real, "rsqrt": lax.rsqrt, "sin": lax.sin},
    **{"sinh": lax.sinh, "sqrt": lax.sqrt, "tan": lax.tan, "tanh": lax.tanh},
}
_METHODS: dict[str, Callable[..., Any]] = {
    **_UNARY,
    **{name: _binary(function) for name, function in _OPERATORS.items()},
    "__matmul__": lax.dot,
    "bitcast": lambda x, to_type: lax.bitcast_convert_type(x, _jax_dtype(to_type)),
    "broadcast": lambda x, sizes: lax.broadcast(x, tuple(sizes)),
    "broadcast_in_dim": lambda x, sizes, dimensions: lax.broadcast_in_dim(x, tuple(sizes), tuple(dimensions)),
    "cast": lambda x, to_type: lax.convert_element_type(x, _jax_dtype(to_type)),
    "clamp": lambda x, min_value, max_value: lax.clamp(min_value, x, max_value),
    "conditional": _conditional,
    "conv": _conv,
    "conv_with_general_padding": _conv,
    "dynamic_slice": lambda x, start_indices, slice_sizes: lax.dynamic_slice(x, start_indices, slice_sizes),
    "dynamic_update_slice": lambda x, update, start_indices: lax.dynamic_update_slice(x, update, start_indices),
    "get_dimension_size": lambda x, dimension: jnp.int32(x.shape[dimension]),
    "get_tuple_element": _element,
    "ones_like": jnp.ones_like,
    "pad": lambda x, value, config: lax.pad(x, value, [tuple(each) for each in config]),
    "reduce": _reduce,
    "reduce_all": lambda x, init, computation: _reduce(x, init, computation, range(x.ndim)),
    "reduce_window": _reduce_window,
    "reshape": _reshape,
    "rev": lambda x, dimensions: lax.rev(x, tuple(dimensions)),
    "scalar_like": jnp.full_like,
    "select": lambda x, true_value, false_value: lax.select(x, true_value, false_value),
    "slice": lambda x, start_indices, limit_indices, strides=None: lax.slice(x, start_indices, limit_indices, strides),
    "slice_in_dim": lambda x, start_index, limit_index, dimno, stride=1: lax.slice_in_dim(
        x, start_index, limit_index, stride, dimno
    ),
    "transpose": lambda x, permutation: lax.transpose(x, tuple(permutation)),
    "triangualr_solve": _triangular_solve,  # as the real package spells it
    "while_loop": _while_loop,
    "zeros_like": jnp.zeros_like,
}
"""Functions of JAX by the method of :class:`Op` that applies them to the arrays of the ops among its arguments."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "call": lambda computation, ops: _callee(computation)(*ops),
    "concat_in_dim": lambda ops, dimension: lax.concatenate(list(ops), dimension),
    "map": _map,
    "tuple": tuple,
}
"""The same for functions of several ops."""


def _method(function: Callable[..., Any]) -> Callable[..., Op]:
    def method(*args: Any, **kwargs: Any) -> Op:
        return _apply(function, *args, **kwargs)

    return method


for _name, _function in _METHODS.items():
    setattr(Op, _name, _method(_function))
for _name, _function in _FUNCTIONS.items():
    setattr(Op, _name, staticmethod(_method(_function)))
