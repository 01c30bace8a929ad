"""Declarations of an entry function of TTIR or TTNN: names, roles and element types of arguments and results."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body
from tt_xla.compiler.tt_modules.element_types import declared
from tt_xla.errors import MalformedModuleError, UnsupportedOpError
from tt_xla.ir.base import ELEMENT_TYPES, tensor_type
from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Argument, Result, Role
from tt_xla.ir.ttcore import ArgumentTypeAttr
from tt_xla.ir.ttnn.attributes import DeviceType, TTNNLayoutAttr, layout_of
from tt_xla.ir.ttnn.memory import GetDeviceOp
from tt_xla.ir.ttnn.trace import TRACE_ID

ROLE, OLD_ROLE, NAME = "ttcore.argument_type", "tt.argument_type", "ttir.name"


def of_ttir(entry: FuncOp) -> tuple[tuple[Argument, ...], tuple[Result, ...]]:
    """Returns the signature of an entry function of TTIR, with the element types of the text.

    Raises:
        MalformedModuleError: the name or role of an argument is not one, or a value is no tensor.
        UnsupportedOpError: programs cannot take or return tensors of an element type.
    """
    values = [_of_ttir(argument.type, entry) for argument in body(entry).args]
    return _arguments(entry, values), tuple(Result(*_of_ttir(type_, entry)) for type_ in entry.function_type.outputs)


def of_ttnn(entry: FuncOp) -> tuple[tuple[Argument, ...], tuple[Result, ...]]:
    """Returns the signature of an entry function of TTNN, with the element types of its layouts.

    Raises:
        MalformedModuleError: the name or role of an argument is not one.
    """
    returned = body(entry).last_op
    assert isinstance(returned, ReturnOp)
    results = tuple(Result(*_of_ttnn(value, entry)) for value in returned.operands)
    return _arguments(entry, [_of_ttnn(argument, entry) for argument in body(entry).args]), results


def _of_ttir(type_: Attribute, entry: FuncOp) -> tuple[tuple[int, ...], str]:
    if not isinstance(type_, TensorType) or not type_.has_static_shape():
        raise MalformedModuleError(
            f"Function @{entry.sym_name.data} takes or returns {type_}; expected a ranked tensor of static shape.",
            location=describe(entry.location),
        )
    element = declared(type_.element_type)
    if element is None:
        raise UnsupportedOpError(
            f"Function @{entry.sym_name.data} takes or returns elements of type {type_.element_type}; expected one of "
            f"{', '.join(ElementType)}.",
            location=describe(entry.location),
        )
    return type_.get_shape(), element.value


def _of_ttnn(value: SSAValue, entry: FuncOp) -> tuple[tuple[int, ...], str]:
    if not (isinstance(value.type, TensorType) and isinstance(value.type.encoding, TTNNLayoutAttr)):
        raise MalformedModuleError(
            f"Function @{entry.sym_name.data} takes or returns {value.type}; "
            "expected a tensor with a #ttnn.ttnn_layout.",
            location=describe(entry.location),
        )
    element = declared(ELEMENT_TYPES[layout_of(value).dtype])
    assert element is not None
    return tensor_type(value).get_shape(), element.value


def _arguments(entry: FuncOp, types: list[tuple[tuple[int, ...], str]]) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    for index, (shape, dtype) in enumerate(types):
        attributes = _attributes(entry, index)
        name = attributes.get(NAME, StringAttr(f"arg{index}"))
        if not isinstance(name, StringAttr):
            raise MalformedModuleError(f"{NAME} of argument {index} is {name}, expected a string.")
        role = attributes.get(ROLE) or attributes.get(OLD_ROLE)
        arguments.append(Argument(name.data, _role(index, role), shape, dtype))
    return tuple(arguments)


def _attributes(entry: FuncOp, index: int) -> Mapping[str, Attribute]:
    return {} if entry.arg_attrs is None else entry.arg_attrs.data[index].data


def _role(index: int, attribute: Attribute | None) -> Role:
    if attribute is None:
        return Role.INPUT
    label = attribute.data if isinstance(attribute, ArgumentTypeAttr | StringAttr) else str(attribute)
    if label in (*Role, "default"):
        return Role.INPUT if label == "default" else Role(label)
    raise MalformedModuleError(f"{ROLE} of argument {index} is {attribute}, expected default, {', '.join(Role)}.")


def declare(entry: FuncOp, arguments: tuple[Argument, ...]) -> None:
    """Makes a function public and sets the names and roles of its arguments; other attributes stay."""
    entry.properties["sym_visibility"] = StringAttr("public")
    declarations = [
        DictionaryAttr(
            {name: value for name, value in _attributes(entry, index).items() if name != OLD_ROLE}
            | {ROLE: ArgumentTypeAttr(argument.role), NAME: StringAttr(argument.name)}
        )
        for index, argument in enumerate(arguments)
    ]
    entry.properties["arg_attrs"] = ArrayAttr(declarations)


def request_devices(entry: FuncOp) -> None:
    """Replaces arguments of an entry function that are devices by requests of the device."""
    block = body(entry)
    kept = [index for index, argument in enumerate(block.args) if not isinstance(argument.type, DeviceType)]
    if len(kept) == len(block.args):
        return
    attributes = [DictionaryAttr(dict(_attributes(entry, index))) for index in kept]
    for argument in list(block.args):
        if isinstance(argument.type, DeviceType):
            request = GetDeviceOp.make([], [argument.type], entry.location)
            first = block.first_op
            assert first is not None
            Rewriter.insert_op(request, InsertPoint.before(first))
            argument.replace_all_uses_with(request.results[0])
            block.erase_arg(argument)
    entry.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], list(entry.function_type.outputs)
    )
    entry.properties["arg_attrs"] = ArrayAttr(attributes)


def check_layouts(module: ModuleOp) -> None:
    """Checks that every tensor of a TTNN module has a layout.

    Raises:
        MalformedModuleError: a tensor has none.
    """
    for op in module.walk():
        arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
        for value in (*op.results, *arguments):
            if isinstance(value.type, DeviceType) or value.type == TRACE_ID:
                continue
            if not isinstance(getattr(value.type, "encoding", None), TTNNLayoutAttr):
                raise MalformedModuleError(
                    f"'{op.name}' has a value of type {value.type}; expected a tensor with a layout, "
                    "tensor<..., #ttnn.ttnn_layout<...>>.",
                    hint="Give the TTNN that a compiler wrote, or TTIR.",
                    location=describe(op.location),
                )
