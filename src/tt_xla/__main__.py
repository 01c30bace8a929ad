"""``python -m tt_xla`` is the ``tt-xla`` command."""

from tt_xla.tools.cli import main

if __name__ == "__main__":
    main()
