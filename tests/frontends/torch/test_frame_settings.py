"""What dynamo leaves out around graphs of ``tt``, and keeps for others."""

from __future__ import annotations

import dis

import pytest
import torch
from torch._dynamo import config

X = torch.arange(6.0)


def _names(function, *args) -> set[str]:
    """Names in the bytecode that dynamo wrote in place of a function."""
    found: list[object] = []
    hook = torch._dynamo.convert_frame.register_bytecode_hook(lambda old, new: found.append(new))
    try:
        function(*args)
    finally:
        hook.remove()
    return {str(each.argval) for code in found for each in dis.get_instructions(code)}


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def test_calls_look_for_no_stream_and_record_nothing():
    names = _names(torch.compile(lambda x: x + 1, backend="tt"), X)
    for helper in ("record_pregraph", "store_user_object"):
        assert not [name for name in names if helper in name]


def test_other_backends_are_left_alone():
    torch.compile(lambda x: x + 2, backend="tt")(X)
    assert config.record_runtime_overhead
    names = _names(torch.compile(lambda x: x + 3, backend="eager"), X)
    assert [name for name in names if "record_pregraph" in name]


def test_a_setting_of_the_users_stays():
    with config.patch(record_runtime_overhead=False):
        torch.compile(lambda x: x + 4, backend="tt")(X)
        assert not config.record_runtime_overhead


def test_the_current_stream_can_still_be_asked_for():
    def f(x):
        return x + 5, torch.accelerator.current_stream()

    result, stream = torch.compile(f, backend="tt")(X)
    torch.compile(lambda x: x + 6, backend="tt")(X)
    torch.testing.assert_close(result, X + 5)
    assert stream == torch.accelerator.current_stream()
