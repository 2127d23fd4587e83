"""`supervisor lsp`: tells an editor, or an agent's host, what is wrong with a rubric while it is written."""

from __future__ import annotations

import os
import sys

import click

from sidecar import __version__


@click.command()
@click.option("--stdio", is_flag=True, help="What is done anyway; some editors say so.")
def lsp(*, stdio: bool) -> int:  # noqa: ARG001 - there is one way
    """Be the language server of rubrics, over stdin and stdout. Editors start it.

    It speaks of the rubrics that can come into force, and of no other Markdown file.
    """
    if sys.stdin.isatty():
        raise click.UsageError("an editor starts this, and speaks the Language Server Protocol with it")
    return _served()


def _served() -> int:
    """What is imported here is heavy, and of no use to a terminal."""
    from sidecar.adapters.paths import of_user  # noqa: PLC0415 - see above
    from sidecar.adapters.plugin import plugin_root  # noqa: PLC0415 - see above
    from sidecar.adapters.rubric_desk import RubricDesk  # noqa: PLC0415 - see above
    from sidecar.servers.rubric_language import serve  # noqa: PLC0415 - see above

    desk = RubricDesk(plugin_root() / "rubric" / "rubric.md", os.environ, of_user().state)
    return serve(desk, __version__)
