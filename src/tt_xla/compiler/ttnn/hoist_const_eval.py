"""Pass: ops that depend on parameters and constants alone move to functions that run once.

Connected ops form one function. ``ttcore.load_cached`` returns its results, which are recomputed only when a parameter
changes. Source: tt-mlir ``ConstEvalHoistTransform``.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import constant_values, tensor_operands
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.compiler.ttnn.outlining import move_ops, private_function
from tt_xla.ir.program import FunctionKind
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType


def run(module: ModuleOp) -> None:
    """Hoists the constant ops of every entry function."""
    for function in functions(module):
        if not is_entry(function):
            continue
        for index, component in enumerate(_components(function)):
            name = f"{function.sym_name.data}_const_eval_{index}"
            module.body.block.insert_op_before(_hoist(function, component, name), function)


def _components(function: FuncOp) -> list[list[Operation]]:
    """Returns constant ops in program order, grouped by the values that they pass to each other."""
    constants = constant_values(function)
    group: dict[Operation, list[Operation]] = {}
    for op in body(function).ops:
        if not op.results or not all(result in constants for result in op.results):
            continue
        component = [op]
        for operand in tensor_operands(op):
            before = group.get(operand.owner) if isinstance(operand.owner, Operation) else None
            if before is not None and before is not component:
                component = before + component
                group.update(dict.fromkeys(component, component))
        group[op] = component
    order = {op: position for position, op in enumerate(body(function).ops)}
    unique = {id(members): members for members in group.values()}
    return [sorted(members, key=order.__getitem__) for members in unique.values()]


def _hoist(function: FuncOp, component: list[Operation], name: str) -> FuncOp:
    """Moves ops to a new function, loads its results in their place, and returns the function."""
    members = set(component)
    inputs = _unique(
        operand
        for op in component
        for operand in op.operands
        if operand.owner not in members and not isinstance(operand.type, DeviceType)
    )
    outputs = _unique(
        result for op in component for result in op.results if any(use.operation not in members for use in result.uses)
    )
    loaded = LoadCachedOp.make([inputs], [value.type for value in outputs], component[-1].location, callee=name)
    Rewriter.insert_op(loaded, InsertPoint.at_start(body(function)))
    for old, new in zip(outputs, loaded.results, strict=True):
        old.replace_uses_with_if(new, lambda use: use.operation not in members)
    block = Block(arg_types=[value.type for value in inputs])
    move_ops(component, block, inputs)
    block.add_op(ReturnOp(*outputs))
    return private_function(name, block, outputs, FunctionKind.CONST_EVAL)


def _unique(values: Iterable[SSAValue]) -> list[SSAValue]:
    """Returns values without repetitions, in order."""
    return list(dict.fromkeys(values))
