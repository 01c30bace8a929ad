"""Parameters of which each replica holds a part, for :mod:`.fsdp_module`.

A shared parameter ``weight`` of a module is a property, which gathers the parts of all replicas. The module's own
parameter is the part of this replica, ``_fsdp_shard_weight``, whose gradient is the mean over the replicas.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch_xla.core.xla_model as xm
from torch import nn

from tt_xla.frontends.torch.private.dispatcher import storage_identity

PREFIX = "_fsdp_shard_"
"""Beginning of the names of parts."""


@dataclass(frozen=True)
class Sharing:
    """How replicas share parameters.

    Attributes:
        rank: number of this replica's part.
        size: number of parts.
        groups: groups of replicas, each of which has all parts; None for one group of all.
        compute_dtype: dtype of whole parameters; None for that of their parts.
        reduce_in_float32: whether gradients are added in float32.
    """

    rank: int
    size: int
    groups: list[list[int]] | None
    compute_dtype: torch.dtype | None
    reduce_in_float32: bool


@dataclass(frozen=True)
class Shared:
    """A parameter that replicas share.

    Attributes:
        shard: the part of this replica [elements / replicas, rounded up].
        shape: sizes of the whole parameter.
        sharing: how the replicas share it.
    """

    shard: nn.Parameter
    shape: torch.Size
    sharing: Sharing

    def gathered(self) -> torch.Tensor:
        """Returns the whole parameter, in the dtype for computations, with a gradient for the part."""
        flat = _Gather.apply(self.shard.to(self.sharing.compute_dtype or self.shard.dtype), self.sharing)
        return flat[: self.shape.numel()].view(self.shape)


class _Gather(torch.autograd.Function):
    """Joins the parts of all replicas. The gradient of a part is the mean of those that the replicas compute."""

    @staticmethod
    def forward(ctx: Any, shard: torch.Tensor, sharing: Sharing) -> torch.Tensor:
        ctx.sharing = sharing
        return xm.all_gather(shard, 0, sharing.groups)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:  # type: ignore[override]
        sharing, dtype = ctx.sharing, grad.dtype
        grad = grad.float() if sharing.reduce_in_float32 else grad
        part = xm.reduce_scatter(xm.REDUCE_SUM, grad, 1.0 / sharing.size, 0, sharing.size, sharing.groups)
        return part.to(dtype), None


class _Whole(threading.local):
    """Whole parameters of forward passes that this thread runs: by their parts, and by their own memory."""

    def __init__(self) -> None:
        self.by_shard: dict[int, torch.Tensor] = {}
        self.by_storage: dict[int, Shared] = {}


_WHOLE = _Whole()


def _whole(shared: Shared) -> torch.Tensor:
    known = _WHOLE.by_shard.get(id(shared.shard))
    return shared.gathered() if known is None else known


def share(module: nn.Module, sharing: Sharing) -> list[Shared]:
    """Makes the parameters of a module and its children shared ones, unless they are already."""
    done: dict[int, Shared] = {}
    for owner in list(module.modules()):
        own = {name: parameter for name, parameter in owner._parameters.items() if parameter is not None}
        names = [name for name in own if not name.startswith(PREFIX)]
        for name in names:
            parameter = own[name]
            shared = done[id(parameter)] = done.get(id(parameter)) or _share(parameter, sharing)
            del owner._parameters[name]
            owner.register_parameter(PREFIX + name, shared.shard)
            vars(owner).setdefault("_fsdp_shared", {})[name] = shared
        if names:
            owner.__class__ = _with_properties(type(owner), tuple(names))
    return list(done.values())


def _share(parameter: nn.Parameter, sharing: Sharing) -> Shared:
    length = math.ceil(parameter.numel() / sharing.size)
    flat = parameter.detach().reshape(-1)
    padded = nn.functional.pad(flat, (0, length * sharing.size - flat.numel()))
    own = padded[sharing.rank * length : (sharing.rank + 1) * length].clone()
    return Shared(nn.Parameter(own, parameter.requires_grad), parameter.shape, sharing)


@functools.cache
def _with_properties(kind: type[nn.Module], names: tuple[str, ...]) -> type[nn.Module]:
    """Returns a subclass of a module's class with a property for each shared parameter."""

    def getter(name: str) -> Callable[[nn.Module], torch.Tensor]:
        return lambda module: _whole(vars(module)["_fsdp_shared"][name])

    return type(kind.__name__, (kind,), {name: property(getter(name)) for name in names} | {"__module__": __name__})


@contextmanager
def gathering(parameters: list[Shared], *, frees: bool) -> Iterator[None]:
    """Context manager of a forward pass, in which each parameter is gathered once.

    Args:
        parameters: the parameters.
        frees: whether the backward pass gathers them again, so that they take no memory until then.
    """
    for shared in parameters:
        whole = _WHOLE.by_shard[id(shared.shard)] = shared.gathered()
        if frees:
            _WHOLE.by_storage[storage_identity(whole)] = shared
    try:
        if frees:
            with torch.autograd.graph.saved_tensors_hooks(_forget, _remember):
                yield
        else:
            yield
    finally:
        for shared in parameters:
            whole = _WHOLE.by_shard.pop(id(shared.shard))
            _WHOLE.by_storage.pop(storage_identity(whole), None)


@dataclass(frozen=True)
class _View:
    """Stands for a view of a whole parameter that a backward pass needs.

    Attributes:
        shared: the parameter.
        layout: sizes, strides and offset of the view.
    """

    shared: Shared
    layout: tuple[torch.Size, tuple[int, ...], int]


def _forget(tensor: torch.Tensor) -> torch.Tensor | _View:
    shared = _WHOLE.by_storage.get(storage_identity(tensor))
    if shared is None:
        return tensor
    return _View(shared, (tensor.size(), tensor.stride(), tensor.storage_offset()))


def _remember(saved: torch.Tensor | _View) -> torch.Tensor:
    if isinstance(saved, torch.Tensor):
        return saved
    with torch.no_grad():
        return saved.shared.gathered().as_strided(*saved.layout)
