"""Generated source on disk: ``main.py`` or ``main.cpp`` and what belongs to it, all of it or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.codegen import HOST_OPS, UTILS
from tt_xla.codegen.generator import Source, generate
from tt_xla.codegen.tensorbin import SUFFIX, save
from tt_xla.errors import OutputError
from tt_xla.ir.layout import DataType
from tt_xla.ir.program import Program, TensorSpec
from tt_xla.publish import Content, publish

if TYPE_CHECKING:
    import torch

Run = Callable[..., "list[torch.Tensor]"]

_RUN_CPP = """\
#!/usr/bin/env bash
# Builds main.cpp against TT-NN and runs it. CMake finds TT-NN below TT_METAL_HOME, or where CMAKE_PREFIX_PATH says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! command -v cmake >/dev/null; then
  echo "run: cmake is missing; it builds main.cpp." >&2
  exit 1
fi
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release ${TT_METAL_HOME:+-DCMAKE_PREFIX_PATH="$TT_METAL_HOME/build"}
cmake --build build
echo "Running main..."
exec build/main "$@"
"""

_CMAKE = """\
cmake_minimum_required(VERSION 3.24)
project(main CXX)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)

find_package(TT-NN REQUIRED)

add_executable(main main.cpp)
target_compile_definitions(main PRIVATE TENSORS="${CMAKE_CURRENT_SOURCE_DIR}/tensors")
target_link_libraries(main PRIVATE TTNN::TTNN)
"""

_RUN = """\
#!/usr/bin/env bash
# Runs main.py with an interpreter that has ttnn: the one in TTXLA_TTNN_PYTHON, else python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${TTXLA_TTNN_PYTHON:-python3}
if ! "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("ttnn") is None)'; then
  echo "run: $python has no ttnn. Set TTXLA_TTNN_PYTHON to an interpreter that has it." >&2
  exit 1
fi
echo "Running main.py..."
exec "$python" main.py "$@"
"""

_TREE = (
    *("main.py", "utils.py", "host_ops.py", "ruff.toml", "host"),
    *("main.cpp", "utils.hpp", "ttnn.hpp", "CMakeLists.txt"),
    *("run", "ttir.mlir", "irs", "tensors"),
)

LANGUAGE_OF = {"codegen_py": "py", "codegen_cpp": "cpp"}
"""By the compile option ``backend``."""

_NUMPY = {DataType.F32: "<f4", DataType.SI32: "<i4", DataType.U32: "<u4", DataType.U16: "<u2", DataType.U8: "u1"}

_lock = threading.RLock()
_graphs: dict[Path, list[str]] = {}
"""By folder, the programs that this process wrote there, in order."""
_begun: Counter[Path] = Counter()
"""By folder, how often what was written there was to be written anew."""


def exporting(program: Program, modules: Mapping[str, str], run: Run) -> Run:
    """``run``, which writes the program's source at its first call where the program's options ask for it.

    Args:
        modules: text of the module by stage.

    Raises:
        UnsupportedOpError: there is no source for an op of it.
        OutputError: the folder cannot be written.
    """
    if not str(program.options.get("backend", "")).startswith("codegen"):
        return run
    root = Path(str(program.options["export_path"]))
    check_folder(root)
    export_tensors = bool(program.options.get("export_tensors", True))
    source = generate(program, export_tensors, LANGUAGE_OF[str(program.options["backend"])])
    dry = bool(program.options.get("dry_run", False))
    written = -1

    def run_and_export(
        tensors: Sequence[torch.Tensor], versions: Sequence[int | None], given: Container[int] = ()
    ) -> list[torch.Tensor]:
        nonlocal written
        begun = _begun[root.resolve()]
        done = written == begun
        results = run(tensors, versions, given if done else ())  # what is exported are the arguments as they came
        if not done:
            files = dict(contents(program, source, modules))
            if export_tensors:
                files |= _tensors(program, tensors, () if dry else results)
            folder = _place(root, program)
            write(folder, files)
            written = begun
            print(f"{source.language.label} codegen successful. Check {folder} for the results.")
        return results

    return run_and_export


def begin(root: Path) -> None:
    """Forgets what this process wrote to a folder before: what runs next is its only graph, and is written again."""
    with _lock:
        _graphs.pop(root.resolve(), None)
        _begun[root.resolve()] += 1


def written_since_begun(root: Path) -> int:
    """How many graphs were written to a folder."""
    with _lock:
        return len(_graphs.get(root.resolve(), ()))


def contents(program: Program, source: Source, modules: Mapping[str, str]) -> dict[str, Content]:
    """Files of a program's source, without its arguments."""
    now = time.time_ns() // 1_000_000
    files = _of_language(source)
    files |= {f"irs/{stage}_{now}.mlir": text.encode() for stage, text in modules.items()}
    if "ttir" in modules:
        files["ttir.mlir"] = modules["ttir"].encode()
    files |= {name: text.encode() for name, text in source.host_programs.items()}
    for name, (elements, spec) in source.constants.items():
        files |= _constant(name, elements, spec)
    return files


