"""Defines what a tool is, independent of the protocol.

Rules of this module:

- One Struct defines a tool's arguments, so the schema that clients see and the validation are the same.
- Texts for models are in rubric/tools.md: `## NAME` describes the tool, `## NAME.FIELD` one of its fields, or
  `## .FIELD` a field of any tool.
- A refusal says what to do instead. It never repeats a client's input in full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from sidecar.kernel.decoding import UNLISTED_KEY
from sidecar.kernel.gate import Gate, GateRun
from sidecar.kernel.journal import Author
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import TOOLSET
from sidecar.kernel.text import clean_line
from sidecar.platform.ports import Clock
from sidecar.rubric.policy import RubricStore
from sidecar.work.progress import Step

if TYPE_CHECKING:
    from sidecar.rubric.texts import Texts
    from sidecar.systems.governance.service import Governance
    from sidecar.systems.iteration.journals import SessionJournals
    from sidecar.systems.supervision.decisions import StopExplainer
    from sidecar.systems.supervision.gate_requests import SessionChecks
    from sidecar.systems.supervision.people import CommandLineService
    from sidecar.systems.taskloop.service import TaskLoops
    from sidecar.systems.tdd.skills import Skills


EXCERPT_LENGTH: Final = 80
"""Characters of a client's input that a refusal may repeat."""

ReportProgress = Callable[[float, float, str], Awaitable[None]]
"""Reports the progress of a call: amount done, total amount, and the current activity."""


AskPerson = Callable[[str], Awaitable[tuple[bool, str] | None]]
"""Asks the person at the client yes or no, and why not; None where it cannot, or they did not answer."""


async def ask_nobody(_question: str) -> tuple[bool, str] | None:
    """Ask nobody, so there is no answer."""
    return None


async def ignore_progress(_done: float, _total: float, _what: str) -> None:
    """Report to nobody."""


class RefusalError(Exception):
    """A tool refuses a call. The message is for the model that called it."""


class UnknownToolError(Exception):
    """There is no tool with this name."""


class NoArguments(Struct, frozen=True):
    """The arguments of a tool that has none."""


class Caller(Struct, frozen=True, kw_only=True):
    """The caller, as far as the entry point knows.

    `bound` is the session that the connection belongs to, None if the host's plugin names one in each call.
    `worker` is the iteration of one of several agents at work, else 0. `pid` is the process at the other end,
    0 if unknown. `person`: its token is one that a person was given.
    """

    bound: SessionKey | None = None
    worker: int = 0
    pid: int = 0
    person: bool = False
    author: Author = Author.AGENT


class Clients(Protocol):
    """Knows the sessions, and what the processes that call for them may do; 0: nobody knows which process."""

    def session(self, ident: str, key: SessionKey | None) -> Session | None:
        """Return the session with this ID, or with this key if one is given; None if unknown."""

    def serves(self, pid: int, key: SessionKey) -> bool:
        """Whether a process may call tools for this session."""

    def may_ask(self, pid: int, session: Session, tool: str, *, person: bool) -> bool:
        """Whether a client may be asked for the answer of a person, during a call of this tool.

        `person`: it has the token of one.
        """


class ToolInvocation(Struct, frozen=True, kw_only=True):
    """One call: its session, its author, and functions that report its progress and ask the person.

    `worker`: see Caller.
    """

    session: Session
    author: Author
    worker: int = 0
    report: ReportProgress = ignore_progress
    ask: AskPerson = ask_nobody


class ToolAnswer(Struct, frozen=True):
    """The result of a tool: data (an instance of the tool's `gives`), and the same as readable text.

    `failed`: what was asked for was not done, so that a command ends in 1.
    """

    data: Struct
    text: str
    failed: bool = False


class ToolHead(Struct, frozen=True, kw_only=True):
    """What is known of a tool without its schemas.

    `reads`: it changes nothing. `repeats`: a second call with the same arguments changes nothing further,
    as is so for one that reads.
    `asks`: it runs something, so the host's permission prompt before the call is never skipped.
    `typed`: clients are promised its output schema; an answer of any other tool is its text.
    """

    name: str
    toolset: TOOLSET
    reads: bool = False
    repeats: bool = False
    asks: bool = False
    typed: bool = False


class AgentTool(ToolHead, frozen=True, kw_only=True):
    """One tool that agents may call.

    `work` gets the call and an instance of `takes`; it raises RefusalError, ToolRuleError, BadInputError.
    """

    gives: type[Struct]
    work: Callable[[ToolInvocation, Any], Awaitable[ToolAnswer]]
    takes: type[Struct] = NoArguments


class Resource(Struct, frozen=True, kw_only=True):
    """Data that a client may read by its address.

    `uri` may end with a field of `takes` in braces. `work` is a tool's, whose data is read, or returns data.
    """

    uri: str
    toolset: TOOLSET
    work: Callable[[ToolInvocation, Any], Awaitable[Struct]]
    takes: type[Struct] = NoArguments


def clip_printable(text: str, limit: int = EXCERPT_LENGTH) -> str:
    """Return a client's text on one line."""
    return clean_line(text, limit)


# --- what the tools may use ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The use cases behind the tools, and the texts of the answers."""

    checks: SessionChecks
    clock: Clock
    explainer: StopExplainer
    governance: Governance
    journals: SessionJournals
    loops: TaskLoops
    people: CommandLineService
    rubrics: RubricStore
    skills: Skills
    words: Texts


# --- JSON Schemas of a tool's Structs -----------------------------------------------------------------------
# A tool's input schema is part of every request to a model, so it has no internal names, no references, no
# empty defaults and no limits that are never reached, and it leaves room for what hosts' plugins add. What a
# list shows is shorter again: no arguments that are unlisted, and of a description that several tools of a
# toolset share only the first. Output schemas are only read by clients.


