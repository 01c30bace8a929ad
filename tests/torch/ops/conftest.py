"""Helpers of the tests of fusions and composite ops."""

from __future__ import annotations

import pytest
import torch

from tt_torch.composite_ops import replacements
from tt_xla.frontends.torch import backend


@pytest.fixture
def modules(monkeypatch):
    """Collects the StableHLO text of each graph that is compiled."""
    texts = []
    original = backend.lower_to_stablehlo

    def recording(*arguments):
        lowered = original(*arguments)
        texts.append(str(lowered.module))
        return lowered

    monkeypatch.setattr(backend, "lower_to_stablehlo", recording)
    return texts


@pytest.fixture(autouse=True)
def _restore():
    torch._dynamo.reset()
    before = dict(replacements)
    yield
    replacements.clear()
    replacements.update(before)


def composites(text):
    """Returns the names of a module's composites in order."""
    return [line.split('"')[1] for line in text.splitlines() if "stablehlo.composite" in line]


def run(model, *inputs, **options):
    with torch.no_grad():
        return torch.compile(model, backend="tt", options=options)(*inputs)


def captured(model, *inputs):
    """Returns the graph that dynamo captures."""
    graphs = []

    def keep(graph_module, _):
        graphs.append(graph_module)
        return graph_module

    torch._dynamo.reset()
    torch.compile(model, backend=keep)(*inputs)
    return graphs[0]
