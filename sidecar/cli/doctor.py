"""`supervisor doctor`: checks every link of the chain; each line says what to type where one is broken."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from rich.console import Console

from sidecar import __version__
from sidecar.adapters.client import Hello, SidecarError
from sidecar.adapters.judges.chain import RULES, build_judge
from sidecar.adapters.paths import of_user
from sidecar.adapters.phrasebook import PhrasebookFiles
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.processes import Ending, Finished, find, run
from sidecar.adapters.settings.user_file import ConfigurationFile
from sidecar.app.people import Report, Who
from sidecar.cli.link import ask, greet
from sidecar.policy.status import switch_on

TESTED = ("2.1.197", "2.1.330")
"""Versions of Claude Code that the real-host tests run; older than the first is a warning."""

PROBE = "/supervisor:retry"
"""A typed command that costs no model request: if it is answered, host, hooks, relay and sidecar work."""

PROBE_SECONDS = 60.0


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Line(Struct, frozen=True):
    """One finding. `remedy` is what to type, empty where all is well."""

    level: Level
    what: str
    remedy: str = ""


def ok(what: str) -> Line:
    """All is well."""
    return Line(Level.OK, what)


def warning(what: str, remedy: str) -> Line:
    """It works, but not as it should."""
    return Line(Level.WARNING, what, remedy)


def error(what: str, remedy: str) -> Line:
    """It does not work."""
    return Line(Level.ERROR, what, remedy)


@click.command()
@click.option("--no-probe", is_flag=True, help="Do not start the host for a real hook call.")
def doctor(*, no_probe: bool) -> None:
    """Check runtime, sidecar, plugin, host, hooks, rubric and judge."""
    sys.exit(asyncio.run(_examine(Console(highlight=False), probe=not no_probe)))


async def _examine(console: Console, *, probe: bool) -> int:
    """Check one link after the other.

    The probe comes last, and only where all else is well: without our hooks the model would be asked.
    """
    broken = [_show(console, await _tried(check)) for check in (_runtime, _sidecar, _report, _host)]
    if probe and _claude() and not any(broken):
        broken.append(_show(console, await _hooks()))
    return int(any(broken))


async def _tried(check: Callable[[], Awaitable[list[Line]]]) -> list[Line]:
    try:
        return await check()
    except OSError as trouble:
        place = trouble.filename or of_user().state
        return [error(f"{place} cannot be used: {trouble.strerror or trouble}", f"ls -ld {place}")]


def _show(console: Console, lines: list[Line]) -> bool:
    """Print what was found; whether an error is among it."""
    for line in lines:
        text = f"{line.level:<8}{line.what}" + (f"\n        type: {line.remedy}" if line.remedy else "")
        console.print(text, markup=False, soft_wrap=True, style=STYLES[line.level])
    return any(line.level is Level.ERROR for line in lines)


STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}


async def _runtime() -> list[Line]:
    paths = of_user()
    recorded = paths.recorded_runtime()
    if recorded is None:
        found = error(
            "no runtime is recorded: the hooks have nothing to start", "supervisor install claude-code"
        )
    elif not os.access(recorded, os.X_OK):
        found = error(f"the recorded runtime {recorded} cannot be executed", "supervisor install claude-code")
    else:
        found = ok(f"runtime {recorded} (version {__version__}, Python {sys.version.split()[0]})")
    if paths.state.is_dir() and not os.access(paths.state, os.W_OK):
        return [
            found,
            error(f"the state folder {paths.state} cannot be written", f"chmod u+rwx {paths.state}"),
        ]
    return [found, ok(f"state folder {paths.state}")]


async def _sidecar() -> list[Line]:
    try:
        hello: Hello = await asyncio.to_thread(greet)
    except SidecarError as trouble:
        return [error(f"the sidecar does not answer: {trouble}", f"less {of_user().log}")]
    if hello.version != __version__:
        return [warning(f"the sidecar is version {hello.version}, this is {__version__}", "supervisor stop")]
    return [ok(f"sidecar {hello.version}, process {hello.pid}")]


async def _report() -> list[Line]:
    """What the sidecar itself knows: switches, settings, rubric."""
    try:
        report = await asyncio.to_thread(ask, "report", Who(project=str(Path.cwd())), Report)
    except SidecarError as trouble:
        return [error(f"the sidecar cannot report: {trouble}", "supervisor stop")]
    lines = [warning(f"Supervisor is {report.off}", switch_on(report.off))] if report.off else []
    texts = PhrasebookFiles(plugin_root() / "rubric")
    lines += [warning(trouble, "mend that file") for trouble in (*report.troubles, *texts.problems())]
    lines += [
        warning(f"set aside: {why}", "nothing: the session went on without it") for why in report.set_aside
    ]
    rubric = ok(f"rubric in force: {report.rubric}")
    return [*lines, rubric, _judge()]


def _judge() -> Line:
    """Who would judge a stop of a session that is started here, and why."""
    settings, _ = ConfigurationFile(os.environ).load()
    chosen = build_judge(plugin_root() / "rubric", os.environ).chosen(os.environ, settings)
    if chosen.backend:
        return ok(f"judge: {chosen.backend} ({chosen.why})")
    if settings.judge.backend == RULES:
        return ok(f"judge: rules and gates alone ({chosen.why})")
    return warning(
        f"no judge model: rules and gates decide alone ({chosen.why})",
        "npm install -g @anthropic-ai/claude-code, or see docs/judges.md",
    )


def _claude() -> str:
    return find("claude", os.environ, str(Path.cwd()))


async def _ask_host(*arguments: str, seconds: float, folder: str) -> Finished:
    return await run(
        [_claude(), *arguments], cwd=folder, environment=dict(os.environ), seconds=seconds, separate=True
    )


class _Plugin(Struct, frozen=True):
    id: str = ""
    enabled: bool = False
    version: str = ""


async def _host() -> list[Line]:
    if not _claude():
        return [warning("Claude Code is not on PATH", "npm install -g @anthropic-ai/claude-code")]
    said = await _ask_host("--version", seconds=20, folder=str(Path.cwd()))
    version = said.output.decode(errors="replace").split(" ")[0].strip()
    lines = [
        ok(f"Claude Code {version}")
        if _as_numbers(version) >= _as_numbers(TESTED[0])
        else warning(
            f"Claude Code {version or '?'} is older than what is tested ({TESTED[0]})", "claude update"
        )
    ]
    listed = await _ask_host("plugin", "list", "--json", seconds=30, folder=str(Path.cwd()))
    return [*lines, _installed(listed.output)]


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _installed(listing: bytes) -> Line:
    try:
        plugins = msgspec.json.decode(listing, type=list[_Plugin])
    except msgspec.DecodeError:
        return warning("Claude Code does not list its plugins", "claude plugin list")
    ours = [plugin for plugin in plugins if plugin.id.startswith("supervisor@")]
    if not ours:
        return error("the plugin is not installed in Claude Code", "supervisor install claude-code")
    if not any(plugin.enabled for plugin in ours):
        return error("the plugin is disabled in Claude Code", f"claude plugin enable {ours[0].id}")
    return ok(f"plugin {ours[0].id} {ours[0].version}")


async def _hooks() -> list[Line]:
    """A real call: the host, its hooks, the relay and the sidecar, at no model request."""
    with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as folder:
        said = await _ask_host("-p", PROBE, "--no-session-persistence", seconds=PROBE_SECONDS, folder=folder)
    text = said.output.decode(errors="replace")
    if "budget of" in text:
        return [ok("hooks fire: a typed command was answered by the sidecar, without a model request")]
    if said.ending is Ending.TIMED_OUT:
        return [error("the host did not answer the probe in time", f"claude -p {PROBE}")]
    why = (text or said.errors.decode(errors="replace")).strip()[:200]
    return [error(f"hooks do not fire: {why or 'no answer'}", "supervisor install claude-code")]
