"""Pass for ``enable_trace``: everything after the cached constants becomes one function that is recorded and replayed.

The form is that of tt-mlir's ``TTNNTraceHoistTransform``: ``trace_0_main`` works on tensors at fixed addresses and
writes its results to given tensors. Three more functions allocate these slots, capture the trace, and replay it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.constness import argument_role
from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.compiler.ttnn.outlining import device_of, move_ops, private_function
from tt_xla.ir.base import shape
from tt_xla.ir.control import CaseOp, WhileLoopOp, subprograms
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import FunctionKind, Role
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType, laid_out, layout_of
from tt_xla.ir.ttnn.memory import EmptyOp, GetDeviceOp
from tt_xla.ir.ttnn.trace import (
    TRACE_ID,
    BeginTraceCaptureOp,
    CaptureOrExecuteTraceOp,
    CopyOp,
    EndTraceCaptureOp,
    ExecuteTraceOp,
    WriteTensorOp,
)
from tt_xla.log import logger


def run(module: ModuleOp) -> None:
    """Hoists each entry function into a trace.

    A function with work on the host, such as a convolution whose weights are computed, stays as it is, and a warning
    says so; a trace holds device work alone.
    """
    for function in functions(module):
        if is_entry(function):
            _hoist(module, function)


def _asks(op: Operation) -> bool:
    """Returns whether an op makes the host read a tensor: a case, or a loop whose bounds are computed."""
    if isinstance(op, CaseOp):
        return True
    if not isinstance(op, WhileLoopOp):
        return False
    bounds = [op.value(name) for name in ("initial", "limit", "step")]
    return any(bound is None or bound[1] is not None for bound in bounds)


def _hoist(module: ModuleOp, function: FuncOp) -> None:
    """Moves a function's ops to a trace and calls it."""
    ops = [op for op in body(function).ops if not isinstance(op, LoadCachedOp | GetDeviceOp | ReturnOp)]
    end = body(function).last_op
    if not ops or end is None:
        return
    host_op = _on_host(ops, {new_function.sym_name.data: new_function for new_function in functions(module)})
    if host_op is not None:
        logger().warning(
            "enable_trace: function %s runs untraced, since '%s' at %s needs the host",
            function.sym_name.data,
            host_op.name,
            describe(host_op.location) or "an unknown line",
        )
        return
    members = set(ops)
    outputs = list(dict.fromkeys(value for value in end.operands if value.owner in members))
    resident, staged = _inputs(function, ops)
    slots = [value.type for value in (*staged, *outputs)]
    trace_functions = [
        _trace(f"trace_0_{function.sym_name.data}", ops, [*resident, *staged], outputs),
        _allocate(f"allocate_slots_trace_0_{function.sym_name.data}", slots),
    ]
    inputs = [*resident, *_staged_on_host(function, staged)]
    capture = _capture(
        f"run_and_capture_trace_0_{function.sym_name.data}", trace_functions[0], inputs, len(resident), slots
    )
    execute = _execute(f"execute_trace_0_{function.sym_name.data}")
    call = CaptureOrExecuteTraceOp.make(
        [device_of(body(function)), inputs, []],
        [value.type for value in outputs],
        allocate_slots_callee=trace_functions[1].sym_name.data,
        capture_callee=capture.sym_name.data,
        execute_callee=execute.sym_name.data,
        device_resident_input_count=len(resident),
    )
    Rewriter.insert_op(call, InsertPoint.before(end))
    for old, new in zip(outputs, call.results, strict=True):
        old.replace_uses_with_if(new, lambda use: use.operation is end)
    for new_function in (*trace_functions, capture, execute):
        module.body.block.insert_op_before(new_function, function)


def _inputs(function: FuncOp, ops: Sequence[Operation]) -> tuple[list[SSAValue], list[SSAValue]]:
    """Returns the values that a trace reads: those that stay at their address, and inputs that each call brings."""
    members = set(ops)
    read = dict.fromkeys(
        value
        for op in ops
        for value in op.operands
        if value.owner not in members and not isinstance(value.type, DeviceType)
    )
    staged = [value for value in read if _is_staged(function, value, members)]
    return [value for value in read if value not in staged], staged


