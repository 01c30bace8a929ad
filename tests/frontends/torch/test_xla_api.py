"""The ``torch_xla`` names."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from tt_xla.errors import OptionError
from tt_xla.frontends.torch import settings

torch_xla = pytest.importorskip("torch_xla")


@pytest.fixture(autouse=True)
def _default_options(monkeypatch):
    settings.reset()
    monkeypatch.delenv("PJRT_DEVICE", raising=False)


def test_modules_have_the_real_names():
    import torch_xla.core.xla_model as xm
    import torch_xla.runtime as xr

    assert (torch_xla.__name__, xm.__name__, xr.__name__) == (
        "torch_xla",
        "torch_xla.core.xla_model",
        "torch_xla.runtime",
    )
    assert torch_xla.core.xla_model is xm
    assert importlib.util.find_spec("torch_xla.runtime").origin == xr.__file__


def test_probes_do_not_find_it_before_it_is_imported():
    """``transformers`` looks for torch_xla, and would train on XLA devices if it found the package."""
    code = """
import importlib.util
assert importlib.util.find_spec("torch_xla") is None
import torch_xla
assert importlib.util.find_spec("torch_xla") is torch_xla.__spec__
"""
    subprocess.run([sys.executable, "-c", code], check=True)


FIRST = ("torch", "tt_xla.frontends.torch.backend", "torch_xla.core.xla_model")


@pytest.mark.nightly
@pytest.mark.parametrize("first", ["torch_xla", *(pytest.param(name, marks=pytest.mark.nightly) for name in FIRST)])
def test_the_device_is_there_whichever_is_imported_first(first):
    code = f"import {first}; import torch; assert torch.ones(2, device='tt').sum().item() == 2"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_devices(caplog):
    import torch_xla.core.xla_model as xm
    import torch_xla.runtime as xr

    xr.set_device_type("TT")
    assert xm.xla_device() == torch_xla.device() == torch.device("tt", 0)
    assert xm.get_xla_supported_devices() == ["tt:0"]
    assert torch_xla.device_count() == xr.global_runtime_device_count() == 1
    assert xr.device_type() == "TT"
    with pytest.raises(ValueError, match="only device type of this torch_xla is 'TT'"):
        xr.set_device_type("TOASTER")
    xr.set_device_type("CPU")
    assert "set_device_type('CPU'): programs run on 'TT'" in caplog.text
    assert [xr.device_type(), os.environ["PJRT_DEVICE"]] == ["TT", "TT"]
    with pytest.raises(IndexError, match="its one torch device is tt:0"):
        torch_xla.device(1)


def test_waiting_and_stepping():
    import torch_xla.core.xla_model as xm

    torch_xla.sync(wait=True)
    xm.mark_step()
    xm.wait_device_ops()
    weight = torch.ones(1, requires_grad=True)
    weight.grad = torch.ones(1)
    xm.optimizer_step(torch.optim.SGD([weight], 0.5), barrier=True)
    assert weight.item() == 0.5


def test_options_replace_those_before():
    torch_xla.set_custom_compile_options({"optimization_level": "2", "enable_trace": "true"})
    options = settings.current().with_own({})
    assert (options.optimization_level, options.enable_trace) == (2, True)
    torch_xla.set_custom_compile_options({"optimization_level": 1})
    assert not settings.current().with_own({}).enable_trace
    with pytest.raises(OptionError, match="optimization_level"):
        torch_xla.set_custom_compile_options({"optimisation_level": 1})
    assert settings.current().with_own({}).optimization_level == 1


def test_caches(tmp_path):
    import torch_xla.runtime as xr

    from tt_xla.frontends.torch import program_cache

    try:
        assert not torch_xla._XLAC._xla_computation_cache_is_initialized()
        xr.initialize_cache(str(tmp_path / "cache"))
        assert (tmp_path / "cache").is_dir()
        assert torch_xla._XLAC._xla_computation_cache_is_initialized()
    finally:
        program_cache.close_cache()
    before = settings.current()
    xr.clear_computation_cache()
    assert settings.current() is not before


def test_names_we_do_not_have_say_so():
    import torch_xla.core.xla_model as xm

    for module in (torch_xla, xm, torch_xla.core, torch_xla.runtime):
        with pytest.raises(AttributeError, match="part of its API"):
            module.no_such_name  # noqa: B018
    with pytest.raises(ImportError, match="part of its API"):
        importlib.import_module("torch_xla.no_such_module")


def test_hook_is_cheap_and_stands_last():
    code = (
        "import sys; before = set(sys.modules); import tt_xla._import_hook;"
        "print(sorted(set(sys.modules) - before - {'tt_xla', 'tt_xla._import_hook'}), sys.meta_path[-1].__name__)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[] PackageFinder"


def test_an_installed_torch_xla_wins(tmp_path):
    (tmp_path / "torch_xla.py").write_text("real = True\n")
    code = "import torch_xla; print(torch_xla.real)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path)}
    ).stdout
    assert output.strip() == "True"


def test_a_device_loader_moves_batches():
    from torch_xla.distributed.parallel_loader import MpDeviceLoader

    loader = MpDeviceLoader([{"x": torch.ones(2), "names": ["a"]}] * 3, torch.device("tt"))
    assert len(loader) == 3
    for batch in loader:
        assert batch["names"] == ["a"]
        assert batch["x"].device.type == "tt"
        assert batch["x"].cpu().tolist() == [1.0, 1.0]


@pytest.mark.nightly
def test_accelerate_imports():
    """accelerate, which transformers imports, takes any torch_xla for the complete package."""
    pytest.importorskip("accelerate")
    run = subprocess.run([sys.executable, "-c", "import accelerate"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_spawning_runs_the_function_here():
    import torch_xla.distributed.xla_multiprocessing as xmp

    calls = []
    xmp.spawn(lambda index, value: calls.append((index, value)), args=("a",))
    assert calls == [(0, "a")]
    with pytest.raises(ValueError, match="nprocs is 1, or None for all chips"):
        xmp.spawn(calls.append, nprocs=2)


def test_shardings_on_one_device():
    import torch_xla.distributed.spmd as xs
    import torch_xla.runtime as xr

    xr.use_spmd()
    assert xr.is_spmd()
    mesh = xs.Mesh(range(xr.global_runtime_device_count()), (1, 1), ("batch", "model"))
    assert mesh.shape() == {"batch": 1, "model": 1}
    tensor = torch.ones(2, 4, device="tt")
    assert torch_xla._XLAC._get_xla_sharding_spec(tensor) == ""
    xs.mark_sharding(tensor, mesh, ("batch", None))
    assert torch_xla._XLAC._get_xla_sharding_spec(tensor) == "{replicated}"
    xs.clear_sharding(tensor)
    assert torch_xla._XLAC._get_xla_sharding_spec(tensor) == ""
    for spec, message in ((("batch",), "1 entries"), (("rows", None), "'rows'"), (("batch", "batch"), "twice")):
        with pytest.raises(ValueError, match=message):
            xs.mark_sharding(tensor, mesh, spec)
    with pytest.raises(ValueError, match=r"names devices .* the system has 1"):
        xs.Mesh(range(8), (2, 4), ("batch", "model"))
    xs.set_global_mesh(mesh)
    assert xs.get_global_mesh() is mesh


def test_copies_and_parts_on_one_device_are_whole():
    import torch_xla.distributed.spmd as xs

    mesh, whole = xs.get_1d_mesh("data"), torch.arange(8.0)
    x = whole.to("tt")
    assert xs.sharding_of(x.clone()) == ""
    marked = xs.mark_sharding(x, mesh, ("data",))
    for tensor in (x, x.clone(), copy.deepcopy(x), x.clone().clone()):
        assert xs.sharding_of(tensor) == "{replicated}"
    part = torch_xla._XLAC._spmd_full_to_shard_shape(marked.global_tensor) + 1
    part = xs._mark_manual_sharding(part).global_tensor
    sharding = mesh.get_op_sharding(("data",))
    result = torch_xla._XLAC._spmd_shard_to_full_shape(part, sharding, x.shape, x.dtype)
    assert torch.equal(result.cpu(), whole + 1)


def test_collectives_over_one_device():
    import torch_xla.core.xla_model as xm

    x = torch.tensor([1.0, 2.0])
    assert xm.all_reduce(xm.REDUCE_SUM, x, scale=0.5).tolist() == [0.5, 1]
    xm.all_reduce(xm.REDUCE_SUM, [x], scale=2.0)
    assert xm.all_gather(x).tolist() == x.tolist() == [2, 4]
    assert xm.reduce_scatter(xm.REDUCE_SUM, x, 1.0, 0, 1).tolist() == [2, 4]
    assert xm.mesh_reduce("loss", 3, sum) == 3
    with pytest.raises(ValueError, match="The system has 1"):
        xm.all_reduce(xm.REDUCE_SUM, x, groups=[[0, 1]])
    with pytest.raises(ValueError, match="the group size is 1"):
        xm.reduce_scatter(xm.REDUCE_SUM, x, 1.0, 0, 2)


def test_launching_and_stepping():
    import torch_xla.core.xla_model as xm

    events = []
    torch_xla.launch(lambda index, name: events.append((index, name)), args=("a",))
    with torch_xla.step():
        events.append("in")
    assert events == [(0, "a"), "in"]
    assert torch_xla.compile(torch.tanh)(torch.zeros(2, device="tt")).tolist() == [0, 0]
    assert xm.get_num_cached_compilation_graph() > 0


def test_facts_about_the_device():
    import torch_xla.core.xla_model as xm
    import torch_xla.runtime as xr

    (attributes,) = xr.global_runtime_device_attributes()
    assert attributes["device_arch"]
    info = xm.get_memory_info()
    assert 0 <= info["bytes_used"] <= info["bytes_limit"] == attributes["dram_bytes"]


def test_a_scaler_for_bfloat16_scales_nothing():
    from torch_xla.amp import GradScaler, autocast

    weight = torch.ones(1, requires_grad=True)
    scaler, optimizer = GradScaler(), torch.optim.SGD([weight], 0.5)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == 0.5
    with autocast(torch_xla.device()):
        assert torch.is_autocast_enabled("tt")
        assert torch.get_autocast_dtype("tt") is torch.bfloat16


def test_host_data_moves_in_place_in_lists_and_dicts():
    import torch_xla.core.xla_model as xm

    data = {"x": torch.ones(2), "more": [torch.zeros(1), "label"], "pair": (torch.ones(1), 3)}
    moved = xm.send_cpu_data_to_device(data, "tt")
    assert moved is data
    assert [data["x"].device.type, data["more"][0].device.type, data["pair"][0].device.type] == ["tt"] * 3
    assert (data["more"][1], data["pair"][1]) == ("label", 3)
    assert xm.send_cpu_data_to_device((torch.ones(1),), "tt", input_sharding=None)[0].device.type == "tt"
