"""With ``enable_trace``: everything after the cached constants becomes one function that is recorded and replayed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.hoist_const_eval import FUNCTION_TYPE, device_of, private_function
from tt_xla.ir.program import FunctionKind
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType, layout_of
from tt_xla.ir.ttnn.memory import CaptureOrExecuteTraceOp, GetDeviceOp
from tt_xla.log import logger


def run(module: ModuleOp) -> None:
    """A function with work on the host in its midst, such as a convolution whose weights are computed, stays as it is,
    and a warning says so; a trace holds device work alone."""
    for function in functions(module):
        if FUNCTION_TYPE not in function.attributes:
            _hoist(module, function)


def _hoist(module: ModuleOp, function: FuncOp) -> None:
    ops = [op for op in body(function).ops if not isinstance(op, LoadCachedOp | GetDeviceOp | ReturnOp)]
    end = body(function).last_op
    if not ops or end is None:
        return
    host_op = _on_host(ops)
    if host_op is not None:
        logger().warning(
            "enable_trace: function %s runs untraced, since '%s' at %s works in host memory",
            function.sym_name.data,
            host_op.name,
            describe(host_op.location) or "an unknown line",
        )
        return
    members = set(ops)
    outputs = list(dict.fromkeys(value for value in end.operands if value.owner in members))
    inputs = list(
        dict.fromkeys(
            value
            for op in ops
            for value in op.operands
            if value.owner not in members and not isinstance(value.type, DeviceType)
        )
    )
    device = device_of(body(function))
    name = f"trace_0_{function.sym_name.data}"
    call = CaptureOrExecuteTraceOp.make([device, inputs], [value.type for value in outputs], callee=name)
    Rewriter.insert_op(call, InsertPoint.before(end))
    for old, new in zip(outputs, call.results, strict=True):
        old.replace_uses_with_if(new, lambda use: use.operation is end)
    block = Block(arg_types=[value.type for value in inputs])
    renamed: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    renamed[device] = device_of(block)
    for op in ops:
        op.detach()
        for index, operand in enumerate(op.operands):
            op.operands[index] = renamed.get(operand, operand)
        block.add_op(op)
    block.add_op(ReturnOp(*outputs))
    module.body.block.insert_op_before(private_function(name, block, outputs, FunctionKind.TRACE), function)


def _on_host(ops: list[Operation]) -> Operation | None:
    """The first op that works in host memory."""
    for op in ops:
        for value in (*op.operands, *op.results):
            if not isinstance(value.type, DeviceType) and not layout_of(value).on_device:
                return op
    return None
