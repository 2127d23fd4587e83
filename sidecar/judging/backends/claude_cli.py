"""Asks the model of Claude Code: `claude -p`, without tools, plugins, settings or a stored session.

The case is passed on standard input. Instructions and rubric are a command-line argument, which other users
of the machine can see in the process list. Claude Code itself retries failed requests, within our deadline.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw, Struct

from sidecar.hosts.names import WORKER_MARKER
from sidecar.judging.backends.answer import (
    NoVerdictError,
    OngoingJudgement,
    ask_for_verdict,
    schema_text,
)
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.models import host_model_name, token_count_or_zero
from sidecar.kernel.text import one_printable_line
from sidecar.platform import processes
from sidecar.platform.api_keys import session_project
from sidecar.platform.processes import ProcessEnding, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.judging.backends.prompt import JudgePrompt
    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.events import JudgeAnswered, JudgeFailed
    from sidecar.kernel.settings import Settings
    from sidecar.kernel.verdict import Verdict


BACKEND: Final = "claude-cli"
RETRIES: Final = "2"
"""How often Claude Code retries a failed request; it honours the model's Retry-After."""
OUTPUT_LIMIT: Final = 1 << 21
"""Bytes of Claude Code's output that are kept, half from each end; its own limit is far below."""
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


class _Usage(Struct, frozen=True):
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


class _ClaudeResult(Struct, frozen=True):
    """The output of `claude -p --output-format json`."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str | None = None
    api_error_status: int | None = None
    structured_output: Raw = NULL
    usage: _Usage = _Usage()
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


class ClaudeCliJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md and repair.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Choose this backend if `claude` is found."""
        try:
            return ChosenBackend(BACKEND, f"`claude` is at {_find_claude_program(environment)}")
        except NoVerdictError as error:
            return ChosenBackend("", str(error))

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Return one verdict, or why there is none."""
        hearing = OngoingJudgement(BACKEND, host_model_name(settings), settings.judge.seconds)
        return await hearing.close(self._verdict(case, environment, hearing), bounded=False)

    async def _verdict(
        self, case: JudgeCase, environment: Mapping[str, str], hearing: OngoingJudgement
    ) -> Verdict:
        return await ask_for_verdict(_ClaudeCliRequest(environment, hearing).answer, case, self._texts)


class _ClaudeCliRequest:
    """Asks Claude Code about one case, as often as needed, until one deadline."""

    def __init__(self, environment: Mapping[str, str], hearing: OngoingJudgement) -> None:
        """Raises NoVerdictError if `claude` is not found."""
        self._program = _find_claude_program(environment)
        self._environment = {**environment, WORKER_MARKER: "1", "CLAUDE_CODE_MAX_RETRIES": RETRIES}
        self._hearing = hearing

    async def answer(self, prompt: JudgePrompt) -> str:
        """Return the model's answer, valid or not.

        Raises NoVerdictError if there is none, and OSError.
        """
        with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
            ended = await processes.run_process(
                (self._program, *_claude_arguments(prompt.system, self._hearing.model)),
                cwd=folder,
                environment=self._environment | {"PWD": folder},
                seconds=self._hearing.left,
                stdin=prompt.case.encode("utf-8", "replace"),
                keep=OUTPUT_LIMIT,
                separate=True,
            )
        self._hearing.begin()
        if ended.ending is ProcessEnding.TIMED_OUT:
            raise self._hearing.late()
        result = _parse_claude_result(ended)
        self._hearing.pay(result.usage.tokens, result.cents)
        if result.is_error:
            raise NoVerdictError(_explain_claude_failure(result))
        return result.answer


def _find_claude_program(environment: Mapping[str, str]) -> str:
    """Return the `claude` that the session runs in, else the one on its PATH. Raises NoVerdictError.

    A program inside the project is ignored, because the project's settings can set variables.
    """
    project = session_project(environment)
    running = PurePath(environment.get("CLAUDE_CODE_EXECPATH", ""))
    found = ""
    if running.is_absolute() and running.name not in ENGINES:
        found = processes.find_program(running.name, {**environment, "PATH": str(running.parent)}, project)
    found = found or processes.find_program("claude", environment, project)
    if not found:
        raise NoVerdictError("`claude` is not on the session's PATH")
    return found


def _claude_arguments(system: str, model: str) -> tuple[str, ...]:
    """Command-line options: load nothing of the user's or the project's, and store nothing."""
    return (
        *("-p", "--safe-mode", "--no-session-persistence", "--output-format", "json"),
        *("--json-schema", schema_text(), "--tools", "", "--model", model, "--system-prompt", system),
    )


def _parse_claude_result(ended: ProcessResult) -> _ClaudeResult:
    """Parse the output; raises NoVerdictError if it is not a result."""
    if ended.ending is ProcessEnding.NOT_LAUNCHED:
        raise NoVerdictError(f"claude could not be started: {one_printable_line(ended.reason)}")
    try:
        return msgspec.json.decode(ended.output, type=_ClaudeResult)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        said = one_printable_line((ended.errors.strip() or ended.output).decode("utf-8", "replace"))
        raise NoVerdictError(f"claude ended with exit code {ended.exit_code} and no result: {said}") from None


def _explain_claude_failure(result: _ClaudeResult) -> str:
    """Explain why the model did not answer, in words that help a person."""
    said = one_printable_line(result.result or result.subtype)
    if "/login" in said and result.api_error_status is None:
        return LOGIN
    known = SUBTYPES.get(result.subtype) or STATUSES.get(result.api_error_status or 0)
    return known or f"the model did not answer: {said}"
