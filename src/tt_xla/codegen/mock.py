"""TT-NN without a card: the interpreter that has it, and the environment of its mock mode.

In mock mode TT-NN checks each call (shapes, layouts, memory and program configs, room in L1 and DRAM) and builds its
kernels, and nothing runs. Building a kernel takes seconds, so unless asked for, a link tree of the package stands in
whose kernel compiler hands out one ready kernel for each kind of core.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tt_xla.errors import OptionError, RuntimeUnavailableError
from tt_xla.options import cache_directory, child_environment, environment

_CLUSTER = """\
# One p150, two columns of cores harvested as on the cards that are sold: 120 cores, of which programs see 110.
arch: {0: blackhole}
chips: {}
chip_unique_ids: {0: 1}
ethernet_connections: []
ethernet_connections_to_remote_devices: []
chips_with_mmio:
  - 0: 0
io_device_type: PCIe
harvesting:
  0: {noc_translation: true, harvest_mask: 3, dram_harvesting_mask: 0, eth_harvesting_mask: 288,
      pcie_harvesting_mask: 2, l2cpu_harvesting_mask: 0}
chip_to_bus_id: {0: "0x01"}
boards:
  - [{board_id: 4402341478400}, {board_type: p150}, {chips: [0]}]
asic_locations: {0: 0}
chip_pci_bdfs: {0: "0000:01:00.0"}
"""

_CORES = ("brisc", "ncrisc", "trisc0", "trisc1", "trisc2")

_COMPILER = """\
#!/bin/sh
# Stands in for the kernel compiler: a kernel is one that was built before for the same kind of core.
output= previous= core= compiles=
for argument; do
  [ "$previous" = -o ] && output=$argument
  case $argument in
    -T*kernel_*.ld) core=${argument##*kernel_}; core=${core%.ld};;
    -c) compiles=1;;
  esac
  previous=$argument
