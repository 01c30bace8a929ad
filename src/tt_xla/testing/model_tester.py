"""What testers of models of both frameworks share."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from tt_xla.testing import artifacts
from tt_xla.testing.comparison import ComparisonConfig, ComparisonResult, compare
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework


class RunMode(Enum):
    INFERENCE = "inference"
    TRAINING = "training"

    def __str__(self) -> str:
        return self.value


class ModelTester(abc.ABC):
    """Runs a model on the CPU and on ``tt``, forward or forward and backward, and compares.

    Subclasses say what the model and its inputs are; :class:`JaxModelTester` and :class:`TorchModelTester` say how it
    is run. The model is made when the tester is, inputs when the test begins.
    """

    framework: Framework

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
        self._model = self._made_model()

    @abc.abstractmethod
    def _get_model(self) -> Any:
        """The model, with its weights."""

    @abc.abstractmethod
    def _get_input_activations(self) -> Any:
        """The inputs: an array, a sequence of positional ones, or a mapping of keyword ones."""

    @abc.abstractmethod
    def _run_inference(self) -> tuple[Any, Any]:
        """What the CPU and the device give."""

    @abc.abstractmethod
    def _run_training(self) -> list[tuple[str, Any, Any]]:
        """What is compared by name, what the CPU gives, and what the device gives."""

    def _made_model(self) -> Any:
        return self._get_model()

    def test(self, request: Any = None) -> Any:
        """Runs and compares.

        Returns:
            For inference the results of the comparison and what the device gave, ``((result,), output)``; for training
            the results, of gradients and of the forward pass.

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
        keep = self._comparison_config.assert_on_failure
        self._comparison_config.assert_on_failure = False
        try:
            return compare(actual, expected, self._comparison_config)
        finally:
            self._comparison_config.assert_on_failure = keep

    def _stage(self, name: str) -> None:  # noqa: B027  may be overridden
        """Is told what comes next: ``cpu``, ``device``."""

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Positional and keyword arguments of the forward pass."""
        return (), {}
