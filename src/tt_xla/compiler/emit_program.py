"""Conversion of a TTNN module to a Program: plain data, with the predicted cost of every instruction."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tt_xla.compiler.instructions import plain_value
from tt_xla.compiler.locations import describe
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.errors import VerificationError
from tt_xla.ir.base import TTOp, operand_names, shape
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import (
    FUNCTION_TYPE,
    KV_CACHE,
    Argument,
    Cost,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Operand,
    Program,
    Result,
    TensorSpec,
)
from tt_xla.ir.ttnn.attributes import DeviceType, layout_of
from tt_xla.ir.ttnn.host import HostCallOp
from tt_xla.ir.ttnn.memory import GetDeviceOp
from tt_xla.ir.ttnn.trace import TRACE_ID
from tt_xla.options import CompileOptions
from tt_xla.target import Target

_TRACE_ID = TensorLayout.of((), DataType.U32, tiled=False, buffer=BufferType.SYSTEM_MEMORY)
"""Layout of a trace's number, which the host keeps."""


def emit(
    module: ModuleOp,
    name: str,
    arguments: tuple[Argument, ...],
    results: tuple[Result, ...],
    options: CompileOptions,
    target: Target,
    mesh: Mesh | None = None,
) -> Program:
    """Returns the Program of a module, with an empty memory plan.

    Raises:
        MeshError: the target cannot form the mesh.
    """
    emitted = emit_functions(module, target)
    return Program(
        name=name,
        target=target.name,
        options=options.as_dict(),
        arguments=_marked(module, arguments),
        results=results,
        functions=tuple(emitted),
        memory=MemoryPlan(),
        predicted_device_us=predicted_device_us(emitted[0], target, emitted, mesh),
        host_ops=tuple(op for function in functions(module) for op in _host_ops(function)),
        mesh=mesh,
    )


def _marked(module: ModuleOp, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Returns the arguments, with ``written`` set for those that the program writes to."""
    entry = next(filter(is_entry, functions(module)))
    if entry.arg_attrs is None:
        return arguments
    return tuple(
        msgspec.structs.replace(argument, written=True) if KV_CACHE in attributes.data else argument
        for argument, attributes in zip(arguments, entry.arg_attrs.data, strict=True)
    )


def emit_functions(module: ModuleOp, target: Target) -> list[Function]:
    """Returns the functions of a TTNN module, the entry first, with the predicted cost of every instruction.

    Raises:
        VerificationError: a value is used before it is defined, or a tensor has no layout.
        MeshError: the target cannot form the module's mesh.
    """
    try:
        mesh = mesh_of(module)
        emitted = [_function(function, target, mesh) for function in functions(module) if function.body.blocks]
    except VerifyException as error:
        raise VerificationError(f"The module is not in TTNN: {error}.", hint="Lower it first.") from None
    return sorted(emitted, key=lambda function: function.kind is not FunctionKind.FORWARD)


def _host_ops(function: FuncOp) -> Iterator[str]:
    for op in body(function).ops:
        if isinstance(op, HostCallOp):
            yield from op.ops


def _function(function: FuncOp, target: Target, mesh: Mesh | None) -> Function:
    numbers: dict[SSAValue, int] = {}
    specs: list[TensorSpec] = []

    def define(value: SSAValue) -> int:
        numbers[value] = len(specs)
        specs.append(TensorSpec(shape(value), _TRACE_ID if value.type == TRACE_ID else layout_of(value)))
        return numbers[value]

    arguments = tuple(define(argument) for argument in body(function).args)
    results: tuple[int, ...] = ()
    instructions: list[Instruction] = []
    for op in body(function).ops:
        if isinstance(op, ReturnOp):
            results = tuple(numbers[value] for value in op.operands)
        elif isinstance(op, CallOp):
            operands: dict[str, Operand] = {"inputs": tuple(numbers[value] for value in op.operands)}
            callee = {"callee": op.callee.root_reference.data}
            instructions.append(Instruction(op.name, operands, tuple(map(define, op.results)), callee))
        elif isinstance(op, TTOp) and not isinstance(op, GetDeviceOp):
            operands = _operands(op, numbers)
            instructions.append(
                _instruction(op, operands, [define(value) for value in op.results], specs, target, mesh)
            )
        elif isinstance(op, UnregisteredOp):
            inputs: dict[str, Operand] = {"inputs": tuple(numbers[value] for value in op.operands if value in numbers)}
            plain_op = Instruction(op.op_name.data, inputs, tuple(map(define, op.results)), {}, describe(op.location))
            cost = instruction_cost(plain_op, specs, target, mesh)
            instructions.append(msgspec.structs.replace(plain_op, cost=cost))
    kind = FunctionKind(getattr(function.attributes.get(FUNCTION_TYPE), "data", FunctionKind.FORWARD.value))
    if kind is FunctionKind.FORWARD and not is_entry(function):
        kind = FunctionKind.SUBPROGRAM
    return Function(function.sym_name.data, kind, arguments, results, tuple(specs), tuple(instructions))


def _instruction(
    op: TTOp,
    operands: dict[str, Operand],
    results: list[int],
    specs: list[TensorSpec],
    target: Target,
    mesh: Mesh | None,
) -> Instruction:
    attributes = {name: plain_value(value) for name, value in op.values().items()}
    bare = Instruction(op.name, operands, tuple(results), attributes)
    cost: Cost = instruction_cost(bare, specs, target, mesh)
    return Instruction(op.name, operands, bare.results, attributes, describe(op.location), cost)


def _operands(op: Operation, numbers: dict[SSAValue, int]) -> dict[str, Operand]:
    """Returns the numbers of an op's operands by operand name.

    Raises:
        VerificationError: an operand is used before it is defined.
    """
    for operand in op.operands:
        if not isinstance(operand.type, DeviceType) and operand not in numbers:
            raise VerificationError(
                f"'{op.name}' uses a value before it is defined.",
                location=describe(op.location),
                hint="This is a fault of tt-xla; please report it.",
            )
    named: dict[str, Operand] = {}
    for name in operand_names(type(op)):  # pyright: ignore[reportArgumentType]
        value = getattr(op, name)
        if isinstance(value, SSAValue):
            if not isinstance(value.type, DeviceType):
                named[name.rstrip("_")] = numbers[value]
        elif value is not None:
            named[name.rstrip("_")] = tuple(numbers[item] for item in value)
    return named
