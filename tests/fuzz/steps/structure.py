"""Draws ops that move elements, and those that make tensors."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.draft import Aval, Draft, as_text, tensor_type
from tests.fuzz.meshes import SIZES
from tests.fuzz.steps.registry import draws

_ANY = "fffib"


@draws("stablehlo.reshape")
def reshape(draft: Draft, name: str) -> list[int]:
    """Draws a reshape that joins neighbouring dimensions, splits one, adds or drops one of size 1, or mixes all."""
    operand = draft.value(_ANY, (1, 2, 3))
    shape = list(draft.avals[operand].shape)
    for _ in range(draft.random.choice((1, 1, 2, 3))):
        way = draft.random.choice(("merge", "merge", "split", "split", "one"))
        dim = draft.random.randrange(len(shape)) if shape else 0
        if way == "merge" and dim + 1 < len(shape):
            shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
        elif way == "split" and shape and len(shape) < 5:
            factors = [factor for factor in range(2, shape[dim]) if shape[dim] % factor == 0]
            if factors:
                factor = draft.random.choice(factors)
                shape[dim : dim + 1] = [factor, shape[dim] // factor]
        elif way == "one" and len(shape) < 5:
            if 1 in shape and draft.random.random() < 0.5:
                shape.remove(1)
            else:
                shape.insert(dim, 1)
    return draft.add(lambda x: lax.reshape(x, tuple(shape)), operand)


@draws("stablehlo.transpose")
def transpose(draft: Draft, name: str) -> list[int]:
    operand = draft.value(_ANY, (2, 3))
    rank = len(draft.avals[operand].shape)
    order = draft.random.sample(range(rank), rank)
    return draft.add(lambda x: lax.transpose(x, order), operand)


@draws("stablehlo.broadcast_in_dim")
def broadcast(draft: Draft, name: str) -> list[int]:
    """Draws a broadcast that adds dimensions, also between others, and enlarges those of size 1."""
    operand = draft.value(_ANY, (0, 1, 2))
    shape = list(draft.avals[operand].shape)
    target, dims = [], []
    for size in shape:
        while draft.random.random() < 0.25:
            target.append(draft.random.choice(SIZES[:10]))
        dims.append(len(target))
        target.append(draft.random.choice(SIZES[:10]) if size == 1 else size)
    if len(target) == len(shape):
        target.append(draft.random.choice(SIZES[:10]))
    return draft.add(lambda x: lax.broadcast_in_dim(x, target, dims), operand)


@draws("stablehlo.slice")
def slice_(draft: Draft, name: str) -> list[int]:
    operand = draft.value(_ANY, (1, 2, 3))
    shape = draft.avals[operand].shape
    starts, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
    for dim in draft.random.sample(range(len(shape)), draft.random.randint(1, len(shape))):
        starts[dim] = draft.random.randrange(shape[dim])
        ends[dim] = draft.random.randint(starts[dim] + 1, shape[dim])
        steps[dim] = draft.random.choice((1, 1, 1, 2, 3))
    return draft.add(lambda x: lax.slice(x, starts, ends, steps), operand)


@draws("stablehlo.pad")
def pad(draft: Draft, name: str) -> list[int]:
    """Draws padding, also negative and between elements."""
    operand = draft.value(_ANY, (1, 2, 3))
    aval = draft.avals[operand]
    choose = draft.random.choice
    config = [(choose((0, 0, 1, 2, 5, -1)), choose((0, 0, 1, 3, -1)), choose((0, 0, 0, 1, 2))) for _ in aval.shape]
    fill = np.asarray(choose((0, 1, 7))).astype(aval.dtype)[()]
    return draft.add(lambda x: lax.pad(x, fill, config), operand)


@draws("stablehlo.concatenate")
def concatenate(draft: Draft, name: str) -> list[int]:
    """Draws a concatenation of two or three tensors of different sizes."""
    operand = draft.value(_ANY, (1, 2, 3))
    shape = draft.avals[operand].shape
    dim = draft.random.randrange(len(shape))
    parts = [operand]
    for _ in range(draft.random.choice((1, 1, 2))):
        size = draft.random.choice((shape[dim], shape[dim], *SIZES[:8]))
        parts.append(draft.like(operand, (*shape[:dim], size, *shape[dim + 1 :])))
    draft.random.shuffle(parts)
    return draft.add(lambda *xs: lax.concatenate(xs, dim), *parts)


@draws("stablehlo.reverse")
def reverse(draft: Draft, name: str) -> list[int]:
    operand = draft.value(_ANY, (1, 2, 3))
    rank = len(draft.avals[operand].shape)
    dims = draft.random.sample(range(rank), draft.random.randint(1, rank))
    return draft.add(lambda x: lax.rev(x, dims), operand)


@draws("stablehlo.concatenate", "stablehlo.slice")
def roll(draft: Draft, name: str) -> list[int]:
    operand = draft.value(_ANY, (1, 2))
    dim = draft.random.randrange(len(draft.avals[operand].shape))
    places = draft.random.choice((1, -1, 2, 3, -5))
    return draft.add(lambda x: jnp.roll(x, places, axis=dim), operand)


@draws("stablehlo.bitcast_convert")
def bitcast_convert(draft: Draft, name: str) -> list[int]:
    """Draws a look at the bits as another type, of the same width or of another."""
    operand = draft.value("fi", (1, 2), lambda aval: aval.dtype.name in ("float32", "int32", "uint32", "int8", "int16"))
    aval = draft.avals[operand]
    targets = [name for name in ("int32", "uint32", "int16", "uint8", "int8") if name != aval.dtype.name]
    target = np.dtype(draft.random.choice(targets))
    if target.itemsize > aval.dtype.itemsize and aval.shape[-1] * aval.dtype.itemsize != target.itemsize:
        target = np.dtype("uint8" if aval.dtype.itemsize == 1 else "uint16")
    draft.differentiable = False
    low = target.type(127)  # sums and products of larger integers need more bits than the chip's floats have
    return draft.add(lambda x: lax.bitcast_convert_type(x, target) & low, operand)


@draws("stablehlo.optimization_barrier")
def optimization_barrier(draft: Draft, name: str) -> list[int]:
    one, other = draft.value("fi"), draft.value("fi")
    return draft.add(lambda x, y: lax.optimization_barrier((x, y)), one, other)


@draws("stablehlo.iota")
def iota(draft: Draft, name: str) -> list[int]:
    """Draws a count along a dimension, which is added to a value of that shape."""
    operand = draft.value("fi", (1, 2, 3))
    aval = draft.avals[operand]
    dim = draft.random.randrange(len(aval.shape))
    return draft.add(lambda x: x + lax.broadcasted_iota(aval.dtype, aval.shape, dim), operand)


@draws("stablehlo.constant", "chlo.constant")
def constant(draft: Draft, name: str) -> list[int]:
    """Draws a constant with different elements, or with one, which is added to a value of its shape."""
    operand = draft.value("f", (1, 2, 3), lambda aval: aval.dtype == np.float32)
    aval = draft.avals[operand]
    array = np.float32(2.5) if draft.random.random() < 0.3 else np.arange(math.prod(aval.shape)) % 7 - 2.5
    array = np.broadcast_to(array.reshape(-1), (math.prod(aval.shape),)).reshape(aval.shape).astype(np.float32)
    if name == "stablehlo.constant":
        return draft.add(lambda x: x + array, operand)
    draft.differentiable = False
    text = f"%r0 = chlo.constant dense<{array.tolist()}> : {tensor_type(aval)}"
    return draft.add(lambda x: x + as_text(text, [], [Aval(aval.shape, aval.dtype)])[0], operand)


@draws("stablehlo.create_token", "stablehlo.after_all")
def token(draft: Draft, name: str) -> list[int]:
    operand = draft.value("f")
    aval = draft.avals[operand]
    text = (
        "%t = stablehlo.create_token : !stablehlo.token\n"
        "%u = stablehlo.after_all %t, %t : !stablehlo.token\n"
        "%v:2 = stablehlo.optimization_barrier %a0, %u : {a0}, !stablehlo.token\n"
        "%r0 = stablehlo.negate %v#0 : {a0}"
    )
    draft.differentiable = False
    return draft.add(lambda x: as_text(text, [x], [aval])[0], operand)


@draws("stablehlo.rng_bit_generator")
def random_bits(draft: Draft, name: str) -> list[int]:
    """Draws bits of JAX's generator, or of StableHLO's with a given algorithm."""
    shape = draft.shape((1, 2), 512)
    draft.differentiable = False
    if draft.random.random() < 0.5:
        key = draft.integers((2,), 0, 1 << 30, "uint32")
        return draft.add(lambda k: jax.random.bits(jax.random.wrap_key_data(k), shape, np.uint32), key)
    key = draft.integers((4,), 0, 1 << 30, "uint32")

    @jax.custom_batching.sequential_vmap  # JAX's own rule draws the bits of all chips from the state of the first one
    def function(k: Any) -> Any:
        return lax.rng_bit_generator(k, shape, np.uint32, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)[1]

    return draft.add(function, key)


@draws("stablehlo.rng")
def rng(draft: Draft, name: str) -> list[int]:
    """Draws numbers of an unnamed generator, of which only the range is known."""
    aval = Aval(draft.shape((1, 2), 512), np.dtype("float32"))
    low, high = draft.argument(np.float32(1)), draft.argument(np.float32(2))
    attributes = "rng_distribution = #stablehlo<rng_distribution UNIFORM>"
    sizes = ", ".join(map(str, aval.shape))
    text = (
        f"%s = stablehlo.constant dense<[{sizes}]> : tensor<{len(aval.shape)}xi64>\n"
        f'%r0 = "stablehlo.rng"(%a0, %a1, %s) <{{{{{attributes}}}}}> '
        f": ({{a0}}, {{a1}}, tensor<{len(aval.shape)}xi64>) -> {{r0}}"
    )

    def function(a: Any, b: Any) -> Any:
        numbers = as_text(text, [a, b], [aval])[0]
        return (numbers >= a) & (numbers <= b)

    draft.differentiable = False
    return draft.add(function, low, high)
