"""Donated caches are written in place and then deleted; arrays that the user still holds do not change."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

CACHE = np.random.default_rng(0).standard_normal((2, 2, 64, 32)).astype(np.float32)
NEW = np.random.default_rng(1).standard_normal((2, 2, 1, 32)).astype(np.float32)


def step(cache, new, position):
    cache = lax.dynamic_update_slice(cache, new, (0, 0, position, 0))
    return cache, cache.sum(axis=2)


def written(position):
    expected = CACHE.copy()
    expected[:, :, position] = NEW[:, :, 0]
    return expected


@pytest.fixture(params=[False, True], ids=["plain", "traced"])
def options(request):
    return {"enable_trace": request.param}


def test_a_donated_cache_stays_where_it_is(options):
    donating = jax.jit(step, donate_argnums=0, compiler_options=options)
    cache = jnp.asarray(CACHE)
    address, expected = cache.unsafe_buffer_pointer(), CACHE.copy()
    for position in range(5):
        before = cache
        cache, total = donating(before, NEW, position)
        assert before.is_deleted()
        assert cache.unsafe_buffer_pointer() == address
        expected[:, :, position] = NEW[:, :, 0]
        np.testing.assert_allclose(total, expected.sum(axis=2), atol=1e-2)
    np.testing.assert_array_equal(cache, expected)


def test_a_cache_that_is_not_donated_never_changes(options):
    keeping = jax.jit(step, compiler_options=options)
    cache = jnp.asarray(CACHE)
    for position in range(4):
        result, _ = keeping(cache, NEW, position)
        np.testing.assert_array_equal(result, written(position))
        np.testing.assert_array_equal(cache, CACHE)


def test_a_view_of_a_donated_cache_never_changes(options):
    donating = jax.jit(step, donate_argnums=0, compiler_options=options)
    cache = jax.jit(lambda x: x * 1)(CACHE)
    view = np.asarray(cache)
    result, _ = donating(cache, NEW, 3)
    np.testing.assert_array_equal(view, CACHE)
    np.testing.assert_array_equal(result, written(3))


def test_a_copy_of_a_donated_cache_never_changes(tt):
    donating = jax.jit(step, donate_argnums=0)
    cache = jax.device_put(CACHE, tt)
    copies = [jnp.copy(cache), jax.device_put(cache, tt, may_alias=False)]
    donating(cache, NEW, 3)
    for copy in copies:
        np.testing.assert_array_equal(copy, CACHE)
