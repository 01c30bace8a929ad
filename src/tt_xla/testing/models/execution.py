"""Runs one model and reports the outcome. The code runs in its own process, which the model may end at any moment."""

from __future__ import annotations

import math
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.errors import ResourceExhaustedError
from tt_xla.testing import frameworks
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.model_tester import ModelTester, RunMode
from tt_xla.testing.models import loading
from tt_xla.testing.models.config import BringupStatus, Expectation
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.parallel import NotParallelError, Parallelism
from tt_xla.testing.models.records import Record

if TYPE_CHECKING:
    from tt_xla.compiler.recording import Compilation

Stage = Callable[[str], None]


def run(root: Path, case: Case, expectation: Expectation, stage: Stage) -> Record:
    """Loads a model, runs it on the CPU and on ``tt``, and compares.

    Args:
        root: folder with the loaders.
        case: the test.
        expectation: the expected outcome.
        stage: called with the name of each stage before it starts, so that the stage is known if the process ends.
    """
    from tt_xla.compiler.recording import recorded_compilations

    record = Record(case.id, level=expectation.optimization_level)
    started = time.perf_counter()
    batch: int | None = None

    def reached(name: str) -> None:
        record.stage = name
        stage(name)

    with recorded_compilations(texts=bool(expectation.filechecks)) as compilations:
        try:
            reached("import")
            loader = loading.make_loader(root, case.model, case.variant)
            record.info = loading.info_of(loader)
            Parallelism(case.parallelism, loader).check()
            reached("load")
            tester = tester_of(case, loader, expectation)
            tester.on_stage = reached
            record.parameters = _parameters(tester)
            reached("inputs")
            returned = tester.test()
            results: Sequence[ComparisonResult] = returned[0] if isinstance(returned[0], tuple) else returned
            reached("compare")
            _judge(record, results, expectation)
            batch = _batch(tester)
            _check_patterns(record, case, expectation, compilations)
            emitted = getattr(tester, "emitted", None)
            if emitted and expectation.emitpy and case.run_mode == "inference" and record.outcome == "passed":
                reached("emitpy")
                _check_source(record, emitted, exact=expectation.emitpy_assert_exact)
        except NotParallelError as error:
            record.outcome, record.reason = "skipped", f"{case.parallelism}: {error}"
            record.bringup_status = BringupStatus.NOT_STARTED.value
        except (Exception, SystemExit) as error:
            record.outcome = "failed"
            record.error = error_text(error)
            record.bringup_status = bringup_of(error, compilations, record.stage).value
    record.compile_s = sum(compilation.seconds for compilation in compilations) or None
    programs = [compilation.program for compilation in compilations if compilation.program is not None]
    record.graphs = len(programs)
    record.ops = sum(len(program.functions[0].body) for program in programs)
    record.host_ops = [op for program in programs for op in program.host_ops]
    record.device_us = sum(program.predicted_device_us for program in programs) or None
    record.samples_per_s = batch / record.device_us * 1e6 if batch and record.device_us else None
    record.seconds = time.perf_counter() - started
    return record


def tester_of(case: Case, loader: Any, expectation: Expectation) -> ModelTester:
    """Returns a tester that gets model and inputs from the loader. Torch models are loaded in bfloat16 if they can
    be."""
    weights = "bfp_bf8" if expectation.enable_weight_bfp8_conversion else ""
    compiler = CompilerConfig(expectation.optimization_level, experimental_weight_dtype=weights)
    mode = RunMode(case.run_mode)
    batch = expectation.batch_size or (loading.TRAINING_BATCH if mode is RunMode.TRAINING else None)
    parallelism = Parallelism(case.parallelism, loader)
    if case.framework == "jax" and parallelism.is_written_for_shards:
        from tt_xla.testing.models.shard_models import ShardModelTester

        return ShardModelTester(parallelism, expectation.comparison(), mode, compiler)
    if case.framework == "jax":
        return _jax_tester(loader, batch, parallelism)(expectation.comparison(), mode, compiler)
    from tt_xla.testing.models.dynamic import DynamicTorchModelTester

    return DynamicTorchModelTester(
        mode,
        loader=loader,
        comparison_config=expectation.comparison(),
        compiler_config=compiler,
        parallelism=parallelism,
        batch_size=expectation.batch_size,
        golden_f32=expectation.golden_f32,
    )