def _of_language(source: Source) -> dict[str, Content]:
    main: dict[str, Content] = {source.language.main: source.main.encode()}
    if source.language.name == "py":
        run = partial(_write_executable, text=_RUN)
        if source.host_functions:
            main["host_ops.py"] = HOST_OPS.read_bytes()
        return main | {"utils.py": UTILS.read_bytes(), "ruff.toml": b"line-length = 120\n", "run": run}
    headers = {name: UTILS.with_name(name).read_bytes() for name in ("utils.hpp", "ttnn.hpp")}
    return main | headers | {"CMakeLists.txt": _CMAKE.encode(), "run": partial(_write_executable, text=_RUN_CPP)}


def write(folder: Path, files: Mapping[str, Content], bytes_needed: int = 0) -> None:
    """Puts the files there in one step.

    Raises:
        OutputError: the folder cannot be written, or the disk has no room.
    """
    check_folder(folder)
    needed = bytes_needed + sum(_size(content) for content in files.values())
    free = shutil.disk_usage(_nearest(folder)).free
    if needed > free:
        raise OutputError(
            f"'{folder}' needs {_bytes(needed)} for the program and its tensors; the disk has {_bytes(free)} left.",
            hint="Nothing was written. Use another disk, or export_tensors=False.",
        )
    try:
        publish(folder, files)
    except OSError as error:
        raise OutputError(
            f"'{folder}' cannot be written: {error.strerror or error} ('{error.filename or folder}').",
            hint="Nothing was written. Give export_path a folder that can be written.",
        ) from error


def _bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def check_folder(folder: Path) -> None:
    """Raises:
    OutputError: the folder is a file, lies below one, or cannot be written.
    """
    nearest = _nearest(folder)
    if not nearest.is_dir():
        reason = f"'{nearest}' is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        reason = f"'{nearest}' is read-only"
    else:
        return
    raise OutputError(
        f"export_path '{folder}' cannot be written: {reason}.",
        hint="Give it a folder that can be written, or one that does not exist yet.",
    )


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest above it that exists."""
    nearest = folder.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    return nearest


def _place(root: Path, program: Program) -> Path:
    """A graph's folder: the root for the only one, ``graph_<N>`` where there are several."""
    key = hashlib.sha256(program.to_bytes()).hexdigest()
    with _lock:
        known = _graphs.setdefault(root.resolve(), [])
        if key not in known:
            known.append(key)
            if len(known) == 2:
                _move_first(root)
        return root if len(known) == 1 else root / f"graph_{known.index(key)}"


def _move_first(root: Path) -> None:
    """Gives the first graph a folder of its own, now that it is not the only one."""
    folder = root / "graph_0"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in _TREE:
        if (root / name).exists():
            os.rename(root / name, folder / name)


def _write_executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _size(content: Content) -> int:
    if isinstance(content, bytes):
        return len(content)
    array = getattr(content, "keywords", {}).get("array")
    return int(array.nbytes) if array is not None else 0


def _tensors(program: Program, tensors: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> dict[str, Content]:
    """Arguments in the shapes and types that the device has them in, and results."""
    entry = program.functions[0]
    files: dict[str, Content] = {}
    for index, (tensor, value) in enumerate(zip(tensors, entry.arguments, strict=True)):
        spec = entry.values[value]
        files |= _file(f"arg{index}", tensor.detach().reshape(spec.shape), spec.layout.dtype)
    for index, (result, value) in enumerate(zip(results, entry.results, strict=False)):  # none in a dry run
        files |= _file(f"expected{index}", result.detach(), entry.values[value].layout.dtype)
    return files


_STORED: dict[DataType, str] = {
    DataType.BF16: "bfloat16",
    DataType.F32: "float32",
    DataType.SI32: "int32",
    DataType.U32: "uint32",
    DataType.U16: "uint16",
    DataType.U8: "uint8",
}
"""Torch's names of the element types that a file can have."""


def _file(name: str, tensor: torch.Tensor, dtype: DataType) -> dict[str, Content]:
    """A tensor's file, in the element type of the device; what becomes a block float is stored as it came."""
    import torch

    if dtype not in _STORED:
        dtype = DataType.BF16 if tensor.dtype is torch.bfloat16 else DataType.F32
    held = tensor.to(getattr(torch, _STORED[dtype])).contiguous()
    array = (held.view(torch.int16) if dtype is DataType.BF16 else held).numpy()
    return {f"tensors/{name}{SUFFIX}": partial(_save, array=array, dtype=dtype)}


def _constant(name: str, elements: bytes, spec: TensorSpec) -> dict[str, Content]:
    import numpy as np

    dtype = spec.layout.dtype
    array: Any = np.frombuffer(elements, _NUMPY.get(dtype, "<u2")).reshape(spec.shape)
    return {f"tensors/{name}{SUFFIX}": partial(_save, array=array, dtype=dtype)}


def _save(path: Path, array: Any, dtype: DataType) -> None:
    save(path, array, dtype)
