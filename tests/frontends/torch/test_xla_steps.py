"""Steps of ``torch_xla``: what ends them, what runs after them, and what is counted."""

from __future__ import annotations

import gc
import re
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event

import jax
import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.debug.metrics as met  # noqa: E402
import torch_xla.debug.profiler as xp  # noqa: E402
import torch_xla.distributed.parallel_loader as pl  # noqa: E402
import torch_xla.distributed.spmd as xs  # noqa: E402

from tt_xla.frontends.torch.device import buffer_of, metrics  # noqa: E402


@pytest.fixture(autouse=True)
def _no_counts_of_other_tests(exact):
    torch_xla.sync()
    met.clear_all()


def steps_of(loader):
    """Returns how many steps had ended when each batch came, and at the end."""
    met.clear_all()
    ended = [met.counter_value("MarkStep") for _ in loader]
    return [*ended, met.counter_value("MarkStep")]


@pytest.mark.parametrize(("per_step", "ended"), [(1, [1, 2, 3, 4, 6]), (2, [None, 1, 1, 2, 3])])
def test_a_loader_ends_a_step_with_each_batch(per_step, ended):
    loader = pl.MpDeviceLoader([torch.ones(2)] * 4, "xla", batches_per_execution=per_step)
    assert len(loader) == 4
    assert steps_of(loader) == ended


def test_training_without_a_barrier_runs_one_program_per_step():
    weight = torch.ones(2, device="xla", requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.5)
    torch_xla.sync()
    met.clear_all()
    for batch in pl.MpDeviceLoader([torch.ones(2)] * 4, torch_xla.device()):
        optimizer.zero_grad()
        (weight * batch).sum().backward()
        xm.optimizer_step(optimizer)
    assert met.metric_data("ExecuteTime")[0] == 4
    assert weight.tolist() == [-1, -1]


def test_a_step_trace_ends_the_step_in_place_of_the_loader():
    loader = pl.MpDeviceLoader([torch.ones(2)] * 3, "xla")
    for _ in loader:
        with xp.StepTrace("step", step_num=0):
            pass
    assert met.counter_value("MarkStep") == 1 + 3 + 1


def test_a_loader_for_several_devices_deals_batches_out():
    loader = pl.ParallelLoader([torch.tensor(float(i)) for i in range(5)], ["cpu", "xla"])
    loaders = [loader.per_device_loader(device) for device in ("cpu", "xla")]
    assert [len(each) for each in loaders] == [2, 2]
    assert [[float(batch) for batch in each] for each in loaders] == [[0, 2], [1, 3]]
    loader.close()
    with pytest.raises(StopIteration):
        next(loaders[0])


def test_an_error_of_the_data_loader_reaches_the_script():
    def batches():
        yield torch.ones(1)
        raise RuntimeError("no more disk")

    loader = iter(pl.MpDeviceLoader(batches(), "xla"))
    next(loader)
    with pytest.raises(RuntimeError, match="no more disk"):
        next(loader)


class Spec:
    """Does what a loader asks of an ``xs.ShardingSpec`` for tensors of two dimensions."""

    def __init__(self):
        self.applied = []

    def can_apply(self, tensor):
        return tensor.dim() == 2

    def apply(self, tensor):
        self.applied.append((tensor.device.type, tuple(tensor.shape)))


def test_batches_are_sharded():
    spec = Spec()
    batch = {"x": torch.ones(4, 2), "y": torch.ones(4)}
    for sharding in (spec, {"x": spec, "y": spec}, {"x": spec, "y": None}):
        spec.applied.clear()
        (moved,) = pl.MpDeviceLoader([batch], "xla", input_sharding=sharding)
        assert moved["y"].device.type == "tt"
        assert spec.applied == [("tt", (4, 2))]
    with pytest.raises(KeyError, match=r"lacks the keys \['y'\]"):
        next(iter(pl.MpDeviceLoader([batch], "xla", input_sharding={"x": spec})))
    with pytest.raises(ValueError, match="the batch is a Tensor"):
        next(iter(pl.MpDeviceLoader([torch.ones(2)], "xla", input_sharding={"x": spec})))


