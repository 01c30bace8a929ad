"""Programs for several chips on Ray workers: the same bits as in one process, and what happens when something fails.

All tests share one set of two workers. What each worker computes is compared with one process program by program in
the other tests of meshes, on threads; these tests are about processes.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

import tt_xla
from tests.device.threaded_workers import same_bits
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import Localised
from tt_xla.errors import ExecutionError, OptionError, RuntimeUnavailableError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device, lifetimes, observation
from tt_xla.runtime.mesh import request, workers
from tt_xla.runtime.mesh import spread as spread_programs
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.runtime.mesh.request import MeshWorkers
from tt_xla.runtime.mesh.shards import split
from tt_xla.runtime.mesh.spread import SpreadExecutable
from tt_xla.runtime.mesh.worker import Request, identity
from tt_xla.runtime.status import read_all
from tt_xla.spmd.grid import shares
from tt_xla.target import load_target

SYSTEM = "n300-llmbox"
MESH = Mesh((2, 4), ("x", "y"))
ROWS_OVER_X, COLUMNS_OVER_Y, ROWS_OVER_Y = Sharding(((0,), ())), Sharding(((), (1,))), Sharding(((1,), ()))
EVERYWHERE = Sharding(((0, 1), ()))
ALONG_X = "dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
"""JAX warns of the fork by which Ray starts its processes, if an earlier test has started JAX in this one."""
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="RAY IS NOT INSTALLED: nothing tests workers in processes. Install the development dependencies.",
)


def summed(value: str, shape: str, groups: str = ALONG_X) -> str:
    return f""""stablehlo.all_reduce"({value}) <{{replica_groups = {groups}}}> ({{
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %sum = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }}) : (tensor<{shape}xf32>) -> tensor<{shape}xf32>"""


LAYER = f"""
func.func public @main(%x: tensor<4x64xf32>, %up: tensor<64x32xf32> {{ttcore.argument_type = "parameter"}},
                       %scale: tensor<64x32xf32> {{ttcore.argument_type = "parameter"}}) -> tensor<4x32xf32> {{
  %weights = stablehlo.multiply %up, %scale : tensor<64x32xf32>
  %h = stablehlo.dot_general %x, %weights, contracting_dims = [1] x [0]
    : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %sum = {summed("%h", "4x32")}
  %out = stablehlo.tanh %sum : tensor<4x32xf32>
  return %out : tensor<4x32xf32>
}}"""

LOOP = f"""
func.func public @main(%x: tensor<4x64xf32>, %limit: tensor<i32>) -> tensor<4x64xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %third = stablehlo.constant dense<0.3> : tensor<4x64xf32>
  %out:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4x64xf32>
  cond {{
    %more = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %next = stablehlo.add %i, %one : tensor<i32>
    %sum = {summed("%s", "4x64")}
    %scaled = stablehlo.multiply %sum, %third : tensor<4x64xf32>
    stablehlo.return %next, %scaled : tensor<i32>, tensor<4x64xf32>
  }}
  return %out#1 : tensor<4x64xf32>
}}"""

SCALAR = Sharding(())


def compiled(text: str, arguments, results, **options: object):
    target = load_target(SYSTEM)
    localised = Localised(parse_module(text), MESH, tuple(arguments), tuple(results))
    return compile_module(localised, CompileOptions.parse(options), target)


def layer(**options: object):
    return compiled(
        LAYER,
        [(ROWS_OVER_X, (8, 64)), (COLUMNS_OVER_Y, (64, 128)), (COLUMNS_OVER_Y, (64, 128))],
        [(COLUMNS_OVER_Y, (4, 128))],
        **options,
    )


def loop():
    return compiled(LOOP, [(EVERYWHERE, (32, 64)), (SCALAR, ())], [(EVERYWHERE, (32, 64))])


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def run(executable: MeshExecutable, *tensors: torch.Tensor, versions=None) -> list[torch.Tensor]:
    """Returns the tensors of all chips, one result after the other."""
    arguments = executable.program.arguments
    shards = [split(tensor, argument.sharding, MESH) for tensor, argument in zip(tensors, arguments, strict=True)]
    if versions is None:
        versions = [None] * len(shards)
    return [tensor for result in executable.run(shards, versions) for tensor in result]


def assert_same(one, other):
    assert len(one) == len(other)
    assert all(map(same_bits, one, other))


@pytest.fixture
def board(monkeypatch) -> Device:
    monkeypatch.delenv("TTXLA_MESH_WORKERS", raising=False)
    return Device(load_target(SYSTEM), trace_region_bytes=None)


@pytest.fixture(scope="module")
def ray():
    """Ray on this machine, which the first test starts by loading a program."""
    import ray

    yield ray
    workers.stop_all()
    ray.shutdown()


@pytest.fixture
def spread(board, ray, monkeypatch):
    """Loads a program in one process and on two workers."""

    def make(program) -> tuple[MeshExecutable, MeshExecutable]:
        monkeypatch.delenv("TTXLA_MESH_WORKERS", raising=False)
        alone = board.load(program)
        monkeypatch.setenv("TTXLA_MESH_WORKERS", "2")
        together = board.load(program)
        assert type(together.executable) is SpreadExecutable
        return alone, together

    return make


@pytest.fixture
def requests(monkeypatch) -> list[Request]:
    """Requests to run a program, one for each worker."""
    made: list[Request] = []
    monkeypatch.setattr(spread_programs, "Request", lambda *fields: made.append(Request(*fields)) or made[-1])
    return made


def two_workers() -> workers.Workers:
    return workers.workers_at(None)


def processes() -> list[int]:
    """Returns the process ids of the workers."""
    return [identity.pid for identity in two_workers().identities]


# The chips of each worker


@pytest.mark.parametrize(
    ("shape", "count", "expected"),
    [
        ((2, 4), 1, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ((2, 4), 2, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ((2, 4), 3, [[0, 1, 2, 3], [4, 5], [6, 7]]),
        ((1, 8), 3, [[0, 1], [2, 3, 4], [5, 6, 7]]),
        ((2, 2), 9, [[0], [1], [2], [3]]),
        ((4, 2), 3, [[0, 1], [2, 3], [4, 5, 6, 7]]),
    ],
)
def test_shares(shape, count, expected):
    assert shares(Mesh(shape, ("x", "y")), count) == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", None),
        ("0", None),
        ("4", MeshWorkers(4, None)),
        ("auto", MeshWorkers(None, None)),
        ("ray://host:10001", MeshWorkers(None, "ray://host:10001")),
        ("auto@host:6379", MeshWorkers(None, "host:6379")),
        ("3@ray://host:10001", MeshWorkers(3, "ray://host:10001")),
    ],
)
def test_requests(text, wanted, monkeypatch):
    monkeypatch.setenv("TTXLA_MESH_WORKERS", text)
    assert request.mesh_workers() == wanted


@pytest.mark.parametrize("text", ["many", "-1", "00", "1.5", "4@", "9999999999"])
def test_wrong_requests_are_refused(text, monkeypatch):
    monkeypatch.setenv("TTXLA_MESH_WORKERS", text)
    with pytest.raises(OptionError, match=r"names no workers.*such as 4@host:6379"):
        request.mesh_workers()


def test_ray_is_missing(board, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("TTXLA_MESH_WORKERS", "7")
    with pytest.raises(RuntimeUnavailableError, match=r"needs Ray.*pip install ray"):
        board.load(layer())


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "127.0.0.1:high"])
def test_no_cluster_at_an_address(address, board, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = address.format(port=unused.getsockname()[1])
        monkeypatch.setenv("TTXLA_MESH_WORKERS", f"2@{address}")
        with pytest.raises(RuntimeUnavailableError, match=f"no Ray cluster at {address}: ") as raised:
            board.load(layer())
        assert "`ray start --head`" in str(raised.value)
        assert "RAY_AUTH_MODE=token" in str(raised.value)


# Results


@needs_ray
@pytest.mark.nightly
@pytest.mark.parametrize("options", [{"numerics": "exact"}, {"numerics": "silicon", "enable_trace": True}])
def test_a_layer_has_the_same_bits(options, spread):
    alone, together = spread(layer(**options))
    up, scale = drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    for seed in range(4):
        x = drawn(8, 64, seed=seed)
        versions = [None, 80_001, 80_002]
        assert_same(run(alone, x, up, scale, versions=versions), run(together, x, up, scale, versions=versions))
    assert (together.state, together.counters.runs) == (alone.state, 4)
    assert together.executable.const_eval_bytes == alone.executable.const_eval_bytes
    assert together.executable.trace_bytes == alone.executable.trace_bytes


@needs_ray
@pytest.mark.nightly
def test_a_loop_with_exchanges_has_the_same_bits(spread):
    alone, together = spread(loop())
    for rounds in (0, 5):
        tensors = drawn(32, 64), torch.tensor(rounds, dtype=torch.int32)
        assert_same(run(alone, *tensors), run(together, *tensors))


@needs_ray
def test_parameters_are_sent_once(spread, monkeypatch):
    _, together = spread(layer())
    sent: list[tuple[int, ...]] = []
    pack = spread_programs.pack
    monkeypatch.setattr(spread_programs, "pack", lambda tensor: sent.append(tensor.shape) or pack(tensor))
    up, scale = drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    inputs, parameters = [(4, 64)] * 2, [(64, 32)] * 4
    first = run(together, drawn(8, 64), up, scale, versions=[None, 80_011, 80_012])
    assert sorted(sent) == sorted(inputs + 2 * parameters)
    sent.clear()
    assert_same(first, run(together, drawn(8, 64), up, scale, versions=[None, 80_011, 80_012]))
    assert sent == inputs
    sent.clear()
    changed = run(together, drawn(8, 64), up, 2 * scale, versions=[None, 80_011, 80_013])
    assert sorted(sent) == sorted(inputs + parameters)
    assert not same_bits(first[0], changed[0])


@needs_ray
def test_parameters_are_sent_again_after_a_run_that_could_not_send_them(spread, monkeypatch):
    alone, together = spread(layer())
    tensors = drawn(8, 64), drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    versions = [None, 80_041, 80_042]

    def fail(tensor):
        raise MemoryError("no room in the object store")

    with monkeypatch.context() as patched:
        patched.setattr(spread_programs, "pack", fail)
        with pytest.raises(MemoryError, match="object store"):
            run(together, *tensors, versions=versions)
    assert_same(run(alone, *tensors, versions=versions), run(together, *tensors, versions=versions))


@needs_ray
def test_contents_that_ended_are_dropped(spread, requests):
    _, together = spread(layer())
    tensors = drawn(8, 64), drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    run(together, *tensors, versions=[None, 80_021, 80_022])
    lifetimes.ended(80_021)
    assert together.executable.const_eval_bytes == 0
    requests.clear()
    run(together, *tensors, versions=[None, 80_021, 80_022])
    assert [request.ended for request in requests] == [[80_021]] * 2
    resent = [request.versions[position] for request in requests for position in request.sent]
    assert set(resent) == {None, 80_021}
    requests.clear()
    run(together, *tensors, versions=[None, 80_021, 80_022])
    assert [request.ended for request in requests] == [[], []]


@needs_ray
def test_a_program_that_nobody_has_is_dropped(spread, requests):
    (_, kept), (_, dropped) = spread(layer()), spread(layer())
    tensors = drawn(8, 64), drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    run(dropped, *tensors)
    number = requests[-1].program
    del dropped
    gc.collect()
    requests.clear()
    run(kept, *tensors)
    assert [number in request.unloaded for request in requests] == [True, True]
    requests.clear()
    run(kept, *tensors)
    assert [request.unloaded for request in requests] == [[], []]


@needs_ray
def test_a_program_that_a_worker_cannot_load_is_dropped_by_the_others(spread, requests, monkeypatch):
    _, kept = spread(layer())
    tensors = drawn(8, 64), drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    gc.collect()
    run(kept, *tensors)  # tells the workers what was dropped before

    def fail(*_):
        raise MemoryError("no room for the program")

    with monkeypatch.context() as patched:
        patched.setattr(type(two_workers()), "call", fail)
        with pytest.raises(MemoryError, match="no room for the program") as raised:
            spread(layer())
        del raised
    gc.collect()
    requests.clear()
    run(kept, *tensors)
    assert [len(request.unloaded) for request in requests] == [1, 1]


@needs_ray
def test_tt_xla_smi_shows_the_chips_once(spread, monkeypatch, tmp_path):
    monkeypatch.setattr("tt_xla.environment.runtime_directory", lambda: tmp_path)
    _, together = spread(layer())
    run(together, drawn(8, 64), drawn(64, 128), drawn(64, 128))
    statuses = read_all()
    assert sorted(status.chip for status in statuses) == [*range(8)]
    assert {status.pid for status in statuses} == {os.getpid()}
    assert {status.system for status in statuses} == {SYSTEM}


@needs_ray
def test_observed_kernels_run_in_this_process(board, ray, monkeypatch, project_log):
    class Observer:
        def timed(self, executable, function, step, call):
            return call

        def called(self, executable, function, step, start, end): ...
        def began(self, executable, tensors): ...
        def returned(self, executable, results): ...
        def ended(self, executable, state, start): ...
        def record_memory(self, step, dram_bytes, l1_bytes): ...

    monkeypatch.setenv("TTXLA_MESH_WORKERS", "2")
    with observation.observed_kernels(Observer()), project_log.at_level(logging.WARNING):
        executable = board.load(layer())
    assert type(executable.executable) is not SpreadExecutable
    assert "runs in this process and not on TTXLA_MESH_WORKERS: its kernel calls are observed" in project_log.text


# Failures


@needs_ray
def test_an_error_of_a_program_is_that_of_one_process(spread):
    text = (
        LAYER.replace("tensor<4x64xf32>, %up", "tensor<4x64xf64>, %up")
        .replace(
            "%h = stablehlo", "%n = stablehlo.convert %x : (tensor<4x64xf64>) -> tensor<4x64xf32>\n  %h = stablehlo"
        )
        .replace("dot_general %x", "dot_general %n")
    )
    arguments = [(ROWS_OVER_X, (8, 64)), (COLUMNS_OVER_Y, (64, 128)), (COLUMNS_OVER_Y, (64, 128))]
    alone, together = spread(compiled(text, arguments, [(COLUMNS_OVER_Y, (4, 128))]))
    x, weights = drawn(8, 64).double(), drawn(64, 128)
    wrong = x.clone()
    wrong[7, 3] = 1e300  # a value of the second worker alone
    messages = []
    for executable in (alone, together):
        with pytest.raises(ExecutionError) as caught:
            run(executable, wrong, weights, weights)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "1e+300, which does not fit f32" in messages[0]
    (note,) = caught.value.__notes__
    assert f"worker 1 (process {processes()[1]} on " in note
    assert_same(run(alone, x, weights, weights), run(together, x, weights, weights))


@pytest.fixture
def interruptible():
    """Makes SIGINT raise KeyboardInterrupt, also in a process that a shell started in the background."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@needs_ray
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_call_and_leaves_the_workers(spread):
    alone, together = spread(loop())
    before = processes()
    x = drawn(32, 64)
    endless = torch.tensor(2**31 - 1, dtype=torch.int32)
    run(together, x, torch.tensor(1, dtype=torch.int32))
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(together, x, endless)
    five = torch.tensor(5, dtype=torch.int32)
    assert_same(run(alone, x, five), run(together, x, five))
    assert processes() == before


