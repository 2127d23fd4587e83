"""Asks the model of Claude Code: `claude -p`, without tools, plugins, settings or a stored session.

The case is passed on standard input. Instructions and rubric are a command-line argument, which other users
of the machine can see in the process list. Claude Code itself retries failed requests, within our deadline.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.shared import WORKER_MARKER
from sidecar.hosts.streams import RETRIES, ClaudeResult, explain_claude_failure, find_claude
from sidecar.judging.backends.answer import JudgeRequest, ModelJudge, NoVerdictError, schema_text
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.settings import host_model_name
from sidecar.kernel.text import one_printable_line
from sidecar.platform import processes
from sidecar.platform.api_keys import session_project
from sidecar.platform.processes import ProcessEnding, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.kernel.settings import Settings


BACKEND: Final = "claude-cli"
MISSING: Final = "`claude` is not on the session's PATH"
OUTPUT_LIMIT: Final = 1 << 21
"""Bytes of Claude Code's output that are kept, half from each end; its own limit is far below."""


class ClaudeCliJudge(ModelJudge):
    """Implements `Judge`."""

    backend = BACKEND
    bounded = False

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Choose this backend if `claude` is found."""
        program = _find_program(environment)
        return ChosenBackend(BACKEND, f"`claude` is at {program}") if program else ChosenBackend("", MISSING)

    def model(self, settings: Settings) -> str:
        return host_model_name(settings)

    async def answer(self, asked: JudgeRequest) -> str:
        if not (program := _find_program(asked.environment)):
            raise NoVerdictError(MISSING)
        return await _run_claude(program, asked)


async def _run_claude(program: str, asked: JudgeRequest) -> str:
    hearing = asked.hearing
    with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
        ended = await processes.run_process(
            (program, *_claude_arguments(asked.prompt.system, hearing.model)),
            cwd=folder,
            environment={**asked.environment, WORKER_MARKER: "1", **RETRIES, "PWD": folder},
            seconds=hearing.left,
            stdin=asked.prompt.case.encode("utf-8", "replace"),
            keep=OUTPUT_LIMIT,
            separate=True,
        )
    hearing.begin()
    if ended.ending is ProcessEnding.TIMED_OUT:
        raise hearing.late()
    result = _parse_claude_result(ended)
    hearing.pay(result.usage.counted.tokens, result.cents)
    if result.is_error:
        raise NoVerdictError(explain_claude_failure(result))
    return result.answer


def _find_program(environment: Mapping[str, str]) -> str:
    return find_claude(environment, session_project(environment))


def _claude_arguments(system: str, model: str) -> tuple[str, ...]:
    """Command-line options: load nothing of the user's or the project's, and store nothing."""
    return (
        *("-p", "--safe-mode", "--no-session-persistence", "--output-format", "json"),
        *("--json-schema", schema_text(), "--tools", "", "--model", model, "--system-prompt", system),
    )


def _parse_claude_result(ended: ProcessResult) -> ClaudeResult:
    """Parse the output; raises NoVerdictError if it is not a result."""
    if ended.ending is ProcessEnding.NOT_LAUNCHED:
        raise NoVerdictError(f"claude could not be started: {one_printable_line(ended.reason)}")
    try:
        return msgspec.json.decode(ended.output, type=ClaudeResult)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        said = one_printable_line((ended.errors.strip() or ended.output).decode("utf-8", "replace"))
        raise NoVerdictError(f"claude ended with exit code {ended.exit_code} and no result: {said}") from None
