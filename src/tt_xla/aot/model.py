"""A packaged model that can be called."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tt_xla.aot.format import Package
from tt_xla.aot.signature import Shape, check, described
from tt_xla.ir.program import Program
from tt_xla.locks import Lock
from tt_xla.log import logger
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.lifetimes import ended, new_version

_HELD: Counter[int] = Counter()
"""Bytes of the weights of all models by chip."""


class Model:
    """A packaged model. It takes and returns tensors of the CPU, or of the device ``tt`` where it is given one of them.

    Calls for sizes without a program compile the package's StableHLO module for them. Nothing is traced. The compiled
    program stays in the model and in the cache on disk.

    Args:
        package: the package.
        chip: number of the chip that runs it.

    Raises:
        ExecutionError: the system has no such chip.
    """

    def __init__(self, package: Package, chip: int = 0) -> None:
        self.package = package
        self.device = get_device(chip=chip)
        """The chip that runs the model."""
        self._options = CompileOptions.parse(package.manifest.options)
        self._inputs = [argument for argument in package.manifest.arguments if argument.position is not None]
        self._digest = hashlib.sha256(package.module).hexdigest()
        self._lock = Lock()
        self._versions = {name: new_version() for name in package.weights}
        self._updated = {name for name in package.manifest.updates if isinstance(name, str)}
        self._executables: dict[tuple[Shape, ...], Any] = {}
        nbytes = sum(weight.nbytes for weight in package.weights.values())
        _HELD[self.device.index] += nbytes
        weakref.finalize(self, _end, self._versions, self.device.index, nbytes)
        self.device.count_tensors("packages", functools.partial(_HELD.__getitem__, self.device.index))
        if package.manifest.system != self.device.name:
            logger().warning(
                "The package of '%s' was compiled for %s, and this process has %s: its programs are compiled again.",
                package.manifest.name,
                package.manifest.system,
                self.device.name,
            )

    @property
    def programs(self) -> Mapping[tuple[Shape, ...], Program]:
        """Compiled programs by the shapes of their inputs: those of the package for this system, and newer ones."""
        return {key: p for key, p in self.package.programs.items() if p.target == self.device.name}

    @property
    def state(self) -> Mapping[str, torch.Tensor]:
        """Parameters and buffers by name, on the CPU; buffers with the contents of the last call."""
        weights = self.package.weights
        return {a.name: weights[a.weight] for a in self.package.manifest.arguments if a.weight is not None}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns what the exported model returns: tensors within tuples, lists and dicts.

        Raises:
            TypeError: the arguments have another structure than those of the export, or one is no tensor.
            ValueError: a tensor has another dtype, or a size out of bounds; or another argument has another value.
            CompileError: there is no program for the sizes, and none can be compiled.
            ExecutionError, ResourceExhaustedError: the program fails, or does not fit on the chip.
        """
        leaves = self._leaves(args, kwargs)
        tensors = self._checked(leaves)
        with self._lock:
            results = self._run(tensors)
            updates = self.package.manifest.updates
            first = len(results) - len(updates)
            for target, result in zip(updates, results[first:], strict=True):
                if isinstance(target, str):
                    self.package.weights[target] = result
                else:
                    leaves[target].copy_(result)
        if any(tensor.device.type == "tt" for tensor in tensors):
            from tt_xla.frontends.torch.device import lift

            results = [lift(result, self.device.index) for result in results[:first]]
        return self.package.manifest.outputs.fill(results)

    def compile(self, *args: Any, **kwargs: Any) -> Program:
        """Returns the program for the sizes of a call's arguments, and compiles it if there is none.

        Raises:
            TypeError, ValueError, CompileError: as a call does.
        """
        tensors = self._checked(self._leaves(args, kwargs))
        with self._lock:
            return self._program(tuple(tuple(tensor.shape) for tensor in tensors))

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int, Any]:
        manifest = self.package.manifest
        leaves = manifest.inputs.flatten((args, kwargs))
        if leaves is None:
            expected = "({}), {}".format(*manifest.inputs.items) if len(manifest.inputs.items) == 2 else manifest.inputs
            raise TypeError(
                f"The arguments of '{manifest.name}' have another structure than those of the export: got "
                f"{len(args)} positional ones and {sorted(kwargs)} by name, expected {expected}."
            )
        for position, value in manifest.fixed.items():
            given = leaves.get(int(position))
            if type(given) is not type(value) or given != value:
                raise ValueError(
                    f"Argument {position} of '{manifest.name}' is {given!r}; the model was exported for {value!r}, "
                    "which is part of its program. Export it again for another value."
                )
        return leaves

    def _checked(self, leaves: Mapping[int, Any]) -> list[torch.Tensor]:
        """Returns the tensors of a call in the order of the program's inputs."""
        tensors: list[torch.Tensor] = []
        for argument in self._inputs:
            value = leaves[argument.position or 0]
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"Input '{argument.name}' is {value!r}; expected a tensor, {argument}.")
            tensors.append(value)
        check(self._inputs, tensors, self.package.manifest.symbols)
        return tensors

    def _run(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        if shapes not in self._executables:
            self._executables[shapes] = self.device.load(self._program(shapes).with_trap(self._options.trap))
        given = iter(tensors)
        arguments: list[torch.Tensor] = []
        versions: list[int | None] = []
        for argument in self.package.manifest.arguments:
            if argument.weight is None:
                arguments.append(next(given).detach().to("cpu").resolve_conj().resolve_neg())
            else:
                arguments.append(self.package.weights[argument.weight])
            fixed = argument.weight is not None and argument.weight not in self._updated
            versions.append(self._versions[argument.weight] if fixed and argument.weight else None)
        return self._executables[shapes].run(arguments, versions)

    def _program(self, shapes: tuple[Shape, ...]) -> Program:
        program = self.programs.get(shapes)
        if program is None:
            program = self.package.programs[shapes] = self._compiled(shapes)
        return program

    def _compiled(self, shapes: tuple[Shape, ...]) -> Program:
        """Compiles the package's module for the sizes of its inputs, or finds the program in the cache on disk."""
        from tt_xla.frontends import stored_programs
        from tt_xla.target import load_target

        manifest, target = self.package.manifest, load_target(self.device.name)
        logger().info("'%s' is compiled for inputs of shapes %s", manifest.name, ", ".join(map(described, shapes)))
        stores = stored_programs.is_used(self._options)
        key = stored_programs.program_key(f"{self._digest}{shapes}", self._options.of_program, target, ())
        program = stored_programs.stored(key) if stores else None
        if program is None:
            from tt_xla.compiler import compile_module, read_module
            from tt_xla.compiler.stablehlo.symbolic_sizes import specialize

            module: Any = read_module(self.package.module, manifest.name)
            if manifest.symbols:
                given = iter(shapes)
                weights = self.package.weights
                module = specialize(
                    module, [weights[a.weight].shape if a.weight else next(given) for a in manifest.arguments]
                )
            program = compile_module(module, self._options, target, name=manifest.name)
            if stores:
                stored_programs.store(key, program)
        return program


def _end(versions: Mapping[str, int], chip: int, nbytes: int) -> None:
    """Ends what executables keep of a model's weights, which take memory of a chip no more."""
    _HELD[chip] -= nbytes
    for version in versions.values():
        ended(version)


__all__ = ["Model"]
