"""The command line interface. The module of a command is imported only when that command is called.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error (the message names its log file).
`goal status --exit-code`, `gates` and some other commands have exit codes of their own; see there.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import platform
import re
import shlex
import sys
import traceback
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from sidecar import __version__
from sidecar.cli.printing import PREFIX, echo
from sidecar.kernel.offer import Section, Verb
from sidecar.systems.governance import OFFER as GOVERNANCE
from sidecar.systems.iteration import OFFER as ITERATION
from sidecar.systems.supervision import OFFER as SUPERVISION
from sidecar.systems.taskloop import OFFER as TASKLOOP
from sidecar.systems.tdd import OFFER as TDD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


REFUSED: Final = 1
INTERNAL_ERROR: Final = 70


VERBS: Final = {
    verb.name: verb
    for verb in (
        Verb("install", "install", "Put Supervisor into a host.", Section.START),
        Verb("upgrade", "install", "Bring the plugin in every host to this version.", Section.START),
        Verb("uninstall", "install", "Take Supervisor out of a host.", Section.START),
        Verb("acp", "acp", "Supervise an agent in an editor that speaks ACP.", Section.START),
        Verb("demo", "demo", "See it work, without a host and without a model.", Section.START),
        *SUPERVISION.verbs,
        *ITERATION.verbs,
        *TDD.verbs,
        *TASKLOOP.verbs,
        *GOVERNANCE.verbs,
        Verb("team", "team", "Share tasks, money and the log with other machines.", Section.ALONE),
        Verb("config", "config", "Show, edit and describe your settings.", Section.PARTS),
        Verb("notify", "notices", "Try the notices that you are sent.", Section.PARTS),
        Verb("lsp", "lsp", "Be the language server of rubrics. Editors start it.", Section.PARTS),
        Verb("doctor", "doctor", "Find out what is wrong.", Section.START),
        Verb("help", "help:help_", "Show the help of a command.", Section.START),
        Verb("completion", "help", "Print what completes commands in a shell.", Section.START),
        Verb("tool", "tool", "Call a tool of agents yourself, or list them.", Section.PARTS),
        Verb("toolset", "tool", "Choose which tools agents are offered.", Section.PARTS),
        Verb("session", "session", "Open a session for any MCP client or script.", Section.PARTS),
        Verb("mcp", "session", "Be the pipe to the tools of agents. Hosts start it.", Section.PARTS),
        Verb("serve", "serve", "Be the sidecar. Hosts start it on demand.", Section.PARTS),
        Verb("stop", "serve", "End the sidecar. The next event of a host starts it again.", Section.PARTS),
    )
}


class LazyGroup(click.Group):
    """A group that imports the module of a command when it is called; listing commands imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        verbs = [CompletionItem(name, help=verb.summary) for name, verb in VERBS.items()]
        found = [item for item in verbs if item.value.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name].place.partition(":")
        name = name or cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"sidecar.cli.{module}"), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{VERBS[cmd_name].place} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        for section in Section:
            with formatter.section(section):
                verbs = VERBS.values()
                formatter.write_dl([(one.name, one.summary) for one in verbs if one.section is section])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="supervisor")
def main() -> None:
    """Stand beside a coding agent: when it stops, find out what is true, and let it rest or send it back.

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 70 an internal error. docs/command-line.md lists
    those of each command.
    """


def run_command(arguments: Sequence[str] | None = None, *, serve: Callable[[], int] | None = None) -> int:
    """Run one command, print its errors, and return the exit code. `serve` implements `supervisor serve`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may know less than UTF-8
    try:
        try:
            code = main.main(arguments, prog_name="supervisor", standalone_mode=False, obj=serve)
        finally:
            if sys.stdout is not None and not sys.stdout.closed:  # by a shell, or the language server
                sys.stdout.flush()
    except click.ClickException as error:
        _show_click_error(error)
        return error.exit_code
    except click.Abort as error:
        from sidecar.cli.signals import INTERRUPTED_CODE  # noqa: PLC0415 - asyncio, which few need

        echo("supervisor: aborted", err=True)
        return INTERRUPTED_CODE if isinstance(error.__cause__, KeyboardInterrupt) else REFUSED
    except BrokenPipeError:  # standard output was closed, as in `supervisor status | head`
        _discard_output()
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the last place that can turn it into an exit code
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _discard_output()
        return _show_refusal(error) if _is_expected_error(error) else _show_internal_error(error)
    return code if isinstance(code, int) else 0


def _show_click_error(error: click.ClickException) -> None:
    """Print a refusal, or a wrong usage with the help to ask for; a group without a command is the help."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    said = _suggest_command(error.message, context) or error.format_message()
    if context is not None and said == context.get_help():
        echo(said, err=True)
        return
    echo(f"supervisor: {said}", err=True)
    if context is not None:
        echo(f"  - see: {context.command_path} --help", err=True)


def _suggest_command(said: str, context: click.Context | None) -> str:
    """Name the nearest command, as click does from 8.4 on for those it knows."""
    wrong = re.match(r"No such command '([^']*)'\.", said)
    if wrong is None or context is None or not isinstance(context.command, click.Group):
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    near = get_close_matches(wrong[1], context.command.list_commands(context), 1)
    return f"{wrong[0]} Did you mean {near[0]!r}?" if near else ""


def _discard_output() -> None:
    """Let what is still to be written to standard output go nowhere, so that no later flush fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_expected_error(error: Exception) -> bool:
    """Whether the message of the error is enough for the user to act on, so that no traceback is needed."""
    from sidecar.kernel.errors import BadInputError, ToolRuleError  # noqa: PLC0415 - help and usage need none of it

    return hasattr(error, "moves") or isinstance(error, BadInputError | ToolRuleError | OSError)


def _show_refusal(error: Exception) -> int:
    if os.environ.get("SUPERVISOR_DEBUG"):
        traceback.print_exception(error)
    said, *moves = _describe_os_error(error) if isinstance(error, OSError) else _describe_rule(error)
    echo(f"supervisor: {said.removeprefix(PREFIX)}", err=True)
    for move in getattr(error, "moves", moves):
        echo(f"  - {move}", err=True)
    return REFUSED


def _describe_os_error(error: OSError) -> tuple[str, ...]:
    """Say what the system refused, where, and what to type."""
    said = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return said, "make room, then type it again"
    if error.filename is not None:
        return f"{error.filename}: {said}", f"see who may use it: ls -ld {shlex.quote(str(error.filename))}"
    if isinstance(error, FileNotFoundError):
        return f"{said}: the current folder is gone", "go to one that is there: cd"
    return said, "see what is wrong: supervisor doctor"


def _describe_rule(error: Exception) -> tuple[str, ...]:
    """Say what a rule forbids, in the words of rubric/, and what to type; else what the error says."""
    from sidecar.kernel.errors import ToolRuleError  # noqa: PLC0415 - seldom needed
    from sidecar.rubric.texts import read_texts  # noqa: PLC0415 - the same

    if not isinstance(error, ToolRuleError):
        return (str(error),)
    texts = read_texts("loop.md", "tools.md", "shell.md")
    return tuple(texts.say(error.rule, **error.values).splitlines())


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
