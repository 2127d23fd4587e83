"""`supervisor run`: an agent, started afresh again and again until its goal holds (docs/run.md)."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from sidecar.adapters.agents.command import CommandAgent
from sidecar.adapters.client import SidecarError
from sidecar.adapters.clock import SystemClock
from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.host_words import WORKER_MARKER, session_id
from sidecar.adapters.paths import Paths, of_user
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import find
from sidecar.adapters.rubric import sections
from sidecar.adapters.runs.hooks import UserHooks
from sidecar.adapters.runs.lock import alone
from sidecar.adapters.runs.overseer import SidecarOverseer
from sidecar.adapters.secrets import SecretForms
from sidecar.adapters.settings.user_file import ConfigurationFile
from sidecar.app.iterations import INTERRUPTED, Crew, Run
from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import ask, greet
from sidecar.cli.run_show import Lines, Show, Story
from sidecar.model.iterations import Asked, Ended
from sidecar.policy.iterations import MOST
from sidecar.policy.run_prompt import prompt, unknown
from sidecar.ports import BadInputError
from sidecar.servers.tools.door import Listing

if TYPE_CHECKING:
    from sidecar.ports import AgentRunner

INTERRUPT: Final = 130
"""The exit code of a run that was interrupted, as of a program that ctrl-c ended."""
TEXT_LIMIT: Final = 1024 * 1024
"""Bytes of a specification or a template."""
LEAVES: Final = ("all", "edits", "none")
"""See adapters.agents.acp_permission.Leave."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Anything(Struct, frozen=True):
    """No parameters."""


class Wish(Struct, frozen=True, kw_only=True):
    """What was typed beside the goal. `leave` is "" for an agent that speaks no protocol."""

    asked: Asked
    command: tuple[str, ...]
    spec: str
    template: str
    leave: str


@click.command()
@click.option("--goal", default="", help="The condition. Without it the session's own goal goes on.")
@click.option(
    "--check", "checks", multiple=True, help="A command whose exit code must be 0. May be repeated."
)
@click.option("--spec", type=click.Path(dir_okay=False), help="A file that says what is to be built.")
@click.option("--max-iterations", type=click.IntRange(1, MOST), help="Agents that may be started in all.")
@click.option("--max-minutes", type=click.IntRange(min=1), help="Minutes that agents may be at work.")
@click.option("--session", default="", help="Go on with this session, or call a new one so.")
@click.option("--template", type=click.Path(dir_okay=False), help="Another prompt than the usual one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each event.")
@click.option("--acp", is_flag=True, help="The agent speaks the Agent Client Protocol.")
@click.option(
    "--leave",
    type=click.Choice(LEAVES),
    default="edits",
    show_default=True,
    help="What an agent with --acp may do that asks first.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(  # noqa: PLR0913 - one for each option
    *,
    goal: str,
    checks: tuple[str, ...],
    spec: str | None,
    max_iterations: int | None,
    max_minutes: int | None,
    session: str,
    template: str | None,
    as_json: bool,
    acp: bool,
    leave: str,
    command: tuple[str, ...],
) -> None:
    """Let an agent work in iterations until its goal holds.

    supervisor run --goal "all tests pass" --check "make test" -- claude -p

    Each iteration starts COMMAND afresh, with a prompt on its standard input (or where it says {prompt}), and
    is judged as any stop of an agent is. Ctrl-c ends it; the same --session goes on.

    Exit codes: 0 achieved, 1 not, 2 unverified, 3 no goal any more, 130 interrupted.
    """
    _refuse_agents()
    asked = Asked(
        session=session_id(session or f"run-{secrets.token_hex(3)}"),
        project=os.getcwd(),  # noqa: PTH109 - sent as text
        goal=goal.strip(),
        checks=checks,
        most=max_iterations,
        minutes=max_minutes,
    )
    folders = of_user()
    wish = Wish(
        asked=asked,
        command=command,
        spec=_text(Path(spec)) if spec else "",
        template=_template(template, folders),
        leave=leave if acp else "",
    )
    if not acp and not _findable(command[0], asked.project):
        raise BadInputError(f"there is no program {command[0]!r} on PATH. Example: -- claude -p")
    greet()
    with alone(folders.run, asked.session), Lines() if as_json else Story() as show:
        os.chdir(folders.run)  # a socket's path may have 108 bytes
        sys.exit(asyncio.run(_until_over(wish, folders, show)))


def _refuse_agents() -> None:
    refuse_agents()
    if os.environ.get(WORKER_MARKER):
        raise click.ClickException("only the user may do this, and this is the shell of an agent of a run")


async def _until_over(wish: Wish, folders: Paths, show: Show) -> int:
    """The exit code. A signal ends the run, which says so; the next one ends what it says."""
    run = Run(_crew(wish, folders, show), wish.asked)
    task = asyncio.create_task(run.run())
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            continue  # nohup, or a script's background job: who started it wants it to live on
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        return (await task).exit_code
    except asyncio.CancelledError:
        detail = f"go on with it: --session {wish.asked.session}"
        show.tell(Ended(outcome=INTERRUPTED, detail=detail, exit_code=INTERRUPT, iterations=run.count))
        return INTERRUPT


def _crew(wish: Wish, folders: Paths, show: Show) -> Crew:
    environment, asked = dict(os.environ), wish.asked
    settings, _ = ConfigurationFile(environment).load()
    mask = SecretForms().masker(environment)
    return Crew(
        overseer=SidecarOverseer(asked.session, asked.project, environment, greet),
        agent=_agent(wish, folders),
        hooks=UserHooks(settings.run.hooks, environment, mask, settings.run.hook_seconds),
        clock=SystemClock(),
        word=partial(prompt, wish.template),
        tell=show.tell,
        hear=show.hear,
        mask=mask,
        environment={**environment, WORKER_MARKER: "1"},
        longest=settings.run.agent_seconds,
        spec=wish.spec,
        extra=settings.run.extra,
    )


def _agent(wish: Wish, folders: Paths) -> AgentRunner:
    if wish.leave:
        from sidecar.adapters.agents import acp, acp_permission  # noqa: PLC0415 - plain commands need none of it

        return acp.AcpAgent(wish.command, acp_permission.Leave(wish.leave), _free_tools())
    return CommandAgent(wish.command, folders.run / f"mcp-{wish.asked.session}.json", _free_tools())


def _free_tools() -> tuple[str, ...]:
    """Our tools that nobody needs to be asked about; none where the sidecar cannot say."""
    with suppress(SidecarError):
        listed = ask("tools", Anything(), tuple[Listing, ...])
        return tuple(one.offer.name for one in listed if one.on and not one.offer.asks)
    return ()


def _findable(name: str, project: str) -> bool:
    """Whether a shell in the project would find it: the user typed it, so it may be the project's own."""
    return bool(find(name, os.environ, "")) or ("/" in name and Path(project, name).is_file())


def _template(given: str | None, folders: Paths) -> str:
    """The user's template, else the usual one. Raises BadInputError."""
    own = folders.config / "run.md"
    if given or own.exists():
        text = _text(Path(given) if given else own)
        if strange := unknown(text):
            raise BadInputError(f"{given or own}: nothing fills in ${', $'.join(strange)}. See docs/run.md")
        return text
    return sections(_text(plugin_root() / "rubric" / "run.md")).get("prompt", "")


def _text(path: Path) -> str:
    """All of a file; raises BadInputError, OSError."""
    try:
        return read_whole(path, TEXT_LIMIT, follow=True).decode("utf-8-sig")
    except (UnfitError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error
