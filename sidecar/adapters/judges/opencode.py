"""Asks the model of the OpenCode that the session lives in: in a session of its own, which leaves no trace.

That session belongs to the user's, and to a hidden agent without tools. The plugin lets the model read our
instructions and nothing else: no AGENTS.md, no other server's. What it costs is counted there, and told here.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.judges.answer import Hearing, NoVerdictError, line, verdict
from sidecar.adapters.judges.models import of_host
from sidecar.adapters.judges.schema import schema_text
from sidecar.adapters.judges.service import STRUCTURE
from sidecar.adapters.opencode import link, wire
from sidecar.adapters.opencode.messages import complaint
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.effects import Case
    from sidecar.model.events import Judged, JudgeFailed
    from sidecar.model.settings import Settings
    from sidecar.model.verdict import Verdict

BACKEND: Final = "opencode"
TITLE: Final = "Supervisor's judge"
SHORT_S: Final = 15.0
"""Longest wait for a session to be made or deleted, in seconds."""


class _Made(Struct, frozen=True):
    id: str


class OpenCodeJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md, repair.md and structure.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """This one, where an OpenCode asks."""
        if link.about() is None:
            return Chosen("", "the session is not OpenCode's")
        named = of_host(settings).partition("/")[2]
        return Chosen(BACKEND, "OpenCode's model of that name" if named else "the session's own model")

    async def ask(
        self,
        case: Case,
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
        settings: Settings,
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        model = _model(settings)
        named = f"{model.provider}/{model.name}" if model.name else ""
        hearing = Hearing(BACKEND, named, settings.judge.seconds)
        return await hearing.close(self._verdict(case, hearing, model))

    async def _verdict(self, case: Case, hearing: Hearing, model: link.Model) -> Verdict:
        structure = (self._texts / STRUCTURE).read_text(encoding="utf-8").strip()

        async def answer(prompt: Prompt) -> str:
            return await _answer(prompt, f"{prompt.system}\n\n{structure}\n{schema_text()}", hearing, model)

        return await verdict(answer, case, self._texts)


def _model(settings: Settings) -> link.Model:
    """The model that the settings name in OpenCode's way, `provider/model`; else the session's own."""
    provider, _, name = of_host(settings).partition("/")
    if name:
        return link.Model(provider, name)
    now = link.about()
    return now.model if now is not None else link.Model()


async def _answer(prompt: Prompt, system: str, hearing: Hearing, model: link.Model) -> str:
    """What the model answered, fit or not. Raises NoVerdictError where it did not."""
    body: dict[str, Any] = {"agent": link.AGENT, "system": system, "tools": {"*": False}}
    body |= {"model": {"providerID": model.provider, "modelID": model.name}} if model.name else {}
    body["parts"] = [{"type": "text", "text": prompt.case}]
    async with _session() as path:
        hearing.begin()
        try:
            said = await link.ask("session.prompt", {"path": path, "body": body}, hearing.left)
        except link.HostError as error:
            raise NoVerdictError(f"OpenCode's model did not answer: {line(str(error))}") from None
    return _heard(bytes(said), hearing)


@asynccontextmanager
async def _session() -> AsyncIterator[dict[str, str]]:
    """A session of ours, as the host's API takes it; it is put away however often we are told to let go."""
    making = asyncio.create_task(_make())
    try:
        yield await asyncio.shield(making)
    finally:
        await asyncio.shield(asyncio.create_task(_remove(making)))


async def _make() -> dict[str, str]:
    now = link.about()
    body = {"parentID": now.session if now else "", "title": TITLE}
    try:
        made = await link.ask("session.create", {"body": body}, SHORT_S)
        return {"id": msgspec.json.decode(made, type=_Made).id}
    except (link.HostError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoVerdictError(f"OpenCode made no session for the judge: {line(str(error))}") from None


async def _remove(making: asyncio.Task[dict[str, str]]) -> None:
    """Leave no trace, whatever happened; the plugin does so too when it loses us."""
    try:
        path = await making
    except NoVerdictError:
        return
    for call in ("session.abort", "session.delete"):
        with suppress(link.HostError):
            await link.ask(call, {"path": path}, SHORT_S)


def _heard(said: bytes, hearing: Hearing) -> str:
    answer = wire.decoded(said, wire.MESSAGE)
    if answer is None:
        raise NoVerdictError("OpenCode's answer cannot be read")
    dollars = wire.cost(answer)
    hearing.pay(wire.tokens(answer), None if dollars is None else 100 * dollars)
    fault = wire.error(answer)
    if fault is not None:
        raise NoVerdictError(f"OpenCode's model did not answer: {line(complaint(fault))}")
    return "".join(part.text for part in wire.parts(answer) if part.type == "text" and not part.synthetic)