def test_a_minibatch_is_a_multiple_of_the_chips(chips_as_one_device):
    spec = xs.ShardingSpec(xs.get_1d_mesh("data"), ("data", None), minibatch=True)
    with pytest.raises(RuntimeError, match=r"shape \[12, 2\], 8 devices"):
        xm.send_cpu_data_to_device(torch.ones(12, 2), "xla", spec)
    split, whole = xm.send_cpu_data_to_device([torch.ones(16, 2), torch.ones(12)], "xla", spec)
    assert torch_xla._XLAC._get_xla_sharding_spec(split) == "{devices=[8,1]0,1,2,3,4,5,6,7}"
    assert torch_xla._XLAC._get_xla_sharding_spec(whole) == "{replicated}"


def test_closures_run_after_the_step():
    x = torch.ones(2, device="xla") + 1
    events = []
    xm.add_step_closure(lambda name: events.append((name, x.tolist())), ("first",))
    xm.add_step_closure(lambda: events.append("second"))
    events.append("script")
    torch_xla.sync()
    assert events == ["script", ("first", [2, 2]), "second"]
    assert met.metric_data("ExecuteTime")[0] == 1
    torch_xla.sync()
    assert len(events) == 3


def test_an_asynchronous_closure_runs_beside_the_script():
    may_end, ended = Event(), Event()
    xm.add_step_closure(lambda: (may_end.wait(60), ended.set()), run_async=True)
    torch_xla.sync()
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(60)


def test_an_error_of_an_asynchronous_closure_is_raised_with_the_next():
    started = Event()

    def fail():
        started.set()
        raise KeyError("lost")

    xm.add_step_closure(fail, run_async=True)
    torch_xla.sync()
    assert started.wait(60)

    def steps():
        while True:
            xm.add_step_closure(lambda: None, run_async=True)
            torch_xla.sync()

    with pytest.raises(RuntimeError, match="An earlier asynchronous step closure raised an error") as raised:
        steps()
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_compiled_function_is_one_program_also_in_eager_mode():
    def function(x):
        return (x + 1) * 2

    with torch_xla.experimental.eager_mode_context(True):
        x = torch.ones(2, device="xla")
        torch_xla.sync()
        met.clear_all()
        y = torch_xla.compile(function)(x)
        assert met.metric_data("ExecuteTime")[0] == 1
        assert met.metric_data("EagerOpExecuteTime") is None
        function(x)
        assert met.metric_data("EagerOpExecuteTime")[0] == 2
    assert y.tolist() == [4, 4]


def test_reading_a_result_in_a_full_graph_is_an_error():
    x = torch.ones(2, device="xla")

    def reads(x):
        return x + (x * 2).sum().item()

    with pytest.raises(RuntimeError, match=r"full_graph=True.*because it reads a result"):
        torch_xla.compile(reads, full_graph=True)(x)
    assert torch_xla.compile(reads)(x).tolist() == [5, 5]


def test_a_limit_of_programs_per_function():
    def function(x):
        return x + 1

    run = torch_xla.compile(function, max_different_graphs=2)
    for length in (2, 3, 2, 3):
        run(torch.ones(length, device="xla"))
    with pytest.raises(RuntimeError, match="made 3 different programs, and max_different_graphs is 2"):
        run(torch.ones(4, device="xla"))


def test_metrics_of_copies_ops_and_steps():
    x = torch.arange(4.0).to("xla") * 2
    torch_xla.sync()
    x.cpu()
    assert met.counter_value(name="xla::mul") == met.counter_value("MarkStep") == 1
    assert met.metric_data(name="TransferToDeviceTime")[0] == met.metric_data("TransferFromDeviceTime")[0] == 1
    assert met.metric_data("OutboundData")[1] == met.metric_data("InboundData")[1] == 16
    short = met.short_metrics_report()
    assert all(name in short for name in ("CompileTime", "ExecuteTime", "MarkStep", "TransferToDeviceTime"))
    assert "OutboundData" not in short
    assert "  Accumulator: 16B" in met.short_metrics_report(metric_names=["OutboundData"])
    assert met.executed_fallback_ops() == []


def test_made_and_freed_tensors_are_counted():
    def counts():
        gc.collect()
        return [met.counter_value(f"{event}XlaTensor") or 0 for event in ("Create", "Destroy")]

    gc.collect()
    met.clear_all()
    x = torch.ones(4, device="tt")
    y = x + 1
    assert counts() == [2, 0]
    y += 1  # other contents
    assert counts() == [3, 1]
    torch_xla.sync()
    x[1:].zero_()
    assert counts() == [4, 2]
    del x, y
    assert counts() == [4, 4]


