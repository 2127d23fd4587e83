"""Interfaces to a host: its messages, its record of a session, and an agent that can be started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Final, Protocol

from msgspec import Meta, Raw, Struct

from sidecar.kernel.effects import HostAnswer
from sidecar.kernel.events import AgentStopped, AnyHostEvent, CommandTyped
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.session import Environment, SessionKey
from sidecar.kernel.turn import Turn


class HookCall(Struct, frozen=True, kw_only=True):
    """Parameters of the method `hook`: the host's unparsed event, and the session's environment."""

    host: str
    event: Raw
    environment: dict[str, str]
    host_pid: int = 0
    version: str = ""


class HostCodec(Protocol):
    """Translates between one host's messages and ours.

    `relayed`: the host starts a process for each event; else it speaks for itself.
    """

    relayed: bool

    def decode(self, raw: bytes, environment: Environment, host_pid: int) -> AnyHostEvent:
        """Turn a host's event into ours. Raises BadInputError."""

    def encode(self, raw: bytes, answer: HostAnswer, feedback: str) -> bytes:
        """Turn an answer to the event `raw` into the JSON object that the host understands.

        `feedback` is the text of the continuation if the answer is one, else empty.
        """


class Transcripts(Protocol):
    """The host's record of a session.

    A position is in the host's own unit: bytes of a transcript, or milliseconds since the epoch.
    """

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`. The cost depends only on what was added since the last read.

        Tokens are counted from the position `counted_to` on, or for this turn only if it is negative.

        Never raises for a missing or damaged transcript: `readable` is false then.
        """

    def position(self, event: CommandTyped) -> int:
        """Return where the record ends now, 0 if there is none."""

    def unanswered(self, key: SessionKey, transcript: str = "", *, but: str = "") -> bool:
        """Return whether a tool call of the agent runs, so that an event may come from that call.

        `transcript`: the path that the host names now, "" for the one that it named before. `but`: only calls
        of other tools count, also those before the last one. False where it is not known. Never raises.
        """

    def ended(self, key: SessionKey, transcript: str) -> float:
        """Return when the agent ended its turn, in seconds since the epoch.

        0.0 while the turn goes on, and where the host keeps no record that shows it. Never raises.
        """

    def queued(self, stop: AgentStopped, position: int) -> bool:
        """Return whether a human prompt was queued at or after `position` and still waits.

        False for a host that reports such prompts itself.
        """


class NothingRecorded:
    """Implements Transcripts for sessions that nobody records: what is known is what a stop reports."""

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        return Turn(last_message=stop.last_message, position=counted_to, readable=False)

    def position(self, event: CommandTyped) -> int:  # noqa: ARG002 - as the port has it
        return 0

    def unanswered(self, key: SessionKey, transcript: str = "", *, but: str = "") -> bool:  # noqa: ARG002
        return False

    def ended(self, key: SessionKey, transcript: str) -> float:  # noqa: ARG002 - as the port has it
        return 0.0

    def queued(self, stop: AgentStopped, position: int) -> bool:  # noqa: ARG002 - as the port has it
        return False


NOTHING_RECORDED: Final = NothingRecorded()


class HostTranscripts:
    """Implements Transcripts: each call goes to the reader of the session's host, by the host's name.

    A host that is not named records nothing.
    """

    def __init__(self, readers: Mapping[str, Transcripts]) -> None:
        self._readers = readers

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        return await self._of(stop.key).read(stop, counted_to)

    def position(self, event: CommandTyped) -> int:
        return self._of(event.key).position(event)

    def unanswered(self, key: SessionKey, transcript: str = "", *, but: str = "") -> bool:
        return self._of(key).unanswered(key, transcript, but=but)

    def ended(self, key: SessionKey, transcript: str) -> float:
        return self._of(key).ended(key, transcript)

    def queued(self, stop: AgentStopped, position: int) -> bool:
        return self._of(stop.key).queued(stop, position)

    def _of(self, key: SessionKey) -> Transcripts:
        return self._readers.get(key.host, NOTHING_RECORDED)


class RecordedSession(Struct, frozen=True, kw_only=True):
    """A recorded session. `began` and `changed` are in seconds since the epoch.

    `transcript` is the file that the host's reader of turns reads; without one, `turn` is the last turn.
    """

    key: SessionKey
    project: str
    began: float
    changed: float
    transcript: str = ""
    turn: Turn | None = None


Name = Annotated[str, Meta(max_length=500)]


class AccessRequest(Struct, frozen=True):
    """The session for which an address is requested; any session if both names are empty.

    `worker`: the iteration of one of several agents at work, else 0.
    """

    host: Name = ""
    session: Name = ""
    worker: int = 0


class McpAccess(Struct, frozen=True):
    """The address at which an agent reaches its session's tools over MCP, and the bearer token."""

    url: str
    token: str


class AgentTask(Struct, frozen=True, kw_only=True):
    """One task for an agent: the prompt, the folder, the environment, and the time limit in seconds.

    `guarded` is the project that it may not write, where it works in a place of its own.
    """

    prompt: str
    project: str
    environment: Environment
    seconds: float
    access: McpAccess | None = None
    guarded: str = ""


class AgentResult(Struct, frozen=True, kw_only=True):
    """How an agent's run ended.

    `said` is the end of the agent's message, at most 20,000 characters. `trouble` says in one line why the
    agent failed: it could not be started, took too long, was killed, ended with an error, or does not speak
    the protocol; "" if it ended well. `unusable`: another start would fail in the same way. `tokens` and
    `cents` are what it says that it spent: 0 and None where it says nothing. `limit`: the model service that
    it uses answers nothing for now, so that the agent could not do its work. `waited`: the seconds in which
    it was not at work because of that.
    """

    said: str = ""
    exit_code: int | None = None
    trouble: str = ""
    unusable: bool = False
    tokens: int = 0
    cents: float | None = None
    limit: ServiceLimit | None = None
    waited: float = 0.0


class AgentRunner(Protocol):
    """Starts a new agent process and waits until it is done."""

    async def run(self, task: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Run once. `hear` gets the output piece by piece. Cancelling kills the agent and all it started."""
