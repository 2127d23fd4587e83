"""Stands between an editor and an agent that speak the Agent Client Protocol, and holds a turn's end.

Rules of this file:

- Every line is passed on as it came, in both directions. The exceptions: the response by which a turn ends
  well is held until the sidecar has judged it; a prompt that is one of our commands is answered here; our
  commands are added to those of the agent.
- Requests of our own go to the agent alone. Their ids are strings that begin with `supervisor-`, and their
  responses take the place of the one that is held.
- Nothing here keeps the editor waiting for a sidecar that does not answer: the agent then rests as without
  us, and a line says so. A command that nothing would enforce is refused.
- The person wins: a judging that they cancel ends at once, and so does one when a newer prompt comes.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw, Struct

from sidecar.hosts.acp import link
from sidecar.hosts.acp.codec import (
    AcpAnswer,
    AcpEvent,
    CommandSent,
    PromptSent,
    SessionOpened,
    TurnBroken,
    TurnEnded,
)
from sidecar.hosts.acp.record import SessionRecord
from sidecar.hosts.shared import SESSION_ID_PATTERN, try_decode
from sidecar.kernel.errors import BadInputError
from sidecar.platform.rpc import encode_call, encode_result

COMMAND_PREFIX: Final = "/supervisor:"
READ_ONLY_MODES: Final = frozenset({"plan", "read-only", "ask"})
"""Modes in which agents change nothing. Some agents' ids are URLs that end with `#plan`."""
SESSION_TOTALS: Final = frozenset({"Copilot"})
"""Agents whose responses tell the tokens of the whole session so far; the others tell those of a turn."""
OPENING: Final = ("session/new", "session/load", "session/resume", "session/fork")
ANSWERED: Final = ("initialize", "session/set_mode", "session/set_config_option", *OPENING)
"""Requests of the editor whose responses are read here."""
CANCELLED: Final = b'{"stopReason":"cancelled"}'
DONE: Final = b'{"stopReason":"end_turn"}'

Patience = tuple[float, float]
"""Longest silence and longest wait for one answer, in seconds; a working sidecar speaks every 2 s."""
TOLD: Final = (5.0, 5.0)
COMMAND: Final = (6.0, 30.0)
STOP: Final = (20.0, 900.0)
Working = Callable[[dict[str, str]], None]
"""Gets what is done while an answer is waited for, by session."""
Tell = Callable[[AcpEvent, Patience, Working], Awaitable[AcpAnswer]]
"""Returns the sidecar's answer to an event. Raises OSError, and BadInputError where it refuses."""


class Wire(Protocol):
    """Lines to and from the editor, or the agent, without their line ends."""

    async def say(self, line: bytes) -> None:
        """Send a line; lost where nobody reads any more."""

    async def hear(self) -> bytes | None:
        """Return the next line, None after the last."""


class _Head(Struct, frozen=True):
    """What a line is: a request or notification (`method`), or a response."""

    id: Raw = Raw(b"")
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")


class _Fields(Struct, frozen=True, rename="camel"):
    """What is used of requests of the editor, of their results, of errors, and of updates about modes."""

    session_id: str = ""
    cwd: str = ""
    prompt: tuple[link.AcpContentBlock, ...] = ()
    mode_id: str = ""
    current_mode_id: str = ""
    modes: _Fields | None = None
    update: _Fields | None = None
    config_options: tuple[link.ConfigOption, ...] | None = None
    agent_info: _Fields | None = None
    name: str = ""
    message: str = ""

    @property
    def mode(self) -> str:
        """The session's mode, "" where nothing is told of it."""
        told = next((one.mode for one in (self.update, self.modes) if one), "") or self.current_mode_id
        options = (one.current_value for one in self.config_options or () if one.category == "mode")
        return told or str(next(options, self.mode_id))


class _Session:
    """One session of the editor. `name`: its id in our keys, which is safe as a file name."""

    def __init__(self, ident: str, folder: str) -> None:
        safe = SESSION_ID_PATTERN.fullmatch(ident)
        self.id, self.folder = ident, folder
        self.name = ident if safe else hashlib.sha256(ident.encode("utf-8", "replace")).hexdigest()
        self.mode = self.notice = ""
        self.listed = False
        self.total = 0
        self.opening: asyncio.Task[None] | None = None
        self.turn: _Turn | None = None
        self.record = SessionRecord(time.time)

    @property
    def about(self) -> dict[str, str]:
        return {"session": self.name, "directory": self.folder}

    @property
    def read_only(self) -> bool:
        return self.mode.rpartition("#")[2] in READ_ONLY_MODES


