"""The dialects of model services: the Anthropic Messages API, and OpenAI's chat completions.

The OpenAI dialect is also for other services and local servers. Request fields that not all of them know
(token limits, temperature) are left out, and answer fields that some of them omit (usage, reasons) are
optional.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.judging.backends.answer import answer_schema, one_printable_line
from sidecar.judging.backends.faults import extract_error_text
from sidecar.judging.backends.prices import TokenUsage, token_count_or_zero
from sidecar.judging.backends.service import ServiceAnswer

if TYPE_CHECKING:
    from sidecar.judging.backends.prompt import JudgePrompt
    from sidecar.kernel.settings import ServiceSettings, Settings


OUTPUT_LIMIT: Final = 8192
"""Maximum tokens of an answer, thinking included; a verdict has some hundred."""
ANTHROPIC_FORM_WORDS: Final = ("output_config", "format", "json_schema", "structured output")
"""Words of an error text about the form."""
STOP_REASON_FAULTS: Final = {
    "max_tokens": "the model's answer was cut at its limit of tokens",
    "model_context_window_exceeded": "the case is too long for the model",
    "pause_turn": "the model paused and gave no answer",
    "refusal": "the model refused to judge this stop",
}
"""Stop reasons that leave no verdict."""


class _Block(Struct, frozen=True):
    """A block of content; one that is not text (thinking) has an empty `text`."""

    type: str = ""
    text: str = ""


class _Usage(Struct, frozen=True):
    """Usage as the service counts it, three kinds of input apart. null and invalid values are no error."""

    input_tokens: object = 0
    cache_creation_input_tokens: object = 0
    cache_read_input_tokens: object = 0
    output_tokens: object = 0

    def plain(self) -> TokenUsage:
        """Input written to the cache counts as plain input, since its price differs little."""
        written = token_count_or_zero(self.cache_creation_input_tokens)
        cached = token_count_or_zero(self.cache_read_input_tokens)
        return TokenUsage(
            token_count_or_zero(self.input_tokens) + written, cached, token_count_or_zero(self.output_tokens)
        )


class _Message(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


class AnthropicDialect:
    """Implements `Dialect`. Forms: a JSON schema that the service enforces, then instructions only."""

    backend = "anthropic"
    home = "https://api.anthropic.com"
    forms = 2

    def service(self, settings: Settings) -> ServiceSettings:
        return settings.judge.anthropic

    def url(self, base: str) -> str:
        return f"{base.removesuffix('/v1')}/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})

    def body(self, prompt: JudgePrompt, model: str, form: int) -> dict[str, Any]:
        """Mark the end of the system prompt for caching: it is the same at every stop of a project."""
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

    def read(self, body: bytes) -> ServiceAnswer:
        message = msgspec.json.decode(body, type=_Message)
        text = "".join(block.text for block in message.content if block.type == "text")
        return ServiceAnswer(
            text, (message.usage or _Usage()).plain(), STOP_REASON_FAULTS.get(message.stop_reason or "", "")
        )

    def refuses(self, said: str) -> bool:
        return any(name in said.lower() for name in ANTHROPIC_FORM_WORDS)


# --- OpenAI's chat completions ------------------------------------------------------------------------------


OPENAI_FORM_WORDS: Final = (
    "response_format",
    "json",
    "schema",
    "grammar",
    "structured",
    "format",
    "not support",
)
"""Words of an error text about the form, from the many makers of such services."""
FINISH_REASON_FAULTS: Final = {
    "content_filter": "the model service filtered the model's answer",
    "length": "the model's answer was cut at its limit of tokens",
}
"""Finish reasons that leave no verdict."""
THOUGHT: Final = "</think>"
"""The end of the reasoning that some local models put before their answer."""


class _Part(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _OpenAiMessage(Struct, frozen=True):
    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The answer, without reasoning before it."""
        given = self.content or ""
        said = given if isinstance(given, str) else "".join(part.text for part in given)
        return said.rpartition(THOUGHT)[2] if said.lstrip().startswith("<think>") else said


class _Choice(Struct, frozen=True):
    message: _OpenAiMessage = _OpenAiMessage()
    finish_reason: str | None = None


class _Details(Struct, frozen=True):
    cached_tokens: object = 0


class _OpenAiUsage(Struct, frozen=True):
    """Usage as the service counts it: input includes cached tokens. null and invalid values are no error."""

    prompt_tokens: object = 0
    completion_tokens: object = 0
    prompt_tokens_details: _Details | None = None

    def plain(self) -> TokenUsage:
        """Convert it; the cached tokens are limited to the input."""
        sent = token_count_or_zero(self.prompt_tokens)
        cached = min(sent, token_count_or_zero((self.prompt_tokens_details or _Details()).cached_tokens))
        return TokenUsage(sent - cached, cached, token_count_or_zero(self.completion_tokens))


class _Completion(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: _OpenAiUsage | None = None


class OpenAiDialect:
    """Implements `Dialect`. Forms: an enforced schema, then any JSON object, then instructions only."""

    backend = "openai"
    home = "https://api.openai.com/v1"
    forms = 3

    def service(self, settings: Settings) -> ServiceSettings:
        return settings.judge.openai

    def url(self, base: str) -> str:
        return f"{base.removesuffix('/chat/completions')}/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, prompt: JudgePrompt, model: str, form: int) -> dict[str, Any]:
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

    def read(self, body: bytes) -> ServiceAnswer:
        completion = msgspec.json.decode(body, type=_Completion)
        usage = (completion.usage or _OpenAiUsage()).plain()
        if not completion.choices:
            why = one_printable_line(extract_error_text(body)) or "it sent no choice"
            return ServiceAnswer("", usage, f"the model service gave no answer: {why}")
        choice = completion.choices[0]
        fault = FINISH_REASON_FAULTS.get(choice.finish_reason or "", "")
        if choice.message.refusal:
            fault = f"the model refused to judge this stop: {one_printable_line(choice.message.refusal)}"
        return ServiceAnswer(choice.message.text, usage, fault)

    def refuses(self, said: str) -> bool:
        return any(name in said.lower() for name in OPENAI_FORM_WORDS)
