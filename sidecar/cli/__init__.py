"""The command line interface. The module of a command is imported only when that command is called.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error (the message names its log file).
`goal status --exit-code`, `gates` and some other commands have exit codes of their own; see there.
"""

from __future__ import annotations

import importlib
import io
import os
import platform
import sys
import traceback
from typing import TYPE_CHECKING, Final

import click

from sidecar import __version__
from sidecar.cli.printing import echo
from sidecar.kernel.offer import Verb
from sidecar.systems.governance.offer import OFFER as GOVERNANCE
from sidecar.systems.iteration.offer import OFFER as ITERATION
from sidecar.systems.supervision.offer import OFFER as SUPERVISION
from sidecar.systems.taskloop.offer import OFFER as TASKLOOP
from sidecar.systems.tdd.offer import OFFER as TDD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


REFUSED: Final = 1
INTERNAL_ERROR: Final = 70


VERBS: Final = {
    "install": Verb("sidecar.cli.install:install", "Put Supervisor into a host."),
    "uninstall": Verb("sidecar.cli.install:uninstall", "Take Supervisor out of a host."),
    "demo": Verb("sidecar.cli.demo:demo", "See it work, without a host and without a model."),
    **dict(SUPERVISION.verbs),
    **dict(ITERATION.verbs),
    **dict(TDD.verbs),
    **dict(TASKLOOP.verbs),
    **dict(GOVERNANCE.verbs),
    "lsp": Verb("sidecar.cli.lsp:lsp", "Be the language server of rubrics. Editors start it."),
    "doctor": Verb("sidecar.cli.doctor:doctor", "Find out what is wrong."),
    "tool": Verb("sidecar.cli.tool:tool", "Call a tool of agents yourself, or list them."),
    "toolset": Verb("sidecar.cli.toolset:toolset", "Choose which tools agents are offered."),
    "mcp": Verb("sidecar.cli.mcp:mcp", "Be the pipe to the tools of agents. Hosts start it."),
    "serve": Verb("sidecar.cli.serve:serve", "Be the sidecar. Hosts start it on demand."),
    "stop": Verb("sidecar.cli.serve:stop", "End the sidecar. The next event of a host starts it again."),
}


class LazyGroup(click.Group):
    """A group that imports the module of a command when it is called; listing commands imports none."""

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


def run_command(arguments: Sequence[str] | None = None, *, serve: Callable[[], int] | None = None) -> int:
    """Run one command, print its errors, and return the exit code. `serve` implements `supervisor serve`."""
    try:
        code = main.main(arguments, prog_name="supervisor", standalone_mode=False, obj=serve)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        echo(shown.getvalue().rstrip("\n"), err=True)
        return error.exit_code
    except click.Abort:
        echo("Aborted.", err=True)
        return REFUSED
    except BrokenPipeError:  # standard output was closed, as in `supervisor status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into an exit code
        return _show_refusal(error) if _is_expected_error(error) else _show_internal_error(error)
    return code if isinstance(code, int) else 0


def _is_expected_error(error: Exception) -> bool:
    """Whether the message of the error is enough for the user to act on, so that no traceback is needed."""
    from sidecar.kernel.errors import BadInputError  # noqa: PLC0415 - help and usage need none of it

    return hasattr(error, "moves") or isinstance(error, BadInputError | OSError)


def _show_refusal(error: Exception) -> int:
    if os.environ.get("SUPERVISOR_DEBUG"):
        traceback.print_exception(error)
    echo(f"supervisor: {error}", err=True)
    for move in getattr(error, "moves", ()):
        echo(f"  - {move}", err=True)
    return REFUSED


def _show_internal_error(error: Exception) -> int:
    """Write the traceback to a log file that can be attached to a bug report, and print its path."""
    trace = "".join(traceback.format_exception(error))
    system = f"supervisor {__version__}, Python {platform.python_version()}, {platform.platform()}"
    if os.environ.get("SUPERVISOR_DEBUG"):
        echo(trace, err=True)
    echo(f"supervisor: an internal error ({type(error).__name__}). This is a fault of Supervisor.", err=True)
    try:
        echo(f"  - report it, with this file: {_write_error_log(system + os.linesep * 2 + trace)}", err=True)
    except (OSError, RuntimeError) as unwritten:
        echo(f"  - its log could not be written ({unwritten}); see it here: SUPERVISOR_DEBUG=1", err=True)
    return INTERNAL_ERROR


def _write_error_log(text: str) -> str:
    from sidecar.platform import files, paths  # noqa: PLC0415 - seldom needed

    folders = paths.user_paths()
    folders.prepare()
    place = folders.log.with_name("error.log")
    files.write_whole(place, text.encode("utf-8", "replace"))
    return str(place)
