"""Options that several commands have."""

from __future__ import annotations

from typing import Final

import click

PROJECT: Final = click.option(
    "--project",
    default=".",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Another folder than this one.",
)
