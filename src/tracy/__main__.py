"""The command ``python -m tracy``; ``--help`` describes it."""

from tt_xla.tools.cli import run_command
from tt_xla.tools.profile_command import profile_command

run_command(profile_command, "python -m tracy")
