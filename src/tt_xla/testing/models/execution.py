"""Runs one model and says how it ended. Runs in a process of its own, which may end at any moment."""

from __future__ import annotations

import math
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tt_xla.errors import ResourceExhaustedError
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.model_tester import ModelTester, RunMode
from tt_xla.testing.models import loading
from tt_xla.testing.models.config import BringupStatus, Expectation
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.records import Record

if TYPE_CHECKING:
    from tt_xla.compiler.pipeline import Compilation

Stage = Callable[[str], None]


def run(root: Path, case: Case, expectation: Expectation, stage: Stage) -> Record:
    """Loads a model, runs it on the CPU and on ``tt``, and compares.

    Args:
        stage: is told what comes next, so that others know where a process ended.
    """
    from tt_xla.compiler.pipeline import recorded_compilations

    record = Record(case.id, level=expectation.optimization_level)
    started = time.perf_counter()

    def reached(name: str) -> None:
        record.stage = name
        stage(name)

    with recorded_compilations(texts=bool(expectation.filechecks)) as compilations:
        try:
            reached("import")
            loader = loading.make_loader(root, case.model, case.variant)
            record.info = loading.info_of(loader)
            reached("load")
            tester = tester_of(case, loader, expectation, reached)
            record.parameters = _parameters(tester)
            reached("inputs")
            results: Sequence[ComparisonResult] = _results(tester.test())
            reached("compare")
            _judge(record, results, expectation)
            record.samples_per_s = _throughput(tester, compilations)
            _check_patterns(record, case, expectation, compilations)
            if _emits(expectation, case, record) and isinstance(tester, EmittingTester):
                reached("emitpy")
                _check_source(record, tester, exact=expectation.emitpy_assert_exact)
        except (Exception, SystemExit) as error:
            record.outcome = "failed"
            record.error = told(error)
            record.bringup_status = bringup_of(error, compilations, record.stage).value
    record.compile_s = sum(compilation.seconds for compilation in compilations) or None
    programs = [compilation.program for compilation in compilations if compilation.program is not None]
    record.graphs = len(programs)
    record.ops = sum(len(program.functions[0].body) for program in programs)
    record.host_ops = [op for program in programs for op in program.host_ops]
    record.device_us = sum(program.predicted_device_us for program in programs) or None
    record.seconds = time.perf_counter() - started
    return record


def _results(returned: Any) -> Sequence[ComparisonResult]:
    return returned[0] if isinstance(returned[0], tuple) else returned


def tester_of(case: Case, loader: Any, expectation: Expectation, stage: Stage) -> ModelTester:
    """A tester that asks the loader for model and inputs; torch models in bfloat16 where they can be loaded in it."""
    weights = "bfp_bf8" if expectation.enable_weight_bfp8_conversion else ""
    compiler = CompilerConfig(expectation.optimization_level, experimental_weight_dtype=weights)
    mode = RunMode(case.run_mode)
    batch = expectation.batch_size or (2 if mode is RunMode.TRAINING else None)
    if case.framework == "jax":
        return _jax_tester(loader, batch, stage)(expectation.comparison(), mode, compiler)
    return _torch_tester(loader, batch, stage, golden_f32=expectation.golden_f32)(
        expectation.comparison(), mode, compiler
    )


def _parameters(tester: ModelTester) -> int | None:
    find = getattr(tester._model, "parameters", None)
    return sum(x.numel() for x in find()) if find is not None and tester.framework is Framework.TORCH else None


def _emits(expectation: Expectation, case: Case, record: Record) -> bool:
    return expectation.emitpy and case.run_mode == "inference" and record.outcome == "passed"


@runtime_checkable
class EmittingTester(Protocol):
    """A tester whose model can be run again, with its source written to a folder."""

    def emitted(self, folder: Path) -> tuple[Any, Any]:
        """What the program gives while its source is written, and what it gave before."""
        ...


def _check_source(record: Record, tester: EmittingTester, *, exact: bool) -> None:
    """Runs a model that passed once more with ``backend=codegen_py``; its results must be those of the run before."""
    from tt_xla.testing.comparison import compare

    with tempfile.TemporaryDirectory(prefix="tt-xla-emitpy-") as folder:
        again, before = tester.emitted(Path(folder))
        sources = sorted(Path(folder).rglob("main.py"))
        for path in sources:
            compile(path.read_text(), str(path), "exec")
    if not sources:
        record.outcome, record.error = "failed", "EmitPy: no source was written."
    elif exact:
        config = ComparisonConfig(assert_on_failure=False)
        config.enable_all()
        result = compare(again, before, config)
        if not result.equal:
            record.outcome = "failed"
            record.error = f"EmitPy result differs: atol={result.atol}, pcc={result.pcc}, allclose={result.allclose}."


def _torch_tester(loader: Any, batch: int | None, stage: Stage, *, golden_f32: bool) -> type[ModelTester]:
    import torch

    from tt_xla.testing.torch_model import TorchModelTester

    class Tester(TorchModelTester):
        golden_dtype = torch.float32 if golden_f32 else None

        def _get_model(self) -> Any:
            return loading.call(loader.load_model, dtype_override=torch.bfloat16)

        def _get_input_activations(self) -> Any:
            return loading.call(loader.load_inputs, dtype_override=torch.bfloat16, batch_size=batch)

        def _unpack_forward_output(self, output: Any) -> Any:
            unpack = getattr(loader, "unpack_forward_output", None)
            found = output if unpack is None else unpack(output)
            return found if isinstance(found, torch.Tensor) else super()._unpack_forward_output(found)

        def _run_inference(self) -> tuple[Any, Any]:
            expected, self._before = super()._run_inference()
            return expected, self._before

        def emitted(self, folder: Path) -> tuple[Any, Any]:
            options = {**self._options, "backend": "codegen_py", "export_path": str(folder), "export_tensors": False}
            return self._run_on_device(self._model, options), self._before

        def _stage(self, name: str) -> None:
            stage(name)

    return Tester