def _is_staged(function: FuncOp, value: SSAValue, members: set[Operation]) -> bool:
    """Returns whether a value is an input that only the trace reads, so that each call copies it to a slot."""
    if not isinstance(value, BlockArgument) or argument_role(function, value.index) is not Role.INPUT:
        return False
    return all(use.operation in members for use in value.uses)


def _trace(name: str, ops: Sequence[Operation], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> FuncOp:
    """Returns the function that is recorded. The ops move there; results are copied to its last arguments."""
    block = Block(arg_types=[value.type for value in (*inputs, *outputs)])
    move_ops(ops, block, inputs)
    for output, slot in zip(outputs, block.args[len(inputs) :], strict=True):
        block.add_op(CopyOp.make([output, slot], []))
    block.add_op(ReturnOp())
    return private_function(name, block, [], FunctionKind.TRACE)


def _allocate(name: str, slots: Sequence[Attribute]) -> FuncOp:
    """Returns the function that allocates the slots."""
    block = Block()
    device = device_of(block)
    for type_ in slots:
        block.add_op(EmptyOp.make([device], [type_], shape=type_.get_shape()))  # pyright: ignore
    allocated: list[SSAValue] = [op.results[0] for op in block.ops if isinstance(op, EmptyOp)]
    block.add_op(ReturnOp(*allocated))
    return private_function(name, block, allocated, FunctionKind.TRACE_ALLOCATE_SLOTS)


def _staged_on_host(function: FuncOp, staged: Sequence[SSAValue]) -> list[SSAValue]:
    """Moves staged arguments to the host, since a call only copies them to their slots."""
    moved: list[SSAValue] = []
    for value in staged:
        layout = layout_of(value).with_(shape(value), buffer=BufferType.SYSTEM_MEMORY)
        moved.append(Rewriter.replace_value_with_new_type(value, laid_out(shape(value), layout)))
    function.update_function_type()
    return moved


def _capture(name: str, trace: FuncOp, inputs: Sequence[SSAValue], resident: int, slots: Sequence[Attribute]) -> FuncOp:
    """Returns the function that fills the slots, runs the trace, records it and replays it once."""
    block = Block(arg_types=[*[value.type for value in inputs], *slots])
    device = device_of(block)
    sources, slot_arguments = block.args[: len(inputs)], block.args[len(inputs) :]
    for value, slot in zip(sources[resident:], slot_arguments, strict=False):
        block.add_op(WriteTensorOp.make([value, slot], [], blocking=False, cq_id=0))
    arguments = [*sources[:resident], *slot_arguments]
    block.add_op(CallOp(trace.sym_name.data, arguments, []))
    begin = BeginTraceCaptureOp.make([device], [TRACE_ID], cq_id=0)
    trace_id = begin.results[0]
    block.add_ops(
        [
            begin,
            CallOp(trace.sym_name.data, arguments, []),
            EndTraceCaptureOp.make([device, trace_id], [], cq_id=0),
            ExecuteTraceOp.make([device, trace_id], [], cq_id=0, blocking=False),
            ReturnOp(trace_id),
        ]
    )
    return private_function(name, block, [trace_id], FunctionKind.TRACE_CAPTURE)


def _execute(name: str) -> FuncOp:
    """Returns the function that replays the trace."""
    block = Block(arg_types=[TRACE_ID])
    block.add_op(ExecuteTraceOp.make([device_of(block), block.args[0]], [], cq_id=0, blocking=False))
    block.add_op(ReturnOp())
    return private_function(name, block, [], FunctionKind.TRACE_EXECUTE)


def _on_host(ops: Iterable[Operation], functions: Mapping[str, FuncOp]) -> Operation | None:
    """Returns the first op that works in host memory or makes the host read a tensor, or None.

    Loops whose number of iterations depends on computed values make the host read a tensor.
    """
    for op in ops:
        if _asks(op):
            return op
        for name in subprograms(op):
            host_op = _on_host(body(functions[name]).ops, functions)
            if host_op is not None:
                return host_op
        for value in (*op.operands, *op.results):
            if not isinstance(value.type, DeviceType) and not layout_of(value).on_device:
                return op
    return None
