"""Decides which tensors own their memory, so that no two callers ever share a buffer that one of them may write to."""

from __future__ import annotations

import functools
import sys
from collections.abc import Container, Iterable, Sequence

import torch

from tt_xla.runtime.transfer import Declared, widen

_TENSOR_AND_STORAGE = 2
"""Number of owners that the memory of a single tensor has while this module looks at its storage."""


def _no_owner(storage: int) -> int:
    return 0


_use_count = getattr(torch._C, "_storage_Use_Count", _no_owner)  # pyright: ignore[reportPrivateUsage]
"""Returns the number of owners of a storage; none, so that it is copied, where PyTorch does not say."""


def storage(tensor: torch.Tensor) -> int:
    """Returns the address of the memory behind a tensor; all views of one memory return the same address."""
    return tensor.untyped_storage().data_ptr()


def owns_memory(tensor: torch.Tensor) -> bool:
    """Returns whether the tensor is the only one over its memory and covers all of it.

    Further references to the same tensor object do not count as owners.
    """
    return _owners(tensor) == _TENSOR_AND_STORAGE


def without_base(tensor: torch.Tensor) -> torch.Tensor | None:
    """Detaches a view from its base when the view holds the last reference to it; otherwise returns None."""
    if _base_references(tensor) != _least_references() or _owners(tensor) != _TENSOR_AND_STORAGE + 1:
        return None
    return as_base(tensor)


def as_base(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor over the same memory that is not a view of another tensor; a tensor without base is returned as
    it is."""
    if tensor._base is None:
        return tensor
    detached = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return detached.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def copy_unless_donated(
    arguments: list[torch.Tensor], tensors: Sequence[torch.Tensor], written: Iterable[int], donated: Container[int]
) -> list[torch.Tensor]:
    """Replaces each argument that the program writes to by a copy, unless its caller donated the memory.

    Args:
        arguments: on-device tensors by position; changed in place.
        tensors: the caller's tensors that ``arguments`` were converted from.
        written: positions of the arguments that the program writes to.
        donated: positions of the arguments whose memory the program may overwrite.

    Returns:
        The written arguments, in the order of ``written``. A result may share memory with one of them.
    """
    ids = [*map(id, tensors)]
    are_distinct = len({*ids}) == len(ids)
    writable: list[torch.Tensor] = []
    for position in written:
        argument, tensor = arguments[position], tensors[position]
        is_alone = are_distinct or ids.count(id(tensor)) == 1
        may_overwrite = position in donated and is_alone and tensor.is_contiguous()
        if not may_overwrite and storage(argument) == storage(tensor):
            arguments[position] = argument.clone(memory_format=torch.contiguous_format)
        writable.append(arguments[position])
    return writable


def owned_results(
    results: Sequence[torch.Tensor],
    declared: Iterable[Declared],
    arguments: Iterable[torch.Tensor],
    kept: Container[int],
    writable: Sequence[torch.Tensor],
    fresh: Container[int] = (),
) -> list[torch.Tensor]:
    """Widens results to their declared types and copies those whose memory belongs to somebody else.

    Args:
        results: on-device tensors that the program returned.
        declared: dtype and shape of each result.
        arguments: on-device tensors of the arguments, which the executable or its caller keeps.
        kept: ``id`` of each other tensor that the executable keeps.
        writable: written arguments; each may be returned once without a copy.
        fresh: positions of results that have their declared types and lie in memory that nobody else has.
    """
    owned: list[torch.Tensor] = []
    returned: set[int] = set()
    free_ids = {*map(id, writable)}
    borrowed_ids: set[int] | None = None
    for index, (result, kind) in enumerate(zip(results, declared, strict=True)):
        if index in fresh:
            owned.append(result)
            continue
        tensor = widen(result, kind)
        owned.append(tensor)
        if id(tensor) in free_ids:
            free_ids.discard(id(tensor))
            continue
        if tensor.dtype is not result.dtype:
            continue  # a conversion has memory of its own
        if borrowed_ids is None:
            borrowed_ids = {*map(id, arguments)}
        if id(tensor) in borrowed_ids or id(tensor) in returned or id(tensor) in kept:
            owned[index] = tensor = tensor.clone()
        elif not owns_memory(tensor):
            detached = without_base(tensor)
            owned[index] = tensor = tensor.clone() if detached is None else detached
        returned.add(id(tensor))
    return owned


def _base_references(view: torch.Tensor) -> int:
    """Returns the reference count of the Python object of a view's base, or 0 when there is no base."""
    return 0 if view._base is None else sys.getrefcount(view._base)


@functools.cache
def _least_references() -> int:
    """Returns the count of :func:`_base_references` for a base without other owners; it depends on torch."""
    with torch.no_grad():
        return _base_references(torch.empty(2, device="cpu", dtype=torch.float32).view(2, 1))


def _owners(tensor: torch.Tensor) -> int:
    """Returns the number of owners of a tensor's memory, or 0 when the tensor covers only a part of it."""
    memory = tensor.untyped_storage()
    return _use_count(memory._cdata) if memory.nbytes() == tensor.nbytes else 0  # pyright: ignore[reportPrivateUsage]
