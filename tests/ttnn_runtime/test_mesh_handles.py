"""Results of programs for several chips stay on their card: what crosses, who takes them, who writes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.ttnn_runtime.test_frontends import DEVICE, by_script
from tests.ttnn_runtime.test_mesh import shards, whole
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.executable import MeshExecutable
from tt_xla.target import load_target

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import Crossing, StandIn

SHAPE = 1, 2, 64, 32
ROWS, HEADS, WHOLE = '{}, {}, {"x"}, {}', '{}, {"x"}, {}, {}', "{}, {}, {}, {}"


def loaded(source: str, result: str, body: str = "", written: str = "", chips: int = 2) -> MeshExecutable:
    """Returns a loaded function of a tensor, split over chips as ``source`` and ``result`` say; by default tanh."""
    body = body or "%0 = stablehlo.tanh %x : tensor<1x2x64x32xf32>\n return %0 : tensor<1x2x64x32xf32>"
    donor = ", jax.buffer_donor = true" if written else ""
    text = f"""module @step attributes {{mhlo.num_partitions = {chips} : i32}} {{
      sdy.mesh @mesh = <["x"={chips}]>
      func.func public @main(
          %x: tensor<1x2x64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{source}]>{donor}}} {written})
          -> (tensor<1x2x64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{result}]>}}) {{
        {body}
      }}
    }}"""
    program = compile_module(parse_module(text), CompileOptions.parse({}), load_target("p150x4"))
    executable = get_device("p150x4").load(program)
    assert isinstance(executable, MeshExecutable)
    return executable


def cache() -> MeshExecutable:
    """Returns a program that writes to its first argument, which is split by heads."""
    body = """%0 = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.dynamic_update_slice %x, %n, %0, %0, %0, %0
          : (tensor<1x2x64x32xf32>, tensor<1x2x32x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
          -> tensor<1x2x64x32xf32>
      return %1 : tensor<1x2x64x32xf32>"""
    new = f", %n: tensor<1x2x32x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{HEADS}]>}}"
    return loaded(HEADS, HEADS, body, new)


def read(executable: MeshExecutable, handles: list[Any]) -> torch.Tensor:
    """Returns the tensor of all chips that is the only result."""
    return whole(executable.program, [[handle.read() for handle in handles]])[0]


@pytest.fixture(autouse=True)
def four_chips(crossing: Crossing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150x4")


@pytest.mark.parametrize("split", [ROWS, HEADS, WHOLE], ids=["rows", "heads", "whole"])
def test_a_result_goes_into_the_next_run_from_the_chips(crossing: Crossing, split: str) -> None:
    executable, x = loaded(split, split), torch.rand(SHAPE)
    (value,) = shards(executable.program, [x])
    for _ in range(3):
        (value,) = executable.run_keeping([value], [None])
    assert crossing.take() == (x.nbytes, 0)
    torch.testing.assert_close(read(executable, value), x.tanh().tanh().tanh(), atol=1e-2, rtol=1e-2)


def test_the_chips_keep_one_tensor(stand_in: StandIn) -> None:
    """The second run makes no tensor: it takes that of the first."""
    executable = loaded(HEADS, HEADS)
    (value,) = executable.run_keeping(shards(executable.program, [torch.rand(SHAPE)]), [None])
    value[0].wait()
    stand_in.calls()
    (value,) = executable.run_keeping([value], [None])
    value[0].wait()
    calls = stand_in.calls()
    assert (calls["from_host_shards"], calls["to_device"], calls["tanh"]) == (0, 0, 1)


def test_shards_that_change_places_are_put_together_anew(crossing: Crossing) -> None:
    executable, x = loaded(HEADS, HEADS), torch.randn(SHAPE)
    ((first, second),) = executable.run_keeping(shards(executable.program, [x]), [None])
    crossing.take()
    (value,) = executable.run_keeping([[second, first]], [None])
    value[0].wait()
    assert crossing.take() == (0, 0)
    torch.testing.assert_close(read(executable, value), x.flip(1).tanh().tanh(), atol=1e-2, rtol=1e-2)


def test_a_shard_is_no_shard_of_another_shape(stand_in: StandIn) -> None:
    by_heads, by_rows = loaded(HEADS, HEADS), loaded(ROWS, ROWS)
    (value,) = by_heads.run_keeping(shards(by_heads.program, [torch.rand(SHAPE)]), [None])
    assert by_heads.takes(0, 1, value[0])
    assert not by_rows.takes(0, 1, value[0])


@pytest.mark.parametrize("donated", [(), (0,)], ids=["kept", "donated"])
def test_an_argument_that_is_written_to_stays_on_the_chips(crossing: Crossing, donated: tuple[int, ...]) -> None:
    executable, expected = cache(), torch.randn(SHAPE)
    value, _ = shards(executable.program, [expected.clone(), expected[:, :, :32]])
    sent, last = [], value
    for _ in range(4):
        before, last = expected.clone(), value
        new = torch.randn(1, 2, 32, 32)
        expected[:, :, :32] = new
        (value,) = executable.run_keeping([value, shards(executable.program, [before, new])[1]], [None, None], donated)
        sent.append(crossing.take())
        assert value[0].argument == 0
        if sent[1:] and not donated:
            assert torch.equal(read(executable, last), before)
            crossing.take()
    half = expected.nbytes // 2
    assert sent == [(3 * half, 0), *[(half, 0)] * 3]
    assert torch.equal(read(executable, value), expected)
    if donated:
        with pytest.raises(ExecutionError, match="was donated to a program"):
            last[1].read()


def test_weights_in_shards_of_one_shape_are_told_apart(crossing: Crossing) -> None:
    """Shards along an inner dimension have the strides and the offset of each other, and the version of the whole."""
    executable, x = loaded(HEADS, HEADS), torch.randn(SHAPE)
    for _ in range(2):
        results = executable.run(shards(executable.program, [x]), [7])
        torch.testing.assert_close(whole(executable.program, results)[0], x.tanh(), atol=1e-2, rtol=1e-2)
    assert crossing.take() == (x.nbytes, 2 * x.nbytes)


def test_programs_share_the_shards_that_were_sent(crossing: Crossing) -> None:
    body = "%0 = stablehlo.exponential %x : tensor<1x2x64x32xf32>\n return %0 : tensor<1x2x64x32xf32>"
    first, second, x = loaded(HEADS, HEADS), loaded(HEADS, HEADS, body), torch.rand(SHAPE)
    for executable in (first, second):
        executable.run_keeping(shards(executable.program, [x]), [[7, 8]])
    assert crossing.take() == (x.nbytes, 0)


def test_results_come_home_before_another_mesh_is_opened(crossing: Crossing) -> None:
    executable, x = loaded(HEADS, HEADS), torch.randn(SHAPE)
    (value,) = executable.run_keeping(shards(executable.program, [x]), [None])
    wider = loaded(ROWS, ROWS, chips=4)
    assert crossing.take() == (x.nbytes, x.nbytes)
    torch.testing.assert_close(read(executable, value), x.tanh(), atol=1e-2, rtol=1e-2)
    assert not executable.takes(0, 0, value[0])
    results = wider.run(shards(wider.program, [x]), [None])
    torch.testing.assert_close(whole(wider.program, results)[0], x.tanh(), atol=1e-2, rtol=1e-2)


JAX = f"""{DEVICE}
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from tt_xla.runtime.ttnn import launch

mesh = Mesh(np.array(jax.devices("tt")[:2]), ("x",))
rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "x"))
step = jax.jit(lambda w, x: (w * 0.5 + jnp.sum(x), jnp.sum(w)), donate_argnums=0)
w, x = np.arange(2048, dtype=np.float32).reshape(32, 64), np.ones((4, 32), np.float32)
value, crossed, log = jax.device_put(w, columns), [], []
worker = None
for _ in range(5):
    before = (worker.sent_bytes, worker.received_bytes) if worker else (0, 0)
    value, total = step(value, jax.device_put(x, rows))
    np.testing.assert_allclose(np.asarray(total), w.sum(), rtol=1e-3)
    w = w * 0.5 + x.sum()
    worker = launch.worker()
    crossed.append((worker.sent_bytes - before[0], worker.received_bytes - before[1]))
