"""The wire form of OpenAI's chat completions, which other services and local servers speak too.

Request fields that not all of them know (token limits, temperature) are left out, and answer fields that some
of them omit (usage, reasons) are optional. Who is asked, and about what, is not known here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from sidecar.kernel.decoding import SchemaObject
from sidecar.kernel.settings import TokenUsage, token_count_or_zero
from sidecar.kernel.text import one_printable_line
from sidecar.platform.http import FaultError, extract_error_text

FORMS: Final = 3
"""Ways to request a structure: an enforced schema, then any JSON object, then instructions only."""
FORM_REFUSAL_STATUSES: Final = frozenset((400, 404, 415, 422, 500, 501))
"""Statuses with which services refuse a form that they do not know; a passing failure is none."""
FORM_WORDS: Final = ("json", "schema", "grammar", "structured", "format", "not support")
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


class _Message(Struct, frozen=True):
    content: str | list[_Part] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The answer, without reasoning before it."""
        given = self.content or ""
        said = given if isinstance(given, str) else "".join(part.text for part in given)
        return said.rpartition(THOUGHT)[2] if said.lstrip().startswith("<think>") else said


class _Choice(Struct, frozen=True):
    message: _Message = _Message()
    finish_reason: str | None = None


class _Usage(Struct, frozen=True):
    """Usage as the service counts it: input includes cached tokens. null and invalid values are no error."""

    prompt_tokens: object = 0
    completion_tokens: object = 0
    prompt_tokens_details: dict[str, object] | None = None

    def plain(self) -> TokenUsage:
        """Convert it; the cached tokens are limited to the input."""
        sent = token_count_or_zero(self.prompt_tokens)
        details = self.prompt_tokens_details or {}
        cached = min(sent, token_count_or_zero(details.get("cached_tokens")))
        return TokenUsage(sent - cached, cached, token_count_or_zero(self.completion_tokens))


class _Completion(Struct, frozen=True):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


class ChatAnswer(NamedTuple):
    """The model's text, or `fault` in one line if there is none to use."""

    text: str
    usage: TokenUsage
    fault: str = ""


def completions_url(base: str) -> str:
    """Return the URL to post to."""
    return f"{base.removesuffix('/chat/completions')}/chat/completions"


def authorization(key: str) -> dict[str, str]:
    """Return the headers that identify us; `key` is "" if there is none."""
    return {"authorization": f"Bearer {key}"} if key else {}


def build_request(  # noqa: PLR0913, PLR0917 - the parts of one request
    model: str, system: str, user: str, name: str, schema: SchemaObject, form: int
) -> dict[str, Any]:
    """Return the request body that asks for a structure in this form."""
    asked: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
    }
    strict = {"name": name, "strict": True, "schema": schema}
    wanted = ({"type": "json_schema", "json_schema": strict}, {"type": "json_object"}, None)[form]
    return asked | ({"response_format": wanted} if wanted else {})


def read_completion(body: bytes) -> ChatAnswer:
    """Parse an answer; raises msgspec.DecodeError, or RecursionError if it is nested too deeply."""
    completion = msgspec.json.decode(body, type=_Completion)
    usage = (completion.usage or _Usage()).plain()
    if not completion.choices:
        why = one_printable_line(extract_error_text(body)) or "it sent no choice"
        return ChatAnswer("", usage, f"the model service gave no answer: {why}")
    choice = completion.choices[0]
    fault = FINISH_REASON_FAULTS.get(choice.finish_reason or "", "")
    if choice.message.refusal:
        fault = f"the model refused: {one_printable_line(choice.message.refusal)}"
    return ChatAnswer(choice.message.text, usage, fault)


def refuses_form(said: str) -> bool:
    """Whether an error text is about the requested form."""
    return any(name in said.lower() for name in FORM_WORDS)


async def ask_in_strictest_form(
    ask: Callable[[int], Awaitable[bytes]], forms: range, refuses: Callable[[str], bool]
) -> tuple[int, bytes]:
    """Ask in these forms, one after the other, and return the first that is not refused, and its answer."""
    for form in forms:
        try:
            return form, await ask(form)
        except FaultError as fault:
            last = form == forms[-1]
            if last or fault.passing or fault.status not in FORM_REFUSAL_STATUSES or not refuses(fault.said):
                raise
    raise ValueError("no form to ask in")
