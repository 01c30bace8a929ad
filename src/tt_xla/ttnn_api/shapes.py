"""Shapes of tensors and meshes: TT-NN's classes, which are no tuples, and the tuples that rules compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tt_xla.ir.layout import TILE as _TILE
from tt_xla.ttnn_api.enums import Layout
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal

__all__ = ["MeshCoordinate", "MeshShape", "Shape"]

SHOWN_DIMS = 4
"""Dimensions that TT-NN's class of shapes always has."""


class Sizes(tuple[int, ...]):
    """The sizes of a tensor in a rule; they print as TT-NN's shape."""

    __slots__ = ()

    def to_rank(self, rank: int) -> Sizes:
        """Returns the sizes with dimensions of size 1 added or removed in front."""
        return Sizes((1,) * (rank - len(self)) + tuple(self)[max(0, len(self) - rank) :])

    def __repr__(self) -> str:
        return f"Shape({list(self)})"

    __str__ = __repr__


def out_of_range(index: int, rank: int, shape: object, advice: str = "choose one of its dimensions") -> TTFatal:
    """Returns the error for a dimension that a shape lacks."""
    return TTFatal(
        f"ShapeBase[] index out of range. {index} not in [-{SHOWN_DIMS}, {rank})",
        hint=f"The shape is {shape}; {advice}.",
    )


def _number(value: Any) -> int:
    """Returns a size.

    Raises:
        TypeError: it is no whole number, or below zero.
    """
    if not hasattr(value, "__index__") or value.__index__() < 0:
        raise IncompatibleArguments(
            f"__init__(): incompatible function arguments: sizes are whole numbers, got {value!r}"
        )
    return value.__index__()


class _Numbers:
    """Numbers in order that are neither a tuple nor a list: they have no slices, no sums and no order."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Any) -> None:
        if type(numbers) is Sizes:
            self._numbers = numbers
            return
        if not hasattr(numbers, "__getitem__") or isinstance(numbers, (str, dict)):
            raise IncompatibleArguments(
                f"__init__(): incompatible function arguments: a sequence is needed, got {numbers!r}"
            )
        self._numbers = Sizes(map(_number, numbers))

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __getitem__(self, index: int) -> int:
        if not hasattr(index, "__index__"):
            raise IncompatibleArguments(
                f"__getitem__(): incompatible function arguments: a whole number is needed, got {index!r}"
            )
        rank = len(self._numbers)
        if index < -max(rank, SHOWN_DIMS) or index >= rank:
            raise out_of_range(index, rank, self)
        return self._numbers[index] if index >= -rank else 1

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._numbers)})"


class Shape(_Numbers):
    """The shape of a tensor. It is equal to a list or a tuple of its sizes, but is none."""

    __slots__ = ()

    def __init__(self, shape: Sequence[int] | Shape) -> None:
        super().__init__(shape)

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self._numbers == other._numbers
        return isinstance(other, (list, tuple)) and self._numbers == tuple(other)

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'Shape' object. Use its sizes: tuple(shape).")

    @property
    def rank(self) -> int:
        return len(self._numbers)

    def to_rank(self, rank: int) -> Shape:
        """Returns the shape with dimensions of size 1 added or removed in front.

        Raises:
            TTFatal: a dimension that would be removed has another size.
        """
        if any(size != 1 for size in self._numbers[: max(0, self.rank - rank)]):
            raise TTFatal("Can't convert shape rank", hint=f"The shape is {self}, and the wanted rank {rank}.")
        return Shape(self._numbers.to_rank(rank))


class _Places(_Numbers):
    """Positions or sizes along the dimensions of a mesh."""

    __slots__ = ()

    def __init__(self, *numbers: Any) -> None:
        if len(numbers) not in (1, 2, 3) or (len(numbers) == 1 and isinstance(numbers[0], int)):
            raise IncompatibleArguments(
                f"__init__(): incompatible function arguments: {type(self).__name__} takes two or three numbers, or a "
                f"sequence of them, got {numbers}"
            )
        super().__init__(numbers[0] if len(numbers) == 1 else numbers)

    def dims(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            raise IncompatibleArguments(f"__eq__(): incompatible function arguments: {self} is compared with {other!r}")
        return self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)


class MeshShape(_Places):
    """Rows and columns of a mesh of chips."""

    __slots__ = ()

    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        if not self._numbers:
            raise TTFatal("MeshShape cannot have 0 dimension.", hint="Pass rows and columns.")

    def mesh_size(self) -> int:
        size = 1
        for each in self:
            size *= each
        return size


class MeshCoordinate(_Places):
    """Row and column of a chip in a mesh."""

    __slots__ = ()


def padded(shape: Sequence[int], layout: Layout) -> Sizes:
    """Returns the shape that a tensor has in memory: the last two dimensions of a tiled tensor fill tiles.

    A tiled tensor has at least two dimensions, and one of rows at least one.
    """
    least = 2 if layout is Layout.TILE else 1
    shape = (*(1,) * (least - len(shape)), *shape)
    if layout is not Layout.TILE:
        return Sizes(shape)
    return Sizes((*shape[:-2], *(-(-size // _TILE) * _TILE for size in shape[-2:])))
