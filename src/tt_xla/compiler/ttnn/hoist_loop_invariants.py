"""Pass: ops with the same result in every iteration of a loop move before the loop.

So do ops of a branch that depend on parameters alone. Layout changes of captured tensors, prepared weights
and constants leave the functions that loops and cases run. Const-eval then finds in the caller what depends on
parameters alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from tt_xla.compiler import cse
from tt_xla.compiler.analysis.constness import argument_role, tensor_operands
from tt_xla.compiler.rewriting import body, functions, is_pure
from tt_xla.compiler.ttnn.outlining import device_of
from tt_xla.ir.control import CaseOp, LoopBoundAttr, WhileLoopOp, subprograms
from tt_xla.ir.program import Role
from tt_xla.ir.ttcore import ArgumentTypeAttr
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.memory import GetDeviceOp


def run(module: ModuleOp, *, constants: bool) -> None:
    """Hoists out of inner functions first, so that ops can leave several nested functions.

    Args:
        module: TTNN module that is changed in place.
        constants: Also hoists ops without operands; earlier passes still match them where they are used.
    """
    by_name = {function.sym_name.data: function for function in functions(module)}
    calls = [op for function in by_name.values() for op in body(function).ops if subprograms(op)]
    if not calls:
        return
    times = Counter(name for op in calls for name in subprograms(op))
    for op in reversed(calls):
        assert isinstance(op, WhileLoopOp | CaseOp)
        if all(times[name] == 1 for name in subprograms(op)):
            callees = [by_name[name] for name in subprograms(op)]
            for callee in callees:
                _hoist(op, callee, callees, constants)
            _drop_unused(op, callees)
    cse.run(module)


def _first_input(op: WhileLoopOp | CaseOp) -> int:
    """Returns the index of the first operand that the functions take as an argument."""
    return 1 if isinstance(op, CaseOp) else 0


def _fixed(op: WhileLoopOp | CaseOp, callee: FuncOp) -> set[SSAValue]:
    """Returns arguments that are alike in every iteration; for a branch, which may never run, parameters."""
    arguments = body(callee).args
    if isinstance(op, WhileLoopOp):
        return set(arguments[op.state_count :])
    return {argument for argument in arguments if argument_role(callee, argument.index) is not Role.INPUT}


def _hoist(op: WhileLoopOp | CaseOp, callee: FuncOp, callees: Sequence[FuncOp], constants: bool) -> None:
    """Clones invariant ops into the caller and passes their results as further operands."""
    fixed = _fixed(op, callee)
    moved = _movable(body(callee), fixed, constants)
    if not moved:
        return
    caller = op.parent
    assert caller is not None
    offset = _first_input(op)
    known: dict[SSAValue, SSAValue] = {}
    for argument, operand in zip(body(callee).args, op.operands[offset:], strict=True):
        known[argument] = operand
    members = set(moved)
    for inner in moved:
        clone = inner.clone()
        for index, operand in enumerate(inner.operands):
            clone.operands[index] = _device(caller) if isinstance(operand.type, DeviceType) else known[operand]
        caller.insert_op_before(clone, op)
        known.update(zip(inner.results, clone.results, strict=True))
    for inner in moved:
        for result in inner.results:
            if any(use.operation not in members for use in result.uses):
                _pass_on(op, result, known[result], callee, callees)
    for inner in reversed(moved):
        inner.detach()
        inner.erase(safe_erase=False)


def _movable(block: Block, fixed: set[SSAValue], constants: bool) -> list[Operation]:
    """Returns the pure ops of a block that depend on fixed values alone."""
    known = set(fixed)
    movable_ops: list[Operation] = []
    for op in block.ops:
        operands = tensor_operands(op)
        if not is_pure(op) or isinstance(op, GetDeviceOp) or not operands <= known:
            continue
        if operands or constants:
            known.update(op.results)
            movable_ops.append(op)
    return movable_ops if constants else _rooted(movable_ops, fixed)


def _rooted(ops: Iterable[Operation], fixed: set[SSAValue]) -> list[Operation]:
    """Returns the ops that depend on one of the fixed values."""
    known = set(fixed)
    rooted_ops: list[Operation] = []
    for op in ops:
        if tensor_operands(op) & known:
            known.update(op.results)
            rooted_ops.append(op)
    return rooted_ops


def _device(block: Block) -> SSAValue:
    """Returns the device, requested at the top of a block."""
    device = device_of(block)
    owner = device.owner
    assert isinstance(owner, Operation)
    if block.first_op is not None and block.first_op is not owner:
        owner.detach()
        block.insert_op_before(owner, block.first_op)
    return device


def _pass_on(
    op: WhileLoopOp | CaseOp, inside: SSAValue, outside: SSAValue, callee: FuncOp, callees: Sequence[FuncOp]
) -> None:
    """Adds an operand to the loop or case, which its functions take as their last argument."""
    op.operands = [*op.operands, outside]
    for function in callees:
        block = body(function)
        argument = block.insert_arg(outside.type, len(block.args))
        if function is callee:
            inside.replace_all_uses_with(argument)
        _set_attributes(function, [*_attributes(function), DictionaryAttr({"ttcore.argument_type": _INPUT})])


_INPUT = ArgumentTypeAttr(Role.INPUT)


def _attributes(function: FuncOp) -> list[DictionaryAttr]:
    """Returns the attributes of a function's arguments; arguments without any are inputs."""
    if function.arg_attrs is not None:
        return list(function.arg_attrs.data)
    return [DictionaryAttr({"ttcore.argument_type": _INPUT})] * len(function.function_type.inputs)


def _set_attributes(function: FuncOp, attributes: Sequence[DictionaryAttr]) -> None:
    """Sets the attributes of a function's arguments and updates its type."""
    function.properties["arg_attrs"] = ArrayAttr(attributes)
    function.update_function_type()


def _drop_unused(op: WhileLoopOp | CaseOp, callees: Sequence[FuncOp]) -> None:
    """Removes captured operands that no function reads any more."""
    offset = _first_input(op)
    first = op.state_count if isinstance(op, WhileLoopOp) else 0
    bounds = _bounds(op)
    for index in reversed(range(first, len(op.operands) - offset)):
        used = any(body(function).args[index].first_use is not None for function in callees)
        if used or index in bounds.values():
            continue
        op.operands = [operand for place, operand in enumerate(op.operands) if place != index + offset]
        for function in callees:
            attributes = _attributes(function)
            del attributes[index]
            body(function).erase_arg(body(function).args[index])
            _set_attributes(function, attributes)
        bounds = {name: place - (place > index) for name, place in bounds.items()}
    for name, place in bounds.items():
        op.properties[name] = LoopBoundAttr((0, place))


def _bounds(op: WhileLoopOp | CaseOp) -> dict[str, int]:
    """Returns the indices of operands that bound a loop, by property name."""
    if isinstance(op, CaseOp):
        return {}
    bounds = {name: op.value(name) for name in ("initial", "limit", "step")}
    return {name: bound[1] for name, bound in bounds.items() if bound is not None and bound[1] is not None}
