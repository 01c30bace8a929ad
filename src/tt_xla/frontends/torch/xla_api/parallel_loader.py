"""``torch_xla.distributed.parallel_loader``: moves batches of a data loader to the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from tt_xla.frontends.torch.private.functions import tree_map_only as _tree_map_only


class MpDeviceLoader:
    """Iterates over the batches of a data loader and moves their tensors, also nested ones, to a device.

    Args:
        loader: the data loader.
        device: the device.
        options: options of the real class for threads and queues. They change nothing here.
    """

    def __init__(self, loader: Iterable[Any], device: torch.device | str, **options: Any) -> None:
        self._loader = loader
        self._device = device
        self._parallel_loader_kwargs = options

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            yield _tree_map_only(torch.Tensor, lambda tensor: tensor.to(self._device), batch)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]
