"""Draws boards, meshes of their chips, and shardings, and writes them in Shardy's and in GSPMD's notation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from tt_xla.target import load_target

BOARDS: dict[str, tuple[tuple[int, ...], ...]] = {
    "n300": ((2,), (1, 2), (2, 1)),
    "p300": ((2,),),
    "p150x4": ((4,), (2, 2), (2,)),
    "n300-llmbox": ((8,), (2, 4), (4, 2), (2, 4), (2, 2, 2), (1, 8), (4,), (2, 2), (6,), (3, 2)),
    "p150x8": ((2, 4), (8,)),
}
"""Meshes of each board that are drawn; those of less than all chips as well."""

SIZES = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8, 9, 12, 16, 16, 24, 32, 33)
"""Sizes of dimensions: many that chips divide evenly, and some that they do not."""


@dataclass(frozen=True)
class Part:
    """A mesh axis, or the part of one that Shardy calls a sub-axis.

    Attributes:
        axis: Name of the axis.
        size: Number of chips along the part.
        before: Product of the sizes of the parts of the axis that are major to this one; None for a whole axis.
    """

    axis: str
    size: int
    before: int | None = None


@dataclass(frozen=True)
class Layout:
    """A board and a mesh of its chips.

    Attributes:
        board: Name of the system.
        axes: Size of each mesh axis by its name.
        parts: The axes, some of them in parts, major first.
    """

    board: str
    axes: dict[str, int]
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Number of chips of the mesh."""
        return math.prod(self.axes.values())

    @property
    def declaration(self) -> str:
        """Shardy's declaration of the mesh."""
        axes = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())
        return f"sdy.mesh @mesh = <[{axes}]>"


def layout(random: random.Random, *, whole: bool = False) -> Layout:
    """Draws a board and a mesh; of one axis in five, unless axes are to be whole, parts are used."""
    board = random.choice(("n300", "p300", "p150x4", *["n300-llmbox"] * 4, "p150x8"))
    shape = random.choice(BOARDS[board])
    assert math.prod(shape) <= load_target(board).chips
    axes = dict(zip("xyz", shape, strict=False))
    parts: list[Part] = []
    for name, size in axes.items():
        if size in (4, 6, 8) and not whole and random.random() < 0.2:
            major = 2 if size != 8 else random.choice((2, 4))
            parts += [Part(name, major, 1), Part(name, size // major, major)]
        else:
            parts.append(Part(name, size))
    return Layout(board, axes, tuple(parts))


@dataclass(frozen=True)
class Split:
    """How a tensor is split over a mesh.

    Attributes:
        dims: For each dimension the parts of axes that split it, major first.
        unreduced: Parts of axes along which chips hold partial sums.
        open: Dimensions that propagation may split further.
    """

    dims: tuple[tuple[Part, ...], ...]
    unreduced: tuple[Part, ...] = ()
    open: tuple[int, ...] = ()

    def shardy(self, layout: Layout, priority: int | None = None) -> str:
        """Returns the attribute without its ``#sdy.sharding``, as ops print it."""
        suffix = "" if priority is None else f"p{priority}"
        dims = [
            "{"
            + ", ".join([*_references(layout, parts), *(["?"] if dim in self.open else [])])
            + "}"
            + suffix * bool(parts)
            for dim, parts in enumerate(self.dims)
        ]
        unreduced = f", unreduced={{{', '.join(_references(layout, self.unreduced))}}}" if self.unreduced else ""
        return f"<@mesh, [{', '.join(dims)}]{unreduced}>"

    def gspmd(self, layout: Layout) -> str:
        """Returns XLA's notation, such as ``{devices=[2,4]<=[8]}``."""
        if not any(self.dims) and not self.unreduced:
            return "{replicated}"
        parts = [part for part in layout.parts if part.size > 1]
        used = [part for dim in self.dims for part in dim if part.size > 1]
        sums = [part for part in parts if part in self.unreduced]
        rest = [part for part in parts if part not in used and part not in sums]
        tiles = [math.prod(part.size for part in dim) for dim in self.dims]
        kinds: list[str] = []
        for name, group in (("unreduced", sums), ("replicated", rest)):
            if group:
                tiles.append(math.prod(part.size for part in group))
                kinds.append(name)
        order = [parts.index(part) for part in (*used, *sums, *rest)]
        shape = ",".join(str(part.size) for part in parts)
        turned = "" if order == sorted(order) else f"T({','.join(map(str, order))})"
        last = "" if not kinds else f" last_tile_dims={{{', '.join(kinds)}}}"
        if kinds == ["replicated"]:
            last = " last_tile_dim_replicate"
        return f"{{devices=[{','.join(map(str, tiles))}]<=[{shape}]{turned}{last}}}"


def _references(layout: Layout, parts: Sequence[Part]) -> list[str]:
    """Returns the parts as Shardy writes them: parts of an axis that follow each other are one."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last is not None and last.axis == part.axis and last.before and last.before * last.size == part.before:
            joined[-1] = Part(part.axis, last.size * part.size, last.before)
        else:
            joined.append(part)
    return [
        f'"{part.axis}"'
        if part.before is None or part.size == layout.axes[part.axis]
        else f'"{part.axis}":({part.before}){part.size}'
        for part in joined
    ]


def split(
    random: random.Random, layout: Layout, shape: Sequence[int], *, sums: bool = False, uneven: float = 0.3
) -> Split:
    """Draws how a tensor is split.

    Args:
        random: the generator.
        layout: the mesh.
        shape: sizes of the tensor.
        sums: whether chips may hold partial sums of it.
        uneven: share of the dimensions that may be split into parts of different sizes.
    """
    dims: list[list[Part]] = [[] for _ in shape]
    unreduced: list[Part] = []
    for part in random.sample(layout.parts, len(layout.parts)):
        if sums and random.random() < 0.25:
            unreduced.append(part)
        elif shape and random.random() < 0.8:
            dim = random.randrange(len(shape))
            count = math.prod(one.size for one in dims[dim]) * part.size
            if shape[dim] % count == 0 or (shape[dim] > 1 and random.random() < uneven):
                dims[dim].append(part)
    order = {part: place for place, part in enumerate(layout.parts)}
    return Split(tuple(map(tuple, dims)), tuple(sorted(unreduced, key=order.__getitem__)))