def _parameters(tester: ModelTester) -> int | None:
    """Returns the number of elements of a torch model's parameters; None for JAX models."""
    find = getattr(tester._model, "parameters", None)
    return sum(x.numel() for x in find()) if find is not None and tester.framework is Framework.TORCH else None


def _check_source(record: Record, emitted: Callable[[Path], tuple[Any, Any]], *, exact: bool) -> None:
    """Runs a model that passed again with ``backend=codegen_py``, and fails the test if the results differ.

    Args:
        record: receives the outcome.
        emitted: returns the result of a run that writes the source to a folder, and the result of the run before.
        exact: whether results must equal those of the run before.
    """
    from tt_xla.testing.comparison import compare

    with tempfile.TemporaryDirectory(prefix="tt-xla-emitpy-") as folder:
        again, before = emitted(Path(folder))
        sources = sorted(Path(folder).rglob("main.py"))
        for path in sources:
            compile(path.read_text(), str(path), "exec")
    if not sources:
        record.outcome, record.error = "failed", "EmitPy: the run wrote no source."
    elif exact:
        config = ComparisonConfig(assert_on_failure=False)
        config.enable_all()
        result = compare(again, before, config)
        if not result.equal:
            record.outcome = "failed"
            record.error = f"EmitPy result differs: atol={result.atol}, pcc={result.pcc}, allclose={result.allclose}."


def _jax_tester(loader: Any, batch: int | None, parallelism: Parallelism) -> type[ModelTester]:
    from tt_xla.testing import jax_model

    def ask_loader(name: str, default: Callable[[], Any], **arguments: Any) -> Any:
        """Calls a method of the loader, or ``default`` if the loader does not have it."""
        method = getattr(loader, name, None)
        return default() if method is None else loading.call(method, **arguments)

    class Tester(jax_model.JaxModelTester):
        def _get_model(self) -> Any:
            return loading.call(loader.load_model)

        def _get_input_activations(self) -> Any:
            return loading.call(loader.load_inputs, batch_size=batch)

        def _get_mesh(self) -> Any:
            return parallelism.jax_mesh()

        def _get_parameter_specs(self, parameters: Any) -> Any:
            if not parallelism.splits_weights:
                return super()._get_parameter_specs(parameters)
            return parallelism.shard_specs(parameters)

        def _get_input_axis(self) -> str | None:
            return "data" if parallelism.splits_batch else None

        def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
            args, kwargs = super()._call()
            first_input = 1 if jax_model.is_linen(self._model) else 0  # the parameters of linen are an argument
            with frameworks.on_jax_cpu():
                inputs, kwargs = parallelism.repeated(list(args[first_input:])), parallelism.repeated(dict(kwargs))
            return [*args[:first_input], *inputs], kwargs

        def _get_forward_method_name(self) -> str:
            return ask_loader("get_forward_method_name", super()._get_forward_method_name)

        def _get_input_parameters(self) -> Any:
            training = self._run_mode is RunMode.TRAINING
            inputs = self._get_input_activations()
            if hasattr(loader, "get_input_parameters"):
                return loading.call(loader.get_input_parameters, train=training)
            return ask_loader("load_parameters", super()._get_input_parameters, inputs=inputs, train=training)

        def _get_forward_method_args(self) -> Sequence[Any]:
            return ask_loader("get_forward_method_args", super()._get_forward_method_args)

        def _get_static_argnames(self) -> Sequence[str]:
            return ask_loader("get_static_argnames", super()._get_static_argnames) or []

        def _get_forward_method_kwargs(self) -> Mapping[str, Any]:
            training = self._run_mode is RunMode.TRAINING
            return ask_loader("get_forward_method_kwargs", super()._get_forward_method_kwargs, train=training)

    return Tester


