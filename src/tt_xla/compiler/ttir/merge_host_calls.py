"""Merging of consecutive host calls, so that intermediate results stay inside XLA.

Each call is then checked here: an op that the host cannot run either is a compile error. A call without inputs is
evaluated, as its results are constants, unless it draws random numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo
from jaxlib.mlir.passmanager import PassManager
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla import host
from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.analysis.constness import constant_values
from tt_xla.compiler.locations import describe
from tt_xla.compiler.mlir_context import context, module_text
from tt_xla.compiler.rewriting import body, functions, is_pure
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.base import DATA_TYPES, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.host import HostCallOp

MOST_ELEMENTS = 1 << 16
"""Number of elements above which a result of a call without inputs is computed in the first run, not embedded."""


@dataclass(eq=False)
class _Group:
    """Consecutive host calls. A group is ``open`` until another op uses one of its results."""

    constant: bool
    calls: list[HostCallOp] = field(default_factory=lambda: [])
    open: bool = True


def run(module: ModuleOp) -> None:
    """Merges, checks and evaluates host calls.

    Raises:
        UnsupportedOpError: XLA's CPU compiler does not support a call.
    """
    for function in functions(module):
        calls = [op for op in body(function).ops if isinstance(op, HostCallOp)]
        if not calls:
            continue
        for group in _groups(body(function), constant_values(function)):
            if len(group.calls) > 1:
                _merge(group.calls)
        for op in body(function).ops:
            if isinstance(op, HostCallOp):
                _check(op)
                if is_pure(op) and not op.operands and all(_may_be_constant(result) for result in op.results):
                    _fold(op, _evaluated(op.module))


def _groups(block: Block, constants: set[SSAValue]) -> list[_Group]:
    """Groups the host calls of a block.

    A call joins the groups whose results it uses if no other op used them before, and if either all or none of the
    calls depend on constants alone.
    """
    groups: dict[Operation, _Group] = {}
    for op in block.ops:
        used_groups = {groups[value.owner] for value in op.operands if value.owner in groups}  # pyright: ignore[reportArgumentType]
        if not isinstance(op, HostCallOp):
            for group in used_groups:
                group.open = False
            continue
        joined = _Group(constant=all(result in constants for result in op.results))
        for group in used_groups:
            if group.open and group.constant == joined.constant:
                joined.calls += group.calls
            group.open = False
        joined.calls.append(op)
        groups.update(dict.fromkeys(joined.calls, joined))
    order = {op: position for position, op in enumerate(block.ops)}
    for group in set(groups.values()):
        group.calls.sort(key=order.__getitem__)
    return list(dict.fromkeys(groups.values()))


def _merge(calls: list[HostCallOp]) -> None:
    """Replaces a group of calls by one call before the last of them."""
    members = set(calls)
    inputs = list(dict.fromkeys(v for call in calls for v in call.operands if v.owner not in members))
    types = {
        value: type_
        for call in calls
        for name, values in (("input_types", call.operands), ("output_types", call.results))
        for value, type_ in zip(values, call.value(name), strict=True)
    }
    outputs = [r for call in calls for r in call.results if any(use.operation not in members for use in r.uses)]
    merged = HostCallOp.make(
        [inputs],
        [value.type for value in outputs],
        calls[-1].location,
        module=_join(calls, inputs, outputs),
        ops=tuple(op for call in calls for op in call.ops),
        input_types=tuple(types[value] for value in inputs),
        output_types=tuple(types[value] for value in outputs),
        effects=None if all(map(is_pure, calls)) else True,
    )
    Rewriter.insert_op(merged, InsertPoint.before(calls[-1]))
    for old, new in zip(outputs, merged.results, strict=True):
        old.replace_all_uses_with(new)
    for call in reversed(calls):
        call.detach()
        call.erase()


def _join(calls: list[HostCallOp], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> str:
    """Returns the text of one module whose ``@main`` calls the ``@main`` of each call in order."""
    size = sum(len(call.module) for call in calls)
    with context(size), ir.Location.unknown():
        joined: Any = ir.Module.create()
        functions_of_calls = [_bring(joined, call.module, f"part{index}_") for index, call in enumerate(calls)]
        types: dict[SSAValue, Any] = {}
        for call, function in zip(calls, functions_of_calls, strict=True):
            types |= dict(zip(call.operands, function.type.inputs, strict=True))
            types |= dict(zip(call.results, function.type.results, strict=True))
        with ir.InsertionPoint(joined.body):
            main = func.FuncOp("main", ([types[value] for value in inputs], [types[value] for value in outputs]))
        known: dict[SSAValue, Any] = dict(zip(inputs, main.add_entry_block().arguments, strict=True))
        with ir.InsertionPoint(main.entry_block):
            for call, function in zip(calls, functions_of_calls, strict=True):
                merged_call = func.CallOp(function, [known[value] for value in call.operands])
                known |= dict(zip(call.results, merged_call.results, strict=True))
            func.ReturnOp([known[value] for value in outputs])
        PassManager.parse("builtin.module(inline)").run(joined.operation)
        return module_text(joined)


def _bring(joined: Any, text: str, prefix: str) -> Any:
    """Copies a module's functions into another module under prefixed names, and returns the former ``@main``."""
    source: Any = ir.Module.parse(text)
    for function in list(source.body.operations):
        name = function.name.value
        ir.SymbolTable.replace_all_symbol_uses(name, prefix + name, source.operation)
        ir.SymbolTable.set_symbol_name(function, prefix + name)
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    moved_functions = {function.name.value: function for function in source.body.operations}
    for function in moved_functions.values():
        with ir.InsertionPoint(joined.body):
            function.operation.clone()
    return next(f for f in joined.body.operations if f.name.value == f"{prefix}main")