def _jax_tester(loader: Any, batch: int | None, stage: Stage) -> type[ModelTester]:
    from tt_xla.testing.jax_model import JaxModelTester

    def asked(method: str, otherwise: Callable[[], Any], **given: Any) -> Any:
        own = getattr(loader, method, None)
        return otherwise() if own is None else loading.call(own, **given)

    class Tester(JaxModelTester):
        def _get_model(self) -> Any:
            return loading.call(loader.load_model)

        def _get_input_activations(self) -> Any:
            return loading.call(loader.load_inputs, batch_size=batch)

        def _get_forward_method_name(self) -> str:
            return asked("get_forward_method_name", super()._get_forward_method_name)

        def _get_input_parameters(self) -> Any:
            training = self._run_mode is RunMode.TRAINING
            inputs = self._get_input_activations()
            if hasattr(loader, "get_input_parameters"):
                return loading.call(loader.get_input_parameters, train=training)
            return asked("load_parameters", super()._get_input_parameters, inputs=inputs, train=training)

        def _get_forward_method_args(self) -> Sequence[Any]:
            return asked("get_forward_method_args", super()._get_forward_method_args)

        def _get_static_argnames(self) -> Sequence[str]:
            return asked("get_static_argnames", super()._get_static_argnames) or []

        def _get_forward_method_kwargs(self) -> Mapping[str, Any]:
            training = self._run_mode is RunMode.TRAINING
            return asked("get_forward_method_kwargs", super()._get_forward_method_kwargs, train=training)

        def _stage(self, name: str) -> None:
            stage(name)

    return Tester


def _judge(record: Record, results: Sequence[ComparisonResult], expectation: Expectation) -> None:
    values = [result.pcc for result in results if result.pcc is not None]
    record.pcc = None if not values else math.nan if any(math.isnan(value) for value in values) else min(values)
    record.atol = max((result.atol for result in results if result.atol is not None), default=None)
    record.comparison_passed = all(result.passed for result in results)
    if record.comparison_passed:
        record.outcome, record.bringup_status = "passed", BringupStatus.PASSED.value
    else:
        record.error = "\n".join(result.error_message for result in results if result.error_message)
        record.bringup_status = BringupStatus.INCORRECT_RESULT.value
    near = record.pcc is not None and record.pcc < expectation.required_pcc
    if near and not expectation.assert_pcc:
        record.bringup_status = BringupStatus.INCORRECT_RESULT.value
        record.reason = (
            f"Test marked w/ INCORRECT_RESULT. PCC check disabled. Calculated: pcc={record.pcc}. "
            f"Required: pcc={expectation.required_pcc}."
        )


def _throughput(tester: ModelTester, compilations: Sequence[Compilation]) -> float | None:
    """Samples a second that the predicted times allow: rows of the first input, over all graphs one after the other."""
    args, kwargs = tester._call()
    shapes = [value.shape for value in (*kwargs.values(), *args[::-1]) if len(getattr(value, "shape", ())) > 0]
    programs = [compilation.program for compilation in compilations if compilation.program is not None]
    seconds = sum(program.predicted_device_us for program in programs) * 1e-6
    return shapes[0][0] / seconds if shapes and seconds else None


def _check_patterns(record: Record, case: Case, expectation: Expectation, compilations: Sequence[Compilation]) -> None:
    if not expectation.filechecks:
        return
    from tt_xla.testing import artifacts, filechecks

    files = artifacts.write(artifacts.sanitized(case.id), compilations)
    try:
        filechecks.run(expectation.filechecks, files, [Path.cwd() / filechecks.FOLDER])
    except AssertionError as error:
        record.outcome, record.error = "failed", str(error)


def told(error: BaseException) -> str:
    """An error in one paragraph, with the last line of the model's own source that it came through."""
    if isinstance(error, SystemExit):
        head = f"SystemExit: it ended the process with {error.code!r}"
    else:
        head = f"{type(error).__name__}: {error}".strip()
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith("loader.py")]
    return f"{head} (at {own[-1].filename}:{own[-1].lineno})" if own else head


def bringup_of(error: BaseException, compilations: Sequence[Compilation], stage: str) -> BringupStatus:
    """How far a model came, from what failed: the frontend, the compiler, or the run."""
    if stage != "device":
        return BringupStatus.UNKNOWN
    if any(isinstance(found, ResourceExhaustedError) for found in _chain(error)):
        return BringupStatus.FAILED_RUNTIME
    failed = [compilation.error for compilation in compilations if compilation.error is not None]
    if failed:
        exhausted = isinstance(failed[-1], ResourceExhaustedError)
        return BringupStatus.FAILED_RUNTIME if exhausted else BringupStatus.FAILED_TTMLIR_COMPILATION
    files = [frame.filename for found in _chain(error) for frame in traceback.extract_tb(found.__traceback__)]
    if any("/tt_xla/runtime/" in file for file in files):
        return BringupStatus.FAILED_RUNTIME
    traced = any("/torch/_dynamo/" in file or "/jax/_src/interpreters/mlir" in file for file in files)
    if compilations and not traced:
        return BringupStatus.FAILED_RUNTIME
    return BringupStatus.FAILED_FE_COMPILATION


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
