"""The Ethernet links between the chips of each system, and the chips that are attached to the host.

Sources: [desc] is ``chip_channels`` of the system descriptor that upstream's compiler (jax-tt-plugin 0.1.3) prints,
[cluster] a cluster descriptor of tenstorrent/tt-metal's tests (``tests/tt_metal/tt_fabric/
custom_mock_cluster_descriptors``), [graph] its ``tt_metal/fabric/mesh_graph_descriptors``. A cluster descriptor counts
all channels, a system descriptor those that programs can use: a chip without PCIe is reached over a channel, and
one of each pair is kept for that.
"""

from __future__ import annotations

from tt_xla.target.target import Link


def links_of(channels: int, pairs: str) -> tuple[Link, ...]:
    """Returns links with equally many channels between pairs of chips, written ``"0-1 1-2"``."""
    chips = (pair.split("-") for pair in pairs.split())
    return tuple(Link((int(first), int(second)), channels) for first, second in chips)


N300 = links_of(1, "0-1")  # [desc]; [cluster] has 2, one leads to the chip without PCIe

N300_LLMBOX = tuple(  # [desc]; chips 4 to 7 have no PCIe
    sorted((*links_of(2, "0-1 0-3 1-2 2-3"), *links_of(1, "0-6 1-5 2-7 3-4 4-7 5-6")))
)

P300 = links_of(2, "0-1")  # [cluster]
P300X2 = links_of(2, "0-1 0-2 1-3 2-3")  # [graph] p300_x2: 2x2 with 2 channels
P150X2 = links_of(4, "0-1")  # [graph] p150_x2: 1x2 with 4 channels
P150X4 = links_of(4, "0-2 0-3 1-2 1-3")  # [cluster]
P150X8 = links_of(2, "0-1 0-2 0-4 1-3 1-5 2-3 2-6 3-7 4-5 4-6 5-7 6-7")  # [cluster]

GALAXY_WH = links_of(  # [cluster] of a 6U Galaxy: an 8x4 grid
    4,
    """
    0-4 0-16 1-5 1-17 2-6 2-18 3-7 3-19 4-8 4-20 5-9 5-21 6-10 6-22 7-11 7-23 8-12 8-24 9-13 9-25 10-14 10-26 11-15
    11-27 12-13 12-28 13-29 14-15 14-30 15-31 16-18 16-20 17-19 17-21 18-22 19-23 20-22 20-24 21-23 21-25 22-26 23-27
    24-26 24-28 25-27 25-29 26-30 27-31 28-29 28-30 29-31 30-31
    """,
)

GALAXY_BH = links_of(  # [cluster]: an 8x4 torus, and more; it has 4 channels for 7-31 and 15-23, as no other pair has
    2,
    """
    0-1 0-4 0-8 0-24 1-2 1-5 1-9 2-3 2-6 2-10 2-26 3-7 3-11 3-27 4-5 4-12 4-28 5-6 5-13 6-7 6-14 6-30 7-15 7-31 8-9
    8-12 8-16 9-10 9-13 10-11 10-14 10-18 11-15 11-19 12-13 12-20 13-14 14-15 14-22 15-23 16-17 16-20 16-24 17-18 17-21
    17-25 18-19 18-22 18-26 19-23 19-27 20-21 20-28 21-22 21-29 22-23 22-30 23-31 24-25 24-28 25-26 25-29 26-27 26-30
    27-31 28-29 29-30 30-31
    """,
)
