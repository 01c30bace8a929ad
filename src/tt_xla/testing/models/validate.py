"""Checks files of expectations outside pytest: ``python tests/runner/validate_test_config.py``."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tt_xla.testing.models import collection


def command(beside: Path) -> click.Command:
    """Returns the command, which prints errors and warnings and exits with status 1 if there are errors.

    Args:
        beside: folder of tests that may have a folder ``test_config``.
    """

    @click.command()
    @click.option("--models-root", help="Folder with loaders (default third_party/tt_forge_models, or models).")
    @click.option("--test-config", "folders", multiple=True, help="Folder with test_config_*.yaml files.")
    def validate(models_root: str | None, folders: tuple[str, ...]) -> None:
        """Check files of expectations against the loaders."""
        try:
            suite = collection.read_suite(models_root, folders, Path.cwd(), beside)
        except pytest.UsageError as error:
            raise click.UsageError(str(error)) from error
        lines, valid = collection.validation(suite)
        click.echo("\n".join(lines))
        click.echo("VALIDATION PASSED" if valid else "VALIDATION FAILED")
        raise SystemExit(int(not valid))

    return validate
