"""The commands ``python -m tracy`` and ``tracy``; ``--help`` describes them."""

from tt_xla.tools.cli import run_command
from tt_xla.tools.profile_command import profile_command


def main() -> None:
    """Runs the profiler with the arguments of the process."""
    run_command(profile_command, "python -m tracy")


if __name__ == "__main__":
    main()
