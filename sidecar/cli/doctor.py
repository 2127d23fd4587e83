"""`supervisor doctor`: checks every part from runtime to judge, and prints what to type to repair it."""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from sidecar import __version__
from sidecar.cli.config import CommandLineFiles
from sidecar.cli.doctor_checks import check_offered_tools
from sidecar.cli.link import call_sidecar, greet_sidecar
from sidecar.cli.printing import echo_json
from sidecar.cli.screen import Screen
from sidecar.hosts.installers import build_installers
from sidecar.hosts.installing import (
    DoctorFinding,
    FindingLevel,
    HostFindings,
    HostInstaller,
    error_finding,
    ok_finding,
    problem_finding,
    warning_finding,
)
from sidecar.judging.backends.chain import RULES, build_judge
from sidecar.judging.ports import Judge
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.events import NO_RUBRIC, JudgeAnswered
from sidecar.kernel.evidence import Evidence, EvidenceStrength, Source
from sidecar.platform.client import SIDECAR_SOCKET_FILE, STOP_ADVICE, SidecarError
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.confine import can_close_folders
from sidecar.platform.event_log import LOG_FILE, lost_logs
from sidecar.platform.files import BLOCK
from sidecar.platform.git import GET_GIT
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import unblocking_command, user_paths
from sidecar.platform.processes import find_program
from sidecar.platform.rpc import HelloAnswer
from sidecar.systems.supervision.messages import MessageFiles
from sidecar.systems.supervision.people import SessionReport, SessionSelector
from sidecar.systems.supervision.policy.orders import switch_on_command


@click.command()
@click.option(
    "--no-probe",
    is_flag=True,
    help="Neither start a host for a real hook call nor ask the judge a question, which costs some tokens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for a report of a fault.")
def doctor(*, no_probe: bool, as_json: bool) -> None:
    """Check runtime, sidecar, plugin, host, hooks, tools, rubric and judge.

    The judge is asked about a goal that plainly holds; without a verdict that is an error where judge.backend
    names it, else a warning. Exit codes: 0 no error (there may be warnings), 1 an error.
    """
    report = _FindingsReport(quiet=as_json)
    code = asyncio.run(_run_checks(report, probe=not no_probe))
    if as_json:
        system = f"Python {platform.python_version()}, {platform.platform()}"
        told = {"version": __version__, "system": system, "exit_code": code}
        echo_json({**told, "findings": report.findings})
    sys.exit(code)


async def _run_checks(report: _FindingsReport, *, probe: bool) -> int:
    """Run all checks in turn; return 1 where one found an error, else 0.

    The tools are checked only where the sidecar works, since they need it. A host is probed only where all
    else works: without our hooks, it would send the probe to its model. A service needs no host.
    """
    broken: list[bool] = []
    for check in (_check_runtime, check_git, check_state, _check_sidecar, _check_sidecar_report):
        try:
            found = await check()
        except OSError as trouble:
            found = [unusable_path_error(trouble)]
        broken.append(report.add(found))
        if broken[-1] and check not in (_check_runtime, check_git):
            break  # what follows would fail for the same reason
    hosts = await examine_hosts()
    begun, configured = not any(broken), not broken[-1]
    broken += [report.add(host.lines) for host in hosts]
    for host in hosts:
        if begun and host.server:
            broken.append(report.add((await check_offered_tools(host.title, host.server),)))
    if probe and not any(broken):
        broken += [report.add((await host.probe(),)) for host in hosts if host.probe]
    judge = build_judge(plugin_root() / "rubric", os.environ)
    settings, _ = ConfigurationFile(os.environ, CommandLineFiles()).load()
    asked = probe and configured and (begun or settings.judge.backend in ("anthropic", "openai"))
    if asked and (answered := await probe_judge(judge)):
        broken.append(report.add((answered,)))
    return int(any(broken))


def unusable_path_error(trouble: OSError) -> DoctorFinding:
    """Return the finding of a path that cannot be used."""
    place = trouble.filename or user_paths().state
    why = f"{place} cannot be used: {trouble.strerror or trouble}"
    return error_finding(why, unblocking_command(Path(place), trouble))


