"""xDSL's parser with one fault mended."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser import AttrParser, Parser


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
    """Reads infinities and NaNs in ``dense<0xFF80>`` as MLIR does; xDSL 0.74 prints them so and reads 65408."""

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        found = super()._parse_tensor_literal_element()
        if found.span.text.lower().startswith("0x"):
            return _Element(found.is_negative, found.value, found.span)
        return found
