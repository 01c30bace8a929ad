"""Reduces a failing program to the few ops that fail, as ``tt-xla reduce`` does.

``failures`` says what a failure is, ``trials`` runs a program, ``processes`` runs trials in child processes with
limits, ``graphs`` and ``edits`` make programs smaller, ``reducer`` decides which to try, ``recording`` runs a script in
a child process and keeps its programs, and ``report`` writes the files of a report.
"""

from tt_xla.testing.reduction.api import check, reduce

__all__ = ["check", "reduce"]