class _FindingsReport:
    """Keeps the findings, and prints each at once unless it is `quiet`."""

    def __init__(self, *, quiet: bool) -> None:
        self.findings: list[DoctorFinding] = []
        self._console = Screen(highlight=False, quiet=quiet)

    def add(self, found: Sequence[DoctorFinding]) -> bool:
        """Take in findings; return whether one is an error."""
        lines = [replace(line, remedy=_as_typed_here(line.remedy)) for line in found]
        self.findings += lines
        for line in lines:
            text = f"{line.level:<8}{line.what}" + (f"\n        type: {line.remedy}" if line.remedy else "")
            self._console.print(text, markup=False, soft_wrap=True, style=STYLES[line.level])
        return any(line.level is FindingLevel.ERROR for line in lines)


def _as_typed_here(remedy: str) -> str:
    """The remedy with the path of our command, where that is not on PATH."""
    ours = Path(sys.executable).with_name("supervisor")
    if not remedy.startswith("supervisor ") or not ours.exists() or shutil.which("supervisor"):
        return remedy
    return f"{shlex.quote(str(ours))}{remedy.removeprefix('supervisor')}"


PROBE_CASE = JudgeCase(
    condition="notes.txt is there",
    suspicion="",
    prompts=("make an empty notes.txt",),
    rubric=NO_RUBRIC,
    evidence=(
        Evidence(
            id="E1",
            source=Source.TOOL,
            fact="`touch notes.txt && ls notes.txt` exited with 0: notes.txt",
            worth=EvidenceStrength.WORK,
        ),
    ),
    last_message="notes.txt is there.",
)
"""A case that a judge can answer at once."""
JUDGE_REMEDIES = {
    "claude-cli": "claude -p hello",
    "anthropic": "supervisor config edit",
    "openai": "supervisor config edit",
}
"""What to type where a backend gives no verdict."""
STYLES = {FindingLevel.OK: "green", FindingLevel.WARNING: "yellow", FindingLevel.ERROR: "red"}


async def _check_runtime() -> list[DoctorFinding]:
    paths = user_paths()
    recorded = paths.recorded_runtime()
    if recorded is None:
        found = error_finding("no runtime is recorded: a host has nothing to start", _install_hint())
    elif not os.access(recorded, os.X_OK):
        found = error_finding(f"the recorded runtime {recorded} cannot be executed", _install_hint())
    else:
        found = ok_finding(f"runtime {recorded} (version {__version__}, Python {sys.version.split()[0]})")
    return [found]


async def check_state() -> list[DoctorFinding]:
    """Check that the state can be written, and name what of it was lost. Raises OSError."""
    paths = user_paths()
    paths.prepare()
    with tempfile.TemporaryFile(dir=paths.state) as tried:  # shows a full disk, which permissions do not
        tried.write(bytes(BLOCK))
    forget = f"rm {shlex.quote(str(paths.state))}/{LOG_FILE}.*"
    lost = (warning_finding(line, forget) for line in lost_logs(paths.state))
    return [ok_finding(f"state folder {paths.state}"), *lost]


async def check_git() -> list[DoctorFinding]:
    """Check that git is there, without which nothing tells what changed."""
    if found := find_program("git", os.environ, str(Path.cwd())):
        return [ok_finding(f"git {found}")]
    return [error_finding("git is not on PATH: what changed is not known, so checks decide no goal", GET_GIT)]


def check_workers() -> DoctorFinding:
    """Say what holds headless agents that work on a copy of a project."""
    held = "cannot write there (Landlock)" if can_close_folders() else "could write there, so it is compared"
    return ok_finding(f"a worker that has a copy of the project {held}")


async def _check_sidecar() -> list[DoctorFinding]:
    try:
        hello: HelloAnswer = await asyncio.to_thread(greet_sidecar)
    except SidecarError as trouble:
        return [_unanswered_error(trouble)]
    return [ok_finding(f"sidecar {hello.version}, process {hello.pid}")]


def _unanswered_error(trouble: SidecarError) -> DoctorFinding:
    paths = user_paths()
    socket = paths.run / SIDECAR_SOCKET_FILE
    if os.path.lexists(socket) and not socket.is_socket():
        what = f"{socket} is in the place of the sidecar's socket"
        return error_finding(what, f"mv {socket} {socket}.aside")
    remedy = "supervisor stop" if STOP_ADVICE in trouble.moves else f"less {paths.log}"
    return error_finding(f"the sidecar does not answer: {trouble}", remedy)


