"""Speeds of a target in microseconds per unit of work, and tensors as amounts of work."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.target import MeshAxis, Target, arrange

TILE_BYTES: dict[str, int] = {dtype.value: dtype.tile_bytes for dtype in DataType}
ELEMENT_BYTES: dict[str, int] = {d.value: d.element_bytes for d in DataType if not d.is_block_float}
TILE_ELEMENTS = 1024
WORD_BYTES = 4
"""Bytes that one store of a data-movement core writes."""

FIDELITIES = ("lofi", "hifi2", "hifi3", "hifi4")

HOST, DRAM, L1, SHARDED = range(4)
"""Places of a tensor: host memory, DRAM, interleaved in L1, sharded in L1."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Sizes and speeds of a target. Times are in microseconds."""

    cores: int
    rows: int
    columns: int
    cycle_us: float
    dram: float
    """us per byte of the whole chip."""
    sharded: float
    """us per byte of the whole chip, for weights sharded over the DRAM banks."""
    banks: int
    """Number of DRAM banks."""
    stream: float
    """us per byte of one core that goes through pages one by one."""
    block: float
    """us per byte of one core that reads many pages of DRAM at a time."""
    blocks: float
    """us per byte of one core that reads blocks of an operand of a product from DRAM."""
    local: float
    """us per byte that a core copies within its own L1 or from another core's."""
    multicast: float
    """us per byte that a core receives by multicast."""
    linked: float
    """us per byte that a core receives by multicasts that follow each other on one path."""
    written: float
    """us per byte of the whole chip, for results that products write to DRAM."""
    l1_bytes: int
    """Bytes of a core's L1 that circular buffers may fill."""
    unpack: float
    """us per byte that a core unpacks."""
    pack: float
    """us per byte that a core packs."""
    unpack_left: float
    """us per byte that a core unpacks of the left operand of products."""
    unpack_right: float
    """us per byte that a core unpacks of the right operand of products."""
    busy_clock: float
    """Part of the nominal clock at which :attr:`tile_product` was measured, while all matrix units worked."""
    tile_product: Mapping[str, float]
    """us per product of two 32x32 tiles on one core, by math fidelity."""
    sfpu: Mapping[str, float]
    """us per tile on one core's vector unit, by op."""
    wait: float
    """us that a core waits for a page after its request."""
    arrival: float
    """us per byte of a page that a core waits for."""
    fill: float
    """us for one tile in L1 written word by word."""
    launch: float
    """us to launch an op."""
    launch_core: float
    """us to launch an op, for each core that it uses."""
    launch_local: float
    """us to launch a program that only copies from or to shards in L1."""
    gap_traced: float
    """us between two ops of a trace."""
    gap_untraced: float
    """us between two ops that the host enqueues."""
    to_device: float
    """us per byte from host to device."""
    from_device: float
    """us per byte from device to host."""
    transfer: float
    """us per transfer between host and device."""
    hop: float
    """us that a packet takes from one chip to the next."""
    link_bandwidth: float
    """Bytes per us of one channel between chips, in each direction."""
    sender_bandwidth: float
    """Bytes per us that a chip feeds into one channel from its own tensors."""
    links: int
    """Channels between neighbours on a line of all chips, whose weakest link counts; 1 without links."""
    axes: tuple[MeshAxis, ...] = ()
    """Links along the axes of the mesh that runs the program; empty for one chip."""