done
case $output in */kernels/*) ;; *) exec "{compiler}" "$@";; esac
if [ -n "$compiles" ]; then : > "$output"; echo "$output:" > "${output%.o}.d"; exit 0; fi
[ -n "$core" ] && exec cp "{kernels}/$core.elf" "$output"
exec "{compiler}" "$@"
"""

_BUILD = """\
import ttnn
device = ttnn.open_device(device_id=0)
x = ttnn.ones([32, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
ttnn.exp(x)
"""


_HAS_TTNN = "import importlib.util, sys; sys.exit(importlib.util.find_spec('ttnn') is None)"
_INSTALL = "Install ttnn with Python 3.10 or 3.12 and set TTXLA_TTNN_PYTHON to that environment's bin/python."


def ttnn_python(given: str | Path | None = None) -> Path:
    """The interpreter that has ``ttnn``: the one given, else ``TTXLA_TTNN_PYTHON``, else one that is found.

    Looked at are this interpreter, the environment that TT-Metal's own build makes, and what ``PATH`` has.

    Raises:
        RuntimeUnavailableError: there is none, or it is not a program.
    """
    name = str(given or environment("TTXLA_TTNN_PYTHON"))
    if not name:
        return _found()
    found = shutil.which(name)
    if found is None:
        raise RuntimeUnavailableError(f"'{name}' is not a program that can be run.", hint=_INSTALL)
    return Path(found)


def candidates() -> list[Path]:
    """Interpreters that may have ``ttnn``, the likelier ones first."""
    home = environment("TT_METAL_HOME")
    built = [Path(home, "python_env/bin/python")] if home else []
    on_path = (shutil.which(name) for name in ("python3", "python3.12", "python3.10", "python3.11"))
    return list(dict.fromkeys([Path(sys.executable), *built, *(Path(path) for path in on_path if path)]))


def _found() -> Path:
    looked = [path for path in candidates() if path.exists()]
    for path in looked:
        if not subprocess.run([path, "-c", _HAS_TTNN], capture_output=True, check=False).returncode:
            return path
    names = ", ".join(map(str, looked))
    raise RuntimeUnavailableError(f"No Python with TT-NN was found; looked at were {names}.", hint=_INSTALL)


@dataclass(frozen=True)
class Mock:
    """What to start a worker with."""

    python: Path
    environment: dict[str, str]


def mock(python: Path, system: str, *, kernels: bool = False) -> Mock:
    """The mock mode of ``system``.

    Args:
        kernels: build every kernel as for a card; seconds for each at first, later from TT-NN's cache.

    Raises:
        OptionError: TT-NN has no mock of the system that we know of.
        RuntimeUnavailableError: the interpreter has no TT-NN that works.
    """
    if system != "p150":
        raise OptionError(f"TT-NN's mock mode was asked for {system}; it is known for p150.", hint="Use --arch p150.")
    package = _package(python)
    folder = cache_directory() / "ttnn-mock" / hashlib.sha256(str(package).encode()).hexdigest()[:16]
    changes = {
        "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(_cluster(folder)),
        "TT_METAL_DISABLE_SFPLOADMACRO": "1",
        "TT_METAL_LOGGER_LEVEL": "fatal",
        "LOGURU_LEVEL": "ERROR",
    }
    variables = child_environment(changes, without=("TT_METAL_", "PYTHON", "LOGURU_"))
    if kernels:
        return Mock(python, variables)
    tree = folder / "package"
    if not (tree / ".ready").exists():
        _prepare(python, package, tree, variables)
    fast = {"TT_METAL_RUNTIME_ROOT": str(tree), "TT_METAL_CACHE": str(folder / "cache")}
    return Mock(python, variables | fast)


def _package(python: Path) -> Path:
    """The folder of the interpreter's ``ttnn`` package."""
    source = "import importlib.util as u; print(u.find_spec('ttnn').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", source], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeUnavailableError(
            f"'{python}' has no ttnn: {_last_line(done.stderr)}", hint="Install it there: pip install ttnn."
        )
    return Path(done.stdout.strip().splitlines()[-1])


def _cluster(folder: Path) -> Path:
    path = folder / "p150.yaml"
    if not path.exists() or path.read_text() != _CLUSTER:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(_CLUSTER)
        os.replace(file.name, path)
    return path


def _prepare(python: Path, package: Path, tree: Path, variables: dict[str, str]) -> None:
    """Builds one kernel for each kind of core, and the link tree whose compiler hands them out."""
    compiler = package / "runtime/sfpi/compiler/bin/riscv-tt-elf-g++"
    if not compiler.exists():
        raise RuntimeUnavailableError(
            f"{package} has no kernel compiler (SFPI) at {compiler.relative_to(package)}.",
            hint="Run python -m ttnn.download_sfpi there, or install Tenstorrent's sfpi package.",
        )
    with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
        cache, fresh = Path(scratch, "cache"), Path(scratch, "package")
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
        _link(package, fresh, compiler.relative_to(package))
        (fresh / "kernels").mkdir()
        for core, elf in built.items():
            assert elf is not None
            shutil.copy(elf, fresh / "kernels" / f"{core}.elf")
        stand_in = fresh / compiler.relative_to(package)
        stand_in.write_text(_COMPILER.replace("{compiler}", str(compiler)).replace("{kernels}", str(tree / "kernels")))
        stand_in.chmod(0o755)
        (fresh / ".ready").touch()
        try:
            os.rename(fresh, tree)
        except OSError:
            if not (tree / ".ready").exists():
                raise


def _link(package: Path, fresh: Path, apart: Path) -> None:
    """A tree of links to ``package``, with folders of its own on the way to ``apart``, which stays out."""
    first, *rest = apart.parts
    fresh.mkdir()
    for entry in package.iterdir():
        if entry.name != first:
            (fresh / entry.name).symlink_to(entry)
        elif rest:
            _link(entry, fresh / entry.name, Path(*rest))


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else "it said nothing"
