"""``torch_xla.distributed.data_parallel``: a model on several devices, each with a thread."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch_xla
import torch_xla.distributed.parallel_loader as _loaders

from tt_xla.frontends.torch import replicas as _replicas


class Context:
    """Holds what the function of a device keeps between epochs, as attributes.

    Attributes:
        device: the device.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def getattr_or(self, name: str, defval: Any) -> Any:
        """Returns an attribute, which is first set to ``defval``, or to what it returns, if it is not there."""
        if getattr(self, name, None) is None:
            setattr(self, name, defval() if callable(defval) else defval)
        return getattr(self, name)


class DataParallel:
    """Runs a function for copies of a model on the first devices of the system.

    Args:
        network: the model, or a function that makes it.
        device_ids: the devices; None for all. Without any, the model stays where it is.
        kwargs: further arguments of ``ParallelLoader``.
    """

    def __init__(
        self,
        network: torch.nn.Module | Callable[[], torch.nn.Module],
        device_ids: Sequence[torch.device | str] | None = None,
        **kwargs: Any,
    ) -> None:
        model = network if isinstance(network, torch.nn.Module) else network()
        chosen = [torch.device(each) for each in (torch_xla.devices() if device_ids is None else device_ids)]
        self._native_run = not chosen
        if self._native_run:
            parameter = next(model.parameters(), None)
            chosen = [torch.device("cpu") if parameter is None else parameter.device]
        self._devices, self._kwargs = chosen, kwargs
        self._models = [model if self._native_run else copy.deepcopy(model).to(device) for device in chosen]
        self._contexts = [Context(device) for device in chosen]

    @property
    def devices(self) -> list[str]:
        """Names of the devices."""
        return [str(device) for device in self._devices]

    @property
    def models(self) -> list[torch.nn.Module]:
        """The copies of the model."""
        return self._models

    def __call__(
        self, loop_fn: Callable[..., Any], loader: Iterable[Any], batchdim: int = 0, **kwargs: Any
    ) -> list[Any]:
        """Calls ``loop_fn(model, loader, device, context)`` for each device, in a replica of its own.

        Args:
            loop_fn: the function.
            loader: the data loader, whose batches are dealt out to the devices.
            batchdim: the dimension of batches that counts samples.
            kwargs: further arguments of the function.

        Returns:
            What the function returned for each device.

        Raises:
            Exception: what the function raised for a device.
        """
        if self._native_run:
            return [loop_fn(self._models[0], enumerate(loader), self._devices[0], self._contexts[0], **kwargs)]
        parallel = _loaders.ParallelLoader(loader, self._devices, batchdim=batchdim, **self._kwargs)
        loaders = [parallel.per_device_loader(device) for device in self._devices]

        def run() -> Any:
            own = _replicas.ordinal()
            return loop_fn(self._models[own], loaders[own], self._devices[own], self._contexts[own], **kwargs)

        results = _replicas.run(run, len(self._devices))
        parallel.close()
        return [results[number] for number in range(len(self._devices))]
