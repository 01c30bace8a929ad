"""The device type ``xla``, by which scripts for torch_xla name the device."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.debug.metrics as met  # noqa: E402

from tt_xla.frontends.torch import session  # noqa: E402

MAKERS = {
    "empty": lambda device: torch.empty(3, device=device),
    "ones": lambda device: torch.ones(3, device=device),
    "arange": lambda device: torch.arange(3, device=device),
    "tril_indices": lambda device: torch.tril_indices(2, 2, device=device),
    "randn": lambda device: torch.randn(3, device=device),
    "tensor": lambda device: torch.tensor([1, 2], device=device),
    "as_tensor": lambda device: torch.as_tensor([1.0, 2.0], device=device),
    "moved from the CPU": lambda device: torch.ones(3).to(device),
    "like one of the CPU": lambda device: torch.zeros_like(torch.ones(3), device=device),
    "like one of the device": lambda device: torch.zeros_like(torch.ones(3, device="tt"), device=device),
    "new": lambda device: torch.ones(3, device="tt").new_ones(2, device=device),
    "layer": lambda device: torch.nn.Linear(2, 2, device=device).weight,
    "moved layer": lambda device: torch.nn.Linear(2, 2).to(device).weight,
    "layer without memory": lambda device: torch.nn.Linear(2, 2, device="meta").to_empty(device=device).weight,
}


@pytest.mark.parametrize("device", ["xla", "xla:0", torch.device("xla"), torch.device("xla", 0)], ids=repr)
@pytest.mark.parametrize("name", MAKERS)
def test_tensors_of_the_type_are_those_of_the_device(name, device, exact):
    torch.manual_seed(0)
    made = MAKERS[name](device)
    torch.manual_seed(0)
    assert made.device == torch.device("tt", 0)
    torch.testing.assert_close(made.cpu(), MAKERS[name]("tt").cpu(), rtol=0, atol=0)


def test_a_default_device():
    with torch.device("xla"):
        assert torch.ones(2).device.type == "tt"
    assert torch.ones(2).device.type == "cpu"


def test_a_chip_that_is_not_there():
    with pytest.raises(RuntimeError, match="tt:1: invalid device ordinal"):
        torch.ones(2, device="xla:1")


def test_elementwise_ops_copy_one_of_two_tensors_from_the_cpu():
    x, y = torch.tensor([1.0, 2.0], device="xla"), torch.tensor([3.0, 5.0])
    met.clear_all()
    results = [x + y, y - x, x.maximum(y), y.eq(x), x.clone().mul_(y)]
    assert {str(result.device) for result in results} == {"tt:0"}
    assert [result.tolist() for result in results] == [[4, 7], [2, 3], [3, 5], [False, False], [3, 10]]
    assert met.metric_data("TransferToDeviceTime")[0] == 5
    for op in (torch.dot, lambda x, y: torch.where(y > 0, x, x), lambda x, y: torch.stack([x, y])):
        with pytest.raises(RuntimeError, match="found at least two devices, tt:0 and cpu"):
            op(x, y)


def test_without_torch_xla_tensors_of_two_devices_do_not_mix(monkeypatch):
    monkeypatch.setattr(session.current.mode, "copies_operands", False)
    with pytest.raises(RuntimeError, match="found at least two devices, tt:0 and cpu"):
        torch.ones(2, device="tt") + torch.ones(2)


def test_moving_to_where_it_is_copies_nothing():
    x = torch.ones(2, device="xla")
    x.to("xla").add_(1)
    assert x.tolist() == [2, 2]
    half = x.to("xla", torch.bfloat16)
    half.add_(1)
    assert (x.tolist(), half.tolist()) == ([2, 2], [3, 3])
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    assert layer.to("xla").weight is weight is layer.to("xla").weight


def test_names_of_the_type_on_tensors():
    assert torch.ones(2, device="xla").is_xla
    assert torch.ones(2, device="tt").is_xla
    assert not torch.ones(2).is_xla


def test_a_generator():
    drawn = [torch.randn(3, device=name, generator=torch.Generator(name).manual_seed(5)) for name in ("xla", "tt")]
    assert drawn[0].tolist() == drawn[1].tolist()


def test_autocast():
    def product(x):
        with torch.autocast("xla", dtype=torch.bfloat16):
            return x @ x

    x = torch.ones(2, 2, device="xla")
    assert product(x).dtype is torch.bfloat16
    with torch.autocast("xla"):
        assert (x @ x).dtype is torch.bfloat16
    assert torch.compile(product, backend="tt")(x).dtype is torch.bfloat16
    with torch.autocast(device_type="xla", enabled=False):
        assert (x @ x).dtype is torch.float32


def test_a_compiled_function(exact):
    def function(x):
        return x.to("xla") + torch.arange(3, device="xla") + torch.ones(3, device=torch.device("xla"))

    assert torch.compile(function, backend="tt", fullgraph=True)(torch.ones(3, device="xla")).tolist() == [2, 3, 4]


def test_a_saved_tensor_is_loaded_to_the_type(tmp_path):
    torch.save({"x": torch.arange(3.0)}, tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt", map_location="xla")["x"]
    assert (loaded.device.type, loaded.tolist()) == ("tt", [0, 1, 2])


def test_only_torch_xla_brings_the_type_and_does_so_once():
    code = """
import torch
x = torch.ones(1, device="tt")
try:
    torch.ones(1).to("xla")
except RuntimeError as error:
    print(error)
import torch_xla, torch_xla.debug.metrics as met
torch_xla._XLAC._init_xla_lazy_backend()
torch_xla._XLAC._init_xla_lazy_backend()
print(met.counter_value("RegisterXLAFunctions"), x.to("xla").tolist())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.splitlines()[-1:] == ["1 [1.0]"], run.stderr
    assert "PyTorch is not linked with support for xla devices" in run.stdout


def test_a_tensor_of_data_may_be_the_first_of_a_process():
    code = "import torch, torch_xla; print(torch.tensor([1.0], device='xla').tolist())"  # PyTorch turns modes off here
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[1.0]\n", run.stderr
