"""Builds the wheel, installs it under several Pythons and versions of JAX, and writes what worked to docs/install.md.

``make try-installation`` runs it. PyTorch is installed only where the package index has a build for the CPU; a build
for CUDA is gigabytes of libraries that nothing here uses. Without PyTorch the compiler works, and the emulated card
does not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/install.md"
TRIED = (
    ("3.11", "0.7.1"),
    ("3.11", "0.10.2"),
    ("3.12", "0.10.2"),
    ("3.12", "0.12.0.1"),
    ("3.13", "0.10.2"),
    ("3.13", "0.12.0.1"),
    ("3.14", "0.12.0.1"),
)
"""Pythons, each with a version of JAX."""

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

NEEDS_TORCH = {"JAX on tt", "PyTorch on tt"}


@dataclass
class Try:
    """One environment: its versions, and the outcome of each step."""

    python: str
    jax: str
    torch: str = "not tried"
    outcomes: dict[str, str] = field(default_factory=dict)


def build_wheel(folder: Path) -> Path:
    """Builds the wheel of this checkout and returns it."""
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    return next(folder.glob("tt_xla-*.whl"))


def run(command: Sequence[str], **options: object) -> None:
    """Runs a command.

    Raises:
        RuntimeError: It fails; the message has the last line of its output.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exhausted)\b|ERROR", line)]
        raise RuntimeError(errors[-1] if errors else lines[-1])


def interpreter(version: str) -> Path | None:
    """Returns a Python of a version from PATH or pyenv, or None."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next((path / "bin/python" for path in sorted(pyenv.glob(f"{version}.*"))), None)


def torch_for_the_cpu(python: Path, requirement: str) -> str:
    """Returns the version of PyTorch that pip would install, or why there is none."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [str(python), "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "--ignore-installed"]
        run([*command, "--report", report.name, requirement])
        (found,) = json.loads(Path(report.name).read_text())["install"]
    needs = " ".join(found["metadata"].get("requires_dist", ()))
    return "" if re.search(r"cuda|nvidia", needs) else found["metadata"]["version"]


def try_one(wheel: Path, python: Path, one: Try, folder: Path) -> None:
    """Installs the wheel into an environment of its own and runs the steps."""
    run([str(python), "-m", "venv", "--clear", str(folder)])
    bin_folder = folder / "bin"
    pip = [str(bin_folder / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    constraints = folder / "constraints.txt"
    pins = (ROOT / "constraints-dev.txt").read_text().splitlines()
    constraints.write_text(
        "\n".join(pin for pin in pins if not re.match(r"jax|jaxlib|torch|numpy|scipy|ml_dtypes", pin))
    )
    needs = [need for need in requirements() if not re.match(r"torch|jax", need)]
    run([*pip, "-c", str(constraints), *needs, f"jax=={one.jax}", f"jaxlib~={'.'.join(one.jax.split('.')[:3])}"])
    torch = next(need for need in requirements() if need.startswith("torch"))
    version = torch_for_the_cpu(bin_folder / "python", torch)
    one.torch = version or "no build for the CPU"
    if version:
        run([*pip, "-c", str(constraints), torch])
    run([*pip, "--no-deps", str(wheel)])
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONPATH": "", "TTXLA_CACHE": "off"}
    for name, program in STEPS.items():
        if name in NEEDS_TORCH and not version:
            one.outcomes[name] = "not tried"
            continue
        try:
            run([str(bin_folder / "python"), "-c", program], cwd=folder, env=environment, timeout=300)
            one.outcomes[name] = "works"
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            one.outcomes[name] = f"fails: {error}"[:120].replace("|", "/")
        print(f"Python {one.python}, jax {one.jax}: {name}: {one.outcomes[name]}", flush=True)


def requirements() -> list[str]:
    """Returns the requirements of the package."""
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def table(tries: Sequence[Try]) -> str:
    """Returns the table of docs/install.md."""
    lines = [f"| Python | jax | torch | {' | '.join(STEPS)} |", "|---" * (3 + len(STEPS)) + "|"]
    for one in tries:
        outcomes = " | ".join(one.outcomes.get(name, "not tried") for name in STEPS)
        lines.append(f"| {one.python} | {one.jax} | {one.torch} | {outcomes} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-table", action="store_true", help="leave docs/install.md as it is")
    parser.add_argument("--only", default="", help="a Python version, such as 3.12")
    arguments = parser.parse_args()
    tries: list[Try] = []
    with tempfile.TemporaryDirectory(prefix="tt-xla-install-") as scratch:
        wheel = build_wheel(Path(scratch))
        print(f"Built {wheel.name}.", flush=True)
        for version, jax in TRIED:
            if arguments.only not in ("", version):
                continue
            one = Try(version, jax)
            tries.append(one)
            python = interpreter(version)
            try:
                if python is None:
                    raise RuntimeError("this Python is not installed here")
                run([str(python), "--version"])
                try_one(wheel, python, one, Path(scratch) / "env")
            except RuntimeError as error:
                one.outcomes = dict.fromkeys(STEPS, "not tried") | {"import": f"not tried: {error}"[:120]}
                print(f"Python {version}, jax {jax}: {error}", flush=True)
            if not arguments.no_table and not arguments.only:
                write_between_marks(PAGE, "tried", table(tries))
    print(table(tries))
    failed = any(outcome.startswith("fails") for one in tries for outcome in one.outcomes.values())
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
