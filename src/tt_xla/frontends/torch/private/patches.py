"""Functions of PyTorch that the device replaces, because PyTorch offers no dispatcher or hook at these places.

Each replacement acts for the device ``tt`` alone and passes every other call on; its docstring says why it is needed.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.attention import flex_attention

from tt_xla.environment import launched_process
from tt_xla.frontends.torch.private import rng_regions
from tt_xla.frontends.torch.private.functions import decomposition_table
from tt_xla.frontends.torch.private.names import names_of

with names_of("patches"):
    from torch._C import DispatchKey
    from torch._tensor_str import _tensor_str
    from torch.nn.attention.flex_attention import _validate_device

    DeviceMesh._get_mesh_tensor_from_full_mesh  # noqa: B018  # overridden below

_STYLE = "torch.distributed.tensor.parallel.style.PrepareModule{}"

_DTENSOR = "torch.distributed.tensor._api.DTensor"

REPLACED = (
    (torch._tensor_str, "_tensor_str"),
    (flex_attention, "_validate_device"),
    (DeviceMesh, "__init__"),
    (_STYLE.format("Input"), "_apply"),
    (_STYLE.format("Output"), "_apply"),
    (_DTENSOR, "from_local"),
    (_DTENSOR.rpartition(".")[0], "_dtensor_init_helper"),
)
"""Owner and name of each attribute that :func:`apply` replaces, or the first mesh of chips: a class by its name."""


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
    _patch_printing(device_type)
    _patch_flex_attention(device_type)
    _patch_multilabel_margin_loss(device_type)
    _patch_device_mesh(device_type)


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
    """Corrects PyTorch's decomposition for ``tt``: the loss of a single row has a dimension too many.

    Before PyTorch 2.14 a loss has the margins of labels after the first -1 as well.

    Tensors on ``tt``, and compilations for ``tt``, use :func:`_multilabel_margin_loss`; other backends keep PyTorch's
    decomposition.
    """
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


class MeshOfChips(DeviceMesh):
    """A mesh whose chips are all in this process, which is in no process group.

    Slices of the mesh have the chips of the first row. The process has the rank and the coordinates of the first chip,
    so it is the one that prints and saves.
    """

    @staticmethod
    def _get_mesh_tensor_from_full_mesh(full_mesh: torch.Tensor, current_rank: int | None = None) -> torch.Tensor:
        return full_mesh[0]

    def take_first_rank(self) -> None:
        """Gives this process the rank and the coordinates of the first chip."""
        self._rank = int(self.mesh.flatten()[0])
        self._coordinate_on_dim = self._compute_coordinate_on_dim()

    def get_rank(self) -> int:
        """Returns the number of the first chip."""
        return self._rank

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Returns the place of the first chip along an axis, given by its number or name."""
        if mesh_dim is None and self.ndim > 1:
            return super().get_local_rank(mesh_dim)  # raises PyTorch's error
        axis = self._get_mesh_dim_by_name(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0
        coordinate = self.get_coordinate()
        assert coordinate is not None
        return coordinate[axis]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Raises an error that says what to do without process groups."""
        raise RuntimeError(
            f"DeviceMesh.get_group({mesh_dim!r}): {self} is a mesh of chips, which are all in this one process, so it "
            "has no process groups. Split tensors with distribute_tensor or xs.mark_sharding, and the compiler places "
            "the collectives; xm.all_reduce(..., groups=[[0, 1], ...]) takes the numbers of chips."
        )


def _patch_device_mesh(device_type: str) -> None:
    """Makes a ``DeviceMesh`` of type ``tt`` or ``xla`` a :class:`MeshOfChips` in a process without a process group.

    For type ``tt``, PyTorch would start a group with a process for each chip. A mesh of type ``xla`` has none, and for
    its tensors PyTorch calls ``torch_xla``'s functions. Slices of such a mesh read the names of its groups, which
    PyTorch leaves unset. With a process group, a mesh of type ``tt`` is one of ranks.
    """
    initialise, own = DeviceMesh.__init__, device_type

    @functools.wraps(initialise)
    def patched(self: DeviceMesh, device_type: str, *args: Any, **kwargs: Any) -> None:
        launched = launched_process()
        is_ranks = device_type == own and launched is not None and launched.size > 1  # PyTorch starts their group
        if device_type in (own, "xla") and not is_ranks and not torch.distributed.is_initialized():
            device_type, self.__class__ = "xla", MeshOfChips
        elif device_type == own:
            rng_regions.install(own)
        initialise(self, device_type, *args, **kwargs)
        if device_type == "xla":
            self._dim_group_names = []
            _patch_parallel_styles()
            _patch_makers_of_tensors()
        if isinstance(self, MeshOfChips):
            self.take_first_rank()

    DeviceMesh.__init__ = patched


@functools.cache
def _patch_makers_of_tensors() -> None:
    """Makes functions that take or make the part of one process give whole tensors that chips share.

    These are ``DTensor.from_local`` and ``torch.distributed.tensor.zeros`` and its kind; for a mesh of type ``xla``,
    PyTorch's would make tensors of one chip's part, on which no op is right.
    """
    from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

    with names_of("patches"):
        from torch.distributed.tensor._api import _dtensor_init_helper as make_part
    from_part = DTensor.from_local

    @functools.wraps(from_part)
    def from_local(
        local_tensor: torch.Tensor, device_mesh: Any = None, placements: Any = None, **options: Any
    ) -> torch.Tensor:
        if not isinstance(device_mesh, MeshOfChips) or local_tensor.device.type == "meta":
            return from_part(local_tensor, device_mesh, placements, **options)
        if any(not placement.is_replicate() for placement in placements or ()):
            raise ValueError(
                f"DTensor.from_local got placements {tuple(placements)} on {device_mesh}, whose chips are all in this "
                "one process: a part of one chip does not tell those of the others. Give the whole tensor to "
                "distribute_tensor, or start a process for each chip with torchrun."
            )
        return distribute_tensor(local_tensor, device_mesh, placements)

    @functools.wraps(make_part)
    def made(
        make: Callable[..., torch.Tensor], size: Any, device_mesh: Any = None, placements: Any = None, **options: Any
    ):
        if not isinstance(device_mesh, MeshOfChips):
            return make_part(make, size, device_mesh, placements, **options)
        requires_grad = options.pop("requires_grad", False)
        values = (options.pop("fill_value", 0),) if make is torch.full else ()
        whole = make(size, *values, **(options | {"device": "tt"})).requires_grad_(requires_grad)
        return distribute_tensor(whole, device_mesh, placements or [Replicate()] * device_mesh.ndim)

    DTensor.from_local = staticmethod(from_local)
    setattr(sys.modules[make_part.__module__], make_part.__name__, made)


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
