"""Places of torch that have no dispatcher to hook into: storages, module moves, printing. Each patch says why.

Private torch APIs are in this folder and nowhere else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.nn.attention import flex_attention

from tt_xla.frontends.torch.device.buffers import DEVICE_TYPE, storage_of_host


def patch() -> None:
    """Applies all patches."""
    _patch_storage()
    _patch_module_moves()
    _patch_printing()
    _patch_flex_attention()
    _patch_multilabel_margin_loss()
    torch.serialization.register_package(15, _storage_tag, _restore_storage)


def _patch_multilabel_margin_loss() -> None:
    """Torch's own rule (2.13), which compilers take the op apart by, adds margins of labels after the first -1."""
    op = torch.ops.aten.multilabel_margin_loss_forward.default
    decomposition_table[op] = _multilabel_margin_loss
    op.py_kernels[torch._C.DispatchKey.Autograd] = _multilabel_margin_loss
    op._dispatch_cache.clear()


def _multilabel_margin_loss(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, Any]:
    """Of rows [N, C], or one of them, with labels of the same shape."""
    rows, labels = torch.atleast_2d(input), torch.atleast_2d(target)
    count = rows.shape[1]
    places = torch.arange(count, device=target.device)
    end = torch.where(labels == -1, places, count).amin(-1, keepdim=True)
    given = places < end
    chosen = rows.gather(-1, torch.where(given, labels, 0))
    is_target = (places == torch.where(given, labels, -1).unsqueeze(-1)).any(1)
    margins = (1 - chosen.unsqueeze(-1) + rows.unsqueeze(1)).clamp_min(0) / count
    counted = given.unsqueeze(-1) & ~is_target.unsqueeze(1)
    loss = torch.where(counted, margins, 0).sum((1, 2))
    loss = {0: lambda: loss.reshape(input.shape[:-1]), 1: loss.mean, 2: loss.sum}[reduction]()
    return loss, is_target.to(input.dtype).reshape(target.shape)


def _patch_storage() -> None:
    """``copy.deepcopy``, ``torch.save`` and ``pickle`` reach into storages, which have no dispatcher to hook into.

    One that is made for the device would ask for its allocator, and there is none: the process would end.
    """
    make = torch.UntypedStorage.__new__

    def storage_new(cls: type, *args: Any, **options: Any) -> torch.UntypedStorage:
        wanted = options.get("device")
        if wanted is None or torch.device(wanted).type != DEVICE_TYPE:
            return make(cls, *args, **options)
        return storage_of_host(torch.empty(0, dtype=torch.uint8, device="cpu").set_(make(cls, *args)))

    torch.UntypedStorage.__new__ = storage_new
    clone, cpu = torch.UntypedStorage.clone, torch.UntypedStorage.cpu

    def storage_clone(self: torch.UntypedStorage) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return clone(self)
        return storage_of_host(_bytes_of(self).clone())

    def storage_cpu(self: torch.UntypedStorage) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return cpu(self)
        return _bytes_of(self).clone().untyped_storage()

    write, read = torch.UntypedStorage._write_file, torch.UntypedStorage._set_from_file

    def storage_write(self: torch.UntypedStorage, *args: Any) -> None:
        write(self if self.device.type != DEVICE_TYPE else _bytes_of(self).untyped_storage(), *args)

    def storage_read(self: torch.UntypedStorage, *args: Any) -> torch.UntypedStorage:
        if self.device.type != DEVICE_TYPE:
            return read(self, *args)
        host = _bytes_of(self).clone()
        read(host.untyped_storage(), *args)
        self.tt_buffer.replace(host)
        return self

    torch.UntypedStorage.clone = storage_clone
    torch.UntypedStorage._write_file = storage_write
    torch.UntypedStorage._set_from_file = storage_read
    torch.UntypedStorage.cpu = storage_cpu


def _patch_module_moves() -> None:
    """``Module.to("tt")`` and back keep each Parameter object.

    Torch makes new Parameters when a module moves to a device of another kind, unless a process-wide flag is set. New
    ones untie tied weights, which silently gives wrong gradients, and leave an optimizer made before with the old ones.
    The flag's own way, to swap the contents of two tensors, refuses while an autograd graph or a weak reference holds
    the old contents, as in a script that ran its model on the CPU first. So it is set for moves to and from ``tt``
    alone, and where it refuses there are new Parameters, tied again as they were.
    """

    def keeps_parameters(method: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
        @functools.wraps(method)
        def moved(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
            leaves = any(parameter.device.type == DEVICE_TYPE for parameter in self.parameters())
            if not leaves and DEVICE_TYPE not in method.__name__ and not _names_device(args, kwargs):
                return method(self, *args, **kwargs)
            return _move(self, functools.partial(method, self, *args, **kwargs))

        return moved

    for name in ("to", "cpu", DEVICE_TYPE):
        setattr(torch.nn.Module, name, keeps_parameters(getattr(torch.nn.Module, name)))


def _names_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    given = kwargs.get("device", args[0] if args else None)
    kind = given.device if isinstance(given, torch.Tensor) else given
    return kind is not None and str(kind).partition(":")[0] == DEVICE_TYPE


def _move(module: torch.nn.Module, move: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    places: dict[torch.nn.Parameter, list[tuple[torch.nn.Module, str]]] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                places.setdefault(parameter, []).append((owner, name))
    tied = [where for where in places.values() if len(where) > 1]
    places.clear()  # it holds the parameters, and a swap wants them held by the module alone
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        return move()
    except RuntimeError as error:
        if "Couldn't swap" not in str(error):
            raise
        torch.__future__.set_swap_module_params_on_conversion(False)
        result = move()
        for (first, first_name), *others in tied:
            for owner, name in others:
                owner._parameters[name] = first._parameters[first_name]
        return result
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    host = storage.tt_buffer.host.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(host, 0, [storage.nbytes()], [1])


def _storage_tag(storage: torch.UntypedStorage) -> str | None:
    return DEVICE_TYPE if storage.device.type == DEVICE_TYPE else None


def _restore_storage(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    if location.partition(":")[0] != DEVICE_TYPE:
        return None
    host = torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage.cpu(), 0, [storage.nbytes()], [1])
    return storage_of_host(host)


def _patch_flex_attention() -> None:
    """``flex_attention`` is written for all devices, and begins by refusing those that it does not know by name."""
    validate = flex_attention._validate_device

    def validated(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        if query.device.type != DEVICE_TYPE:
            validate(query, key, value)

    flex_attention._validate_device = validated


def _patch_printing() -> None:
    """A tensor comes to the host before it is formatted, as torch does for the devices that it knows to be lazy."""
    tensor_str = torch._tensor_str._tensor_str

    def on_host(self: torch.Tensor, indent: int) -> str:
        return tensor_str(self.cpu() if self.device.type == DEVICE_TYPE else self, indent)

    torch._tensor_str._tensor_str = on_host
