"""Installs the packages that a model requires in a layer above the environment.

The layer is a virtual environment that also sees every package of the runner's interpreter. pip installs into the
layer, so a run never changes the environment itself. The next run removes the layers of runs that were killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import site
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Generator
from pathlib import Path

from tt_xla.environment import variable
from tt_xla.errors import TTXLAError
from tt_xla.temporary import private_folder
from tt_xla.testing.child_processes import run_child

FILES = (
    ("requirements.txt", ()),
    ("requirements.nodeps.txt", ("--no-deps",)),
    ("requirements.nodeps.nobuildisolation.txt", ("--no-deps", "--no-build-isolation")),
)
_PINNED = "torch", "jax", "jaxlib", "xdsl"
"""Packages of the compiler itself, whose versions are fixed: a model that requires other versions fails."""
_TIMEOUT_S = 1800


class RequirementsError(TTXLAError):
    """A model's packages cannot be installed."""


class RequirementsManager:
    """Upstream's name for the packages of one loader, in the running interpreter.

    ``with RequirementsManager.for_loader(path):`` makes the packages importable; afterwards they are not. The runner
    itself gives each model a process instead (:func:`interpreter_for`), because modules that were imported stay.

    Args:
        loader_folder: folder of the loader.
    """

    def __init__(self, loader_folder: Path) -> None:
        self._folder = loader_folder
        self._opened = contextlib.ExitStack()

    @classmethod
    def for_loader(cls, loader_path: str | Path) -> RequirementsManager:
        """Returns the manager of a ``loader.py``."""
        return cls(Path(loader_path).parent)

    def __enter__(self) -> RequirementsManager:
        before = list(sys.path)
        python = self._opened.enter_context(interpreter_for(self._folder))
        if python != Path(sys.executable):
            sys.path.insert(0, str(_packages_of(python.parents[1])))
        self._opened.callback(lambda: sys.path.__setitem__(slice(None), before))
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


@contextlib.contextmanager
def interpreter_for(loader_folder: Path) -> Generator[Path]:
    """Provides an interpreter with the packages that a model requires.

    Args:
        loader_folder: folder of the loader, which may have files of requirements.

    Yields:
        The running interpreter if the model requires nothing, or the interpreter of a layer, which is removed
        afterwards.

    Raises:
        RequirementsError: pip fails, for example because of a conflict, a missing package or a full disk.
    """
    files = [(loader_folder / name, flags) for name, flags in FILES if (loader_folder / name).is_file()]
    if not files or variable("TT_XLA_DISABLE_MODEL_REQS") == "1":
        yield Path(sys.executable)
        return
    try:
        root = private_folder("tt-xla-layers")
    except OSError as error:
        raise RequirementsError(
            f"The folder of models' packages cannot be used: {error}.",
            hint="Remove it, or set TMPDIR to a folder of your own.",
        ) from error
    _remove_abandoned(root)
    layer = Path(tempfile.mkdtemp(dir=root))
    with (layer / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield _install(layer, files)
        finally:
            shutil.rmtree(layer, ignore_errors=True)


def _install(layer: Path, files: list[tuple[Path, tuple[str, ...]]]) -> Path:
    """Creates a layer with the packages of files of requirements, and returns its interpreter."""
    try:
        venv.create(layer / "env", with_pip=False, symlinks=True)
        python = layer / "env/bin/python"
        packages = _packages_of(layer / "env")
        folders = dict.fromkeys([*site.getsitepackages(), sysconfig.get_path("purelib")])
        lines = "\n".join(f"import site; site.addsitedir({folder!r})" for folder in folders)
        (packages / "below.pth").write_text(lines + "\n")
        pins = layer / "pins.txt"
        pins.write_text("".join(f"{name}=={version}\n" for name, version in _versions().items()))
    except OSError as error:
        raise RequirementsError(
            f"The environment for the model's packages cannot be created in {layer}: {error}."
        ) from error
    for path, flags in files:
        command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--disable-pip-version-check"]
        command += ["--no-input", "-q", "-c", str(pins), *flags, "-r", str(path)]
        output = layer / "output"
        status = run_child(command, _TIMEOUT_S, output)
        lines = output.read_text(errors="replace").splitlines()
        if variable("TT_XLA_REQS_DEBUG") == "1":
            print("\n".join([" ".join(command), *lines]), file=sys.stderr, flush=True)
        if status is None:
            raise RequirementsError(f"The installation of {path} takes more than {_TIMEOUT_S} s.")
        if status:
            errors = [line for line in lines if line.startswith("ERROR")] or lines
            raise RequirementsError(
                f"{path} cannot be installed: {' '.join(errors[-3:]) or f'pip ended with {status}'}",
                hint="The runner's environment is unchanged. TT_XLA_REQS_DEBUG=1 shows pip's output.",
            )
    return python


def _packages_of(environment: Path) -> Path:
    """Returns the folder of the packages of a virtual environment."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))


def _versions() -> dict[str, str]:
    from importlib import metadata

    versions: dict[str, str] = {}
    for name in _PINNED:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _remove_abandoned(root: Path) -> None:
    """Removes the layers whose lock no process holds."""
    for layer in root.iterdir():
        try:
            with (layer / "lock").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(layer, ignore_errors=True)
        except OSError:
            continue
