"""Finds where a program's results on the emulated card differ from float32 on the CPU, and why.

The program is StableHLO. ``modules`` cuts it into parts, ``runs`` runs a part on both, ``parts`` compares each part,
``instructions`` compares TTNN instructions, ``bisect`` measures the contribution of rewrites and number formats, and
``reproducer`` writes a part to files.
"""

from tt_xla.testing.divergence.runs import check_module

__all__ = ["check_module"]
