"""The tester of torch models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.trees import tree_leaves, tree_map
from tt_xla.testing import frameworks
from tt_xla.testing.comparison import ComparisonConfig
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.model_tester import ModelTester, RunMode


class TorchModelTester(ModelTester):
    """Tests a ``torch.nn.Module``.

    Subclasses override ``_get_model`` and ``_get_input_activations``. A mapping of inputs is passed as keyword
    arguments, a sequence as positional arguments. In training, the gradients of all parameters are compared for a
    random gradient of the output, and then the output.

    A test on several chips also overrides ``_get_mesh`` and ``_get_shard_specs_function``. The function returns the
    partition spec of each tensor that is split; its parameters are ``model``, or ``args`` and ``kwargs``, or all three.
    ``_get_activation_shard_spec_function`` may return a function that maps the model to the partition specs of modules'
    outputs.

    Args:
        comparison_config: metrics and thresholds.
        run_mode: whether to run the backward pass as well.
        compiler_config: compile options.
        parallelism: accepted for upstream's tests, whose subclasses read it.
        dtype_override: floating-point type of the weights and inputs; None keeps their types.
        custom_comparator: called instead of the comparison.
    """

    framework = Framework.TORCH
    golden_dtype: torch.dtype | None = None
    """Floating-point type that the CPU computes in, with the same weights; None for the model's own type."""

    def __init__(
        self,
        comparison_config: ComparisonConfig | None = None,
        run_mode: RunMode = RunMode.INFERENCE,
        compiler_config: CompilerConfig | None = None,
        parallelism: Any = None,
        dtype_override: torch.dtype | None = None,
        custom_comparator: Callable[..., None] | None = None,
    ) -> None:
        self._dtype_override = dtype_override
        self._parallelism = parallelism
        self._inputs: Any = None
        super().__init__(comparison_config, run_mode, compiler_config, custom_comparator)

    def _create_model(self) -> Any:
        model = self._get_model()
        if self._dtype_override is not None:
            model = model.to(self._dtype_override)
        return model.train(self._run_mode is RunMode.TRAINING)

    def _get_mesh(self) -> Any:
        """Returns the mesh that the model runs on, or None for one chip."""
        return None

    def _get_shard_specs_function(self) -> Callable[..., Any] | None:
        """Returns the function that says how tensors are split over the mesh, or None."""
        return None

    def _get_activation_shard_spec_function(self) -> Callable[..., Any] | None:
        """Returns a function that maps the model to the partition specs of modules' outputs, or None."""
        return None

    def _split(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Splits the tensors of a call on ``tt`` over the mesh."""
        from tt_xla.testing import torch_meshes

        mesh, activation_specs = self._get_mesh(), self._get_activation_shard_spec_function()
        torch_meshes.mark_shardings(mesh, self._get_shard_specs_function(), model, args, kwargs)
        if activation_specs is not None:
            torch_meshes.constrain_activations(mesh, activation_specs(model) or {})

    def _unpack_forward_output(self, output: Any) -> Any:
        """Returns the tensor that the backward pass starts from: the first floating-point tensor of the output.

        Raises:
            TypeError: the output has no floating-point tensor.
        """
        tensors = [x for x in tree_leaves(_plain(output)) if _is_floating(x)]
        if not tensors:
            raise TypeError(
                f"The model returned {type(output).__name__} without a floating-point tensor to start backward from."
            )
        return tensors[0]

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        if self._inputs is None:
            inputs = self._get_input_activations()
            if self._dtype_override is not None:
                inputs = _with_floats_of(inputs, self._dtype_override)
            self._inputs = inputs
        if isinstance(self._inputs, Mapping):
            return (), dict(self._inputs)
        if isinstance(self._inputs, (list, tuple)):
            return self._inputs, {}
        return (self._inputs,), {}

    def _golden_model(self) -> torch.nn.Module:
        """Returns the model that computes the expected results on the CPU."""
        return self._model if self.golden_dtype is None else copy.deepcopy(self._model).to(self.golden_dtype)

    def _for_golden(self, inputs: Any) -> Any:
        return inputs if self.golden_dtype is None else _with_floats_of(inputs, self.golden_dtype)

    def _run_inference(self) -> tuple[Any, Any]:
        args, kwargs = self._call()
        # The copy is made before the first run, because some models keep tensors of it.
        fresh_model = copy.deepcopy(self._model)
        self.on_stage("cpu")
        with torch.no_grad():
            golden_args, golden_kwargs = self._for_golden(copy.deepcopy((args, kwargs)))
            expected = self._golden_model()(*golden_args, **golden_kwargs)
        self.on_stage("device")
        return _plain(expected), self.run_on_device(fresh_model, self._options)

    def run_on_device(self, model: torch.nn.Module, options: Mapping[str, Any]) -> Any:
        """Returns the results of a model on the device, on the CPU."""
        args, kwargs = self._call()
        return _plain(frameworks.run_torch_on_tt(model, args, kwargs, options, self._split))

    def _run_training(self) -> list[tuple[str, Any, Any]]:
        args, kwargs = self._call()
        device_model = frameworks.on_tt(self._model)
        self.on_stage("cpu")
        model = self._golden_model()
        golden_args, golden_kwargs = self._for_golden((args, kwargs))
        expected = self._unpack_forward_output(model(*golden_args, **golden_kwargs))
        gradient = torch.randn(expected.shape, generator=torch.Generator().manual_seed(0)).to(expected.dtype)
        expected.backward(gradient)
        expected_gradients = _gradients(model)
        self._model.zero_grad()
        self.on_stage("device")
        run = frameworks.compiled_on_tt(device_model, args, kwargs, self._options, self._split)
        actual = self._unpack_forward_output(run())
        actual.backward(gradient.to(actual.dtype).to("tt"))
        return [
            ("backward", *_with_zeros(expected_gradients, _gradients(device_model))),
            ("forward", expected.detach(), actual.detach().cpu()),
        ]


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _with_floats_of(inputs: Any, dtype: torch.dtype) -> Any:
    return tree_map(lambda x: x.to(dtype) if _is_floating(x) else x, inputs)


def _gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: x.grad.detach().cpu() for name, x in model.named_parameters() if x.grad is not None}


def _with_zeros(
    expected: Mapping[str, torch.Tensor], actual: Mapping[str, torch.Tensor]
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Returns gradients by parameter in which zeros replace a gradient that only the other side has.

    Eager torch leaves out the gradient of a parameter that an output without a gradient reads; compiled models return
    zeros for it.
    """
    zeros = {name: torch.zeros_like(x) for name, x in {**expected, **actual}.items()}
    return {**zeros, **expected}, {**zeros, **actual}


def _plain(output: Any) -> Any:
    """Returns an output of transformers as a plain mapping; every other output unchanged."""
    return dict(output) if isinstance(output, Mapping) else output
