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
from tt_xla.ir.ttnn.structure import ReshapeOp


def run(module: ModuleOp) -> None:
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
    """The const-eval function itself brings the argument to the device, tilized and converted on the host."""
    given = body(function).args[list(load.inputs).index(argument)]
    wanted = layout_of(given)
    device = device_of(body(function))
    inner = _to_host(given)
    cast = only_user(inner)
    replaced = inner
    if isinstance(cast, TypecastOp):
        wanted, replaced = layout_of(cast.result), cast.result
    reshape = only_user(replaced)
    made: list[Operation] = []
    value: SSAValue = inner
    if isinstance(reshape, ReshapeOp) and layout_of(reshape.result).bytes < wanted.bytes:
        # A view on the host, and less to move: a convolution's weights of 1x1 would be a tile for each element.
        replaced, wanted = reshape.result, layout_of(reshape.result)
        rows = layout_of(inner).with_(shape(replaced))
        made.append(ReshapeOp.make([inner], [laid_out(shape(replaced), rows)], reshape.location, shape=shape(replaced)))
        value = made[-1].results[0]
    sizes = shape(value)
    on_host = wanted.with_(sizes, buffer=BufferType.SYSTEM_MEMORY)
    if on_host != layout_of(value):
        made.append(ToLayoutOp.make([value], [laid_out(sizes, on_host)]))
        value = made[-1].results[0]
    made.append(ToDeviceOp.make([value, device], [laid_out(sizes, wanted)]))
    replaced.replace_uses_with_if(made[-1].results[0], lambda use: use.operation not in made)
    Rewriter.insert_op(made, InsertPoint.after(_owner(device)))
    for absorbed in (reshape, cast):
        if isinstance(absorbed, ReshapeOp | TypecastOp) and not absorbed.results[0].uses:
            Rewriter.erase_op(absorbed)
    function.update_function_type()


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner


def _to_host(argument: BlockArgument) -> SSAValue:
    """The argument that takes the place of this one."""
    layout = layout_of(argument).with_(shape(argument), tiled=False, buffer=BufferType.SYSTEM_MEMORY)
    return Rewriter.replace_value_with_new_type(argument, laid_out(shape(argument), layout))
