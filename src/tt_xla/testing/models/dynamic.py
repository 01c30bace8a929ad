"""The tester of torch models whose model and inputs come from a loader, as upstream's tests call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tt_xla.testing.comparison import ComparisonConfig
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.model_tester import RunMode
from tt_xla.testing.models import loading
from tt_xla.testing.models.parallel import Parallelism
from tt_xla.testing.torch_meshes import batch_shard_specs
from tt_xla.testing.torch_model import TorchModelTester


class DynamicTorchModelTester(TorchModelTester):
    """Tests the model of a loader, which is loaded in bfloat16 if the loader takes a type.

    Args:
        run_mode: whether to run the backward pass as well.
        loader: the loader, with methods ``load_model`` and ``load_inputs``.
        comparison_config: metrics and thresholds.
        compiler_config: compile options.
        parallelism: ``single_device``, ``data_parallel`` or ``tensor_parallel``, as text or as upstream's enumeration.
        batch_size: samples of the inputs; None for the loader's own number, or
            :data:`~tt_xla.testing.models.loading.TRAINING_BATCH` in training.
        golden_f32: whether the CPU computes in float32, with the same weights.
    """

    def __init__(
        self,
        run_mode: RunMode = RunMode.INFERENCE,
        *,
        loader: Any,
        comparison_config: ComparisonConfig | None = None,
        compiler_config: CompilerConfig | None = None,
        parallelism: Any = "single_device",
        batch_size: int | None = None,
        golden_f32: bool = False,
    ) -> None:
        self._loader = loader
        self._chips = (
            parallelism
            if isinstance(parallelism, Parallelism)
            else Parallelism(str(getattr(parallelism, "value", parallelism)), loader)
        )
        self._batch_size = batch_size or (loading.TRAINING_BATCH if run_mode is RunMode.TRAINING else None)
        self.golden_dtype = torch.float32 if golden_f32 else None
        super().__init__(comparison_config, run_mode, compiler_config)

    def _get_model(self) -> Any:
        return loading.call(self._loader.load_model, dtype_override=torch.bfloat16)

    def _get_input_activations(self) -> Any:
        inputs = loading.call(self._loader.load_inputs, dtype_override=torch.bfloat16, batch_size=self._batch_size)
        return self._chips.repeated(inputs)

    def _get_mesh(self) -> Any:
        return self._chips.torch_mesh()

    def _get_shard_specs_function(self) -> Callable[..., Any] | None:
        return batch_shard_specs if self._chips.splits_batch else self._chips.shard_specs

    def _get_activation_shard_spec_function(self) -> Callable[..., Any] | None:
        return getattr(self._loader, "load_activation_shard_spec", None) if self._chips.splits_weights else None

    def _unpack_forward_output(self, output: Any) -> Any:
        unpack = getattr(self._loader, "unpack_forward_output", None)
        unpacked = output if unpack is None else unpack(output)
        return unpacked if isinstance(unpacked, torch.Tensor) else super()._unpack_forward_output(unpacked)

    def _run_inference(self) -> tuple[Any, Any]:
        expected, self._before = super()._run_inference()
        return expected, self._before

    def emitted(self, folder: Path) -> tuple[Any, Any]:
        """Returns the result of a run that writes the model's source to a folder, and the result of the run before."""
        options = {**self._options, "backend": "codegen_py", "export_path": str(folder), "export_tensors": False}
        return self.run_on_device(self._model, options), self._before
