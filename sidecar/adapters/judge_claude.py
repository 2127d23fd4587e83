"""Asks the host's own model: `claude -p`, without tools, plugins, settings or a trace.

The answer must fit model/verdict.py to the letter; one that does not is sent back once with what is wrong.
Everything that goes wrong is a JudgeFailed with one line for a person. All tries share one deadline.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters import processes
from sidecar.adapters.judge_prompt import Prompt, word, word_repair
from sidecar.adapters.judge_schema import answer_schema
from sidecar.adapters.processes import Ending, Finished
from sidecar.model.effects import Case
from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.settings import Settings
from sidecar.model.verdict import Answer, Judgement

MARKER: Final = "SUPERVISOR_WORKER"
"""Set for what we start, so that our own hooks in it keep quiet."""
RETRIES: Final = "2"
"""How often the host repeats a request that failed; it honours the model's Retry-After."""
OUTPUT_LIMIT: Final = 1 << 20
ABSENT: Final = Raw(b"null")
OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class _Usage(Struct, frozen=True):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0


class _Result(Struct, frozen=True):
    """The line that `claude -p --output-format json` ends with."""

    is_error: bool = False
    subtype: str = ""
    result: str = ""
    api_error_status: int | None = None
    structured_output: Raw = ABSENT
    usage: _Usage = _Usage()
    total_cost_usd: float = 0.0

    @property
    def answer(self) -> str:
        """The JSON that the model gave: by the tool it was told to use, else somewhere in its text."""
        if self.structured_output != ABSENT:
            return bytes(self.structured_output).decode("utf-8", "replace")
        found = OBJECT.search(self.result)
        return found[0] if found else self.result

    @property
    def tokens(self) -> int:
        """Uncached input plus output."""
        return self.usage.input_tokens + self.usage.cache_creation_input_tokens + self.usage.output_tokens


class _FailedError(Exception):
    """No answer could be had. The text is one line."""


class ClaudeCliJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md and repair.md."""
        self._texts = texts

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        end = asyncio.get_running_loop().time() + settings.judge.seconds
        tokens, cents, fault = 0, 0.0, ""
        try:
            prompt = word(case, self._texts)
            for _ in range(2):
                result = await self._try(prompt, environment, settings.judge.model, end)
                tokens, cents = tokens + result.tokens, cents + 100 * result.total_cost_usd
                try:
                    verdict = msgspec.json.decode(result.answer, type=Answer).answer
                except (msgspec.DecodeError, RecursionError) as error:
                    fault = str(error)
                    prompt = word_repair(prompt, result.answer, fault, self._texts)
                else:
                    judgement = Judgement(verdict=verdict, backend="claude-cli", tokens=tokens, cents=cents)
                    return Judged(judgement)
        except (_FailedError, OSError) as error:
            return JudgeFailed(f"judge: {error}", tokens)
        return JudgeFailed(f"judge: its answer did not fit, twice: {fault}"[:500], tokens)

    async def _try(self, prompt: Prompt, environment: Mapping[str, str], model: str, end: float) -> _Result:
        claude = processes.find("claude", environment, environment.get("CLAUDE_PROJECT_DIR", ""))
        if not claude:
            raise _FailedError("claude is not on the session's PATH")
        left = end - asyncio.get_running_loop().time()
        if left <= 0:
            raise _FailedError("no answer in time")
        with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
            ended = await processes.run(
                (claude, *_arguments(prompt.system, model)),
                cwd=folder,
                environment={**environment, MARKER: "1", "CLAUDE_CODE_MAX_RETRIES": RETRIES},
                seconds=left,
                stdin=prompt.case.encode("utf-8", "replace"),
                keep=OUTPUT_LIMIT,
                separate=True,
            )
        return _understood(ended)


def _arguments(system: str, model: str) -> tuple[str, ...]:
    schema = msgspec.json.encode(answer_schema()).decode()
    return (
        "-p",
        "--safe-mode",
        "--no-session-persistence",
        "--output-format",
        "json",
        "--json-schema",
        schema,
        "--tools",
        "",
        "--model",
        model,
        "--system-prompt",
        system,
    )


def _understood(ended: Finished) -> _Result:
    """What the host said; raises _FailedError where it is no answer."""
    if ended.ending is Ending.TIMED_OUT:
        raise _FailedError("no answer in time")
    if ended.ending is Ending.NOT_LAUNCHED:
        raise _FailedError(f"claude could not be started: {ended.reason}")
    try:
        result = msgspec.json.decode(ended.output, type=_Result)
    except msgspec.DecodeError:
        said = _line(ended.errors or ended.output)
        raise _FailedError(f"claude ended with {ended.exit_code} and no result: {said}") from None
    if result.is_error and result.structured_output == ABSENT:
        status = f" (status {result.api_error_status})" if result.api_error_status else ""
        raise _FailedError(
            f"the model gave no answer{status}: {_line((result.result or result.subtype).encode())}"
        )
    return result


def _line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())[:200]
