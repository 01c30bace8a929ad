"""Pass: parameters that only const-eval functions read stay in host memory; the device holds their results.

Source: tt-mlir ``TTNNConstEvalInputsToSystemMemory``.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttnn.outlining import device_of
from tt_xla.ir.base import only_user, shape
from tt_xla.ir.layout import BufferType
from tt_xla.ir.program import FUNCTION_TYPE
from tt_xla.ir.ttcore import LoadCachedOp
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.memory import ToDeviceOp, ToLayoutOp, TypecastOp
from tt_xla.ir.ttnn.structure import ReshapeOp


def run(module: ModuleOp) -> None:
    """Moves parameters that only const-eval functions read to the host, in every forward function."""
    by_name = {function.sym_name.data: function for function in functions(module)}
    for function in functions(module):
        if FUNCTION_TYPE in function.attributes:
            continue
        for argument in body(function).args:
            loads = [use.operation for use in argument.uses if isinstance(use.operation, LoadCachedOp)]
            if loads and len(loads) == len(list(argument.uses)) and layout_of(argument).on_device:
                for load in loads:
                    _read_from_host(load, argument, by_name[load.callee])
                _to_host(argument)
        function.update_function_type()


def _read_from_host(load: LoadCachedOp, argument: SSAValue, function: FuncOp) -> None:
    """Makes a const-eval function bring an argument to the device, tilized and converted on the host."""
    argument_inside = body(function).args[list(load.inputs).index(argument)]
    device_layout = layout_of(argument_inside)
    device = device_of(body(function))
    inner = _to_host(argument_inside)
    cast = only_user(inner)
    replaced = inner
    if isinstance(cast, TypecastOp):
        device_layout, replaced = layout_of(cast.result), cast.result
    reshape = only_user(replaced)
    new_ops: list[Operation] = []
    value: SSAValue = inner
    if isinstance(reshape, ReshapeOp) and layout_of(reshape.result).bytes < device_layout.bytes:
        # A reshape on the host is a view and leaves less to move: 1x1 weights would take a tile per element.
        replaced, device_layout = reshape.result, layout_of(reshape.result)
        rows = layout_of(inner).with_(shape(replaced))
        new_ops.append(
            ReshapeOp.make([inner], [laid_out(shape(replaced), rows)], reshape.location, shape=shape(replaced))
        )
        value = new_ops[-1].results[0]
    sizes = shape(value)
    on_host = device_layout.with_(sizes, buffer=BufferType.SYSTEM_MEMORY)
    if on_host != layout_of(value):
        new_ops.append(ToLayoutOp.make([value], [laid_out(sizes, on_host)]))
        value = new_ops[-1].results[0]
    new_ops.append(ToDeviceOp.make([value, device], [laid_out(sizes, device_layout)]))
    replaced.replace_uses_with_if(new_ops[-1].results[0], lambda use: use.operation not in new_ops)
    Rewriter.insert_op(new_ops, InsertPoint.after(_owner(device)))
    for absorbed in (reshape, cast):
        if isinstance(absorbed, ReshapeOp | TypecastOp) and not absorbed.results[0].uses:
            Rewriter.erase_op(absorbed)
    function.update_function_type()


def _owner(value: SSAValue) -> Operation:
    """Returns the op that produces a value."""
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner


def _to_host(argument: BlockArgument) -> SSAValue:
    """Moves an argument to the host and returns the new argument."""
    layout = layout_of(argument).with_(shape(argument), tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    return Rewriter.replace_value_with_new_type(argument, laid_out(shape(argument), layout))
