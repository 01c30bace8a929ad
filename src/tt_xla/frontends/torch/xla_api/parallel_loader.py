"""``torch_xla.distributed.parallel_loader``: moves batches of a data loader to devices, and ends a step with each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch_xla
import torch_xla.core.xla_model as _xm
import torch_xla.debug.profiler as _profiler

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import analysis as _analysis
from tt_xla.locks import Lock as _Lock


class PerDeviceLoader:
    """Iterates over the batches of one device. Each call for a batch first ends the step of those before.

    Args:
        loader: the loader that has the batches.
        device: the device.
    """

    def __init__(self, loader: ParallelLoader, device: torch.device) -> None:
        self._loader = loader
        self._device = device
        self._batches = 0
        """Batches since the last end of a step."""

    def __iter__(self) -> PerDeviceLoader:
        return self

    def __len__(self) -> int:
        return self._loader.per_device_samples()

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """Runs the recorded ops, unless a step of several batches goes on, and gets the next batch.

        Raises:
            StopIteration: there is no further batch. The recorded ops have run.
        """
        if _profiler.get_tracer_marked_step():  # the block of a StepTrace ends the step itself
            _profiler.set_tracer_marked_step(False)
            self._batches += 1
        elif self._batches >= self._loader.batches_per_execution - 1:
            self._batches = 0
            _end_step()
        else:
            self._batches += 1
        try:
            return self._loader.next_item(self._device)
        except StopIteration:
            _end_step()
            raise


def _end_step() -> None:
    with _session.current.mode.running_because(_analysis.LOADER):
        torch_xla.sync()


class ParallelLoader:
    """Gives each of several devices every so-many-th batch of a data loader.

    A batch is loaded and moved when it is asked for: the emulated card computes on the processor that would load it in
    advance. So options about queues and threads change nothing.

    Args:
        cpu_loader: the data loader.
        devices: the devices. Batch i goes to device i modulo their number; the batches of an incomplete last round are
            dropped.
        batchdim: the dimension of batches that counts samples. It is not needed.
        batches_per_execution: number of batches of one step.
        loader_prefetch_size: changes nothing.
        device_prefetch_size: changes nothing.
        host_to_device_transfer_threads: changes nothing.
        input_sharding: an ``xs.ShardingSpec`` that splits tensors with as many dimensions as it has entries, or one
            for each key of batches that are dictionaries; None for keys that are not split.
    """

    def __init__(
        self,
        cpu_loader: Iterable[Any],
        devices: Sequence[torch.device | str],
        batchdim: int = 0,
        batches_per_execution: int = 1,
        loader_prefetch_size: int = 16,
        device_prefetch_size: int = 8,
        host_to_device_transfer_threads: int = 1,
        input_sharding: Any = None,
    ) -> None:
        self._cpu_loader = cpu_loader
        self._devices = [torch.device(device) for device in devices]
        self._waiting: dict[torch.device, deque[Any]] = {device: deque() for device in self._devices}
        self._input_sharding = input_sharding
        self._batches: Iterator[Any] | None = None
        self._lock = _Lock()
        self.batches_per_execution = batches_per_execution

    def per_device_loader(self, device: torch.device | str) -> PerDeviceLoader:
        """Makes the iterator over the batches of one of the devices."""
        return PerDeviceLoader(self, torch.device(device))

    def per_device_samples(self) -> int:
        """Counts the batches that each device gets."""
        return len(self._cpu_loader) // len(self._devices)  # type: ignore[arg-type]

    def next_item(self, device: torch.device) -> Any:
        """Moves the next batch of a device to it.

        Raises:
            StopIteration: there is no further batch.
            KeyError: the batch has a key that ``input_sharding`` lacks.
            ValueError: ``input_sharding`` is a dictionary and the batch is none.
        """
        waiting = self._waiting[device]
        with self._lock:
            if not waiting:
                self._batches = iter(self._cpu_loader) if self._batches is None else self._batches
                batches = [next(self._batches) for _ in self._devices]
                for queue, batch in zip(self._waiting.values(), batches, strict=True):
                    queue.append(batch)
            batch = waiting.popleft()
        with torch.no_grad(), _profiler.Trace("cpu_data_to_xla_device"):
            return self._on_device(batch, device)

    def close(self) -> None:
        """Forgets the batches that wait."""
        for queue in self._waiting.values():
            queue.clear()
        self._batches = iter(())

    def _on_device(self, batch: Any, device: torch.device) -> Any:
        shardings = self._input_sharding
        if not isinstance(shardings, dict):
            return self._moved(batch, device, shardings)
        if not isinstance(batch, dict):
            raise ValueError(
                f"input_sharding is a dictionary with the keys {list(shardings)}, and the batch is a "
                f"{type(batch).__name__}. Pass one xs.ShardingSpec, or let the data loader return dictionaries."
            )
        lacking = [key for key in batch if key not in shardings]
        if lacking and shardings:
            raise KeyError(f"input_sharding lacks the keys {lacking} of the batch. Map each to a spec, or to None.")
        return {key: self._moved(value, device, shardings.get(key)) for key, value in batch.items()}

    @staticmethod
    def _moved(batch: Any, device: torch.device, sharding: Any) -> Any:
        moved = _xm.send_cpu_data_to_device(batch, device, sharding)
        return moved[0] if isinstance(batch, torch.Tensor) else moved


class MpDeviceLoader:
    """Iterates over the batches of a data loader on a device, and ends a step with each batch.

    It has the public attributes of the data loader: libraries ask for its dataset and sampler.

    Args:
        loader: the data loader.
        device: the device.
        kwargs: further arguments of :class:`ParallelLoader`.
    """

    def __init__(self, loader: Iterable[Any], device: torch.device | str, **kwargs: Any) -> None:
        self._loader = loader
        self._device = device
        self._parallel_loader_kwargs = kwargs
        self._parallel_loader: ParallelLoader | None = None

    def __iter__(self) -> PerDeviceLoader:
        if self._parallel_loader is not None:
            self._parallel_loader.close()
        self._parallel_loader = ParallelLoader(self._loader, [self._device], **self._parallel_loader_kwargs)
        return self._parallel_loader.per_device_loader(self._device)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._loader, name)
