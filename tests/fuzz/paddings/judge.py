"""Runs a program with symbolic sizes at capacities that are larger than its sizes, with noise in all padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export, lax

from tests.fuzz.cases import Difference
from tt_xla.frontends.capacity.program import SymbolicProgram
from tt_xla.frontends.capacity.sizes import integer_value, step_capacity
from tt_xla.frontends.capacity.values import Padded, Padding

Shape = Sequence[Any]
"""Sizes: ints, and texts such as ``"s + 1"``."""


def symbolic(shape: Shape, symbols: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns a shape with JAX's symbols in place of texts."""
    return tuple(eval(size, {}, dict(symbols)) if isinstance(size, str) else size for size in shape)


def new_symbols(names: str) -> dict[str, Any]:
    """Returns symbols of JAX by the letters of ``names``, each from 2 to 1,000."""
    constraints = [f"{name} {bound}" for name in names for bound in (">= 2", "<= 1000")]
    return dict(zip(names, export.symbolic_shape(", ".join(names), constraints=constraints), strict=True))


def poisoned(ctx: Padding, value: Padded) -> Padded:
    """Returns a value whose padding holds noise: wherever it is not what the rule says that it holds."""
    if value.is_exact:
        return value
    valid = ctx.valid(value, value.padded_axes)
    dtype = value.array.dtype
    if dtype == np.bool_:
        noise: Any = lax.full_like(value.array, True)
    elif np.issubdtype(dtype, np.integer):
        noise = lax.full_like(value.array, np.iinfo(dtype).max - 3)
    else:
        noise = lax.full_like(value.array, np.nan)
        odd = lax.broadcasted_iota(np.int32, value.array.shape, value.array.ndim - 1) % 2 == 1
        noise = lax.select(odd, lax.full_like(value.array, np.inf), noise)
    if value.fill is not None:
        expected = lax.full_like(value.array, value.fill)
        kept = lax.bitwise_or(
            lax.eq(value.array, expected),
            lax.ne(value.array, value.array) if value.fill != value.fill else lax.eq(value.array, expected),
        )
        noise = lax.select(kept, value.array, noise)
    return Padded(lax.select(valid, value.array, noise), value.dims, value.fill, value.uniform)


def differences(
    function: Callable[..., Any],
    shapes: Sequence[tuple[Any, ...]],
    dtypes: Sequence[str],
    sizes: Mapping[str, int],
    seed: int = 0,
) -> Iterator[Difference]:
    """Yields where a padded program differs from the program of fixed sizes.

    Args:
        function: the program, of arrays.
        shapes: shapes of its arguments, with symbols of JAX.
        dtypes: their types.
        sizes: values of the symbols.
        seed: decides the contents of the arguments.
    """
    with jax.default_device(jax.devices("cpu")[0]):
        yield from _differences(function, shapes, dtypes, sizes, seed)


def _differences(
    function: Callable[..., Any],
    shapes: Sequence[tuple[Any, ...]],
    dtypes: Sequence[str],
    sizes: Mapping[str, int],
    seed: int,
) -> Iterator[Difference]:
    specs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    program = SymbolicProgram(jax.make_jaxpr(lambda *arrays: jax.tree.leaves(function(*arrays)))(*specs))
    capacities = {name: step_capacity(sizes[name] + program.offsets.get(name, 0)) for name in program.symbols}
    padded = program.padded(capacities, poisoned)
    inputs = [
        drawn(tuple(integer_value(size, sizes) for size in spec.shape), spec.dtype, seed + n)
        for n, spec in enumerate(specs)
    ]
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*inputs))]
    enlarged = [
        np.pad(array, [(0, capacity - size) for capacity, size in zip(shape, array.shape, strict=True)])
        for array, shape in zip(inputs, padded.shapes, strict=True)
    ]
    lengths = [np.int32(sizes[name]) for name in program.symbols]
    results = jax.jit(lambda *arrays: padded(*arrays))(*enlarged, *lengths)
    for number, (want, result, shape) in enumerate(zip(expected, results, program.results, strict=True)):
        valid = tuple(slice(integer_value(size, sizes)) for size in shape)
        got, rest = np.asarray(result)[valid], np.array(result)
        rest[valid] = 0
        if got.shape != want.shape:
            yield Difference(f"shape of result {number}", f"{got.shape}, expected {want.shape}")
        elif not np.allclose(got.astype(float), want.astype(float), rtol=1e-3, atol=1e-3, equal_nan=True):
            yield Difference(f"result {number}", f"{got}, expected {want}")
        if rest.astype(bool).any():
            yield Difference(f"padding of result {number}", f"{rest}, expected zeros")


def drawn(shape: Sequence[int], dtype: Any, seed: int) -> np.ndarray:
    """Returns an array of small numbers."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype) == np.bool_:
        return generator.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return generator.integers(-3, 4, shape).astype(dtype)
    return generator.uniform(-1, 1, shape).astype(dtype)


def sizes_for(generator: random.Random, names: str) -> dict[str, int]:
    """Returns values of symbols: sizes at, below and above a power of two."""
    return {name: generator.choice([2, 3, 4, 5, 7, 8, 9, 13]) for name in names}
