"""The base class of the testers of JAX and torch models."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from tt_xla.testing import artifacts
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework


class RunMode(Enum):
    """Whether a test runs the forward pass only, or the backward pass too."""

    INFERENCE = "inference"
    TRAINING = "training"

    def __str__(self) -> str:
        return self.value


class ModelTester(abc.ABC):
    """Runs a model on the CPU and on ``tt``, and compares the results.

    :class:`JaxModelTester` and :class:`TorchModelTester` run models of their framework. A test's own subclass provides
    the model, which is created with the tester, and its inputs, which are created when the test begins.

    Args:
        comparison_config: metrics and thresholds.
        run_mode: whether to run the backward pass as well.
        compiler_config: compile options.
        custom_comparator: called instead of the comparison, with the device's result, the expected result, and the
            arguments of the model.
    """

    framework: Framework

    on_stage: Callable[[str], object] = staticmethod(lambda name: None)
    """Called with ``cpu`` and ``device`` before the model runs there."""

    def __init__(
        self,
        comparison_config: ComparisonConfig | None = None,
        run_mode: RunMode = RunMode.INFERENCE,
        compiler_config: CompilerConfig | None = None,
        custom_comparator: Callable[..., None] | None = None,
    ) -> None:
        self._comparison_config = comparison_config or ComparisonConfig()
        self._run_mode = run_mode
        self._options = (compiler_config or CompilerConfig()).to_options()
        self._custom_comparator = custom_comparator
        self._model = self._create_model()

    @abc.abstractmethod
    def _get_model(self) -> Any:
        """Returns the model with its weights."""

    @abc.abstractmethod
    def _get_input_activations(self) -> Any:
        """Returns the inputs: one array, a sequence of positional arguments, or a mapping of keyword arguments."""

    @abc.abstractmethod
    def _run_inference(self) -> tuple[Any, Any]:
        """Returns the results of the CPU and of the device."""

    @abc.abstractmethod
    def _run_training(self) -> list[tuple[str, Any, Any]]:
        """Returns triples: what is compared (backward or forward), the CPU's result, and the device's result."""

    def _create_model(self) -> Any:
        """Returns the model in the state in which it is tested."""
        return self._get_model()

    def test(self, request: Any = None) -> Any:
        """Runs the model and compares.

        Args:
            request: pytest's fixture; ``--serialize`` and filecheck markers need it.

        Returns:
            For inference ``((comparison,), output)``, where ``output`` is the device's result. For training the
            comparisons of the gradients and of the forward pass.

        Raises:
            AssertionError: ``Evaluation result <i> failed: ...``, unless ``assert_on_failure`` is off.
        """
        with artifacts.recording(request) as compilations:
            if self._run_mode is RunMode.INFERENCE:
                expected, actual = self._run_inference()
                results: tuple[ComparisonResult, ...] = (self._judge(actual, expected),)
            else:
                actual = None
                results = tuple(self._judge(actual, expected) for _, expected, actual in self._run_training())
        if self._comparison_config.assert_on_failure:
            for index, result in enumerate(results):
                if not result.passed:
                    raise AssertionError(f"Evaluation result {index} failed: {result.error_message}")
        artifacts.finish(request, compilations)
        return (results, actual) if self._run_mode is RunMode.INFERENCE else results

    def _judge(self, actual: Any, expected: Any) -> ComparisonResult:
        if self._custom_comparator is not None:
            self._custom_comparator(actual, expected, *self._call())
            return ComparisonResult(True, None, None, None, None, None)
        return compare(actual, expected, replace(self._comparison_config, assert_on_failure=False))

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Returns the positional and keyword arguments of the forward pass."""
        return (), {}
