"""Notices: of which events, by which ways, and what a way that fails does: nothing but one warning."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from sidecar.cli.notices import NotifyingView
from sidecar.cli.progress import RunBoard
from sidecar.platform.configuration import read_project_gates
from sidecar.platform.steering import describe_edit
from sidecar.work.progress import BudgetUsed, Limited, Progress, RunFinished, RunWarning
from support.typed import typed

pytestmark = pytest.mark.process

PAGE: Final = Path(__file__).parents[2] / "docs" / "settings.md"
EXAMPLES: Final = re.findall(r"```toml\n(\[notify\].*?)```", PAGE.read_text("utf-8"), re.DOTALL)
SECRET: Final = "/hooks/shop-at-midnight"
HOUR: Final = 3600.0


def end(outcome: str, code: int = 1, detail: str = "it says so") -> RunFinished:
    return RunFinished(outcome=outcome, detail=detail, exit_code=code)


def limited(until: float) -> Limited:
    return Limited(account="claude", until=until, text="usage limit reached")


class Settings:
    """The user's own file, and where its command puts the notices that it gets."""

    def __init__(self, folder: Path) -> None:
        self.project, self.notices = folder / "shop", folder / "notices"
        self.project.mkdir()
        self.notices.mkdir()
        self.command = f"cat > {self.notices}/$$"

    def write(self, **notify: object) -> None:
        place = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", "config.toml")
        place.parent.mkdir(exist_ok=True)
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in notify.items())
        place.write_text("".join(("[notify]\n", *lines)))

    def told(self, *events: Progress) -> list[dict[str, str]]:
        """Return the notices that these events make, by kind."""
        with closing(NotifyingView(str(self.project), json_lines=True)) as view:
            for event in events:
                view.tell(event)
        found = [msgspec.json.decode(path.read_bytes()) for path in self.notices.iterdir()]
        return sorted(found, key=lambda one: str(one["kind"]))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path)


