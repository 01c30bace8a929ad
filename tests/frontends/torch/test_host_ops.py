"""Ops without a lowering run on the host, in the midst of a program, and are counted."""

from __future__ import annotations

import pytest

from tt_xla.frontends.torch import host_ops


@pytest.fixture(autouse=True)
def fresh_counts():
    host_ops.reset()
    yield
    host_ops.reset()


def test_counts_by_name_and_logs_the_first_run(caplog):
    for _ in range(3):
        host_ops.record("aten.linalg_qr.default", location="model.py:7")
    host_ops.record("aten.nonzero.default")
    assert host_ops.counts() == {"aten.linalg_qr.default": 3, "aten.nonzero.default": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "aten.linalg_qr.default has no lowering to the device and runs on the host (asked for at model.py:7).",
        "aten.nonzero.default has no lowering to the device and runs on the host.",
    ]
