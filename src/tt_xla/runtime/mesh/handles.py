"""Tensors that stay on the chips of a mesh, each of which holds a shard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Result
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.mesh.shards import Held, global_shape_of, join, sharding_of

if TYPE_CHECKING:
    from tt_xla.runtime.ttnn.handles import Handle


class MeshHandle:
    """A result of a program for several chips that stays on their card, as one tensor.

    It is what :class:`~tt_xla.runtime.ttnn.handles.Handle` is for one chip, and consists of a handle for each shard.

    Args:
        shards: handle of every chip's shard, by position.
        result: how the program declares it.
        held: what the chips hold of it.
        mesh: the mesh of the program.

    Attributes:
        dtype: element type as the program's caller declared it.
        shape: shape of the whole tensor.
        argument: position of the argument that the program has written to and returned as this result; None for a
            result with memory of its own.
    """

    __slots__ = ("_mesh", "_result", "argument", "dtype", "held", "shape", "shards")

    def __init__(self, shards: Sequence[Handle], result: Result, held: Held, mesh: Mesh) -> None:
        self.shards = shards
        self.held = held
        self._result, self._mesh = result, mesh
        self.dtype, self.shape = DECLARED[result.dtype], global_shape_of(result)
        self.argument = shards[0].argument

    @property
    def nbytes(self) -> int:
        """Size of the whole tensor on the host, in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> torch.Tensor:
        """Waits for the run and returns a CPU tensor with all elements.

        Raises:
            ExecutionError: the run failed, TT-NN's process ended, or a program has written to the result's memory.
        """
        distinct = list(dict.fromkeys(self.shards))
        tensors = dict(zip(distinct, distinct[0].read_together(distinct), strict=True))
        return join([tensors[shard] for shard in self.shards], sharding_of(self._result), self._mesh, self.shape)

    def wait(self) -> None:
        """Waits for the run.

        Raises:
            ExecutionError: the errors of :meth:`read`.
        """
        for shard in dict.fromkeys(self.shards):
            shard.wait()


__all__ = ["MeshHandle"]
