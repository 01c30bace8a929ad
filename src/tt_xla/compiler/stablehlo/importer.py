"""StableHLO to TTIR: a walk over jaxlib's operations, one converter an op, no text in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from jaxlib.mlir import ir
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.locations import describe
from tt_xla.compiler.stablehlo import complex_pairs, scalars
from tt_xla.compiler.stablehlo.annotations import check_one_device, marked_arguments
from tt_xla.compiler.stablehlo.fallback import call_host, is_callback, on_host
from tt_xla.compiler.stablehlo.types import (
    DynamicShapeError,
    NoElementsError,
    chip_type,
    convert_type,
    forget_types,
    is_empty,
)
from tt_xla.errors import InternalCompilerError, MalformedModuleError, TTXLAError, UnsupportedOpError
from tt_xla.ir.base import Tensor, TTOp, shape, tensor_type
from tt_xla.ir.program import DONOR, WEIGHT_DTYPE, WEIGHT_DTYPES, Argument, Result, Role
from tt_xla.ir.ttcore import ArgumentTypeAttr
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.host import HostCallOp
from tt_xla.registry import Registry

Converter = Callable[["Importer", Any], "SSAValue | Sequence[SSAValue] | None"]
"""Gives what the results of an op become; None when they have no values."""
CONVERTERS: Registry[str, Converter] = Registry("converter")
converts = CONVERTERS.register
"""Registers the converter of StableHLO ops by their full names."""

FOLDS_EMPTY: Registry[str, Converter] = Registry("fold of empty operands")
folds_empty = FOLDS_EMPTY.register
"""Registers what StableHLO ops give, with elements, where an operand has none."""

DONATION = ("tf.aliasing_output", DONOR)
"""What says of an argument that its caller gives up its memory, to a result or to any use."""

_FILE_LINE = re.compile(r'"([^"]*)":(\d+):(\d+)')


class Importer:
    """The state of one import: the block that is being filled, and TTIR values by StableHLO value."""

    def __init__(
        self, block: Block, functions: Mapping[str, Any], *, host_fallback: bool, approximate: bool = True
    ) -> None:
        self.block = block
        self.functions = functions
        self.host_fallback = host_fallback
        self.approximate = approximate
        """Whether infinities and NaN may spread, and products be rounded as the matrix unit rounds them."""
        self.off_chip: set[Any] = set()
        """StableHLO values that the chip cannot hold; every op that uses one runs on the host."""
        self.all_on_chip = True
        """Whether there has been no such value yet, as in most programs, so that nothing needs a look."""
        self.folds_scalars = False
        """Whether integer scalars of known operands are computed here and now, as in loops that are written out."""
        self.kept: list[Any] = []
        """Modules made along the way, whose values are keys here."""
        self.call_stack: list[str] = []
        self.calls: list[Any] = []
        """The calls that are being converted in place, outermost first."""
        self.donated: set[SSAValue] = set()
        """Arguments whose memory the program may write to: their caller gives them up."""
        self.function = "main"
        """The TTIR function that is being filled."""
        self.subprograms: dict[str, FuncOp | None] = {}
        """Functions made of regions, by name, in the order in which they were begun; None until they are complete."""
        self.pairs: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}
        """The real and the imaginary part of complex tensors, where both are on the chip."""
        self.values: dict[Any, SSAValue] = {}
        self.location: Any = UnknownLoc()

    def __getitem__(self, value: Any) -> SSAValue:
        return self.values[value]

    def operands(self, op: Any) -> list[SSAValue]:
        return [self.values[operand] for operand in op.operands]

    def emit(self, op: type[TTOp], operands: Sequence[SSAValue | None], result: Tensor, **values: Any) -> SSAValue:
        """Appends an op with one result."""
        made = op.make(operands, [result], self.location, **values)
        self.block.add_op(made)
        return made.results[0]

    def result_type(self, op: Any, index: int = 0) -> Tensor:
        return chip_type(op.results[index].type)

    def new_name(self, name: str) -> str:
        """A name for a function, which it takes."""
        taken, count = name, 0
        while taken in self.subprograms:
            taken, count = f"{name}_{count}", count + 1
        self.subprograms[taken] = None
        return taken

    def subprogram(self, name: str) -> FuncOp:
        """The complete function of a name."""
        found = self.subprograms[name]
        assert found is not None
        return found

    def follows_host(self, op: Any) -> bool:
        """Whether the host makes the one operand of an op."""
        return self.host_fallback and isinstance(self.values[op.operands[0]].owner, HostCallOp)

    def bind(self, value: Any, made: SSAValue) -> None:
        """Notes what a StableHLO value became."""
        self.values[value] = made
        if self.all_on_chip:
            return
        if on_host(made):
            self.off_chip.add(value)
        else:
            self.off_chip.discard(value)

    def inline(self, function: Any, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Converts the body of a function in place; its results.

        Raises:
            MalformedModuleError: the function calls itself.
        """
        name = function.name.value
        if name in self.call_stack:
            raise MalformedModuleError(f"Function @{name} calls itself: {' -> '.join([*self.call_stack, name])}.")
        blocks = function.regions[0].blocks
        if len(blocks) != 1:
            raise MalformedModuleError(f"Function @{name} has {len(blocks)} blocks, expected one without jumps.")
        self.call_stack.append(name)
        block = blocks[0]
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.bind(argument, value)
        try:
            return self.convert_block(block)
        finally:
            self.call_stack.pop()

    def convert_block(self, block: Any) -> list[SSAValue]:
        """Converts the ops of a block in place; what its terminator returns."""
        returned: list[SSAValue] = []
        for op in block.operations:
            if op.operation.name in ("func.return", "stablehlo.return"):
                returned = self.operands(op)
            elif not (self.folds_scalars and fold_scalar(self, op)):
                _convert(self, op)
        return returned

    def reject(self, op: Any, why: str) -> UnsupportedOpError:
        """The error for a use of an op that has no lowering."""
        name = op.operation.name
        types = ", ".join(str(operand.type) for operand in op.operands)
        return UnsupportedOpError(
            f"failed to legalize operation '{name}' on ({types}): {why}.",
            location=describe(self.location),
            hint="Rewrite this part of the model with other ops, or run it outside the compiled part.",
        )


