"""With ``enable_trace``: everything after the cached constants becomes one function that is recorded and replayed."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.hoist_const_eval import FUNCTION_TYPE, device_of, private_function
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import FunctionKind
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import DeviceType, layout_of
from tt_xla.ir.ttnn.memory import CaptureOrExecuteTraceOp, GetDeviceOp


def run(module: ModuleOp) -> None:
    """Raises:
    UnsupportedOpError: an op that would be recorded works in host memory.
    """
    for function in functions(module):
        if FUNCTION_TYPE not in function.attributes:
            _hoist(module, function)


def _hoist(module: ModuleOp, function: FuncOp) -> None:
    ops = [op for op in body(function).ops if not isinstance(op, LoadCachedOp | GetDeviceOp | ReturnOp)]
    end = body(function).last_op
    if not ops or end is None:
        return
    _check_on_device(ops)
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


def _check_on_device(ops: list[Operation]) -> None:
    for op in ops:
        for value in (*op.operands, *op.results):
            if not isinstance(value.type, DeviceType) and not layout_of(value).on_device:
                raise UnsupportedOpError(
                    f"'{op.name}' works in host memory, so it cannot be part of a trace.",
                    location=describe(op.location),
                    hint="Make the weight of this op a parameter of the model, or turn enable_trace off.",
                )
