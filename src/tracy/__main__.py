"""The commands ``python -m tracy`` and ``tracy``; ``--help`` describes them."""

from tt_xla.tools.profile_command import tracy_command
from tt_xla.tools.running import run_command


def main() -> None:
    """Runs the profiler with the arguments of the process."""
    run_command(tracy_command, "python -m tracy")


if __name__ == "__main__":
    main()
