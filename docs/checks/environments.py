"""Tries the package under several versions of Python, PyTorch and JAX, and writes what worked to docs/install.md.

    python -m docs.checks.environments lock [NAME ...]
    python -m docs.checks.environments try [--cuda] [NAME ...]
    python -m docs.checks.environments test [--cuda] NAME [-- arguments of pytest]

``environments.toml`` lists the environments. ``lock`` writes the versions of their libraries to ``locks/``, ``try``
installs the wheel into an empty environment and runs a program for each column, and ``test`` runs the tests of this
checkout there. Where the package index has PyTorch for CUDA alone, which is gigabytes of libraries that nothing here
uses, an environment is tried with ``--cuda`` only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/install.md"
MARK = "tried"
FOLDER = ROOT / "build/environments"

STEPS = {
    "import": (
        "import importlib.metadata as m, tt_xla, pjrt_plugin_tt, jax_plugin_tt; "
        "assert m.version('tt-xla') == tt_xla.__version__; assert pjrt_plugin_tt.get_library_path().exists(); "
        "assert 'tt-xla' in m.packages_distributions()['torch_plugin_tt']"
    ),
    "compile": (
        "import os; os.environ['JAX_PLATFORMS'] = 'cpu'; import jax, jax.numpy as jnp, subprocess, sys; "
        "lowered = jax.jit(lambda x: jax.nn.gelu(x @ x.T)).lower(jnp.ones((64, 64))); "
        "open('m.mlir', 'w').write(lowered.as_text()); "
        "subprocess.run([sys.executable, '-m', 'tt_xla', 'compile', 'm.mlir', '--level', '2'], check=True)"
    ),
    "JAX on tt": (
        "import jax, jax.numpy as jnp, numpy as np; x = np.linspace(-1, 1, 4096, dtype='f4').reshape(64, 64); "
        "f = lambda x: jax.nn.gelu(x @ x.T).sum(); "
        "on = lambda p: jax.value_and_grad(f)(jax.device_put(x, jax.devices(p)[0])); "
        "np.testing.assert_allclose(on('tt')[0], on('cpu')[0], rtol=2e-2)"
    ),
    "PyTorch on tt": (
        "import torch, torch_plugin_tt; model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU()).eval(); "
        "x = torch.randn(8, 64); expected = model(x); run = torch.compile(model.to('tt'), backend='tt'); "
        "assert torch.allclose(run(x.to('tt')).cpu(), expected, atol=5e-2)"
    ),
    "commands": (
        "import subprocess; subprocess.run(['tt-xla', '--version'], check=True); "
        "subprocess.run(['tt-smi', '--once'], check=True); subprocess.run(['tracy', '--help'], check=True)"
    ),
}
"""Programs by the name of their column."""

KEYS = ("Python", "torch", "jax")
COLUMNS = (*KEYS, *STEPS, "`make test`")
NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Environment:
    """Versions that are tried together."""

    python: str
    torch: str
    jax: str
    lock: str = ""

    @property
    def name(self) -> str:
        """Name on the command line, and of the lock file."""
        return f"py{self.python}-torch{self.torch}-jax{self.jax}"

    @property
    def lock_file(self) -> Path:
        """Versions of all libraries, for pip install -c."""
        return ROOT / (self.lock or f"locks/{self.name}.txt")

    def interpreter(self) -> Path:
        """Returns this Python from PATH or pyenv.

        Raises:
            RuntimeError: there is none.
        """
        found = shutil.which(f"python{self.python}")
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return Path(found)
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        for path in sorted(pyenv.glob(f"{self.python}.*")):
            return path / "bin/python"
        raise RuntimeError(f"Python {self.python} is not installed here")


def environments() -> list[Environment]:
    """Returns all environments of environments.toml."""
    return [Environment(**each) for each in tomllib.loads((ROOT / "environments.toml").read_text())["environments"]]


def chosen(names: Sequence[str]) -> list[Environment]:
    """Returns the environments with these names; all without a name.

    Raises:
        click.BadParameter: no environment has a name.
    """
    known = {each.name: each for each in environments()}
    if wrong := [name for name in names if name not in known]:
        raise click.BadParameter(f"{wrong[0]} is none of {', '.join(known)}, which environments.toml lists.")
    return [known[name] for name in names or known]


def run(command: Sequence[str | Path], **options: object) -> str:
    """Runs a command and returns its output.

    Raises:
        RuntimeError: it fails; the message has the line of its output that says why.
    """
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exhausted)\b|ERROR", line)]
        raise RuntimeError(errors[-1] if errors else lines[-1])
    return done.stdout


def uv(*arguments: str | Path) -> str:
    """Runs uv, which takes its package indexes from the environment. Returns its output."""
    return run([sys.executable, "-m", "uv", "pip", *arguments, "-q", "--index-strategy", "unsafe-best-match"])


def lock(environment: Environment) -> None:
    """Writes the lock file of an environment: the newest versions that fit, those of constraints-dev.txt where they do.

    CUDA's libraries are left out: PyTorch's build decides whether they are needed, and which.
    """
    ours = re.compile(r"(torch|jax|jaxlib|numpy|scipy|ml_dtypes)\b|#")
    pins = [line for line in (ROOT / "constraints-dev.txt").read_text().splitlines() if not ours.match(line)]
    with tempfile.TemporaryDirectory() as folder:
        constraints, found = Path(folder) / "constraints.txt", Path(folder) / "lock.txt"
        constraints.write_text(f"torch=={environment.torch}\njax=={environment.jax}\n")
        found.write_text("\n".join(pins))  # uv prefers the versions of the file that it writes
        options = ("--extra", "dev", "--no-header", "--no-annotate", "--python-version", environment.python)
        uv("compile", ROOT / "pyproject.toml", *options, "-c", constraints, "-o", found)
        lines = [line.partition("+")[0] for line in found.read_text().splitlines()]
        lines = [line for line in lines if not re.match(r"nvidia|cuda|triton|-|#", line)]
    environment.lock_file.parent.mkdir(exist_ok=True)
    environment.lock_file.write_text("# Written by `make lock`.\n" + "\n".join(lines) + "\n")


def brings_cuda(environment: Environment) -> bool:
    """Returns whether the package index has this PyTorch for CUDA alone."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ("-q", "--dry-run", "--no-deps", "--ignore-installed", "--report", report)
        python = environment.interpreter()
        run([python, "-m", "pip", "install", *options, f"torch=={environment.torch}"])
        (found,) = json.loads(report.read_text())["install"]
    return bool(re.search(r"cuda|nvidia", " ".join(found["metadata"].get("requires_dist", ()))))


