"""Asks the model of the OpenCode that the session lives in: in a session of its own, which leaves no trace.

That session belongs to the user's, and to a hidden agent without tools. The plugin lets the model read our
instructions and nothing else: no AGENTS.md, no other server's. What it costs is counted there, and told here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.judges.answer import Hearing, NoVerdictError, line, verdict
from sidecar.adapters.judges.models import ALIASES, of_host
from sidecar.adapters.judges.schema import schema_text
from sidecar.adapters.judges.service import STRUCTURE
from sidecar.adapters.opencode import link, wire
from sidecar.adapters.opencode.messages import complaint
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.effects import Case
    from sidecar.model.events import Judged, JudgeFailed
    from sidecar.model.settings import Settings
    from sidecar.model.verdict import Verdict

BACKEND: Final = "opencode"
AGENT: Final = "supervisor-judge"
"""The hidden agent that the plugin adds to the host."""
TITLE: Final = "Supervisor's judge"
SHORT_S: Final = 15.0
"""Longest wait for a session to be made or deleted, in seconds."""
COST_LIMIT: Final = 1000.0
"""Dollars; what a host claims beyond that is no price."""


class _Made(Struct, frozen=True):
    id: str


class _Info(Struct, frozen=True):
    error: msgspec.Raw = wire.NOTHING
    tokens: wire.Tokens = wire.Tokens()
    cost: float | None = None


class _Answer(Struct, frozen=True):
    info: _Info
    parts: tuple[wire.Part, ...] = ()


class OpenCodeJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md, repair.md and structure.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """This one, where an OpenCode asks."""
        if link.about() is None:
            return Chosen("", "the session is not OpenCode's")
        return Chosen(BACKEND, "the session is OpenCode's")

    async def ask(
        self,
        case: Case,
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
        settings: Settings,
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        model = _model(settings)
        hearing = Hearing(BACKEND, f"{model.provider}/{model.name}", settings.judge.seconds)
        return await hearing.close(self._verdict(case, hearing, model))

    async def _verdict(self, case: Case, hearing: Hearing, model: link.Model) -> Verdict:
        structure = (self._texts / STRUCTURE).read_text(encoding="utf-8").strip()

        async def answer(prompt: Prompt) -> str:
            return await _answer(prompt, f"{prompt.system}\n\n{structure}\n{schema_text()}", hearing, model)

        return await verdict(answer, case, self._texts)


def _model(settings: Settings) -> link.Model:
    """The model that the settings name in OpenCode's way, `provider/model`; else the session's own."""
    provider, _, name = of_host(settings).partition("/")
    if name and provider not in ALIASES:
        return link.Model(provider, name)
    now = link.about()
    return now.model if now is not None else link.Model()


async def _answer(prompt: Prompt, system: str, hearing: Hearing, model: link.Model) -> str:
    """What the model answered, fit or not. Raises NoVerdictError where it did not."""
    now = link.about()
    body: dict[str, Any] = {"parentID": now.session if now else "", "title": TITLE}
    try:
        made = msgspec.json.decode(await link.ask("session.create", {"body": body}, SHORT_S), type=_Made)
    except (link.HostError, msgspec.DecodeError) as error:
        raise NoVerdictError(f"OpenCode made no session for the judge: {line(str(error))}") from None
    path = {"path": {"id": made.id}}
    body = {"agent": AGENT, "system": system, "tools": {"*": False}}
    body |= {"model": {"providerID": model.provider, "modelID": model.name}} if model.name else {}
    body["parts"] = [{"type": "text", "text": prompt.case}]
    hearing.begin()
    try:
        said = await link.ask("session.prompt", {**path, "body": body}, hearing.left)
    except link.HostError as error:
        raise NoVerdictError(f"OpenCode's model did not answer: {line(str(error))}") from None
    finally:
        await _remove(path)
    return _heard(bytes(said), hearing)


async def _remove(path: dict[str, Any]) -> None:
    """Leave no trace, whatever happened; the plugin does so too when it loses us."""
    with suppress(link.HostError):
        await link.ask("session.abort", path, SHORT_S)
    with suppress(link.HostError):
        await link.ask("session.delete", path, SHORT_S)


def _heard(said: bytes, hearing: Hearing) -> str:
    try:
        answer = msgspec.json.decode(said, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoVerdictError(f"OpenCode's answer cannot be read: {line(str(error))}") from None
    cost = answer.info.cost
    hearing.pay(
        answer.info.tokens.total, 100 * cost if cost is not None and 0 <= cost <= COST_LIMIT else None
    )
    fault = wire.decoded(answer.info.error, wire.ERROR)
    if fault is not None:
        raise NoVerdictError(f"OpenCode's model did not answer: {line(complaint(fault))}")
    return "".join(part.text for part in answer.parts if part.type == "text" and not part.synthetic)
