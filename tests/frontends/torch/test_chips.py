"""Tests of the chips of a system as devices of PyTorch: ``tt:0``, ``tt:1`` and so on."""

from __future__ import annotations

import copy
import io
import threading

import pytest
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn
from torch.overrides import _get_current_function_mode_stack

from tt_xla.frontends.torch import session
from tt_xla.runtime import get_device


@pytest.fixture(autouse=True)
def llmbox(monkeypatch):
    """Eight chips, each a device."""
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    torch.compiler.reset()
    torch.manual_seed(0)
    yield
    torch.tt.set_device(0)
    torch.compiler.reset()


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


class Pipeline(nn.Module):
    """A model whose layers are on two chips."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8).to("tt:1"), nn.Linear(8, 2).to("tt:2")

    def forward(self, x):
        return self.second(torch.relu(self.first(x)).to("tt:2"))


# Which devices there are ---------------------------------------------------------------------------------------------


def test_every_chip_is_a_device():
    assert torch.tt.device_count() == torch.accelerator.device_count() == torch_xla.device_count() == 8
    assert xm.get_xla_supported_devices() == [f"tt:{chip}" for chip in range(8)]
    assert torch_xla.devices() == [torch.device("tt", chip) for chip in range(8)]
    assert xm.xla_device(3) == torch_xla.device(3) == torch.device("tt:3")
    assert xm.xla_device() == torch.device("tt:0")


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(2, device="tt:8"),
        lambda: torch.ones(2).to("tt:8"),
        lambda: torch.rand(2, device="tt:8"),
        lambda: torch.tt.set_device(8),
        lambda: torch.tt.memory_allocated(8),
        lambda: torch.Generator(device="tt:8"),
        lambda: torch.UntypedStorage(4, device="tt:8"),
        lambda: xm.xla_device(8),
        lambda: torch_xla.device(8),
    ],
)
def test_a_chip_that_is_not_there_is_refused(use):
    with pytest.raises(
        (RuntimeError, IndexError), match=r"tt:8: invalid device ordinal.*n300-llmbox has 8 chips.*tt:0 to tt:7"
    ):
        use()


def test_in_spmd_mode_all_chips_act_as_one_device():
    xr.use_spmd()
    assert torch.tt.device_count() == torch.accelerator.device_count() == 1
    assert torch_xla.devices() == [torch.device("tt:0")]
    assert len(torch_xla.real_devices()) == xr.global_runtime_device_count() == torch_xla.device_count() == 8
    with pytest.raises(RuntimeError, match="In SPMD mode all chips act as the one torch device tt:0"):
        torch.ones(2, device="tt:1")
    with pytest.raises(RuntimeError, match=r"tt:8: invalid device ordinal.*has 8 chips; its one torch device is tt:0"):
        torch.ones(2, device="tt:8")


def test_a_tensor_of_one_chip_cannot_be_split_over_a_mesh():
    with pytest.raises(ValueError, match=r"got one on 'tt:1', a single chip. Move it with .to\('tt:0'\)"):
        xs.mark_sharding(torch.ones(8, 8, device="tt:1"), xs.get_1d_mesh("data"), ("data", None))


# Tensors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2, 2, device="tt:3"),
        lambda: torch.empty(2, 2, 2, 2, device="tt:3", memory_format=torch.channels_last),
        lambda: torch.full((2,), 5, device="tt:3"),
        lambda: torch.arange(4, device="tt:3"),
        lambda: torch.randn(2, device="tt:3"),
        lambda: torch.tensor([1.0], device="tt:3"),
        lambda: torch.ones(2).to("tt:3"),
        lambda: torch.ones(2).tt(3),
        lambda: torch.ones(2, device="tt:1").to("tt:3"),
        lambda: torch.zeros_like(torch.ones(2, device="tt:1"), device="tt:3"),
        lambda: torch.ones(2, device="tt:3").new_zeros(3),
        lambda: torch.ones(2, 3, device="tt:3").t()[1:].expand(4, 2, 2),
        lambda: torch.ones(2, device="tt:3").to(torch.float8_e4m3fn),
        lambda: torch.zeros(2, dtype=torch.uint16, device="tt:3"),
        lambda: torch.ones(2, device="tt:3").nonzero(),
        lambda: torch.bernoulli(torch.full((4,), 0.5, device="tt:3")),
        lambda: nn.functional.dropout(torch.ones(4, device="tt:3"), 0.5),
        lambda: copy.deepcopy(torch.ones(2, device="tt:3")),
        lambda: torch.UntypedStorage(4, device="tt:3"),
        lambda: torch.Generator(device="tt:3"),
    ],
)
def test_a_tensor_is_made_on_its_chip(make):
    assert make().device == torch.device("tt:3")


def test_factories_follow_the_device_context():
    with torch.device("tt:5"):
        assert torch.ones(2).device == torch.device("tt:5")
        assert nn.Linear(2, 2).weight.device == torch.device("tt:5")


def test_ops_run_on_the_chip_of_their_tensors():
    x = torch.arange(16.0).view(4, 4)
    y = x.to("tt:3")
    y[1:, 2] = 5.0
    y.add_(torch.tensor(1.0))
    x[1:, 2] = 5.0
    assert (y @ y).device == torch.device("tt:3")
    torch.testing.assert_close((y.t() + y).cpu(), (x + 1).t() + (x + 1))
    device = get_device(chip=3)
    assert device.live_executables()
    assert device.resident() == torch.tt.memory_allocated(3) > 0


def test_tensors_of_two_chips_do_not_mix():
    x, y = torch.ones(2, device="tt:1"), torch.ones(2, device="tt:2")
    message = "Expected all tensors to be on the same device, but found at least two devices, tt:1 and tt:2"
    with pytest.raises(RuntimeError, match=message):
        x + y
    with pytest.raises(RuntimeError, match=message):
        torch.cat([x, y])
    with pytest.raises(RuntimeError, match=message):
        x.add_(y)
    with pytest.raises(RuntimeError, match="tt:2 and tt:1"):
        torch.add(x, 1, out=y)
    assert torch.equal((x + torch.tensor(2.0)).cpu(), torch.full((2,), 3.0))  # numbers of the host mix with any chip


def test_copies_between_chips():
    x = torch.arange(6.0, device="tt:1").view(2, 3)
    pending = (x * 2).t()
    y = pending.to("tt:2")
    assert torch.equal(y.cpu(), (torch.arange(6.0).view(2, 3) * 2).t())
    target = torch.zeros(3, 2, dtype=torch.int32, device="tt:4")
    target.copy_(y)
    assert torch.equal(target.cpu(), (torch.arange(6).view(2, 3) * 2).t().int())
    x.add_(1)
    assert torch.equal(y.cpu(), (torch.arange(6.0).view(2, 3) * 2).t())


def test_one_read_runs_the_recorded_ops_of_all_chips():
    tensors = [torch.ones(4, device=f"tt:{chip}") * chip for chip in range(8)]
    torch_xla.sync()
    assert [tensor.sum().item() for tensor in tensors] == [4.0 * chip for chip in range(8)]


def test_memory_is_counted_for_each_chip():
    before = [torch.tt.memory_allocated(chip) for chip in (5, 6)]
    x = torch.ones(1024).to("tt:5")
    assert torch.tt.memory_allocated(5) == before[0] + 4096
    assert torch.tt.memory_allocated("tt:6") == before[1]
    y = x.to("tt:6")
    assert torch.tt.memory_stats(6)["allocated_bytes.all.current"] == before[1] + 4096
    del x, y
    assert [torch.tt.memory_allocated(chip) for chip in (5, 6)] == before


def test_memory_that_one_chip_lacks_another_has(monkeypatch):
    monkeypatch.setattr(session.current.memory[1], "allocated", get_device().target.dram_usable_bytes - 100)
    torch.ones(64).to("tt:2")
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 256 bytes"):
        torch.ones(64).to("tt:1")


# The current device --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("select", [torch.tt.set_device, torch.accelerator.set_device_index], ids=["tt", "accelerator"])
def test_the_current_device_is_what_tt_names(select):
    select(2)
    assert torch.tt.current_device() == torch.accelerator.current_device_index() == 2
    made = [
        torch.empty(2, device="tt"),
        torch.ones(2).to("tt"),
        torch.ones(2).to(torch.device("tt")),
        torch.ones(2).to(device="tt"),
        torch.ones(2).tt(),
        torch.tensor([1.0], device="tt"),
        nn.Linear(2, 2).to("tt").weight,
        torch.compile(lambda x: x.to("tt") * 2, backend="tt")(torch.ones(2)),
    ]
    assert {str(tensor.device) for tensor in made} == {"tt:2"}
    assert torch.ones(2).to("tt:1").device == torch.device("tt:1")
    assert xm.xla_device() == torch.device("tt:2")
    select("tt:0")
    assert torch.ones(2).to("tt").device == torch.device("tt:0")


def test_a_compiled_function_follows_the_current_device():
    function = torch.compile(lambda x: x.to("tt") * torch.full((4,), 2.0, device="tt"), backend="tt", fullgraph=True)
    devices = []
    for chip in (3, 2, 0):
        torch.tt.set_device(chip)
        result = function(torch.ones(4))
        assert torch.equal(result.cpu(), torch.full((4,), 2.0))
        devices.append(str(result.device))
    assert devices == ["tt:3", "tt:2", "tt:0"]


def test_contexts_select_a_device():
    with torch.tt.device(3), torch.device("cpu"), torch.accelerator.device_index(4):
        assert torch.ones(2).to("tt").device == torch.device("tt:4")
        assert torch.ones(2).device == torch.device("cpu")
    assert torch.ones(2).to("tt").device == torch.device("tt:0")
    assert not _get_current_function_mode_stack()


def test_a_default_device_stays_the_default():
    torch.set_default_device("cpu")
    try:
        with torch.tt.device(3):
            assert torch.ones(2).to("tt").device == torch.device("tt:3")
    finally:
        torch.set_default_device(None)
    assert not _get_current_function_mode_stack()


def test_threads_have_current_devices_of_their_own():
    seen = {}
    host_ops = torch.tt.host_ops()

    def work(chip: int) -> None:
        torch.tt.set_device(chip)
        x = torch.eye(4, requires_grad=True, device="tt")
        (x @ x).sum().backward()
        seen[chip] = (str(x.grad.device), x.grad.sum().item())

    threads = [threading.Thread(target=work, args=(chip,)) for chip in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.tt.host_ops() == host_ops
    assert seen == {chip: (f"tt:{chip}", 32.0) for chip in range(4)}
    assert torch.tt.current_device() == 0


# Random numbers ------------------------------------------------------------------------------------------------------


def test_each_chip_has_random_numbers_of_its_own():
    expected = torch.randn(6)
    torch.manual_seed(0)
    first = [torch.randn(3, device=f"tt:{chip}").cpu() for chip in (0, 1)]
    second = torch.randn(3, device="tt:1").cpu()
    assert torch.equal(first[0], expected[:3])
    assert torch.equal(first[1], expected[:3])
    assert torch.equal(second, expected[3:])
    state = torch.tt.get_rng_state(1)
    drawn = torch.rand(4, device="tt:1").cpu()
    torch.rand(4, device="tt:0")
    torch.tt.set_rng_state(state, 1)
    assert torch.equal(torch.rand(4, device="tt:1").cpu(), drawn)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_dropout_draws_the_random_numbers_of_its_chip(compiled):
    def noisy(x):
        return nn.functional.dropout(x, 0.5) + torch.rand_like(x) + torch.bernoulli(x * 0.5)

    function = torch.compile(noisy, backend="tt") if compiled else noisy
    results = []
    for chip in (0, 1):
        torch.manual_seed(1)
        results.append(function(torch.ones(16, device=f"tt:{chip}")).cpu())
    before = torch.get_rng_state()
    function(torch.ones(16, device="tt:1"))
    assert torch.equal(*results)
    assert torch.equal(torch.get_rng_state(), before)


def test_fork_rng_restores_the_state_of_a_chip():
    state = torch.tt.get_rng_state(1)
    with torch.random.fork_rng(devices=[1], device_type="tt"):
        torch.randn(2, device="tt:1")
    assert torch.equal(torch.tt.get_rng_state(1), state)


# Models --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_a_model_trains_on_a_chip(compiled):
    reference, x = mlp(), torch.randn(16, 4)
    model = copy.deepcopy(reference).to("tt:3")
    function = torch.compile(model, backend="tt") if compiled else model
    for net, call, data in ((reference, reference, x), (model, function, x.to("tt:3"))):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = call(data).square().mean()
            loss.backward()
            optimizer.step()
    assert loss.device == model[0].weight.grad.device == torch.device("tt:3")
    torch.testing.assert_close(model[0].weight.cpu(), reference[0].weight, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "recorded"])
def test_a_model_on_two_chips(compiled):
    model = Pipeline()
    reference = nn.Sequential(copy.deepcopy(model.first).cpu(), nn.ReLU(), copy.deepcopy(model.second).cpu())
    x = torch.randn(16, 4)
    expected = reference(x)
    expected.square().sum().backward()
    host_ops = torch.tt.host_ops()
    result = (torch.compile(model, backend="tt", fullgraph=True) if compiled else model)(x.to("tt:1"))
    assert result.device == torch.device("tt:2")
    result.square().sum().backward()
    torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
    torch.testing.assert_close(model.first.weight.grad.cpu(), reference[0].weight.grad, rtol=0.02, atol=0.02)
    assert model.first.weight.grad.device == torch.device("tt:1")
    assert torch.tt.host_ops() == host_ops


def test_a_compiled_function_of_tensors_on_two_chips_runs_on_both():
    double = torch.compile(lambda x, y: (x * 2, y * 3), backend="tt", fullgraph=True)
    x, y = double(torch.ones(2, device="tt:4"), torch.ones(2, device="tt:5"))
    assert (x.device, y.device) == (torch.device("tt:4"), torch.device("tt:5"))
    assert torch.equal(x.cpu(), torch.full((2,), 2.0))
    assert torch.equal(y.cpu(), torch.full((2,), 3.0))
    assert all(get_device(chip=chip).live_executables() for chip in (4, 5))


@pytest.mark.parametrize("keyword", [False, True], ids=["positional", "keyword"])
def test_a_compiled_function_puts_a_tensor_on_another_chip(keyword):
    put = torch.ops.prims.device_put
    there = torch.device("tt:1")
    function = torch.compile(lambda x: put(x + 1, device=there) if keyword else put(x + 1, there), backend="tt")
    result = function(torch.ones(4, device="tt:0"))
    assert result.device == there
    assert torch.equal(result.cpu(), torch.full((4,), 2.0))


def test_a_compiled_model_is_compiled_again_for_another_chip():
    function = torch.compile(lambda x: x + 1, backend="tt")
    assert [str(function(torch.ones(2, device=f"tt:{chip}")).device) for chip in (0, 6, 0)] == ["tt:0", "tt:6", "tt:0"]


def test_data_parallel_module():
    model, x = mlp(), torch.randn(16, 4)
    expected = model(x)
    expected.square().sum().backward()
    gradient = model[0].weight.grad.clone()
    model.zero_grad()
    parallel = nn.DataParallel(model.to("tt:0"), device_ids=[0, 1, 2, 3])
    result = parallel(x)
    result.square().sum().backward()
    assert result.device == torch.device("tt:0")
    torch.testing.assert_close(result.cpu(), expected, rtol=0.02, atol=0.02)
    torch.testing.assert_close(model[0].weight.grad.cpu(), gradient, rtol=0.02, atol=0.02)


def test_replicas_draw_the_random_numbers_of_their_chips():
    x = torch.ones(32, 64)
    parallel = nn.DataParallel(nn.Dropout(0.5).to("tt:0"), device_ids=[0, 1, 2, 3])

    def draw() -> torch.Tensor:
        torch.manual_seed(0)
        return torch.cat([parallel(x).cpu() for _ in range(4)])

    first = draw()
    assert 0 < (first == 0).float().mean() < 1
    assert all(torch.equal(draw(), first) for _ in range(5))


def test_data_parallel_results_gathered_on_the_cpu():
    parallel = nn.DataParallel(nn.ReLU(), device_ids=[0, 1], output_device=-1)
    assert parallel(torch.ones(4, 2)).device == torch.device("cpu")


class Summary(nn.Module):
    def forward(self, x, *, options):
        return {"sums": x.sum(), "rows": (x * options["scale"], self.training), "made": torch.zeros(1, 2).tt()}


def test_data_parallel_splits_and_joins_containers():
    x = torch.arange(6.0).reshape(3, 2)
    result = nn.DataParallel(Summary(), device_ids=[2, 1])(x, options={"scale": torch.tensor([[1.0], [2.0], [3.0]])})
    assert (result["sums"].tolist(), result["made"].shape) == ([6.0, 9.0], (2, 2))
    assert (result["rows"][0].tolist(), result["rows"][1]) == ([[0.0, 1.0], [4.0, 6.0], [12.0, 15.0]], True)
    assert {str(each.device) for each in (result["sums"], result["rows"][0], result["made"])} == {"tt:2"}


@pytest.mark.parametrize("device_ids", [[0], [0, 1]])
def test_statistics_of_data_parallel_are_those_of_the_first_part(device_ids):
    model = nn.BatchNorm1d(2).to("tt")
    nn.DataParallel(model, device_ids=device_ids)(torch.tensor([[0.0, 0.0], [2.0, 4.0], [8.0, 8.0], [8.0, 8.0]]))
    expected = torch.tensor([[1.0, 2.0], [4.5, 5.0]][len(device_ids) == 1]) * 0.1
    torch.testing.assert_close(model.running_mean.cpu(), expected)


def test_data_parallel_without_arguments_runs_once():
    assert nn.DataParallel(Constant(), device_ids=[0, 1])().tolist() == [1.0]


class Constant(nn.Module):
    def forward(self):
        return torch.ones(1, device="tt")


# Files ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("map_location", "device"),
    [(None, "tt:3"), ("tt:1", "tt:1"), ("cpu", "cpu"), ({"tt:3": "tt:5"}, "tt:5"), (torch.device("tt:2"), "tt:2")],
)
def test_tensors_are_loaded_on_their_chip_or_on_another(map_location, device):
    file = io.BytesIO()
    torch.save({"weight": torch.arange(4.0, device="tt:3")}, file)
    file.seek(0)
    weight = torch.load(file, map_location=map_location)["weight"]
    assert weight.device == torch.device(device)
    assert torch.equal(weight.cpu(), torch.arange(4.0))


def test_a_file_of_a_chip_that_is_not_there_is_refused(monkeypatch):
    file = io.BytesIO()
    torch.save(torch.ones(2, device="tt:3"), file)
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"saved on tt:3.*tt:3: invalid device ordinal.*pass map_location='tt:0'"):
        torch.load(file)
    file.seek(0)
    assert torch.load(file, map_location="tt:1").device == torch.device("tt:1")