def _of(target: Target) -> Rates:
    cycle_us = 1e6 / target.clock_hz
    products = {
        name: 32**3 / (target.macs_per_cycle[name] * target.matrix_efficiency[name]) * cycle_us for name in FIDELITIES
    }
    return Rates(
        cores=target.cores,
        rows=target.grid[0],
        columns=target.grid[1],
        cycle_us=cycle_us,
        dram=1e6 / target.dram_achieved_bytes_per_second,
        sharded=1e6 / target.dram_sharded_bytes_per_second,
        banks=target.dram_banks,
        stream=cycle_us / target.stream_bytes_per_cycle,
        block=cycle_us / target.dram_core_bytes_per_cycle,
        blocks=cycle_us / target.dram_block_bytes_per_cycle,
        local=cycle_us / target.noc_bytes_per_cycle,
        multicast=cycle_us / target.noc_multicast_bytes_per_cycle,
        linked=cycle_us / target.noc_linked_bytes_per_cycle,
        written=1e6 / target.dram_products_bytes_per_second,
        l1_bytes=target.l1_usable_bytes,
        unpack=cycle_us / target.unpack_bytes_per_cycle,
        pack=cycle_us / target.pack_bytes_per_cycle,
        unpack_left=cycle_us / target.product_unpack_bytes_per_cycle[0],
        unpack_right=cycle_us / target.product_unpack_bytes_per_cycle[1],
        busy_clock=target.busy_clock,
        tile_product=products,
        sfpu={op: cycles * cycle_us for op, cycles in target.sfpu_cycles.items()},
        wait=target.page_wait_us,
        arrival=cycle_us / target.stream_page_bytes_per_cycle,
        fill=target.scalar_fill_cycles * cycle_us,
        launch=target.launch_us,
        launch_core=target.launch_core_us,
        launch_local=target.launch_local_us,
        gap_traced=target.gap_us_traced,
        gap_untraced=target.gap_us_untraced,
        to_device=1e6 / target.host_to_device_bytes_per_second,
        from_device=1e6 / target.device_to_host_bytes_per_second,
        transfer=target.host_transfer_us,
        hop=target.ethernet_hop_us,
        link_bandwidth=target.ethernet_bytes_per_second / 1e6,
        sender_bandwidth=target.ethernet_sender_bytes_per_second / 1e6,
        links=min((link.channels for link in target.links), default=1),
    )


_cache: dict[int, tuple[Target, Rates]] = {}


def set_rates(target: Target, rates: Rates) -> None:
    """Replaces the rates of a target, as a calibration does to compare constants."""
    _cache[id(target)] = (target, rates)


_mesh_cache: dict[tuple[int, Mesh], tuple[Rates, Rates]] = {}


def rates_of(target: Target, mesh: Mesh | None = None) -> Rates:
    """Returns the rates of a target, computed once.

    Targets are compared by identity, because hashing their forty fields takes longer than the cost of an op.

    Args:
        target: the system.
        mesh: the chips of the system that run the program; None for one chip.

    Raises:
        MeshError: the system cannot form the mesh.
    """
    if mesh is not None:
        return _with_mesh(target, mesh)
    entry = _cache.get(id(target))
    if entry is None:
        if len(_cache) > 64:
            _cache.clear()
        entry = _cache[id(target)] = (target, _of(target))  # the target is kept, so its id stays its own
    return entry[1]


def _with_mesh(target: Target, mesh: Mesh) -> Rates:
    """Returns the rates of a target with the links along the axes of a mesh."""
    plain = rates_of(target)
    entry = _mesh_cache.get((id(plain), mesh))
    if entry is None:
        if len(_mesh_cache) > 64:
            _mesh_cache.clear()
        rates = dataclasses.replace(plain, axes=arrange(target, mesh.shape, mesh.devices).axes)
        entry = _mesh_cache[id(plain), mesh] = (rates, plain)  # the plain rates are kept, so their id stays their own
    return entry[0]


class Work:
    """The work of moving one tensor: its pages, bytes, place and number of cores."""

    __slots__ = ("bytes", "cores", "page", "pages", "place", "shards", "tiled", "tiles", "uneven")

    def __init__(self, layout: TensorLayout) -> None:
        first, second = layout.shard
        memory = layout.memory
        if layout.tiled:
            pages = first * second
            page = TILE_BYTES[layout.dtype]
            tiles: float = pages
        else:
            pages = first
            page = second * ELEMENT_BYTES[layout.dtype]
            tiles = first * second / TILE_ELEMENTS
        cores = 0
        buffer = layout.buffer
        if buffer is BufferType.SYSTEM_MEMORY:
            place = HOST
        elif memory is not None and memory is not MemoryLayout.INTERLEAVED:
            cores = layout.grid[0] * layout.grid[1]
            pages *= cores
            tiles *= cores
            place = SHARDED if buffer is BufferType.L1 else DRAM
        else:
            place = L1 if buffer is BufferType.L1 else DRAM
        self.uneven = False
        """Whether a kernel fetches pages of the shards one by one, as from an interleaved tensor."""
        self.pages = pages
        self.page = page
        self.tiles = tiles
        self.bytes = pages * page
        self.place = place
        self.tiled = layout.tiled
        self.cores = cores if place == SHARDED else 0
        """Cores of a tensor sharded in L1, else 0."""
        self.shards = (memory, layout.grid, layout.shard) if self.cores else None
        """Kind of sharding, grid and shard; equal for two tensors with the same parts on the same cores."""
