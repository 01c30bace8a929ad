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

    ``data`` holds the present fields in declared order; absent fields are left to TT-NN.
    """

    FIELDS: ClassVar[Mapping[str, type]]
    """Type of each field by name: bool, int, an enumeration, or an attribute class."""
    REQUIRED: ClassVar[frozenset[str]] = frozenset()
    """Names of the fields that must be present."""
    QUALIFIED: ClassVar[bool] = True
    """Whether fields that are attributes are written with their names, as upstream does for some configs."""
    TAG: ClassVar[str] = ""
    """Label that distinguishes this config from others of the same property; :func:`plain` stores it as ``config``."""

    @classmethod
    def of(cls, **fields: Any) -> Any:
        """Returns the attribute with these fields; None leaves a field out.

        Raises:
            ValueError: a field is unknown, or a required one is missing.
        """
        present = {name: value for name, value in fields.items() if value is not None}
        if problem := cls._problem(present):
            raise ValueError(problem)
        return cls(tuple((name, present[name]) for name in cls.FIELDS if name in present))

    @classmethod
    def _problem(cls, fields: Mapping[str, Any]) -> str:
        """Returns an error message if a field is unknown or missing; else an empty string."""
        unknown, missing = fields.keys() - cls.FIELDS.keys(), cls.REQUIRED - fields.keys()
        if unknown:
            return f"{cls.name} has no field '{min(unknown)}'; its fields are {', '.join(cls.FIELDS)}"
        return f"{cls.name} lacks the required field '{min(missing)}'" if missing else ""

    @property
    def fields(self) -> dict[str, Any]:
        """The present fields by name."""
        return dict(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Any:
        position = parser.pos
        with parser.in_angle_brackets():
            fields: dict[str, Any] = {}
            name = parser.parse_optional_identifier()
            while name is not None:
                if name not in cls.FIELDS:
                    parser.raise_error(cls._problem({name: None}))
                parser.parse_punctuation("=")
                fields[name] = _parse_field(parser, cls.FIELDS[name])
                name = parser.parse_identifier() if parser.parse_optional_punctuation(",") else None
        if problem := cls._problem(fields):
            parser.raise_error(problem, position, parser.pos)
        return tuple((name, fields[name]) for name in cls.FIELDS if name in fields)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            texts = [f"{name} = {self._field_text(value)}" for name, value in self.data]
            printer.print_string(", ".join(texts))

    def _field_text(self, value: Any) -> str:
        if isinstance(value, Attribute):
            return str(value) if self.QUALIFIED else bare(value)
        return str(value).lower() if isinstance(value, bool) else str(value)


class RawAttr(Data[str], ABC):
    """An attribute that is kept as text and not interpreted."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser._parse_dialect_symbol_body()  # pyright: ignore[reportPrivateUsage]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


def parse_label(parser: AttrParser, labels: type[E]) -> E:
    """Reads a label of an enumeration; data types that no chip holds are refused.

    Raises:
        ParseError: the text is no such label; the message lists all labels.
    """
    position = parser.pos
    text = parser.parse_identifier()
    known = [label for label in labels if not getattr(label, "is_host_only", False)]
    if text not in known:
        parser.raise_error(f"expected one of {', '.join(known)}, got '{text}'", position, parser.pos)
    return labels(text)


def nested(parser: AttrParser, kind: type[Any]) -> Any:
    """Reads an attribute inside another one, with its name or without: ``#ttnn.core_coord<8, 8>`` or ``<8, 8>``.

    Raises:
        ParseError: the text is an attribute of another class than ``kind``.
    """
    position = parser.pos
    attribute = parser.parse_optional_attribute()
    if attribute is None:
        return kind(kind.parse_parameter(parser))
    if not isinstance(attribute, kind):
        parser.raise_error(f"expected #{kind.name}<...>, got {attribute}", position, parser.pos)
    return attribute


def bare(attribute: Attribute) -> str:
    """Returns the text of an attribute without its name, ``<32x64>``, as other attributes contain it."""
    text = str(attribute)
    return text[text.index("<") :]


def plain(value: Any) -> Any:
    """Returns the plain value of an attribute: fields as a dict, sequences as lists, labels as strings."""
    if isinstance(value, StructAttr):
        fields = {name: plain(field) for name, field in value.data}
        return {"config": value.TAG} | fields if value.TAG else fields
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
