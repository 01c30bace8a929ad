"""A stand-in for compiler and runtime: the StableHLO module runs on JAX's CPU client, exactly."""

from __future__ import annotations

import jax
import jaxlib
import numpy as np
import pytest
import torch
from jax.extend import backend as jax_backend

from tt_xla.frontends.torch import backend, settings
from tt_xla.frontends.torch.aten.registry import DTYPES

TORCH_DTYPES = {dtype: torch_dtype for torch_dtype, dtype in DTYPES.items()}


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().contiguous()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(DTYPES[torch.bfloat16])
    return tensor.numpy()


def to_torch(array: np.ndarray) -> torch.Tensor:
    array = np.array(array, order="C")
    if array.dtype == DTYPES[torch.bfloat16]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def run_on_jax_cpu(module):
    """A callable that runs a module on host tensors."""
    client = jax_backend.get_backend("cpu")
    devices = jaxlib._jax.DeviceList(tuple(client.local_devices()[:1]))
    executable = client.compile_and_load(module.operation.get_asm(), devices)

    def call(tensors, versions):
        with jax.enable_x64(True):
            arrays = [jax.device_put(to_numpy(tensor), client.local_devices()[0]) for tensor in tensors]
            results = executable.execute(arrays)
            return [to_torch(np.asarray(result)) for result in results]

    return call


class Loads(list):
    """The (module, options) pairs that were compiled."""


@pytest.fixture
def on_jax(monkeypatch):
    """Runs compiled graphs on JAX's CPU client; gives what was compiled."""
    loads = Loads()

    def compile_and_load(module, options):
        loads.append((module, options))
        return run_on_jax_cpu(module)

    monkeypatch.setattr(backend, "_compile_and_load", compile_and_load)
    monkeypatch.setattr(settings, "_current", None)
    torch.compiler.reset()
    yield loads
    torch.compiler.reset()
