"""Tests of system descriptions in upstream's ``.ttsys`` format, which Google's flatbuffers library writes here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError, SystemDescriptionError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import Target, arrange, load_target, system_names

pytestmark = pytest.mark.quick

SYSTEMS = Path(__file__).parents[1] / "data" / "systems"
FIELDS = {
    "l1_size": (3, "Uint64"),
    "dram_banks": (4, "Uint32"),
    "dram_bank_bytes": (5, "Uint64"),
    "noc_l1_align": (6, "Uint32"),
    "dram_align": (7, "Uint32"),
    "pcie_align": (8, "Uint32"),
    "l1_unreserved_base": (9, "Uint32"),
    "erisc_l1_unreserved_base": (10, "Uint32"),
    "dram_unreserved_base": (11, "Uint32"),
    "dram_unreserved_end": (12, "Uint32"),
    "dst_tiles": (15, "Uint32"),
    "circular_buffers": (16, "Uint32"),
}

RANGES = {
    "l1_size": (1 << 16, 1 << 26),
    "dram_banks": (1, 64),
    "dram_bank_bytes": (1 << 20, 1 << 40),
    "noc_l1_align": (1, 4096),
    "dram_align": (1, 4096),
    "pcie_align": (1, 4096),
    "l1_unreserved_base": (0, 1 << 26),
    "erisc_l1_unreserved_base": (0, 1 << 26),
    "dst_tiles": (1, 1024),
    "circular_buffers": (1, 1024),
}
"""Least and greatest value of a chip's numbers."""


def description(name: str, **changes: Any) -> bytes:
    """Returns the file that upstream's tools would write for the system ``name`` with some facts changed."""
    target = load_target(name)
    facts = {field: getattr(target, field) for field in (*FIELDS, "arch", "chips", "grid")} | changes
    system_facts = {"host_chips": target.host_chips, "channels": channels_of(target)} | changes
    builder = flatbuffers.Builder(1024)
    pairs = {14: target.tile_shapes, 20: target.dram_bank_workers}
    vectors = {field: _pairs(builder, values) for field, values in pairs.items()}
    builder.StartObject(21)
    for field, place in ((1, facts["grid"]), (2, target.coord_translation_offsets)):
        builder.PrependStructSlot(field, _pair(builder, place), 0)
    for field, (slot, kind) in FIELDS.items():
        getattr(builder, f"Prepend{kind}Slot")(slot, facts[field], 0)
    for field, vector in vectors.items():
        builder.PrependUOffsetTRelativeSlot(field, vector, 0)
    builder.PrependUint32Slot(0, {"wormhole_b0": 0, "blackhole": 1}.get(facts["arch"], 7), 0)
    chip = builder.EndObject()
    chips = _vector(builder, [chip], builder.PrependUOffsetTRelative)
    indices = _vector(builder, [0] * facts["chips"], builder.PrependUint32)
    flags = [int(chip in system_facts["host_chips"]) for chip in range(system_facts.get("flags", facts["chips"]))]
    capabilities = _vector(builder, flags, builder.PrependUint32)
    channels = _channels(builder, system_facts["channels"])
    builder.StartObject(6)
    builder.PrependUOffsetTRelativeSlot(1, chips, 0)
    builder.PrependUOffsetTRelativeSlot(2, indices, 0)
    if system_facts["channels"] is not None:
        builder.PrependUOffsetTRelativeSlot(3, capabilities, 0)
        builder.PrependUOffsetTRelativeSlot(5, channels, 0)
    system = builder.EndObject()
    builder.StartObject(5)
    builder.PrependUOffsetTRelativeSlot(4, system, 0)
    builder.FinishSizePrefixed(builder.EndObject(), b"TTSY")
    return bytes(builder.Output())


def channels_of(target: Target) -> list[tuple[int, int]]:
    """Returns the chips of each channel of each link."""
    return [link.chips for link in target.links for _ in range(link.channels)]