DEFS_PREFIX: Final = "#/$defs/"
INTERNAL_KEYS: Final = ("title", "description", "additionalProperties")
"""Keys that msgspec adds for Python readers or that the toolbox handles itself."""
BOUND_KEYS: Final = ("minLength", "maxLength", "minItems", "maxItems")
"""Limits of texts and lists. The toolbox checks them and reports violations."""
LARGE: Final = 1_000_000
"""A limit of a number that no model comes near."""
EMPTY_DEFAULTS: Final[tuple[object, ...]] = ("", (), [], {}, None, False)
"""Defaults that only say that an argument is optional."""

JsonSchema = dict[str, Any]


def make_output_schema(kind: type[Struct]) -> JsonSchema:
    """Return the schema of a tool's output; its root is an object, as MCP requires."""
    root, parts = _schema_components(kind)
    return {**root, "$defs": parts} if parts else root


def make_input_schema(kind: type[Struct]) -> JsonSchema:
    """Return the schema of a tool's input, as short as possible. No Struct may contain itself."""
    root, parts = _schema_components(kind)
    return {"type": "object", "properties": {}} | _shorten_schema(root, parts)


def list_schema(schema: JsonSchema, told: set[str]) -> JsonSchema:
    """Return what a model is shown of an input schema. `told`: descriptions that an earlier tool gave."""
    found = {name: value for name, value in schema.items() if name != "description" or value not in told}
    told.update(filter(None, (found.get("description"),)))
    if "properties" in found:
        listed = {name: one for name, one in found["properties"].items() if not is_unlisted(one)}
        found["properties"] = {name: list_schema(one, told) for name, one in listed.items()}
    if "items" in found:
        found["items"] = list_schema(found["items"], told)
    return found


def is_unlisted(schema: JsonSchema) -> bool:
    """Whether a model is not shown this argument: it is marked so, or holds nothing but such ones."""
    parts = schema.get("properties", {}).values()
    return UNLISTED_KEY in schema or bool(parts and all(map(is_unlisted, parts)))


def _schema_components(kind: type[Struct]) -> tuple[JsonSchema, dict[str, JsonSchema]]:
    """Return the root schema and those that it references."""
    (_,), parts = msgspec.json.schema_components([kind], ref_template=DEFS_PREFIX + "{name}")
    for part in parts.values():
        for ours in INTERNAL_KEYS:
            part.pop(ours, None)
    return parts.pop(kind.__name__), parts


def _shorten_schema(schema: JsonSchema, parts: dict[str, JsonSchema]) -> JsonSchema:
    if "$ref" in schema:
        schema = parts[schema["$ref"].removeprefix(DEFS_PREFIX)] | schema
    found = {name: value for name, value in schema.items() if name not in ("$ref", *BOUND_KEYS)}
    if found.get("maximum", 0) >= LARGE:
        del found["minimum"], found["maximum"]
    if "default" in found and (found["default"] in EMPTY_DEFAULTS or "properties" in found):
        del found["default"]
    if not found.get("required", True):
        del found["required"]
    if "enum" in found and all(isinstance(one, str) for one in found["enum"]):
        found = {"type": "string", **found}
    if "properties" in found:
        found["properties"] = {name: _shorten_schema(one, parts) for name, one in found["properties"].items()}
    if "items" in found:
        found["items"] = _shorten_schema(found["items"], parts)
    if "anyOf" in found:  # for a model, a value that may also be null is simply an optional value
        kinds = [_shorten_schema(one, parts) for one in found.pop("anyOf") if one != {"type": "null"}]
        return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), **found}
    return found


# --- progress of a long call: said at once and then again and again; its number never decreases -------------


BEAT_S: Final = 10.0
"""Seconds between two reports. OpenCode gives up after 60 s without one."""

T = TypeVar("T")


class CallProgress:
    """What a call does, reported to its client."""

    def __init__(self, call: ToolInvocation) -> None:
        self._call = call
        self._done, self._total, self._what = 0.0, 0.0, ""
        self._reports: set[asyncio.Task[None]] = set()

    def tell_step(self, step: Step) -> None:
        """Tell the next step; nobody knows how many there will be."""
        done = float(int(self._done) + 1)
        self._tell(done, done + 1, f"{step.kind}: {step.text}")

    def tell_gate(self, ended: int, total: int, gate: Gate, run: GateRun | None) -> None:
        """Tell that a gate began (`run` is None) or ended; `ended` of `total` gates have ended."""
        what = f"{gate.id}: {run.outcome if run else 'running'}"
        self._tell(max(self._done, float(ended)), float(total), what)

    def _tell(self, done: float, total: float, what: str) -> None:
        self._done, self._total, self._what = done, total, what
        self._reports.add(asyncio.create_task(self._report()))

    async def beat(self, clock: Clock) -> None:
        """Report again and again, each time half of the way closer to the next step."""
        while True:
            await clock.pause(BEAT_S)
            if self._total:
                self._done += (int(self._done) + 1 - self._done) / 2
                await self._report()

    async def _report(self) -> None:
        await self._call.report(self._done, self._total, self._what)

    async def end(self) -> None:
        """Wait until all is reported."""
        await asyncio.gather(*self._reports)


async def with_progress(
    clock: Clock, call: ToolInvocation, work: Callable[[CallProgress], Awaitable[T]]
) -> T:
    """Do the work, which is given what it can tell of itself."""
    progress = CallProgress(call)
    beating = asyncio.create_task(progress.beat(clock))
    try:
        return await work(progress)
    finally:
        beating.cancel()
        await progress.end()
