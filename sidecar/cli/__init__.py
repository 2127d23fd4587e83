"""Speaks to a person. Each verb has a file of its own, which is imported when it is needed.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error (its log is named). `goal status
--exit-code` and `gates` have codes of their own, see there.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import traceback
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sidecar import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REFUSED: Final = 1
INTERNAL_ERROR: Final = 70


class Verb(NamedTuple):
    """Where a command is, and what it does in a few words."""

    place: str
    summary: str


VERBS: Final = {
    "install": Verb("sidecar.cli.install:install", "Put Supervisor into a host."),
    "uninstall": Verb("sidecar.cli.install:uninstall", "Take Supervisor out of a host."),
    "demo": Verb("sidecar.cli.demo:demo", "See it work, without a host and without a model."),
    "goal": Verb("sidecar.cli.goal:goal", "Set, show, pause, resume or clear the goal of a session."),
    "retry": Verb("sidecar.cli.goal:retry", "Set or show how often an agent may be sent back."),
    "status": Verb("sidecar.cli.status:status", "Show where a session stands, and why."),
    "gates": Verb("sidecar.cli.gates:gates", "List and run the checks that apply to this folder."),
    "trust": Verb("sidecar.cli.trust:trust", "Approve the commands that a project's files name."),
    "eval": Verb("sidecar.cli.eval:evaluation", "Measure a judge, or a rubric, on stops with a known truth."),
    "rubric": Verb("sidecar.cli.rubric:rubric", "Show, make, check, compare and try rubrics."),
    "lsp": Verb("sidecar.cli.lsp:lsp", "Be the language server of rubrics. Editors start it."),
    "inbox": Verb("sidecar.cli.inbox:inbox", "Take stops as files, from agents that have no hooks."),
    "on": Verb("sidecar.cli.switch:on", "Switch Supervisor on, for a project or for you."),
    "off": Verb("sidecar.cli.switch:off", "Switch Supervisor off, for a project or for you."),
    "doctor": Verb("sidecar.cli.doctor:doctor", "Find out what is wrong."),
    "run": Verb("sidecar.cli.run_loop:run", "Let an agent work in iterations until its goal holds."),
    "tool": Verb("sidecar.cli.tool:tool", "Call a tool of agents yourself, or list them."),
    "toolset": Verb("sidecar.cli.toolset:toolset", "Choose which tools agents are offered."),
    "mcp": Verb("sidecar.cli.mcp:mcp", "Be the pipe to the tools of agents. Hosts start it."),
    "serve": Verb("sidecar.cli.serve:serve", "Be the sidecar. Hosts start it on demand."),
    "stop": Verb("sidecar.cli.serve:stop", "End the sidecar. The next event of a host starts it again."),
}


class LazyGroup(click.Group):
    """A group that imports a verb when it is called, and none to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name].place.partition(":")
        command = getattr(importlib.import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{VERBS[cmd_name].place} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="supervisor")
def main() -> None:
    """Stand beside a coding agent: when it stops, find out what is true, and let it rest or send it back.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error.
    """


def run(arguments: Sequence[str] | None = None, *, serve: Callable[[], int] | None = None) -> int:
    """Run one command and say what went wrong; the exit code. `serve` is what the verb of this name does."""
    try:
        code = main.main(arguments, prog_name="supervisor", standalone_mode=False, obj=serve)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("Aborted.", err=True)
        return REFUSED
    except BrokenPipeError:  # `supervisor status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into an exit code
        return _refused(error) if _expected(error) else _failed(error)
    return code if isinstance(code, int) else 0


def _expected(error: Exception) -> bool:
    """Whether the error says by itself what a person can do."""
    from sidecar.ports import BadInputError  # noqa: PLC0415 - help and usage need none of it

    return hasattr(error, "moves") or isinstance(error, BadInputError | OSError)


def _refused(error: Exception) -> int:
    if os.environ.get("SUPERVISOR_DEBUG"):
        traceback.print_exception(error)
    click.echo(f"supervisor: {error}", err=True)
    for move in getattr(error, "moves", ()):
        click.echo(f"  - {move}", err=True)
    return REFUSED


def _failed(error: Exception) -> int:
    """Write a report that can be pasted as it is, and say where."""
    trace = "".join(traceback.format_exception(error))
    system = f"supervisor {__version__}, Python {platform.python_version()}, {platform.platform()}"
    if os.environ.get("SUPERVISOR_DEBUG"):
        click.echo(trace, err=True)
    click.echo(
        f"supervisor: an internal error ({type(error).__name__}). This is a fault of Supervisor.", err=True
    )
    try:
        click.echo(f"  - report it, with this file: {_report(system + os.linesep * 2 + trace)}", err=True)
    except (OSError, RuntimeError) as unwritten:
        click.echo(
            f"  - its log could not be written ({unwritten}); see it here: SUPERVISOR_DEBUG=1", err=True
        )
    return INTERNAL_ERROR


def _report(text: str) -> str:
    from sidecar.adapters import files, paths  # noqa: PLC0415 - seldom needed

    folders = paths.of_user()
    folders.prepare()
    place = folders.log.with_name("error.log")
    files.write_whole(place, text.encode("utf-8", "replace"))
    return str(place)
