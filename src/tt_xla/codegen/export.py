"""Writes generated source to disk: ``main.py`` or ``main.cpp``, its helpers and tensors, completely or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.codegen import HOST_OPS, PROGRAMS, UTILS
from tt_xla.codegen.boundary import whole_shape
from tt_xla.codegen.generator import Source, generate, refuse_host
from tt_xla.codegen.saved_graphs import FOLDER, MANIFEST, key_files, manifest
from tt_xla.codegen.tensorbin import SUFFIX, save
from tt_xla.errors import OutputError, UnsupportedOpError
from tt_xla.ir.layout import DataType
from tt_xla.ir.mesh import Mesh, Sharding, replicated
from tt_xla.ir.program import Argument, Program, Result, TensorSpec
from tt_xla.locks import Lock
from tt_xla.options import SOURCE_BACKENDS
from tt_xla.publish import Content, publish, recorded, replaceable

if TYPE_CHECKING:
    import torch

Run = Callable[..., "list[torch.Tensor]"]
"""Runs a program: takes tensors, versions and donated positions, as ``Executable.run`` does, and returns results."""

Join = Callable[["Sequence[torch.Tensor]", Sharding, Mesh, Sequence[int]], "torch.Tensor"]
"""Joins the shards of all chips, as :func:`tt_xla.runtime.mesh.shards.join` does."""

_RUFF = b"line-length = 120\n"
"""Content of ``ruff.toml`` beside generated Python."""

_lock = Lock()
_graphs: dict[Path, list[str]] = {}
"""Keys of the graphs that this process wrote to each folder, in order."""
_begun: Counter[Path] = Counter()
"""Number of re-exports per folder."""


@dataclass
class StagedGraph:
    """A graph that consists of several programs and of torch code that the host runs between them."""

    host: Sequence[tuple[str, str]]
    """Name and source location of each op that the host runs."""
    programs: dict[str, Program] = field(default_factory=lambda: {})
    """Programs by folder."""
    files: dict[str, Content] = field(default_factory=lambda: {})
    """Files of the programs, collected during a run."""
    _written: tuple[Path, int] | None = None
    """Folder that the graph was last written to, and the folder's number of re-exports at that time."""

    def is_written(self, root: Path) -> bool:
        """Returns whether the graph was written and no re-export was requested since."""
        return self._written == (root, _begun[root.resolve()])

    def write(self, root: Path, main: str, files: Mapping[str, Content]) -> None:
        """Writes the graph to a folder, beside other graphs.

        Args:
            root: the folder.
            main: text of ``main.py``.
            files: files that ``main.py`` itself reads.

        Raises:
            OutputError: the folder is not writable.
        """
        begun = _begun[root.resolve()]
        run = _executable("run.sh")
        own: dict[str, Content] = {"main.py": main.encode(), "utils.py": UTILS.read_bytes(), "ruff.toml": _RUFF}
        own |= {"programs.py": PROGRAMS.read_bytes(), "run": run}
        key = hashlib.sha256(b"".join(program.to_bytes() for program in self.programs.values()) + main.encode())
        host_ops = ", ".join(f"{op} ({location})" if location else op for op, location in self.host)
        own_folder = any(program.options.get("target_module") for program in self.programs.values())
        collected = own | dict(files) | self.files
        more = f"; the host runs {host_ops}"
        _write_graph(root, key.hexdigest(), collected, "Python", more, own_folder=own_folder)
        self.files.clear()
        self._written = (root, begun)


@dataclass(frozen=True)
class GraphProgram:
    """One program of a graph that consists of several."""

    graph: StagedGraph
    """The graph."""
    folder: str
    """Folder of the program, relative to the graph's."""
    passed_positions: frozenset[int]
    """Positions of the arguments that the graph's ``main.py`` passes."""


