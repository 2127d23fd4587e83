"""What an adapter says of a real host, for the scenes of test_contract.py beside this folder.

A host is one file here with a subclass of RealHost, which the scenes find by themselves. It lays out the host
in a clean room, says how its agent's model calls tools, and how its screen is read.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from real_hosts.opencode_supervised import SENT_BACK, SUPERVISOR, lay_out
from sidecar.systems.supervision.people import SessionReport
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_wire import ReplyToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from real_hosts.host import Ran
    from real_hosts.install import Package
    from real_hosts.terminal import Terminal
    from support.model_server import ScriptedModel

SHELL_LIMIT_S: Final = 180.0
"""Longest time, in seconds, of one `supervisor` command."""
HEADLESS: Final = "headless"
TERMINAL: Final = "in_a_terminal"
ESC_JUDGING: Final = "esc_ends_a_judging"
TELLS_SENT_BACK: Final = "the_screen_tells_that_the_agent_was_sent_back"
TELLS_END: Final = "the_screen_tells_how_a_goal_ended"
HIDES_WORDS: Final = "our_words_to_the_agent_are_hidden_from_the_person"
PARTS: Final = (HEADLESS, TERMINAL, ESC_JUDGING, TELLS_SENT_BACK, TELLS_END, HIDES_WORDS)
"""The two scenes, and what of the one in a terminal a host may lack."""


class RealHost(ABC):
    """One installed program with a home, a project whose tests fail, and a scripted model.

    `program` is what is typed after `supervisor install`, `consent` are the options by which the user agrees
    to what the host asks. The first of `versions` is played in every run, the others in `tox -e long`;
    "newest" is what npm names so. The `older` ones are played there, too, without a terminal alone. `tool` is
    a tool that the agent's requests offer, and no others. `judging`, `working`, `interrupted` and `busy` are
    regular expressions for the screen: while checks run, while a command of the agent does, after Esc, and
    during a turn. `memory` is what in the home the host itself keeps of what was typed or installed; all else
    of ours must be gone after an uninstall. `acp` are the arguments by which it is an agent of the Agent
    Client Protocol. `cannot` names parts of the scenes that this host cannot have (PARTS), with the reason in
    one line.
    """

    title: ClassVar[str]
    program: ClassVar[str]
    package: ClassVar[Package]
    versions: ClassVar[tuple[str, ...]]
    older: ClassVar[tuple[str, ...]] = ()
    tool: ClassVar[str]
    judging: ClassVar[str]
    working: ClassVar[str] = "Working for ever"
    interrupted: ClassVar[str]
    busy: ClassVar[str]
    consent: ClassVar[tuple[str, ...]] = ()
    memory: ClassVar[tuple[str, ...]] = ()
    acp: ClassVar[tuple[str, ...]] = ()
    cannot: ClassVar[Mapping[str, str]] = {}

    home: Path
    project: Path
    env: Mapping[str, str]
    """The whole environment of the host, with the folder of its program on PATH."""

    @abstractmethod
    def __init__(self, binary: Path, version: str, folder: Path, model: ScriptedModel) -> None:
        """Lay out a home and a project below `folder`, which exists; `begin` comes next."""
        self.binary = binary
        self.model = model

    @abstractmethod
    def headless(self, prompt: str) -> Ran:
        """Give it one prompt without a terminal, with every permission, and wait until it ends."""

    @abstractmethod
    def terminal(self) -> AbstractContextManager[Terminal]:
        """Start it in a terminal, with every permission, and wait until it takes input."""

    @abstractmethod
    def write(self, path: Path, content: str) -> list[ReplyToolCall]:
        """Return the calls by which its agent replaces a file, each in an answer of its own."""

    @abstractmethod
    def run(self, command: str) -> ReplyToolCall:
        """Return the call by which its agent runs a command."""

    def typed(self, name: str, words: str) -> str:
        """Return how a person types a command of ours."""
        return f"/supervisor:{name} {words}"

    def interrupt(self, terminal: Terminal) -> None:
        """Press what interrupts the host."""
        terminal.press("Escape")

    def leave(self, terminal: Terminal) -> None:  # noqa: B027 - most hosts need nothing
        """Do what must be done before a command can be typed while a stop is judged."""

    def wipe(self, terminal: Terminal) -> None:
        """Empty the input, into which a host may put a prompt back."""
        terminal.press("C-u")

    # --- for the scenes; nothing to write anew ---

    def begin(self) -> None:
        """Lay out the project and record the runtime, as an install from the package does."""
        lay_out(self.project)
        state = self.state
        state.mkdir(parents=True, mode=0o700)
        (state / "runtime").write_text(f"{SUPERVISOR}\n", encoding="utf-8")

    @property
    def state(self) -> Path:
        """The state folder of this home."""
        return self.home / ".local" / "state" / "supervisor"

    def says(self, text: str) -> ReplyRule:
        """Return the rule by which the agent's model writes and stops."""
        return ReplyRule(reply_with_text(text), RequestMatch(has_tool=self.tool))

    def calls(self, *calls: ReplyToolCall) -> list[ReplyRule]:
        """Return the rules by which it makes these calls, each in an answer of its own."""
        return [ReplyRule(reply_with_calls(call), RequestMatch(has_tool=self.tool)) for call in calls]

    def asked(self) -> int:
        """Return how often the agent's model was asked."""
        return sum(self.tool in request.tools for request in self.model.requests)

    def told(self) -> list[str]:
        """Return what the agent was told when it was sent back, oldest first, each once."""
        found: dict[str, str] = {}
        for request in self.model.requests:
            marked = re.search(SENT_BACK, request.last)
            if marked and self.tool in request.tools:
                found.setdefault(marked[0], request.last[marked.start() :])
        return list(found.values())

    def supervisor(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type `supervisor ARGUMENTS` in a shell of this home's user, in the project."""
        return subprocess.run(
            [str(SUPERVISOR), *arguments],
            cwd=self.project,
            env={**self.env, "COLUMNS": "400"},
            capture_output=True,
            text=True,
            timeout=SHELL_LIMIT_S,
            check=False,
        )

    def report(self) -> SessionReport:
        """Return what `supervisor status --json` says of this project."""
        done = self.supervisor("status", "--json")
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=SessionReport)

    def stops(self) -> list[str]:
        """Return what was decided at each stop, oldest first."""
        return [entry.decided for entry in self.report().story if entry.event == "stop"]

    def traces(self) -> set[str]:
        """Return the files of the home that are ours or speak of us, but for the host's own memory."""
        memory = [self.home / name for name in self.memory]
        found = (path for path in self.home.rglob("*") if not any(map(path.is_relative_to, memory)))
        return {str(path.relative_to(self.home)) for path in found if self._is_trace(path)}

    def _is_trace(self, path: Path) -> bool:
        if path.is_symlink():
            return "supervisor" in f"{path.relative_to(self.home)} {path.readlink()}"
        named = "supervisor" in str(path.relative_to(self.home))
        return path.is_file() and (named or b"supervisor" in path.read_bytes())


def with_program(env: Mapping[str, str], binary: Path) -> dict[str, str]:
    """Return an environment in which the host's program is found."""
    return {**env, "PATH": os.pathsep.join((str(binary.parent), env["PATH"]))}


def real_hosts() -> list[type[RealHost]]:
    """Return the adapters of the files beside this one."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        importlib.import_module(f"real_hosts.contract.{path.stem}")
    return sorted(RealHost.__subclasses__(), key=lambda host: host.title)
