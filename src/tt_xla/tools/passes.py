"""What ``tt-xla opt`` does: a module in, passes over it, a module out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import pipeline, stablehlo
from tt_xla.ir.text import parse_module
from tt_xla.ir.ttcore import device_module
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

PIPELINES = {
    "ttir": [pipeline.TTIR_STAGES],
    "ttnn": [pipeline.TTNN_STAGES],
    "all": [pipeline.TTIR_STAGES, None, pipeline.TTNN_STAGES],
}
"""Stages by the name of a pipeline; None stands for the lowering."""

_BYTECODE = b"ML\xefR"
_OP = rb'^\s*(?:%[^=\n]*=\s*)?"?(?:DIALECTS)\.[a-z_0-9]+'
_TT_OP = re.compile(_OP.replace(b"DIALECTS", b"ttir|ttnn|ttcore"), re.MULTILINE)
_OTHER_OP = re.compile(_OP.replace(b"DIALECTS", b"stablehlo|chlo|vhlo|mhlo|sdy"), re.MULTILINE)


def read_module(path: Path | None, *, unknown_ops: bool = False) -> ModuleOp:
    """A module of TTIR or TTNN; StableHLO, in text or bytecode, is imported into TTIR.

    Args:
        path: None for standard input.

    Raises:
        MalformedModuleError: it does not parse; with line and column.
        OSError: it cannot be read.
    """
    data = sys.stdin.buffer.read() if path is None else path.read_bytes()
    name = "<stdin>" if path is None else str(path)
    if _is_stablehlo(data):
        module, _, _ = stablehlo.import_module(stablehlo.parse_module(data, name))
        return module
    return parse_module(data.decode("utf-8", errors="replace"), name, unknown_ops=unknown_ops)


def _is_stablehlo(data: bytes) -> bool:
    return data.startswith(_BYTECODE) or (_OTHER_OP.search(data) is not None and _TT_OP.search(data) is None)


def optimise(
    module: ModuleOp,
    names: Sequence[str],
    whole: str | None,
    options: CompileOptions,
    arch: str,
    *,
    verify: bool,
) -> ModuleOp:
    """The module after passes by name, then after a whole pipeline; what is beside the device's module stays.

    Raises:
        OptionError: a name is unknown.
        TTXLAError: a pass fails.
    """
    target = load_target(arch)
    steps = [None if name == pipeline.LOWERING else [pipeline.stage_named(name)] for name in names]
    for stages in [*steps, *PIPELINES.get(whole or "", [])]:
        inner = device_module(module)
        if stages is not None:
            # A pass asked for by name runs whatever the options say.
            wanted = stages if isinstance(stages, tuple) else [pipeline.Stage(s.name, s.run, s.reason) for s in stages]
            pipeline.run_stages(inner, wanted, options, target, verify=verify)
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
    """The passes in order, each with its reason; those that run more than once appear as often."""
    for title, stages in (("TTIR", pipeline.TTIR_STAGES), ("TTNN", pipeline.TTNN_STAGES)):
        yield title
        for stage in stages:
            yield f"  {stage.name:<36} {stage.reason}"
        if title == "TTIR":
            yield f"  {pipeline.LOWERING:<36} Each op becomes calls of TT-NN, with the layouts that these want."
