"""Donated tensors, whose bytes a program releases, and tensors without bytes."""

from __future__ import annotations

import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_builder as xb  # noqa: E402
from torch_xla.debug import metrics  # noqa: E402
from torch_xla.utils.buffer_donor_context import alias_with_buffer_donor_config  # noqa: E402

GONE = "has no bytes.*clone a donated tensor"


@pytest.fixture(autouse=True)
def _exact_numbers(exact):
    """Computes as the CPU does."""


def donated(*shape):
    tensor = torch.ones(shape).to("xla")
    torch_xla.sync()
    assert torch_xla._XLAC._set_buffer_donation(tensor, True)
    return tensor


def test_the_end_of_a_step_takes_donations():
    x = donated(1024, 16)
    held = torch.tt.memory_allocated()
    metrics.clear_all()
    doubled = (x * 2).sum(1)
    doubled.cpu()
    assert not torch_xla._XLAC._is_placecholder(x)  # reading a result ends no step
    tripled = (x * 3).sum(1)
    torch_xla.sync()
    assert [doubled.tolist()[0], tripled.tolist()[0]] == [32, 48]
    assert metrics.metric_data("InputOutputAliasCount")[1] == 1
    assert torch.tt.memory_allocated() <= held - x.nbytes + tripled.nbytes + doubled.nbytes
    assert torch_xla._XLAC._is_placecholder(x)
    assert torch_xla._XLAC._get_buffer_donation(x)
    assert "Data Handle: Deleted" in torch_xla._XLAC._get_xla_tensor_debug_info(x)
    with pytest.raises(RuntimeError, match=GONE):
        x.cpu()
    with pytest.raises(RuntimeError, match=r"reads a tensor without bytes \(.*test_xla_donation.py:"):
        (x + 1).cpu()
    x.fill_(7)
    assert x[0, 0].item() == 7
    assert not torch_xla._XLAC._is_placecholder(x)


def test_tensors_that_are_written_keep_their_new_contents():
    x, other = donated(3), torch.ones(3).to("xla")
    metrics.clear_all()
    x += 2
    other *= 5
    assert not torch_xla._XLAC._get_buffer_donation(x)
    torch_xla.sync()
    assert [x.tolist(), other.tolist()] == [[3] * 3, [5] * 3]
    assert metrics.metric_data("InputOutputAliasCount")[1] == 2


def test_donations_are_of_tensors_with_bytes_and_can_be_taken_back():
    metrics.clear_all()
    x = torch.ones(2).to("xla") + 1
    assert not torch_xla._XLAC._set_buffer_donation(x, True)
    assert metrics.counter_value("XlaSetBufferDonation") is None
    torch_xla.sync()
    assert torch_xla._XLAC._set_buffer_donation(x, True)
    assert torch_xla._XLAC._set_buffer_donation(x, False)
    y = x + 1
    torch_xla.sync()
    assert [x.tolist(), y.tolist()] == [[2, 2], [3, 3]]
    assert metrics.counter_value("XlaSetBufferDonation") == 2


def test_each_run_takes_donations_in_a_context():
    x = donated(2)
    y = x + 1
    without = torch_xla._XLAC._get_graph_hash([y])
    with alias_with_buffer_donor_config() as before:
        assert not before
        assert torch_xla._XLAC._get_graph_hash([y]) != without
        torch_xla._XLAC._xla_sync_multi([y], ["tt:0"], True, False)
    assert torch_xla._XLAC._is_placecholder(x)
    assert y.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="deleted"):
        torch_xla._XLAC._get_tensors_handle([y, x])


def test_a_graph_counts_once_for_the_donations_that_it_takes():
    metrics.clear_all()
    weight = torch.ones(64, 64).to("xla")  # a constant of the program from its third run on
    for donates in (False, False, False, True, True):
        x = donated(64, 64) if donates else torch.ones(64, 64).to("xla")
        total = x @ weight
        torch_xla.sync()
        assert total[0, 0].item() == 64
    assert metrics.metric_data("InputOutputAliasCount")[:2] == (2, 1)


def test_an_error_takes_no_donations():
    x, gone = donated(2), xb.create_placeholder_tensor((2,), torch.float32)
    kept = x * 2
    broken = gone + 1
    with pytest.raises(RuntimeError, match="without bytes"):
        torch_xla.sync()
    assert [x.tolist(), kept.tolist()] == [[1, 1], [2, 2]]
    del broken


@pytest.mark.parametrize("marked", [False, True])
def test_functions_of_dynamo_take_donations(marked):
    def double(x):
        if marked:
            torch.ops.xla.dynamo_set_buffer_donor_(x, True)
        return x * 2

    def grow(x):
        if marked:
            torch.ops.xla.dynamo_set_buffer_donor_(x, True)
        x += 1

    compiled, growing = torch.compile(double, backend="openxla"), torch.compile(grow, backend="openxla")
    metrics.clear_counters()
    for _ in range(2):
        x = torch.ones(4).to("xla") if marked else donated(4)
        growing(x)
        growing(x)
        assert x.tolist() == [3] * 4
        x = torch.ones(4).to("xla") if marked else donated(4)
        assert compiled(x).tolist() == [2] * 4
        assert torch_xla._XLAC._is_placecholder(x)
    assert metrics.counter_value("XlaSetBufferDonation") == (2 + 3 * 2 if marked else 2 * 2)
    assert torch.ops.xla.dynamo_set_buffer_donor_(torch.ones(1), True).item() == 1
    x = torch.ones(4).to("xla")
    assert torch.compile(double, backend="tt")(x).tolist() == [2] * 4


def test_ops_on_placeholders_are_shown_and_not_run():
    x = xb.create_placeholder_tensor((2, 3), torch.bfloat16)
    assert (x.shape, x.dtype, x.device.type) == ((2, 3), torch.bfloat16, "tt")
    assert torch_xla._XLAC._is_placecholder(x)
    y = (x @ x.T).sin()
    text = torch_xla._XLAC._get_xla_tensors_text([y])
    assert text.count("bf16[2,3]{1,0} xla::device_data()") == 1
    assert "stablehlo.sine" in torch_xla.core.xla_model.get_stablehlo([y])
    with pytest.raises(RuntimeError, match="placeholder"):
        y.cpu()
    one, other = torch_xla._XLAC._get_tensors_handle([x, xb.create_placeholder_tensor((1,), torch.int8)])
    assert one != other
