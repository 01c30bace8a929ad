"""The results of rules: one op of the TTNN dialect with its operands, attributes and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from tt_xla.ttnn_api.conditions import place_of
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import Type
from tt_xla.ttnn_api.shapes import Sizes
from tt_xla.ttnn_api.topology import TensorTopology

NO_DIMENSION = "Index is out of bounds for the rank, should be between 0 and {high} however is {dim}"
"""TT-NN's words about a dimension that a tensor lacks, where a function has none of its own."""


class Operand:
    """A tensor argument of a call, by its type alone: calls with arguments of the same types are executed alike."""

    __slots__ = ("device", "index", "type")

    def __init__(self, index: int, type_: Type, device: MeshDevice | None = None) -> None:
        self.index, self.type, self.device = index, type_, device

    @property
    def shape(self) -> Sizes:
        return self.type.shape

    @property
    def rank(self) -> int:
        return len(self.type.shape)

    @property
    def dtype(self) -> DataType:
        return self.type.dtype

    @property
    def layout(self) -> Layout:
        return self.type.layout

    @property
    def memory(self) -> MemoryConfig:
        return self.type.memory

    def dim(self, dim: int, words: str = NO_DIMENSION) -> int:
        """Returns a dimension counted from the front, as :func:`tt_xla.ttnn_api.conditions.place_of` does.

        Raises:
            TTFatal: the tensor has no such dimension.
        """
        return place_of(dim, self.rank, words, self.shape)


class Scalar(NamedTuple):
    """A number, or several, in the place of a tensor operand."""

    value: float | Sequence[int]
    type: Type


Value = Operand | Scalar | Sequence[Operand] | None


@dataclass
class Step:
    """An op of the TTNN dialect."""

    op: str
    """Its full name, ``ttnn.add``."""
    operands: Mapping[str, Value]
    """Operands by name; None for one that is absent."""
    results: Sequence[Type]
    """Types of the results."""
    attributes: Mapping[str, Any] = field(default_factory=lambda: {})
    """Attributes by name, as an instruction of a Program has them."""
    device: MeshDevice | None = None
    """Device of the results of an op without operands."""
    into: Operand | Sequence[Operand | None] | None = None
    """Tensor that receives the result; of an op with several results, the tensor of each, or None for a new one."""
    writes: Operand | None = None
    """Operand whose elements the op changes; the call returns it."""
    frees: Operand | None = None
    """Operand whose memory the call frees."""
    moves: bool = False
    """Whether it frees that memory before it takes memory for its results."""
    table_banks: int = 0
    """Cores in whose L1_SMALL the op keeps tables of its windows; 0 for an op without such tables."""
    topology: Callable[[TensorTopology | None], TensorTopology | None] | None = None
    """Returns the topology of the results from the operands'; None for an op on each chip, which keeps it."""
    returns: Callable[[list[Any]], Any] | None = None
    """Makes what the call returns from the list of results; by default the only result, or the list."""


@dataclass
class Calls:
    """A call that is made of others."""

    run: Callable[[Sequence[Any]], Any]
    """Takes the tensor arguments and returns what the call returns."""
    is_program: ClassVar[bool] = False
    """Whether it runs a program itself: its calls do."""
