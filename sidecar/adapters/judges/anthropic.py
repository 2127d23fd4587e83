"""How the Anthropic Messages API is spoken to: https://platform.claude.com/docs/en/api/messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.adapters.judges.prices import Usage, count
from sidecar.adapters.judges.schema import answer_schema
from sidecar.adapters.judges.service import Said

if TYPE_CHECKING:
    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.settings import Service, Settings

OUTPUT_LIMIT: Final = 8192
"""Tokens of an answer, thinking included; a verdict has some hundred."""
NAMES: Final = ("output_config", "format", "json_schema", "structured output")
"""What a complaint about the form names."""
FAULTS: Final = {
    "max_tokens": "the model's answer was cut at its limit of tokens",
    "model_context_window_exceeded": "the case is too long for the model",
    "pause_turn": "the model paused and gave no answer",
    "refusal": "the model refused to judge this stop",
}
"""Ends of an answer that leave no verdict."""


class _Block(Struct, frozen=True):
    """A block of content; those that are not text (thinking) have an empty one."""

    type: str = ""
    text: str = ""


class _Usage(Struct, frozen=True):
    """As the service counts: the three kinds of input are apart. null and nonsense are no error."""

    input_tokens: object = 0
    cache_creation_input_tokens: object = 0
    cache_read_input_tokens: object = 0
    output_tokens: object = 0

    def plain(self) -> Usage:
        """What was written to the cache counts as input: its price differs little."""
        written = count(self.cache_creation_input_tokens)
        cached = count(self.cache_read_input_tokens)
        return Usage(count(self.input_tokens) + written, cached, count(self.output_tokens))


class _Message(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


class AnthropicDialect:
    """Implements `Dialect`. Forms: a JSON schema that the service enforces, then words alone."""

    backend = "anthropic"
    home = "https://api.anthropic.com"
    forms = 2

    def service(self, settings: Settings) -> Service:
        return settings.judge.anthropic

    def url(self, base: str) -> str:
        return f"{base.removesuffix('/v1')}/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})

    def body(self, prompt: Prompt, model: str, form: int) -> dict[str, Any]:
        """The system prompt is the same at every stop of a project, so its end is where the cache begins."""
        system = {"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}
        asked: dict[str, Any] = {
            "model": model,
            "max_tokens": OUTPUT_LIMIT,
            "system": [system],
            "messages": [{"role": "user", "content": prompt.case}],
        }
        if form == 0:
            asked["output_config"] = {"format": {"type": "json_schema", "schema": answer_schema()}}
        return asked

    def read(self, body: bytes) -> Said:
        message = msgspec.json.decode(body, type=_Message)
        text = "".join(block.text for block in message.content if block.type == "text")
        return Said(text, (message.usage or _Usage()).plain(), FAULTS.get(message.stop_reason or "", ""))

    def refuses(self, said: str) -> bool:
        return any(name in said.lower() for name in NAMES)
