"""The record of facts about one system. Depends on nothing of this project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Target:
    """One system: the facts of each of its chips, which are alike, and how fast they are.

    Sizes are bytes, addresses are bytes from the start of a core's L1 or of a DRAM bank.
    """

    name: str
    arch: str
    """``wormhole_b0`` or ``blackhole``."""
    chips: int
    grid: tuple[int, int]
    """Worker cores that programs see on each chip: rows, columns."""

    l1_size: int
    """Of one core."""
    l1_unreserved_base: int
    """Below it lie firmware, mailboxes and kernel configurations."""
    l1_small_bytes: int
    """At the upper end of L1, which runtimes keep for small tables of convolutions and pooling."""
    erisc_l1_unreserved_base: int
    noc_l1_align: int
    """Alignment of a page or buffer in L1."""

    dram_banks: int
    dram_bank_bytes: int
    dram_unreserved_base: int
    dram_unreserved_end: int
    dram_align: int
    """Alignment of a page or buffer in DRAM."""
    dram_bank_workers: tuple[tuple[int, int], ...]
    """The worker core (row, column) nearest to each DRAM bank, of the first chip."""

    pcie_align: int
    coord_translation_offsets: tuple[int, int]
    dst_tiles: int
    """Tiles of 16-bit elements that the matrix unit's destination register holds."""
    circular_buffers: int
    """Circular buffers a core can have."""
    data_types: tuple[str, ...]
    """Labels of element types, as in IR (``#ttcore.supportedDataTypes<bf16>``)."""
    tile_shapes: tuple[tuple[int, int], ...]

    clock_hz: float
    macs_per_cycle: Mapping[str, float] = field(hash=False)
    """Multiply-accumulates of one core's matrix unit per cycle, by math fidelity (``lofi`` ... ``hifi4``)."""
    matrix_efficiency: Mapping[str, float] = field(hash=False)
    """Part of that rate which large matmuls reach, by math fidelity."""
    sfpu_cycles: Mapping[str, float] = field(hash=False)
    """Cycles one core's vector unit takes for a 32x32 tile, by op name without dialect (``exp``)."""
    unpack_bytes_per_cycle: float
    """What both unpackers of a core read from L1 together."""
    pack_bytes_per_cycle: float
    dram_peak_bytes_per_second: float
    """Of one chip, all banks, as documented."""
    dram_achieved_bytes_per_second: float
    """Of one chip, as well-written kernels on interleaved buffers reach."""
    dram_sharded_bytes_per_second: float
    """Of one chip, as matrix products reach whose weights are cut over the DRAM banks, one reader a bank."""
    dram_core_bytes_per_cycle: float
    """What one core alone reads from DRAM."""
    stream_bytes_per_cycle: float
    """What one core moves, in and out together, when it goes through an interleaved buffer page by page."""
    noc_bytes_per_cycle: float
    """What one core alone sends or receives, from core to core."""
    noc_multicast_bytes_per_cycle: float
    page_wait_us: float
    """From a core's request of a page to its arrival, when it waits for each page before the next."""
    stream_page_bytes_per_cycle: float
    """What a core receives while the bytes of such a page arrive."""
    scalar_fill_cycles: float
    """One tile in L1 written by a data-movement core, word by word: a scalar operand, the ones of a reduction."""
    launch_us: float
    """Fixed part of each kernel's duration: start of the first core, first fetch, last write."""
    launch_core_us: float
    """What each further core adds to that, as cores do not start together."""
    gap_us_traced: float
    """From the end of one op to the start of the next when a trace is replayed."""
    gap_us_untraced: float
    """The same when the host enqueues each op, and keeps ahead of the device."""
    host_to_device_bytes_per_second: float
    device_to_host_bytes_per_second: float
    host_transfer_us: float
    """Fixed part of each transfer between host and device."""

    @property
    def cores(self) -> int:
        """Worker cores of one chip."""
        return self.grid[0] * self.grid[1]

    @property
    def l1_usable_bytes(self) -> int:
        """What tensors and circular buffers of one core can take."""
        return self.l1_end - self.l1_unreserved_base

    @property
    def l1_end(self) -> int:
        """Where tensors in L1 end; they are laid down from here."""
        return self.l1_size - self.l1_small_bytes

    @property
    def dram_bank_usable_bytes(self) -> int:
        """What tensors can take of one bank."""
        return self.dram_unreserved_end - self.dram_unreserved_base

    @property
    def dram_usable_bytes(self) -> int:
        """What tensors can take of one chip, all banks together."""
        return self.dram_banks * self.dram_bank_usable_bytes
