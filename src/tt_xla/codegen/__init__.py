"""Translates Programs into calls of the TT-NN library, for generated source and for running it: one table of calls.

Nothing here imports ``ttnn``; code that needs it runs in another process.
"""

from __future__ import annotations

from pathlib import Path

UTILS = Path(__file__).with_name("utils.py")
"""File of the helper module that generated Python imports."""

HOST_OPS = Path(__file__).with_name("host_ops.py")
"""File of the module that generated Python imports for host ops written as torch code."""

PROGRAMS = Path(__file__).with_name("programs.py")
"""File of the module that generated Python imports when the host runs ops between several programs."""

TTNN_VERSION = "0.81"
"""TT-NN release that the table of calls was checked with."""