async def _check_sidecar_report() -> list[DoctorFinding]:
    """Check what the sidecar reports: switches, settings, rubric."""
    try:
        here = SessionSelector(project=str(Path.cwd()))
        report = await asyncio.to_thread(call_sidecar, "report", here, SessionReport)
    except SidecarError as trouble:
        return [error_finding(f"the sidecar cannot report: {trouble}", "supervisor stop")]
    lines = (
        [warning_finding(f"Supervisor is {report.off}", switch_on_command(report.off))] if report.off else []
    )
    texts = MessageFiles(plugin_root() / "rubric")
    lines += [warning_finding(trouble, "mend that file") for trouble in (*report.troubles, *texts.problems())]
    lines += [
        warning_finding(f"set aside, and lost to its session: {why}", "/supervisor:goal and the condition")
        for why in report.set_aside
    ]
    if (team := report.team) is not None:
        said = f"team: {team.detail}"
        away = team.state == "away"
        lines.append(warning_finding(said, "supervisor team status") if away else ok_finding(said))
    rubric = ok_finding(f"rubric in force: {report.rubric}")
    return [*lines, rubric, _check_judge(), check_workers()]


def _check_judge() -> DoctorFinding:
    """Which judge a session started here would have, and why."""
    settings, _ = ConfigurationFile(os.environ, CommandLineFiles()).load()
    chosen = build_judge(plugin_root() / "rubric", os.environ).chosen(os.environ, settings)
    if chosen.backend:
        return ok_finding(f"judge: {chosen.backend} ({chosen.why})")
    if settings.judge.backend == RULES:
        return ok_finding(f"judge: rules and checks alone ({chosen.why})")
    lenders = [one for one in _installers() if one.lends_model]
    if lender := next((one for one in lenders if one.present()), None):
        return ok_finding(f"judge: in {lender.title} the model of the session")
    hint = _install_hint() if any(one.program.path for one in lenders) else _installers()[0].get
    what = f"no judge model: rules and checks decide alone ({chosen.why})"
    return warning_finding(what, f"{hint}, or see docs/models.md")


async def probe_judge(judge: Judge) -> DoctorFinding | None:
    """Ask the judge about a goal that plainly holds, for some tokens; None where no backend is chosen.

    No verdict is an error where the settings name the backend, else a warning.
    """
    settings, _ = ConfigurationFile(os.environ, CommandLineFiles()).load()
    chosen = judge.chosen(os.environ, settings)
    if not chosen.backend:
        return None
    told = await judge.ask(PROBE_CASE, os.environ, settings)
    if isinstance(told, JudgeAnswered):
        verdict = type(told.judgement.verdict).__name__.lower()
        return ok_finding(f"the judge answers: {verdict}, {told.judgement.tokens} tokens")
    remedy = JUDGE_REMEDIES.get(chosen.backend, "less docs/models.md")
    said = f"the judge {chosen.backend} gives no verdict, rules and checks decide alone: {told.reason}"
    return problem_finding(said, remedy, needed=settings.judge.backend == chosen.backend)


async def examine_hosts() -> list[HostFindings]:
    """Check each host that is installed. Where one has our plugin, the others need not have it."""
    found, installers = list[HostFindings](), _installers()
    try:
        for at, one in enumerate(installers):
            if one.program.path or one.present():
                others = any(host.probe for host in found) or any(
                    two.present() for two in installers[at + 1 :]
                )
                found.append(await one.examine(needed=not others))
    except OSError as trouble:
        found.append(HostFindings((unusable_path_error(trouble),)))
    *most, last = (one.title for one in installers)
    absent = f"neither {', '.join(most)} nor {last} is on PATH"
    get = ", or: ".join(one.get for one in installers)
    return found or [HostFindings((warning_finding(absent, get),))]


def _installers() -> list[HostInstaller]:
    return [*build_installers(os.environ, Path.cwd()).values()]


def _install_hint() -> str:
    """The install command to suggest; it fails where the host is missing, so that comes first."""
    installers = _installers()
    there = [one for one in installers if one.present()] or [one for one in installers if one.program.path]
    best = (there or installers)[0]
    return best.install_command if there else f"{best.get} && {best.install_command}"
