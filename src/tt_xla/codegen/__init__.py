"""Programs as calls of the TT-NN library: one table, for generated source and for running it.

Nothing here imports ``ttnn``; what needs it runs in another process.
"""

from __future__ import annotations

from pathlib import Path

UTILS = Path(__file__).with_name("utils.py")
"""The module of helpers that generated Python imports."""

HOST_OPS = Path(__file__).with_name("host_ops.py")
"""The module that generated Python imports for what the host runs as torch code."""

PROGRAMS = Path(__file__).with_name("programs.py")
"""The module that generated Python imports where the host runs what lies between several programs."""

TTNN_VERSION = "0.81"
"""The release of TT-NN that the table of calls was checked with."""
