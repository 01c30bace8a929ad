"""Functions of PyTorch that the device replaces, because PyTorch offers no dispatcher or hook at these places.

Each replacement acts for the device ``tt`` alone and passes every other call on; its docstring says why it is needed.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.attention import flex_attention

from tt_xla.frontends.torch.private.functions import decomposition_table, make_subclass
from tt_xla.frontends.torch.private.names import names_of
from tt_xla.locks import Lock

with names_of("patches"):
    from torch._C import DispatchKey
    from torch._tensor_str import _tensor_str
    from torch.nn.attention.flex_attention import _validate_device

    _chips_of_row = DeviceMesh._get_mesh_tensor_from_full_mesh

REPLACED = (
    (torch.Tensor, "data"),
    (torch.nn.Module, "to"),
    (torch.nn.Module, "cpu"),
    (torch._tensor_str, "_tensor_str"),
    (flex_attention, "_validate_device"),
    (DeviceMesh, "__init__"),
    (DeviceMesh, "get_rank"),
    (DeviceMesh, "get_local_rank"),
    (DeviceMesh, "get_group"),
    (DeviceMesh, "_get_mesh_tensor_from_full_mesh"),
)
"""Owner and name of each attribute that :func:`apply` replaces."""


class _Compilation(threading.local):
    depth = 0


_COMPILATION = _Compilation()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Marks a block in which this thread compiles for ``tt``, where tensors may also be on the CPU."""
    _COMPILATION.depth += 1
    try:
        yield
    finally:
        _COMPILATION.depth -= 1


def apply(device_type: str) -> None:
    """Applies all replacements.

    Args:
        device_type: name of the device, ``tt``.
    """
    _patch_module_moves(device_type)
    _patch_data(device_type)
    _patch_printing(device_type)
    _patch_flex_attention(device_type)
    _patch_multilabel_margin_loss(device_type)
    _patch_device_mesh(device_type)


