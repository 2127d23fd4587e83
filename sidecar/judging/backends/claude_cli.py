"""Asks the model of Claude Code: `claude -p`, without tools, plugins, settings or a stored session.

The case is passed on standard input. Instructions and rubric are a command-line argument, which other users
of the machine can see in the process list. Claude Code itself retries failed requests, within our deadline.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.shared import WORKER_MARKER
from sidecar.hosts.streams import RETRIES, ClaudeResult, explain_claude_failure, find_claude
from sidecar.judging.backends.answer import (
    NoVerdictError,
    OngoingJudgement,
    ask_for_verdict,
    schema_text,
)
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.settings import host_model_name
from sidecar.kernel.text import one_printable_line
from sidecar.platform import processes
from sidecar.platform.api_keys import session_project
from sidecar.platform.processes import ProcessEnding, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.judging.backends.prompt import JudgePrompt
    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.events import JudgeAnswered, JudgeFailed
    from sidecar.kernel.evidence import Verdict
    from sidecar.kernel.settings import Settings


BACKEND: Final = "claude-cli"
MISSING: Final = "`claude` is not on the session's PATH"
OUTPUT_LIMIT: Final = 1 << 21
"""Bytes of Claude Code's output that are kept, half from each end; its own limit is far below."""


class ClaudeCliJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md and repair.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Choose this backend if `claude` is found."""
        program = _find_program(environment)
        return ChosenBackend(BACKEND, f"`claude` is at {program}") if program else ChosenBackend("", MISSING)

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Return one verdict, or why there is none."""
        hearing = OngoingJudgement(BACKEND, host_model_name(settings), settings.judge.seconds)
        return await hearing.close(self._verdict(case, environment, hearing), bounded=False)

    async def _verdict(
        self, case: JudgeCase, environment: Mapping[str, str], hearing: OngoingJudgement
    ) -> Verdict:
        program = _find_program(environment)
        if not program:
            raise NoVerdictError(MISSING)

        async def answer(prompt: JudgePrompt) -> str:
            command = (program, *_claude_arguments(prompt.system, hearing.model))
            return await _run_claude(command, prompt.case, environment, hearing)

        return await ask_for_verdict(answer, case, self._texts)


async def _run_claude(
    command: tuple[str, ...], case: str, environment: Mapping[str, str], hearing: OngoingJudgement
) -> str:
    """Return the model's answer, valid or not. Raises NoVerdictError if there is none, and OSError."""
    with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
        ended = await processes.run_process(
            command,
            cwd=folder,
            environment={**environment, WORKER_MARKER: "1", **RETRIES, "PWD": folder},
            seconds=hearing.left,
            stdin=case.encode("utf-8", "replace"),
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
