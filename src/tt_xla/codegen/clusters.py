"""Cluster descriptions with which TT-NN's mock mode replaces the cards of a machine.

Sources: p300 and p150x4 follow the descriptions in tt-metal's tests (``tests/tt_metal/tt_fabric/
custom_mock_cluster_descriptors``): links, harvested parts and boards. Every chip but that of p150-10x13 has two
columns of cores harvested, as on the cards that are sold: 120 cores, of which programs see 110.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class _Cluster:
    """The chips of a machine."""

    board: str
    harvested: tuple[tuple[int, int], ...]
    """Masks of the harvested columns of cores and of the harvested PCIe cores, for each chip."""
    boards: tuple[tuple[int, ...], ...]
    """Chips of each board."""
    buses: tuple[int, ...]
    """PCIe bus of each chip, from which TT-NN computes the board's slot."""
    links: tuple[str, ...] = ()
    """Linked Ethernet channels, ``chip:channel-chip:channel``."""


def _links(first: int, second: int, channels: range) -> tuple[str, ...]:
    """Returns links between two chips that have the same channels at both ends."""
    return tuple(f"{first}:{channel}-{second}:{channel}" for channel in channels)


_CLUSTERS = {
    "p150": _Cluster("p150", ((3, 2),), ((0,),), (0x01,)),
    "p150-10x13": _Cluster("p150", ((0, 2),), ((0,),), (0x01,)),
    "p300": _Cluster("p300", ((8320, 2), (272, 1)), ((0, 1),), (0x01, 0x02), ("0:2-1:9", "0:3-1:8")),
    "p150x4": _Cluster(
        "p150",
        ((192, 2),) * 4,
        ((0,), (1,), (2,), (3,)),
        (0x01, 0x41, 0x42, 0xC1),
        (
            *(*_links(0, 2, range(4, 8)), *_links(0, 3, range(8, 12))),
            *(*_links(1, 3, range(4, 8)), *_links(1, 2, range(8, 12))),
        ),
    ),
}

SYSTEMS = tuple(_CLUSTERS)
"""Systems that mock mode knows."""


def description(system: str) -> str:
    """Returns the cluster description of a system, as YAML.

    Args:
        system: one of :data:`SYSTEMS`.
    """
    cluster = _CLUSTERS[system]
    chips = range(len(cluster.harvested))
    lines = [f"arch: {{{', '.join(f'{chip}: blackhole' for chip in chips)}}}", "chips: {}"]
    lines += [f"chip_unique_ids: {{{', '.join(f'{chip}: {chip + 1}' for chip in chips)}}}"]
    lines += ["ethernet_connections:" if cluster.links else "ethernet_connections: []"]
    for link in cluster.links:
        ends = (end.split(":") for end in link.split("-"))
        lines.append(f"  - [{', '.join(f'{{chip: {chip}, chan: {channel}}}' for chip, channel in ends)}]")
    lines += ["ethernet_connections_to_remote_devices: []", "chips_with_mmio:"]
    lines += [f"  - {chip}: {chip}" for chip in chips]
    lines += ["io_device_type: PCIe", "harvesting:"]
    lines += [
        f"  {chip}: {{noc_translation: true, harvest_mask: {cores}, dram_harvesting_mask: 0, eth_harvesting_mask: 288, "
        f"pcie_harvesting_mask: {pcie}, l2cpu_harvesting_mask: 0}}"
        for chip, (cores, pcie) in enumerate(cluster.harvested)
    ]
    buses = [f'{chip}: "0x{bus:02x}"' for chip, bus in enumerate(cluster.buses)]
    lines += [f"chip_to_bus_id: {{{', '.join(buses)}}}", "boards:"]
    for number, board in enumerate(cluster.boards):
        numbers = ", ".join(map(str, board))
        identity = 4402341478400 + number
        lines.append(f"  - [{{board_id: {identity}}}, {{board_type: {cluster.board}}}, {{chips: [{numbers}]}}]")
    locations = {chip: place for board in cluster.boards for place, chip in enumerate(board)}
    lines.append(f"asic_locations: {{{', '.join(f'{chip}: {locations[chip]}' for chip in chips)}}}")
    places = [f'{chip}: "0000:{bus:02x}:00.0"' for chip, bus in enumerate(cluster.buses)]
    lines.append(f"chip_pci_bdfs: {{{', '.join(places)}}}")
    return "\n".join(lines) + "\n"
