"""PyTorch and JAX scripts run on TT-NN after a change of one environment variable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tt_xla.frontends.torch.device import buffer_of
from tt_xla.runtime.ttnn import launch

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import Crossing, StandIn

ROOT = Path(__file__).parents[2]


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.tanh(self.up(x)))


def test_torch_computes_on_it_and_uploads_weights_once(stand_in: StandIn) -> None:
    net, x = Net().eval(), torch.randn(4, 32)
    with torch.no_grad():
        expected = [net(x), net(2 * x)]
        compiled = torch.compile(net.to("tt"), backend="tt", dynamic=False)
        torch.testing.assert_close(compiled(x.to("tt")).cpu(), expected[0], atol=1e-2, rtol=1e-2)
        stand_in.calls()
        torch.testing.assert_close(compiled((2 * x).to("tt")).cpu(), expected[1], atol=1e-2, rtol=1e-2)
    again = stand_in.calls()
    assert again["linear"] == 2
    assert again["to_device"] == 1  # x alone


def test_torch_may_write_to_weights(stand_in: StandIn) -> None:
    net, x = torch.nn.Linear(8, 8, bias=False), torch.randn(4, 8)
    weight = net.weight.detach().clone()
    compiled = torch.compile(net.to("tt"), backend="tt", dynamic=False)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(x.to("tt")).cpu(), x @ weight.T, atol=1e-2, rtol=1e-2)
            net.weight.add_(0.25)
            weight += 0.25


class Cached(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 64, 32))

    def forward(self, new: torch.Tensor) -> torch.Tensor:
        self.keys[:, :, :32] = torch.tanh(new)
        return new + new


def test_a_buffer_that_torch_writes_to_stays_on_the_device(stand_in: StandIn) -> None:
    model = Cached().to("tt")
    compiled = torch.compile(model, backend="tt", dynamic=False)
    sent = []
    with torch.no_grad():
        for step in range(4):
            if step == 2:
                model.keys.add_(1)
            expected, new = model.keys.cpu().clone(), torch.randn(1, 2, 32, 32)
            expected[:, :, :32] = new.tanh()
            stand_in.calls()
            compiled(new.to("tt"))
            torch.tt.synchronize()
            calls = stand_in.calls()
            sent.append((calls["fill_cache"], calls["to_device"]))
            torch.testing.assert_close(model.keys.cpu(), expected, atol=1e-2, rtol=1e-2)
    assert sent == [(1, 2), (1, 1), (1, 1), (1, 1)]


def test_results_of_torch_programs_stay_on_the_card(crossing: Crossing) -> None:
    step = torch.compile(torch.tanh, backend="tt", dynamic=False)
    expected = torch.rand(32, 32)
    value = expected.to("tt")
    for _ in range(4):
        value, expected = step(value), torch.tanh(expected)
    assert crossing.take() == (value.nbytes, 0)
    torch.testing.assert_close(value.cpu(), expected, atol=1e-2, rtol=1e-2)
    assert crossing.take() == (0, value.nbytes)
    doubled = value + value
    torch.testing.assert_close(doubled.cpu(), expected + expected, atol=1e-2, rtol=1e-2)
    value.add_(value)
    torch.testing.assert_close(step(value).cpu(), torch.tanh(2 * expected), atol=1e-2, rtol=1e-2)


def test_a_result_that_the_host_writes_to_is_sent_again(stand_in: StandIn) -> None:
    step = torch.compile(torch.tanh, backend="tt", dynamic=False)
    value = step(torch.rand(32, 32).to("tt"))
    buffer = buffer_of(value)
    buffer.writable_alias(value).fill_(2)  # as ops that run on the host do
    buffer.mark_written()
    torch.testing.assert_close(step(value).cpu(), torch.full((32, 32), 2.0).tanh(), atol=1e-2, rtol=1e-2)


def test_a_cache_of_torch_stays_on_the_card(crossing: Crossing) -> None:
    model = Cached().to("tt")
    compiled = torch.compile(model, backend="tt", dynamic=False)
    new = [torch.randn(1, 2, 32, 32) for _ in range(3)]
    with torch.no_grad():
        for each in new:
            twice = compiled(each.to("tt"))
            assert crossing.take()[0] in (each.nbytes, each.nbytes + model.keys.nbytes)
    assert crossing.take() == (0, 0)
    torch.testing.assert_close(model.keys[:, :, :32].cpu(), new[-1].tanh(), atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(twice.cpu(), new[-1] * 2, atol=1e-2, rtol=1e-2)


@pytest.mark.usefixtures("mock_runtime")
def test_torch_in_mock_mode_has_the_right_shapes() -> None:
    net = Net().eval().bfloat16()
    compiled = torch.compile(net, backend="tt", dynamic=False)
    with torch.no_grad():
        results = [compiled(torch.randn(4, 32).bfloat16()) for _ in range(2)]
    assert {(result.shape, result.dtype) for result in results} == {((4, 8), torch.bfloat16)}
    assert launch.worker().generation == 1


DEVICE = """
import jax_plugin_tt, jax, jax.numpy as jnp
from jax._src import xla_bridge
xla_bridge._discover_and_register_pjrt_plugins()
"tt" in xla_bridge._backend_factories or jax_plugin_tt.initialize()
device = jax.devices("tt")[0]
"""
SCRIPT = f"""{DEVICE}
x, w = jax.device_put((jnp.full((4, 32), 0.5), jnp.full((32, 8), 0.25)), device)
run = jax.jit(lambda w, x: (jnp.tanh(x @ w), jnp.exp(x)))
for _ in range(2):
    out = run(w, x)
