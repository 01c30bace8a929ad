"""Data and tensor parallelism of the runner's tests: the mesh, and how a loader's tensors are split over it.

With data parallelism every sample is repeated once per chip, and the batch is split over all chips. With tensor
parallelism the loader chooses the mesh (``get_mesh_config``) and splits its weights (``load_shard_spec``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla import environment
from tt_xla.target import load_target
from tt_xla.testing.models.discovery import Case


class NotParallelError(Exception):
    """The loader does not say how its model is split, so the test is skipped."""


def chips() -> int:
    """Returns the number of chips of the selected system."""
    return load_target(environment.selected_system()).chips


def reason_to_skip(case: Case) -> str:
    """Returns why a test cannot run on the selected system; empty if it can."""
    if case.phase:
        return "tt-xla does not run the phases of language models yet"
    if case.parallelism == "single_device" or chips() > 1:
        return ""
    system = environment.selected_system()
    return f"{case.parallelism} needs several chips, {system} has one; set TTXLA_SYSTEM, such as n300"


@dataclass(frozen=True)
class Parallelism:
    """How one test uses the chips of a system.

    Attributes:
        kind: one of :data:`tt_xla.testing.models.discovery.PARALLELISMS`.
        loader: the model's loader.
    """

    kind: str
    loader: Any

    @property
    def splits_batch(self) -> bool:
        """Whether the test is one of data parallelism."""
        return self.kind == "data_parallel"

    @property
    def splits_weights(self) -> bool:
        """Whether the test is one of tensor parallelism."""
        return self.kind == "tensor_parallel"

    @property
    def is_written_for_shards(self) -> bool:
        """Whether the loader has a model for the shards of one chip, with collectives (``load_multichip_model``)."""
        return self.kind != "single_device" and hasattr(self.loader, "load_multichip_model")

    def check(self) -> None:
        """Checks that the loader has what the test needs.

        Raises:
            NotParallelError: the loader has no mesh for tensor parallelism, or does not split its weights.
        """
        if (
            not self.is_written_for_shards
            and self.splits_weights
            and (_mesh_of(self.loader, chips())[0] is None or not hasattr(self.loader, "load_shard_spec"))
        ):
            raise NotParallelError("the loader has no mesh or shard specs (get_mesh_config, load_shard_spec)")

    @property
    def mesh_config(self) -> tuple[Sequence[int] | None, Sequence[str]]:
        """Number of chips along each axis of the mesh, or None for one chip; and the axes' names."""
        if self.splits_batch:
            return (1, chips()), ("model", "data")
        return _mesh_of(self.loader, chips()) if self.splits_weights else (None, ())

    def shard_specs(self, model: Any) -> Any:
        """Returns the loader's shard specs of a model's weights.

        Raises:
            NotParallelError: the loader has none.
        """
        specs = self.loader.load_shard_spec(model)
        if specs is None:
            raise NotParallelError("the loader has no shard specs for tensor parallelism (load_shard_spec)")
        return specs

    def torch_mesh(self) -> Any:
        """Returns the mesh of a torch test, which is also the global mesh then, or None for one chip."""
        shape, names = self.mesh_config
        if shape is None:
            return None
        from tt_xla.testing import torch_meshes

        torch_meshes.enable_spmd()
        mesh = torch_meshes.get_mesh(shape, names)
        torch_meshes.xs.set_global_mesh(mesh)
        return mesh

    def jax_mesh(self) -> Any:
        """Returns the mesh of a JAX test, or None for one chip."""
        shape, names = self.mesh_config
        if shape is None:
            return None
        from tt_xla.testing.jax_meshes import tt_mesh

        return tt_mesh(shape, names)

    def repeated(self, inputs: Any) -> Any:
        """Returns a model's inputs; with data parallelism every sample is repeated once per chip.

        Args:
            inputs: an array, a sequence of positional arguments, or a mapping of keyword arguments.
        """
        if not self.splits_batch:
            return inputs
        count = chips()
        if isinstance(inputs, Mapping):
            return {name: _repeated(value, count) for name, value in inputs.items()}
        if isinstance(inputs, (list, tuple)):
            return [_repeated(value, count) for value in inputs]
        return _repeated(inputs, count)


def _repeated(value: Any, count: int) -> Any:
    """Returns an array with every sample repeated. A scalar becomes a vector, and a vector a batch of vectors."""
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return value
    batch = value[None] if value.ndim == 1 else value.reshape(1) if value.ndim == 0 else value
    return batch.repeat_interleave(count, 0) if hasattr(batch, "repeat_interleave") else batch.repeat(count, 0)


def _mesh_of(loader: Any, count: int) -> tuple[Sequence[int] | None, Sequence[str]]:
    """Returns shape and axis names of a loader's mesh; the shape is None if the loader has no mesh."""
    configure = getattr(loader, "get_mesh_config", None)
    return (None, ()) if configure is None else configure(count)
