"""Runs random programs with random shardings in a process with eight CPU devices; prints the error as JSON.

Usage: ``run_random.py EXAMPLES [SEED]``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from run_programs import compare, with_shardings

from tt_xla.compiler.sharding import localize

MESHES = [{"x": 4, "y": 2}, {"x": 2, "y": 4}, {"x": 8}, {"a": 2, "b": 2, "c": 2}, {"x": 3, "y": 2}]
Step = Callable[[Any], Any]


@st.composite
def shardings(draw: st.DrawFn, mesh: dict[str, int], rank: int) -> list[tuple[str, ...]]:
    """Draws the axes of each dimension; most axes are used, and none twice."""
    dims: list[tuple[str, ...]] = [()] * rank
    for axis in draw(st.permutations(list(mesh))):
        place = draw(st.integers(-1, rank - 1))
        if place >= 0:
            dims[place] += (axis,)
    return dims


@st.composite
def steps(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Step, tuple[int, ...]]:
    """Draws an op on a tensor of a shape; returns the op and the shape of its result."""
    rank = len(shape)
    kind = draw(
        st.sampled_from(["unary", "binary", "transpose", "reduce", "broadcast", "merge", "split", "dot", "cut"])
    )
    dim = draw(st.integers(0, rank - 1)) if rank else 0
    if kind == "transpose" and rank:
        order = draw(st.permutations(range(rank)))
        return lambda v: jnp.transpose(v, order), tuple(shape[d] for d in order)
    if kind == "reduce" and rank:
        reduce = draw(st.sampled_from([jnp.sum, jnp.max, jnp.min]))
        return lambda v: reduce(v, axis=dim), shape[:dim] + shape[dim + 1 :]
    if kind == "broadcast" and rank < 4:
        size = draw(st.integers(1, 9))
        new = (*shape[:dim], size, *shape[dim:])
        return lambda v: jnp.broadcast_to(jnp.expand_dims(v, dim), new), new
    if kind == "merge" and rank > 1 and dim + 1 < rank:
        new = (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])
        return lambda v: v.reshape(new), new
    if kind == "split" and rank and rank < 4:
        factors = [f for f in range(1, shape[dim] + 1) if shape[dim] % f == 0]
        factor = draw(st.sampled_from(factors))
        new = (*shape[:dim], factor, shape[dim] // factor, *shape[dim + 1 :])
        return lambda v: v.reshape(new), new
    if kind == "dot" and rank:
        width = draw(st.integers(1, 9))
        weights = np.arange(shape[-1] * width).reshape(shape[-1], width) % 5 - 2
        return lambda v: v @ weights.astype(v.dtype), (*shape[:-1], width)
    if kind == "cut" and rank:
        start = draw(st.integers(0, shape[dim] - 1))
        place = tuple(slice(start, None) if d == dim else slice(None) for d in range(rank))
        return lambda v: v[place], (*shape[:dim], shape[dim] - start, *shape[dim + 1 :])
    if kind == "binary":
        return lambda v: v * v + 3, shape
    return lambda v: -v, shape


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Step], tuple[int, ...], dict[str, int], Any, Any]:
    mesh = draw(st.sampled_from(MESHES))
    shape = tuple(draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
    chain, now = [], shape
    for _ in range(draw(st.integers(1, 5))):
        step, now = draw(steps(now))
        chain.append(step)
    results = draw(st.one_of(st.none(), shardings(mesh, len(now))))
    return chain, shape, mesh, draw(shardings(mesh, len(shape))), results


def check(case: Any) -> None:
    chain, shape, mesh, arguments, results = case

    def function(value: Any) -> Any:
        for step in chain:
            value = step(value)
        return value

    array = np.random.default_rng(0).integers(-4, 5, shape).astype(np.int32)
    compiled = jax.jit(function)
    expected = np.asarray(compiled(array))
    module = with_shardings(compiled.lower(array).as_text(), mesh, [arguments], None if results is None else [results])
    localized = localize(module, 8)
    assert localized is not None
    compare(localized, [array], [expected], 0)


def main(examples: int, start: int) -> None:
    quiet = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
    )
    failure = ""
    try:
        seed(start)(quiet(given(cases())(check)))()
    except Exception:
        failure = traceback.format_exc()
    print(json.dumps({"random": failure}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