def test_dropout_and_its_gradients_are_counted_as_ops():
    x = torch.ones(64, device="tt", requires_grad=True)
    dropped = torch.nn.functional.dropout(x, 0.25)
    dropped.sum().backward()
    assert torch.equal(x.grad.cpu(), dropped.detach().cpu())  # each is 0, or 1 / 0.75
    assert met.counter_value("xla::native_dropout") == met.counter_value("xla::native_dropout_backward") == 1
    assert met.executed_fallback_ops() == []


def test_the_document_lists_the_metrics():
    page = (Path(__file__).parents[3] / "docs/torch_xla.md").read_text()
    section = page.partition("\n## Metrics\n")[2].partition("\n## ")[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, flags=re.M)) == metrics.NAMES


def test_dynamos_backend_openxla():
    layer = torch.nn.Linear(4, 4, device="xla")
    x = torch.randn(2, 4).to("xla")
    expected = layer(x)
    compiled = torch.compile(layer, backend="openxla", fullgraph=True)
    torch_xla.sync()
    met.clear_all()
    with torch.no_grad():
        results = [compiled(x).cpu() for _ in range(2)]
    assert met.counter_value("DynamoExtractCompiledGraph") == met.metric_data("CompileTime")[0] == 1
    assert met.metric_data("ExecuteTime")[0] == 2
    assert met.metric_data("RunCachedGraphInputData")[0] == met.metric_data("RunCachedGraphOutputData")[0] == 2
    assert met.counter_value("xla::addmm") == 1
    assert met.counter_value("DynamoSyncInputExecuteTime") is None
    with torch.no_grad():
        compiled(x * 2)
    assert met.counter_value("DynamoSyncInputExecuteTime") == 1
    for result in results:
        torch.testing.assert_close(result, expected.cpu())
    compiled(x).sum().backward()
    got, layer.weight.grad = layer.weight.grad, None
    expected.sum().backward()
    torch.testing.assert_close(got, layer.weight.grad)


def test_the_backend_openxla_names_tensors_on_the_cpu_and_leaves_them_there():
    compiled = torch.compile(lambda x: x * 2, backend="openxla")
    with pytest.warns(UserWarning, match=r"Found tensor with shape torch.Size\(\[2\]\) on cpu. Please move"):
        result = compiled(torch.ones(2))
    assert (result.device.type, result.tolist()) == ("cpu", [2, 2])
    assert met.metric_data("CompileTime") is None


def test_the_backend_openxla_compiles_for_each_size_that_dynamo_leaves_open():
    compiled = torch.compile(lambda x: (x.sum(1) * x.shape[0], x.shape[0] + 1), backend="openxla", dynamic=True)
    for rows, programs in ((3, 1), (5, 2), (7, 3), (3, 3)):
        total, more = compiled(torch.ones(rows, 2).to("xla"))
        assert (total.tolist(), more) == ([2.0 * rows] * rows, rows + 1)
        assert met.metric_data("CompileTime")[0] == programs
    assert met.counter_value("DynamoExtractCompiledGraph") == 1


def test_inputs_that_wait_for_recorded_ops_are_an_error_where_the_script_says_that_none_do(monkeypatch):
    from torch_xla._dynamo import config

    compiled = torch.compile(lambda x: x * 2, backend="openxla")
    x = torch.ones(2).to("xla")
    monkeypatch.setattr(config, "skip_input_data_check", True)
    compiled(x + 1)  # compiles
    assert compiled(x).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="can not be a pending ir"):
        compiled(x + 1)


def test_the_backend_as_a_function():
    from torch_xla._dynamo import dynamo_backend2

    compiled = torch.compile(lambda x: x * 2 + 1, backend=dynamo_backend2.dynamo_backend, fullgraph=True)
    assert compiled(torch.ones(2, device="xla")).tolist() == [3, 3]


def test_a_graph_module_is_compiled():
    import torch_xla.core.dynamo_bridge as bridge

    class Model(torch.nn.Module):
        def forward(self, x, y):
            y.add_(1)
            return torch.sin(x) + y

    x, y = torch.ones(3, device="xla"), torch.zeros(3, device="xla")
    one = bridge.extract_compiled_graph(torch.fx.symbolic_trace(Model()), (x, y))
    torch.testing.assert_close(one(x, y).cpu(), torch.ones(3).sin() + 1)
    assert y.tolist() == [1, 1, 1]
    several = bridge.extract_compiled_graph(torch.fx.symbolic_trace(lambda x: (x + 1, x * 2)), (x,))
    assert [result.tolist() for result in several(x)] == [[2, 2, 2]] * 2


