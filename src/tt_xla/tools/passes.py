"""Implements ``tt-xla opt``: reads a module, runs passes on it, and returns the result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import importing, pipeline, stablehlo
from tt_xla.compiler.reading import decoded, is_stablehlo
from tt_xla.ir.text import parse_module
from tt_xla.ir.ttcore import device_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.inputs import MODULE_KINDS, read_input

PIPELINES = {
    "ttir": [pipeline.TTIR_STAGES],
    "ttnn": [pipeline.TTNN_STAGES],
    "all": [pipeline.TTIR_STAGES, None, pipeline.TTNN_STAGES],
}
"""Lists of stages by the name of a pipeline; None stands for the lowering from TTIR to TTNN."""


def read_module(path: Path | None, options: CompileOptions, arch: str, *, unknown_ops: bool = False) -> ModuleOp:
    """Reads a module of TTIR or TTNN, or imports StableHLO into TTIR.

    Args:
        path: text or bytecode; None for standard input.
        options, arch: compile options and system of the import.
        unknown_ops: whether to accept ops of unknown dialects.

    Raises:
        MalformedModuleError: the module does not parse; the message has line and column.
        OSError: the file cannot be read.
    """
    data = sys.stdin.buffer.read() if path is None else read_input(path, *MODULE_KINDS)
    name = "<stdin>" if path is None else str(path)
    if is_stablehlo(data, default=False):
        return importing.run(stablehlo.parse_module(data, name), options, load_target(arch)).module
    return parse_module(decoded(data, name), name, unknown_ops=unknown_ops)


def optimise(
    module: ModuleOp,
    names: Sequence[str],
    pipeline_name: str | None,
    options: CompileOptions,
    arch: str,
    *,
    verify: bool,
) -> ModuleOp:
    """Runs passes by name, and then a pipeline of :data:`PIPELINES`, on the device module of a module.

    Returns:
        The module, with everything outside its device module unchanged.

    Raises:
        OptionError: the name of a pass is unknown.
        TTXLAError: a pass fails.
    """
    target = load_target(arch)
    steps = [None if name == pipeline.LOWERING else [pipeline.stage_named(name)] for name in names]
    for stages in [*steps, *PIPELINES.get(pipeline_name or "", [])]:
        inner = device_module(module)
        if stages is not None:
            # A pass that is named runs even if the options disable it.
            enabled = stages if isinstance(stages, tuple) else [pipeline.Stage(s.name, s.run, s.reason) for s in stages]
            pipeline.run_stages(inner, enabled, options, target, verify=verify)
            continue
        lowered = pipeline.lower(inner, options)
        if verify:
            pipeline.verify_module(lowered, pipeline.LOWERING)
        module = _with_inner(module, inner, lowered)
    return module


def _with_inner(module: ModuleOp, inner: ModuleOp, replacement: ModuleOp) -> ModuleOp:
    if inner is module:
        return replacement
    for op in list(inner.body.block.ops):
        op.detach()
        op.erase(safe_erase=False)
    for op in list(replacement.body.block.ops):
        op.detach()
        inner.body.block.add_op(op)
    return module


def listed() -> Iterator[str]:
    """Yields one line per pass in order, with its reason. A pass that runs several times has several lines."""
    for title, stages in (("TTIR", pipeline.TTIR_STAGES), ("TTNN", pipeline.TTNN_STAGES)):
        yield title
        for stage in stages:
            yield f"  {stage.name:<36} {stage.reason}"
        if title == "TTIR":
            yield f"  {pipeline.LOWERING:<36} Lowers each op to calls of TT-NN, with the layouts that these need."
