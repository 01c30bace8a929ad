"""Lanes of the chips in PyTorch's profiler."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tt_torch import show_chips_in_profiler
from tt_xla.cost.timeline import timeline
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.frontends.torch.backend import clear_programs, compiled_programs
from tt_xla.runtime.emulator.fused import build
from tt_xla.target import load_target

pytestmark = pytest.mark.skipif(build.compiler() is None, reason="there is no C++ compiler")

BOTH = (ProfilerActivity.CPU, ProfilerActivity.PrivateUse1)


def lanes(profiled, folder):
    """Returns the kernels of a profile by the name of their lane, and the names of the lane's thread."""
    profiled.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    found = {}
    for event in events:
        if event.get("cat") == "kernel":
            found.setdefault(names[event["pid"]], []).append(event)
    return found


def model(device="tt"):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Softmax(-1)).to(device)
    compiled = torch.compile(layers, backend="tt")
    x = torch.ones(32, 64, device=device)
    with torch.no_grad():
        compiled(x)
    return lambda: compiled(x)


@pytest.mark.parametrize("activities", [BOTH, None])
def test_a_profile_has_the_kernels_of_a_program_with_predicted_durations(tmp_path, activities):
    torch.compiler.reset()
    clear_programs()
    show_chips_in_profiler()
    run = model()
    programs = [timeline(program, load_target("n150")) for program in compiled_programs()]
    (expected,) = [each for each in programs if "SoftmaxDeviceOperation" in [kernel.name for kernel in each]]
    with torch.no_grad(), profile(activities=activities) as profiled:
        run()
        run()
    kernels = lanes(profiled, tmp_path)["tt:0 (predicted)"]
    assert [each.name for each in expected] == ["MatmulDeviceOperation", "SoftmaxDeviceOperation"]
    assert [event["name"] for event in kernels] == 2 * [each.name for each in expected]
    assert [event["dur"] for event in kernels] == 2 * [each.duration_ns / 1e3 for each in expected]
    assert [event["args"]["op"] for event in kernels] == 2 * ["ttnn.linear", "ttnn.softmax"]
    first, second = kernels[:2]
    assert second["ts"] - first["ts"] == pytest.approx((expected[1].start_ns - expected[0].start_ns) / 1e3, abs=0.01)
    rows = {row.key: row for row in profiled.key_averages()}
    assert rows["SoftmaxDeviceOperation"].device_time_total == pytest.approx(2 * expected[1].duration_ns / 1e3)
    assert rows["SoftmaxDeviceOperation"].count == 2
    begins = [event.time_range.start for event in profiled.events() if event.name == "Torch-Compiled Region: 0/0"]
    starts = [event.time_range.start for event in profiled.events() if event.name == "MatmulDeviceOperation"]
    assert begins[0] < starts[0] < begins[1] < starts[1]


def test_a_profile_of_the_host_alone_has_no_lanes(tmp_path):
    show_chips_in_profiler()
    run = model()
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as profiled:
        run()
    assert lanes(profiled, tmp_path) == {}


def test_recorded_ops_and_chips_have_lanes(tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    show_chips_in_profiler()
    x, y = torch.ones(4, 4).to("tt:0"), torch.ones(4, 4).to("tt:1")
    with profile(activities=BOTH) as profiled:
        (x @ x).cpu()
        y.exp().cpu()
    found = lanes(profiled, tmp_path)
    names = {lane: [event["name"] for event in events] for lane, events in found.items()}
    assert "MatmulDeviceOperation" in names["tt:0 (predicted)"]
    assert "UnaryDeviceOperation" in names["tt:1 (predicted)"]
    assert set(names) == {"tt:0 (predicted)", "tt:1 (predicted)"}


LATER = """
import sys, torch
from torch.profiler import profile
x = torch.ones(4, 4, device="tt")
(x @ x).cpu()
with profile() as profiled:
    (x @ x).cpu()
assert "MatmulDeviceOperation" in {event.name for event in profiled.events()}
"""


def test_a_later_process_has_lanes_without_a_call(tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path))
    show_chips_in_profiler()
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_a_compiler_an_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "compiler", lambda: None)
    with pytest.raises(RuntimeUnavailableError, match=r"profiler cannot be built for PyTorch 2\..*apt install g"):
        show_chips_in_profiler()
