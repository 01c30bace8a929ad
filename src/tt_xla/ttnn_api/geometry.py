"""TT-NN's values for cores, shapes, shards and memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

from tt_xla.ir.layout import FACE as _FACE
from tt_xla.ttnn_api.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_xla.ttnn_api.errors import IncompatibleArguments, TTFatal
from tt_xla.ttnn_api.json_forms import JsonForm
from tt_xla.ttnn_api.operation_enums import ShardDistributionStrategy
from tt_xla.ttnn_api.shapes import Shape

TILE_SIZE = 32


def _check_whole(name: str, numbers: Iterable[Any]) -> None:
    """Refuses numbers that an unsigned integer does not hold."""
    numbers = list(numbers)
    if any(not hasattr(each, "__index__") or each < 0 for each in numbers):
        raise IncompatibleArguments(
            f"__init__(): incompatible function arguments: {name} must be whole numbers, got {numbers}"
        )


@dataclass(frozen=True, init=False)
class CoreCoord(JsonForm):
    """Column ``x`` and row ``y`` of a core."""

    x: int
    y: int

    def __init__(self, x: int | Sequence[int], y: int | None = None) -> None:
        column, row = (x, y) if isinstance(x, int) else x
        _check_whole("x and y", (column, row))
        object.__setattr__(self, "x", column)
        object.__setattr__(self, "y", row)

    def as_plain(self) -> Any:
        return {"x": self.x, "y": self.y}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        return cls(int(plain["x"]), int(plain["y"]))

    def __repr__(self) -> str:
        return f"{self.x}-{self.y}"


@dataclass(frozen=True)
class CoreGrid:
    """Columns ``x`` and rows ``y`` of a grid of cores."""

    x: int
    y: int

    @property
    def num_cores(self) -> int:
        return self.x * self.y

    def __repr__(self) -> str:
        return f"ttnn.CoreGrid(x={self.x}, y={self.y})"


@dataclass(frozen=True)
class CoreRange(JsonForm):
    """A rectangle of cores from ``start`` to ``end``, both of which belong to it."""

    start: CoreCoord
    end: CoreCoord

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            corner: Any = getattr(self, name)
            if not isinstance(corner, CoreCoord):
                object.__setattr__(self, name, CoreCoord(*corner))
        if self.start.x > self.end.x or self.start.y > self.end.y:
            raise TTFatal(
                f"Invalid core range for start_coord: {self.start}, end_coord: {self.end}",
                hint="A range starts at its least column and row.",
            )

    def grid_size(self) -> CoreCoord:
        return CoreCoord(self.end.x - self.start.x + 1, self.end.y - self.start.y + 1)

    def contains(self, other: CoreCoord | CoreRange) -> bool:
        """Returns whether a core, or all cores of a range, belong to the range."""
        corners = (other, other) if isinstance(other, CoreCoord) else (other.start, other.end)
        return all(self.start.x <= each.x <= self.end.x and self.start.y <= each.y <= self.end.y for each in corners)

    def intersects(self, other: CoreRange) -> bool:
        """Returns whether a core belongs to both ranges."""
        rows = max(self.start.y, other.start.y) <= min(self.end.y, other.end.y)
        return rows and max(self.start.x, other.start.x) <= min(self.end.x, other.end.x)

    def cores(self) -> list[CoreCoord]:
        """Returns the cores row by row."""
        columns = range(self.start.x, self.end.x + 1)
        return [CoreCoord(x, y) for y in range(self.start.y, self.end.y + 1) for x in columns]

    def as_plain(self) -> Any:
        return {"start": self.start.as_plain(), "end": self.end.as_plain()}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        return cls(*(CoreCoord.of_plain(plain[corner]) for corner in ("start", "end")))

    def __repr__(self) -> str:
        return f"[{self.start} - {self.end}]"

    def json(self) -> str:
        """Returns the form in which specs of shards print a range."""
        places = (f'"{name}":{{"x":{at.x},"y":{at.y}}}' for name, at in (("start", self.start), ("end", self.end)))
        return f"{{{','.join(places)}}}"


@dataclass(frozen=True, init=False)
class CoreRangeSet(JsonForm):
    """Rectangles of cores, in order."""

    _ranges: tuple[CoreRange, ...]

    def __init__(self, core_ranges: Iterable[CoreRange]) -> None:
        ordered = list(core_ranges)
        if isinstance(core_ranges, (set, frozenset)):
            ordered.sort(key=lambda each: (each.start.y, each.start.x))
        for one, other in itertools.combinations(ordered, 2):
            if one.intersects(other):
                raise TTFatal(
                    "Cannot create CoreRangeSet with specified core ranges because core ranges "
                    f"{one} and {other} overlap!",
                    hint="Name each core in one range.",
                )
        object.__setattr__(self, "_ranges", tuple(ordered))

    def ranges(self) -> list[CoreRange]:
        return list(self._ranges)

    def as_plain(self) -> Any:
        return [each.as_plain() for each in self._ranges]

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        return cls([CoreRange.of_plain(each) for each in plain])

    def size(self) -> int:
        """Returns the number of ranges."""
        return len(self._ranges)

    def empty(self) -> bool:
        return not self._ranges

    def contains(self, other: CoreCoord | CoreRange | CoreRangeSet) -> bool:
        """Returns whether all cores of another value belong to the set."""
        return _cores(other) <= _cores(self)

    def merge(self, other: CoreRangeSet) -> CoreRangeSet:
        """Returns the cores of both sets."""
        return _rectangles(_cores(self) | _cores(other))

    def subtract(self, other: CoreRangeSet) -> CoreRangeSet:
        """Returns the cores of this set that are not in the other."""
        return _rectangles(_cores(self) - _cores(other))

    def num_cores(self) -> int:
        return sum(each.grid_size().x * each.grid_size().y for each in self._ranges)

    def bounding_box(self) -> CoreRange:
        """Returns the smallest rectangle that holds all cores."""
        starts, ends = [each.start for each in self._ranges], [each.end for each in self._ranges]
        start = CoreCoord(min(each.x for each in starts), min(each.y for each in starts))
        return CoreRange(start, CoreCoord(max(each.x for each in ends), max(each.y for each in ends)))

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._ranges))}}}"


def _cores(place: CoreCoord | CoreRange | CoreRangeSet) -> set[CoreCoord]:
    """Returns the cores of a value."""
    if isinstance(place, CoreCoord):
        return {place}
    return {core for part in ([place] if isinstance(place, CoreRange) else place.ranges()) for core in part.cores()}


def _rectangles(cores: set[CoreCoord]) -> CoreRangeSet:
    """Returns cores as rectangles, the widest and then the highest ones first, from the first row on."""
    left, ranges = set(cores), []
    while left:
        start = min(left, key=lambda each: (each.y, each.x))
        x, y = start.x, start.y
        while CoreCoord(x + 1, y) in left:
            x += 1
        while all(CoreCoord(column, y + 1) in left for column in range(start.x, x + 1)):
            y += 1
        ranges.append(CoreRange(start, CoreCoord(x, y)))
        left -= set(ranges[-1].cores())
    return CoreRangeSet(ranges)


@dataclass(frozen=True, init=False)
class ShardSpec(JsonForm):
    """The cores of a sharded tensor and the rows and columns of a shard, in elements."""

    grid: CoreRangeSet
    _shape: tuple[int, ...]
    orientation: ShardOrientation

    def __init__(self, grid: CoreRangeSet, shard_shape: Sequence[int], shard_orientation: ShardOrientation) -> None:
        if len(shard_shape) != 2:
            raise IncompatibleArguments(
                f"__init__(): incompatible function arguments: shard_shape has two sizes, got {shard_shape}"
            )
        _check_whole("shard_shape", shard_shape)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "_shape", tuple(shard_shape))
        object.__setattr__(self, "orientation", shard_orientation)

    @property
    def shape(self) -> list[int]:
        """Rows and columns of a shard, in a list of its own."""
        return list(self._shape)

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def as_plain(self) -> Any:
        return {"grid": self.grid.as_plain(), "orientation": self.orientation.value, "shape": self.shape}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        rows, columns = map(int, plain["shape"])
        return cls(CoreRangeSet.of_plain(plain["grid"]), (rows, columns), ShardOrientation(plain["orientation"]))

    def __repr__(self) -> str:
        orientation = f"ShardOrientation::{self.orientation.name}"
        grid = ", ".join(each.json()[:-1] for each in self.grid.ranges())  # TT-NN leaves a brace out
        return f"ShardSpec{{grid=[{grid}], shape={self.shape}, orientation={orientation}}}"


@dataclass(frozen=True)
class NdShardSpec(JsonForm):
    """The cores of a tensor that is cut along several dimensions, and the sizes of a shard."""

    shard_shape: Shape
    grid: CoreRangeSet
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    shard_distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D

    def __post_init__(self) -> None:
        object.__setattr__(self, "shard_shape", Shape(self.shard_shape))

    def __hash__(self) -> int:
        return hash((*self.shard_shape, self.grid, self.orientation, self.shard_distribution_strategy))

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def as_plain(self) -> Any:
        return {
            "grid": self.grid.as_plain(),
            "orientation": self.orientation.value,
            "shard_distribution_strategy": self.shard_distribution_strategy.value,
            "shard_shape": list(self.shard_shape),
        }

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        return cls(
            Shape([*map(int, plain["shard_shape"])]),
            CoreRangeSet.of_plain(plain["grid"]),
            ShardOrientation(plain["orientation"]),
            ShardDistributionStrategy(plain["shard_distribution_strategy"]),
        )

    def __repr__(self) -> str:
        grid = ",".join(each.json() for each in self.grid.ranges())
        return (
            f'{{"shard_shape":{list(self.shard_shape)},"grid":[{grid}],'
            f'"orientation":"ShardOrientation::{self.orientation.name}",'
            f'"shard_distribution_strategy":"ShardDistributionStrategy::{self.shard_distribution_strategy.name}"}}'
        )


@dataclass(frozen=True, init=False)
class MemoryConfig(JsonForm):
    """The memory of a tensor on the device, and its distribution over banks or cores.

    Args:
        memory_layout: how it is distributed; a buffer type in its place is followed by an :class:`NdShardSpec`.
        buffer_type: DRAM or L1.
        shard_spec: the shards of a matrix.
    """

    memory_layout: TensorMemoryLayout
    buffer_type: BufferType
    shard_spec: ShardSpec | None
    nd_shard_spec: NdShardSpec | None

    def __init__(
        self,
        memory_layout: TensorMemoryLayout | BufferType = TensorMemoryLayout.INTERLEAVED,
        buffer_type: BufferType | NdShardSpec = BufferType.DRAM,
        shard_spec: ShardSpec | None = None,
        *,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> None:
        if isinstance(buffer_type, NdShardSpec):
            nd_shard_spec, buffer_type = buffer_type, cast(BufferType, memory_layout)
        if nd_shard_spec is not None:
            memory_layout = TensorMemoryLayout.ND_SHARDED
        fields = (memory_layout, buffer_type, shard_spec, nd_shard_spec)
        for name, value in zip(("memory_layout", "buffer_type", "shard_spec", "nd_shard_spec"), fields, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash(fields))

    def __hash__(self) -> int:
        return self._hash  # pyright: ignore[reportAttributeAccessIssue]

    def is_sharded(self) -> bool:
        return self.memory_layout is not TensorMemoryLayout.INTERLEAVED

    @property
    def interleaved(self) -> bool:
        return not self.is_sharded()

    def as_plain(self) -> Any:
        shards = {"shard_spec": self.shard_spec, "nd_shard_spec": self.nd_shard_spec}
        return {
            "buffer_type": self.buffer_type.value,
            "created_with_nd_shard_spec": self.nd_shard_spec is not None,
            "memory_layout": self.memory_layout.value,
            "per_core_allocation": False,
        } | {name: spec.as_plain() for name, spec in shards.items() if spec is not None}

    @classmethod
    def of_plain(cls, plain: Any) -> Self:
        spec, cut, buffer = plain.get("shard_spec"), plain.get("nd_shard_spec"), BufferType(plain["buffer_type"])
        if cut is not None:
            return cls(buffer_type=buffer, nd_shard_spec=NdShardSpec.of_plain(cut))
        return cls(
            TensorMemoryLayout(plain["memory_layout"]), buffer, None if spec is None else ShardSpec.of_plain(spec)
        )

    def __repr__(self) -> str:
        shards, cut = ("std::nullopt" if each is None else repr(each) for each in (self.shard_spec, self.nd_shard_spec))
        return (
            f"MemoryConfig(memory_layout=TensorMemoryLayout::{self.memory_layout.name},"
            f"buffer_type=BufferType::{self.buffer_type.name},shard_spec={shards},nd_shard_spec={cut},"
            f"created_with_nd_shard_spec={int(self.nd_shard_spec is not None)},per_core_allocation=0,"
            "range_lockstep_allocation=0)"
        )


DRAM_MEMORY_CONFIG = MemoryConfig()
L1_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.L1)
L1_BLOCK_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1)
L1_HEIGHT_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
L1_WIDTH_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)


@dataclass(frozen=True, init=False)
class Tile:
    """Rows and columns of a tile."""

    _rows: int
    _columns: int
    transpose_within_face: bool = False
    transpose_of_faces: bool = False

    def __init__(self, tile_shape: Sequence[int] = (TILE_SIZE, TILE_SIZE), transpose_tile: bool = False) -> None:
        rows, columns = tile_shape
        fields = {"_rows": rows, "_columns": columns}
        turned = {"transpose_within_face": transpose_tile, "transpose_of_faces": transpose_tile}
        for name, value in {**fields, **turned}.items():
            object.__setattr__(self, name, value)

    @property
    def tile_shape(self) -> list[int]:
        return [self._rows, self._columns]

    @property
    def face_shape(self) -> list[int]:
        """Rows and columns of a face: a quarter of a whole tile, or what a smaller tile has of it."""
        return [min(self._rows, _FACE), min(self._columns, _FACE)]

    @property
    def num_faces(self) -> int:
        rows, columns = self.face_shape
        return self._rows // rows * (self._columns // columns)

    @property
    def partial_face(self) -> int:
        """1 for a tile with fewer rows than a whole one."""
        return int(self._rows < TILE_SIZE)

    @property
    def narrow_tile(self) -> int:
        """1 for a tile with fewer columns than a whole one."""
        return int(self._columns < TILE_SIZE)

    def get_tile_size(self, dtype: DataType) -> int:
        """Returns the bytes of a tile; the exponents of block floats fill multiples of 16 bytes."""
        element, count = dtype.element, self._rows * self._columns
        if not element.is_block_float:
            return element.element_bytes * count
        return element.bits * count // 8 + -(-count // (_FACE * _FACE)) * 16

    def __repr__(self) -> str:
        return f"Tile with shape: {self.tile_shape}"
