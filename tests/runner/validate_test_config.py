"""Checks files of expectations against the loaders: ``python tests/runner/validate_test_config.py``."""

from __future__ import annotations

from pathlib import Path

import click

from tt_xla.errors import OptionError
from tt_xla.testing.models.suite import read_suite


@click.command()
@click.option("--models-root", help="Folder with loaders (default third_party/tt_forge_models, or models).")
@click.option("--test-config", "folders", multiple=True, help="Folder with test_config_*.yaml files.")
def validate(models_root: str | None, folders: tuple[str, ...]) -> None:
    """Check files of expectations against the loaders."""
    try:
        suite = read_suite(models_root, folders, Path.cwd(), Path(__file__).parent)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    click.echo("\n".join(suite.validation()))
    click.echo("VALIDATION FAILED" if suite.errors else "VALIDATION PASSED")
    raise SystemExit(int(bool(suite.errors)))


if __name__ == "__main__":
    validate()
