"""How OpenAI's chat completions are spoken to, and what other services and local servers make of them.

What not all of them know is left out of a request (limits of tokens, temperature), and what they leave out of
an answer (usage, reasons) is not missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.judges.answer import line
from sidecar.adapters.judges.faults import complaint
from sidecar.adapters.judges.prices import Usage, count
from sidecar.adapters.judges.schema import answer_schema
from sidecar.adapters.judges.service import Said

if TYPE_CHECKING:
    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.settings import Service, Settings

NAMES: Final = ("response_format", "json", "schema", "grammar", "structured", "format", "not support")
"""What a complaint about the form names, over the many makers of such services."""
FAULTS: Final = {
    "content_filter": "the model service filtered the model's answer",
    "length": "the model's answer was cut at its limit of tokens",
}
"""Ends of an answer that leave no verdict."""
THOUGHT: Final = "</think>"
"""Ends the thoughts that some local models put before their answer."""


class _Part(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Message(Struct, frozen=True):
    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The answer, without thoughts before it."""
        given = self.content or ""
        said = given if isinstance(given, str) else "".join(part.text for part in given)
        return said.rpartition(THOUGHT)[2] if said.lstrip().startswith("<think>") else said


class _Choice(Struct, frozen=True):
    message: _Message = _Message()
    finish_reason: str | None = None


class _Details(Struct, frozen=True):
    cached_tokens: object = 0


class _Usage(Struct, frozen=True):
    """As the service counts: what it had kept is part of the input. null and nonsense are no error."""

    prompt_tokens: object = 0
    completion_tokens: object = 0
    prompt_tokens_details: _Details | None = None

    def plain(self) -> Usage:
        """What was kept is never more than what was sent."""
        sent = count(self.prompt_tokens)
        cached = min(sent, count((self.prompt_tokens_details or _Details()).cached_tokens))
        return Usage(sent - cached, cached, count(self.completion_tokens))


class _Completion(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


class OpenAiDialect:
    """Implements `Dialect`. Forms: a schema that the service enforces, any JSON object, words alone."""

    backend = "openai"
    home = "https://api.openai.com/v1"
    forms = 3

    def service(self, settings: Settings) -> Service:
        return settings.judge.openai

    def url(self, base: str) -> str:
        return f"{base.removesuffix('/chat/completions')}/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, prompt: Prompt, model: str, form: int) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.case},
            ],
        }
        schema = {"name": "verdict", "strict": True, "schema": answer_schema()}
        wanted = ({"type": "json_schema", "json_schema": schema}, {"type": "json_object"}, None)[form]
        return asked | ({"response_format": wanted} if wanted else {})

    def read(self, body: bytes) -> Said:
        completion = msgspec.json.decode(body, type=_Completion)
        usage = (completion.usage or _Usage()).plain()
        if not completion.choices:
            why = line(complaint(body)) or "it sent no choice"
            return Said("", usage, f"the model service gave no answer: {why}")
        choice = completion.choices[0]
        fault = FAULTS.get(choice.finish_reason or "", "")
        if choice.message.refusal:
            fault = f"the model refused to judge this stop: {line(choice.message.refusal)}"
        return Said(choice.message.text, usage, fault)

    def refuses(self, said: str) -> bool:
        return any(name in said.lower() for name in NAMES)
