"""The command line, typed in this process."""

from __future__ import annotations

from sidecar import cli


def typed(*words: str) -> int:
    """Type `supervisor WORDS`; its exit code."""
    try:
        return cli.run_command(list(words))
    except SystemExit as ended:
        return int(ended.code or 0)
