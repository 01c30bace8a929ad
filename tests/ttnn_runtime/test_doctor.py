"""tt-xla doctor says what is missing on machines of several kinds, and runs its programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tt_xla.codegen import mock
from tt_xla.tools import doctor
from tt_xla.tools.cli import main
from tt_xla.tools.doctor import Machine
from tt_xla.tools.findings import Finding, State

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn


def written(root: Path, files: dict[str, str]) -> Machine:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine(root)


CARD = {
    "dev/tenstorrent/0": "",
    "sys/class/tenstorrent/tenstorrent!0/tt_card_type": "n150\n",
    "sys/class/tenstorrent/tenstorrent!0/tt_fw_bundle_ver": "18.7.0.0\n",
    "sys/module/tenstorrent/version": "2.3.0\n",
    "sys/bus/pci/devices/0000:01:00.0/vendor": "0x1e52\n",
    "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "1\n",
    "proc/mounts": "hugetlbfs-1G /dev/hugepages-1G hugetlbfs rw,pagesize=1024M 0 0\n",
}


def found(machine: Machine) -> dict[str, Finding]:
    return {each.name: each for each in doctor.findings(machine)}


def states(machine: Machine) -> dict[str, State]:
    names = ("card", "driver", "access", "firmware", "huge pages")
    return {name: each.state for name, each in found(machine).items() if name in names}


@pytest.mark.usefixtures("stand_in")
def test_a_machine_with_a_card_and_all_it_needs(tmp_path: Path) -> None:
    machine = written(tmp_path / "machine", CARD)
    assert set(states(machine).values()) == {State.OK}
    assert "n150" in found(machine)["card"].text
    assert found(machine)["runs on"].text == "the card"


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("missing", "name", "advice"),
    [
        ("sys/module/tenstorrent/version", "driver", "modprobe tenstorrent"),
        ("dev/tenstorrent/0", "card", "tt-kmd"),
        ("proc/mounts", "huge pages", "hugepages-setup"),
        ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "huge pages", "hugepagesz=1G"),
        ("sys/class/tenstorrent/tenstorrent!0/tt_fw_bundle_ver", "firmware", "tt-smi"),
    ],
)
def test_what_is_missing_is_named_with_advice(tmp_path: Path, missing: str, name: str, advice: str) -> None:
    machine = written(tmp_path / "machine", {path: text for path, text in CARD.items() if path != missing})
    assert found(machine)[name].state in (State.ERROR, State.WARNING)
    assert advice in found(machine)[name].advice


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("mount", ["hugetlbfs /huge hugetlbfs rw,pagesize=2M", "tmpfs /tmp tmpfs rw,pagesize=1024M"])
def test_other_mounts_hold_no_huge_pages(tmp_path: Path, mount: str) -> None:
    machine = written(tmp_path / "machine", CARD | {"proc/mounts": f"{mount} 0 0\n"})
    assert found(machine)["huge pages"].state is State.ERROR
    assert "not mounted" in found(machine)["huge pages"].text


@pytest.mark.usefixtures("stand_in")
def test_blackhole_behind_an_iommu_needs_no_huge_pages(tmp_path: Path) -> None:
    files = {path: text for path, text in CARD.items() if "hugepages" not in path and path != "proc/mounts"}
    files["sys/class/tenstorrent/tenstorrent!0/tt_card_type"] = "p150a\n"
    machine = written(tmp_path / "machine", files)
    assert found(machine)["huge pages"].state is State.ERROR
    written(tmp_path / "machine", {"sys/kernel/iommu_groups/0/type": "DMA"})
    assert found(machine)["huge pages"].state is State.OK


def test_a_machine_without_a_card_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TTNN_PYTHON", "")
    monkeypatch.setattr(mock, "package_of", lambda interpreter: None)
    reported: list[Finding] = []
    assert doctor.run(reported.append, Machine(tmp_path))
    by_name = {each.name: each for each in reported}
    assert by_name["card"].state is State.NONE
    assert by_name["interpreter"].state is State.WARNING
    assert "TTXLA_TTNN_PYTHON" in by_name["interpreter"].advice
    assert by_name["product"].state is State.OK
    assert "emulated card" in by_name["product"].text


def test_a_named_interpreter_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TTNN_PYTHON", str(tmp_path / "nowhere"))
    reported: list[Finding] = []
    assert not doctor.run(reported.append, Machine(tmp_path))
    (interpreter,) = (each for each in reported if each.name == "interpreter")
    assert interpreter.state is State.ERROR
    assert str(tmp_path / "nowhere") in interpreter.text
    assert "TTXLA_TTNN_PYTHON" in interpreter.advice


@pytest.mark.usefixtures("stand_in")
def test_compare_names_a_simulator_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, path = tmp_path / "libttsim.so", tmp_path / "program.mlir"
    monkeypatch.setenv("TT_METAL_SIMULATOR", str(simulator))
    path.write_text(PROGRAM)
    with pytest.raises(SystemExit) as end:
        main(["compare", str(path), "--against", "ttnn"])
    assert end.value.code == 1
    assert f"TT_METAL_SIMULATOR={simulator} does not exist" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("stand_in")
def test_values_and_times_are_compared_on_a_card(tmp_path: Path) -> None:
    reported: list[Finding] = []
    machine = written(tmp_path / "machine", CARD)
    assert doctor.run(reported.append, machine)
    by_name = {each.name: each for each in reported}
    for name in ("product", "trace"):
        # The replacement computes in float32, so the bits are others, and the values are near.
        assert by_name[name].state is State.WARNING
        assert "PCC 0.99999" in by_name[name].text
        assert "us a call, predicted" in by_name[name].text


@pytest.mark.usefixtures("stand_in")
def test_wrong_values_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_MATMUL", "half")
    reported: list[Finding] = []
    assert not doctor.run(reported.append, written(tmp_path / "machine", CARD))
    (product,) = (each for each in reported if each.name == "product")
    assert product.state is State.ERROR
    assert "compare --against ttnn" in product.advice


PROGRAM = """\
func.func @main(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.add %x, %x : tensor<32x64xf32>
  %1 = stablehlo.tan %0 : tensor<32x64xf32>
  %2 = stablehlo.multiply %1, %x : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
"""


def compared(path: Path, capsys: pytest.CaptureFixture[str], *tolerance: str) -> tuple[int, dict[str, object]]:
    with pytest.raises(SystemExit) as end:
        main(["compare", str(path), "--against", "ttnn", "--json", *tolerance])
    shown = capsys.readouterr()
    assert shown.out, shown.err
    return int(end.value.code or 0), json.loads(shown.out)


@pytest.mark.usefixtures("stand_in")
def test_compare_passes_the_arguments_that_a_program_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text("""\
func.func @main(%a: tensor<64xf32>, %b: tensor<4xf32>, %c: tensor<32x64xf32>) -> (tensor<32x64xf32>, tensor<64xf32>) {
  %0 = stablehlo.add %c, %c : tensor<32x64xf32>
  %1 = stablehlo.add %a, %a : tensor<64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<64xf32>
}
""")
    status, record = compared(path, capsys)
    assert status == 0
    steps = record["instructions"]
    assert isinstance(steps, list)
    assert [step["result"] for step in steps if step["op"] == "ttnn.add"] == ["32x64xf32", "64xf32"]


def test_compare_names_the_first_op_with_other_values(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    status, record = compared(path, capsys)
    assert status == 0
    stand_in.tan.write_text("half")
    status, record = compared(path, capsys)
    assert status == 1
    first, worst, steps = record["first"], record["worst"], record["instructions"]
    assert isinstance(first, dict)
    assert isinstance(worst, dict)
    assert isinstance(steps, list)
    assert first["op"] == worst["op"] == "ttnn.tan"
    assert first["location"].endswith(":3:8")
    # The product has other values because of the tangent, not by itself.
    (product,) = (step for step in steps if step["op"] == "ttnn.multiply")
    assert product["alone"]["largest"] == 0
    assert product["running"]["beyond_one"] > 0.4
    # The tolerance decides which op is the first, and the exit status.
    status, record = compared(path, capsys, "--pcc", "0.1")
    assert (status, record["first"]) == (0, None)
    status, record = compared(path, capsys, "--pcc", "0.1", "--ulp", "4")
    assert isinstance(record["first"], dict)
    assert (status, record["first"]["op"]) == (1, "ttnn.tan")