def _may_be_constant(value: SSAValue) -> bool:
    """Returns whether a value may be embedded in the program: the chip holds its type, and it is small."""
    type_ = tensor_type(value)
    return not DATA_TYPES[type_.element_type].is_host_only and 0 < math.prod(type_.get_shape()) <= MOST_ELEMENTS


_FLOAT = re.compile(r"\b(?:\d+x)*(?:bf16|f16|f32|f64|complex)\b")
"""Float types in a module's text."""
_INTERPRETED_ELEMENTS = 1 << 14
"""Number of elements up to which StableHLO's interpreter evaluates a tensor; it needs about 1 us per element."""


def _evaluated(text: str) -> Sequence[Any]:
    """Returns the results of a module without arguments.

    Plain integer ops are interpreted, which takes less time than compiling them with XLA.
    """
    sizes = [math.prod(map(int, shape.split("x")[:-1])) for shape in re.findall(r"tensor<((?:\d+x)+)", text)]
    if not host.is_plain(text) or _FLOAT.search(text) or max(sizes, default=1) > _INTERPRETED_ELEMENTS:
        return host.load(text)([])
    with context(len(text)):
        return [np.array(ir.DenseElementsAttr(value)) for value in stablehlo.eval_module(ir.Module.parse(text), [])]


def _fold(call: HostCallOp, arrays: Sequence[Any]) -> None:
    """Replaces a call by constants; a value that does not fit on the chip leaves the call for run time."""
    try:
        values = [elements(array, tensor_type(result)) for array, result in zip(arrays, call.results, strict=True)]
    except UnsupportedOpError:
        return
    for value, result in zip(values, call.results, strict=True):
        constant = ConstantOp.make([], [result.type], call.location, value=value)
        Rewriter.insert_op(constant, InsertPoint.before(call))
        result.replace_all_uses_with(constant.results[0])
    call.detach()
    call.erase()


def _check(call: HostCallOp) -> None:
    """Checks that XLA's CPU compiler supports a call.

    Raises:
        UnsupportedOpError: It does not; the message names the op.
    """
    try:
        host.check(call.module)
    except UnsupportedOpError as error:
        name = call.ops[0].partition(" at ")[0]
        raise UnsupportedOpError(
            f"failed to legalize operation '{name}': TT-NN has no op for it. {error.message}",
            location=describe(call.location),
            hint="Rewrite this part of the model with other ops, or run it outside the compiled part.",
        ) from error
