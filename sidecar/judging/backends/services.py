"""The dialects of model services: the Anthropic Messages API, and OpenAI's chat completions.

The OpenAI dialect is also for other services and local servers. Request fields that not all of them know
(token limits, temperature) are left out, and answer fields that some of them omit (usage, reasons) are
optional.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from sidecar.hosts.streams import ClaudeUsage
from sidecar.judging.backends.answer import answer_schema
from sidecar.platform import chat

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "refusal": "the model refused",
}
"""Stop reasons that leave no verdict."""


class _Block(Struct, frozen=True):
    """A block of content; one that is not text (thinking) has an empty `text`."""

    type: str = ""
    text: str = ""


class _Message(Struct, frozen=True):
    content: list[_Block]
    stop_reason: str | None = None
    usage: ClaudeUsage | None = None


class Dialect(NamedTuple):
    """The protocol of one kind of service.

    `home` is the base URL if the settings name none, `service` returns its part of the settings. `forms` is
    the number of ways to request a structure, the strictest first; the last one is by instructions only.
    `url` returns the URL to post to, `headers` those that identify us for a key, "" if there is none, `body`
    the request for a model in a form. `read` parses the answer; it raises msgspec.DecodeError, or
    RecursionError if it is nested too deeply. `refuses`: whether an error text is about the requested form.
    """

    backend: str
    home: str
    forms: int
    service: Callable[[Settings], ServiceSettings]
    url: Callable[[str], str]
    headers: Callable[[str], dict[str, str]]
    body: Callable[[JudgePrompt, str, int], dict[str, Any]]
    read: Callable[[bytes], chat.ChatAnswer]
    refuses: Callable[[str], bool]


def _anthropic_body(prompt: JudgePrompt, model: str, form: int) -> dict[str, Any]:
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


def _read_anthropic(body: bytes) -> chat.ChatAnswer:
    message = msgspec.json.decode(body, type=_Message)
    text = "".join(block.text for block in message.content if block.type == "text")
    fault = STOP_REASON_FAULTS.get(message.stop_reason or "", "")
    return chat.ChatAnswer(text, (message.usage or ClaudeUsage()).counted, fault)


ANTHROPIC: Final = Dialect(
    backend="anthropic",
    home="https://api.anthropic.com",
    forms=2,
    service=lambda settings: settings.judge.anthropic,
    url=lambda base: f"{base.removesuffix('/v1')}/v1/messages",
    headers=lambda key: {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {}),
    body=_anthropic_body,
    read=_read_anthropic,
    refuses=lambda said: any(name in said.lower() for name in ANTHROPIC_FORM_WORDS),
)
"""Forms: a JSON schema that the service enforces, then instructions only."""
OPENAI: Final = Dialect(
    backend="openai",
    home="https://api.openai.com/v1",
    forms=chat.FORMS,
    service=lambda settings: settings.judge.openai,
    url=chat.completions_url,
    headers=chat.authorization,
    body=lambda prompt, model, form: chat.build_request(
        model, prompt.system, prompt.case, "verdict", answer_schema(), form
    ),
    read=chat.read_completion,
    refuses=chat.refuses_form,
)
"""OpenAI's chat completions. Forms: an enforced schema, then any JSON object, then instructions only."""
