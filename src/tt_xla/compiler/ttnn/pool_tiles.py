"""Pass of level 2: a pooling reads tiles where that is predicted to be faster than an untilize before it.

The lowering gives a pooling rows. TT-NN moves the input of a pooling to shards in L1 and gathers the rows of each
core's windows there by a halo exchange, which also untilizes. So an op that untilizes the whole feature map, in DRAM
where it is large, is not needed. Tried in TT-NN's mock mode (0.81, p150): tiles of bfloat16 and bfloat8_b are read,
those of float32 are not. On Tenstorrent's functional simulator the values are the same as from rows (bfloat16).
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from tt_xla.compiler.instructions import plain_instruction
from tt_xla.compiler.rewriting import body, functions, is_forward
from tt_xla.compiler.ttnn.layouts.forms import GATHERED
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.ir.ttnn.attributes import layout_of
from tt_xla.ir.ttnn.memory import ToLayoutOp
from tt_xla.ir.ttnn.window import AvgPool2dOp, MaxPool2dOp
from tt_xla.target import Target


def run(module: ModuleOp, target: Target) -> None:
    """Removes conversions to rows that only a pooling reads, outside of const-eval functions."""
    for function in functions(module):
        if not is_forward(function):
            continue
        for op in list(body(function).ops):
            if isinstance(op, MaxPool2dOp | AvgPool2dOp):
                conversion = op.input.owner
                if isinstance(conversion, ToLayoutOp) and _is_readable(conversion) and _saves(conversion, op, target):
                    op.operands[0] = conversion.input
                    Rewriter.erase_op(conversion)


def _is_readable(conversion: ToLayoutOp) -> bool:
    """Returns whether a pooling can read the tiles instead: full ones, of which it alone reads the rows."""
    before, after = layout_of(conversion.input), layout_of(conversion.results[0])
    sizes = shape(conversion.input)
    full = math.prod(sizes[:-1]) % TILE == sizes[-1] % TILE == 0
    untilizes = before.on_device and before.tiled and after.on_device and not after.tiled
    gathered = before.dtype in GATHERED and after.dtype is DataType.BF16
    return full and untilizes and gathered and conversion.results[0].has_one_use()


def _saves(conversion: ToLayoutOp, op: MaxPool2dOp | AvgPool2dOp, target: Target) -> bool:
    """Returns whether pooling tiles is predicted to take less time than the conversion and pooling rows."""
    tiles, rows, result = (
        TensorSpec(shape(value), layout_of(value)) for value in (conversion.input, conversion.results[0], op.result)
    )
    untilize = instruction_cost(plain_instruction(conversion), (tiles, rows), target).total_us
    pooling = plain_instruction(op)
    of_rows, of_tiles = (instruction_cost(pooling, (source, result), target).total_us for source in (rows, tiles))
    return of_tiles < untilize + rates_of(target).gap_traced + of_rows
