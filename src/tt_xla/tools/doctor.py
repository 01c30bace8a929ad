"""Implements ``tt-xla doctor``: looks for what a card needs, runs a product on it, and says what to do about the rest.

The command ends with status 1 if a finding is an error.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tt_xla.codegen import TTNN_VERSION
from tt_xla.codegen.mock import ttnn_python
from tt_xla.environment import RUNTIMES, child_environment, installed_system, selected_runtime, variable
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.tools.findings import Finding, State


@dataclass(frozen=True)
class Machine:
    """The folders of the operating system that tell of cards; a test gives others."""

    root: Path = field(default_factory=lambda: Path("/"))

    @property
    def devices(self) -> list[Path]:
        """Device files of the cards."""
        return sorted(path for path in (self.root / "dev/tenstorrent").glob("*") if path.name.isdigit())

    @property
    def cards(self) -> Path:
        """Folder in which the kernel driver describes cards."""
        return self.root / "sys/class/tenstorrent"

    def read(self, path: str | Path) -> str:
        """Returns the text of a file; nothing if it cannot be read."""
        try:
            return (self.root / path).read_text().strip()
        except OSError:
            return ""

    @property
    def pci_cards(self) -> int:
        """Tenstorrent's devices on the PCI bus, which are there without a driver."""
        vendors = (self.root / "sys/bus/pci/devices").glob("*/vendor")
        return sum(self.read(path) == "0x1e52" for path in vendors)


def findings(machine: Machine | None = None) -> Iterator[Finding]:
    """Yields what the checks find, in their order; those of TT-NN only if it is there."""
    machine = machine or Machine()
    for name, check in _CHECKS.items():
        yield Finding(name, *check(machine))
    python = _interpreter()
    yield python
    if python.state is State.OK:
        yield from _ttnn(Path(python.text))
    yield _judge(machine, has_ttnn=python.state is State.OK)


Outcome = tuple[State, str, str]
"""State, text and advice of a finding."""


def _card(machine: Machine) -> Outcome:
    found = len(machine.devices)
    if found:
        kind = installed_system(machine.cards) or "of an unknown kind"
        return State.OK, f"{found} device files in /dev/tenstorrent, the first card is {kind}", ""
    if machine.pci_cards:
        text = f"{machine.pci_cards} on the PCI bus, but none in /dev/tenstorrent"
        advice = "Install the kernel driver (tenstorrent/tt-kmd) and load it: modprobe tenstorrent."
        return State.ERROR, text, advice
    return State.NONE, "none on the PCI bus", "Nothing to do: programs run on the emulated card."


def _driver(machine: Machine) -> Outcome:
    version = machine.read("sys/module/tenstorrent/version")
    if version:
        return State.OK, f"tt-kmd {version}", ""
    if not machine.devices and not machine.pci_cards:
        return State.NONE, "tt-kmd is not loaded, and there is no card", ""
    advice = "Install tenstorrent/tt-kmd with DKMS, then: modprobe tenstorrent."
    return State.ERROR, "tt-kmd is not loaded", advice


def _access(machine: Machine) -> Outcome:
    closed = [path for path in machine.devices if not os.access(path, os.R_OK | os.W_OK)]
    if not machine.devices:
        return State.NONE, "no device files", ""
    if closed:
        names = ", ".join(f"/dev/tenstorrent/{path.name}" for path in closed)
        advice = "Add yourself to the group that owns them, or install tt-kmd's udev rules."
        return State.ERROR, f"{names} cannot be opened for reading and writing", advice
    return State.OK, "device files can be read and written", ""


def _firmware(machine: Machine) -> Outcome:
    cards = sorted(machine.cards.glob("*"))
    if not cards:
        return State.NONE, "no card", ""
    versions = {machine.read(card / "tt_fw_bundle_ver") or "unknown" for card in cards}
    text = f"bundle {', '.join(sorted(versions))}"
    if versions == {"unknown"}:
        return State.WARNING, text, "Ask tt-smi -s for the version; update the driver if it says nothing."
    if len(versions) > 1:
        return State.WARNING, f"{text}: cards differ", "Flash one version to all cards with tt-flash."
    return State.OK, text, ""


def _huge_pages(machine: Machine) -> Outcome:
    total = machine.read("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages")
    mounts = machine.read("proc/mounts").splitlines()
    mounted = [line for line in mounts if " hugetlbfs " in line and "pagesize=1024M" in line]
    text = f"{total or 'no'} pages of 1 GiB, {'mounted' if mounted else 'not mounted'}"
    if not machine.devices:
        return State.NONE, f"{text}; without a card none are needed", ""
    if any((machine.root / "sys/kernel/iommu_groups").glob("*")) and "blackhole" in _archs(machine):
        return State.OK, f"{text}; Blackhole behind an IOMMU needs none", ""
    if not total or int(total) < len(machine.devices) or not mounted:
        advice = (
            "Install tenstorrent/tt-system-tools and start its hugepages-setup service, or boot with hugepagesz=1G "
            "hugepages=N."
        )
        return State.ERROR, f"{text}, {len(machine.devices)} needed", advice
    return State.OK, text, ""


_CHECKS = {"card": _card, "driver": _driver, "access": _access, "firmware": _firmware, "huge pages": _huge_pages}
"""Checks that need no TT-NN, by the names of what they look at."""


