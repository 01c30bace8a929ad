"""XLA's format for profiles, ``XSpace`` (tsl/profiler/protobuf/xplane.proto), encoded without a protobuf library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tt_xla.frontends.jax.pjrt.wire import write_varint


@dataclass(frozen=True)
class Event:
    """An event of a timeline; ``start_ns`` counts from 1970."""

    name: str
    start_ns: int
    duration_ns: int
    stats: Mapping[str, str] = field(default_factory=lambda: {})


@dataclass
class Plane:
    """The timeline of a device.

    Attributes:
        number: its id.
        name: name of the device; TensorBoard and Perfetto show those that begin with ``/device:CUSTOM:``.
        line: name of its one line.
        events: the events, in order.
    """

    number: int
    name: str
    line: str
    events: list[Event] = field(default_factory=lambda: [])


def write_xspace(planes: Sequence[Plane]) -> bytes:
    """Returns an ``XSpace``."""
    return b"".join(_message(1, _plane(plane)) for plane in planes)


def _plane(plane: Plane) -> bytes:
    """Returns an ``XPlane``: names are there once, and events refer to them by number."""
    events = _Numbers()
    stats = _Numbers()
    began = min((event.start_ns for event in plane.events), default=0)
    lines = [_number(1, 0), _text(2, plane.line), _number(3, began)]
    for event in plane.events:
        found = [_number(1, events[event.name])]
        found += [_number(2, 1000 * (event.start_ns - began)), _number(3, 1000 * event.duration_ns)]
        found += [_message(4, _number(1, stats[name]) + _text(5, text)) for name, text in event.stats.items() if text]
        lines.append(_message(4, b"".join(found)))
    named = [_message(4, entry) for entry in events.entries()] + [_message(5, entry) for entry in stats.entries()]
    return b"".join([_number(1, plane.number), _text(2, plane.name), _message(3, b"".join(lines)), *named])


class _Numbers:
    """Numbers of names, from 1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def entries(self) -> list[bytes]:
        """Returns the entries of a map from number to metadata, which is the number and the name."""
        return [
            _number(1, number) + _message(2, _number(1, number) + _text(2, name))
            for name, number in self._numbers.items()
        ]


def _number(position: int, value: int) -> bytes:
    return write_varint(position << 3) + write_varint(value)


def _message(position: int, value: bytes) -> bytes:
    return write_varint(position << 3 | 2) + write_varint(len(value)) + value


def _text(position: int, value: str) -> bytes:
    return _message(position, value.encode())


__all__ = ["Event", "Plane", "write_xspace"]
