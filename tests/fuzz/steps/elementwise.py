"""Draws elementwise ops from their signatures, also as CHLO's broadcasting ops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.draft import Aval, Draft, kind_of, one_op, tensor_type
from tests.fuzz.steps.registry import draws
from tests.fuzz.values import dtype

SIGNATURES = {
    "f>f": "cbrt ceil cosine exponential exponential_minus_one floor logistic reduce_precision round_nearest_afz "
    "round_nearest_even sine tan tanh chlo.asinh chlo.atan chlo.bessel_i1e chlo.cosh chlo.erf chlo.erfc chlo.sinh "
    "chlo.tan chlo.square chlo.constant_like map",
    "p>f": "log log_plus_one rsqrt sqrt chlo.digamma chlo.lgamma",
    "u>f": "chlo.acos chlo.asin chlo.atanh chlo.erf_inv",
    "o>f": "chlo.acosh",
    "f>b": "is_finite chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf",
    "ff>f": "atan2 chlo.next_after",
    "pf>f": "power",
    "np>n": "divide remainder",
    "po>f": "chlo.polygamma chlo.zeta",
    "g>g": "abs sign",
    "n>n": "negate",
    "c>c": "chlo.conj",
    "nn>n": "add maximum minimum multiply subtract",
    "nnn>n": "clamp",
    "nn>b": "compare",
    "bnn>n": "select",
    "ff>c": "complex",
    "c>f": "imag real",
    "n>m": "convert",
    "ii>i": "and or xor chlo.mulhi",
    "is>i": "shift_left shift_right_arithmetic shift_right_logical",
    "i>i": "not popcnt count_leading_zeros",
}
"""Ops by the kinds of their operands and results: ``f`` float, ``p`` positive float or integer, ``u`` float within
(-1, 1), ``o`` float above 1, ``n`` number, ``g`` signed number, ``i`` integer, ``s`` distance of a shift, ``b`` truth,
``c`` complex, ``m`` another type. Operands of one signature have one type but for truths."""

_ATTRIBUTES = {
    "stablehlo.reduce_precision": "exponent_bits = 5 : i32, mantissa_bits = 7 : i32",
    "chlo.constant_like": "value = 3.0 : {element}",
    "stablehlo.map": "dimensions = array<i64: {dims}>",
}
_BODY = """^bb0(%x: tensor<{element}>):
  %y = "stablehlo.add"(%x, %x) : (tensor<{element}>, tensor<{element}>) -> tensor<{element}>
  "stablehlo.return"(%y) : (tensor<{element}>) -> ()
"""
_KINDS = {"f": "f", "p": "f", "u": "f", "o": "f", "n": "ffi", "g": "ffi", "i": "i", "s": "i", "b": "b", "c": "c"}

OPS = {
    name if "." in name else f"stablehlo.{name}": signature
    for signature, names in SIGNATURES.items()
    for name in names.split()
}
_BROADCAST = (
    "add and atan2 compare complex divide maximum minimum multiply next_after or polygamma power remainder select "
    "shift_left shift_right_arithmetic shift_right_logical subtract xor zeta"
)
BROADCASTING = tuple(f"chlo.broadcast_{name}" for name in _BROADCAST.split())
"""Ops of CHLO's that broadcast their operands."""


def _within(kind: str, x: Any) -> Any:
    """Returns an operand within what an op takes."""
    if kind in "pos" and kind_of(x.dtype) == "i":
        return lax.clamp(x.dtype.type(1), x, x.dtype.type(7))
    if kind == "p":
        return jnp.abs(x) + x.dtype.type(0.5)
    if kind == "o":
        return jnp.abs(x) + x.dtype.type(1.5)
    return jnp.tanh(x) * x.dtype.type(0.75) if kind == "u" else x


def _signature(name: str) -> tuple[str, str]:
    base = name.replace("chlo.broadcast_", "chlo.")
    signature = OPS.get(base) or OPS[base.replace("chlo.", "stablehlo.")]
    operands, _, result = signature.partition(">")
    return operands, result


def _result(draft: Draft, kind: str, shape: tuple[int, ...], type_: np.dtype) -> Aval:
    if kind == "b":
        return Aval(shape, np.dtype(bool))
    if kind == "c":
        return Aval(shape, np.dtype(np.complex64))
    if kind == "f" and type_.kind == "c":
        return Aval(shape, np.dtype(np.float32))
    return Aval(shape, dtype(draft.dtype("fib")) if kind == "m" else type_)