def _patch_module_moves(device_type: str) -> None:
    """Makes ``Module.to("tt")`` and moves back keep each Parameter object.

    When a module moves to another kind of device, PyTorch makes new Parameters unless a process-wide flag is set. New
    Parameters untie tied weights, which silently gives wrong gradients, and an optimizer made before keeps the old
    ones. The flag makes PyTorch swap the contents of two tensors, which fails while an autograd graph or a weak
    reference holds the old contents, as in a script that ran its model on the CPU first. The flag is therefore set
    during moves to and from ``tt`` alone; where swapping fails, the module gets new Parameters, tied as before.
    """

    def keeps_parameters(method: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
        is_move_to_device = device_type in method.__name__

        @functools.wraps(method)
        def moved(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
            leaves = any(parameter.device.type == device_type for parameter in self.parameters())
            if not leaves and not is_move_to_device and not _names_device(device_type, args, kwargs):
                return method(self, *args, **kwargs)
            return _move(self, functools.partial(method, self, *args, **kwargs))

        return moved

    for name in ("to", "cpu", device_type):
        setattr(torch.nn.Module, name, keeps_parameters(getattr(torch.nn.Module, name)))


def _patch_data(device_type: str) -> None:
    """Makes ``parameter.data = tensor`` move a tensor to the device and away from it.

    PyTorch puts other contents into the same C++ object, and knows a list of devices between which it may. Here the
    Python object gets another C++ object, as in ``torch.utils.swap_tensors``, and keeps its attributes.
    """
    data = torch.Tensor.data

    def set_data(self: torch.Tensor, value: torch.Tensor) -> None:
        ends = {self.device.type, value.device.type} if isinstance(value, torch.Tensor) else set[str]()
        if device_type in ends and len(ends) > 1:
            _replace_contents(self, value)
        else:
            data.__set__(self, value)

    torch.Tensor.data = property(data.__get__, set_data, doc=data.__doc__)  # type: ignore[assignment]


def _replace_contents(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Gives a leaf the contents of a tensor on another device; its gradient moves along."""
    has_hooks = tensor._backward_hooks or tensor._post_accumulate_grad_hooks
    grad = tensor.grad.to(value.device) if tensor.is_leaf and tensor.grad is not None else None
    new = make_subclass(type(tensor), value.detach(), tensor.requires_grad)
    vars(new).update(vars(tensor))
    try:
        if has_hooks or not tensor.is_leaf:
            raise RuntimeError("Only leaves without hooks can.")
        torch.utils.swap_tensors(tensor, new)
    except RuntimeError as error:
        raise RuntimeError(
            f"Setting .data cannot move this tensor from {tensor.device} to {value.device}, because an autograd graph, "
            "a hook or a weak reference holds it. Move the module with module.to(device) before the forward pass, "
            "or set a new torch.nn.Parameter."
        ) from error
    tensor.grad = grad


def _names_device(device_type: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Returns whether the arguments of ``Module.to`` name the device."""
    target = kwargs.get("device", args[0] if args else None)
    device = target.device if isinstance(target, torch.Tensor) else target
    return device is not None and str(device).partition(":")[0] in (device_type, "xla")


def _move(module: torch.nn.Module, move: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """Calls ``move`` so that Parameters keep their identity, or at least stay tied."""
    owners: dict[torch.nn.Parameter, list[tuple[torch.nn.Module, str]]] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                owners.setdefault(parameter, []).append((owner, name))
    tied = [names for names in owners.values() if len(names) > 1]
    owners.clear()  # a swap fails while anything but the module holds the Parameters
    with _MOVES, _swapping():
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


_MOVES = Lock()
"""Held while a module moves: PyTorch's flag is one for all threads, and the replicas of a process each move modules."""


@contextlib.contextmanager
def _swapping() -> Iterator[None]:
    """Sets PyTorch's flag by which Parameters keep their identity."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


def _patch_printing(device_type: str) -> None:
    """Copies a tensor to the host before it is formatted, as PyTorch does for the lazy devices that it knows."""

    def on_host(self: torch.Tensor, indent: int) -> str:
        return _tensor_str(self.cpu() if self.device.type == device_type else self, indent)

    torch._tensor_str._tensor_str = on_host


def _patch_flex_attention(device_type: str) -> None:
    """Makes ``flex_attention`` accept the device: its code fits all devices, but it refuses names it does not know."""

    def validated(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
        if query.device.type != device_type:
            _validate_device(query, key, value)

    flex_attention._validate_device = validated


def _patch_multilabel_margin_loss(device_type: str) -> None:
    """Corrects PyTorch's decomposition, before 2.15, for ``tt``: it adds the margins of labels after the first -1.

    Tensors on ``tt``, and compilations for ``tt``, use :func:`_multilabel_margin_loss`; other backends keep PyTorch's
    decomposition.
    """
    if torch.__version__ >= (2, 15):
        return
    op = torch.ops.aten.multilabel_margin_loss_forward.default
    original = decomposition_table[op]

    @functools.wraps(original)
    def decomposed(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, Any]:
        is_ours = _COMPILATION.depth > 0 or input.device.type == device_type
        return (_multilabel_margin_loss if is_ours else original)(input, target, reduction)

    decomposition_table[op] = decomposed
    op.py_kernels[DispatchKey.Autograd] = decomposed
    op._dispatch_cache.clear()


def _multilabel_margin_loss(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, Any]:
    """Computes ``multilabel_margin_loss_forward``.

    Args:
        input: scores [N, C] or [C].
        target: labels of the same shape; those of a row end before the first -1.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Returns:
        The loss, and a mask of the classes that are targets.
    """
    scores, labels = torch.atleast_2d(input), torch.atleast_2d(target)
    class_count = scores.shape[1]
    classes = torch.arange(class_count, device=target.device)
    end = torch.where(labels == -1, classes, class_count).amin(-1, keepdim=True)
    is_label = classes < end
    label_scores = scores.gather(-1, torch.where(is_label, labels, 0))
    is_target = (classes == torch.where(is_label, labels, -1).unsqueeze(-1)).any(1)
    margins = (1 - label_scores.unsqueeze(-1) + scores.unsqueeze(1)).clamp_min(0) / class_count
    counts = is_label.unsqueeze(-1) & ~is_target.unsqueeze(1)
    loss = torch.where(counts, margins, 0).sum((1, 2))
    loss = {0: lambda: loss.reshape(input.shape[:-1]), 1: loss.mean, 2: loss.sum}[reduction]()
    return loss, is_target.to(input.dtype).reshape(target.shape)


def _patch_device_mesh(device_type: str) -> None:
    """Makes a ``DeviceMesh`` of type ``tt`` one of type ``xla`` in a process without a process group.

    PyTorch would start a group with a process for each chip. A mesh of type ``xla`` has none, and for its tensors
    PyTorch calls ``torch_xla``'s functions. Slices of such a mesh read the names of its groups, which PyTorch leaves
    unset, and the number of this process; without a group, a slice has the chips of the first row. The process has
    the rank and the coordinates of the first chip of its mesh, so it is the one that prints and saves.
    """
    initialise, own = DeviceMesh.__init__, device_type

    @functools.wraps(initialise)
    def patched(self: DeviceMesh, device_type: str, *args: Any, **kwargs: Any) -> None:
        if device_type == own and not torch.distributed.is_initialized():
            device_type = "xla"
        initialise(self, device_type, *args, **kwargs)
        if device_type == "xla":
            self._dim_group_names = []
            _patch_parallel_styles()
            if not torch.distributed.is_initialized():
                self._rank = int(self.mesh.flatten()[0])
                self._coordinate_on_dim = self._compute_coordinate_on_dim()

    get_rank, get_local_rank = DeviceMesh.get_rank, DeviceMesh.get_local_rank

    @functools.wraps(get_rank)
    def patched_rank(self: DeviceMesh) -> int:
        return self._rank if _is_of_chips(self) else get_rank(self)

    @functools.wraps(get_local_rank)
    def patched_local_rank(self: DeviceMesh, mesh_dim: int | str | None = None) -> int:
        if not _is_of_chips(self) or (mesh_dim is None and self.ndim > 1):
            return get_local_rank(self, mesh_dim)
        axis = self._get_mesh_dim_by_name(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0
        coordinate = self.get_coordinate()
        assert coordinate is not None
        return coordinate[axis]

    get_group = DeviceMesh.get_group

    @functools.wraps(get_group)
    def patched_group(self: DeviceMesh, mesh_dim: int | str | None = None) -> Any:
        if _is_of_chips(self):
            raise RuntimeError(
                f"DeviceMesh.get_group({mesh_dim!r}): {self} is a mesh of chips, which are all in this one process, so "
                "it has no process groups. Split tensors with distribute_tensor or xs.mark_sharding, and the compiler "
                "places the collectives; xm.all_reduce(..., groups=[[0, 1], ...]) takes the numbers of chips."
            )
        return get_group(self, mesh_dim)

    @functools.wraps(_chips_of_row)
    def patched_row(full_mesh: torch.Tensor, current_rank: int | None = None) -> torch.Tensor:
        if current_rank is None and not torch.distributed.is_initialized():
            current_rank = int(full_mesh.flatten()[0])
        return _chips_of_row(full_mesh, current_rank)

    DeviceMesh.__init__ = patched
    DeviceMesh.get_rank = patched_rank
    DeviceMesh.get_local_rank = patched_local_rank
    DeviceMesh.get_group = patched_group
    DeviceMesh._get_mesh_tensor_from_full_mesh = staticmethod(patched_row)


def _is_of_chips(mesh: DeviceMesh) -> bool:
    """Returns whether a mesh has all its chips in this process, which is in no process group."""
    return mesh.device_type == "xla" and not torch.distributed.is_initialized()


@functools.cache
def _patch_parallel_styles() -> None:
    """Makes ``PrepareModuleInput`` and ``PrepareModuleOutput`` leave modules on meshes of type ``xla`` as they are.

    The styles say which part of an input or output a process has, and exchange the parts. Here tensors are whole, and
    propagation decides how chips share them. PyTorch's other styles call ``torch_xla``'s functions; these two do not.
    The module is imported with the first mesh, because few processes need it.
    """
    from torch.distributed.tensor.parallel import style

    def leaving_chips(apply: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
        @functools.wraps(apply)
        def patched(self: Any, module: torch.nn.Module, device_mesh: DeviceMesh) -> torch.nn.Module:
            return module if device_mesh.device_type == "xla" else apply(self, module, device_mesh)

        return patched

    for kind in (style.PrepareModuleInput, style.PrepareModuleOutput):
        kind._apply = leaving_chips(kind._apply)