def _channels(builder: flatbuffers.Builder, channels: list[tuple[int, int]] | None) -> int:
    builder.StartVector(24, len(channels or ()), 4)
    for number, (first, second) in enumerate(reversed(channels or ())):
        for value in (0, number, second, 0, number, first):
            builder.PrependUint32(value)
    return builder.EndVector()


def _pair(builder: flatbuffers.Builder, pair: tuple[int, int]) -> int:
    builder.Prep(4, 8)
    builder.PrependInt32(pair[1])
    builder.PrependInt32(pair[0])
    return builder.Offset()


def _pairs(builder: flatbuffers.Builder, pairs: tuple[tuple[int, int], ...]) -> int:
    builder.StartVector(8, len(pairs), 4)
    for pair in reversed(pairs):
        _pair(builder, pair)
    return builder.EndVector()


def _vector(builder: flatbuffers.Builder, elements: list[int], prepend: Any) -> int:
    builder.StartVector(4, len(elements), 4)
    for element in reversed(elements):
        prepend(element)
    return builder.EndVector()


def written(folder: Path, data: bytes) -> Path:
    path = folder / "system.ttsys"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", system_names())
def test_the_description_of_a_known_system_is_that_system(name: str, tmp_path: Path) -> None:
    assert load_target(str(written(tmp_path, description(name)))) is load_target(name)


@pytest.mark.parametrize("name", ["n150", "n300", "n300-llmbox", "p150"])
def test_upstreams_files_are_those_systems(name: str) -> None:
    assert load_target(str(SYSTEMS / f"{name}.ttsys")) is load_target(name)


def test_channels_and_chips_with_pcie_are_read(tmp_path: Path) -> None:
    channels = [(0, 1), (2, 1), (1, 0), (2, 0)]
    target = load_target(str(written(tmp_path, description("p150", chips=3, channels=channels, host_chips=(0, 2)))))
    assert target.links == (((0, 1), 2), ((0, 2), 1), ((1, 2), 1))
    assert target.host_chips == (0, 2)
    assert arrange(target, (3,)).axes[0].ring


def test_a_description_without_channels_has_no_links(tmp_path: Path) -> None:
    target = load_target(str(written(tmp_path, description("p150", chips=2, channels=None))))
    assert (target.links, target.host_chips) == ((), (0, 1))


def test_chips_of_a_described_system_can_be_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, description("p150", chips=3, channels=[(0, 1), (1, 2)]))
    target = load_target(f"{path}:2,1")
    assert (target.chips, target.links) == (2, (((0, 1), 1),))


def test_what_holds_for_all_chips_is_what_the_system_has(tmp_path: Path) -> None:
    """The two chips of upstream's n300 differ in the end of DRAM; programs are for both."""
    n300 = load_target(str(SYSTEMS / "n300.ttsys"))
    assert n300.dram_unreserved_end == 1073162048