def install(environment: Environment, cuda: bool, package: Sequence[str]) -> Path:
    """Makes an environment with the package and the libraries of the lock file. Returns its Python.

    Args:
        environment: the versions.
        cuda: whether PyTorch may bring CUDA's libraries.
        package: arguments of uv that name the package.

    Raises:
        RuntimeError: a part cannot be installed here.
    """
    folder = FOLDER / environment.name
    python = folder / "bin/python"
    interpreter = environment.interpreter()
    if not cuda and brings_cuda(environment):
        raise RuntimeError("the package index has PyTorch for CUDA alone: --cuda installs it")
    if not python.exists():
        run([sys.executable, "-m", "uv", "venv", "-q", "--seed", "--python", interpreter, folder])
    uv("install", "--python", python, "--reinstall-package", "tt-xla", "-c", environment.lock_file, *package)
    return python


def variables(python: Path) -> dict[str, str]:
    """Returns the variables of a process in an environment."""
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": "", "TTXLA_CACHE": "off"}


def read_table() -> dict[tuple[str, ...], dict[str, str]]:
    """Returns the rows of the page's table: a cell for each column, by the versions."""
    text = PAGE.read_text().partition(f"<!-- {MARK} -->")[2].partition(f"<!-- /{MARK} -->")[0]
    heads, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]
    rows = [dict(zip(heads, cells, strict=True)) for cells in lines]
    return {tuple(row[key] for key in KEYS): row for row in rows}


def write_table(environment: Environment, cells: Mapping[str, str]) -> None:
    """Writes what was found about one environment into the page's table."""
    versions = {each: (each.python, each.torch, each.jax) for each in environments()}
    rows = read_table()
    rows.setdefault(versions[environment], {}).update(cells)
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for each in versions.values():
        row = rows.get(each, {}) | dict(zip(KEYS, each, strict=True))
        lines.append(f"| {' | '.join(row.get(column, NOT_TRIED) for column in COLUMNS)} |")
    write_between_marks(PAGE, MARK, "\n".join(lines))


@click.group(help=__doc__)
def main() -> None: ...


NAMES = click.argument("names", nargs=-1)
CUDA = click.option("--cuda", is_flag=True, help="Install PyTorch with CUDA's libraries where there is no other build.")


@main.command("lock", help="Write the versions of all libraries to locks/.")
@NAMES
def lock_command(names: Sequence[str]) -> None:
    for environment in chosen(names):
        if not environment.lock:
            lock(environment)
            click.echo(f"{environment.lock_file.relative_to(ROOT)}")


@main.command("try", help="Install the wheel and run a program for each column of the table.")
@CUDA
@NAMES
def try_command(names: Sequence[str], cuda: bool) -> None:
    failed = False
    for environment in chosen(names):
        try:
            python = install(environment, cuda, [str(ROOT)])
        except RuntimeError as error:
            click.echo(f"{environment.name}: {NOT_TRIED}: {error}")
            write_table(environment, {"import": f"{NOT_TRIED}: {error}"[:120]})
            continue
        cells: dict[str, str] = {}
        for name, program in STEPS.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    run([python, "-c", program], cwd=folder, env=variables(python), timeout=300)
                    cells[name] = "works"
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    cells[name], failed = f"fails: {error}"[:120].replace("|", "/"), True
            click.echo(f"{environment.name}: {name}: {cells[name]}")
        write_table(environment, cells)
    raise SystemExit(failed)


@main.command("test", help="Run the tests of this checkout in one environment; all without arguments of pytest.")
@CUDA
@click.argument("name")
@click.argument("arguments", nargs=-1)
def test_command(name: str, arguments: Sequence[str], cuda: bool) -> None:
    (environment,) = chosen([name])
    python = install(environment, cuda, ["-e", f"{ROOT}[dev]"])
    own = variables(python)
    own.pop("TTXLA_CACHE")
    command = [python, "-m", "pytest", "-q", "-n", str(min(os.cpu_count() or 1, 8)), "--dist", "loadfile", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True)
    last = ""
    for line in process.stdout or ():
        click.echo(line, nl=False)
        last = line.strip(" =\n") or last
    if not arguments:
        write_table(environment, {COLUMNS[-1]: re.sub(r"\x1b\[\d+m| in [\d.]+s.*", "", last)})
    raise SystemExit(process.wait())


if __name__ == "__main__":
    main()
