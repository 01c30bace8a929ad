"""Asks TT-NN which element types each op takes, and writes ``target/accepted_types.py``.

    python -m benchmarks.accepted_types [--ttnn-python PATH] [--check]

Each op of the table of calls has a sample: an instruction whose data operands take each element type in turn. With
``--check`` the file is compared with TT-NN's answers and not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from tt_xla import target
from tt_xla.codegen.calls import CALLS
from tt_xla.codegen.judge import Judgement, judge
from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.op_table import BINARY, UNARY
from tt_xla.ir.program import Function, FunctionKind, Instruction, MemoryPlan, Operand, Program, TensorSpec

SYSTEM = "p150"
FILE = Path(target.__file__).with_name("accepted_types.py")
"""The file that is written."""

_COMPARISONS = {"eq", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or", "logical_xor"}

_HEAD = '''"""Element types that TT-NN takes as data of each op, in the layout that the lowering gives it.

Written by ``python -m benchmarks.accepted_types`` from the answers of {version} on a mock {system}; not by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

ACCEPTED_TYPES: Mapping[str, str] = {{
'''


@dataclass(frozen=True)
class Sample:
    """One use of an op. An element type of None stands for the type that is tried."""

    operands: Mapping[str, tuple[tuple[int, ...], DataType | None]]
    """Shape and element type of each operand, by name; ``inputs`` is passed twice."""
    result: tuple[int, ...]
    """Shape of the result."""
    attributes: Mapping[str, Any] = field(default_factory=lambda: {})
    tiled: bool = True
    """Whether operands are tiled."""
    result_type: DataType | None = None
    """Element type of the result."""
    result_tiled: bool | None = None
    """Whether the result is tiled; None for the layout of the operands."""


_X = (5, 33)
_IN = {"input": (_X, None)}
_REDUCE = Sample(_IN, (5, 1), {"dim_arg": [1], "keep_dim": True})
_POOL: dict[str, Any] = {
    "batch_size": 1,
    "input_height": 8,
    "input_width": 8,
    "channels": 32,
    "kernel_size": [2, 2],
    "stride": [2, 2],
    "padding": [0, 0, 0, 0],
    "dilation": [1, 1],
    "ceil_mode": False,
}
_POOLED = {"input": ((1, 1, 64, 32), None)}
_NORM = Sample({"input": (_X, None), "weight": ((33,), None), "bias": ((33,), None)}, _X, {"epsilon": 1e-5})
_WIDE = {"compute_config": {"math_fidelity": "hifi4", "fp32_dest_acc_en": True}}
_PART = (1, 1, 32, 64)
_NO_TRANSPOSE = {"transpose_a": False, "transpose_b": False}

SAMPLES: dict[str, Sample] = {
    **{f"ttnn.{row.ttnn}": Sample(_IN, _X) for row in UNARY if row.ttnn},
    **{
        f"ttnn.{row.ttnn}": Sample(
            {"lhs": (_X, None), "rhs": (_X, None)}, _X, result_type=DataType.BF16 if row.ttnn in _COMPARISONS else None
        )
        for row in BINARY
        if row.ttnn
        if row.ttnn
    },
    "ttnn.where": Sample({"first": (_X, None), "second": (_X, None), "third": (_X, None)}, _X),
    "ttnn.clamp_scalar": Sample(_IN, _X, {"min": 0, "max": 3}),
    "ttnn.clamp_tensor": Sample({"input": (_X, None), "min": (_X, None), "max": (_X, None)}, _X),
    "ttnn.leaky_relu": Sample(_IN, _X, {"parameter": 0.1}),
    "ttnn.sum": _REDUCE,
    "ttnn.mean": _REDUCE,
    "ttnn.max": _REDUCE,
    "ttnn.min": _REDUCE,
    "ttnn.prod": _REDUCE,
    "ttnn.argmax": Sample(
        _IN, (5, 1), {"dim": 1, "keep_dim": True}, tiled=False, result_type=DataType.U32, result_tiled=False
    ),
    "ttnn.cumsum": Sample(_IN, _X, {"dim": 0}),
    "ttnn.softmax": Sample(_IN, _X, {"dimension": 1, "numericStable": True}),
    "ttnn.layer_norm": _NORM,
    "ttnn.rms_norm": _NORM,
    **{
        f"ttnn.{norm}_pre_all_gather": Sample(
            {"input": (_PART, None)}, (1, 1, 32, count * 32), _WIDE, result_type=DataType.F32
        )
        for norm, count in (("layer_norm", 2), ("rms_norm", 1))
    },
    **{
        f"ttnn.{norm}_post_all_gather": Sample(
            {"input": (_PART, None), "stats": ((1, 1, 32, count * 64), DataType.F32), "weight": ((64,), None)},
            _PART,
            {"epsilon": 1e-5} | _WIDE,
        )
        for norm, count in (("layer_norm", 2), ("rms_norm", 1))
    },
    "ttnn.reshape": Sample(_IN, (33, 5), {"shape": [33, 5]}),
    "ttnn.permute": Sample({"input": ((3, 5, 33), None)}, (33, 3, 5), {"permutation": [2, 0, 1]}),
    "ttnn.concat": Sample({"inputs": (_X, None)}, (10, 33), {"dim": 0}),
    "ttnn.repeat": Sample(_IN, (10, 33), {"repeat_dims": [2, 1]}),
    "ttnn.slice_static": Sample(_IN, (2, 7), {"begins": [1, 2], "ends": [5, 23], "step": [2, 3]}),
    "ttnn.pad": Sample(
        _IN, (8, 34), {"padding": [1, 2, 0, 1], "value": 0.0, "use_multicore": True}, tiled=False, result_tiled=False
    ),
    "ttnn.embedding": Sample(
        {"input": ((4, 6), DataType.U32), "weight": (_X, None)}, (4, 6, 33), tiled=False, result_tiled=True
    ),
    "ttnn.gather": Sample({"input": (_X, None), "index": ((2, 33), DataType.U32)}, (2, 33), {"dim": 0}),
    "ttnn.scatter": Sample(
        {"input": (_X, None), "index": ((2, 33), DataType.SI32), "source": ((2, 33), None)},
        _X,
        {"dim": 0, "scatter_reduce_type": "sum"},
        tiled=False,
        result_tiled=False,
    ),
    "ttnn.matmul": Sample({"a": (_X, None), "b": ((33, 7), None)}, (5, 7), _NO_TRANSPOSE),
    "ttnn.linear": Sample({"a": (_X, None), "b": ((33, 7), None), "bias": ((7,), None)}, (5, 7), _NO_TRANSPOSE),
    "ttnn.max_pool2d": Sample(_POOLED, (1, 1, 16, 32), _POOL, tiled=False, result_tiled=False),
    "ttnn.avg_pool2d": Sample(
        _POOLED, (1, 1, 16, 32), _POOL | {"count_include_pad": True}, tiled=False, result_tiled=False
    ),
    "ttnn.to_layout": Sample(_IN, _X, tiled=False, result_tiled=True),
}
"""Samples by op. Convolutions have none, because the types that they accept depend on geometry and config."""


def program(op: str, sample: Sample, tried: DataType) -> Program:
    """Returns a Program of one instruction, with ``tried`` where the sample leaves the element type open."""
    values: list[TensorSpec] = []

    def value(shape: tuple[int, ...], dtype: DataType | None, tiled: bool) -> int:
        values.append(TensorSpec(shape, TensorLayout.of(shape, dtype or tried, tiled=tiled)))
        return len(values) - 1

    operands: dict[str, Operand] = {}
    for name, (shape, dtype) in sample.operands.items():
        number = value(shape, dtype, sample.tiled)
        operands[name] = (number, value(shape, dtype, sample.tiled)) if name == "inputs" else number
    arguments = tuple(range(len(values)))
    tiled = sample.tiled if sample.result_tiled is None else sample.result_tiled
    result = value(sample.result, sample.result_type, tiled)
    instruction = Instruction(op, operands, (result,), dict(sample.attributes))
    function = Function("main", FunctionKind.FORWARD, arguments, (result,), tuple(values), (instruction,))
    return Program(op, SYSTEM, {}, (), (), (function,), MemoryPlan(), 0.0)


def accepted(judgements: Iterable[tuple[str, DataType, Judgement]]) -> dict[str, list[DataType]]:
    """Returns the element types that TT-NN accepts for each op, with results as the Program declares them."""
    types: dict[str, list[DataType]] = {}
    for op, tried, judgement in judgements:
        types.setdefault(op, []).extend([] if judgement.refusals else [tried])
    return types


def text(types_by_op: dict[str, list[DataType]], version: str) -> str:
    """Returns the text of the file."""
    rows = [f'    "{op}": "{" ".join(types)}",\n' for op, types in sorted(types_by_op.items())]
    return _HEAD.format(version=version, system=SYSTEM) + "".join(rows) + "}\n"


def probe(python: Path) -> str:
    """Asks TT-NN and returns the text that the file should have."""
    tried = [
        (op, dtype, sample)
        for op, sample in SAMPLES.items()
        for dtype in DataType
        if op in CALLS and not dtype.is_host_only and not (dtype.is_block_float and _row_major(sample))
    ]
    programs = [program(op, sample, dtype) for op, dtype, sample in tried]
    judgements: Sequence[Judgement] = judge(programs, mock(python, SYSTEM))
    pairs = zip(tried, judgements, strict=True)
    return text(accepted((op, dtype, judgement) for (op, dtype, _), judgement in pairs), judgements[0].version)


def _row_major(sample: Sample) -> bool:
    """Returns whether a sample has a row-major tensor, which block floats cannot have."""
    return not sample.tiled or sample.result_tiled is False


@click.command(help=__doc__)
@click.option("--ttnn-python", "interpreter", type=click.Path(path_type=Path), help="Interpreter that has ttnn.")
@click.option("--check", is_flag=True, help="Write nothing; fail if the file differs from TT-NN's answers.")
def main(interpreter: Path | None, check: bool) -> None:
    """Writes or checks the file."""
    answers = probe(ttnn_python(interpreter))
    if not check:
        FILE.write_text(answers)
    elif FILE.read_text() != answers:
        raise click.ClickException(f"{FILE} differs from TT-NN's answers; run python -m benchmarks.accepted_types.")


if __name__ == "__main__":
    main()
