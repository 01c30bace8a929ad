"""Finds an interpreter that has TT-NN and prepares the environment of TT-NN's mock mode, which needs no card.

In mock mode TT-NN checks each call (shapes, layouts, memory and program configs, space in L1 and DRAM) and builds its
kernels, but runs nothing. Building a kernel takes seconds. By default TT-NN therefore runs from a link tree of the
package whose kernel compiler returns one prebuilt kernel for each kind of core.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tt_xla.codegen import clusters
from tt_xla.environment import cache_directory, child_environment, variable
from tt_xla.errors import OptionError, RuntimeUnavailableError
from tt_xla.target import load_target

WORKER = Path(__file__).with_name("worker.py")
"""The script that makes calls of TT-NN."""

_CORES = ("brisc", "ncrisc", "trisc0", "trisc1", "trisc2")

_COMPILER = Path(__file__).with_name("stand_in_compiler.sh")
"""The script in the place of the kernel compiler; ``{compiler}`` and ``{kernels}`` stand for paths."""

_BUILD = """\
import ttnn
device = ttnn.open_device(device_id=0)
x = ttnn.ones([32, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
ttnn.exp(x)
"""


_PACKAGE = "import importlib.util as u; print(u.find_spec('ttnn').submodule_search_locations[0])"
_INSTALL = "Install ttnn with Python 3.10 or 3.12 and set TTXLA_TTNN_PYTHON to that environment's bin/python."


def ttnn_python(interpreter: str | Path | None = None) -> Path:
    """Returns an interpreter that has ``ttnn``.

    Without ``interpreter`` and ``TTXLA_TTNN_PYTHON``, this function tries the running interpreter, the environment that
    TT-Metal's build creates, and the interpreters in ``PATH``.

    Args:
        interpreter: name or path of the interpreter to use.

    Raises:
        RuntimeUnavailableError: no interpreter has ``ttnn``, or the selected one is not executable.
    """
    name = str(interpreter or variable("TTXLA_TTNN_PYTHON"))
    if name:
        path = shutil.which(name)
        if path is None:
            raise RuntimeUnavailableError(f"'{name}' is not an executable program.", hint=_INSTALL)
        return Path(path)
    home = variable("TT_METAL_HOME")
    built = [Path(home, "python_env/bin/python")] if home else []
    on_path = (shutil.which(name) for name in ("python3", "python3.12", "python3.10", "python3.11"))
    likely = dict.fromkeys([Path(sys.executable), *built, *(Path(path) for path in on_path if path)])
    existing = [path for path in likely if path.exists()]
    for path in existing:
        if package_of(path) is not None:
            return path
    names = ", ".join(map(str, existing))
    raise RuntimeUnavailableError(f"No Python interpreter has TT-NN; tried {names}.", hint=_INSTALL)


@functools.cache
def package_of(interpreter: Path) -> Path | None:
    """Returns the folder of an interpreter's ``ttnn`` package; None if it has none. A process finds it out, once."""
    done = subprocess.run([interpreter, "-c", _PACKAGE], capture_output=True, text=True, check=False)
    return None if done.returncode else Path(done.stdout.strip().splitlines()[-1])


@dataclass(frozen=True)
class Mock:
    """Interpreter, environment and script of a worker in mock mode."""

    python: Path
    environment: dict[str, str]
    """All environment variables of the worker."""
    worker: Path = WORKER
    """Script, which takes a job, the file of its report, and the numbers of the first program and step."""


def mock(python: Path, system: str, *, kernels: bool = False) -> Mock:
    """Prepares the mock mode of a system.

    Args:
        python: interpreter that has ``ttnn``.
        system: name of the system.
        kernels: whether every kernel is built as for a card. A kernel takes seconds the first time; later it comes from
            TT-NN's cache.

    Raises:
        OptionError: no mock mode is known for the system.
        RuntimeUnavailableError: TT-NN does not work in this interpreter.
    """
    if system not in clusters.SYSTEMS:
        known = ", ".join(clusters.SYSTEMS)
        raise OptionError(
            f"TT-NN's mock mode does not support {system}, only {known}.", hint="Use one of them, as in --system p150."
        )
    package = package_of(python)
    if package is None:
        raise RuntimeUnavailableError(f"'{python}' has no ttnn.", hint="Install it there: pip install ttnn.")
    folder = (
        cache_directory()
        / "ttnn-mock"
        / hashlib.sha256(f"{package}\n{_COMPILER.read_text()}".encode()).hexdigest()[:16]
    )
    changes = {
        "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(_cluster(folder, system)),
        "TT_METAL_DISABLE_SFPLOADMACRO": "1",
        "TT_METAL_LOGGER_LEVEL": "fatal",
        "LOGURU_LEVEL": "ERROR",
    }
    if load_target(system).chips > 2:  # with fast dispatch, point_to_point crashes mock mode beside idle chips
        changes["TT_METAL_SLOW_DISPATCH_MODE"] = "1"
    variables = child_environment(changes, without=("TT_METAL_", "PYTHON", "LOGURU_"))
    if kernels:
        return Mock(python, variables)
    tree = folder / "package"
    if not (tree / ".ready").exists():
        _prepare(python, package, tree, variables)
    fast = {"TT_METAL_RUNTIME_ROOT": str(tree), "TT_METAL_CACHE": str(folder / "cache")}
    return Mock(python, variables | fast)


def _cluster(folder: Path, system: str) -> Path:
    """Writes the description of a mocked system, and returns its path."""
    path, text = folder / f"{system}.yaml", clusters.description(system)
    if not path.exists() or path.read_text() != text:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)
    return path


def _prepare(python: Path, package: Path, tree: Path, variables: dict[str, str]) -> None:
    """Builds one kernel for each kind of core, and the link tree whose compiler returns them.

    Raises:
        RuntimeUnavailableError: the kernel compiler is missing, or TT-NN does not work.
    """
    compiler = package / "runtime/sfpi/compiler/bin/riscv-tt-elf-g++"
    if not compiler.exists():
        raise RuntimeUnavailableError(
            f"{package} has no kernel compiler (SFPI) at {compiler.relative_to(package)}.",
            hint="Run python -m ttnn.download_sfpi there, or install Tenstorrent's sfpi package.",
        )
    with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
        cache, new_tree = Path(scratch, "cache"), Path(scratch, "package")
        done = subprocess.run(
            [python, "-c", _BUILD],
            env=variables | {"TT_METAL_CACHE": str(cache)},
            cwd=scratch,
            capture_output=True,
            text=True,
            check=False,
        )
        built = {core: next(cache.glob(f"**/kernels/**/{core}.elf"), None) for core in _CORES}
        if done.returncode or not all(built.values()):
            raise RuntimeUnavailableError(f"TT-NN's mock mode does not work: {_last_line(done.stderr)}")
        _link(package, new_tree, compiler.relative_to(package))
        (new_tree / "kernels").mkdir()
        for core, elf in built.items():
            assert elf is not None
            shutil.copy(elf, new_tree / "kernels" / f"{core}.elf")
        stand_in = new_tree / compiler.relative_to(package)
        script = _COMPILER.read_text().replace("{compiler}", str(compiler))
        stand_in.write_text(script.replace("{kernels}", str(tree / "kernels")))
        stand_in.chmod(0o755)
        (new_tree / ".ready").touch()
        try:
            os.rename(new_tree, tree)
        except OSError:
            if not (tree / ".ready").exists():
                raise


def _link(package: Path, new_tree: Path, excluded: Path) -> None:
    """Creates a tree of links to ``package`` that leaves out one file.

    The folders on the path to the file are real folders, so that another file can take its place.

    Args:
        package: the folder to link to.
        new_tree: the folder to create.
        excluded: path of the file that is left out, relative to ``package``.
    """
    first, *rest = excluded.parts
    new_tree.mkdir()
    for entry in package.iterdir():
        if entry.name != first:
            (new_tree / entry.name).symlink_to(entry)
        elif rest:
            _link(entry, new_tree / entry.name, Path(*rest))


def _last_line(text: str) -> str:
    """Returns the last line of a process's output."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else "no output"
