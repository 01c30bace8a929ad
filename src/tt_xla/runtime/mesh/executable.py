"""A loaded Program for several chips."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import torch

from tt_xla.errors import ExecutionError
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Program
from tt_xla.runtime import observation
from tt_xla.runtime.emulator.containers import DECLARED
from tt_xla.runtime.executable import Counters, Executable
from tt_xla.runtime.mesh.expansion import Expansion
from tt_xla.runtime.mesh.shards import global_shape_of, join, sharding_of, split
from tt_xla.runtime.transfer import Version, describe

Shards = Sequence[Any]
"""The tensor of every chip of a mesh, by position; or what stands for a tensor in the memory of a card."""

ShardVersions = Version | Sequence[Version]
"""Version of the contents of a tensor, or of each chip's shard by position."""


class MeshExecutable:
    """A Program with a mesh on the chips of a card. Made by :meth:`tt_xla.runtime.Device.load`.

    Args:
        executable: the executable of the expansion, which computes what all chips do.
        program: the Program.
        expansion: its expansion.
    """

    def __init__(self, executable: Executable, program: Program, expansion: Expansion) -> None:
        assert program.mesh is not None
        self.program = program
        self.executable = executable
        self.device, self.devices = executable.device, executable.devices
        self.predicted_us = program.predicted_device_us
        self._mesh: Mesh = program.mesh
        self.expansion = expansion
        self._types = [(DECLARED[argument.dtype], tuple(argument.shape)) for argument in program.arguments]
        self._indices = {read: index for index, read in enumerate(expansion.reads)}
        """Position in the expansion of each shard that is read, by argument and chip."""
        self._written = {position for position, argument in enumerate(program.arguments) if argument.written}

    @property
    def counters(self) -> Counters:
        """Counts of what the executable did since it was loaded; an op counts once for each distinct shard."""
        return self.executable.counters

    @property
    def state(self) -> str:
        """``cold`` before the first run, ``captured`` once later runs replay a trace, else ``warm``."""
        return self.executable.state

    @property
    def traced(self) -> bool:
        """Whether later runs replay a trace."""
        return self.executable.traced

    @property
    def keeps_results(self) -> bool:
        """Whether :meth:`run_keeping` leaves results on a card, which has memory of its own."""
        return self.executable.keeps_results

    def takes(self, argument: int, chip: int, tensor: object) -> bool:
        """Returns whether a handle can be passed for a chip's shard of an argument: nobody reads it, or it fits."""
        index = self._indices.get((argument, chip))
        return index is None or self.executable.takes(index, tensor)

    def run(
        self, shards: Sequence[Shards], versions: Sequence[ShardVersions], donated: Container[int] = ()
    ) -> list[list[torch.Tensor]]:
        """Runs the Program once on all chips.

        Args:
            shards: for each argument, the tensor of every chip by position. Chips that hold the same shard may pass the
                same tensor; of several, the first one is read.
            versions: one token for each argument, unique in the process, that changes when one of its shards does, or
                one for each shard; None when the caller does not track the contents.
            donated: positions of arguments whose memory the program may overwrite and return as a result.

        Returns:
            For each result, the tensor of every chip by position. Chips that hold the same shard share one tensor.

        Raises:
            ExecutionError: wrong number, shape or dtype of shards, a value that does not fit its on-device type, or an
                op that fails.
            ResourceExhaustedError: a chip lacks DRAM or room for traces, which other programs hold by now.
        """
        return self._run(self.executable.run, shards, versions, donated)

    def run_keeping(
        self, shards: Sequence[Shards], versions: Sequence[ShardVersions], donated: Container[int] = ()
    ) -> list[list[Any]]:
        """Runs the Program once, like :meth:`run`, and leaves the results in the memory of a card.

        A handle that :meth:`takes` accepts may stand for a shard; those of a donated argument are lost.

        Returns:
            For each result, a handle for every chip by position. Chips that hold the same shard share one handle.
        """
        return self._run(self.executable.run_keeping, shards, versions, donated)

    def _run(
        self,
        run: Callable[..., list[Any]],
        shards: Sequence[Shards],
        versions: Sequence[ShardVersions],
        donated: Container[int],
    ) -> list[list[Any]]:
        self._check(shards, versions)
        if observation.RUNS:
            self._report(shards)
        reads = self.expansion.reads
        tensors = [shards[argument][chip] for argument, chip in reads]
        tokens = [_version(versions[argument], chip) for argument, chip in reads]
        writable = [
            index for index, (argument, _) in enumerate(reads) if argument in self._written and argument in donated
        ]
        results = run(tensors, tokens, writable)
        return [[results[index] for index in indices] for indices in self.expansion.returns]

    def run_whole(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Splits whole tensors over the chips, runs the Program once, and returns whole results.

        Raises:
            ExecutionError: wrong number, shape or dtype of tensors, or an op that fails.
        """
        declared = self.program.arguments
        for position, (tensor, argument) in enumerate(zip(tensors, declared, strict=False)):
            if tuple(tensor.shape) != global_shape_of(argument):
                raise ExecutionError(
                    f"Argument '{argument.name}' of program '{self.program.name}' has shape {list(tensor.shape)} at "
                    f"position {position}, expected {list(global_shape_of(argument))} for all chips together."
                )
        pairs = zip(tensors, declared, strict=False)
        shards = [split(tensor, sharding_of(argument), self._mesh) for tensor, argument in pairs]
        results = zip(self.run(shards, [None] * len(shards)), self.program.results, strict=True)
        return [join(group, sharding_of(result), self._mesh, global_shape_of(result)) for group, result in results]

    def spare_parameters(self) -> dict[int, object]:
        """Returns the parameters whose bytes may be released. Shards are never released."""
        return {}

    def accepts_stand_in(self, position: int, tensor: torch.Tensor) -> bool:
        """Returns whether a tensor without bytes may be passed for an argument; never, as none is released."""
        return False

    def forget(self, version: int) -> None:
        """Drops everything that was computed from an argument whose contents no longer exist."""
        self.executable.forget(version)

    def reset(self) -> None:
        """Returns to the cold state: forgets bound kernels, const-eval results and the captured trace."""
        self.executable.reset()

    def _report(self, shards: Sequence[Shards]) -> None:
        """Tells observers of runs the arguments as they were before they were split."""
        arguments = zip(self.program.arguments, shards, strict=True)
        tensors = [
            join(group, sharding_of(argument), self._mesh, global_shape_of(argument)) for argument, group in arguments
        ]
        for observer in observation.RUNS:
            observer(self.program, tensors)

    def _check(self, shards: Sequence[Shards], versions: Sequence[ShardVersions]) -> None:
        """Checks the number of arguments and the shards of every chip.

        Raises:
            ExecutionError: they do not match the Program.
        """
        arguments = self.program.arguments
        if not len(shards) == len(versions) == len(arguments):
            names = ", ".join(argument.name for argument in arguments)
            raise ExecutionError(
                f"Program '{self.program.name}' takes {len(arguments)} arguments, got shards of {len(shards)} and "
                f"{len(versions)} versions.",
                hint=f"Its arguments are, in order: {names}." if names else "",
            )
        size = self._mesh.size
        for position, (group, (dtype, shape)) in enumerate(zip(shards, self._types, strict=True)):
            if len(group) != size:
                raise ExecutionError(
                    f"Argument '{arguments[position].name}' of program '{self.program.name}' comes in {len(group)} "
                    f"shards, expected {size}, one for each chip of the mesh {'x'.join(map(str, self._mesh.shape))}.",
                    hint="Pass the same tensor for chips that hold the same shard.",
                )
            before = None
            for chip, tensor in enumerate(group):
                if tensor is not before and (tensor.dtype is not dtype or tensor.shape != shape):
                    raise ExecutionError(
                        f"Argument '{arguments[position].name}' of program '{self.program.name}' is "
                        f"{describe(tensor.dtype, tensor.shape)} on chip {chip}, expected {describe(dtype, shape)}.",
                        hint="Shards of all chips have one shape; split() pads those at the end of a dimension.",
                    )
                before = tensor


def _version(versions: ShardVersions, chip: int) -> Version:
    return versions if versions is None or isinstance(versions, int) else versions[chip]