def _archs(machine: Machine) -> set[str]:
    kinds = (machine.read(path) for path in machine.cards.glob("*/tt_card_type"))
    return {"blackhole" if kind.lower().startswith("p") else "wormhole" for kind in kinds}


def _interpreter() -> Finding:
    """Finds the interpreter of TT-NN. One that the user names is an error if it is not there."""
    try:
        return Finding("interpreter", State.OK, str(ttnn_python()))
    except RuntimeUnavailableError as error:
        state = State.ERROR if variable("TTXLA_TTNN_PYTHON") else State.WARNING
        return Finding("interpreter", state, error.message, error.hint)


_PACKAGES = """\
import importlib.metadata as m, importlib.util as u, json, pathlib, sys
found = u.find_spec("ttnn")
package = pathlib.Path(found.submodule_search_locations[0]) if found else None
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return ""
print(json.dumps({"python": sys.version.split()[0], "ttnn": version("ttnn"), "numpy": version("numpy"),
  "found": bool(found), "compiler": bool(package and any(package.glob("runtime/sfpi/compiler/bin/*-g++")))}))
"""
"""Script that prints the versions of an interpreter's packages as JSON."""


def _ttnn(python: Path) -> Iterator[Finding]:
    """Yields what the interpreter says of its packages; it does not import ``ttnn``, which takes seconds."""
    command = [python, "-c", _PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_environment())
    if done.returncode:
        text = f"{python} does not run: {done.stderr.strip()[-200:]}"
        yield Finding("ttnn", State.ERROR, text, "Name another one with TTXLA_TTNN_PYTHON.")
        return
    said = json.loads(done.stdout)
    if not said["found"]:
        advice = f"Install it there: pip install 'ttnn=={TTNN_VERSION}.*'."
        yield Finding("ttnn", State.ERROR, f"{python} has no ttnn", advice)
        return
    text = f"{said['ttnn'] or 'of an unknown version'} with Python {said['python']}"
    if said["ttnn"] and not said["ttnn"].startswith(f"{TTNN_VERSION}."):
        advice = f"Calls were checked with {TTNN_VERSION}; others may be refused. Install ttnn=={TTNN_VERSION}.*."
        yield Finding("ttnn", State.WARNING, text, advice)
    else:
        yield Finding("ttnn", State.OK, text)
    if not said["numpy"]:
        yield Finding("numpy", State.ERROR, f"{python} has no numpy", "Install numpy there; the worker needs it.")
    if said["ttnn"] and not said["compiler"]:
        advice = "Run python -m ttnn.download_sfpi there, or install tenstorrent/sfpi."
        yield Finding("kernel compiler", State.WARNING, "SFPI is not in the package", advice)
    elif said["ttnn"]:
        yield Finding("kernel compiler", State.OK, "SFPI is in the package")


def chosen_runtime(machine: Machine, *, has_ttnn: bool) -> tuple[str, str]:
    """Returns the runtime that the doctor tries, and the sentence that says what it is.

    It is the one that TTXLA_RUNTIME names; without it the card, else the simulator, else mock mode, else the emulated
    card.
    """
    if selected_runtime() == "ttnn-mock":
        return "ttnn-mock", "TT-NN's mock mode, as TTXLA_RUNTIME says"
    if has_ttnn and machine.devices:
        return "ttnn", "the card"
    if has_ttnn and variable("TT_METAL_SIMULATOR"):
        return "ttnn", f"the simulator {variable('TT_METAL_SIMULATOR')}"
    if has_ttnn:
        return "ttnn-mock", "TT-NN's mock mode: it checks calls and computes nothing"
    return RUNTIMES[0], "the emulated card alone"


def _judge(machine: Machine, *, has_ttnn: bool) -> Finding:
    simulator = variable("TT_METAL_SIMULATOR")
    if simulator and not Path(simulator).exists():
        return Finding(
            "runs on", State.ERROR, f"TT_METAL_SIMULATOR={simulator} does not exist", "Correct it, or unset it."
        )
    _, text = chosen_runtime(machine, has_ttnn=has_ttnn)
    return Finding("runs on", State.OK, text)


def lines(found: Finding) -> list[str]:
    """Returns the lines that describe a finding."""
    advice = [f"{'':<18}-> {found.advice}"] if found.advice else []
    return [f"{found.state:<8} {found.name:<16} {found.text}", *advice]


def record(found: Finding) -> dict[str, str]:
    """Returns a finding as plain data."""
    return {name: str(value) for name, value in asdict(found).items()}


Report = Callable[[Finding], None]


def run(report: Report, machine: Machine | None = None, *, runs: bool = True) -> bool:
    """Makes all checks, and unless one of them is an error runs a product and a trace.

    Args:
        report: called with each finding.
        machine: where to look; this machine by default.
        runs: whether programs are run.

    Returns:
        Whether nothing is in error.
    """
    machine = machine or Machine()
    well = True
    has_ttnn = False
    for found in findings(machine):
        report(found)
        well = well and found.state is not State.ERROR
        has_ttnn = has_ttnn or (found.name == "interpreter" and found.state is State.OK)
    if not well or not runs:
        return well
    from tt_xla.tools.doctor_programs import trials

    runtime, _ = chosen_runtime(machine, has_ttnn=has_ttnn)
    for found in trials(runtime, computes=runtime == "ttnn", times=bool(machine.devices)):
        report(found)
        well = well and found.state is not State.ERROR
    return well