def test_a_change_of_any_source_makes_another_version(monkeypatch, tmp_path):
    source = tmp_path / "host.py"
    source.write_text("one")
    monkeypatch.setattr(tt_xla, "__file__", str(tmp_path / "__init__.py"))
    first = identity.__wrapped__()
    source.write_text("other")
    assert identity.__wrapped__().code != first.code


@needs_ray
def test_workers_on_one_machine_share_its_threads():
    others = workers.Workers("host:6379", cluster())
    threads = torch.get_num_threads()
    others.identities = [workers.identity()._replace(host=host) for host in ("one", "other", "one")]
    try:
        torch.set_num_threads(7)
        assert [others.threads_of(worker) for worker in range(3)] == [3, 7, 3]
        torch.set_num_threads(1)
        assert others.threads_of(0) == 1
    finally:
        torch.set_num_threads(threads)


@needs_ray
@pytest.mark.parametrize(("wanted", "chips", "count"), [(None, 8, 3), (None, 2, 2), (2, 8, 2), (4000, 2, 2)])
def test_number_of_workers_on_a_cluster(wanted, chips, count):
    others = workers.Workers("host:6379", cluster())
    assert others.count_for(wanted, chips) == count
    with pytest.raises(RuntimeUnavailableError, match=r"asks for 4 workers.*at host:6379 has 3 CPUs"):
        others.count_for(4, 8)


