"""Programs that call Python functions."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from tt_xla import callbacks
from tt_xla.errors import ExecutionError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
LIKE_X = jax.ShapeDtypeStruct(X.shape, X.dtype)


@pytest.fixture(autouse=True)
def _on_tt(tt):
    with jax.default_device(tt):
        yield


@pytest.fixture
def calls():
    return []


def note(calls):
    return lambda *values: calls.append(tuple(np.asarray(value).tolist() for value in values))


def test_debug_print(capsys):
    @jax.jit
    def f(x):
        jax.debug.print("x is {x}, its sum {s:.1f}", x=x[0], s=x.sum())
        return x + 1

    np.testing.assert_array_equal(f(X), X + 1)
    jax.effects_barrier()
    assert capsys.readouterr().out == "x is [0. 1. 2.], its sum 15.0\n"


def test_debug_print_of_nothing_and_outside_of_jit(capsys):
    jax.jit(lambda: jax.debug.print("here"))()
    jax.debug.print("there {}", jnp.ones(2), ordered=True)
    assert capsys.readouterr().out == "here\nthere [1. 1.]\n"


def test_debug_callback_under_transformations(calls):
    def f(x):
        jax.debug.callback(note(calls), x)
        return x * x

    jax.jit(jax.vmap(f))(X[0])
    jax.jit(jax.grad(f))(3.0)
    jax.effects_barrier()
    assert sorted(calls) == [(0,), (1,), (2,), (3,)]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.uint32, np.float16, np.float32, jnp.bfloat16])
def test_pure_callback_in_every_type(dtype):
    values = X.astype(dtype)

    def host(x):
        assert x.dtype == values.dtype
        return np.asarray(x)[::-1]

    got = jax.jit(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(values)
    np.testing.assert_array_equal(got, values[::-1])


def test_pure_callback_between_ops_with_several_results():
    like = (LIKE_X, jax.ShapeDtypeStruct((), np.float32))
    f = jax.jit(lambda x: jax.pure_callback(lambda x: (np.sort(x), np.float32(x.max())), like, x * -1))
    ordered, largest = f(X)
    np.testing.assert_array_equal(ordered, np.sort(-X))
    assert largest == 0


def test_pure_callback_of_constants_is_not_computed_ahead():
    calls = []
    shape = jax.ShapeDtypeStruct((), np.int32)
    f = jax.jit(lambda: jax.pure_callback(lambda: calls.append(0) or np.int32(len(calls)), shape))
    assert [int(f()) for _ in range(3)] == [1, 2, 3]


def test_each_of_two_equal_calls_is_made(calls):
    @jax.jit
    def f(x):
        io_callback(note(calls), None, x)
        io_callback(note(calls), None, x)

    f(1)
    jax.effects_barrier()
    assert calls == [(1,), (1,)]


@pytest.mark.parametrize("ordered", [False, True])
def test_loops_call_in_every_round(calls, ordered):
    """Loops call in every round, also if nothing uses their results; so do scans that are unrolled."""

    def body(i, x):
        io_callback(note(calls), None, i, x.sum(), ordered=ordered)
        return jnp.tanh(x @ x.T @ x) + 1

    jax.jit(lambda x: (jax.lax.fori_loop(0, 20, body, x), None)[1])(X)
    jax.effects_barrier()
    assert [number for number, _ in calls] == list(range(20))


def test_while_loop_calls_in_order(calls):
    @jax.jit
    def f(x):
        def body(x):
            io_callback(note(calls), None, x, ordered=True)
            io_callback(note(calls), None, -x, ordered=True)
            return x * 2

        return jax.lax.while_loop(lambda x: x < 10, body, x)

    assert f(3) == 12
    jax.effects_barrier()
    assert calls == [(3,), (-3,), (6,), (-6,)]


def test_only_the_branch_that_is_taken_calls(calls):
    @jax.jit
    def f(x):
        def one(x):
            jax.debug.callback(note(calls), x)
            return x

        return jax.lax.cond(x > 0, one, lambda x: -x, x)

    assert (f(2), f(-3)) == (2, 3)
    jax.effects_barrier()
    assert calls == [(2,)]


def test_a_callback_that_runs_jax():
    def host(x):
        return np.asarray(jax.jit(lambda x: x * 3 + 1)(jax.device_put(np.asarray(x), jax.devices("tt")[0])))

    np.testing.assert_array_equal(jax.jit(lambda x: jax.pure_callback(host, LIKE_X, x))(X), X * 3 + 1)


def test_a_callback_that_fails_says_where():
    def my_function(x):
        raise ValueError("no such thing")

    with pytest.raises(jax.errors.JaxRuntimeError, match=r"(?s)my_function.*ValueError: no such thing"):
        jax.jit(lambda x: jax.pure_callback(my_function, LIKE_X, x))(X)


def test_a_callback_that_returns_something_else_is_an_error():
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"\(3, 2\).*expected.*\(2, 3\)"):
        jax.jit(lambda x: jax.pure_callback(lambda x: x.T, LIKE_X, x))(X)


def test_functions_live_as_long_as_programs():
    class Host:
        def __call__(self, x):
            return x

    def function_and_reference():
        host = Host()
        return jax.jit(lambda x: jax.pure_callback(host, LIKE_X, x)), weakref.ref(host)

    f, alive = function_and_reference()
    f(X)
    gc.collect()
    np.testing.assert_array_equal(f(X), X)
    del f
    jax.clear_caches()
    gc.collect()
    jnp.ones(3) + 1  # a call frees objects that were destroyed
    gc.collect()
    assert alive() is None


def test_a_function_of_another_process_is_an_error():
    with pytest.raises(ExecutionError, match="this process does not have"):
        callbacks.find("another:0:0")


def test_tokens_are_passed_on_by_programs(calls):
    """Ordered callbacks in successive programs: the token is an argument and a result of each program."""
    f = jax.jit(
        lambda x: (
            io_callback(lambda x: calls.append(int(x)) or x, jax.ShapeDtypeStruct((), np.int32), x, ordered=True) + 1
        )
    )
    assert f(f(1)) == 3
    assert calls == [1, 2]
