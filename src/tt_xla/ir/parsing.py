"""A parser of MLIR text, based on xDSL's.

It also reads aliases that are defined after their use, all kinds of locations, hexadecimal numbers, and attributes that
this project does not model, which it keeps as they are. Modules repeat themselves, so the parser caches tensor types,
function types, properties and locations by their text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ComplexType,
    FileLineColLoc,
    FunctionType,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    NoneAttr,
    RankedStructure,
    StringAttr,
    TensorType,
    UnknownLoc,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.irdl import base
from xdsl.parser import AttrParser, Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tt_xla.ir.lexing import FastLexer
from tt_xla.ir.older_forms import today
from tt_xla.ir.ttnn.attributes import placed

_T = TypeVar("_T")

_FLAT = re.compile(r'[^<>"]+(?=>)')
_TYPE = r"(?>[!\w$.]+(?:<[^<>()\"]*>)?+)(?![<.])"
_TYPES = rf"\(\s*(?:{_TYPE}(?:\s*,\s*{_TYPE})*\s*)?\)"
_FUNCTION_TYPE = re.compile(rf"{_TYPES}\s*->\s*(?:{_TYPES}|{_TYPE})")
_PROPERTIES = re.compile(r'<\{(?:[^{}"\\]|"[^"\\{}\n]*")*\}>')
_LOCATION = re.compile(r"loc\(#\w+\)")
_DENSE_TYPE = base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])
_ALIAS = re.compile(r"^([#!][A-Za-z_][\w$]*)\s*=\s*", re.MULTILINE)


class LenientContext(Context):
    """A context that knows the ops of its dialects and keeps attributes and types of any name.

    Args:
        unknown_ops: whether to keep ops of any name too.
    """

    def __init__(self, *, unknown_ops: bool = False) -> None:
        super().__init__()
        self.unknown_ops = unknown_ops

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        self.allow_unregistered = self.unknown_ops
        try:
            return super().get_optional_op(today(name), dialect_stack=dialect_stack)
        finally:
            self.allow_unregistered = False

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        return super().get_optional_attr(today(name)) or self._unregistered(name, is_type=False)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        type_: Any = super().get_optional_type(today(name)) or self._unregistered(name, is_type=True)
        return type_

    def _unregistered(self, name: str, *, is_type: bool) -> type[Attribute]:
        """Registers and returns a class that keeps the text of attributes or types of a name."""
        kind = UnregisteredAttr.with_name_and_type(name, is_type)
        table: Any = self._loaded_types if is_type else self._loaded_attrs
        table[name] = kind
        return kind


class _Aliases(dict[str, Attribute]):
    """The aliases of a text by name; the first use of an alias parses its definition."""

    def __init__(self, parser: MLIRParser, places: dict[str, int | None]) -> None:
        """
        Args:
            parser: parser of the text.
            places: position of each definition by name; None while the definition is being parsed.
        """
        super().__init__()
        self._parser = parser
        self._places = places
        self.read: dict[str, tuple[int, int]] = {}
        """Start and end of each parsed definition in the text, by name."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._places

    def __missing__(self, name: str) -> Attribute:
        place = self._places.get(name)
        if place is None:
            self._parser.raise_error(f"definition of alias '{name}' contains the alias itself")
        self._places[name] = None
        attribute, end = self._parser.attribute_at(place)
        self[name] = attribute
        self.read[name] = (place, end)
        return attribute


