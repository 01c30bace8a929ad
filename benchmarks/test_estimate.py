"""Times the cost model on a program of 5,000 distinct ops, as `tt-xla estimate` and the compiler's search use it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tt_xla.cost import model, predicted_device_us
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import Function, FunctionKind, Instruction, TensorSpec
from tt_xla.target import load_target

KINDS = {
    "add": 2,
    "concat": 2,
    "exp": 1,
    "gelu": 1,
    "layer_norm": 1,
    "matmul": 2,
    "multiply": 2,
    "permute": 1,
    "reshape": 1,
    "scaled_dot_product_attention": 3,
    "slice_static": 1,
    "softmax": 1,
    "sum": 1,
    "to_layout": 1,
    "typecast": 1,
}
"""Number of operands by op."""


def program(count: int) -> Function:
    """Builds a function of ``count`` ops, each on tensors of different sizes."""
    draw, specs, body = random.Random(0), [], []

    def value(shape: Sequence[int]) -> int:
        specs.append(TensorSpec(tuple(shape), TensorLayout.of(shape, DataType.BF16)))
        return len(specs) - 1

    for number in range(count):
        op = list(KINDS)[number % len(KINDS)]
        batch, rows, columns, others = draw.randint(1, 8), *(draw.randint(32, 2048) for _ in range(3))
        inputs = [value((1, batch, rows, columns)) for _ in range(KINDS[op])]
        attributes: dict[str, object] = {"permutation": [0, 1, 3, 2]} if op == "permute" else {}
        out = (1, batch, columns, rows) if op == "permute" else (1, batch, rows, columns)
        if op == "matmul":
            inputs[1], out = value((1, batch, columns, others)), (1, batch, rows, others)
        operands = {f"operand{index}": each for index, each in enumerate(inputs)}
        body.append(Instruction(f"ttnn.{op}", operands, (value(out),), attributes))
    return Function("main", FunctionKind.FORWARD, (), (), tuple(specs), tuple(body))


def test_5000_distinct_ops(benchmark):
    function, target = program(5000), load_target("n150")

    def estimate() -> float:
        model.forget_costs()  # otherwise rounds after the first would read cached costs
        return predicted_device_us(function, target)

    assert benchmark(estimate) > 0
