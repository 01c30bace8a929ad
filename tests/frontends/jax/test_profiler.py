"""Lanes of the chips in ``jax.profiler``."""

from __future__ import annotations

import ctypes

import jax
import jax.numpy as jnp
import pytest
from jax.profiler import ProfileData

from tt_xla.frontends.jax.pjrt.structs import struct
from tt_xla.frontends.jax.pjrt.xspace import Event, Plane, write_xspace

LANE = "/device:CUSTOM:tt:{} (predicted)"


def kernels(folder):
    """Returns the kernels in a trace's file by the name of their plane."""
    (file,) = folder.rglob("*.xplane.pb")
    planes = {plane.name: plane for plane in ProfileData.from_file(str(file)).planes}
    return {
        name: [event for line in plane.lines for event in line.events]
        for name, plane in planes.items()
        if name.startswith("/device:")
    }


@jax.jit
def layer(x):
    return jax.nn.softmax(x @ x)


def test_a_trace_has_the_kernels_of_each_run_with_predicted_durations(tt, tmp_path):
    x = jax.device_put(jnp.ones((64, 64)), tt)
    layer(x).block_until_ready()
    for trace in ("first", "second"):
        with jax.profiler.trace(tmp_path / trace):
            for _ in range(2):
                layer(x).block_until_ready()
        found = kernels(tmp_path / trace)
        assert list(found) == [LANE.format(0)]
        events = found[LANE.format(0)]
        assert [event.name for event in events] == 2 * ["MatmulDeviceOperation", "SoftmaxDeviceOperation"]
        assert [dict(event.stats)["op"] for event in events] == 2 * ["ttnn.matmul", "ttnn.softmax"]
        assert [dict(event.stats)["source"].rsplit("/")[-1].split(":")[0] for event in events] == 4 * [
            "test_profiler.py"
        ]
        durations = [event.duration_ns for event in events]
        assert durations[:2] == durations[2:]
        assert 1e3 < min(durations) < max(durations) < 1e6  # microseconds, as on a chip
        starts = [event.start_ns for event in events]
        assert starts == sorted(starts)
        assert starts[0] > 0  # since the trace began
    layer(x).block_until_ready()  # after the traces nobody listens


def test_chips_have_planes_of_their_own(tmp_path):
    space = [
        Plane(chip, LANE.format(chip), "kernels", [Event("Matmul", 10**6 + 5 * chip, 3, {"op": "é", "none": ""})])
        for chip in (0, 1)
    ]
    file = tmp_path / "space.xplane.pb"
    file.write_bytes(write_xspace(space))
    found = kernels(tmp_path)
    assert list(found) == [LANE.format(0), LANE.format(1)]
    (event,) = found[LANE.format(1)]
    assert (event.name, event.start_ns, event.duration_ns) == ("Matmul", 10**6 + 5, 3)
    assert dict(event.stats) == {"op": "é"}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("PLUGIN_Profiler_Create_Args", 32),
        ("PLUGIN_Profiler_CollectData_Args", 32),
        ("PLUGIN_Profiler_Api", 80),
        ("PJRT_Profiler_Extension", 40),
    ],
)
def test_the_structs_are_those_of_the_header(name, size):
    assert ctypes.sizeof(struct(name)) == size