def _operands(draft: Draft, name: str, kinds: str) -> list[int]:
    """Draws operands of one shape; of the type that the first number among them has."""
    need = "ffi" if name.endswith(("divide", "remainder")) else _KINDS[kinds.replace("b", "")[0]]
    single = "complex" in name or "polygamma" in name or "zeta" in name
    first = draft.value(
        need + "b" * (name.endswith((".and", ".or", ".xor", ".not", ".select", ".compare"))) + "b" * (">m" in kinds),
        (1, 2, 2, 3),
        where=lambda aval: (not single or aval.dtype == np.float32) and not ("g" in kinds and aval.dtype.kind == "u"),
    )
    shape = draft.avals[first].shape
    numbers = [first, *(draft.like(first) for _ in kinds.replace("b", "")[1:])]
    truths = [draft.drawn(shape, "bool") for _ in range(kinds.count("b"))]
    return [*truths, *numbers]


@draws(*OPS)
def elementwise(draft: Draft, name: str) -> list[int]:
    """Draws an op on tensors of one shape; clamp and select may have scalars."""
    kinds, to = _signature(name)
    operands = _operands(draft, name, kinds)
    aval = draft.avals[operands[-1]]
    result = _result(draft, to, aval.shape, aval.dtype)
    scalars = name in ("stablehlo.clamp", "stablehlo.select") and draft.random.random() < 0.3
    element = tensor_type(Aval((), aval.dtype)).removeprefix("tensor<").removesuffix(">")
    attributes = _ATTRIBUTES.get(name, "")
    if name == "stablehlo.compare":
        attributes = _comparison(draft, aval.dtype)
    attributes = attributes.format(element=element, dims=", ".join(map(str, range(len(aval.shape)))))
    region = _BODY.format(element=element) if name == "stablehlo.map" else ""

    def function(*values: Any) -> Any:
        values = tuple(_within(kind, value) for kind, value in zip(kinds, values, strict=True))
        if scalars and name == "stablehlo.select":
            values = (values[0].reshape(-1)[0], *values[1:])
        if scalars and name == "stablehlo.clamp":
            values = (values[0].reshape(-1)[0], values[1], values[2].reshape(-1)[0])
        return one_op(name, values, result, attributes, region)

    draft.differentiable = False
    return draft.add(function, *operands)


def _comparison(draft: Draft, type_: np.dtype) -> str:
    directions = ("EQ", "NE", "GE", "GT", "LE", "LT")
    kind = {"f": "FLOAT", "b": "UNSIGNED"}.get(kind_of(type_), "UNSIGNED" if type_.kind == "u" else "SIGNED")
    return (
        f"comparison_direction = #stablehlo<comparison_direction {draft.random.choice(directions)}>, "
        f"compare_type = #stablehlo<comparison_type {kind}>"
    )


@draws(*BROADCASTING)
def broadcasting(draft: Draft, name: str) -> list[int]:
    """Draws an op of CHLO's whose operands lack dimensions, or have some of size 1."""
    kinds, to = _signature(name)
    operands = _operands(draft, name, kinds)
    shape, type_ = draft.avals[operands[-1]].shape, draft.avals[operands[-1]].dtype
    smaller = draft.random.randrange(len(operands))
    lost = draft.random.randrange(len(shape) + 1)
    ones = [dim for dim in range(lost, len(shape)) if draft.random.random() < 0.4]
    result = _result(draft, to, shape, type_)
    explicit = lost and len(operands) == 2 and draft.random.random() < 0.4
    attributes = _comparison(draft, type_).replace("#stablehlo<", "#chlo<") if name.endswith("compare") else ""
    if explicit:
        dims = ", ".join(map(str, range(lost, len(shape))))
        attributes += ", " * bool(attributes) + f"broadcast_dimensions = array<i64{':' * bool(dims)} {dims}>"

    def function(*values: Any) -> Any:
        values = [_within(kind, value) for kind, value in zip(kinds, values, strict=True)]
        part = values[smaller][(0,) * lost]
        for dim in ones:
            part = lax.slice_in_dim(part, 0, 1, axis=dim - lost)
        values[smaller] = part
        return one_op(name, values, result, attributes)

    draft.differentiable = False
    return draft.add(function, *operands)


@draws("stablehlo.add", "stablehlo.multiply")
def differentiable(draft: Draft, name: str) -> list[int]:
    """Draws a chain of JAX's functions that gradients can pass."""
    operand = draft.value("f")
    other = draft.like(operand)
    chains = (
        lambda x, y: jnp.tanh(x) * y + x,
        lambda x, y: jnp.maximum(x, y) * jax.nn.sigmoid(x),
        lambda x, y: jax.nn.softmax(x * y, axis=-1),
        lambda x, y: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1) + y,
        lambda x, y: jax.nn.gelu(x) - y * 2,
    )
    return draft.add(draft.random.choice(chains), operand, other)
