"""`supervisor doctor`: checks every link of the chain; each line says what to type where one is broken."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import click
from rich.console import Console

from sidecar import __version__
from sidecar.adapters.client import Hello, SidecarError
from sidecar.adapters.judges.chain import RULES, build_judge
from sidecar.adapters.paths import of_user
from sidecar.adapters.phrasebook import PhrasebookFiles
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.settings.user_file import ConfigurationFile
from sidecar.app.people import Report, Who
from sidecar.cli import doctor_claude, doctor_opencode
from sidecar.cli.findings import Host, Level, Line, error, ok, warning
from sidecar.cli.link import ask, greet
from sidecar.policy.status import switch_on


@click.command()
@click.option("--no-probe", is_flag=True, help="Do not start the host for a real hook call.")
def doctor(*, no_probe: bool) -> None:
    """Check runtime, sidecar, plugin, host, hooks, tools, rubric and judge."""
    sys.exit(asyncio.run(_examine(Console(highlight=False), probe=not no_probe)))


async def _examine(console: Console, *, probe: bool) -> int:
    """Check one link after the other.

    The tools need a sidecar. Probes come last, and only where all else is well: without our hooks the model
    would be asked.
    """
    broken = [_show(console, await _tried(check)) for check in (_runtime, _sidecar, _report)]
    hosts = await examine_hosts()
    begun = not any(broken)
    broken += [_show(console, host.lines) for host in hosts]
    broken += [_show(console, (await host.tools(),)) for host in hosts if begun and host.tools]
    if probe and not any(broken):
        broken += [_show(console, (await host.probe(),)) for host in hosts if host.probe]
    return int(any(broken))


async def _tried(check: Callable[[], Awaitable[list[Line]]]) -> list[Line]:
    try:
        return await check()
    except OSError as trouble:
        return [_unusable(trouble)]


def _unusable(trouble: OSError) -> Line:
    place = trouble.filename or of_user().state
    return error(f"{place} cannot be used: {trouble.strerror or trouble}", f"ls -ld {place}")


def _show(console: Console, lines: Sequence[Line]) -> bool:
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
        found = error("no runtime is recorded: a host has nothing to start", _install())
    elif not os.access(recorded, os.X_OK):
        found = error(f"the recorded runtime {recorded} cannot be executed", _install())
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
    if doctor_opencode.installed():
        return ok("judge: in OpenCode the model of the session")
    return warning(
        f"no judge model: rules and gates decide alone ({chosen.why})",
        f"{_install() if doctor_opencode.program() else doctor_claude.GET}, or see docs/judges.md",
    )


async def examine_hosts() -> list[Host]:
    """Each host that is here. Where one has our plugin, the other need not have it."""
    found = list[Host]()
    try:
        if doctor_claude.program():
            found.append(await doctor_claude.examine(needed=not doctor_opencode.installed()))
        if doctor_opencode.program() or doctor_opencode.installed():
            found.append(await doctor_opencode.examine(needed=not any(host.probe for host in found)))
    except OSError as trouble:
        found.append(Host((_unusable(trouble),)))
    get = f"{doctor_claude.GET}, or: {doctor_opencode.GET}"
    return found or [Host((warning("neither Claude Code nor OpenCode is on PATH", get),))]


def _install() -> str:
    """What to type where nothing is installed."""
    if doctor_opencode.installed() or (doctor_opencode.program() and not doctor_claude.program()):
        return doctor_opencode.INSTALL
    return doctor_claude.INSTALL