def import_module(
    module: ir.Module, *, host_fallback: bool = True, approximate: bool = True
) -> tuple[ModuleOp, tuple[Argument, ...], tuple[Result, ...]]:
    """TTIR of a StableHLO module, calls converted in place, and what its one public function declares.

    Args:
        host_fallback: what has no lowering becomes a call of the host instead of an error.
        approximate: also where infinities and NaN are not kept as they are, or float32 is rounded to 19 bits.

    Raises:
        MalformedModuleError: there is not exactly one public function.
        UnsupportedOpError: an op, or this use of it, has no lowering; with the user's source line.
    """
    try:
        return _import(module, host_fallback=host_fallback, approximate=approximate)
    except DynamicShapeError:
        from tt_xla.compiler.stablehlo.expand import refine

        refined = refine(module)
        return _import(refined, host_fallback=host_fallback, approximate=approximate)
    finally:
        forget_types()


def _import(
    module: Any, *, host_fallback: bool, approximate: bool
) -> tuple[ModuleOp, tuple[Argument, ...], tuple[Result, ...]]:
    function = _public_function(module)
    check_one_device(module, function)
    source = function.regions[0].blocks[0]
    arguments = tuple(_arguments(function))
    block = Block(arg_types=[convert_type(argument.type) for argument in source.arguments])
    functions = {op.name.value: op for op in _functions(module)}
    importer = Importer(block, functions, host_fallback=host_fallback, approximate=approximate)
    importer.all_on_chip = not any(on_host(argument) for argument in block.args)
    donated = _donated(function)
    for made, declared in zip(block.args, arguments, strict=True):
        made.name_hint = _name_hint(declared.name)
        if made.index in donated and declared.role is Role.INPUT:
            importer.donated.add(made)
    returned = importer.inline(function, block.args)
    results = tuple(Result(*_declared(type_)) for type_ in function.type.results)
    block.add_op(ReturnOp(*returned))
    signature = ([arg.type for arg in block.args], [value.type for value in returned])
    given = (made in importer.donated for made in block.args)
    weights = _weight_dtypes(function, len(arguments))
    attributes = ArrayAttr([*map(_argument_attributes, arguments, given, weights)])
    made = FuncOp("main", signature, Region(block), visibility="public", arg_attrs=attributes)
    if not importer.subprograms:
        return ModuleOp([made]), arguments, results
    from tt_xla.compiler.stablehlo.subprograms import set_roles

    functions_made = [made, *filter(None, importer.subprograms.values())]
    set_roles(functions_made)
    return ModuleOp(functions_made), arguments, results


def _convert(importer: Importer, op: Any) -> None:
    """Converts one op and notes what its results became.

    Raises:
        UnsupportedOpError: neither the chip nor the host can run the op.
        InternalCompilerError: the converter of the op has a bug. No fallback catches this error.
    """
    importer.location = convert_location(str(op.location))
    try:
        values = _converted(importer, op)
        if values is not None:
            _bind_results(importer, op, values)
    except TTXLAError:
        raise
    except Exception as error:
        raise InternalCompilerError(
            f"The converter of '{op.operation.name}' failed with {type(error).__name__}: {error}.",
            location=describe(importer.location),
            hint="This is a fault of tt-xla; please report it with the module.",
        ) from error


