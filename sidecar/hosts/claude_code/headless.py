"""Claude Code without a terminal (`claude -p`): where the program is, and what it printed in the end."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from sidecar.kernel.models import token_count_or_zero
from sidecar.kernel.text import one_printable_line
from sidecar.platform import processes

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "2"}
"""How often Claude Code retries a failed request; it honours the model's Retry-After."""
COST_LIMIT: Final = 1000.0
"""Dollars; a higher cost reported by Claude Code is not believed."""
NULL: Final = Raw(b"null")
ENGINES: Final = frozenset(("bun", "deno", "node"))
"""Programs that may run a host's script: as CLAUDE_CODE_EXECPATH they are not the host itself."""
LOGIN: Final = "Claude Code is not logged in: run `claude` and type /login"
STATUSES: Final = {
    401: "the model service refused the credentials (401): run `claude` and type /login, or mend the API key",
    403: "the model service forbids the request (403)",
    404: "the model service does not know the model (404): see judge.model in the settings",
    429: "the limit of the model service is reached (429)",
    529: "the model service is overloaded (529)",
}
SUBTYPES: Final = {
    "error_max_structured_output_retries": "the model gave no answer in the asked form, in several tries",
}


class ClaudeUsage(Struct, frozen=True):
    """Tokens of one or all requests."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Uncached input plus output."""
        return (
            token_count_or_zero(self.input_tokens)
            + token_count_or_zero(self.cache_creation_input_tokens)
            + token_count_or_zero(self.output_tokens)
        )


class ClaudeResult(Struct, frozen=True):
    """The output of `claude -p --output-format json`, and the last line of `stream-json`."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str | None = None
    api_error_status: int | None = None
    structured_output: Raw = NULL
    usage: ClaudeUsage = ClaudeUsage()
    total_cost_usd: float | None = None

    @property
    def answer(self) -> str:
        """The model's answer: the structured output, or else its text."""
        given = bytes(self.structured_output)
        if given != bytes(NULL):
            return given.decode("utf-8", "replace")
        return self.result or ""

    @property
    def cents(self) -> float | None:
        """The cost as reported by Claude Code."""
        cost = self.total_cost_usd
        return None if cost is None or not 0 <= cost <= COST_LIMIT else 100 * cost


def find_claude(environment: Environment, project: str) -> str:
    """Return the `claude` that the session runs in, else the one on its PATH, "" if there is none.

    A program inside the project is ignored, because the project's settings can set variables.
    """
    running = PurePath(environment.get("CLAUDE_CODE_EXECPATH", ""))
    found = ""
    if running.is_absolute() and running.name not in ENGINES:
        found = processes.find_program(running.name, {**environment, "PATH": str(running.parent)}, project)
    return found or processes.find_program("claude", environment, project)


def explain_claude_failure(result: ClaudeResult) -> str:
    """Explain why the model did not answer, in words that help a person."""
    said = one_printable_line(result.result or result.subtype)
    if "/login" in said and result.api_error_status is None:
        return LOGIN
    known = SUBTYPES.get(result.subtype) or STATUSES.get(result.api_error_status or 0)
    return known or f"the model did not answer: {said}"
