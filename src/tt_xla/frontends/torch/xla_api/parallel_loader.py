"""``torch_xla.distributed.parallel_loader``: batches of a data loader on the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from tt_xla.frontends.torch.private.functions import tree_map_only as _tree_map_only


class MpDeviceLoader:
    """Gives each batch of ``loader`` with its tensors, however nested, on ``device``.

    Options of the real one, about its threads and queues, change nothing here.
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
