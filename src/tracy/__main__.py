"""``python -m tracy``: see ``--help``."""

from tt_xla.tools.cli import run_command
from tt_xla.tools.profile_command import profile_command

run_command(profile_command, "python -m tracy")
