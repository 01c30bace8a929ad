"""The file of a package: an uncompressed ZIP archive.

It has ``manifest.json`` (a :class:`Manifest`), ``module.stablehlo`` (a portable artifact of StableHLO),
``weights.safetensors``, and a ``.ttnn`` program for each set of sizes in ``programs/``. Nothing in it is pickled.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tt_xla.aot.signature import Argument, Shape, Symbol
from tt_xla.aot.structure import Structure
from tt_xla.disk_cache import write_atomically
from tt_xla.errors import OptionError, OutputError, ProgramFormatError
from tt_xla.ir.program import Program
from tt_xla.log import logger
from tt_xla.options import CompileOptions

if TYPE_CHECKING:
    import torch

FORMAT_VERSION = 1

MANIFEST, MODULE, WEIGHTS = "manifest.json", "module.stablehlo", "weights.safetensors"

OWN_OPTIONS = ("backend", "export_path", "trap")
"""Compile options that a package does not keep: traps are those of the process that runs the model."""

_AGAIN = "Copy the file again, or make it again with tt_xla.aot.package."


class Entry(msgspec.Struct, frozen=True):
    """A program in the package: the shapes of the inputs that it is for, and its file."""

    shapes: tuple[Shape, ...]
    file: str


class Manifest(msgspec.Struct, frozen=True):
    """Everything in a package but bytes.

    Attributes:
        version: version of the format.
        name: name of the model.
        system: the system that the programs are compiled for, such as ``n150``.
        options: value of each compile option by name, without :data:`OWN_OPTIONS`.
        arguments: arguments of the programs, in order.
        symbols: bounds of symbolic sizes by name.
        inputs: structure of the caller's arguments: a tuple of the positional ones, and a dict of those by name.
        fixed: the caller's arguments that are no tensors, by position. The program was made for these values.
        outputs: structure of what the model returns, whose leaves are results of the programs.
        results: number of results of each program.
        updates: what the results after those of ``outputs`` replace: a weight by name, or an input by position.
        programs: the compiled programs.
    """

    version: int
    name: str
    system: str
    options: dict[str, Any]
    arguments: tuple[Argument, ...]
    symbols: dict[str, Symbol]
    inputs: Structure
    fixed: dict[str, bool | int | float | str | None]
    outputs: Structure
    results: int
    updates: tuple[str | int, ...]
    programs: tuple[Entry, ...] = ()


@dataclass
class Package:
    """A package in memory.

    Attributes:
        manifest: how the model is called.
        module: StableHLO module, as a portable artifact.
        weights: contents of parameters, buffers and constants by name, on the CPU.
        programs: compiled programs by the shapes of their inputs.
    """

    manifest: Manifest
    module: bytes
    weights: dict[str, torch.Tensor]
    programs: dict[tuple[Shape, ...], Program] = field(default_factory=lambda: {})

    def write(self, path: Path) -> None:
        """Writes the package to a file, which readers see whole or not at all.

        Raises:
            OutputError: the file cannot be written.
        """
        import io

        from safetensors.torch import save

        entries = tuple(Entry(shapes, f"programs/{i}.ttnn") for i, shapes in enumerate(self.programs))
        manifest = msgspec.structs.replace(self.manifest, programs=entries)
        contents = {
            MANIFEST: msgspec.json.format(msgspec.json.encode(manifest)),
            MODULE: self.module,
            WEIGHTS: save(self.weights),
        }
        contents |= {e.file: p.to_bytes() for e, p in zip(entries, self.programs.values(), strict=True)}
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
            for name, data in contents.items():
                file.writestr(zipfile.ZipInfo(name), data)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, archive.getvalue(), path.parent, f".{path.name}-")
        except OSError as error:
            raise OutputError(f"The package '{path}' cannot be written: {error.strerror or error}.") from error

    @staticmethod
    def read(path: Path) -> Package:
        """Reads a package. Programs that another version of this package compiled are left out, with a warning.

        Raises:
            ProgramFormatError: the file is no package, damaged, or of another version.
            OSError: the file cannot be read.
        """
        with path.open("rb") as stream:
            try:
                with zipfile.ZipFile(stream) as file:
                    return _read(file, path)
            except ProgramFormatError as error:
                raise ProgramFormatError(f"'{path}': {error.message}", hint=error.hint or _AGAIN) from error
            except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
                size = os.fstat(stream.fileno()).st_size
                raise ProgramFormatError(
                    f"'{path}' is no package, or its {size} bytes are damaged: {error}.", hint=_AGAIN
                ) from error


def _read(file: zipfile.ZipFile, path: Path) -> Package:
    manifest = _manifest(_contents(file, MANIFEST))
    programs: dict[tuple[Shape, ...], Program] = {}
    for entry in manifest.programs:
        try:
            program = Program.from_bytes(_contents(file, entry.file))
        except ProgramFormatError as error:
            if "format version" not in error.message:
                raise
            logger().warning("'%s': %s The program is compiled again when it is needed.", path, error.message)
            continue
        if (len(program.arguments), len(program.results)) != (len(manifest.arguments), manifest.results):
            raise ProgramFormatError(
                f"The program '{entry.file}' of the package has {len(program.arguments)} arguments and "
                f"{len(program.results)} results; its manifest has {len(manifest.arguments)} and {manifest.results}."
            )
        programs[entry.shapes] = program
    return Package(manifest, _contents(file, MODULE), _weights(_contents(file, WEIGHTS), manifest), programs)


def _contents(file: zipfile.ZipFile, name: str) -> bytes:
    """Returns an entry's bytes. An entry is as large as it says, because none is compressed.

    Raises:
        ProgramFormatError: there is no such entry, or it is compressed.
    """
    try:
        info = file.getinfo(name)
    except KeyError:
        raise ProgramFormatError(f"The package has no entry '{name}'.") from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise ProgramFormatError(f"The entry '{name}' of the package is compressed; expected plain bytes.")
    return file.read(info)


def _manifest(data: bytes) -> Manifest:
    class Version(msgspec.Struct):
        version: int

    try:
        version = msgspec.json.decode(data, type=Version).version
        if version != FORMAT_VERSION:
            raise ProgramFormatError(
                f"The package has format version {version}; this version of tt-xla reads {FORMAT_VERSION}.",
                hint="Make it again with tt_xla.aot.package.",
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProgramFormatError(f"The manifest of the package does not follow the format: {error}.") from error
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Checks that the parts of a manifest fit together, so that a call cannot fail over them.

    Raises:
        ProgramFormatError: they do not, or a compile option is unknown.
    """
    sizes = [size for argument in manifest.arguments for size in argument.symbolic_sizes]
    leaves = set(manifest.inputs.leaves())
    positions = {argument.position for argument in manifest.arguments if argument.position is not None}
    weights = {argument.weight for argument in manifest.arguments if argument.weight is not None}
    fits = [
        all((argument.position is None) != (argument.weight is None) for argument in manifest.arguments),
        {size.symbol for size in sizes} <= set(manifest.symbols),
        all(size.times > 0 for size in sizes),
        {str(leaf) for leaf in leaves} == {str(position) for position in positions} | set(manifest.fixed),
        {update for update in manifest.updates if isinstance(update, int)} <= positions,
        {update for update in manifest.updates if isinstance(update, str)} <= weights,
        sorted(manifest.outputs.leaves()) == list(range(manifest.results - len(manifest.updates))),
    ]
    if not all(fits):
        raise ProgramFormatError("The parts of the package's manifest contradict each other.")
    try:
        CompileOptions.parse(manifest.options)
    except OptionError as error:
        raise ProgramFormatError(f"The package has a compile option that is not known: {error.message}") from error


def _weights(data: bytes, manifest: Manifest) -> dict[str, torch.Tensor]:
    """Returns the weights after comparing them with the manifest.

    Raises:
        ProgramFormatError: they are not in safetensors, one is missing, or one has another shape or dtype.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        weights = load(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise ProgramFormatError(f"The weights of the package are not in safetensors: {error}.") from error
    for argument in manifest.arguments:
        if argument.weight is None:
            continue
        tensor = weights.get(argument.weight)
        if tensor is None or str(tensor.dtype) != f"torch.{argument.dtype}" or tuple(tensor.shape) != argument.shape:
            found = "missing" if tensor is None else f"{tensor.dtype} of shape {list(tensor.shape)}"
            raise ProgramFormatError(f"The weight '{argument.name}' of the package is {found}; expected {argument}.")
    return weights


__all__ = ["FORMAT_VERSION", "MANIFEST", "MODULE", "WEIGHTS", "Manifest", "Package"]
