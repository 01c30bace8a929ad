"""Tests of the facts about systems: they equal those of upstream's compiler and load without heavy imports."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from tt_xla.environment import selected_system
from tt_xla.errors import OptionError, SystemDescriptionError
from tt_xla.ir.layout import DataType
from tt_xla.target import Target, load_target, system_names

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", system_names())
def test_every_system_loads_and_is_consistent(name: str) -> None:
    target = load_target(name)
    assert target.name == name
    assert 0 < target.l1_unreserved_base < target.l1_size
    assert 0 < target.dram_unreserved_base < target.dram_unreserved_end <= target.dram_bank_bytes
    assert len(target.dram_bank_workers) == target.dram_banks
    rows, columns = target.grid
    assert all(row < rows and column < columns for row, column in target.dram_bank_workers)
    assert set(target.data_types) == {dtype.value for dtype in DataType if not dtype.is_host_only}
    assert target.dram_achieved_bytes_per_second < target.dram_peak_bytes_per_second
    assert target.gap_us_traced < target.gap_us_untraced
    assert hash(target) == hash(dataclasses.replace(target))
    assert target.chip_numbers == tuple(range(target.chips))
    assert set(target.host_chips) <= set(target.chip_numbers)
    linked = {chip for link in target.links for chip in link.chips}
    assert linked == (set(target.chip_numbers) if target.chips > 1 else set())
    assert target.links == tuple(sorted(target.links))
    assert len({link.chips for link in target.links}) == len(target.links)
    assert all(link.chips[0] < link.chips[1] for link in target.links)


def test_facts_are_those_of_upstreams_descriptors() -> None:
    n150, n300, p150 = (load_target(name) for name in ("n150", "n300", "p150"))
    assert (n150.arch, n150.grid, n150.cores, n150.chips) == ("wormhole_b0", (8, 8), 64, 1)
    assert n150.l1_usable_bytes == 1499136 - 103840 - 32768
    assert n150.dram_usable_bytes == 12 * (1073118784 - 2968640)
    assert (n300.arch, n300.chips, n300.dram_unreserved_end) == ("wormhole_b0", 2, 1073162048)
    assert (p150.arch, p150.grid, p150.l1_size, p150.dram_banks) == ("blackhole", (10, 11), 1572864, 8)
    assert (p150.dram_align, p150.pcie_align, p150.noc_l1_align) == (64, 64, 16)


def test_peak_rate_of_the_matrix_unit_is_the_documented_one() -> None:
    n150 = load_target("n150")
    flops = 2 * n150.macs_per_cycle["lofi"] * n150.clock_hz * n150.cores
    assert flops == pytest.approx(262e12, rel=0.01)
    assert n150.macs_per_cycle["hifi4"] * 4 == n150.macs_per_cycle["lofi"]


def test_an_unknown_system_names_the_near_ones() -> None:
    with pytest.raises(SystemDescriptionError, match=r"System 'n15' is unknown.*'n150'.*n300, n300-llmbox, .*p150x4"):
        load_target("n15")


def test_links_are_those_of_upstreams_descriptors() -> None:
    box = load_target("n300-llmbox")
    assert [link.chips for link in box.links if link.channels == 2] == [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert [link.chips for link in box.links if link.channels == 1] == [
        *((0, 6), (1, 5), (2, 7), (3, 4), (4, 7), (5, 6)),
    ]
    assert box.host_chips == (0, 1, 2, 3)
    assert load_target("n300").links == (((0, 1), 1),)
    assert load_target("n300").host_chips == (0,)


def test_visible_chips_are_renumbered() -> None:
    target = load_target("n300-llmbox:7,2,4")
    assert (target.name, target.chips, target.chip_numbers) == ("n300-llmbox:7,2,4", 3, (7, 2, 4))
    assert target.links == (((0, 1), 1), ((0, 2), 1))
    assert target.host_chips == (1,)
    assert target.dram_banks == load_target("n300-llmbox").dram_banks


def test_all_chips_in_order_are_the_system() -> None:
    assert load_target("n300:0,1") is load_target("n300")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("n300:0,2", r"System 'n300' has no chip 2; visible chips are to be 0, 2\. .*numbers from 0 to 1, each once"),
        ("n150:1", r"System 'n150' has no chip 1.*takes 0 alone"),
        ("n300:1,1", r"System 'n300' cannot show a chip twice; visible chips are to be 1, 1"),
        ("n15:0", "System 'n15' is unknown"),
    ],
)
def test_chips_that_are_not_there(name: str, message: str) -> None:
    with pytest.raises(SystemDescriptionError, match=message):
        load_target(name)


def test_the_environment_chooses_visible_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300-llmbox")
    monkeypatch.setenv("TT_VISIBLE_DEVICES", " 0, 01,2")
    assert selected_system() == "n300-llmbox:0,1,2"
    monkeypatch.setenv("TT_VISIBLE_DEVICES", "")
    assert selected_system() == "n300-llmbox"


def test_tt_nn_chooses_its_chips_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    monkeypatch.setenv("TTXLA_RUNTIME", "ttnn")
    monkeypatch.setenv("TT_VISIBLE_DEVICES", "1")
    assert selected_system() == "p150"


@pytest.mark.parametrize("text", ["0,", "a", "-1", "0;1", "9" * 5000, "\u0661"])
def test_visible_devices_that_are_no_list(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_VISIBLE_DEVICES", text)
    with pytest.raises(OptionError, match=r"TT_VISIBLE_DEVICES=.* is no list of chips\. It takes numbers"):
        selected_system()


def test_targets_are_values() -> None:
    n150 = load_target("n150")
    assert isinstance(n150, Target)
    assert load_target("n150") is n150
    with pytest.raises(dataclasses.FrozenInstanceError):
        n150.name = "other"
    with pytest.raises(TypeError):
        n150.macs_per_cycle["lofi"] = 0


def test_loading_imports_no_framework() -> None:
    code = (
        "import sys, tt_xla.target as t; t.load_target('p150');"
        "print([m for m in ('torch', 'jax', 'jaxlib', 'xdsl', 'numpy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