@needs_ray
def test_workers_of_another_version_are_refused(monkeypatch):
    own = workers.identity()
    ray = cluster(own)
    others = workers.Workers("host:6379", ray)
    others.ensure(1)
    assert others.identities == [own]
    monkeypatch.setattr(workers, "identity", lambda: own._replace(tt_xla="0.0.1"))
    with pytest.raises(RuntimeUnavailableError, match=r"runs tt_xla .*; this process runs tt_xla 0\.0\.1"):
        others.ensure(2)
    assert others.identities == [own]
    assert ray.kill.call_count == 1


def cluster(answer: object = None) -> mock.Mock:
    """Returns Ray's module with a cluster of three CPUs, whose workers answer all calls alike."""
    import ray

    module = mock.Mock(exceptions=ray.exceptions)
    module.cluster_resources.return_value = {"CPU": 3.0}
    module.wait.side_effect = lambda references, **_: (references, [])
    module.get.return_value = answer
    return module


@pytest.mark.nightly
@needs_ray
def test_dead_workers_are_replaced_once(spread, monkeypatch, project_log):
    """Fresh workers run the program again; when one of them dies too, the error names it."""
    alone, together = spread(layer())
    tensors = drawn(8, 64), drawn(64, 128, seed=1), drawn(64, 128, seed=2)
    versions = [None, 80_031, 80_032]
    expected = run(alone, *tensors, versions=versions)
    assert_same(expected, run(together, *tensors, versions=versions))
    first, second = processes()
    os.kill(second, signal.SIGKILL)
    with project_log.at_level(logging.WARNING):
        assert_same(expected, run(together, *tensors, versions=versions))
    assert f"worker 1 (process {second} on " in project_log.text
    assert "again on fresh workers" in project_log.text
    assert {first, second}.isdisjoint(processes())

    killed: list[int] = []

    def kill_one(*fields):
        if processes()[0] not in killed:
            killed.append(processes()[0])
            os.kill(processes()[0], signal.SIGKILL)
        return Request(*fields)

    monkeypatch.setattr(spread_programs, "Request", kill_one)
    with pytest.raises(workers.WorkerDiedError, match=r"worker 0 \(process \d+ on .*\) died during the call"):
        run(together, *tensors)
    assert len(killed) == 2


