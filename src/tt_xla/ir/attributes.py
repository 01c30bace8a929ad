"""Base classes of attributes that hold plain Python values."""

from __future__ import annotations

import enum
from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer

E = TypeVar("E", bound=enum.StrEnum)


class LabelAttr(Data[E], ABC):
    """An attribute that is one label of an enumeration, ``#ttnn.layout<tile>``."""

    LABELS: ClassVar[type[Any]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            return parse_label(parser, cls.LABELS)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data.value)


class StructAttr(Data[tuple[tuple[str, Any], ...]], ABC):
    """An attribute of named fields, ``#ttnn.conv2d_config<weights_dtype = bf16, activation = relu>``.

    ``data`` holds the given fields in declared order; fields not given are left to TT-NN.
    """

    FIELDS: ClassVar[Mapping[str, type]]
    """Field name to bool, int, or an enumeration."""

    @classmethod
    def of(cls, **fields: Any) -> Any:
        unknown = fields.keys() - cls.FIELDS.keys()
        if unknown:
            raise ValueError(f"{cls.name} has no field {', '.join(sorted(unknown))}; it has {', '.join(cls.FIELDS)}")
        return cls(tuple((name, fields[name]) for name in cls.FIELDS if fields.get(name) is not None))

    @property
    def fields(self) -> dict[str, Any]:
        return dict(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        with parser.in_angle_brackets():
            found: dict[str, Any] = {}
            name = parser.parse_optional_identifier()
            while name is not None:
                if name not in cls.FIELDS:
                    parser.raise_error(f"{cls.name} has no field '{name}'; it has {', '.join(cls.FIELDS)}")
                parser.parse_punctuation("=")
                found[name] = _parse_field(parser, cls.FIELDS[name])
                name = parser.parse_identifier() if parser.parse_optional_punctuation(",") else None
        return tuple((name, found[name]) for name in cls.FIELDS if name in found)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            texts = [f"{name} = {_field_text(value)}" for name, value in self.data]
            printer.print_string(", ".join(texts))


def parse_label(parser: AttrParser, labels: type[E]) -> E:
    """One label of an enumeration; an error lists all of them. Data types that no chip holds are none."""
    position = parser.pos
    text = parser.parse_identifier()
    known = [label for label in labels if not getattr(label, "is_host_only", False)]
    if text not in known:
        parser.raise_error(f"expected one of {', '.join(known)}, got '{text}'", position, parser.pos)
    return labels(text)


def _parse_field(parser: AttrParser, kind: type) -> Any:
    if kind is bool:
        return parser.parse_boolean()
    if kind is int:
        return parser.parse_integer()
    return parse_label(parser, kind)


def _field_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
