"""Parses and prints the text of TTIR and TTNN modules."""

from __future__ import annotations

import io
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from tt_xla.errors import MalformedModuleError
from tt_xla.ir import ttcore, ttir, ttnn
from tt_xla.ir.older_forms import TensorEmptyOp, drop_destinations
from tt_xla.ir.parsing import LenientContext, MLIRParser
from tt_xla.ir.ttnn.window import ConvTranspose2dOp


def context(*, unknown_ops: bool = False) -> Context:
    """Returns an xDSL context with every dialect of this project.

    Args:
        unknown_ops: whether to keep ops of other dialects too.
    """
    lenient_context = LenientContext(unknown_ops=unknown_ops)
    for dialect in (Builtin, Func, ttcore.TTCore, ttir.dialect(), ttnn.dialect()):
        lenient_context.load_dialect(dialect)
    lenient_context.load_op(TensorEmptyOp)
    return lenient_context


def print_module(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """Returns the module as MLIR text.

    Args:
        module: the module.
        generic: whether to print the generic form, which any MLIR parser reads if it allows unregistered dialects.
        locations: whether to print the locations of ops.
    """
    stream = io.StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    return _with_aliases(module, stream.getvalue()) + "\n"


def _with_aliases(module: ModuleOp, text: str) -> str:
    """Returns the text with each layout and buffer type as an alias at the top, named as in upstream's text."""
    layouts: dict[ttnn.attrs.TTNNLayoutAttr, None] = {}
    for op in module.walk():
        values = [
            *op.results,
            *(argument for region in op.regions for block in region.blocks for argument in block.args),
        ]
        for value in values:
            encoding = getattr(value.type, "encoding", None)
            if isinstance(encoding, ttnn.attrs.TTNNLayoutAttr):
                layouts.setdefault(encoding)
    aliases: list[str] = []
    for index, layout in enumerate(layouts):
        alias = f"#ttnn_layout{index or ''}"
        text = text.replace(f"{layout},", f"{alias},").replace(f"{layout}>", f"{alias}>")
        aliases.append(f"{alias} = {layout}")
    head = "\n".join(aliases)
    for buffer in sorted({layout.data.buffer for layout in layouts}):
        name = ttnn.attrs.BufferTypeAttr(buffer)
        head = head.replace(str(name), f"#{buffer}")
        head = f"#{buffer} = {name}\n{head}"
    return f"{head}\n{text}" if head else text


_PARSER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that xDSL's parser lets out besides its own: NotImplementedError for a semi-affine map, RecursionError for
deep nesting. A lack of memory, or a module that cannot be imported, says nothing about the text."""


def parse_module(text: str, name: str = "<text>", *, unknown_ops: bool = False) -> ModuleOp:
    """Parses and verifies a module of TTIR or TTNN, ours or a dump of upstream's.

    Args:
        text: MLIR text.
        name: name of the text for errors, such as a path.
        unknown_ops: whether to keep ops of other dialects instead of refusing them.

    Raises:
        MalformedModuleError: the text does not parse, or breaks a rule of a dialect; the message has line and column.
    """
    try:
        module = MLIRParser(context(unknown_ops=unknown_ops), text, name).parse_module()
        drop_destinations(module)
        _settle_padding(module)
    except ParseError as error:
        raise _malformed(name, error.msg, *_place(text, error.span.start)) from error
    except RecursionError as error:
        raise _malformed(name, "its regions, types or attributes are nested too deeply to be read") from error
    except (*_PARSER_ERRORS, VerifyException, DiagnosticException) as error:
        raise _malformed(name, f"{type(error).__name__}: {error}") from error
    try:
        _check_order(module)
        module.verify()
    except (*_PARSER_ERRORS, VerifyException, DiagnosticException) as error:
        if isinstance(error, _EarlyUseError):
            op, reason = error.op, str(error)
        else:
            op, reason = _broken_op(module) or (module, str(error).partition("\n\n")[0])
        place: Any = op.location
        at = (place.line.data, place.column.data) if isinstance(place, FileLineColLoc) else ()
        raise _malformed(name, reason, *at, file=place.filename.data if at else "") from error
    return module


def _check_order(module: ModuleOp) -> None:
    """Checks that each op comes after those whose results it reads, which xDSL does not.

    Raises:
        VerifyException: an op comes before. Regions of several blocks, which no op of ours has, are not checked.
    """
    seen: set[Operation] = set()
    for op in module.walk():
        for position, operand in enumerate(op.operands):
            owner = operand.owner
            if not isinstance(owner, Operation) or owner in seen:
                continue
            region = owner.parent_region()
            if region is not None and len(region.blocks) == 1:
                raise _EarlyUseError(op, f"operand {position} is the result of a later '{owner.name}' op")
        seen.add(op)


class _EarlyUseError(VerifyException):
    """An op reads a result of a later one."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(f"'{op.name}' op: {reason}")
        self.op = op


def _malformed(name: str, reason: str, line: int = 0, column: int = 0, file: str = "") -> MalformedModuleError:
    """Returns the error of a text.

    Args:
        name: name of the text.
        reason: what is wrong.
        line: line of the error, from 1; 0 if it is not known.
        column: column of the error, from 1.
        file: file that the line belongs to, if it is another one than the text.
    """
    words = " ".join(reason.split()).rstrip(".")
    place = "" if not line else f"line {line}, column {column}: " if file in ("", name) else f"{file}:{line}:{column}: "
    return MalformedModuleError(f"'{name}' is not a well-formed TTIR or TTNN module: {place}{words}.")


def _place(text: str, position: int) -> tuple[int, int]:
    """Returns the line and column of a position in a text, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _broken_op(module: ModuleOp) -> tuple[Operation, str] | None:
    """Returns the first op that breaks a rule by itself, and the rule; None if no op does."""
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except (*_PARSER_ERRORS, VerifyException, DiagnosticException) as error:
            reason = str(error).partition("\n\n")[0]
            return op, reason if op.name in reason else f"'{op.name}' op: {reason}"
    return None


def _settle_padding(module: ModuleOp) -> None:
    """Reorders the padding of transposed convolutions where only the other order gives the result's shape.

    Upstream's dumps keep TTIR's order (top, left, bottom, right); TT-NN's order is top, bottom, left, right.
    """
    for op in module.walk():
        if isinstance(op, ConvTranspose2dOp) and len(op.padding) == 4 and not _fits(op):
            top, left, bottom, right = before = op.padding
            op.padding = (top, bottom, left, right)
            if not _fits(op):
                op.padding = before


def _fits(op: ConvTranspose2dOp) -> bool:
    """Whether the op's properties give the shape of its result."""
    try:
        return op.result_shape() == op.result.type.get_shape()
    except ValueError:
        return False
