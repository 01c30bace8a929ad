"""Files of expectations held against loaders outside pytest: ``python tests/runner/validate_test_config.py``."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tt_xla.testing.models import collection


def command(beside: Path) -> click.Command:
    """The command of a folder of tests, in which ``test_config`` is looked for.

    It prints each error and warning, and its exit status is 1 where there are errors.
    """

    @click.command()
    @click.option("--models-root", help="Folder with loaders; third_party/tt_forge_models, else models.")
    @click.option("--test-config", "folders", multiple=True, help="Folder with test_config_*.yaml.")
    def validate(models_root: str | None, folders: tuple[str, ...]) -> None:
        """Hold files of expectations against the loaders that they are about."""
        try:
            found = collection.read_suite(models_root, folders, Path.cwd(), beside)
        except pytest.UsageError as error:
            raise click.UsageError(str(error)) from error
        lines, valid = collection.validation(found)
        click.echo("\n".join(lines))
        click.echo("VALIDATION PASSED" if valid else "VALIDATION FAILED")
        raise SystemExit(int(not valid))

    return validate
