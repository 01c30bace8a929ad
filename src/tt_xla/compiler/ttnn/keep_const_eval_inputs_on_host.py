"""Parameters that only const-eval functions read stay in host memory; the device holds what is made of them.

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


def run(module: ModuleOp) -> None:
    by_name = {function.sym_name.data: function for function in functions(module)}
    for function in functions(module):
        if FUNCTION_TYPE in function.attributes:
            continue
        for argument in body(function).args:
            loads = [use.operation for use in argument.uses if isinstance(use.operation, LoadCachedOp)]
            if loads and len(loads) == len(list(argument.uses)) and layout_of(argument).on_device:
                for load in loads:
                    _read_from_host(load, argument, by_name[load.value("callee")])
                _to_host(argument)
        function.update_function_type()


def _read_from_host(load: LoadCachedOp, argument: SSAValue, function: FuncOp) -> None:
    """The const-eval function itself brings the argument to the device, tilized and converted on the host."""
    given = body(function).args[list(load.inputs).index(argument)]
    wanted = layout_of(given)
    device = device_of(body(function))
    inner = _to_host(given)
    cast = only_user(inner)
    replaced = inner
    if isinstance(cast, TypecastOp):
        wanted, replaced = layout_of(cast.result), cast.result
    on_host = wanted.with_(shape(inner), buffer=BufferType.SYSTEM_MEMORY)
    made: list[Operation] = []
    value: SSAValue = inner
    if on_host != layout_of(inner):
        made.append(ToLayoutOp.make([inner], [laid_out(shape(inner), on_host)]))
        value = made[-1].results[0]
    made.append(ToDeviceOp.make([value, device], [laid_out(shape(inner), wanted)]))
    replaced.replace_uses_with_if(made[-1].results[0], lambda use: use.operation not in made)
    Rewriter.insert_op(made, InsertPoint.after(_owner(device)))
    if isinstance(cast, TypecastOp):
        Rewriter.erase_op(cast)
    function.update_function_type()


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner


def _to_host(argument: BlockArgument) -> SSAValue:
    """The argument that takes the place of this one."""
    layout = layout_of(argument).with_(shape(argument), tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    return Rewriter.replace_value_with_new_type(argument, laid_out(shape(argument), layout))
