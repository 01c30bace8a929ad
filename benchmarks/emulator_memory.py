"""Measures the bytes that a model on the emulated card keeps between calls: weights and what was derived from them."""

from __future__ import annotations

import gc
import multiprocessing
from multiprocessing.connection import Connection

import torch

from benchmarks.emulator_models import MODELS


def kept_per_weight(name: str, level: int) -> float:
    """Returns the bytes of all tensors of a fresh process after some calls, relative to the bfloat16 weights."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_measure, args=(theirs, name, level), daemon=True)
    process.start()
    theirs.close()
    ratio = ours.recv()
    process.join()
    return ratio


def _measure(pipe: Connection, name: str, level: int) -> None:
    import tt_torch  # noqa: F401

    with torch.no_grad():
        model, inputs = MODELS[name]("tt")
        weights = sum({weight.data_ptr(): weight.nbytes for weight in model.parameters()}.values())
        compiled = torch.compile(model, backend="tt", options={"optimization_level": level, "enable_trace": True})
        for _ in range(4):
            compiled(*inputs)
    pipe.send(_tensor_bytes() / weights)


def _tensor_bytes() -> int:
    """Sums the bytes of all live tensors, each storage once. Weights in oneDNN's layout have no storage to query."""
    gc.collect()
    storages: dict[int, int] = {}
    prepared = 0
    for tensor in (each for each in gc.get_objects() if type(each) in (torch.Tensor, torch.nn.Parameter)):
        if tensor.is_mkldnn:
            prepared += tensor.numel() * tensor.element_size()
        elif tensor.device.type == "cpu":
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values()) + prepared
