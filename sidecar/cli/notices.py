"""Tells a person who is not there what `supervisor run`, `loop`, `tdd` and `govern` tell: `[notify]`.

A notice is made of an event of progress, and sent in a thread: a way that hangs or fails holds up nothing,
ends nothing, and is told once.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import click
import msgspec

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.printing import echo, in_shell
from sidecar.cli.progress import END_MARKS, SAID_LENGTH, JsonLines, ProgressView, TerminalView, progress_lines
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.settings import NotifySettings
from sidecar.kernel.text import fill_template, strip_control_codes, truncate_middle
from sidecar.platform import http, processes, secrets
from sidecar.platform.concurrency import Deadline
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.slots import CALLER, Caller
from sidecar.work.progress import BudgetUsed, Limited, Progress, RunFinished, RunWarning, Step

NOTICE_S: Final = 10.0
"""Seconds that sending may take."""
WATCHED_S: Final = 60.0
"""So long a person who types a command at a terminal is taken to watch it."""
LIMIT_S: Final = 3600.0
"""A limit that lasts longer than was told is told again if it is so much longer: its end may be a guess."""
WAITING: Final = frozenset(("waiting", "halted"))
"""Outcomes after which nothing goes on without a person."""
SCRIPT: Final = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
DESKTOPS: Final = {"notify-send": ("--app-name=Supervisor", "--"), "osascript": ("-e", SCRIPT)}
"""Programs that show a notice, and what stands before its title and message."""


class NotifyingView(ProgressView):
    """Shows events as another view does, and sends a notice of those that the settings name.

    What this process does from then on is unattended, and the view hears where its checks wait for others.
    """

    def __init__(self, project: str, *, as_json: bool = False, json_lines: bool = False) -> None:
        """`as_json`: the command prints JSON itself, at its end."""
        self._view = JsonLines() if json_lines else ProgressView() if as_json else TerminalView()
        self.board, self._project, self._settings = self._view.board, project, _load_settings()
        self._begun, self._limited_until = time.monotonic(), 0.0
        self._threads, self._warned = ThreadPoolExecutor(), set[str]()
        CALLER.set(Caller(attended=False, tell=lambda text: self.tell(Step(kind="check", text=text))))

    def tell(self, what: Progress) -> None:
        self._view.tell(what)
        if (kind := self._notice_kind(what)) in self._settings.on:
            lines = (*(text for _, text in progress_lines(what)), getattr(what, "then", ""))
            said = in_shell("\n".join(filter(None, lines)))
            self._threads.submit(self._send, kind, said)

    def close(self) -> None:
        self._view.close()
        self._threads.shutdown()

    def _notice_kind(self, what: Progress) -> str:
        """Return the kind of notice that an event is worth, "" for none."""
        match what:
            case BudgetUsed():
                return "budget"
            case Limited():
                longer, self._limited_until = what.until - self._limited_until, what.until
                return "limited" if longer >= LIMIT_S else ""
            case RunFinished() if not self.board or time.monotonic() - self._begun >= WATCHED_S:
                good = what.exit_code in END_MARKS or what.outcome == "interrupted"
                return "waiting" if what.outcome in WAITING else "ended" if good else "stuck"
        return ""

    def _send(self, kind: str, message: str) -> None:
        for way, fault in asyncio.run(send_notice(kind, message, self._project, self._settings)).items():
            if fault and way not in self._warned:
                self._warned.add(way)
                self._view.tell(RunWarning(text=f"no notice by notify.{way}: {fault}"))


@click.command()
def notify() -> None:
    """Send a notice by each way that `[notify]` names, and say what happened."""
    sent = asyncio.run(send_notice("test", "This is a test.", str(Path.cwd()), _load_settings()))
    echo("\n".join(f"{way}: {fault or 'sent'}" for way, fault in sent.items()) or "[notify] names no way.")
    raise click.exceptions.Exit(int(not sent or any(sent.values())))


def _load_settings() -> NotifySettings:
    return ConfigurationFile(os.environ, CommandLineFiles()).load()[0].notify


async def send_notice(kind: str, message: str, project: str, by: NotifySettings) -> dict[str, str]:
    """Send a notice by each way that is set; return for each why it failed, "" for success.

    Secrets are masked in it, and so is, wherever it stands, what follows the webhook's host.
    """
    mask = secrets.SecretForms().masker({**os.environ, "_KEY": "".join(by.webhook.split("/", 3)[3:])})
    title = f"Supervisor: {Path(project).name}: {kind}"
    said = {"kind": kind, "title": title, "message": message, "project": project}
    said = {name: truncate_middle(mask(strip_control_codes(one)), SAID_LENGTH) for name, one in said.items()}

    async def run(command: str | tuple[str, ...]) -> str:
        variables = {f"SUPERVISOR_NOTICE_{name.upper()}": text for name, text in said.items()}
        told, stdin = {**os.environ, **variables}, msgspec.json.encode(said)
        done = await processes.run_process(command, cwd="/", environment=told, seconds=NOTICE_S, stdin=stdin)
        return done.reason or (f"it ended with exit code {done.exit_code}" if done.exit_code else "")

    async def show() -> str:
        for name, options in DESKTOPS.items():
            if program := processes.find_program(name, os.environ, project):
                return await run((program, *options, said["title"], said["message"]))
        return f"none of {', '.join(DESKTOPS)} is on PATH"

    async def post() -> str:
        body = {name: fill_template(text, said) for name, text in by.body.items()} or said
        try:
            to = http.parse_service_address(by.webhook.partition("?")[0])
            async with http.open_service_connection(to, os.environ, {}, Deadline(NOTICE_S), mask) as service:
                await asyncio.wait_for(service.post(by.webhook, msgspec.json.encode(body)), NOTICE_S)
        except http.FaultError as error:
            return f"it answered {error.status} {error.said}".strip() if error.status else str(error)
        except (ServiceError, TimeoutError) as error:
            return str(error) or f"it did not answer within {NOTICE_S:g} s"
        return ""

    send = {"desktop": show, "command": lambda: run(by.command), "webhook": post}
    ways = {way: send[way]() for way in send if getattr(by, way)}
    return dict(zip(ways, await asyncio.gather(*ways.values()), strict=True))
