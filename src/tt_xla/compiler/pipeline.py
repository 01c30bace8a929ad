"""The pipeline: named stages in order, each with its reason.

StableHLO --> TTIR --> TTNN --> Program
"""

from __future__ import annotations

import contextlib
import gc
import logging
import time
from collections.abc import Callable, Generator
from pathlib import Path

from jaxlib.mlir import ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tt_xla.compiler import emit_program, stablehlo, ttir_to_ttnn
from tt_xla.compiler.ttir import cse, decompose, fold, fold_broadcasts, fuse, merge_host_calls, sink_permutes
from tt_xla.compiler.ttnn import (
    choose_argument_layouts,
    convert_weight_dtype,
    deallocate,
    hoist_const_eval,
    hoist_trace,
    keep_const_eval_inputs_on_host,
    place_in_l1,
    plan_memory,
    set_compute_config,
)
from tt_xla.compiler.ttnn import fuse as fuse_ttnn
from tt_xla.errors import TTXLAError, VerificationError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program
from tt_xla.ir.text import print_module
from tt_xla.log import VERBOSE, logger
from tt_xla.options import CompileOptions
from tt_xla.target import Target

Stage = tuple[str, Callable[[ModuleOp], object]]


def ttir_stages(options: CompileOptions) -> list[Stage]:
    """What happens to a TTIR module."""
    approximate = options.numerics != "exact"
    return [
        # Frontends write broadcasts and constants out in full; everything after this matches the short forms.
        ("ttir-fold", fold.run),
        # After dead calls are gone, and before anything is fused around what remains.
        ("ttir-merge-host-calls", merge_host_calls.run),
        ("ttir-fold-broadcasts", fold_broadcasts.run),
        # Fusions ask whether two values are the same one.
        ("ttir-cse", cse.run),
        # A bias must join its convolution before the permutes of the next stage come between them.
        ("ttir-fuse", lambda module: fuse.run(module, permute_matmul=False, approximate=approximate)),
        # TT-NN multiplies matrices and convolves channels last; nothing else.
        ("ttir-decompose", decompose.run),
        # Between two convolutions the permutes to channels last and back cancel.
        ("ttir-sink-permutes", sink_permutes.run),
        # The stages above leave moves of moves, and matrix products that can now take their bias.
        ("ttir-fold", fold.run),
        ("ttir-fold-broadcasts", fold_broadcasts.run),
        (
            "ttir-fuse",
            lambda module: fuse.run(
                module, permute_matmul=options.experimental_enable_permute_matmul_fusion, approximate=approximate
            ),
        ),
        ("ttir-cse", cse.run),
        ("ttir-fold", fold.run),
    ]


def ttnn_stages(options: CompileOptions, target: Target) -> list[Stage]:
    """What happens to a TTNN module."""
    level = options.optimization_level
    weight_dtype = options.experimental_weight_dtype
    stages: list[Stage] = [
        # The lowering works op by op and leaves reshapes and layout changes that undo each other; from level 1 on the
        # matrix unit applies activations as it writes its results, and convolutions read row-major tensors as they are.
        ("ttnn-fuse", lambda module: fuse_ttnn.run(module, optimise=level >= 1)),
        # After the reshapes that cost nothing on row-major arguments have moved before their conversions.
        ("ttnn-choose-argument-layouts", choose_argument_layouts.run),
    ]
    if weight_dtype:
        # After fusing, so that each product has the operands it will run with; before const-eval, which then does the
        # conversion once.
        stages.append(("ttnn-convert-weight-dtype", lambda m: convert_weight_dtype.run(m, DataType(weight_dtype))))
    # Looks at the weights' data type, so after its conversion.
    stages.append(("ttnn-set-compute-config", lambda module: set_compute_config.run(module, options)))
    if options.enable_const_eval:
        stages.append(("ttnn-hoist-const-eval", hoist_const_eval.run))
        if options.enable_const_eval_inputs_to_system_memory:
            # Else the device would hold each weight twice: as given, and as prepared.
            stages.append(("ttnn-keep-const-eval-inputs-on-host", keep_const_eval_inputs_on_host.run))
    if level == 2:
        # After const-eval, whose results live on between runs and so stay in DRAM.
        stages.append(("ttnn-place-in-l1", lambda module: place_in_l1.run(module, target)))
    if options.enable_trace:
        stages.append(("ttnn-hoist-trace", hoist_trace.run))
    # Last, when no stage moves ops any more.
    stages.append(("ttnn-deallocate", deallocate.run))
    return stages