class _Element(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element of ``dense<...>``, which holds the bits of a float."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        try:
            raw = self.value.to_bytes(type.compile_time_size, "little")
        except OverflowError:
            parser.raise_error(f"Hexadecimal value does not fit in {type}", at_position=self.span)
        return next(type.iter_unpack(raw))


class MLIRParser(Parser):
    """A parser of a module's text; see this file's docstring."""

    def __init__(self, ctx: Context, input: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, "", name)  # With the text, it would read the first token with xDSL's lexer.
        places: dict[str, int | None] = {}
        for match in _ALIAS.finditer(input):
            places.setdefault(match[1], match.end())
        self._aliases = _Aliases(self, places)
        self.attribute_aliases = self._aliases
        self._parser_state = ParserState(FastLexer(Input(input, name)))
        self._tensors: dict[str, Any] = {}
        """Tensor types by the text between ``tensor<`` and ``>``; most modules use few different ones."""
        self._functions: dict[str, FunctionType] = {}
        self._properties: dict[str, dict[str, Attribute]] = {}
        self._locations: dict[str, LocationAttr | None] = {}
        self._file = StringAttr(name)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", input))]

    def parse_operation(self) -> Operation:
        """Parses an op; one without a location gets the place of its line in the text."""
        place = self._current_token.span.start
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, place)
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(place - self._line_starts[line - 1] + 1))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        return known if known is not None else self.raise_error(f"no op is named '{name}'")

    def attribute_at(self, position: int) -> tuple[Attribute, int]:
        """Parses the attribute or type at a position of the text; parsing then goes on where it was.

        Returns:
            The attribute or type, and the position of the token after it.
        """
        here = self.pos
        self._resume_from(position)
        try:
            location = self.parse_optional_location()
            return (location if location is not None else self.parse_attribute()), self.pos
        finally:
            self._resume_from(here)

    def _parse_alias_def(self) -> None:
        """Parses the definition of an alias that was not used before, so that errors in it show.

        Raises:
            ParseError: a second definition of the alias differs from the first one.
        """
        name = self._consume_token().text
        self.parse_punctuation("=", "after attribute alias name")
        value = self._aliases[name]
        place, end = self._aliases.read[name]
        if place == self.pos:
            self._resume_from(end)
            return
        location = self.parse_optional_location()
        if value != (location if location is not None else self.parse_attribute()):
            self.raise_error(f"re-declaration of alias '{name}'")

    def _parse_tensor_attrs(self) -> Any:
        text = _FLAT.match(self.lexer.input.content, self._current_token.span.start)
        if text is not None and text[0] in self._tensors:
            self._resume_from(text.end())
            return self._tensors[text[0]]
        parsed = super()._parse_tensor_attrs()
        type_ = placed(parsed) if isinstance(parsed, TensorType) else parsed
        if text is not None:
            self._tensors[text[0]] = type_
        return type_

    def _parse_dense_literal_type(self) -> Any:
        """Parses the type behind ``dense<...> :``. xDSL's own builds its constraint for each literal anew."""
        type_ = self.expect(self.parse_optional_type, "Dense attribute must be typed!")
        if not _DENSE_TYPE.verifies(type_):
            self.raise_error(f"{type_} is no tensor, vector or memref of integers, indices, floats or complex numbers")
        if DYNAMIC_INDEX in type_.get_shape():
            self.raise_error(f"the values of {type_} cannot be listed, since its shape is not static")
        return type_

    def _known(self, pattern: re.Pattern[str], table: dict[str, _T], parse: Callable[[], _T]) -> _T:
        """Returns the meaning of the text at the current position, from ``table`` if the same text was parsed before.

        Args:
            pattern: expression for texts that may be cached.
            table: meaning of each text that was parsed.
            parse: function that parses the text.
        """
        match = pattern.match(self.lexer.input.content, self._current_token.span.start)
        if match is None:
            return parse()
        text = match[0]
        known = table.get(text)
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = parse()
        if not self.lexer.input.content[match.end() : self._current_token.span.start].strip():
            table[text] = parsed
        return parsed

    def parse_function_type(self) -> FunctionType:
        return self._known(_FUNCTION_TYPE, self._functions, super().parse_function_type)

    def parse_optional_properties_dict(self) -> dict[str, Attribute]:
        return dict(self._known(_PROPERTIES, self._properties, super().parse_optional_properties_dict))

    def parse_optional_location(self) -> LocationAttr | None:
        return self._known(_LOCATION, self._locations, super().parse_optional_location)

    def _parse_location(self) -> Any:
        """Parses a location, also with names or metadata in front; a range, ``"file":1:2 to :9``, becomes its start."""
        if self._current_token.kind == MLIRTokenKind.STRING_LIT:
            text = self.parse_str_literal()
            if self.parse_optional_punctuation(":") is None:
                inner: Any = NoneAttr()
                if self.parse_optional_punctuation("("):
                    inner = self._parse_location()
                    self.parse_punctuation(")")
                return NameLoc(StringAttr(text), inner)
            line = self.parse_integer(False, False)
            column = self.parse_integer(False, False) if self.parse_optional_punctuation(":") else 0
            if self.parse_optional_keyword("to"):
                if self.parse_optional_punctuation(":") is None:
                    self.parse_integer(False, False)
                    self.parse_punctuation(":")
                self.parse_integer(False, False)
            return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(column))
        if self.parse_optional_keyword("fused"):
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<"):
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            locations = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(locations), metadata)
        return super()._parse_location()

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        if element.span.text.lower().startswith("0x"):
            return _Element(element.is_negative, element.value, element.span)
        return element
