"""The orders that only a user gives about sessions: `supervisor goal`, `retry` and `forget`."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from sidecar.cli.link import SESSION_OPTION, call_sidecar, session_reference
from sidecar.cli.printing import echo, echo_json, in_shell
from sidecar.cli.status import status
from sidecar.hosts.shared import AGENT_VARIABLES, PROXIED_MARKER, WORKER_MARKER
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.orders import CLEAR_WORDS, GOAL_WORDS, Order, goal_order, hold_order, parse_order
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.forgetting import ForgetRequest
from sidecar.systems.supervision.people import OrderPermission, OrderRequest, SessionReport

IN_AGENT_SHELLS = (*AGENT_VARIABLES, WORKER_MARKER, PROXIED_MARKER)
"""Environment variables that are set in an agent's shell."""


class DefaultSet(click.Group):
    """A group in which what is no command sets a goal, or does what the word does in a host."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        if ctx.resilient_parsing:  # a shell completes what is half typed
            return super().parse_args(ctx, args)
        if not args:
            args = ["status"]
        elif len(args) == 1 and args[0].lower() in CLEAR_WORDS:
            args = ["clear"]
        elif args[0] not in known and not (len(args) == 1 and get_close_matches(args[0], known)):
            args = ["set", *args]
        return super().parse_args(ctx, args)


@click.group(cls=DefaultSet)
def goal() -> None:
    """Set a goal: supervisor goal "all tests pass". Or show, clear, pause or resume it.

    What is none of the commands below is the condition of a new goal, as of `supervisor goal set`.
    """


goal.add_command(status)


@goal.command(name="set")
@SESSION_OPTION
@click.option("--check", "checks", multiple=True, help="A command that must exit with 0. May be repeated.")
@click.option("--max-minutes", type=click.IntRange(min=1), help="Minutes that the agent may be at work.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Uncached input plus output tokens.")
@click.argument("condition", nargs=-1, required=True)
def set_(
    session: str,
    checks: tuple[str, ...],
    max_minutes: int | None,
    max_tokens: int | None,
    condition: tuple[str, ...],
) -> None:
    """Set or replace the goal, as /supervisor:goal does. The next prompt in the host starts the work."""
    words = " ".join(condition).strip()
    if words.lower() in GOAL_WORDS:
        raise click.UsageError(f"{words!r} is no condition. Example: supervisor goal all tests pass")
    seconds = max_minutes * 60 if max_minutes else None
    terms = GoalTerms(condition=words, checks=checks, max_seconds=seconds, max_tokens=max_tokens)
    try:
        _send_order(session, goal_order(terms))
    except CommandRefusal as refusal:
        raise click.ClickException(in_shell(str(refusal))) from refusal


def _make_goal_command(name: str, about: str) -> Callable[..., Any]:
    @goal.command(name=name, help=about)
    @SESSION_OPTION
    def verb(session: str) -> None:
        _send_order(session, Order(name="goal", word=name))

    return verb


clear = _make_goal_command("clear", "Clear the goal.")
pause = _make_goal_command("pause", "Pause the goal: stops are left alone.")
resume = _make_goal_command("resume", "Go on with a paused, stalled or unverified goal.")
unhold = _make_goal_command("unhold", "Let what you took back by hold be asked for again.")


@goal.command()
@SESSION_OPTION
@click.argument("reason", nargs=-1, required=True)
def hold(session: str, reason: tuple[str, ...]) -> None:
    """Take back what the last stop was sent back for: it is not asked again while the files stay so."""
    _send_order(session, hold_order(" ".join(reason)))


@click.command()
@SESSION_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the budget as one JSON object for a script.")
@click.argument("number", required=False, default="")
def retry(session: str, number: str, *, as_json: bool) -> None:
    """Show or set the budget of continuations, 1 to 100."""
    if number or not as_json:
        _send_order(session, parse_order("retry", number), silent=as_json)
    if as_json:
        report = call_sidecar("report", session_reference(session), SessionReport)
        if report.budget is None:
            raise click.ClickException(report.text)
        echo_json(report.budget)


def agent_shell_marker() -> str:
    """The variable that shows that the command runs in an agent's shell; "" in a person's shell."""
    return next((name for name in IN_AGENT_SHELLS if os.environ.get(name)), "")


def refuse_agents(*, noted: bool = False) -> None:
    """Raise ClickException in an agent's shell: goals, budgets, switches and trust are the user's (law 9).

    `noted`: the log says that it was permitted here; where the sidecar carries the order out, that notes it.
    """
    refuse_agent_shell()
    client = SidecarClient(user_paths())
    hello = client.greet()
    if hello is None or hello.leaving:
        return  # nobody is at work whom a sidecar watches
    typed = click.get_current_context().command_path.partition(" ")[2]
    asked = OrderPermission(name=typed, folder=str(Path.cwd()) if noted else "")
    if why := client.call("permission", asked, str):
        raise click.ClickException(why)


def refuse_agent_shell() -> None:
    """Raise ClickException where the environment says so; no sidecar is asked."""
    if marker := agent_shell_marker():
        raise click.ClickException(
            f"only the user may do this, and {marker} says that an agent's shell is typing.\n"
            "  - use a terminal of your own\n"
            "  - goals and budgets: in the host, type /supervisor:goal or /supervisor:retry"
        )


def _send_order(session: str, order: Order, *, silent: bool = False) -> None:
    refuse_agents()
    asked = OrderRequest(who=session_reference(session), order=order, environment=dict(os.environ))
    reply = call_sidecar("order", asked, CommandReply)
    if reply.refused:
        raise click.ClickException(in_shell("\n".join(reply.lines)))
    if not silent:
        echo(in_shell("\n".join(reply.lines)))


@click.command()
@click.argument("session", default="")
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="All before this day, such as 2026-11-01.")
def forget(session: str, before: dt.datetime | None) -> None:
    """Remove what is stored of SESSION (an ID, or HOST:ID), or what is older than a day.

    Its events, state, journal, kept stops, and how its project looked when its goal began. This cannot be
    taken back.
    """
    if bool(session) == (before is not None):
        raise click.UsageError("name either a session or --before DATE")
    refuse_agents()
    at = before.astimezone().timestamp() if before is not None else None
    echo(call_sidecar("forget", ForgetRequest(session=session, before=at), str))