class _Turn:
    """One prompt of the editor, from its request (`asked` is the id) to our response.

    `works`: the agent has it now; `held` gets its result then. `end` is what the editor is answered if it
    ends here. `spent`: usage of the responses that were held. `shown`: what was said last of the judging.
    """

    def __init__(self, session: _Session, asked: Raw, text: str) -> None:
        self.session, self.asked, self.text = session, asked, text
        self.works = self.over = False
        self.end, self.shown = CANCELLED, ""
        self.spent: dict[str, int] = {}
        self.held: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.cancel: Callable[[], object] = lambda: None


class AcpProxy:
    """One proxy, between one editor and one agent, from `run` to the end of either."""

    def __init__(
        self, editor: Wire, agent: Wire, tell: Tell, commands: Sequence[dict[str, Any]], folder: str
    ) -> None:
        """`commands` are ours, as the protocol lists them. `folder`: of a session that names none."""
        self._editor, self._agent, self._sidecar = editor, agent, tell
        self._commands, self._folder = commands, folder
        self._sessions: dict[str, _Session] = {}
        self._asked: dict[bytes, tuple[str, _Fields]] = {}
        self._turns: dict[bytes, _Turn] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        own = secrets.token_hex(4)  # the sidecar remembers prompts by their ids, also those of other proxies
        self._ids = (f"supervisor-{own}-{number}" for number in itertools.count(1))
        self._tells_totals = False

    async def run(self) -> None:
        """Pass lines on until the editor or the agent ends."""
        pumps = [
            self._begin(_pump(self._editor, self._from_editor)),
            self._begin(_pump(self._agent, self._from_agent)),
        ]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                pump.result()
        finally:
            for task in (left := [*self._tasks]):
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    # --- what the editor says -------------------------------------------------------------------------------

    async def _from_editor(self, line: bytes) -> None:
        head = try_decode(line, _Head) or _Head()
        given = try_decode(head.params, _Fields) or _Fields()
        if head.method == "session/prompt" and head.id and given.session_id:
            self._prompted(head, given, line)
        elif head.method != "session/cancel" or not await self._cancelled(given.session_id):
            if head.method in ANSWERED:
                self._asked[bytes(head.id)] = head.method, given
            await self._agent.say(line)

    def _prompted(self, head: _Head, given: _Fields, line: bytes) -> None:
        session = self._session(given.session_id)
        typed = "\n".join(block.text for block in given.prompt if block.text).strip()
        turn = _Turn(session, head.id, typed)
        if not typed.startswith(COMMAND_PREFIX):
            others = (f"[{block.type}]" for block in given.prompt if not block.text)
            self._take_over(turn, "\n".join((typed, *others)).strip())
        turn.cancel = self._begin(self._live(turn, line)).cancel

    def _take_over(self, turn: _Turn, prompt: str) -> None:
        """Make it the session's newest turn. An older one that is judged ends as the agent ended it."""
        older, turn.session.turn = turn.session.turn, turn
        if older and not older.works and older.end is not CANCELLED:
            older.cancel()
        turn.session.record.begin(prompt)

    async def _cancelled(self, ident: str) -> bool:
        """End the turn that the agent does not work on; return whether there is one."""
        turn = self._session(ident).turn
        if turn is None or turn.over or turn.works:
            return False
        turn.cancel()
        await self._respond(turn, CANCELLED)
        return True

    # --- what the agent says --------------------------------------------------------------------------------

    async def _from_agent(self, line: bytes) -> None:
        head, told = try_decode(line, _Head) or _Head(), [line]
        if head.method == "session/update":
            told = [self._updated(head, line)]
        elif not head.method and bytes(head.id) in self._asked:
            told += self._answered(*self._asked.pop(bytes(head.id)), head)
        elif not head.method and (turn := self._turns.pop(bytes(head.id), None)):
            told = self._responded(turn, head, line)
        for each in told:
            await self._editor.say(each)

    def _answered(self, method: str, given: _Fields, head: _Head) -> list[bytes]:
        """Take note of the answer to the editor's request; return the list of our commands where none was."""
        told = (try_decode(head.result, _Fields) if head.result else None) or _Fields()
        if method == "initialize":
            self._tells_totals = bool(told.agent_info and told.agent_info.name in SESSION_TOTALS)
        if not head.result or not (ident := told.session_id or given.session_id):
            return []
        session = self._session(ident)
        session.mode = told.mode or given.mode_id or session.mode
        session.folder = given.cwd or session.folder
        if method not in OPENING:
            return []
        session.opening = self._begin(self._open(session, fresh=method == "session/new"))
        listed = _update(ident, "available_commands_update", availableCommands=self._commands)
        return [] if session.listed else [listed]

    def _updated(self, head: _Head, line: bytes) -> bytes:
        news = try_decode(head.params, link.SessionNotification)
        if news is None:
            return line
        session, kind = self._session(news.session_id), news.update.session_update
        if kind == "available_commands_update":
            session.listed = True
            return self._with_ours(line)
        if kind in ("current_mode_update", "config_option_update"):
            session.mode = (try_decode(head.params, _Fields) or _Fields()).mode or session.mode
        elif session.turn and session.turn.works:  # else it is history, or a notice between turns
            session.record.feed(news.update)
        return line

    def _with_ours(self, line: bytes) -> bytes:
        names = {one["name"] for one in self._commands}
        try:
            update = (message := msgspec.json.decode(line))["params"]["update"]
            theirs = [one for one in update.get("availableCommands") or () if one["name"] not in names]
        except (msgspec.DecodeError, LookupError, TypeError):
            return line
        update["availableCommands"] = [*theirs, *self._commands]
        return msgspec.json.encode(message)

    def _responded(self, turn: _Turn, head: _Head, line: bytes) -> list[bytes]:
        """Take the response to a prompt: hold it, or return what the editor is told now."""
        session, turn.works = turn.session, False
        session.record.answered()
        done = try_decode(head.result, link.PromptResponse) if head.result else None
        tokens = done.spent.tokens if done else 0
        session.record.spend(max(0, tokens - session.total))
        session.total = tokens * self._tells_totals
        result, reason = self._summed(turn, head.result) if done else b"", done.stop_reason if done else ""
        turn.over = not (reason == "end_turn" and session.turn is turn)  # else the agent has a newer prompt
        turn.end = result
        if not turn.held.done():
            turn.held.set_result(result)
        if not turn.over:
            return []
        if reason != "end_turn" and session.turn is turn:
            fault = (try_decode(head.error, _Fields) if head.error else None) or _Fields()
            why = "stopped by the user" if reason == "cancelled" else reason or fault.message or "an error"
            self._begin(self._tell(TurnBroken(**session.about, error=why), COMMAND))
        if bytes(head.id) == bytes(turn.asked):
            return [line]
        error = {**msgspec.json.decode(line, type=dict[str, Raw]), "id": turn.asked}
        return [encode_result(turn.asked, result)[:-1] if done else msgspec.json.encode(error)]

    def _summed(self, turn: _Turn, result: Raw) -> bytes:
        """Return a result with the usage of all responses of the turn."""
        found, before = try_decode(result, dict[str, Any]) or {}, turn.spent
        usage = found.get("usage")
        if self._tells_totals or not isinstance(usage, dict):
            return bytes(result)
        turn.spent = {name: n + before.get(name, 0) for name, n in usage.items() if isinstance(n, int)}
        return msgspec.json.encode({**found, "usage": {**usage, **turn.spent}}) if before else bytes(result)

    # --- one turn -------------------------------------------------------------------------------------------

    async def _live(self, turn: _Turn, line: bytes) -> None:
        """Live through a prompt of the editor, until it is answered."""
        session, ours = turn.session, turn.asked
        try:
            if session.opening:
                await asyncio.wait([session.opening], timeout=TOLD[1])
            if not turn.text.startswith(COMMAND_PREFIX):
                await self._announce(session)
            elif said := await self._command(turn):
                line = _prompt(turn.asked, session.id, said)
            else:
                return await self._respond(turn, DONE)
            while not (await self._work(turn, ours, line)).over:
                turn.shown, record = "", session.record.transcript()
                event = TurnEnded(**session.about, record=record, read_only=session.read_only)
                show = partial(self._show, turn)
                answer = await self._tell(event, STOP, "this stop was not judged", show)
                say = answer.say if session.turn is turn else ""
                await self._quote(session, answer.notice if say or not answer.say else "")
                if not say:
                    return await self._respond(turn, turn.end)
                session.record.send_back(answer.continuation)
                ours = Raw(msgspec.json.encode(next(self._ids)))
                line = _prompt(ours, session.id, say)
        except asyncio.CancelledError:
            await self._respond(turn, turn.end)

    async def _work(self, turn: _Turn, ident: Raw, line: bytes) -> _Turn:
        """Let the agent work, until its response is held or was passed on: then the turn is over."""
        turn.held = asyncio.get_running_loop().create_future()
        self._turns[bytes(ident)], turn.works = turn, True
        await self._agent.say(line)
        await turn.held
        return turn

    async def _respond(self, turn: _Turn, result: bytes) -> None:
        if not turn.over:
            turn.over = True
            await self._editor.say(encode_result(turn.asked, result)[:-1])

    async def _command(self, turn: _Turn) -> str:
        """Carry a command out; return what the agent is told of it, "" where that was all."""
        session = turn.session
        name, *given = turn.text.removeprefix(COMMAND_PREFIX).split(maxsplit=1) or [""]
        event = CommandSent(**session.about, id=next(self._ids), name=name, arguments="".join(given))
        answer = await self._tell(event, COMMAND, "nothing would enforce this command")
        await self._quote(session, answer.notice)
        if answer.work:
            self._take_over(turn, turn.text)
        return answer.context if answer.work else ""

    async def _announce(self, session: _Session) -> None:
        """Tell of a prompt, and show what the person is to know."""
        event = PromptSent(**session.about, id=next(self._ids), read_only=session.read_only)
        answer = await self._tell(event, TOLD)
        notices, session.notice = (session.notice, answer.notice), ""
        await self._quote(session, "\n".join(filter(None, notices)))

    def _show(self, turn: _Turn, judging: dict[str, str]) -> None:
        """Show what is done, each thing once: the time that it takes is told last."""
        doing = judging.get(turn.session.name, "").rpartition(", ")[0]
        if doing and doing != turn.shown:
            turn.shown = doing
            self._begin(self._chunk(turn.session, "agent_thought_chunk", f"Supervisor: {doing}\n"))

    async def _quote(self, session: _Session, text: str) -> None:
        """Show the person a text of ours, marked off from what the agent says."""
        if text:
            quoted = "\n".join(f"> {line}" for line in text.splitlines())
            await self._chunk(session, "agent_message_chunk", f"\n\n{quoted}\n\n")

    async def _chunk(self, session: _Session, kind: str, text: str) -> None:
        await self._editor.say(_update(session.id, kind, content={"type": "text", "text": text}))

    # --- the sidecar ----------------------------------------------------------------------------------------

    async def _open(self, session: _Session, *, fresh: bool) -> None:
        session.notice = (await self._tell(SessionOpened(**session.about, fresh=fresh), COMMAND)).notice

    async def _tell(
        self, event: AcpEvent, patience: Patience, so: str = "", working: Working = lambda _: None
    ) -> AcpAnswer:
        """Return the sidecar's answer, or what the person is told instead: `so` follows, "" for nothing."""
        try:
            return await self._sidecar(event, patience, working)
        except (BadInputError, OSError) as error:
            way = f"Supervisor did not answer ({error}): {so}. Type in a shell: supervisor doctor"
            notice = f"Supervisor: {error}" if isinstance(error, BadInputError) else way
            return AcpAnswer(notice=notice if so else "")

    # --- what all of it needs -------------------------------------------------------------------------------

    def _session(self, ident: str) -> _Session:
        return self._sessions.setdefault(ident, _Session(ident, self._folder))

    def _begin(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _pump(wire: Wire, take: Callable[[bytes], Awaitable[None]]) -> None:
    while (line := await wire.hear()) is not None:
        await take(line)


def _update(session: str, kind: str, **fields: object) -> bytes:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return encode_call("session/update", params)[:-1]


def _prompt(ident: Raw, session: str, text: str) -> bytes:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    return encode_call("session/prompt", params, ident)[:-1]