# A process of its own

SCRIPT = """
import json, os
import jax_plugin_tt, jax
from jax._src import xla_bridge
xla_bridge._discover_and_register_pjrt_plugins()
"tt" in xla_bridge._backend_factories or jax_plugin_tt.initialize()
import jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices("tt")).reshape(2, 4), ("x", "y"))

def results():
    jax.clear_caches()
    @jax.jit
    def step(w, x, key):
        def loss(w):
            h = jnp.tanh(x @ w["up"]) * jax.random.bernoulli(key, 0.5, (8, 32))
            return jnp.mean((h @ w["down"]) ** 2)
        value, gradient = jax.value_and_grad(loss)(w)
        return value, jax.tree.map(lambda a, g: a - 0.1 * g, w, gradient)
    put = lambda a, *spec: jax.device_put(a, NamedSharding(mesh, P(*spec)))
    draw = lambda *shape: np.random.default_rng(len(shape) + shape[0]).standard_normal(shape).astype(np.float32)
    w = {"up": put(draw(16, 32), None, "y"), "down": put(draw(32, 4), "y", None)}
    x, key = put(draw(8, 16), "x", None), jax.random.key(3)
    for _ in range(2):
        value, w = step(w, x, key)
    seen = []
    jax.block_until_ready(jax.jit(lambda a: jax.pure_callback(lambda b: seen.append(1) or b + 1, a, a))(x))
    return [np.asarray(leaf).tobytes().hex() for leaf in jax.tree.leaves((value, w))], len(seen)

alone = results()
os.environ["TTXLA_MESH_WORKERS"] = "2"
together = results()
from tt_xla.runtime.mesh import workers
used = workers.workers_at(None)
print(json.dumps([alone == together, alone[1], [i.pid for i in used.identities]]), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.nightly
@needs_ray
def test_a_training_step_of_jax_and_the_end_of_its_process(tmp_path):
    """Gradients, random numbers and callbacks on a mesh; the workers end with the process, even if it is killed."""
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "TTXLA_SYSTEM": SYSTEM, "TTXLA_MESH_WORKERS": ""},
        timeout=300,
        check=False,
    )
    assert done.stdout, done.stderr
    same, callbacks, pids = json.loads(done.stdout.splitlines()[-1])
    assert same, done.stderr
    assert callbacks > 0
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