def test_a_system_that_is_not_known_has_the_facts_of_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, description("p150", grid=(9, 8), chips=4, l1_size=1 << 20))
    target = load_target(str(path))
    assert (target.name, target.arch, target.chips, target.grid) == (str(path), "blackhole", 4, (9, 8))
    assert (target.l1_size, target.dram_banks) == (1 << 20, 8)
    assert target.clock_hz == load_target("p150").clock_hz


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"arch": "grayskull"}, r"its architecture is 7, expected 0 \(wormhole_b0\) or 1 \(blackhole\)"),
        ({"grid": (0, 8)}, "its grid is 0 x 8, expected 1 to 64 rows and columns"),
        ({"dram_banks": 4000}, "dram_banks is 4000, expected 1 to 64"),
        ({"l1_unreserved_base": 1 << 24}, "its reserved regions leave no memory"),
        ({"l1_size": 1 << 20, "l1_unreserved_base": 1 << 20}, "its reserved regions leave no memory"),
        ({"dram_unreserved_base": 1 << 20, "dram_unreserved_end": 1 << 20}, "its reserved regions leave no memory"),
        ({"dram_unreserved_base": 1 << 21, "dram_unreserved_end": 1 << 20}, "its reserved regions leave no memory"),
        ({"grid": (8, 0)}, "its grid is 8 x 0, expected 1 to 64 rows and columns"),
        ({"grid": (65, 8)}, "its grid is 65 x 8, expected 1 to 64 rows and columns"),
        ({"grid": (8, 65)}, "its grid is 8 x 65, expected 1 to 64 rows and columns"),
        *(
            case
            for name, (least, most) in RANGES.items()
            for case in (
                ({name: least - 1}, f"{name} is {least - 1}, expected {least} to {most}"),
                ({name: most + 1}, f"{name} is {most + 1}, expected {least} to {most}"),
            )
            if case[0][name] > 0  # the library leaves out a field that is 0
        ),
        ({"chips": 0}, r"its system refers to chips \[\], expected indices of its 1 chips"),
        ({"chips": 257}, "it has 257 chips, expected at most 256"),
        ({"flags": 3}, "it has capabilities of 3 chips, expected 1"),
        ({"chips": 2, "channels": [(0, 2)]}, "a channel joins chips 0 and 2, expected two of its 2 chips"),
        ({"chips": 2, "channels": [(1, 1)]}, "a channel joins chips 1 and 1, expected two of its 2 chips"),
    ],
)
def test_what_no_chip_has_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, description("p150", **changes))
    with pytest.raises(SystemDescriptionError, match=reason) as caught:
        load_target(str(path))
    assert str(path) in str(caught.value)


def test_a_byte_of_memory_is_enough(tmp_path: Path) -> None:
    regions = {"dram_unreserved_base": 1 << 20, "dram_unreserved_end": (1 << 20) + 1, "l1_size": 1 << 20}
    path = written(tmp_path, description("p150", l1_unreserved_base=(1 << 20) - 1, grid=(64, 64), **regions))
    assert load_target(str(path)).grid == (64, 64)


def test_files_that_are_no_description(tmp_path: Path) -> None:
    with pytest.raises(SystemDescriptionError, match="No such file"):
        load_target(str(tmp_path / "absent.ttsys"))
    with pytest.raises(SystemDescriptionError, match="lacks the identifier TTSY"):
        load_target(str(written(tmp_path, b"TTNN" * 40)))


@given(st.data())
def test_altered_descriptions_are_systems_or_errors(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    original = bytearray(description("n300-llmbox"))
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(original) - 1), st.integers(0, 255)), max_size=4)
    ):
        original[place] = value
    cut = data.draw(st.integers(0, len(original)))
    path = tmp_path_factory.mktemp("altered") / "system.ttsys"
    path.write_bytes(original[:cut] if data.draw(st.booleans()) else original)
    try:
        target = load_target(str(path))
    except SystemDescriptionError:
        return
    assert 1 <= target.cores <= 64 * 64
    assert all(0 <= chip < target.chips for link in target.links for chip in link.chips)


MODULE = """
func.func @main(%a: tensor<32x32xbf16>) -> (tensor<32x32xbf16>, tensor<32xi32>) {
  %0 = stablehlo.add %a, %a : tensor<32x32xbf16>
  %1 = stablehlo.iota dim = 0 : tensor<32xi32>
  return %0, %1 : tensor<32x32xbf16>, tensor<32xi32>
}
"""


def test_a_compile_only_process_computes_zeros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TT_COMPILE_ONLY_SYSTEM_DESC", str(written(tmp_path, description("p150", grid=(9, 8)))))
    device = get_device()
    assert device.target.name == str(tmp_path / "system.ttsys")
    target = load_target(device.target.name)
    program = compile_module(parse_module(MODULE), CompileOptions.parse({"optimization_level": 2}), target)
    loaded = device.load(program)
    ones, positions = loaded.run([torch.ones(32, 32, dtype=torch.bfloat16)], [None])
    assert (ones.dtype, positions.dtype) == (torch.bfloat16, torch.int32)
    assert not ones.any()
    assert not positions.any()
    with pytest.raises(ExecutionError):
        loaded.run([torch.ones(31, 32, dtype=torch.bfloat16)], [None])
