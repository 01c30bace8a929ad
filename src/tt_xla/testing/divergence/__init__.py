"""Where a program's results on the emulated card part from float32 on the CPU, and why.

The program is StableHLO. ``modules`` cuts it into parts, ``runs`` runs a part on both, ``parts`` compares each part,
``bisect`` tries what a fusion or a number format contributes, ``reproducer`` writes one part down.
"""

from tt_xla.testing.divergence.runs import check_module

__all__ = ["check_module"]