class Webhook(HTTPServer):
    """A service on this machine that answers as it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url, self.status, self.silent = f"http://127.0.0.1:{self.server_port}", 200, threading.Event()
        self.silent.set()
        self.sent: list[tuple[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.sent.append((self.path, json.loads(body)))
        self.server.silent.wait(60)
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(f"nothing is at {self.path}".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    server = Webhook()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.silent.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("on", "events", "kinds"),
    [
        (None, (end("achieved", 0), end("judged", 4), end("interrupted", 130)), ["ended"] * 3),
        (None, (end("stalled"), end("unverified", 2), end("failed")), ["stuck"] * 3),
        (None, (end("waiting"), end("halted", 2)), ["waiting"] * 2),
        (None, (RunWarning(text="x"), BudgetUsed(what="cents", used=80.0, limit=100.0)), ["budget"]),
        (None, (limited(HOUR), limited(HOUR + 60), limited(HOUR + 1800)), ["limited"]),
        (None, (limited(HOUR), limited(6 * HOUR)), ["limited"] * 2),
        (["waiting", "limited"], (end("stalled"), end("waiting"), end("achieved", 0)), ["waiting"]),
    ],
)
def test_an_event_is_worth_a_notice_of_its_kind(
    settings: Settings, on: list[str] | None, events: tuple[Progress, ...], kinds: list[str]
) -> None:
    settings.write(command=settings.command, **({"on": on} if on else {}))
    assert [one["kind"] for one in settings.told(*events) if one["message"]] == kinds


@pytest.mark.parametrize(("watched", "kinds"), [(60.0, ["budget"]), (0.0, ["budget", "ended"])])
def test_the_end_of_a_short_command_at_a_terminal_is_no_news(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, watched: float, kinds: list[str]
) -> None:
    monkeypatch.setattr("sidecar.cli.notices.WATCHED_S", watched)
    monkeypatch.setattr("sidecar.cli.progress.JsonLines.board", RunBoard(time.monotonic))
    settings.write(command=settings.command)
    told = settings.told(BudgetUsed(what="tokens", used=8.0, limit=10.0), end("achieved", 0))
    assert [one["kind"] for one in told] == kinds


def test_a_notice_is_masked_and_reaches_webhook_command_and_desktop(
    settings: Settings, webhook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "correct-horse-battery")
    for folder in (settings.project, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        program = folder / "notify-send"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/shown\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{settings.project}:{tmp_path}/bin:{os.environ['PATH']}")
    settings.write(desktop=True, command=settings.command, webhook=f"{webhook.url}{SECRET}?wait=true")
    (notice,) = settings.told(end("stalled", detail="correct-horse-battery was refused"))
    assert notice["title"] == "Supervisor: shop: stuck"
    assert notice["message"] == "stalled: [masked] was refused"
    assert webhook.sent == [(f"{SECRET}?wait=true", notice)]
    shown = (tmp_path / "bin" / "shown").read_text()
    assert shown == f"--app-name=Supervisor\n--\n{notice['title']}\n{notice['message']}\n"
    assert not (settings.project / "shown").exists()


def test_the_examples_of_the_page_send_what_slack_and_ntfy_take(settings: Settings, webhook: Webhook) -> None:
    for example in EXAMPLES:
        notify = tomllib.loads(example)["notify"]
        settings.write(webhook=re.sub("https://[^/]+", webhook.url, notify["webhook"]))
        place = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", "config.toml")
        place.write_text(place.read_text() + example.partition("\n")[2].partition("\n")[2])
        settings.told(end("waiting"))
    title, message = "Supervisor: shop: waiting", "waiting: it says so"
    topic = {"topic": "a-name-that-nobody-guesses", "title": title, "message": message}
    assert [body for _, body in webhook.sent] == [{"text": f"{title}\n{message}"}, topic]


def test_ways_that_fail_are_told_once_without_the_secret_of_the_url(
    settings: Settings, webhook: Webhook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    webhook.status = 404
    settings.write(desktop=True, command="exit 3", webhook=webhook.url + SECRET)
    settings.told(end("stalled"), end("waiting"))
    printed = capsys.readouterr().out
    warnings = {line["text"] for line in map(json.loads, printed.splitlines()) if line["event"] == "warning"}
    assert warnings == {
        "no notice by notify.desktop: none of notify-send, osascript is on PATH",
        "no notice by notify.command: it ended with exit code 3",
        "no notice by notify.webhook: it answered 404 nothing is at /[masked]",
    }
    assert len(printed.splitlines()) == 5


def test_a_way_that_hangs_does_not_hold_up_the_end(
    settings: Settings, webhook: Webhook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.cli.notices.NOTICE_S", 0.3)
    webhook.silent.clear()
    settings.write(command="sleep 600", webhook=webhook.url)
    settings.told(end("stalled"))
    printed = capsys.readouterr().out
    assert "notify.command: it did not end within 0.3 s" in printed
    assert "notify.webhook: it did not answer within 0.3 s" in printed


def test_it_can_be_tried_and_is_hidden_where_settings_and_their_edits_are_shown(
    settings: Settings, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("notify") == 1
    assert capsys.readouterr().out == "[notify] names no way.\n"
    settings.write(command="exit 1", webhook=webhook.url + SECRET, body={})
    place = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", "config.toml")
    place.write_text(place.read_text().replace("body = {}", 'body = { topic = "shop-at-night" }'))
    assert typed("notify") == 1
    assert capsys.readouterr().out == "command: it ended with exit code 1\nwebhook: sent\n"
    for words in (("config", "show"), ("config", "show", "--json")):
        assert typed(*words) == 0
        shown = capsys.readouterr().out
        assert "webhook" in shown
        assert SECRET not in shown
        assert "shop-at-night" not in shown
    edit = describe_edit('[notify]\ncommand = "x"\n', place.read_text())
    assert edit == 'notify.body.topic; notify.command: "x" -> "exit 1"; notify.webhook'


def test_a_projects_file_sends_no_notice(settings: Settings) -> None:
    place = settings.project / ".supervisor" / "config.toml"
    place.parent.mkdir()
    place.write_text(f'[notify]\ncommand = "{settings.command}"\n')
    assert settings.told(end("stalled")) == []
    (problem,) = read_project_gates(str(settings.project)).problems
    assert problem.endswith("notify: only the user's own file may say this")