print([(result.shape, str(result.dtype)) for result in out], float(out[0].sum()), float(out[1].sum()))
"""


def by_script(runtime: str, script: str = SCRIPT, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")} | variables
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment |= {"TTXLA_RUNTIME": runtime, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.usefixtures("mock_runtime")
def test_jax_in_mock_mode_has_the_right_shapes() -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    assert by_script("ttnn-mock").startswith("[((4, 8), 'float32'), ((4, 32), 'float32')]")


CHAIN = f"""{DEVICE}
import numpy as np
from tt_xla.runtime.ttnn import launch

step = jax.jit(lambda x: jnp.tanh(x))
x = jax.device_put(np.full((32, 32), 0.25, np.float32), device)
expected = np.full((32, 32), 0.25)
for _ in range(3):
    x, expected = step(x), np.tanh(expected)
crossed = launch.worker()
np.testing.assert_allclose([crossed.sent_bytes, crossed.received_bytes], [4096, 0])
x.block_until_ready()
np.testing.assert_allclose([x.nbytes, crossed.received_bytes], [4096, 0])
np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-2)
np.testing.assert_allclose(step(x).T, np.tanh(expected), rtol=1e-2)
copied = jax.device_put(step(x), device)
np.testing.assert_allclose(np.from_dlpack(jax.device_put(copied, jax.devices("cpu")[0])), np.tanh(expected), rtol=1e-2)

update = jax.jit(lambda cache, new: jax.lax.dynamic_update_slice(cache, jnp.tanh(new), (0, 0, 0, 0)), donate_argnums=0)
cache, new = jax.device_put((np.ones((1, 2, 64, 32), np.float32), np.full((1, 2, 32, 32), 0.5, np.float32)), device)
cache = update(cache, new)
sent, received = crossed.sent_bytes, crossed.received_bytes
for _ in range(3):
    before, cache = cache, update(cache, new)
print(crossed.sent_bytes - sent <= new.nbytes * 3, crossed.received_bytes - received, before.is_deleted())
print(round(float(np.asarray(cache)[0, 0, 0, 0]), 4))
"""


def test_results_of_jax_programs_stay_on_the_card(stand_in: StandIn) -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    printed = by_script("ttnn", CHAIN, TT_METAL_SIMULATOR=str(stand_in.log.parent))
    assert printed.split() == ["True", "0", "True", "0.4621"]


DROPPED = f"""{DEVICE}
import numpy as np
from tt_xla.runtime.ttnn.process import Worker

post, dropped = Worker.post, []

def watched(self, message, arrays, ended):
    dropped.extend(message.get("dropped", ()))
    return post(self, message, arrays, ended)

Worker.post = watched
step = jax.jit(jnp.tanh)
for _ in range(4):
    step(jax.device_put(np.ones((32, 32), np.float32), device))
print(len(dropped))
"""


def test_arrays_of_jax_that_end_leave_the_card(stand_in: StandIn) -> None:
    """An argument and a result of each call but the last one."""
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    assert by_script("ttnn", DROPPED, TT_METAL_SIMULATOR=str(stand_in.log.parent)).strip() == "6"


FAILING = f"""{DEVICE}
import os, pathlib
import numpy as np

tan = jax.jit(jnp.tan)
x = jax.device_put(np.full((4, 32), 0.5, np.float32), device)
print(tan(x).block_until_ready().shape)
pathlib.Path(os.environ["STAND_IN_TAN"]).write_text("refuse")
failed = tan(x)
again = tan(failed)
for read in (again.block_until_ready, failed.block_until_ready, lambda: np.asarray(again)):
    try:
        read()
    except Exception as error:
        print("The angle is too wide" in str(error))
pathlib.Path(os.environ["STAND_IN_TAN"]).write_text("")
print(round(float(np.asarray(tan(x))[0, 0]), 4))
"""


def test_errors_of_jax_programs_arrive_where_results_are_waited_for(stand_in: StandIn) -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    printed = by_script("ttnn", FAILING, TT_METAL_SIMULATOR=str(stand_in.log.parent))
    assert printed.split("\n")[:5] == ["(4, 32)", "True", "True", "True", "0.5463"]


def test_pytorch_waits_where_it_is_asked_to(stand_in: StandIn) -> None:
    tan = torch.compile(torch.tan, backend="tt", dynamic=False)
    value = torch.rand(4, 32).to("tt")
    tan(value)
    torch.tt.synchronize()
    stand_in.calls()
    tan(value)
    torch.tt.synchronize()
    assert stand_in.calls()["tan"] == 1
    tan(value)
    torch.tt.Event().record()
    assert stand_in.calls()["tan"] == 1