def exporting(
    program: Program,
    modules: Mapping[str, str],
    run: Run,
    part: GraphProgram | None = None,
    join: Join | None = None,
) -> Run:
    """Wraps ``run`` so that its first call writes the program's source, if the program's options ask for source.

    Args:
        program: the Program.
        modules: text of the module at each stage, by stage name.
        run: runs the program.
        part: place of the program in a graph of several programs, which is written after all of them have run.
        join: joins shards, for a program with a mesh.

    ``run`` takes and returns the shards of all chips for a program with a mesh; the files hold whole tensors.

    Raises:
        UnsupportedOpError: an op cannot be generated.
        OutputError: the folder is not writable.
    """
    backend = str(program.options.get("backend", ""))
    if backend not in SOURCE_BACKENDS:
        return run
    root = Path(str(program.options["export_path"]))
    export_tensors = bool(program.options.get("export_tensors", True))
    language = SOURCE_BACKENDS[backend]
    own_folder = bool(program.options.get("target_module", False))
    if part is not None:
        refuse_host(language, part.graph.host)
    check_arguments(program, part.passed_positions if part else ())
    source = generate(program, export_tensors, language, parameters=part.passed_positions if part else None)
    check_folder(root, () if own_folder else _of_language(source))
    dry = bool(program.options.get("dry_run", False))
    written = -1

    def whole(arguments: Sequence[Any], boundaries: Sequence[Argument | Result]) -> Sequence[torch.Tensor]:
        """Returns tensors of the program; on a mesh each is joined from its shards."""
        if program.mesh is None:
            return arguments
        assert join is not None
        tensors: list[torch.Tensor] = []
        for shards, boundary in zip(arguments, boundaries, strict=True):
            shape = whole_shape(boundary)
            tensors.append(join(shards, boundary.sharding or replicated(len(shape)), program.mesh, shape))
        return tensors

    def run_and_export(
        arguments: Sequence[Any], versions: Sequence[int | None], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        nonlocal written
        begun = _begun[root.resolve()]
        if written == begun if part is None else part.graph.is_written(root):
            return run(arguments, versions, donated)
        # The run must not change arguments to be exported.
        results = run([_contiguous(each) for each in arguments], versions, ())
        files = contents(program, source, modules)
        if export_tensors:
            expected = [] if dry else whole(results, program.results)
            files |= _tensors(program, whole(arguments, program.arguments), expected)
        if part is None:
            key = hashlib.sha256(program.to_bytes()).hexdigest()
            _write_graph(root, key, files, source.language.label, own_folder=own_folder)
            written = begun
        else:
            part.graph.programs[part.folder] = program
            part.graph.files |= {f"{part.folder}/{name}": content for name, content in files.items()}
        return results

    return run_and_export


def _contiguous(argument: Any) -> Any:
    """Returns an argument, a tensor or the shards of all chips, as the stored tensors lie in memory.

    The order in which the host's libraries add, and so the last bits of a result, depends on an argument's strides.
    """
    return argument.contiguous() if hasattr(argument, "contiguous") else [_contiguous(shard) for shard in argument]


def check_arguments(program: Program, passed_positions: Container[int] = ()) -> None:
    """Checks that TT-NN has a data type, and so a file format, for each argument.

    Args:
        program: the Program.
        passed_positions: positions of arguments that need no file, because other source passes them.

    Raises:
        UnsupportedOpError: TT-NN has no data type for an argument.
    """
    entry = program.functions[0]
    for position, value in enumerate(entry.arguments):
        dtype = entry.values[value].layout.dtype
        if dtype.is_host_only and position not in passed_positions:
            raise UnsupportedOpError(
                f"Argument arg{position} has element type {dtype.value}, which TT-NN has no data type for.",
                hint="Convert it in the model before the generated part, or pass another type.",
            )


def begin(root: Path) -> None:
    """Requests a re-export to a folder: the next graph that runs replaces everything that this process wrote there."""
    with _lock:
        _graphs.pop(root.resolve(), None)
        _begun[root.resolve()] += 1


def written_since_begun(root: Path) -> int:
    """Returns the number of graphs that were written to a folder since the last re-export request."""
    with _lock:
        return len(_graphs.get(root.resolve(), ()))


def contents(program: Program, source: Source, modules: Mapping[str, str]) -> dict[str, Content]:
    """Returns the files of a program's source, without its arguments."""
    now = time.time_ns() // 1_000_000
    files = _of_language(source)
    if source.language.name == "py":
        files |= key_files(program)
    files |= {f"irs/{stage}_{now}.mlir": text.encode() for stage, text in modules.items()}
    if "ttir" in modules:
        files["ttir.mlir"] = modules["ttir"].encode()
    files |= {name: text.encode() for name, text in source.host_programs.items()}
    for name, (elements, spec) in source.constants.items():
        files |= _constant(name, elements, spec)
    return files


def _of_language(source: Source) -> dict[str, Content]:
    """Returns the main file and the helper files of its language."""
    main: dict[str, Content] = {source.language.main: source.main.encode()}
    if source.language.name == "py":
        run = _executable("run.sh")
        if source.host_functions:
            main["host_ops.py"] = HOST_OPS.read_bytes()
        return main | {"utils.py": UTILS.read_bytes(), "ruff.toml": _RUFF, "run": run}
    headers = {name: UTILS.with_name(name).read_bytes() for name in ("utils.hpp", "ttnn.hpp", "CMakeLists.txt")}
    return main | headers | {"run": _executable("run_cpp.sh")}


def write(folder: Path, files: Mapping[str, Content], gone: Collection[str] = ()) -> None:
    """Writes files to a folder and removes others, in one atomic step. Files that were not generated, or that were
    edited since, are kept.

    Args:
        folder: the folder.
        files: contents by path.
        gone: names of files and folders to remove.

    Raises:
        OutputError: the folder is not writable or has files to be kept in these places, or the disk is full.
    """
    try:
        publish(folder, files, gone, keep_others=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> OutputError:
    place = f" ('{error.filename}')" if error.filename not in (None, str(folder)) else ""
    return OutputError(
        f"export_path '{folder}' cannot be written: {error.strerror or error}{place}.",
        hint="Nothing was written. Use another folder, or move those files away."
        if isinstance(error, FileExistsError)
        else "Nothing was written. Use a writable folder, or one that does not exist yet.",
    )


def check_folder(folder: Path, files: Collection[str] = ()) -> None:
    """Checks that source can be written to a folder.

    Args:
        folder: the folder.
        files: paths of files that will be written there, in place of what was generated.

    Raises:
        OutputError: the folder is a file or below a file, is not writable, or has others' files in these places.
    """
    nearest = folder.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".tt-xla-", dir=nearest))
    except OSError as error:
        raise _unwritable(folder, OSError(error.errno, error.strerror, str(nearest))) from error
    try:
        replaceable(folder, files, generated(folder) if files else ())
    except OSError as error:
        raise _unwritable(folder, error) from error


