"""Pass: an argument that every user converts in the same way arrives converted.

The lowering takes inputs row-major, as the host has them, while nearly all ops want tiles. Whoever brings a tensor to
the device lays it out once; a tensor that stays between calls, such as a weight, is not converted in each call.
tt-mlir leaves the conversions in the program.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.rewriter import Rewriter

from tt_xla.compiler.rewriting import body, functions, is_entry
from tt_xla.ir.base import users
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.memory import FromDeviceOp, ToLayoutOp


def run(module: ModuleOp) -> None:
    """Changes the argument types of every entry function."""
    for function in functions(module):
        if not is_entry(function):
            continue
        for argument in body(function).args:
            _convert(argument)
        function.update_function_type()


def _convert(argument: BlockArgument) -> None:
    """Moves conversions of an argument to the caller as long as all users agree on one."""
    current = argument
    while True:
        type_ = _wanted(current)
        if type_ is None:
            return
        converted = Rewriter.replace_value_with_new_type(current, type_)
        assert isinstance(converted, BlockArgument)
        for user in users(converted):
            user.results[0].replace_all_uses_with(converted)
            Rewriter.erase_op(user)
        current = converted


def _wanted(argument: BlockArgument) -> Attribute | None:
    """Returns the one type that every user converts the argument to, or None. The element type stays."""
    conversions = users(argument)
    if not conversions or not all(isinstance(user, ToLayoutOp | FromDeviceOp) for user in conversions):
        return None
    types = {user.results[0].type for user in conversions}
    same_dtype = all(layout_of(user.results[0]).dtype is layout_of(argument).dtype for user in conversions)
    return types.pop() if len(types) == 1 and same_dtype else None
