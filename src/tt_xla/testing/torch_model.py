"""Tests of torch models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tt_xla.testing import frameworks
from tt_xla.testing.comparison import ComparisonConfig
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.model_tester import ModelTester, RunMode


class TorchModelTester(ModelTester):
    """Tests a ``torch.nn.Module``.

    Override ``_get_model`` and ``_get_input_activations``; a mapping of inputs goes to the model as keyword arguments,
    a sequence as positional ones. In training the gradients of all parameters are compared, for a random gradient of
    the output, and then the output.
    """

    framework = Framework.TORCH
    golden_dtype: torch.dtype | None = None
    """What the CPU computes in, from the same weights; None for the model's own type."""

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

    def _made_model(self) -> Any:
        model = self._get_model()
        if self._dtype_override is not None:
            model = model.to(self._dtype_override)
        return model.train(self._run_mode is RunMode.TRAINING)

    def _unpack_forward_output(self, output: Any) -> Any:
        """What the gradient flows from, of what the model returned: the first floating tensor."""
        found = [x for x in pytree.tree_leaves(_plain(output)) if _is_floating(x)]
        if not found:
            raise TypeError(f"The model returned {type(output).__name__} without a floating tensor to train from.")
        return found[0]

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        if self._inputs is None:
            inputs = self._get_input_activations()
            if self._dtype_override is not None:
                inputs = pytree.tree_map(self._as_override, inputs)
            self._inputs = inputs
        if isinstance(self._inputs, Mapping):
            return (), dict(self._inputs)
        if isinstance(self._inputs, (list, tuple)):
            return self._inputs, {}
        return (self._inputs,), {}

    def _as_override(self, x: Any) -> Any:
        return x.to(self._dtype_override) if _is_floating(x) else x

    def _golden_model(self) -> torch.nn.Module:
        return self._model if self.golden_dtype is None else copy.deepcopy(self._model).to(self.golden_dtype)

    def _for_golden(self, inputs: Any) -> Any:
        if self.golden_dtype is None:
            return inputs
        return pytree.tree_map(lambda x: x.to(self.golden_dtype) if _is_floating(x) else x, inputs)

    def _run_inference(self) -> tuple[Any, Any]:
        args, kwargs = self._call()
        # Copied before it runs: some models keep tensors of their first run.
        untouched = copy.deepcopy(self._model)
        self._stage("cpu")
        with torch.no_grad():
            args_there, kwargs_there = self._for_golden(copy.deepcopy((args, kwargs)))
            expected = self._golden_model()(*args_there, **kwargs_there)
        self._stage("device")
        return _plain(expected), self._run_on_device(untouched, self._options)

    def _run_on_device(self, model: torch.nn.Module, options: Mapping[str, Any]) -> Any:
        args, kwargs = self._call()
        return _plain(frameworks.run_torch_on_tt(model, args, kwargs, options))

    def _run_training(self) -> list[tuple[str, Any, Any]]:
        args, kwargs = self._call()
        ours = frameworks.on_tt(self._model)
        self._stage("cpu")
        model = self._golden_model()
        args_there, kwargs_there = self._for_golden((args, kwargs))
        expected = self._unpack_forward_output(model(*args_there, **kwargs_there))
        gradient = torch.randn(expected.shape, generator=torch.Generator().manual_seed(0)).to(expected.dtype)
        expected.backward(gradient)
        golden = _gradients(model)
        self._model.zero_grad()
        self._stage("device")
        torch.compiler.reset()
        compiled = torch.compile(ours, backend="tt", options=dict(self._options))
        actual = self._unpack_forward_output(compiled(*frameworks.on_tt(tuple(args)), **frameworks.on_tt(dict(kwargs))))
        actual.backward(gradient.to(actual.dtype).to("tt"))
        return [("backward", golden, _gradients(ours)), ("forward", expected.detach(), actual.detach().cpu())]


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: x.grad.detach().cpu() for name, x in model.named_parameters() if x.grad is not None}


def _plain(output: Any) -> Any:
    """Outputs of transformers as mappings, without caches, which the results of the device lack where none is used."""
    return dict(output) if isinstance(output, Mapping) else output
