"""Tests of JAX models that are written for the shards of one chip (``load_multichip_model`` of a loader)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from jax.sharding import PartitionSpec

from tt_xla.testing import frameworks, jax_meshes
from tt_xla.testing.comparison import ComparisonConfig
from tt_xla.testing.compiler_config import CompilerConfig
from tt_xla.testing.frameworks import Framework
from tt_xla.testing.jax_model import is_linen
from tt_xla.testing.linen_meshes import on_shards
from tt_xla.testing.model_tester import ModelTester, RunMode
from tt_xla.testing.models import loading, parallel
from tt_xla.testing.models.parallel import NotParallelError

_AXIS = "X"
"""Name of the mesh axis, as loaders expect it."""


class ParallelismKind(Enum):
    """The parallelism of a test, as loaders compare it: by the member's name."""

    DATA_PARALLEL = "data_parallel"
    TENSOR_PARALLEL = "tensor_parallel"


class ShardModelTester(ModelTester):
    """Runs a linen model inside ``shard_map`` on a row of all chips, and on as many CPU devices.

    Args:
        parallelism: loader and parallelism of the test.

    Raises:
        NotParallelError: the model is not a linen module.
        ExecutionError: JAX has too few CPU devices.
    """

    framework = Framework.JAX

    def __init__(
        self,
        parallelism: parallel.Parallelism,
        comparison_config: ComparisonConfig,
        run_mode: RunMode,
        compiler_config: CompilerConfig,
    ) -> None:
        self._loader, self._kind = parallelism.loader, ParallelismKind(parallelism.kind)
        self._cpu_mesh = jax_meshes.cpu_mesh((parallel.chips(),), (_AXIS,))
        super().__init__(comparison_config, run_mode, compiler_config)
        self._inputs = self._get_input_activations()
        self._input_specs = self._ask("get_input_activations_partition_spec", mesh=self._cpu_mesh)
        known = {
            "model_for_multichip": self._model,
            "cpu_mesh": self._cpu_mesh,
            "inputs": self._inputs,
            "input_activations_partition_specs": self._input_specs,
        }
        self._parameter_specs = self._ask("load_parameters_partition_spec", **known)
        self._parameters = self._ask(
            "load_parameters", train=False, input_parameters_partition_specs=self._parameter_specs, **known
        )

    def _ask(self, method: str, **arguments: Any) -> Any:
        """Calls a method of the loader with the arguments that it has parameters for."""
        arguments |= {"axis_name": _AXIS, "parallelism": self._kind}
        with frameworks.on_jax_cpu():
            return loading.call(getattr(self._loader, method), **arguments)

    def _get_model(self) -> Any:
        model = self._ask("load_multichip_model", num_devices=parallel.chips(), train_mode=False)
        if not is_linen(model):
            raise NotParallelError(f"load_multichip_model returned a {type(model).__name__}, expected a linen module")
        return model

    def _get_input_activations(self) -> Any:
        return self._ask("load_inputs", mesh=self._cpu_mesh)

    def _call(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return [self._parameters, self._inputs], {}

    def _run_inference(self) -> tuple[Any, Any]:
        self.on_stage("cpu")
        expected = self._run_on(self._cpu_mesh, {})
        self.on_stage("device")
        return expected, self._run_on(jax_meshes.tt_mesh((parallel.chips(),), (_AXIS,)), self._options)

    def _run_on(self, mesh: Any, options: Mapping[str, str]) -> Any:
        return jax_meshes.run_on_mesh(
            on_shards(self._model.apply),
            [self._parameters, self._inputs],
            mesh,
            [self._parameter_specs, *self._input_specs],
            PartitionSpec(),
            jax_meshes.ShardingMode.INPUTS_AND_MODULE,
            options,
            check_vma=False,  # linen's collectives do not say what they leave replicated
        )

    def _run_training(self) -> list[tuple[str, Any, Any]]:
        raise NotParallelError("models for the shards of one chip (load_multichip_model) are not trained")
