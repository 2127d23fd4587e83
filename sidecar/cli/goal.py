"""`supervisor goal` and `supervisor retry`: the slash commands, typed in a shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

from sidecar.app.people import Order, Report, Who
from sidecar.cli.link import ask
from sidecar.model.effects import Reply
from sidecar.policy.commands import WORDS
from sidecar.policy.status import switch_on

AGENTS = ("CLAUDECODE", "OPENCODE", "SUPERVISOR_WORKER")
"""Variables of an agent's shell."""
HERE = click.option(
    "--session", default="", help="The host's session id; else the one seen last in this folder."
)


def who(session: str) -> Who:
    """The session that is meant."""
    return Who(session=session, project="" if session else os.getcwd())  # noqa: PTH109 - sent as text


@click.group()
def goal() -> None:
    """Show, set, clear, pause or resume the goal of a session."""


@goal.command()
@HERE
@click.option("--exit-code", is_flag=True, help="Exit 0 achieved, 1 not, 2 unverified, 3 no goal.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole report for a script.")
def status(session: str, *, exit_code: bool, as_json: bool) -> None:
    """Where the goal stands."""
    report = ask("report", who(session), Report)
    click.echo(msgspec.json.format(msgspec.json.encode(report)).decode() if as_json else report.text)
    if report.off and not as_json:
        click.echo(f"Supervisor is {report.off}. Type: {switch_on(report.off)}")
    sys.exit(report.exit_code if exit_code else 0)


@goal.command(name="set")
@HERE
@click.option(
    "--check", "checks", multiple=True, help="A command whose exit code must be 0. May be repeated."
)
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
    if not words or words.lower() in WORDS:
        raise click.UsageError(f"{words!r} is no condition. Example: supervisor goal set all tests pass")
    options = [f"--check {_quoted(check)}" for check in checks]
    options += [f"--max-minutes {max_minutes}"] if max_minutes else []
    options += [f"--max-tokens {max_tokens}"] if max_tokens else []
    _order(session, "goal", " ".join([words, *options]))


def _quoted(check: str) -> str:
    """A value in the quotes of /supervisor:goal."""
    escaped = check.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _word(name: str, about: str) -> Callable[..., Any]:
    @goal.command(name=name, help=about)
    @HERE
    def verb(session: str) -> None:
        _order(session, "goal", name)

    return verb


clear = _word("clear", "Clear the goal.")
pause = _word("pause", "Pause the goal: stops are left alone.")
resume = _word("resume", "Go on with a paused, stalled or unverified goal.")


@click.command()
@HERE
@click.argument("number", required=False, default="")
def retry(session: str, number: str) -> None:
    """Show or set the budget of continuations, 1 to 100."""
    _order(session, "retry", number)


def agents_marker() -> str:
    """The variable that says that an agent's shell is typing; "" where a person's is."""
    return next((name for name in AGENTS if os.environ.get(name)), "")


def refuse_agents() -> None:
    """Goals, budgets, switches and trust are the user's (law 9): refuse where an agent's shell types."""
    if marker := agents_marker():
        raise click.ClickException(
            f"only the user may do this, and {marker} says that an agent's shell is typing.\n"
            "  - use a terminal of your own\n"
            "  - goals and budgets: in the host, type /supervisor:goal or /supervisor:retry"
        )


def _order(session: str, name: str, arguments: str) -> None:
    refuse_agents()
    reply = ask("order", Order(who=who(session), name=name, arguments=arguments), Reply)
    click.echo(reply.text, err=reply.refused)
    sys.exit(1 if reply.refused else 0)
