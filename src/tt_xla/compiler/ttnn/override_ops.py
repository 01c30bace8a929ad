"""Pass: formats, math fidelity and accumulation of single ops that override files choose.

It runs right before the search for layouts, which reads the rest of an override.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.op_names import op_names
from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttnn.convert_activation_dtype import CASTS
from tt_xla.compiler.ttnn.layouts.refusals import refused
from tt_xla.compiler.ttnn.set_compute_config import prepare_for
from tt_xla.ir.base import shape
from tt_xla.ir.layout import DataType
from tt_xla.ir.ttnn.attributes import ComputeConfigAttr, MathFidelity, laid_out, layout_of
from tt_xla.ir.ttnn.base import ConfigurableOp
from tt_xla.ir.ttnn.memory import TypecastOp
from tt_xla.ir.ttnn.window import Conv2dOp, ConvTranspose2dOp

if TYPE_CHECKING:
    from tt_xla.overrides import OpOverride, Overrides


def run(module: ModuleOp, overrides: Overrides) -> None:
    """Changes the ops that the overrides name.

    Args:
        module: TTNN module that is changed in place.
        overrides: Choices by name of an op.

    Raises:
        OptionError: The program lacks an op, or an op takes no such choice.
    """
    names = op_names(module)
    chosen = overrides.by_op(names.values())
    for op, name in names.items():
        override = chosen.get(name)
        if override is not None:
            _set_compute_config(op, name, override)
            _set_dtype(op, name, override)


def _set_compute_config(op: Operation, name: str, override: OpOverride) -> None:
    """Sets math fidelity and accumulation."""
    choices: Mapping[str, object] = {
        "math_fidelity": MathFidelity(override.math_fidelity) if override.math_fidelity is not None else None,
        "fp32_dest_acc_en": override.fp32_dest_acc_en,
    }
    given = {key: value for key, value in choices.items() if value is not None}
    if not given:
        return
    if not isinstance(op, ConfigurableOp):
        raise refused(name, describe(op.location), "it has no compute config, which only ops of the matrix unit have")
    known = op.properties.get("compute_config")
    fields = known.fields if isinstance(known, ComputeConfigAttr) else {}
    op.properties["compute_config"] = ComputeConfigAttr.of(**(fields | given))
    if isinstance(op, Conv2dOp | ConvTranspose2dOp):
        prepare_for(op)


def _set_dtype(op: Operation, name: str, override: OpOverride) -> None:
    """Sets the format of the result. Ops that read it in its former format read a cast of it."""
    if override.dtype is None:
        return
    dtype, location = DataType(override.dtype), describe(op.location)
    if not isinstance(op, CASTS):
        raise refused(name, location, "the format of its result is that of its operand; TT-NN has no argument for it")
    result = op.results[0]
    layout = layout_of(result)
    if layout.dtype is dtype:
        return
    if not layout.dtype.is_float or (dtype.is_block_float and not layout.tiled):
        raise refused(
            name, location, f"its result, {layout.dtype} in {'tiles' if layout.tiled else 'rows'}, cannot be {dtype}"
        )
    changed = Rewriter.replace_value_with_new_type(result, laid_out(shape(result), layout.retyped(dtype)))
    readers = [use for use in changed.uses if not isinstance(use.operation, CASTS)]
    if readers:
        cast = TypecastOp.make([changed], [laid_out(shape(changed), layout)])
        Rewriter.insert_op(cast, InsertPoint.after(op))
        for use in readers:
            use.operation.operands[use.index] = cast.results[0]