def _judge(record: Record, results: Sequence[ComparisonResult], expectation: Expectation) -> None:
    """Writes outcome and metrics of the comparisons to the record."""
    values = [result.pcc for result in results if result.pcc is not None]
    record.pcc = None if not values else math.nan if any(math.isnan(value) for value in values) else min(values)
    record.atol = max((result.atol for result in results if result.atol is not None), default=None)
    record.comparison_passed = all(result.passed for result in results)
    if record.comparison_passed:
        record.outcome, record.bringup_status = "passed", BringupStatus.PASSED.value
    else:
        record.error = "\n".join(result.error_message for result in results if result.error_message)
        record.bringup_status = BringupStatus.INCORRECT_RESULT.value
    misses_pcc = record.pcc is not None and record.pcc < expectation.required_pcc
    if misses_pcc and not expectation.assert_pcc:
        record.bringup_status = BringupStatus.INCORRECT_RESULT.value
        record.reason = (
            f"Test marked w/ INCORRECT_RESULT. PCC check disabled. Calculated: pcc={record.pcc}. "
            f"Required: pcc={expectation.required_pcc}."
        )


def _batch(tester: ModelTester) -> int | None:
    """Returns the first extent of the first input that has one; None if none has."""
    args, kwargs = tester._call()
    shapes = [value.shape for value in (*kwargs.values(), *args[::-1]) if len(getattr(value, "shape", ())) > 0]
    return shapes[0][0] if shapes else None


def _check_patterns(record: Record, case: Case, expectation: Expectation, compilations: Sequence[Compilation]) -> None:
    """Checks the filecheck patterns of the test's entry; a pattern that does not match fails the test."""
    if not expectation.filechecks:
        return
    from tt_xla.testing import artifacts, filechecks

    files = artifacts.write(artifacts.sanitized(case.id), compilations)
    try:
        filechecks.run(expectation.filechecks, files, [Path.cwd() / filechecks.FOLDER])
    except AssertionError as error:
        record.outcome, record.error = "failed", str(error)


def error_text(error: BaseException) -> str:
    """Returns type and message of an error, with the last line of the model's loader in its traceback."""
    if isinstance(error, SystemExit):
        head = f"SystemExit: the model ended the process with {error.code!r}"
    else:
        head = f"{type(error).__name__}: {error}".strip()
    frames = traceback.extract_tb(error.__traceback__)
    loader_frames = [frame for frame in frames if frame.filename.endswith("loader.py")]
    return f"{head} (at {loader_frames[-1].filename}:{loader_frames[-1].lineno})" if loader_frames else head


def bringup_of(error: BaseException, compilations: Sequence[Compilation], stage: str) -> BringupStatus:
    """Returns which part failed: the front end, the compiler, or the run.

    Args:
        error: the exception that ended the test.
        compilations: the compilations of the test.
        stage: the stage that the test was in.
    """
    if stage != "device":
        return BringupStatus.UNKNOWN
    if any(isinstance(cause, ResourceExhaustedError) for cause in _chain(error)):
        return BringupStatus.FAILED_RUNTIME
    failed = [compilation.error for compilation in compilations if compilation.error is not None]
    if failed:
        exhausted = isinstance(failed[-1], ResourceExhaustedError)
        return BringupStatus.FAILED_RUNTIME if exhausted else BringupStatus.FAILED_TTMLIR_COMPILATION
    files = [frame.filename for cause in _chain(error) for frame in traceback.extract_tb(cause.__traceback__)]
    if any("/tt_xla/runtime/" in file for file in files):
        return BringupStatus.FAILED_RUNTIME
    traced = any("/torch/_dynamo/" in file or "/jax/_src/interpreters/mlir" in file for file in files)
    if compilations and not traced:
        return BringupStatus.FAILED_RUNTIME
    return BringupStatus.FAILED_FE_COMPILATION


def _chain(error: BaseException | None) -> list[BaseException]:
    """Returns an exception and its causes."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain
