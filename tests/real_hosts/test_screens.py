"""What the person sees in each state, in both hosts: ten of these screens are quoted in docs/screens.md.

`RENEW_SNAPSHOTS=1 python -m pytest -m long tests/real_hosts/test_screens.py` quotes them anew.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from real_hosts import opencode_supervised, supervised
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.terminal import Terminal
from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.model_script import (
    HttpErrorReply,
    ReplyRule,
    RequestMatch,
    reply_structured,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("seeing and asking back")

PAGE: Final = Path(__file__).parents[2] / "docs" / "screens.md"
COLUMNS: Final = 80
OURS: Final = re.compile(r"Supervisor: |Supervisor checks|running `")
CLAIM: Final = "I looked at shop.py. Everything is in order, all tests pass. Done."
GOAL: Final = "/supervisor:goal all tests pass"
JUDGED_GOAL: Final = "/supervisor:goal the README explains the discount"
HELD_TESTS: Final = """import os, time
while os.path.exists({path!r}):
    time.sleep(0.1)
"""
STUDY: Final = "#!/bin/sh\nuntil [ -e ../$1.read ]; do sleep 0.1; done; wc -l $1\n"
RULES: Final = """# Rules

## Patterns

- **NAMES** (major): names say what things are

## Antipatterns

- **NO-PRINT** (critical): a print statement is left
- **NO-TODO** (major): a line says what is still to be done
"""


class Room(Struct, frozen=True):
    """A host under supervision, and how its agent and its judge are scripted."""

    under: supervised.Supervised | opencode_supervised.Supervised
    agent: RequestMatch
    judge: RequestMatch
    verdict: Callable[[Mapping[str, object]], object]
    runner: str
    write: str
    path: str
    terminal: Callable[[], AbstractContextManager[Terminal]]

    @property
    def project(self) -> Path:
        return self.under.host.project

    @property
    def beside(self) -> Path:
        """A folder that is no part of the project."""
        return self.under.host.home.parent

    def says(self, text: str) -> None:
        self.under.script(ReplyRule(reply_with_text(text), self.agent))

    def runs(self, command: str) -> None:
        call = ReplyToolCall(self.runner, {"command": command, "description": "Run it"})
        self.under.script(ReplyRule(reply_with_calls(call), self.agent))

    def studies(self, name: str) -> None:
        """The agent is at work on a file until `release` is called with its name."""
        program = self.beside / "study"
        program.write_text(STUDY, encoding="utf-8")
        program.chmod(0o755)
        self.runs(f"../study {name}")

    def release(self, name: str) -> None:
        (self.beside / f"{name}.read").touch()

    def writes(self, name: str, text: str) -> None:
        call = ReplyToolCall(self.write, {self.path: str(self.project / name), "content": text})
        self.under.script(ReplyRule(reply_with_calls(call), self.agent))

    def judges(self, reply: object) -> None:
        self.under.script(ReplyRule(reply, self.judge, times=None))  # type: ignore[arg-type]


Scene = Callable[[Room, Terminal], Iterator[tuple[str, str]]]
"""Plays states; gives each one's name, and what is on the screen then (a regular expression)."""


def _work(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    hold = room.beside / "hold"
    (room.project / "conftest.py").write_text(HELD_TESTS.format(path=str(hold)), encoding="utf-8")
    room.studies("shop.py")
    room.says(CLAIM)
    room.studies("test_shop.py")
    room.runs(f"cat > shop.py <<'END'\n{REPAIRED_SOURCE}END")
    room.says("The discount is a rate, not an amount. I repaired shop.py.")
    terminal.submit(GOAL)
    yield "set", "goal set"
    hold.touch()
    room.release("shop.py")
    yield "judging", r"running `python -m pytest -q`, \d+ s|Supervisor checks the work"
    hold.unlink()
    yield "sent-back", "sent back 1/16"
    room.release("test_shop.py")
    yield "achieved", "goal achieved"


def _unverified(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    room.says("It is done.")
    room.says("The tool is not here.")
    terminal.submit('/supervisor:goal the links are whole --check "linkcheck README.md"')
    yield "unverified", "goal unverified"


def _unjudged(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    room.judges(HttpErrorReply(401, "authentication_error"))
    room.runs("echo The discount is a rate. > README.md")
    room.says("README.md explains it.")
    terminal.submit(JUDGED_GOAL)
    yield "unjudged", "not judged"


def _stalled(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    for number in range(6):
        room.says(f"Attempt {number}: all tests pass.")
    terminal.submit(GOAL)
    yield "stalled", "goal stalled"


def _exhausted(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    terminal.submit("/supervisor:retry 1")
    terminal.wait_for("budget of 1")
    room.says("All tests pass.")
    room.runs("echo '# a comment' >> shop.py")
    room.says("All tests pass now.")
    terminal.submit(GOAL)
    yield "exhausted", "budget spent"


def _waiting(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    room.judges(
        room.verdict({"verdict": "waiting", "question": "Which rate does a member get?", "confidence": 0.9})
    )
    room.runs("echo The discount is a rate. > README.md")
    room.says("Which rate does a member get: 10 % or 15 %? I cannot find it in the project.")
    terminal.submit(JUDGED_GOAL)
    yield "waiting", "waiting for you"


def _held_edit(room: Room, terminal: Terminal) -> Iterator[tuple[str, str]]:
    room.runs("sed -i /NO-PRINT/d .supervisor/rubric.md; echo done")
    room.runs(f"cat > shop.py <<'END'\n{REPAIRED_SOURCE}END")
    room.says("I repaired shop.py.")
    terminal.submit(GOAL)
    yield "held-edit", "was changed while an agent worked"


SCENES: Final[tuple[Scene, ...]] = (_work, _unverified, _unjudged, _stalled, _exhausted, _waiting, _held_edit)


@contextmanager
def _claude(host: Host, model: ScriptedModel) -> Iterator[Room]:
    with supervised.supervised(host, model, environment={}) as under:
        yield Room(
            under=under,
            agent=supervised.AGENT,
            judge=RequestMatch(has_tool="StructuredOutput"),
            verdict=lambda answer: reply_structured({"answer": answer}),
            runner="Bash",
            write="Write",
            path="file_path",
            terminal=lambda: under.terminal(COLUMNS),
        )


@contextmanager
def _opencode(host: OpenCode, model: ScriptedModel) -> Iterator[Room]:
    with opencode_supervised.supervised(host, model) as under:
        yield Room(
            under=under,
            agent=opencode_supervised.AGENT,
            judge=opencode_supervised.JUDGE,
            verdict=lambda answer: opencode_supervised.judges(answer).reply,
            runner="bash",
            write="write",
            path="filePath",
            terminal=lambda: under.host.terminal(columns=COLUMNS),
        )


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short name, as it is on the screen."""
    with tempfile.TemporaryDirectory(prefix="", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.long
@pytest.mark.parametrize("claude_version", ["pinned"], indirect=True)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__.strip("_"))
def test_claude_code(scene: Scene, host: Host, model: ScriptedModel) -> None:
    with _claude(host, model) as room:
        _play(scene, room, "claude-code")


@pytest.mark.long
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__.strip("_"))
def test_opencode(scene: Scene, opencode_host: OpenCode, model: ScriptedModel) -> None:
    with _opencode(opencode_host, model) as room:
        _play(scene, room, "opencode")


def _play(scene: Scene, room: Room, host: str) -> None:
    rules = room.project / ".supervisor" / "rubric.md"
    rules.parent.mkdir()
    rules.write_text(RULES, encoding="utf-8")
    with room.terminal() as terminal:
        for state, shown in scene(room, terminal):
            terminal.wait_for(shown)
            if state != "judging":
                terminal.wait_until_gone("To end it, type a prompt")  # it stands for three seconds more
            if os.environ.get("RENEW_SNAPSHOTS"):
                _quote(f"{host}: {state}", terminal.screen)


def _quote(name: str, screen: str) -> None:
    """Put the last paragraph that is of Supervisor below the page's comment of that name, if there is one."""
    block = re.compile(rf"(?<=<!-- {name} -->\n\n```text\n).*?(?=\n```)", re.DOTALL)
    page = PAGE.read_text(encoding="utf-8")
    if not block.search(page):
        return
    shown = "\n".join(line.rstrip() for line in screen.replace("\N{NO-BREAK SPACE}", " ").splitlines())
    last = [part for part in re.split(r"\n{2,}", shown) if OURS.search(part)][-1].strip("\n")
    PAGE.write_text(block.sub(lambda _: last, page), encoding="utf-8")
