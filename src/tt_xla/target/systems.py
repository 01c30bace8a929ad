"""The known systems, one table each.

Sources: [desc] is the system descriptor that upstream's compiler (jax-tt-plugin 0.1.3) prints as ``ttcore.system_desc``
for this system; [ISA] is tenstorrent/tt-isa-documentation; [GEMM], [DRAM], [CCL] and [CI] are tenstorrent/tt-metal's
tech_reports/GEMM_FLOPS, its DRAM saturation reports, tech_reports/CCLs and the golden figures of its continuous tests;
[PROF] marks profiler files in public repositories. [GEMM], [DRAM], [CCL], [CI] and [PROF] are measured on silicon; any
other figure is documented, not measured.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from types import MappingProxyType
from typing import Any

from tt_xla.errors import SystemDescriptionError
from tt_xla.target import links
from tt_xla.target.description import SUFFIX, read_description
from tt_xla.target.sfpu import sfpu_cycles
from tt_xla.target.target import Link, Target

# One pass of the matrix unit multiplies 8x16 by 16x16 in a cycle; fidelity is the number of passes. [ISA]
_MACS_PER_CYCLE = MappingProxyType({"lofi": 2048.0, "hifi2": 1024.0, "hifi3": 2048.0 / 3.0, "hifi4": 512.0})

_TENSIX: dict[str, Any] = {
    "dst_tiles": 16,  # [desc] dst_physical_size_tiles
    "circular_buffers": 64,  # [desc] num_cbs
    # [desc] also lists f16, bfp_f8, bfp_f4, bfp_f2 and bfp_bf2, which no TT-NN op accepts.
    "data_types": ("f32", "bf16", "bfp_bf8", "bfp_bf4", "u32", "u16", "u8", "si32"),
    "tile_shapes": ((4, 16), (16, 16), (32, 16), (4, 32), (16, 32), (32, 32)),  # [desc]
    "noc_l1_align": 16,  # [desc]
    "l1_small_bytes": 32768,  # Upstream's runtime opens devices with it; TT-NN's mock mode places it at the top.
    "macs_per_cycle": _MACS_PER_CYCLE,
    "pack_bytes_per_cycle": 64.0,  # [ISA] four packers of 16 bytes
}

_WORMHOLE: dict[str, Any] = _TENSIX | {
    "arch": "wormhole_b0",
    "grid": (8, 8),  # [desc]
    "l1_size": 1499136,  # [desc]
    "l1_unreserved_base": 103840,  # [desc]
    "erisc_l1_unreserved_base": 98304,  # [desc]
    "dram_banks": 12,  # [desc]
    "dram_bank_bytes": 1073741824,  # [desc]
    "dram_unreserved_base": 2968640,  # [desc]
    "dram_align": 32,  # [desc]
    "pcie_align": 32,  # [desc]
    "coord_translation_offsets": (18, 18),  # [desc]
    "clock_hz": 1.0e9,  # [ISA]
    # [GEMM] n150: 54.4 of 65.5 TFLOP/s at hifi4, 103.1 of 131 at hifi2, 201.5 of 262 at lofi; hifi3 lies between.
    "matrix_efficiency": MappingProxyType({"lofi": 0.77, "hifi2": 0.79, "hifi3": 0.81, "hifi4": 0.82}),
    "unpack_bytes_per_cycle": 80.0,  # [ISA] both unpackers; [GEMM] bfloat16 at hifi2 takes 51 cycles a tile product
    "sfpu_cycles": sfpu_cycles("wormhole_b0"),
    "dram_peak_bytes_per_second": 288e9,  # [ISA] 12 channels of 24 GB/s
    "dram_achieved_bytes_per_second": 190e9,  # [DRAM] interleaved matmul weights; best micro-benchmark 267e9
    "dram_sharded_bytes_per_second": 240e9,  # [DRAM] Llama's products: 239e9 to 260e9
    # [DRAM] random placement on the NoC of writers: 78e9 to 82e9; [GEMM] 69e9 to 96e9 after computing ends.
    "dram_products_bytes_per_second": 79e9,
    "dram_core_bytes_per_cycle": 22.0,  # [CI] directed read; write 21
    "dram_block_bytes_per_cycle": 22.0,  # the same
    # [GEMM] products of bfloat16 at hifi2 take the math thread 42 and 46 cycles, of bfloat8_b at lofi 21 and 25, with
    # subblocks of 4x2 and 1x8 tiles.
    "product_unpack_bytes_per_cycle": (60.0, 50.0),
    # [GEMM] calls that mostly compute take 1.11 to 1.14 times the math thread's cycles; efficiencies contain it.
    "busy_clock": 0.875,
    "stream_bytes_per_cycle": 6.0,  # [PROF] layer norm of 40 tiles on one core; relu from L1 to L1: 4.7
    "noc_bytes_per_cycle": 28.0,  # [CI] unicast read; write 30
    "noc_multicast_bytes_per_cycle": 14.0,  # [CI] one to all, not linked
    "noc_linked_bytes_per_cycle": 22.0,  # [CI] one to all, linked
    "page_wait_us": 0.5,  # [PROF] 1.24 times Blackhole's, as are the read latencies of both chips' NoC tables
    "stream_page_bytes_per_cycle": 16.0,  # Blackhole's
    "scalar_fill_cycles": 3500.0,  # [PROF] times a scalar 6.4 us, times a tensor 2.8; a store takes 5 [ISA]
    "launch_us": 1.5,  # [PROF] height-sharded matmuls of two products on 2 to 5 cores
    "launch_core_us": 0.005,  # [PROF] intercept of the exp sweep on 64 cores: 1.6 to 2.2
    "launch_local_us": 0.45,  # [PROF] moves of 8 and 18 KB in L1 0.6 and 1.2
    "gap_us_traced": 2.05,  # [CI] kernel to kernel in a trace
    "gap_us_untraced": 4.8,  # [CI] 2.7 to 6.9
    "host_to_device_bytes_per_second": 10.3e9,  # [CI] ttnn buffer write on n300; DMA from pinned memory 24e9
    "device_to_host_bytes_per_second": 9.5e9,  # [CI] ttnn buffer read on n300
    "host_transfer_us": 1.45,  # [CI] latency of a small DMA: 1.05 to 1.45
    "ethernet_bytes_per_second": 12.5e9,  # [CCL] 100 Gbit/s
    "ethernet_sender_bytes_per_second": 6.36e9,  # [CCL] all_gather of two chips
    "ethernet_hop_us": 0.711,  # [CCL] 1D fabric
}

_BLACKHOLE: dict[str, Any] = _TENSIX | {
    "arch": "blackhole",
    "l1_size": 1572864,  # [desc]
    "l1_unreserved_base": 111104,  # [desc]
    "erisc_l1_unreserved_base": 87872,  # [desc]
    "dram_align": 64,  # [desc]
    "pcie_align": 64,  # [desc]
    "coord_translation_offsets": (2, 1),  # [desc]
    "clock_hz": 1.35e9,  # [ISA]
    # [GEMM] p150: 168.6 of 180 TFLOP/s at hifi4, 325 of 359 at hifi2, 641 of 719 at lofi; hifi3 lies between.
    "matrix_efficiency": MappingProxyType({"lofi": 0.88, "hifi2": 0.90, "hifi3": 0.92, "hifi4": 0.94}),
    "unpack_bytes_per_cycle": 120.0,  # [GEMM] bfloat16 at hifi2 takes 36 cycles a tile product
    "sfpu_cycles": sfpu_cycles("blackhole"),
    "dram_core_bytes_per_cycle": 33.0,  # [CI] directed read; write 34
    "dram_block_bytes_per_cycle": 52.0,  # [GEMM] p150, one core reads and sends 32 tiles of bfloat16 in 91 cycles each
    "product_unpack_bytes_per_cycle": (120.0, 120.0),  # [GEMM] no product is bound by it
    "busy_clock": 1.0,  # [GEMM] calls take as long as the math thread, but for the largest
    "stream_bytes_per_cycle": 7.0,  # [PROF] eltwise on 20 cores: 6.4 to 8
    "noc_bytes_per_cycle": 59.0,  # [CI] unicast read and write
    "noc_multicast_bytes_per_cycle": 24.0,  # [CI] one to all, not linked
    "noc_linked_bytes_per_cycle": 39.0,  # [CI] one to all, linked
    # [PROF] rows of 512 bytes copied one by one 537 cycles each, tiles through relu 644, through add 769.
    "page_wait_us": 0.38,
    "stream_page_bytes_per_cycle": 16.0,
    "scalar_fill_cycles": 900.0,  # [PROF] two tiles times a scalar 2.1 us, times a tensor 1.6 us
    "launch_us": 0.24,  # [PROF] with the next: 0.5 on 20 cores, 1.07 on 64; attention on 110 [POL] 2.1
    "launch_core_us": 0.013,
    "launch_local_us": 0.35,  # [PROF] moves of 3 and 13 KB in L1 0.4 and 0.7 to 1.1, on 64 to 110 cores
    "gap_us_traced": 2.07,  # [CI] kernel to kernel in a trace
    "gap_us_untraced": 4.3,  # [CI] 8 kernel groups; the host's own 24 us an op overlap with longer ops
    "host_to_device_bytes_per_second": 21.5e9,  # [CI] ttnn buffer write
    "device_to_host_bytes_per_second": 14.5e9,  # [CI] ttnn buffer read
    "host_transfer_us": 1.45,  # Wormhole's; none is published
    "ethernet_bytes_per_second": 25e9,  # [CCL] 200 Gbit/s, at which links run today; they are rated at 400
    "ethernet_sender_bytes_per_second": 25e9,  # [CCL] all_gather of two chips reaches 95 % of the line rate
    "ethernet_hop_us": 0.515,  # [CCL] 1D fabric
}

_N150: dict[str, Any] = _WORMHOLE | {
    "chips": 1,
    "dram_unreserved_end": 1073118784,  # [desc]
    "dram_bank_workers": (  # [desc] dram_bank_to_logical_worker_noc0; noc1 is the same
        *((7, 3), (0, 0), (4, 0), (5, 0), (0, 4), (3, 7)),
        *((1, 4), (7, 4), (6, 4), (2, 4), (4, 4), (5, 4)),
    ),
}

_N300: dict[str, Any] = _WORMHOLE | {
    "chips": 2,
    "host_chips": (0,),  # [desc]
    "links": links.N300,
    "dram_unreserved_end": 1073162048,  # [desc] of the first chip; the second one has 8640 bytes more
    "dram_bank_workers": (  # [desc] of the first chip
        *((7, 3), (0, 2), (3, 0), (4, 0), (2, 6), (7, 7)),
        *((0, 4), (6, 4), (5, 4), (1, 4), (3, 4), (4, 4)),
    ),
}

_N300_LLMBOX: dict[str, Any] = _WORMHOLE | {
    "chips": 8,
    "host_chips": (0, 1, 2, 3),  # [desc]
    "links": links.N300_LLMBOX,
    "dram_unreserved_end": 1073136064,  # [desc] of the first chip
    "dram_bank_workers": (  # [desc] of the first chip
        *((7, 3), (0, 0), (3, 0), (4, 0), (0, 4), (7, 7)),
        *((2, 6), (6, 4), (5, 4), (1, 4), (3, 4), (4, 4)),
    ),
}

_P150: dict[str, Any] = _BLACKHOLE | {
    "chips": 1,
    "grid": (10, 11),  # [desc]
    "dram_banks": 8,  # [desc]
    "dram_bank_bytes": 4278190080,  # [desc]
    "dram_unreserved_base": 5848704,  # [desc]
    "dram_unreserved_end": 4276523520,  # [desc]
    "dram_bank_workers": ((9, 0), (0, 0), (7, 0), (3, 0), (9, 6), (1, 6), (6, 6), (4, 6)),  # [desc]
    "dram_peak_bytes_per_second": 512e9,  # [ISA] 8 controllers of 64 GB/s
    # [PROF] read by 103 cores of a p100 343e9, added by 110 of them 319e9; concat and slices on p150 343e9.
    "dram_achieved_bytes_per_second": 360e9,
    "dram_sharded_bytes_per_second": 475e9,  # [PROF] four products of a Llama decoder at lofi: 456e9 to 499e9
    # [GEMM] whole calls without the math thread's time, and the last block: 225e9 to 260e9 for results of 2 to 14 MB.
    "dram_products_bytes_per_second": 244e9,
}

# No descriptor of a p100 is public. It is described as a p150 with one DRAM controller less. Reference measurements of
# attention on p100a used 110 cores, which gives the grid. Both cards have the same chip, so its facts are the same too.
_P100: dict[str, Any] = (
    _P150
    | {
        "dram_banks": 7,  # 28 GB, product page
        "dram_bank_workers": _P150["dram_bank_workers"][:7],
        "dram_peak_bytes_per_second": 448e9,  # product page
        "dram_achieved_bytes_per_second": 360e9 * 7 / 8,
        "dram_sharded_bytes_per_second": 475e9 * 7 / 8,
        "dram_products_bytes_per_second": 244e9 * 7 / 8,
    }
)

# A chip none of whose columns of cores is harvested has 140 cores, of which dispatch takes a column. Tenstorrent's
# functional simulator is such a chip.
_P150_WHOLE: dict[str, Any] = _P150 | {"grid": (10, 13)}

# Facts of a chip are those of an n150 or p150 unless a comment says otherwise. Every chip has PCIe.
_GALAXY_WH: dict[str, Any] = _N150 | {
    "chips": 32,
    "links": links.GALAXY_WH,
    "grid": (9, 8),  # No row of cores is harvested (cluster descriptor); dispatch takes one of ten.
}

_GALAXY_BH: dict[str, Any] = _P150 | {
    "chips": 32,
    "links": links.GALAXY_BH,
    "grid": (10, 12),  # One column of cores is harvested (cluster descriptor); dispatch takes another one of 14.
}

SYSTEMS: dict[str, dict[str, Any]] = {
    "n150": _N150,
    "n300": _N300,
    "n300-llmbox": _N300_LLMBOX,
    "galaxy-wh-6u": _GALAXY_WH,
    "p100": _P100,
    "p150": _P150,
    "p150-10x13": _P150_WHOLE,
    "p150x2": _P150 | {"chips": 2, "links": links.P150X2},
    "p150x4": _P150 | {"chips": 4, "links": links.P150X4},
    "p150x8": _P150 | {"chips": 8, "links": links.P150X8},
    "p300": _P150 | {"chips": 2, "links": links.P300},
    "p300x2": _P150 | {"chips": 4, "links": links.P300X2},
    "galaxy-bh": _GALAXY_BH,
}
"""Facts by name of the system; without ``host_chips`` every chip has PCIe, and without ``links`` there is none."""

_VISIBLE = re.compile(r"(?P<system>.*):(?P<chips>\d{1,6}(?:,\d{1,6})*)")
"""Name of a system of which only some chips are visible: ``n300-llmbox:0,1``."""


def system_names() -> tuple[str, ...]:
    """Returns the names of the known systems."""
    return tuple(SYSTEMS)


@functools.cache
def load_target(name: str) -> Target:
    """Returns the facts of a system.

    Args:
        name: name of a known system, or path of a ``.ttsys`` file. Either may be followed by a colon and the numbers
            of the chips that are visible, in the order in which they are numbered then: ``n300-llmbox:2,3``.

    Raises:
        SystemDescriptionError: there is no such system or chip, or the file is no description.
    """
    visible = _VISIBLE.fullmatch(name)
    if visible is not None:
        chips = [int(number) for number in visible["chips"].split(",")]
        return _with_chips(load_target(visible["system"]), chips, name)
    if name.endswith(SUFFIX):
        return read_description(name, [load_target(known) for known in SYSTEMS])
    facts = SYSTEMS.get(name)
    if facts is None:
        near = difflib.get_close_matches(name.lower(), SYSTEMS, n=3)
        hint = f"Did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
        raise SystemDescriptionError(
            f"System '{name}' is unknown.",
            hint=f"{hint}Known are: {', '.join(SYSTEMS)}; TTXLA_SYSTEM or --system selects one.",
        )
    chips = tuple(range(facts["chips"]))
    defaults: dict[str, Any] = {"chip_numbers": chips, "host_chips": chips, "links": ()}
    return Target(name=name, **(defaults | facts))


def _with_chips(target: Target, chips: list[int], name: str) -> Target:
    """Returns a system with some of its chips alone, numbered in the given order.

    Raises:
        SystemDescriptionError: a chip is not there, or is named twice.
    """
    if chips == list(range(target.chips)):
        return target
    absent = [chip for chip in chips if chip >= target.chips]
    if absent or len(set(chips)) < len(chips):
        problem = f"has no chip {absent[0]}" if absent else "cannot show a chip twice"
        numbers = f"numbers from 0 to {target.chips - 1}, each once" if target.chips > 1 else "0 alone"
        raise SystemDescriptionError(
            f"System '{target.name}' {problem}; visible chips are to be {', '.join(map(str, chips))}.",
            hint=f"TT_VISIBLE_DEVICES takes {numbers}.",
        )
    index = {chip: place for place, chip in enumerate(chips)}
    pairs = [([index[chip] for chip in link.chips if chip in index], link.channels) for link in target.links]
    visible_links = [Link((min(pair), max(pair)), channels) for pair, channels in pairs if len(pair) == 2]
    return dataclasses.replace(
        target,
        name=name,
        chips=len(chips),
        chip_numbers=tuple(chips),
        host_chips=tuple(sorted(index[chip] for chip in target.host_chips if chip in index)),
        links=tuple(sorted(visible_links)),
    )
