"""Checks files of expectations against the loaders: ``python tests/runner/validate_test_config.py``."""

from pathlib import Path

from tt_xla.testing.models.validate import command

if __name__ == "__main__":
    command(Path(__file__).parent)()