print(crossed)
np.testing.assert_allclose(np.asarray(value), w, rtol=1e-3)
"""


def test_only_the_batch_and_the_loss_of_a_step_in_jax_cross(emulated_ttnn: None, tmp_path: Any) -> None:
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    printed = by_script("ttnn", JAX, TT_METAL_SIMULATOR=str(tmp_path), TTXLA_SYSTEM="p300")
    assert printed.strip() == str([(8192 + 512, 4), *[(512, 4)] * 4])


TORCH = """
import copy
import numpy as np, torch, torch_xla
import torch_xla.distributed.spmd as xs, torch_xla.runtime as xr
from tt_xla.runtime.ttnn import launch

xr.use_spmd()
device, mesh, taken = torch_xla.device(), xs.Mesh(np.arange(2), (2,), ("x",)), [0, 0]

def crossed():
    worker = launch.worker()
    sent, received = worker.sent_bytes - taken[0], worker.received_bytes - taken[1]
    taken[:] = worker.sent_bytes, worker.received_bytes
    return sent, received
"""

STEP = f"""{TORCH}
torch.manual_seed(0)
host = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 8))
x, y = torch.randn(16, 32), torch.randint(0, 8, (16,))

def trained(net, run, device, synchronize):
    update = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(4):
        update.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(x.to(device)), y.to(device))
        loss.backward()
        update.step()
        synchronize()
        yield loss.item()