def _write_graph(
    root: Path, key: str, files: Mapping[str, Content], label: str, more: str = "", *, own_folder: bool = False
) -> None:
    """Writes one graph: to the root if it is the only one, otherwise to ``graph_<N>``.

    The first graph of a process removes everything that an earlier process generated there.

    Args:
        root: the folder of ``export_path``.
        key: identity of the graph; a graph with a known key replaces the earlier one.
        files: contents by path.
        label: name of the language, for the message.
        more: end of the message.
        own_folder: whether even the only graph has a folder ``graph_<N>``.
    """
    with _lock:
        known = _graphs.setdefault(root.resolve(), [])
        number = known.index(key) if key in known else len(known)
        if number == 1 and len(known) == 1:
            _move_first(root)
        several = own_folder or max(len(known), number + 1) > 1
        if not known and several:
            write(root, {}, gone=generated(root))
        folder = root / f"graph_{number}" if several else root
        write(folder, files, gone=() if several else generated(root))
        if number == len(known):
            known.append(key)
        write(root, manifest(root))
    print(f"{label} codegen successful. Check {folder} for the results{more}.")


def generated(folder: Path) -> list[str]:
    """Returns the names of generated files in a folder, and of generated folders of graphs."""
    if not folder.is_dir():
        return []
    own = {name.partition("/")[0] for name in recorded(folder)}
    graphs = {path.name for path in folder.iterdir() if FOLDER.fullmatch(path.name) and recorded(path)}
    return sorted(name for name in own | graphs if (folder / name).exists())


def _move_first(root: Path) -> None:
    """Moves the first graph to a folder of its own, because a second graph follows.

    Raises:
        OutputError: files of others are in that folder.
    """
    files: dict[str, Content] = {name: partial(shutil.copy2, root / name) for name in recorded(root)}
    files.pop(MANIFEST, None)
    if files:  # otherwise the first graph has a folder of its own
        write(root / "graph_0", files)
        write(root, {}, gone={name.partition("/")[0] for name in files})


def _executable(name: str) -> Content:
    """Returns the content of an executable file: that of a script beside this file."""

    def write_script(path: Path) -> None:
        shutil.copyfile(UTILS.with_name(name), path)
        path.chmod(0o755)

    return write_script


def _tensors(program: Program, tensors: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> dict[str, Content]:
    """Returns files of arguments and results in on-device shapes and types; TT-NN has no files of complex tensors."""
    entry = program.functions[0]
    files: dict[str, Content] = {}
    for index, (tensor, value) in enumerate(zip(tensors, entry.arguments, strict=True)):
        spec = entry.values[value]
        if not tensor.is_complex():
            held = tensor.detach() if program.mesh else tensor.detach().reshape(spec.shape)
            files |= _file(f"arg{index}", held, spec.layout.dtype)
    for index, (result, value) in enumerate(zip(results, entry.results, strict=False)):  # none in a dry run
        if not result.is_complex():
            files |= _file(f"expected{index}", result.detach(), entry.values[value].layout.dtype)
    return files


def _file(name: str, tensor: torch.Tensor, dtype: DataType) -> dict[str, Content]:
    """Returns the file of a tensor in its on-device element type; block floats are stored unconverted."""
    import torch

    if dtype.is_host_only or dtype.is_block_float:
        dtype = DataType.BF16 if tensor.dtype is torch.bfloat16 else DataType.F32
    held = tensor.to(getattr(torch, dtype.numpy)).contiguous()
    array = (held.view(torch.int16) if dtype is DataType.BF16 else held).numpy()
    return {f"tensors/{name}{SUFFIX}": partial(save, array=array, dtype=dtype)}


def _constant(name: str, elements: bytes, spec: TensorSpec) -> dict[str, Content]:
    """Returns the file of a constant."""
    import numpy as np

    dtype = spec.layout.dtype
    array: Any = np.frombuffer(elements, dtype.little_endian).reshape(spec.shape)
    return {f"tensors/{name}{SUFFIX}": partial(save, array=array, dtype=dtype)}
