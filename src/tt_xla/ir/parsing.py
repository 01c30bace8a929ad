"""xDSL's parser, made to read what MLIR writes: aliases that are defined after their use, all kinds of locations,
numbers in hexadecimal, and attributes that this project does not model, which are kept as they are.

A module repeats itself: what was read once, types of tensors and of functions, properties and locations, is taken from
a table by its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    FileLineColLoc,
    FunctionType,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    UnregisteredAttr,
)
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tt_xla.ir.lexing import FastLexer
from tt_xla.ir.ttnn.attributes import placed

_T = TypeVar("_T")

_FLAT = re.compile(r'[^<>"]+(?=>)')
_TYPE = r"(?>[!\w$.]+(?:<[^<>()\"]*>)?+)(?![<.])"
_TYPES = rf"\(\s*(?:{_TYPE}(?:\s*,\s*{_TYPE})*\s*)?\)"
_FUNCTION_TYPE = re.compile(rf"{_TYPES}\s*->\s*(?:{_TYPES}|{_TYPE})")
_PROPERTIES = re.compile(r'<\{(?:[^{}"\\]|"[^"\\{}\n]*")*\}>')
_LOCATION = re.compile(r"loc\(#\w+\)")
_ALIAS = re.compile(r"^([#!][A-Za-z_][\w$]*)\s*=\s*", re.MULTILINE)


class LenientContext(Context):
    """Knows its dialects' ops alone, but keeps attributes and types of any name.

    Args:
        unknown_ops: whether ops of any name are kept too.
    """

    def __init__(self, *, unknown_ops: bool = False) -> None:
        super().__init__()
        self.unknown_ops = unknown_ops

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        self.allow_unregistered = self.unknown_ops
        try:
            return super().get_optional_op(name, dialect_stack=dialect_stack)
        finally:
            self.allow_unregistered = False

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        return super().get_optional_attr(name) or self._kept(name, is_type=False)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        found: Any = super().get_optional_type(name) or self._kept(name, is_type=True)
        return found

    def _kept(self, name: str, *, is_type: bool) -> type[Attribute]:
        made = UnregisteredAttr.with_name_and_type(name, is_type)
        table: Any = self._loaded_types if is_type else self._loaded_attrs
        table[name] = made
        return made


class _Aliases(dict[str, Attribute]):
    """The aliases of a text by name; each is read where it is defined when it is first asked for."""

    def __init__(self, parser: MLIRParser, places: dict[str, int | None]) -> None:
        """``places`` has the position of each definition; None while it is being read."""
        super().__init__()
        self._parser = parser
        self._places = places
        self.read: dict[str, tuple[int, int]] = {}
        """Where the definition of each begins, and what follows it."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._places

    def __missing__(self, name: str) -> Attribute:
        place = self._places.get(name)
        if place is None:
            self._parser.raise_error(f"alias '{name}' stands for itself")
        self._places[name] = None
        found, end = self._parser.attribute_at(place)
        self[name] = found
        self.read[name] = (place, end)
        return found


class _Element(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of ``dense<...>`` that is written in hexadecimal: of a float type, its bits."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        try:
            raw = self.value.to_bytes(type.compile_time_size, "little")
        except OverflowError:
            parser.raise_error(f"Hexadecimal value does not fit in {type}", at_position=self.span)
        return next(type.iter_unpack(raw))


class MLIRParser(Parser):
    def __init__(self, ctx: Context, input: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, "", name)  # it would read the first token with xDSL's lexer
        places: dict[str, int | None] = {}
        for match in _ALIAS.finditer(input):
            places.setdefault(match[1], match.end())
        self._aliases = _Aliases(self, places)
        self.attribute_aliases = self._aliases
        self._parser_state = ParserState(FastLexer(Input(input, name)))
        self._tensors: dict[str, Any] = {}
        """Types that were read, by what stands between ``tensor<`` and ``>``: a few of them are most of a module."""
        self._functions: dict[str, FunctionType] = {}
        self._properties: dict[str, dict[str, Attribute]] = {}
        self._locations: dict[str, LocationAttr | None] = {}

    def attribute_at(self, position: int) -> tuple[Attribute, int]:
        """The attribute or type that stands at a position of the text, and where the next token begins.

        Reading goes on where it was.
        """
        here = self.pos
        self._resume_from(position)
        try:
            location = self.parse_optional_location()
            return (location if location is not None else self.parse_attribute()), self.pos
        finally:
            self._resume_from(here)

    def _parse_alias_def(self) -> None:
        """Aliases are read on demand; here the others, so that an error in one shows, and second definitions."""
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
        found = super()._parse_tensor_attrs()
        made = placed(found) if isinstance(found, TensorType) else found
        if text is not None:
            self._tensors[text[0]] = made
        return made

    def _known(self, pattern: re.Pattern[str], table: dict[str, _T], parse: Callable[[], _T]) -> _T:
        """What stands here: from the table where its text matches, is in it, and so has been read before."""
        match = pattern.match(self.lexer.input.content, self._current_token.span.start)
        if match is None:
            return parse()
        text = match[0]
        found = table.get(text)
        if found is not None:
            self._resume_from(match.end())
            return found
        found = parse()
        if not self.lexer.input.content[match.end() : self._current_token.span.start].strip():
            table[text] = found
        return found

    def parse_function_type(self) -> FunctionType:
        return self._known(_FUNCTION_TYPE, self._functions, super().parse_function_type)

    def parse_optional_properties_dict(self) -> dict[str, Attribute]:
        return dict(self._known(_PROPERTIES, self._properties, super().parse_optional_properties_dict))

    def parse_optional_location(self) -> LocationAttr | None:
        return self._known(_LOCATION, self._locations, super().parse_optional_location)

    def _parse_location(self) -> Any:
        """Also ranges, ``"file":1:2 to :9``, of which the start is kept, and names and metadata in front."""
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
            parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(parts), metadata)
        return super()._parse_location()

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        found = super()._parse_tensor_literal_element()
        if found.span.text.lower().startswith("0x"):
            return _Element(found.is_negative, found.value, found.span)
        return found
