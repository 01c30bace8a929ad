"""The record of facts about one system. It depends on nothing else in this project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Link(NamedTuple):
    """The Ethernet link between two chips of a system."""

    chips: tuple[int, int]
    """Numbers of the chips, the smaller one first."""
    channels: int
    """Number of Ethernet channels that programs can use at once, each with its own bandwidth."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The facts of a system, whose chips are alike: their resources and their speed.

    Sizes are in bytes; addresses are in bytes from the start of a core's L1 or of a DRAM bank.
    """

    name: str
    arch: str
    """``wormhole_b0`` or ``blackhole``."""
    chips: int
    """Number of chips."""
    chip_numbers: tuple[int, ...]
    """Number of each chip in the entire system; other than 0, 1, 2 ... if only some of its chips are visible."""
    host_chips: tuple[int, ...]
    """Indices of the chips that the host reaches over PCIe; it reaches the others over Ethernet."""
    links: tuple[Link, ...]
    """Links between chips, by their indices; a pair without an entry has none."""
    grid: tuple[int, int]
    """Rows and columns of the worker cores that programs see on each chip."""

    l1_size: int
    """L1 of one core."""
    l1_unreserved_base: int
    """First free address of L1; firmware, mailboxes and kernel configurations lie below it."""
    l1_small_bytes: int
    """Bytes at the upper end of L1 that runtimes reserve for small tables of convolutions and pooling."""
    erisc_l1_unreserved_base: int
    """First free address in the L1 of an Ethernet core."""
    noc_l1_align: int
    """Alignment of a page or buffer in L1."""

    dram_banks: int
    """DRAM banks of one chip."""
    dram_bank_bytes: int
    dram_unreserved_base: int
    """First free address of a bank."""
    dram_unreserved_end: int
    """End of the free addresses of a bank."""
    dram_align: int
    """Alignment of a page or buffer in DRAM."""
    dram_bank_workers: tuple[tuple[int, int], ...]
    """Row and column of the worker core nearest to each DRAM bank of the first chip."""

    pcie_align: int
    """Alignment of a transfer over PCIe."""
    coord_translation_offsets: tuple[int, int]
    """Row and column of the first worker core in translated coordinates."""
    dst_tiles: int
    """Tiles of 16-bit elements that the matrix unit's destination register holds."""
    circular_buffers: int
    """Most circular buffers that a core can have."""
    data_types: tuple[str, ...]
    """Labels of element types, as in the text (``#ttcore.supportedDataTypes<bf16>``)."""
    tile_shapes: tuple[tuple[int, int], ...]
    """Rows and columns of the tiles that the chip supports."""

    clock_hz: float
    """Clock of the cores."""
    macs_per_cycle: Mapping[str, float] = field(hash=False)
    """Multiply-accumulates of one core's matrix unit per cycle, by math fidelity (``lofi`` ... ``hifi4``)."""
    matrix_efficiency: Mapping[str, float] = field(hash=False)
    """Fraction of the rate in :attr:`macs_per_cycle` that large matrix products reach, by math fidelity."""
    sfpu_cycles: Mapping[str, float] = field(hash=False)
    """Cycles that one core's vector unit takes for a 32x32 tile, by op name without dialect (``exp``)."""
    unpack_bytes_per_cycle: float
    """Bytes that both unpackers of a core together read from L1."""
    product_unpack_bytes_per_cycle: tuple[float, float]
    """Bytes of the left and of the right operand that a product unpacks, each of which one unpacker reads from L1."""
    busy_clock: float
    """Part of the clock that remains while the matrix units of all cores work without a pause."""
    pack_bytes_per_cycle: float
    """Bytes that the packers of a core together write to L1."""
    dram_peak_bytes_per_second: float
    """Documented bandwidth of all DRAM banks of one chip."""
    dram_achieved_bytes_per_second: float
    """Bandwidth of one chip that well-written kernels on interleaved buffers reach."""
    dram_sharded_bytes_per_second: float
    """Bandwidth of one chip that products with weights sharded over the DRAM banks reach, if computing is faster."""
    dram_products_bytes_per_second: float
    """Bandwidth of one chip at which the cores that compute a product write its tiles."""
    dram_core_bytes_per_cycle: float
    """Bytes that a single core reads from DRAM."""
    dram_block_bytes_per_cycle: float
    """Bytes that a single core reads from DRAM if it requests blocks of pages at once."""
    stream_bytes_per_cycle: float
    """Bytes that one core moves, in and out together, when it processes an interleaved buffer page by page."""
    noc_bytes_per_cycle: float
    """Bytes that a single core sends to or receives from another core."""
    noc_multicast_bytes_per_cycle: float
    """Bytes that one core sends to many cores at once."""
    noc_linked_bytes_per_cycle: float
    """The same for multicasts that keep their path for the next one, as those of products do."""
    page_wait_us: float
    """Time from a core's request of a page to its arrival, if the core waits for each page before the next."""
    stream_page_bytes_per_cycle: float
    """Bytes that a core receives while such a page arrives."""
    scalar_fill_cycles: float
    """Cycles that a data-movement core takes to fill a tile word by word: a scalar operand, the ones of a reduction."""
    launch_us: float
    """Fixed time of each kernel: start of the first core, first fetch, last write."""
    launch_core_us: float
    """Time that each further core adds to :attr:`launch_us`, because cores do not start at once."""
    launch_local_us: float
    """Fixed time of a kernel without computing whose cores copy from shards in L1."""
    gap_us_traced: float
    """Time between the end of an op and the start of the next one in the replay of a trace."""
    gap_us_untraced: float
    """Time between two ops if the host enqueues each op and stays ahead of the device."""
    host_to_device_bytes_per_second: float
    device_to_host_bytes_per_second: float
    host_transfer_us: float
    """Fixed time of each transfer between host and device."""
    ethernet_bytes_per_second: float
    """Line rate of one channel of a link, in each direction."""
    ethernet_sender_bytes_per_second: float
    """Rate at which a chip feeds its own tensors into one channel."""
    ethernet_hop_us: float
    """Time that a packet takes from one chip to the next."""

    @property
    def cores(self) -> int:
        """Worker cores of one chip."""
        return self.grid[0] * self.grid[1]

    @property
    def l1_usable_bytes(self) -> int:
        """Bytes that tensors and circular buffers of one core can take."""
        return self.l1_end - self.l1_unreserved_base

    @property
    def l1_end(self) -> int:
        """End of the addresses of tensors in L1; the allocator starts here and goes down."""
        return self.l1_size - self.l1_small_bytes

    @property
    def dram_bank_usable_bytes(self) -> int:
        """Bytes that tensors can take in one bank."""
        return self.dram_unreserved_end - self.dram_unreserved_base

    @property
    def dram_usable_bytes(self) -> int:
        """Bytes that tensors can take in all banks of one chip together."""
        return self.dram_banks * self.dram_bank_usable_bytes
