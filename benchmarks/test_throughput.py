"""Compares the digits network on the emulated card with eager torch on the same CPU, both in bfloat16.

A call moves the batch to the device, runs the model and moves the output back, as the performance guide times it.
"""

import copy

import pytest

from tt_xla.testing import pcc

RECIPES = {
    "level 0": {},
    "level 2": {"optimization_level": 2},
    "level 2, bfp8 weights, trace": {"optimization_level": 2, "enable_bfp8_conversion": True, "enable_trace": True},
}


@pytest.mark.benchmark(group="digits network, batch 64, seconds a batch")
def test_eager_torch(benchmark, network, images):
    import torch

    with torch.no_grad():
        benchmark.pedantic(network, (images,), rounds=50, warmup_rounds=5)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.benchmark(group="digits network, batch 64, seconds a batch")
def test_emulated_card(benchmark, network, images, recipe):
    import torch
    import torch_xla

    torch_xla.set_custom_compile_options(RECIPES[recipe])
    model = copy.deepcopy(network)
    model.compile(backend="tt")
    device = torch.device("tt")
    model = model.to(device)

    def call():
        return model(images.to(device)).to("cpu")

    with torch.no_grad():
        output = benchmark.pedantic(call, rounds=50, warmup_rounds=5)
        expected = network(images)
    torch_xla.set_custom_compile_options({})
    assert pcc(output, expected) > 0.99
