"""A function before or after an elementwise op of two operands becomes part of it: one kernel, one pass over memory."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.constness import is_constant
from tt_xla.compiler.rewriting import pattern
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.configs import UNARIES

_BINARY = tuple(ttnn.BINARY_OPS[name] for name in ("add", "divide", "multiply", "subtract"))
_NAMES = ("abs", "exp", "gelu", "log", "neg", "relu", "relu6", "rsqrt", "sigmoid", "silu", "sqrt", "tanh")
_FUNCTIONS: dict[type[Operation], str] = {ttnn.UNARY_OPS[name]: name for name in _NAMES}
"""Those that TT-NN's binary kernels apply (tried in mock mode); upstream does some of them."""
_BEFORE = ("input_tensor_a_activations", "input_tensor_b_activations")


@pattern(*_BINARY)
def function_before(op: TTOp, rewriter: PatternRewriter) -> None:
    """op(f(x), y) and op(x, f(y)), where nothing else uses f."""
    if not _is_float(op):
        return
    for value, name in zip(op.operands, _BEFORE, strict=True):
        made = _function(value)
        if made is None or op.value(name) is not None or only_user(value) is not op:
            continue
        if is_constant(value) and not all(is_constant(operand) for operand in op.operands):
            continue  # const-eval computes it once
        op.properties[name] = UNARIES.encode(((("op_type", _FUNCTIONS[type(made)]),),))
        op.operands[op.operands.index(value)] = made.operands[0]
        rewriter.notify_op_modified(op)
        return


@pattern(*_FUNCTIONS)
def function_after(op: Operation, rewriter: PatternRewriter) -> None:
    """f(op(x, y)), where nothing else uses the result of op."""
    value = op.operands[0]
    made = value.op if isinstance(value, OpResult) else None
    if not isinstance(made, _BINARY) or only_user(value) is not op or not _is_float(made):
        return
    if value.type == op.results[0].type and made.value("activations") is None:
        made.properties["activations"] = UNARIES.encode(((("op_type", _FUNCTIONS[type(op)]),),))
        rewriter.replace(op, [], [value])


def _function(value: SSAValue) -> Operation | None:
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and type(op) in _FUNCTIONS and op.operands[0].type == value.type else None


def _is_float(op: TTOp) -> bool:
    """Whether operands and result have one floating-point type."""
    kinds = {layout_of(value).dtype for value in (*op.operands, *op.results)}
    return len(kinds) == 1 and kinds.pop().is_float


PATTERNS = (function_before, function_after)
