"""Calls tools: finds the session, validates the arguments, and words refusals.

Rules of this module:

- The session is the one that the connection belongs to, or the one that the host's plugin names in the
  argument `session`, which no tool lists. It is never guessed.
- Whose session a process may name, and whether a person can be asked through it, its host decides (Clients).
- Unknown and invalid arguments are refused. A list or an object may also be passed as JSON text, and a whole
  number as 1.0, as models often do.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from sidecar.kernel.decoding import allowed_values
from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.session import Session
from sidecar.kernel.settings import TOOLSET
from sidecar.rubric.texts import Texts
from sidecar.servers.tools.tool import (
    EXCERPT_LENGTH,
    AgentTool,
    AskPerson,
    Caller,
    Clients,
    JsonSchema,
    RefusalError,
    ReportProgress,
    Resource,
    ToolAnswer,
    ToolContext,
    ToolHead,
    ToolInvocation,
    UnknownToolError,
    ask_nobody,
    clip_printable,
    ignore_progress,
    list_schema,
    make_input_schema,
    make_output_schema,
)

SESSION_ARGUMENT: Final = "session"
"""The argument that hosts' plugins set."""
VALUE_LENGTH: Final = 2000
"""Maximum length in characters of one value in a refusal."""

T = TypeVar("T")


class ToolOffer(ToolHead, frozen=True, kw_only=True):
    """A tool as clients see it, with JSON Schema objects.

    `listed_schema` is what a model is shown of `input_schema`.
    """

    description: str
    input_schema: JsonSchema
    listed_schema: JsonSchema
    output_schema: JsonSchema


