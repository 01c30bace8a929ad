"""What the samples of PyTorch's tests share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Computes in the tensors' own types, without PyTorch's warnings, and forgets what was compiled."""
    import torch

    from tt_xla.frontends.torch import host_ops, settings

    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    settings.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    host_ops.reset()
    torch.compiler.reset()