def _converted(importer: Importer, op: Any) -> Sequence[SSAValue] | None:
    """Returns what the results of an op become: on the chip, empty, or made by the host; None if they have no values.

    Raises:
        UnsupportedOpError: neither the chip nor the host can run the op.
    """
    last, before = importer.block.last_op, len(importer.subprograms)
    try:
        values = _converted_on_chip(importer, op)
    except DynamicShapeError:
        raise
    except UnsupportedOpError as error:
        error.location = error.location or describe(importer.location)
        _erase_after(importer.block, last)
        for begun in list(importer.subprograms)[before:]:
            del importer.subprograms[begun]
        if isinstance(error, NoElementsError) and all(is_empty(convert_type(result.type)) for result in op.results):
            importer.all_on_chip = False
            return [_empty(importer, result.type) for result in op.results]
        values = complex_pairs.expand(importer, op, _convert) or call_host(importer, op, error)
        importer.all_on_chip &= not any(on_host(value) for value in values)
    return (values,) if isinstance(values, SSAValue) else values


def _converted_on_chip(importer: Importer, op: Any) -> SSAValue | Sequence[SSAValue] | None:
    """Returns what the op's converter makes of it.

    Raises:
        UnsupportedOpError: the op has no converter, or the chip cannot run it.
    """
    name = op.operation.name
    converter = CONVERTERS.get(name)
    if converter is None:
        raise importer.reject(op, "tt-xla has no lowering for it")
    if importer.off_chip and not _takes_any(op) and not importer.off_chip.isdisjoint(op.operands):
        _without_elements(op)
        converter = _of_empty(importer, op)
        if converter is None:
            raise importer.reject(op, "it works on a tensor that the chip cannot hold")
    if name in _FOLLOWERS and importer.follows_host(op):
        raise importer.reject(op, "it shrinks what the host has made")
    return converter(importer, op)


