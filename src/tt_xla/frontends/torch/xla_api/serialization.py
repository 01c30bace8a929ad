"""``torch_xla.utils.serialization``: saves each tensor of the data in a file of its own."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch_xla.core.xla_model as _xm


@dataclass
class TensorReference:
    """Stands for a tensor in saved data.

    Attributes:
        tid: number of the tensor.
    """

    tid: int


def _file(path: str, tensor: TensorReference) -> Path:
    return Path(f"{path}.tensors", f"tensor_{tensor.tid}.pt")


def save(data: Any, path: str, master_only: bool = True, global_master: bool = False) -> None:
    """Saves data: its tensors on the device into files of the folder ``path.tensors``, and the rest into ``path``.

    Args:
        data: nested lists, tuples and dictionaries.
        path: the file.
        master_only: whether only the first replica saves.
        global_master: whether only the first replica of all hosts is meant.
    """
    if master_only and not _xm.is_master_ordinal(local=not global_master):
        return
    folder = Path(f"{path}.tensors")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def written(tensors: list[torch.Tensor]) -> list[Any]:
        references = [TensorReference(number) for number in range(len(tensors))]
        for reference, tensor in zip(references, tensors, strict=True):
            torch.save(tensor.cpu(), _file(path, reference))
        return references

    torch.save(_xm.ToXlaTensorArena(written, _is_on_device).transform(data), path)


def _is_on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and _xm.is_xla_tensor(value)


def load(path: str) -> Any:
    """Returns data that :func:`save` wrote, with its tensors on the CPU. Loads only files that you trust."""
    data = torch.load(path, weights_only=False)

    def read(references: list[Any]) -> list[torch.Tensor]:
        return [torch.load(_file(path, reference)) for reference in references]

    return _xm.ToXlaTensorArena(read, lambda value: isinstance(value, TensorReference)).transform(data)
