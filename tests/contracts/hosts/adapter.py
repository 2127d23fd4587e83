"""What a host's adapter tells the scenes of test_scenes.py.

It says how the host reports an event, how it records what happened, and what it makes of an answer. A new
host is one file beside this one with a subclass of HostAdapter; the scenes find it by themselves.
"""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from msgspec import Struct

from sidecar.hosts.ports import Transcripts
from sidecar.kernel.effects import Effect, Inquiry, ReadTurn, Ruling
from sidecar.kernel.events import AgentStopped, TurnRead
from sidecar.kernel.goal import Goal
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision.policy.stop import advance_inquiry, begin_inquiry
from sidecar.wiring.hosts import build_codecs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sidecar.kernel.effects import HostAnswer
    from sidecar.kernel.events import AnyHostEvent
    from sidecar.kernel.turn import Turn

Fields = dict[str, Any]
FOLDER: Final = "/home/user/project"
UNCACHED: Final = 100
"""Input tokens of each request to the model that came from no cache."""
CACHED: Final = 9000
"""Input tokens of each request that did."""
OUTPUT: Final = 20
"""Tokens that the model wrote in each."""


# --- What a host reports ------------------------------------------------------------------------------------


class Opened(Struct, frozen=True):
    """A session was opened, or taken up again."""

    resumed: bool = False


class Asked(Struct, frozen=True):
    """A person typed a prompt."""

    text: str


class Commanded(Struct, frozen=True):
    """A person typed a command of ours; `helper`: it is what a subagent was told."""

    name: str
    arguments: str = ""
    helper: bool = False


class ComesBack(Struct, frozen=True):
    """The words with which we sent the agent back come in again, as a prompt."""

    text: str


class Called(Struct, frozen=True):
    """The agent is about to call a tool of ours."""

    tool: str


class Stopped(Struct, frozen=True):
    """The agent ended its turn. `read_only`: in plan mode. `helper`: a subagent ended its own."""

    said: str = "Done."
    read_only: bool = False
    helper: bool = False


class Escaped(Struct, frozen=True):
    """The user interrupted the agent, which had said `said` by then."""

    said: str = "I will"


class Unheard(Struct, frozen=True):
    """An event of this name, which we never asked for."""

    name: str = "SomethingNew"


ROOT: Final = Path(__file__).parents[3]
"""The folder of our plugins."""
Report = Opened | Asked | Commanded | ComesBack | Called | Stopped | Escaped | Unheard


# --- What a host records. Each Ran, Calling, Edited and Said is one request to the model --------------------


class Prompt(Struct, frozen=True):
    """A person's prompt. `read_only`: in plan mode."""

    text: str
    read_only: bool = False


class Ran(Struct, frozen=True):
    """The agent ran a command."""

    command: str
    exit_code: int
    output: str


class Calling(Struct, frozen=True):
    """The agent called a command, which still runs."""

    command: str


class Edited(Struct, frozen=True):
    """The agent wrote a file."""

    path: str


class Said(Struct, frozen=True):
    """The agent's last message of a turn."""

    text: str


class WasSentBack(Struct, frozen=True):
    """Our words reached the agent."""

    text: str


class WasInterrupted(Struct, frozen=True):
    """The user interrupted the agent."""


Step = Prompt | Ran | Calling | Edited | Said | WasSentBack | WasInterrupted


# --- What a host makes of an answer -------------------------------------------------------------------------


class Result(Struct, frozen=True):
    """What comes of an answer.

    `to_agent` is what the model reads in addition, `to_person` what is shown. `ended`: the prompt goes no
    further. `session` is added to the call of our tool. `rang`: the person hears an alarm.
    """

    to_agent: str = ""
    to_person: str = ""
    ended: bool = False
    session: str = ""
    rang: bool = False


def take(answer: Fields, *known: str) -> list[Any]:
    """Return these fields of an answer, "" for each that is absent; any other field fails the scene."""
    assert not set(answer) - set(known), f"the host does not take {sorted(set(answer) - set(known))}"
    return [answer.get(name, "") for name in known]


Reader: TypeAlias = Transcripts


