"""Base classes of attributes that hold plain Python values."""

from __future__ import annotations

import enum
from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, cast

from xdsl.ir import Attribute, Data
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
    """An attribute of named fields, ``#ttnn.conv2d_config<weights_dtype = bf16, config_tensors_in_dram = true>``.

    ``data`` holds the given fields in declared order; fields not given are left to TT-NN.
    """

    FIELDS: ClassVar[Mapping[str, type]]
    """Field name to bool, int, an enumeration, or an attribute class, whose values are attributes."""
    REQUIRED: ClassVar[frozenset[str]] = frozenset()
    """Fields that must be given."""
    QUALIFIED: ClassVar[bool] = True
    """Whether fields that are attributes are written with their names, as upstream does it for some."""
    TAG: ClassVar[str] = ""
    """What tells this config from others that can stand in its place; ``plain`` has it under ``config``."""

    @classmethod
    def of(cls, **fields: Any) -> Any:
        """The attribute with these fields; None leaves one out.

        Raises:
            ValueError: a field is unknown, or one that must be given is missing.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        if problem := cls._problem(given):
            raise ValueError(problem)
        return cls(tuple((name, given[name]) for name in cls.FIELDS if name in given))

    @classmethod
    def _problem(cls, given: Mapping[str, Any]) -> str:
        """What is wrong with the names of fields; empty when nothing is."""
        unknown, missing = given.keys() - cls.FIELDS.keys(), cls.REQUIRED - given.keys()
        if unknown:
            return f"{cls.name} has no field '{min(unknown)}'; it has {', '.join(cls.FIELDS)}"
        return f"{cls.name} lacks the field '{min(missing)}'" if missing else ""

    @property
    def fields(self) -> dict[str, Any]:
        return dict(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        position = parser.pos
        with parser.in_angle_brackets():
            found: dict[str, Any] = {}
            name = parser.parse_optional_identifier()
            while name is not None:
                if name not in cls.FIELDS:
                    parser.raise_error(cls._problem({name: None}))
                parser.parse_punctuation("=")
                found[name] = _parse_field(parser, cls.FIELDS[name])
                name = parser.parse_identifier() if parser.parse_optional_punctuation(",") else None
        if problem := cls._problem(found):
            parser.raise_error(problem, position, parser.pos)
        return tuple((name, found[name]) for name in cls.FIELDS if name in found)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            texts = [f"{name} = {self._field_text(value)}" for name, value in self.data]
            printer.print_string(", ".join(texts))

    def _field_text(self, value: Any) -> str:
        if isinstance(value, Attribute):
            return str(value) if self.QUALIFIED else bare(value)
        return str(value).lower() if isinstance(value, bool) else str(value)


class RawAttr(Data[str], ABC):
    """An attribute that is kept as its text and not looked into."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser._parse_dialect_symbol_body()  # pyright: ignore[reportPrivateUsage]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def parse_label(parser: AttrParser, labels: type[E]) -> E:
    """One label of an enumeration; an error lists all of them. Data types that no chip holds are none."""
    position = parser.pos
    text = parser.parse_identifier()
    known = [label for label in labels if not getattr(label, "is_host_only", False)]
    if text not in known:
        parser.raise_error(f"expected one of {', '.join(known)}, got '{text}'", position, parser.pos)
    return labels(text)


def nested(parser: AttrParser, kind: type[Any]) -> Any:
    """An attribute inside another one, with its name or without: ``#ttnn.core_coord<8, 8>`` or ``<8, 8>``."""
    position = parser.pos
    found = parser.parse_optional_attribute()
    if found is None:
        return kind(kind.parse_parameter(parser))
    if not isinstance(found, kind):
        parser.raise_error(f"expected #{kind.name}<...>, got {found}", position, parser.pos)
    return found


def bare(attribute: Attribute) -> str:
    """The text of an attribute without its name, ``<32x64>``, as it stands inside other attributes."""
    text = str(attribute)
    return text[text.index("<") :]


def plain(value: Any) -> Any:
    """What an attribute holds without xDSL: fields as a dict, sequences as lists, labels as strings."""
    if isinstance(value, StructAttr):
        found = {name: plain(field) for name, field in value.data}
        return {"config": value.TAG} | found if value.TAG else found
    if isinstance(value, Data):
        return plain(cast(Any, value).data)
    if isinstance(value, tuple | list):
        items = cast("tuple[Any, ...]", value)
        if items and all(isinstance(item, tuple) and _is_field(item) for item in items):
            return {name: plain(field) for name, field in items}
        return [plain(item) for item in items]
    return str(value) if isinstance(value, str) else value


def _is_field(item: Any) -> bool:
    return len(item) == 2 and isinstance(item[0], str)


def _parse_field(parser: AttrParser, kind: type) -> Any:
    if kind is bool:
        return parser.parse_boolean()
    if kind is int:
        return parser.parse_integer()
    if issubclass(kind, Attribute):
        return nested(parser, kind)
    return parse_label(parser, kind)
