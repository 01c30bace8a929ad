"""Plain data of recorded ops: :class:`Kind` describes an op, :class:`Node` is a use of it, :class:`Value` a result.

The modules that compute with these import each other in one direction: values <- buffers <- kinds <- recording <-
programs.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.frontends.torch.device.geometry import Shape
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.runtime.lifetimes import new_version

if TYPE_CHECKING:
    from tt_xla.frontends.torch.device.placements import Placement
    from tt_xla.frontends.torch.device.tensor_factory import TensorFactory
    from tt_xla.frontends.torch.private.fake import FakeTensor
    from tt_xla.runtime.mesh.handles import MeshHandle
    from tt_xla.runtime.ttnn.handles import Handle

    Kept = Handle | MeshHandle
    """The handle of a tensor in the memory of a card, or of one whose shards several chips have."""

_KIND_SERIALS = itertools.count()
_NODE_SERIALS = itertools.count()


class Operand(int):
    """Placeholder in a template: the index of a tensor operand."""


class Number(int):
    """Placeholder in a template: the index of a scalar that may differ between uses of a kind."""


class ParameterVersions(set[Any]):
    """The content versions that the session's parameters had when a module moved to the device."""


@dataclass(frozen=True)
class Output:
    """Layout of one result.

    Attributes:
        shape: sizes of the result as the user sees it.
        stride: strides, in elements.
        dtype: element type.
        order: permutation from the contiguous storage to ``shape``; None where the result itself is contiguous.
        factory: makes tensors of this layout.
    """

    shape: Shape
    stride: Shape
    dtype: torch.dtype
    order: Shape | None
    factory: TensorFactory


@dataclass(eq=False)
class Kind:
    """An op together with the shapes and dtypes of its arguments.

    Attributes:
        op: the op.
        template: positional and keyword arguments, with :class:`Operand` in place of tensors and :class:`Number` in
            place of numbers that may vary.
        operands: fake tensors for the operands.
        outputs: layouts of the results.
        structure: 0 for a single result; otherwise a list or tuple of result indices and None.
        graph: FX graph to compile; None where the op runs on the host, and until a program needs the graph of an op on
            few integers that has lowered with other sizes.
        reason: why the op runs on the host; empty for other ops.
        variants: graphs with some scalars as 0-dim inputs, keyed by the indices of those scalars.
        serial: unique number of the kind.
    """

    op: OpOverload
    template: tuple[list[Any], dict[str, Any]]
    operands: list[FakeTensor]
    outputs: list[Output] = field(default_factory=list)
    structure: Any = None
    graph: torch.fx.Graph | None = None
    reason: str = ""
    variants: dict[frozenset[int], torch.fx.Graph] = field(default_factory=dict)
    serial: int = field(default_factory=lambda: next(_KIND_SERIALS))


class Node:
    """One recorded op.

    Attributes:
        kind: the op and the shapes of its arguments.
        inputs: tensor operands.
        scalars: numbers that may vary, in the order of the kind's :class:`Number` indices.
        where: code object and line of the user's frame, or None when there is none.
        serial: position in the order of recording.
    """

    __slots__ = ("inputs", "kind", "scalars", "serial", "where")

    def __init__(
        self, kind: Kind, inputs: tuple[Value, ...], scalars: tuple[float, ...], where: tuple[CodeType, int] | None
    ) -> None:
        self.kind = kind
        self.inputs = inputs
        self.scalars = scalars
        self.where = where
        self.serial = next(_NODE_SERIALS)

    @property
    def location(self) -> str:
        """``file:line`` of the user's code that recorded the op, or an empty string."""
        return f"{self.where[0].co_filename}:{self.where[1]}" if self.where else ""


class Value:
    """Immutable contents: bytes, or result ``index`` of a recorded node that has not run, or neither in a placeholder.

    Attributes:
        host: the elements as a contiguous CPU tensor of this shape and dtype; None until the node has run, and while
            they are in the memory of a card alone.
        kept: the elements as a program left them in the memory of a card; None if they are on the host alone.
        version: content version of the elements, by which the runtime recognises arguments.
        node: the node that computes the contents until it has run.
        index: which result of the node this is.
        owner: the buffer whose memory has the elements. Any other buffer copies them before it writes.
        placement: how a program for several chips split the contents that it computed; None otherwise.
        donated: whether a program that reads the bytes may release them.
        chip: number of the chip that has the contents; None for contents of the host that mix with those of any chip.
    """

    __slots__ = (
        "chip",
        "donated",
        "dtype",
        "host",
        "index",
        "kept",
        "node",
        "owner",
        "placement",
        "shape",
        "version",
    )

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        node: Node | None = None,
        index: int = 0,
        chip: int | None = None,
    ) -> None:
        self.chip = chip
        self.shape = shape
        self.dtype = dtype
        self.node = node
        self.index = index
        self.host: torch.Tensor | None = None
        self.kept: Kept | None = None
        self.version = 0
        self.owner: weakref.ref[Any] | None = None
        self.placement: Placement | None = None
        self.donated = False

    @staticmethod
    def of(data: torch.Tensor) -> Value:
        """Returns a value with the bytes of ``data``, which nobody may write to afterwards."""
        value = Value(tuple(data.shape), data.dtype)
        value.host = data
        value.version = new_version()
        return value

    @staticmethod
    def of_kept(handle: Kept) -> Value:
        """Returns a value whose elements are in the memory of a card."""
        value = Value(handle.shape, handle.dtype)
        value.set_kept(handle)
        return value

    @property
    def is_computed(self) -> bool:
        """Whether the host or a card has the elements."""
        return self.host is not None or self.kept is not None

    @property
    def data(self) -> torch.Tensor | None:
        """Contiguous CPU tensor of this shape and dtype; None until the node has run. A card's elements come here."""
        if self.host is None and self.kept is not None:
            self.host = self.kept.read().reshape(self.shape)
        return self.host

    def lasting_version(self, is_constant: bool) -> int | None:
        """Returns the version by which the runtime may remember the contents; None if nobody would report its end.

        Args:
            is_constant: whether the contents stay the same as long as programs read them.
        """
        owner = None if self.owner is None else self.owner()
        return self.version if is_constant or (owner is not None and owner.version == self.version) else None

    def passed(
        self, takes: Callable[[int, object], bool] | None, position: int, *, checks: bool
    ) -> Kept | torch.Tensor | None:
        """Returns what a program reads for an argument: what a card has, or bytes.

        Args:
            takes: returns whether the program takes what a card has, by position of the argument.
            position: position of the argument.
            checks: whether the host checks integers of the arguments before the run.
        """
        is_read_here = checks and not self.dtype.is_floating_point
        if self.kept is None or takes is None or is_read_here or not takes(position, self.kept):
            return self.data
        return self.kept

    def set_computed(self, data: torch.Tensor) -> None:
        """Stores the bytes that the node computed."""
        self.host = data
        self.version = new_version()
        self.node = None

    def set_kept(self, handle: Kept) -> None:
        """Stores where a card has the elements that the node computed."""
        self.kept = handle
        self.version = new_version()
        self.node = None