def test_states_of_random_numbers_are_restored():
    xm.set_rng_state(101)
    assert xm.get_rng_state() == 101
    torch.rand(3, device="xla")
    state = xm.get_rng_state()
    first = torch.rand(3, device="xla").tolist()
    with xm.fork_rng():
        torch.rand(5, device="xla")
    second = torch.rand(3, device="xla").tolist()
    xm.set_rng_state(state)
    assert [torch.rand(3, device="xla").tolist() for _ in range(2)] == [first, second]


def test_the_state_of_a_checkpoint_is_restored_in_another_process(tmp_path):
    code = """
import sys, torch, torch_xla.core.xla_model as xm
if sys.argv[1] == "save":
    torch.rand(3, device="xla")
    torch.save((torch.get_rng_state(), xm.get_rng_state()), sys.argv[2])
else:
    of_cpu, of_device = torch.load(sys.argv[2])
    torch.set_rng_state(of_cpu)
    xm.set_rng_state(of_device)
print(torch.rand(2, device="xla").tolist())
"""
    path = str(tmp_path / "state.pt")
    outputs = [
        subprocess.run([sys.executable, "-c", code, mode, path], capture_output=True, text=True, check=True).stdout
        for mode in ("save", "load")
    ]
    assert outputs[0] == outputs[1]


def test_a_trace_has_the_names_of_its_ranges(tmp_path):
    xp.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="Only one profile may be run"):
        xp.start_trace(tmp_path)
    with xp.Trace("forward", layer=3):
        torch.ones(2)
    xp.stop_trace()
    (for_perfetto,) = tmp_path.glob("*.pt.trace.json")
    assert '"forward#layer=3#"' in for_perfetto.read_text()
    (for_tensorboard,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    planes = jax.profiler.ProfileData.from_file(str(for_tensorboard)).planes
    (event,) = [e for plane in planes for line in plane.lines for e in line.events if e.name == "forward"]
    assert dict(event.stats)["layer"] == 3
    with pytest.raises(RuntimeError, match="No profile started"):
        xp.stop_trace()


def test_no_step_ends_within_a_range():
    @xp.trace_me("inner")
    def end_step(**options):
        torch_xla.sync(**options)

    for _ in range(2):  # each step numbers its ranges
        with xp.Trace("outer"), pytest.raises(RuntimeError, match=r"Expecting scope to be empty .* outer\.1/inner\.2"):
            end_step()
        torch_xla.sync()
    x = torch.ones(2, device="xla") + 1
    with xp.Trace("outer"):
        end_step(reset_scope=False)
        assert not buffer_of(x).pending
        assert torch_xla.compile(torch.neg)(x).tolist() == [-2, -2]
        with xp.StepTrace("step"):
            y = x + 1
        assert not buffer_of(y).pending
    torch_xla.sync()


def test_a_profiling_server():
    server = xp.start_server(0)
    assert xp.start_server(server.port) is server
    with socket.create_server(("", 0)) as busy, pytest.raises(RuntimeError, match="the port cannot be used"):
        xp.start_server(busy.getsockname()[1])
    with pytest.raises(RuntimeError, match="No server of this process"):
        xp.trace("localhost:1", "folder")


def test_the_environment_asks_for_spmd(monkeypatch):
    import torch_xla.runtime as xr

    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    assert [str(device) for device in torch_xla.devices()] == ["tt:0", "tt:1"]
    assert (xr.is_spmd(), xr.global_device_count()) == (False, 2)
    monkeypatch.setenv("XLA_USE_SPMD", "1")
    assert [str(device) for device in torch_xla.devices()] == ["tt:0"]
    assert (xr.is_spmd(), xr.global_device_count(), xr.global_runtime_device_count()) == (True, 1, 2)
    monkeypatch.delenv("XLA_USE_SPMD")
    assert (xr.is_spmd(), xr.global_device_count()) == (False, 2)


def test_spmd_mode_is_that_of_child_processes():
    code = "import torch_xla.runtime as xr, os; xr.use_spmd(); print(os.environ['XLA_USE_SPMD'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"
