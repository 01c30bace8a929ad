"""The chips of a mesh and the links along its axes, as plain values and in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from tt_xla.target.target import Link


@dataclass(frozen=True)
class MeshAxis:
    """The links along one axis of a mesh."""

    size: int
    """Number of chips along the axis."""
    ring: bool
    """Whether the last chip is linked with the first one too; an axis of one or two chips is a line."""
    links: int
    """Number of channels between neighbours that a collective uses: those of the weakest hop of the axis."""
    stride: int
    """Number of chips between neighbours along the physical dimension, whose links they share; 1 if neighbours are
    linked directly."""
    narrowest: tuple[int, int] | None = field(default=None, compare=False)
    """Chips of a hop with the fewest channels, or of the busiest link of ways over other chips; None for an axis of one
    chip."""
    routes: int | None = None
    """Number of ways between neighbours that cross one link, where neighbours lack a link and exchange over other
    chips; ``stride`` is then the length of the longest way, and ``links`` the channels of the link that most ways
    cross. None where neighbours are linked, or are part of a dimension whose chips are."""

    @property
    def sharing(self) -> int:
        """Number of exchanges between neighbours that share a link."""
        return self.stride if self.routes is None else self.routes


@dataclass(frozen=True)
class Arrangement:
    """The chips of a mesh, and the links along each of its axes."""

    shape: tuple[int, ...]
    """Number of chips along each axis."""
    chips: tuple[int, ...]
    """Index of the chip at each position; positions count row-major."""
    axes: tuple[MeshAxis, ...]


def describe_axis(axis: MeshAxis, bytes_per_second: float) -> str:
    """Returns the links along an axis in words.

    Args:
        axis: the axis.
        bytes_per_second: line rate of a channel.
    """
    apart = f", {axis.stride} chips apart" if axis.stride > 1 else ""
    if axis.routes is not None:
        apart = f", neighbours up to {axis.stride} links apart, {axis.routes} of their ways over one link"
    kind = "ring" if axis.ring else "line"
    return f"{kind} of {chips_text(axis.size)}{apart} with {axis.links} x {bytes_per_second * 8e-9:.0f} Gbit/s"


def chips_text(count: int) -> str:
    """Returns a number of chips in words."""
    return f"{count} chip" if count == 1 else f"{count} chips"


def shape_text(shape: tuple[int, ...]) -> str:
    """Returns the shape of a mesh as text, such as ``2x4``."""
    return "x".join(map(str, shape)) or "one chip"


def links_text(links: tuple[Link, ...]) -> str:
    """Returns links as text, such as ``0-1, 0-2``."""
    return ", ".join("-".join(map(str, link.chips)) for link in links) or "none"
