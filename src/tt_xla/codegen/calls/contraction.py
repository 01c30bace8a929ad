"""Matrix products."""

from __future__ import annotations

from tt_xla.codegen.calls.elementwise import activation
from tt_xla.codegen.calls.registry import Op, calls, compute_config, given
from tt_xla.codegen.expressions import Call, Expression


@calls("ttnn.matmul", "ttnn.linear")
def matmul(op: Op) -> Call:
    keywords: dict[str, Expression] = given(bias=op["bias"])
    keywords |= {name: op.get(name) for name in ("transpose_a", "transpose_b") if op.get(name)}
    keywords |= given(
        memory_config=op.memory,
        dtype=op.dtype,
        activation=activation(op.get("activation")),
        compute_kernel_config=compute_config(op.get("compute_config")),
    )
    return Call(op.instruction.op, (op["a"], op["b"]), keywords)
