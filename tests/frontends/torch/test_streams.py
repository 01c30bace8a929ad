"""PyTorch's own streams and events of the device, and the exchange of tensors with other libraries."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tt_xla.frontends.torch import register

register()


def test_streams_of_pytorch_order_nothing():
    x = torch.arange(4.0).to("tt")
    stream = torch.Stream(device="tt")
    assert torch.accelerator.current_stream().device == torch.device("tt", 0)
    with stream:
        y = x + 1
    torch.accelerator.set_stream(stream)
    stream.wait_stream(torch.accelerator.current_stream())
    stream.wait_event(stream.record_event())
    y.record_stream(stream)
    stream.synchronize()
    assert stream.query()
    assert y.tolist() == [1, 2, 3, 4]


def test_streams_of_the_device_are_those_of_pytorch():
    first, second = torch.tt.Stream("tt:0"), torch.tt.current_stream()
    assert isinstance(first, torch.Stream)
    assert (first, {first}) == (second, {second})
    assert torch.tt.Stream("tt:1").device == torch.device("tt", 1)
    assert torch.tt.Stream("tt:1") != first
    y = torch.ones(2, device="tt")
    y.record_stream(first)
    first.wait_event(first.record_event())
    assert first.query()


def test_events_of_pytorch_are_waited_for():
    event = torch.Event(device="tt")
    x = torch.arange(4.0).to("tt") * 2
    event.record()
    event.wait(torch.Stream(device="tt"))
    event.synchronize()
    assert event.query()
    assert x.tolist() == [0, 2, 4, 6]


def test_times_are_those_of_the_devices_own_events():
    begin, end = (torch.Event(device="tt", enable_timing=True) for _ in range(2))
    begin.record()
    end.record()
    with pytest.raises(RuntimeError, match="elapsedTime"):
        begin.elapsed_time(end)
    begin, end = torch.tt.Event(enable_timing=True), torch.tt.Event(enable_timing=True)
    begin.record()
    end.record()
    assert begin.elapsed_time(end) >= 0


def test_dlpack_goes_through_the_cpu():
    x = torch.arange(4.0).to("tt")
    with pytest.raises(ValueError, match="Unknown device type tt for Dlpack"):
        torch.from_dlpack(x)
    assert np.from_dlpack(x.cpu()).tolist() == [0, 1, 2, 3]
    assert torch.from_dlpack(x.__dlpack__(dl_device=(1, 0))).tolist() == [0, 1, 2, 3]
    on_device = torch.from_dlpack(np.arange(3.0), device="tt")
    assert on_device.device.type == "tt"
    assert (on_device + 1).tolist() == [1, 2, 3]


def test_arrays_of_jax_on_the_device_become_tensors():
    jax = pytest.importorskip("jax")
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    from tt_xla.frontends.jax import plugin

    if "tt" not in {device.platform for device in jax.devices()}:
        plugin.initialize()
    array = jax.device_put(np.arange(4.0, dtype=np.float32), jax.devices("tt")[0])
    assert torch.from_dlpack(array).tolist() == [0, 1, 2, 3]
    assert torch.from_dlpack(array, device="tt").device.type == "tt"
    assert jax.numpy.from_dlpack(torch.ones(3)).tolist() == [1, 1, 1]
