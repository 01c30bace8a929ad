"""A pytest plugin under which PyTorch's own tests of torch.distributed run with gloo on the CPU, or with device ``tt``.

PyTorch's helpers choose device and process group by what is installed, and skip most tests without several GPUs. The
plugin gives them the device that ``CONFORMANCE_DEVICE`` names, ``cpu`` or ``tt``, and four of them. The processes of a
test are forked, so that they need not import torch again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

BACKENDS = {"cpu": "gloo", "tt": "tt"}
"""Process group of each device."""

DEVICES = 4
"""Number of devices, which is that of the processes of most tests."""


def pytest_configure(config: pytest.Config) -> None:
    import torch

    device = os.environ["CONFORMANCE_DEVICE"]
    _complete_device_module(getattr(torch, device))
    _run_without_gpus()
    _fork_processes()
    _choose_device(device)
    if device != "cpu":
        _prepare_device(device)


def _complete_device_module(module: Any) -> None:
    """Gives the module of a device what the tests call in ``torch.cuda`` to choose devices, to wait and to count."""
    module.device_count = lambda: DEVICES
    module._sleep = lambda cycles: None
    for name in ("set_device", "empty_cache", "reset_peak_memory_stats", "manual_seed", "manual_seed_all"):
        if not hasattr(module, name):
            setattr(module, name, lambda *arguments: None)


def _unconditional(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """Returns a decorator that leaves a test as it is."""
    return lambda test: test


def _run_without_gpus() -> None:
    """Removes the conditions under which the helpers skip tests where no GPUs or no NCCL are found."""
    from torch.testing._internal import common_distributed, common_utils

    for name in ("skip_if_lt_x_gpu", "requires_nccl", "requires_nccl_version", "requires_accelerator_dist_backend"):
        setattr(common_distributed, name, _unconditional)
    common_distributed.skip_if_no_gpu = lambda test: test
    common_distributed.at_least_x_gpu = lambda count: True
    common_distributed.MultiProcContinousTest = common_distributed.MultiProcContinuousTest  # its name until 2.7
    common_utils.get_cycles_per_ms = lambda: 1.0


def _fork_processes() -> None:
    import torch
    from torch.testing._internal import common_distributed

    fork = torch.multiprocessing.get_context("fork")

    def start_forked(self: Any) -> None:
        self._start_processes(fork.Process)

    common_distributed.MultiProcessTestCase._spawn_processes = start_forked
    torch.multiprocessing.set_start_method("fork", force=True)
    torch.multiprocessing.set_start_method = lambda method, force=False: None
    torch.multiprocessing.get_context = lambda method=None: fork


def _choose_device(device: str) -> None:
    import torch.distributed as dist
    from torch.testing._internal import common_fsdp
    from torch.testing._internal.distributed._tensor import common_dtensor

    common_fsdp.DEVICE_TYPE, common_fsdp.DISTRIBUTED_BACKEND = device, BACKENDS[device]
    common_fsdp.DEVICE_COUNT = DEVICES
    common_dtensor.DEVICE_TYPE, common_dtensor.NUM_DEVICES = device, DEVICES

    def init_pg(self: Any, eager_init: bool, backend: str | None = None) -> None:
        dist.init_process_group(
            backend or self.backend,
            world_size=self.world_size,
            rank=self.rank,
            init_method=f"file://{self.file_name}",
        )

    common_dtensor.DTensorTestBase.init_pg = init_pg


def _prepare_device(device: str) -> None:
    """Runs ops and a compiled graph, so that the processes of tests need not import the compiler."""
    import torch

    layer = torch.nn.Linear(4, 4).to(device)
    with torch.no_grad():  # a process that has run a backward pass cannot be forked
        for run in (layer, torch.compile(layer, backend="tt")):
            run(torch.ones(4, 4, device=device)).sum().cpu()
