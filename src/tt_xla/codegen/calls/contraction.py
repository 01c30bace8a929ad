"""Matrix products."""

from __future__ import annotations

from tt_xla.codegen.calls.elementwise import activation
from tt_xla.codegen.calls.registry import Op, calls, compute_config, given
from tt_xla.codegen.expressions import Call, Expression
from tt_xla.ir.layout import BufferType


@calls("ttnn.matmul", "ttnn.linear")
def matmul(op: Op) -> Call:
    keywords: dict[str, Expression] = given(bias=op["bias"])
    keywords |= {name: op.get(name) for name in ("transpose_a", "transpose_b") if op.get(name)}
    keywords |= given(
        memory_config=op.memory,
        dtype=op.dtype,
        activation=activation(op.get("activation")),
        compute_kernel_config=compute_config(op.get("compute_config")),
        core_grid=_grid(op),
    )
    return Call(op.instruction.op, (op["a"], op["b"]), keywords)


def _grid(op: Op) -> Expression:
    """Said only where TT-NN's own choice fails: looking for room in L1 for a product with bias, it takes the transposed
    operand for one that is not (TT-NN 0.81, ``matmul_utilities.cpp:195``)."""
    tensors = [op.spec(name) for name in ("a", "b")] + [op.result]
    if op["bias"] is None or not op.get("transpose_b") or all(t.layout.buffer is not BufferType.L1 for t in tensors):
        return None
    rows, columns = op.target.grid
    return Call("ttnn.CoreGrid", (), {"y": rows, "x": columns})