for compiles in (False, True):
    net, expected = copy.deepcopy(host).to(device), copy.deepcopy(host)
    xs.mark_sharding(net[0].weight, mesh, ("x", None))
    xs.mark_sharding(net[2].weight, mesh, (None, "x"))
    run = torch.compile(net, backend="tt", dynamic=False) if compiles else net
    losses = []
    for loss in trained(net, run, device, torch_xla.sync):
        losses.append(loss)
        print(crossed())
    torch.testing.assert_close(losses, list(trained(expected, expected, "cpu", lambda: None)), atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(net[0].weight.cpu(), expected[0].weight, atol=1e-2, rtol=1e-2)
    crossed()
"""


def test_only_the_batch_and_the_loss_of_a_step_in_torch_xla_cross(emulated_ttnn: None, tmp_path: Any) -> None:
    """A step of recorded ops, and one whose forward and backward passes are compiled."""
    printed = by_script("ttnn", STEP, TT_METAL_SIMULATOR=str(tmp_path), TTXLA_SYSTEM="p300").splitlines()
    batch = 4 * (16 * 32 + 16)
    assert printed[1:4] == printed[5:8] == [str((batch, 4))] * 3


SPLITS = f"""{TORCH}
value = torch.randn(32, 64)
split = value.to(device)
xs.mark_sharding(split, mesh, (None, "x"))
for _ in range(2):
    split = split * 2
    torch_xla.sync()
print(crossed())
xs.clear_sharding(split)
xs.mark_sharding(split, mesh, ("x", None))
split = split * 2
torch_xla.sync()
print(crossed())
assert torch.equal(split.cpu(), value * 8)
crossed()
total = torch.ones(4, device=device) * 3
split = split * total[0]  # the program for several chips takes a result of one for one chip
torch_xla.sync()
print(crossed())
assert torch.equal(split.cpu(), value * 24)
"""


def test_a_result_that_is_to_be_split_otherwise_comes_home(emulated_ttnn: None, tmp_path: Any) -> None:
    printed = by_script("ttnn", SPLITS, TT_METAL_SIMULATOR=str(tmp_path), TTXLA_SYSTEM="p300").splitlines()
    assert printed == [str((8192, 0)), str((8192, 8192)), str((0, 0))]


CACHE = f"""{TORCH}
class Cached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 64, 32))

    def forward(self, new, position):
        self.keys.index_copy_(2, position, torch.tanh(new))
        return self.keys.sum()

model, expected = Cached().to(device), Cached()
xs.mark_sharding(model.keys, mesh, (None, "x", None, None))
run = torch.compile(model, backend="tt", dynamic=False)
with torch.no_grad():
    for number in range(4):
        new, position = torch.randn(1, 2, 1, 32), torch.tensor([number])
        total = run(new.to(device), position.to(device)).item()
        torch.testing.assert_close(total, expected(new, position).item(), atol=1e-1, rtol=1e-2)
        print(crossed())
torch.testing.assert_close(model.keys.cpu(), expected.keys, atol=1e-2, rtol=1e-2)
"""


def test_a_cache_in_shards_stays_on_the_chips(emulated_ttnn: None, tmp_path: Any) -> None:
    printed = by_script("ttnn", CACHE, TT_METAL_SIMULATOR=str(tmp_path), TTXLA_SYSTEM="p300").splitlines()
    assert printed[1:] == [str((256 + 4, 4))] * 3
