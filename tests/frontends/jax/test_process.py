"""Exceptions, signals, exit, fork and threads never end the process. Each test runs a script in its own process."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.stress


def check(result, expected: str = "done") -> None:
    # An interrupt may also hit JAX's own hook of the garbage collector.
    result.stderr = result.stderr.replace("Exception ignored in: <function _xla_gc_callback", "")
    assert result.returncode == 0, (result.returncode, result.stdout[-500:], result.stderr[-3000:])
    assert expected in result.stdout
    assert "Fatal" not in result.stderr
    assert "Exception ignored" not in result.stderr


def test_exception_while_an_array_is_freed(run_python):
    """The array on the evaluation stack is freed while the user's exception is pending."""
    check(
        run_python("""
import jax.numpy as jnp
def bad():
    raise ValueError("the user's own")
for _ in range(200):
    try:
        (jnp.ones(3), jnp.ones(3) + 1, bad())
    except ValueError as error:
        assert str(error) == "the user's own", error
print("done")
""")
    )


SIGNALS = """
import signal, sys, jax.numpy as jnp, numpy as np
class Stop(Exception):
    pass
def stop(number, frame):
    raise {exception}
signal.signal(signal.{signal}, stop)
f = jax.jit(lambda x, w: jax.nn.relu(x @ w) + 1)
x, w = np.ones((4, 8), np.float32), np.ones((8, 16), np.float32)
def call():
    y = f(jax.device_put(x), w)
    assert np.asarray(y)[0, 0] == 9, y
call()
came = calls = 0
import random, time
random.seed(0)
start = time.perf_counter()
[call() for _ in range(100)]
typical = (time.perf_counter() - start) / 100
while came < {count}:
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 4 * typical), 0.05)
        while True:
            call()
            calls += 1
    except {exception}:
        came += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert calls > came / 2, calls
print("done", came)
"""


@pytest.mark.parametrize("exception", ["KeyboardInterrupt", "Stop"])
def test_signal_handlers_that_raise_at_random_moments(run_python, exception):
    """Ctrl-C and the time limit of pytest-timeout raise in the same way."""
    check(run_python(SIGNALS.format(exception=exception, signal="SIGALRM", count=1000)), "done 1000")


def test_interrupt_during_compilation(run_python):
    check(
        run_python("""
import signal, jax.numpy as jnp, numpy as np
def stop(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
came = 0
jax.jit(lambda x: x + 1)(np.ones(3, np.float32))
for i in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 * (i + 1))
        y = jax.jit(lambda x: jnp.tanh(x * i) @ x.T)(np.ones((3, 3), np.float32))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        came += 1
assert came > 10, came
print("done")
""")
    )


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.exit(0)",
        "os._exit(0)",
        "import gc; cycle = [x]; cycle.append(cycle); del cycle",
        "jax.clear_caches()",
        "jax.extend.backend.clear_backends()",
        "import atexit; atexit.register(lambda: str(x + 1))",
    ],
    ids=["plain", "sys.exit", "os._exit", "cycle", "clear_caches", "clear_backends", "atexit"],
)
def test_exit_with_live_arrays(run_python, ending):
    """PYTHONMALLOC=debug overwrites freed memory, so that a use after free becomes visible."""
    check(
        run_python(
            f"""
import os, sys, jax.extend, jax.numpy as jnp
x = jnp.ones(3) + 1
view = __import__("numpy").asarray(x)
kept = [jax.jit(lambda a: a + i)(x) for i in range(5)]
print("done", flush=True)
{ending}
""",
            PYTHONMALLOC="debug",
        )
    )


def test_uncaught_error(run_python):
    result = run_python("import jax.numpy as jnp\nx = jnp.ones(3) + 1\nraise RuntimeError('the end')")
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith("RuntimeError: the end")


def test_use_in_an_exit_handler_that_runs_after_ours(run_python):
    result = run_python("""
import atexit
@atexit.register
def late():
    try:
        f(x)
    except Exception as error:
        print(error)
import jax.numpy as jnp
f = jax.jit(lambda x: x + 1)
x = f(jnp.ones(3))
""")
    assert result.returncode == 0, result.stderr
    assert "shutting down" in result.stdout


def test_a_daemon_thread_that_calls_at_exit_stops_nobody(run_python):
    """The thread waits in a slot that jaxlib calls while it holds the GIL."""
    check(
        run_python(
            """
import atexit, threading
begin = threading.Event()
@atexit.register
def late():
    begin.set()
    thread.join(0.2)
    print("done" if thread.is_alive() else "the thread went on")
def call():
    begin.wait()
    f(x)
import jax.numpy as jnp
f = jax.jit(lambda x: x + 1)
x = f(jnp.ones(3))
thread = threading.Thread(target=call, daemon=True)
thread.start()
""",
            timeout=60,
        )
    )


def test_daemon_threads_at_exit(run_python):
    for _ in range(3):
        check(
            run_python("""
import threading, time, jax.numpy as jnp
f = jax.jit(lambda x: x + 1)
x = f(jnp.ones(3))
def forever():
    y = x
    while True:
        y = f(y)
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
print("done", flush=True)
""")
        )


def test_fork(run_python):
    check(
        run_python("""
import os, signal, warnings, jax.numpy as jnp, numpy as np
warnings.simplefilter("ignore")
f = jax.jit(lambda x: x + 1)
x = f(jnp.ones(3))
f(x)
child = os.fork()
if child == 0:
    ok = np.asarray(f(x))[0] == 3  # compiled before the fork: the child lacks the threads on which jaxlib compiles
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
child = os.fork()
if child == 0:
    signal.alarm(30)
    del x
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
""")
    )


def test_threads_that_compile_free_and_fail(run_python):
    check(
        run_python("""
import gc, threading, jax.numpy as jnp, numpy as np
failures = []
def work(n):
    try:
        for i in range(6):
            f = jax.jit(lambda x: x * n + i)
            for k in range(20):
                a = jax.device_put(np.full(4, k, np.float32))
                assert float(f(a)[0]) == k * n + i
                a.delete()
            try:
                1 / 0, f(jnp.ones(4))
            except ZeroDivisionError:
                pass
            gc.collect()
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not failures, failures
print("done")
""")
    )


def test_ten_thousand_calls_leak_nothing(run_python):
    check(
        run_python("""
import gc, resource, numpy as np
f = jax.jit(lambda x: x + 1)
x = f(np.zeros(25_000, np.float32))
def calls(n):
    global x
    for _ in range(n):
        x = f(x)
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096
calls(1000)
before = calls(1000)
after = calls(10_000)
assert after - before < 8 << 20, (before, after)  # a leak of one array per call would be 1 GB
print("done")
""")
    )


def test_an_error_while_an_interrupt_is_handled_is_just_that_error(run_python):
    check(
        run_python("""
import numpy as np
f = jax.jit(lambda x: x + 1, compiler_options={"no_such_option": 1})
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    try:
        f(np.ones(3))
    except jax.errors.JaxRuntimeError as error:
        assert "no_such_option" in str(error)
for _ in range(1000):
    pass
print("done")
""")
    )