def compile_module(
    module: ir.Module,
    options: CompileOptions,
    target: Target,
    *,
    name: str = "main",
    dumps: dict[str, str] | None = None,
) -> Program:
    """Compiles a StableHLO module.

    Args:
        module: is left as it was.
        dumps: receives the text of the module at each of the stages vhlo, shlo, ttir and ttnn.

    Raises:
        CompileError: the module cannot become a Program; with the user's source line where it is known.
        ResourceExhaustedError: the Program does not fit in the target's memory.
    """
    with _without_garbage_collection():
        return _compile(module, options, target, name, dumps)


@contextlib.contextmanager
def _without_garbage_collection() -> Generator[None]:
    """Operations and values refer to each other, and compiling drops few of them: looking for garbage among them finds
    little and takes up to half of a compilation."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _compile(
    module: ir.Module, options: CompileOptions, target: Target, name: str, dumps: dict[str, str] | None
) -> Program:
    log = logger()
    started = time.perf_counter()
    record = _recorder(options, dumps, log)
    record("vhlo", lambda: stablehlo.print_vhlo(module))
    record("shlo", lambda: str(module))
    ttir_module, arguments, results = stablehlo.import_module(module, host_fallback=options.host_fallback)
    _verify(ttir_module, "import of StableHLO")
    record("ttir", lambda: print_module(ttir_module, locations=True))
    _run(ttir_module, ttir_stages(options), log)
    prepare = options.optimization_level >= 1 or options.enable_trace
    ttnn_module = ttir_to_ttnn.run(ttir_module, prepare_weights=prepare, exact=options.numerics == "exact")
    _run(ttnn_module, ttnn_stages(options, target), log)
    _verify(ttnn_module, "the TTNN stages")
    record("ttnn", lambda: print_module(ttnn_module, locations=True))
    memory = plan_memory.run(ttnn_module, target)
    program = emit_program.emit(ttnn_module, name, arguments, results, options, target, memory)
    for host_op in program.host_ops:
        log.info("%s runs %s on the host", name, host_op)
    log.info("compiled %s for %s in %.1f ms", name, target.name, (time.perf_counter() - started) * 1e3)
    return program


def _run(module: ModuleOp, stages: list[Stage], log: logging.Logger) -> None:
    """Runs stages; under the VERBOSE log level each one's result is verified and printed."""
    for name, stage in stages:
        try:
            stage(module)
        except DiagnosticException as error:
            raise _cause(error) from None
        if log.isEnabledFor(VERBOSE):
            _verify(module, name)
            log.log(VERBOSE, "MLIR Module after %s:\n%s", name, print_module(module))


def _cause(error: BaseException) -> Exception:
    """The error of ours behind one that xDSL wraps around it."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, TTXLAError):
            return found
        found = found.__cause__
    return VerificationError(f"A pass failed: {error}.", hint="This is a fault of tt-xla; please report it.")


def _verify(module: ModuleOp, stage: str) -> None:
    try:
        module.verify()
    except (VerifyException, DiagnosticException) as error:
        logger().debug("verification failed", exc_info=error)
        reason = " ".join(str(error).partition("\n\n")[0].split())
        raise VerificationError(
            f"After {stage} the module breaks a rule: {reason}.",
            hint="This is a fault of tt-xla; please report it with the module (TTXLA_LOGGER_LEVEL=DEBUG prints it).",
        ) from None


def _recorder(
    options: CompileOptions, dumps: dict[str, str] | None, log: logging.Logger
) -> Callable[[str, Callable[[], str]], None]:
    """What to do with the text of a stage: log it, keep it, write it; nothing is printed unless somebody wants it."""
    folder = Path(options.export_path) / "irs" if options.export_path else None
    if dumps is None and folder is None and not log.isEnabledFor(logging.DEBUG):
        return lambda stage, text: None

    def record(stage: str, text: Callable[[], str]) -> None:
        found = text()
        log.debug("MLIR Module %s:\n%s\n------------------ END OF MLIR MODULE ------------------", stage, found)
        if dumps is not None:
            dumps[stage] = found
        if folder is not None:
            export_ir(folder, stage, options.export_model_name, found)

    return record


def export_ir(folder: Path, stage: str, model: str, text: str) -> Path:
    """Writes ``<stage>[_<model>]_<unix ms>.mlir``, upstream's name for a dump."""
    infix = f"_{model.replace('/', '_')}" if model else ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stage}{infix}_{time.time_ns() // 1_000_000}.mlir"
    path.write_text(text)
    return path