class HostAdapter(ABC):
    """One host in the scenes, with one session and its record.

    `host` is the name in session keys, `session` an id as the host writes them. `said_limit` is the largest
    number of characters of ours that reaches the agent. `cannot` names scenes that this host cannot show,
    by the test's name without `test_`, with the reason in one line.
    """

    host: ClassVar[str]
    title: ClassVar[str]
    session: ClassVar[str] = "0b6e6f54-2d4c-4f0e-9d0e-0f6f4b1f7a11"
    said_limit: ClassVar[int] = 20_000
    environment: ClassVar[Mapping[str, str]] = {}
    cannot: ClassVar[Mapping[str, str]] = {}

    def __init__(self, record: Path) -> None:
        """`record` is the file of the session's record; a host that has none of its own may keep it there."""
        self.record = record
        self.record.touch()
        self.codec = build_codecs()[self.host]
        self._late: deque[Step] = deque()
        self._reader = self.reader(self._pause)

    @abstractmethod
    def report(self, report: Report) -> Fields | None:
        """Return the JSON in which the host reports this, None where it reports nothing."""

    def prompt_hook(self) -> str:
        """Return the shell line of ours that the host runs when a prompt was typed, from its own file."""
        raise NotImplementedError

    @abstractmethod
    def write(self, step: Step) -> None:
        """Record a step as the host does, by `append` or otherwise."""

    @abstractmethod
    def result(self, report: Report, answer: Fields) -> Result:
        """Say what the host does with our answer to a report; fail where it does not take it (see `take`)."""

    @abstractmethod
    def reader(self, pause: Callable[[float], Awaitable[object]]) -> Reader:
        """Return a new reader of records, which waits by `pause` for what is late."""

    async def read_with(self, reader: Reader, stop: AgentStopped, counted_to: int) -> Turn:
        """Let `reader` read the record."""
        return await reader.read(stop, counted_to)

    # --- for adapters and scenes; nothing to write anew ---

    def append(self, *lines: Fields) -> None:
        """Append to the record, one JSON object per line."""
        with self.record.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

    def play(self, *steps: Step) -> None:
        """Record all of this."""
        for step in steps:
            self.write(step)

    def play_late(self, *steps: Step) -> None:
        """Record this while the reader waits, one step in each pause."""
        self._late.extend(steps)

    def raw(self, report: Report) -> bytes:
        """Return what the host writes to report this. It must report it."""
        told = self.report(report)
        assert told is not None, f"{self.title} does not report {report}"
        return json.dumps(told).encode()

    def decode(self, report: Report, **environment: str) -> AnyHostEvent:
        """Decode what the host writes to report this."""
        return self.codec.decode(self.raw(report), {**self.environment, **environment}, 42)

    def stop(self, report: Stopped | None = None, **environment: str) -> AgentStopped:
        """Decode a stop."""
        event = self.decode(report or Stopped(), **environment)
        assert isinstance(event, AgentStopped)
        return event

    def answer(self, report: Report, answer: HostAnswer, feedback: str = "") -> Result:
        """Say what the host makes of an answer of ours."""
        encoded = self.codec.encode(self.raw(report), answer, feedback)
        return self.result(report, json.loads(encoded or b"{}"))

    async def read(self, stop: AgentStopped | None = None, counted_to: int = -1) -> Turn:
        """Read the turn that a stop ends, with the same reader each time."""
        return await self.read_with(self._reader, stop or self.stop(), counted_to)

    async def read_anew(self, counted_to: int = -1) -> Turn:
        """Read it with a reader that has seen nothing, as after a start of the sidecar."""
        return await self.read_with(self.reader(self._pause), self.stop(), counted_to)

    def works(self) -> bool:
        """Return whether the record shows a call of the agent that runs."""
        return self._reader.unanswered(SessionKey(self.host, self.session), str(self.record))

    async def next_step(self, stop: AgentStopped) -> Effect | Ruling:
        """Return what policy makes of a stop while a goal is active: ReadProjectState where it is judged."""
        goal = Goal(id="g1", condition="all tests pass")
        session = Session(key=stop.key, project=stop.project, goal=goal)
        inquiry, step = begin_inquiry(Inquiry(session=session, stop=stop, settings=Settings()))
        if isinstance(step, ReadTurn):
            _, step = advance_inquiry(inquiry, TurnRead(await self.read(stop)), 0.0)
        return step

    async def _pause(self, _seconds: float) -> None:
        if self._late:
            self.write(self._late.popleft())


def hosts() -> list[type[HostAdapter]]:
    """Return the adapters of the files beside this one."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.name.startswith(("conftest", "test_")):
            importlib.import_module(f"contracts.hosts.{path.stem}")
    return sorted(HostAdapter.__subclasses__(), key=lambda host: host.title)
