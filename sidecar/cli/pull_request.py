"""Opens a pull request for the branch of a loop, through `gh`, when its person says so."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import Final

import click

from sidecar.cli.trust import confirm_at_terminal
from sidecar.kernel.text import one_printable_line
from sidecar.platform.processes import find_program, run_process

SECONDS: Final = 120.0
"""Deadline of a push, and of `gh`."""
REMOTE: Final = "origin"


def open_pull_request(project: str, branch: str, title: str, body: str, *, yes: bool) -> str:
    """Push a branch and open a pull request, unless its person does not want it; return what came of it."""
    push, create = ("git", "push", "--set-upstream", REMOTE, branch), ("gh", "pr", "create", "--head", branch)
    by_hand, refused = f"{shlex.join(push)} && {shlex.join(create)}", ""
    try:
        if not (program := find_program("gh", os.environ, project)):
            refused = "there is no program gh on PATH. Install it, and"
        elif not yes and not confirm_at_terminal(f"Push {branch} to {REMOTE} and open a pull request?"):
            refused = "you do not want it now. Later"
    except click.UsageError as error:
        refused = f"{error.message}, or"
    if refused:
        return f"No pull request: {refused} type: {by_hand}"
    opening = shlex.join((program, *create[1:], "--title", title, "--body-file", "-"))
    line = f"{shlex.join(push)} && {opening}"
    asking = run_process(line, cwd=project, environment=os.environ, seconds=SECONDS, stdin=body.encode())
    done = asyncio.run(asking)
    said = done.reason or done.output.decode("utf-8", "replace").strip()
    return said if done.exit_code == 0 else f"No pull request: {one_printable_line(said)}"