def _bind_results(importer: Importer, op: Any, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        expected = convert_type(result.type).get_shape()
        if shape(value) != expected:
            raise ValueError(f"its lowering has shape {shape(value)}, expected {expected}")
        importer.bind(result, value)


def _without_elements(op: Any) -> None:
    """
    Raises:
        NoElementsError: no result of an op, which has no effects besides, has elements.
    """
    results = [convert_type(result.type) for result in op.results]
    if op.operation.name != "stablehlo.custom_call" and results and all(is_empty(result) for result in results):
        raise NoElementsError(f"{op.operation.name} makes no elements")


def _of_empty(importer: Importer, op: Any) -> Converter | None:
    """What converts an op that reads a tensor without elements, where that is known."""
    empty = any(is_empty(tensor_type(importer.values[operand])) for operand in op.operands)
    return FOLDS_EMPTY.get(op.operation.name) if empty else None


def fold_scalar(importer: Importer, op: Any) -> bool:
    """Computes an integer scalar of known operands; False when it is not one."""
    if len(op.results) != 1 or not len(op.operands) or not scalars.is_integer_scalar(op.results[0].type):
        return False
    operands: list[int] = []
    for operand in op.operands:
        known = splat(importer.values[operand]) if scalars.is_integer_scalar(operand.type) else None
        if known is None:
            return False
        operands.append(int(known))
    value = scalars.compute(op, operands)
    if value is None or not -(2**31) <= value < 2**31:
        return False
    importer.location = convert_location(str(op.location))
    type_ = importer.result_type(op)
    importer.bind(op.results[0], importer.emit(ConstantOp, [], type_, value=elements(value, type_)))
    return True


_FOLLOWERS = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.slice", "stablehlo.transpose")
"""Ops that stay with the host when it made their operand, as long as no more elements cross to the device for it."""

_STRUCTURAL = (
    "func.call",
    "stablehlo.concatenate",
    "stablehlo.composite",
    "stablehlo.get_tuple_element",
    "stablehlo.optimization_barrier",
    "stablehlo.tuple",
)
"""Ops that pass their operands on to others, or look themselves at which of them the chip holds."""


def _takes_any(op: Any) -> bool:
    """Whether an op takes tensors that the chip cannot hold."""
    return op.operation.name in _STRUCTURAL or is_callback(op.operation)


def _empty(importer: Importer, type_: Any) -> SSAValue:
    """A tensor of no elements."""
    found = convert_type(type_)
    data = DenseIntOrFPElementsAttr(cast(Any, found), BytesAttr(b""))
    return importer.emit(ConstantOp, [], found, value=data)


def _erase_after(block: Block, last: Operation | None) -> None:
    """Drops what a converter emitted before it gave up."""
    while block.last_op is not None and block.last_op is not last:
        block.erase_op(block.last_op)


@converts("func.call")
def call(importer: Importer, op: Any) -> list[SSAValue]:
    importer.calls.append(op)
    try:
        return importer.inline(importer.functions[op.attributes["callee"].value], importer.operands(op))
    finally:
        importer.calls.pop()


def _functions(module: Any) -> list[Any]:
    return [op for op in module.body.operations if op.operation.name == "func.func"]


def _public_function(module: ir.Module) -> Any:
    public = [f for f in _functions(module) if _visibility(f) == "public"]
    if len(public) > 1:
        public = [f for f in public if f.name.value == "main"] or public
    if len(public) != 1:
        raise MalformedModuleError(
            f"Expected exactly one public function, found: {len(public)}.",
            hint="Mark helper functions private, or name the entry function main.",
        )
    if not public[0].regions[0].blocks:
        raise MalformedModuleError(f"Function @{public[0].name.value} has no body.")
    return public[0]


def _visibility(function: Any) -> str:
    if "sym_visibility" not in function.attributes:
        return "public"
    return function.attributes["sym_visibility"].value


def _arguments(function: Any) -> Iterable[Argument]:
    attributes = function.arg_attrs if "arg_attrs" in function.attributes else ()
    given = list(attributes) or [{}] * len(function.regions[0].blocks[0].arguments)
    marks = marked_arguments(function)
    for index, (argument, attrs) in enumerate(zip(function.regions[0].blocks[0].arguments, given, strict=True)):
        role = Role.PARAMETER if index in marks else Role.INPUT
        if "ttcore.argument_type" in attrs:
            role = _role(index, attrs["ttcore.argument_type"])
        name = _name(index, attrs, marks.get(index, f"arg{index}"))
        yield Argument(name, role, *_declared(argument.type))


def _name(index: int, attrs: Any, default: str) -> str:
    if "ttir.name" not in attrs:
        return default
    name = attrs["ttir.name"]
    if not isinstance(name, ir.StringAttr):
        raise MalformedModuleError(f"ttir.name of argument {index} is {name}, expected a string.")
    return name.value


def _role(index: int, attribute: Any) -> Role:
    text = re.sub(r'^#ttcore\.argument_type<(.*)>$|^"(.*)"$', r"\1\2", str(attribute))
    if text not in (*Role, "default"):
        raise MalformedModuleError(
            f"ttcore.argument_type of argument {index} is {attribute}, expected default, {', '.join(Role)}."
        )
    return Role.INPUT if text == "default" else Role(text)


def _declared(type_: Any) -> tuple[tuple[int, ...], str]:
    convert_type(type_)
    ranked = ir.RankedTensorType(type_)
    return tuple(ranked.shape), str(ranked.element_type)


def _donated(function: Any) -> set[int]:
    """The arguments whose memory may hold results, as JAX says it."""
    attributes = function.arg_attrs if "arg_attrs" in function.attributes else ()
    return {index for index, attrs in enumerate(attributes) if any(name in attrs for name in DONATION)}


def _weight_dtypes(function: Any, count: int) -> Iterable[str]:
    """What ``ttcore.weight_dtype`` says of each argument; empty where it says nothing."""
    given = list(function.arg_attrs) if "arg_attrs" in function.attributes else [{}] * count
    for index, attrs in enumerate(given):
        found = str(attrs[WEIGHT_DTYPE]).strip('"') if WEIGHT_DTYPE in attrs else ""
        if found and found not in WEIGHT_DTYPES:
            raise MalformedModuleError(
                f"{WEIGHT_DTYPE} of argument {index} is {found}, expected one of {', '.join(WEIGHT_DTYPES)}."
            )
        yield found


def _argument_attributes(argument: Argument, donated: bool, weight_dtype: str) -> DictionaryAttr:
    given: dict[str, Attribute] = {
        "ttcore.argument_type": ArgumentTypeAttr(argument.role),
        "ttir.name": StringAttr(argument.name),
    }
    if donated:
        given[DONOR] = BoolAttr.from_bool(True)
    if weight_dtype:
        given[WEIGHT_DTYPE] = StringAttr(weight_dtype)
    return DictionaryAttr(given)


def _name_hint(name: str) -> str | None:
    hint = re.sub(r"\W", "_", name)
    return hint if SSAValue.is_valid_name(hint) else None


@lru_cache(maxsize=4096)
def convert_location(text: str) -> Attribute:
    """The innermost file, line and column in the text of an MLIR location."""
    match = _FILE_LINE.search(text)
    if match is None:
        return UnknownLoc()
    return FileLineColLoc(StringAttr(match[1]), IntAttr(int(match[2])), IntAttr(int(match[3])))