class Toolbox:
    """All tools by name; the settings decide which of them are offered."""

    def __init__(
        self,
        tools: Sequence[AgentTool],
        words: Texts,
        clients: Clients,
        switched_on: Callable[[], Collection[str]],
        resources: Sequence[Resource] = (),
    ) -> None:
        """`switched_on` returns the active toolsets. Raises BadInputError if a tool has no description."""
        self._tools = {tool.name: tool for tool in tools}
        told: dict[TOOLSET, set[str]] = {tool.toolset: set() for tool in tools}
        self._offers = {tool.name: _build_offer(tool, words, told[tool.toolset]) for tool in tools}
        self._resources = tuple(resources)
        self._switched_on = switched_on
        self._clients = clients
        self.words = words

    def all_offers(self) -> tuple[ToolOffer, ...]:
        """Return every tool, switched on or off, in the order of the registry."""
        return tuple(self._offers.values())

    def offers(self) -> tuple[ToolOffer, ...]:
        """Return the tools that are switched on, in the order of the registry."""
        on = self._switched_on()
        return tuple(offer for offer in self._offers.values() if offer.toolset in on)

    def is_typed(self, name: str) -> bool:
        """Whether this tool's answers are structured content; see AgentTool."""
        return self._tools[name].typed

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        caller: Caller,
        report: ReportProgress = ignore_progress,
        ask: AskPerson = ask_nobody,
    ) -> ToolAnswer:
        """Run a tool. Raises RefusalError and UnknownToolError."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(clip_printable(name))
        if tool.toolset not in self._switched_on():
            raise RefusalError(self.words.say("switched-off", tool=name, toolset=tool.toolset))
        session = self._session(arguments.get(SESSION_ARGUMENT, ""), caller)
        given = self._given(tool, {key: value for key, value in arguments.items() if key != SESSION_ARGUMENT})

        async def ask_person(question: str) -> tuple[bool, str] | None:
            may = self._clients.may_ask(caller.pid, session, name, person=caller.person)
            return await ask(question) if may else None

        invocation = ToolInvocation(
            session=session, author=caller.author, worker=caller.worker, report=report, ask=ask_person
        )
        return await self._worded(tool.work(invocation, given))

    def resources(self) -> tuple[str, ...]:
        """Return the addresses of what may be read, of toolsets that are switched on."""
        on = self._switched_on()
        return tuple(one.uri for one in self._resources if one.toolset in on)

    async def read(self, uri: str, session: object, caller: Caller) -> Struct:
        """Read a resource. Raises RefusalError and UnknownToolError."""
        offered = self.resources()
        for one in self._resources:
            prefix, _, field = one.uri.partition("{")
            named = {field[:-1]: unquote(uri.removeprefix(prefix))} if field else {}
            if one.uri in offered and (uri.startswith(prefix) if field else uri == one.uri):
                try:
                    given = msgspec.convert(named, one.takes)
                except msgspec.ValidationError as error:
                    raise UnknownToolError(clip_printable(uri)) from error
                invocation = ToolInvocation(session=self._session(session, caller), author=caller.author)
                found = await self._worded(one.work(invocation, given))
                return found.data if isinstance(found, ToolAnswer) else found
        raise UnknownToolError(clip_printable(uri))

    async def _worded(self, work: Awaitable[T]) -> T:
        """Wait for work; raise what it raises as a RefusalError."""
        try:
            return await work
        except ToolRuleError as error:
            values = {name: clip_printable(value, VALUE_LENGTH) for name, value in error.values.items()}
            raise RefusalError(self.words.say(error.rule, **values)) from error
        except BadInputError as error:
            raise RefusalError(str(error)) from error
        except OSError as error:
            raise RefusalError(self.words.say("unkept", why=error.strerror or str(error))) from error

    def _session(self, named: object, caller: Caller) -> Session:
        if not isinstance(named, str):
            raise RefusalError(self.words.say("no-session"))
        bound = caller.bound
        if bound is None and not named:
            raise RefusalError(self.words.say("no-session"))
        if bound is not None and named not in ("", bound.id):
            raise RefusalError(self.words.say("other-session", session=clip_printable(named)))
        session = self._clients.session(named, bound)
        if session is None:
            raise RefusalError(self.words.say("unknown-session", session=clip_printable(named)))
        if bound is None and not self._clients.serves(caller.pid, session.key):
            raise RefusalError(self.words.say("foreign-session", session=clip_printable(session.key.id)))
        return session

    def _given(self, tool: AgentTool, arguments: Mapping[str, Any]) -> Struct:
        """Return the validated arguments. Raises RefusalError."""
        known = self._offers[tool.name].input_schema["properties"]
        if unknown := [name for name in arguments if name not in known]:
            why = f"there is no argument {clip_printable(unknown[0])!r}"
        else:
            given = {name: _fit_value(value, known[name]) for name, value in arguments.items()}
            try:
                return msgspec.convert(given, tool.takes)
            except (msgspec.ValidationError, RecursionError) as error:
                allowed = allowed_values(str(error), self._offers[tool.name].input_schema)
                why = clip_printable(str(error), 3 * EXCERPT_LENGTH) + allowed
            except UnicodeError:
                why = "a text holds half of a character"
        takes = ", ".join(sorted(known)) or "nothing"
        raise RefusalError(self.words.say("bad-arguments", tool=tool.name, why=why, takes=takes))


def _fit_value(value: Any, schema: JsonSchema) -> Any:  # noqa: ANN401 - whatever a client sent
    """Return a value as the schema wants it, where it is meant but worded in another way; else unchanged.

    Models send lists and objects as JSON text, and whole numbers with a fraction of zero.
    """
    kind = schema.get("type")
    if isinstance(value, str) and kind in ("array", "object"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return value
    if isinstance(value, float) and value.is_integer() and (kind == "integer" or "enum" in schema):
        return int(value)
    if isinstance(value, list) and "items" in schema:
        return [_fit_value(one, schema["items"]) for one in value]
    if isinstance(value, dict) and "properties" in schema:
        return {name: _fit_value(one, schema["properties"].get(name, {})) for name, one in value.items()}
    return value


def _build_offer(tool: AgentTool, words: Texts, told: set[str]) -> ToolOffer:
    taken = make_input_schema(tool.takes)
    for field, schema in taken["properties"].items():
        if about := words.about(f"{tool.name}.{field}", f".{field}"):
            schema["description"] = about
    head = {name: getattr(tool, name) for name in ToolHead.__struct_fields__}
    return ToolOffer(
        **head | {"repeats": tool.repeats or tool.reads},
        description=" ".join(words.say(tool.name).split()),
        input_schema=taken,
        listed_schema=list_schema(taken, told),
        output_schema=make_output_schema(tool.gives),
    )


# --- modules of this folder that define tools ---------------------------------------------------------------


def load_tools(context: ToolContext, modules: Iterable[str]) -> tuple[AgentTool, ...]:
    """Return the tools of these modules of this folder, in order. Raises ValueError for duplicate names."""
    found: dict[str, AgentTool] = {}
    for name in sorted(modules):
        module = importlib.import_module(f"sidecar.servers.tools.{name}")
        make: Callable[[ToolContext], tuple[AgentTool, ...]] = module.tools
        for tool in make(context):
            if tool.name in found:
                raise ValueError(f"two tools are called {tool.name}")
            found[tool.name] = tool
    return tuple(found.values())


def load_resources(context: ToolContext, modules: Iterable[str]) -> tuple[Resource, ...]:
    """Return the resources of those of these modules that have any."""
    found = (importlib.import_module(f"sidecar.servers.tools.{name}") for name in sorted(modules))
    return tuple(one for module in found if hasattr(module, "resources") for one in module.resources(context))
