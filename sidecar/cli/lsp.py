"""`supervisor lsp`: a language server that shows flaws of a rubric in an editor or an agent's host."""

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
    from sidecar.platform.installation import plugin_root  # noqa: PLC0415 - heavy, and not needed for --help or a wrong usage
    from sidecar.platform.paths import user_paths  # noqa: PLC0415 - see above
    from sidecar.servers.rubric_language.checking import RubricCheck  # noqa: PLC0415 - see above
    from sidecar.servers.rubric_language.server import serve_language_server  # noqa: PLC0415 - see above

    check = RubricCheck(plugin_root() / "rubric" / "rubric.md", os.environ, user_paths().state)
    return serve_language_server(check, __version__)
