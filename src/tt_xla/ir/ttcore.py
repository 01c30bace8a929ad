"""The ``ttcore`` dialect: what TTIR and TTNN share."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FunctionType, SymbolRefAttr
from xdsl.ir import Data, Dialect, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from tt_xla.ir.attributes import LabelAttr, parse_label
from tt_xla.ir.base import SYMBOL, TTOp
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.program import Role


@irdl_attr_definition
class TileType(Data[DataType], TypeAttribute):
    """A 32 x 32 tile of one data type, ``!ttcore.tile<32x32, bf16>``."""

    name = "ttcore.tile"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DataType:
        with parser.in_angle_brackets():
            position = parser.pos
            if tuple(parser.parse_dimension_list()) != (TILE, TILE):
                parser.raise_error(f"expected a tile of {TILE}x{TILE}", position, parser.pos)
            parser.parse_punctuation(",")
            return parse_label(parser, DataType)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{TILE}x{TILE}, {self.data.value}>")


@irdl_attr_definition
class ArgumentTypeAttr(LabelAttr[Role]):
    """What a function argument is: ``input``, ``parameter`` or ``constant``."""

    name = "ttcore.argument_type"
    LABELS = Role


@irdl_attr_definition
class DataTypeAttr(LabelAttr[DataType]):
    """A data type as an attribute, ``#ttcore.supportedDataTypes<bf16>``."""

    name = "ttcore.supportedDataTypes"
    LABELS = DataType


@irdl_op_definition
class LoadCachedOp(TTOp):
    """The results of a const-eval function, computed when an input changes and kept otherwise."""

    name = "ttcore.load_cached"
    inputs = var_operand_def()
    callee = prop_def(SYMBOL)
    outputs = var_result_def()
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_attribute(self.properties["callee"])
        printer.print_string(", [")
        printer.print_list(self.inputs, printer.print_ssa_value)
        printer.print_string("]) : ")
        printer.print_attribute(
            FunctionType.from_lists([value.type for value in self.inputs], [value.type for value in self.outputs])
        )

    @classmethod
    def parse(cls, parser: Parser) -> LoadCachedOp:
        parser.parse_punctuation("(")
        callee = parser.parse_symbol_name()
        parser.parse_punctuation(",")
        names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
        parser.parse_punctuation(")")
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, FunctionType):
            parser.raise_error("expected a function type")
        operands = parser.resolve_operands(names, type_.inputs.data, parser.pos)
        return cls.create(
            operands=operands,
            result_types=type_.outputs.data,
            properties={"callee": SymbolRefAttr(callee, ArrayAttr([]))},
        )


TTCore = Dialect("ttcore", [LoadCachedOp], [TileType, ArgumentTypeAttr, DataTypeAttr])
