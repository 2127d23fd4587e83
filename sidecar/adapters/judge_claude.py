"""Asks the host's own model: `claude -p`, without tools, plugins, settings or a trace.

The answer must fit model/verdict.py to the letter; one that does not is sent back once with what is wrong.
Everything that goes wrong is a JudgeFailed with one line for a person. All tries share one deadline. The case
goes in by standard input; instructions and rubric are an argument, which other users of the machine may list.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters import processes
from sidecar.adapters.judge_prompt import Prompt, word, word_repair
from sidecar.adapters.judge_schema import answer_schema
from sidecar.adapters.processes import Ending, Finished
from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.verdict import Answer, Judgement, Verdict
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.model.effects import Case
    from sidecar.model.settings import Settings

BACKEND: Final = "claude-cli"
MARKER: Final = "SUPERVISOR_WORKER"
"""Set for what we start, so that our own hooks in it keep quiet."""
RETRIES: Final = "2"
"""How often the host repeats a request that failed; it honours the model's Retry-After."""
OUTPUT_LIMIT: Final = 1 << 21
"""Bytes of the host's answer that are kept, half from each end; its own limit is far below."""
LINE_LIMIT: Final = 200
"""Characters of what a host or model said that go into a reason."""
NULL: Final = Raw(b"null")
ENGINES: Final = frozenset(("bun", "deno", "node"))
"""Programs that may run a host's script: as CLAUDE_CODE_EXECPATH they are not the host."""
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


class _Result(Struct, frozen=True):
    """What `claude -p --output-format json` prints."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str | None = None
    api_error_status: int | None = None
    structured_output: Raw = NULL
    usage: _Usage = _Usage()
    total_cost_usd: float = 0.0

    @property
    def answer(self) -> str:
        """What the model answered: by the tool it was told to use, else what looks like it in its text."""
        given = bytes(self.structured_output)
        if given != bytes(NULL):
            return given.decode("utf-8", "replace")
        said = self.result or ""
        return said[said.find("{") : said.rfind("}") + 1] or said


class _Bill(Struct):
    """What all tries cost. Tokens are uncached input plus output."""

    tokens: int = 0
    cents: float = 0.0

    def add(self, result: _Result) -> None:
        usage = result.usage
        self.tokens += usage.input_tokens + usage.cache_creation_input_tokens + usage.output_tokens
        self.cents += 100 * result.total_cost_usd


class _NoVerdictError(Exception):
    """No verdict can be had. The text is one line for a person."""


class _UnfitError(Exception):
    """The model answered, but not in the asked form. The text says what is wrong."""


class ClaudeCliJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md and repair.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """This one, where the host is found."""
        try:
            return Chosen(BACKEND, f"`claude` is at {_program(environment)}")
        except _NoVerdictError as error:
            return Chosen("", str(error))

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        bill = _Bill()
        try:
            call = _Call(environment, settings, bill)
            verdict = await self._verdict(call, word(case, self._texts))
        except _NoVerdictError as error:
            return JudgeFailed(str(error), bill.tokens)
        except (OSError, UnicodeError) as error:
            return JudgeFailed(f"the judge could not be asked: {error}", bill.tokens)
        return Judged(Judgement(verdict=verdict, backend=BACKEND, tokens=bill.tokens, cents=bill.cents))

    async def _verdict(self, call: _Call, prompt: Prompt) -> Verdict:
        """Ask, and once more where the answer is unfit."""
        answer = await call.answer(prompt)
        try:
            return _fit(answer)
        except _UnfitError as fault:
            again = word_repair(prompt, answer, str(fault), self._texts)
        try:
            return _fit(await call.answer(again))
        except _UnfitError as fault:
            raise _NoVerdictError(f"the judge's answer was unfit twice: {_line(str(fault))}") from None


class _Call:
    """How the host is asked about one case, as often as it takes, until one deadline."""

    def __init__(self, environment: Mapping[str, str], settings: Settings, bill: _Bill) -> None:
        """The deadline begins now. Raises _NoVerdictError where there is no host."""
        self._program = _program(environment)
        self._environment = {**environment, MARKER: "1", "CLAUDE_CODE_MAX_RETRIES": RETRIES}
        self._settings = settings.judge
        self._model = getattr(settings.tiers, settings.judge.model, settings.judge.model)
        self._bill = bill
        self._until = asyncio.get_running_loop().time() + settings.judge.seconds

    async def answer(self, prompt: Prompt) -> str:
        """What the model answered, fit or not. Raises _NoVerdictError where it did not, OSError."""
        with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
            ended = await processes.run(
                (self._program, *_arguments(prompt.system, self._model)),
                cwd=folder,
                environment=self._environment | {"PWD": folder},
                seconds=self._until - asyncio.get_running_loop().time(),
                stdin=prompt.case.encode("utf-8", "replace"),
                keep=OUTPUT_LIMIT,
                separate=True,
            )
        if ended.ending is Ending.TIMED_OUT:
            raise _NoVerdictError(f"the judge did not answer within {self._settings.seconds} s")
        result = _result(ended)
        self._bill.add(result)
        if result.is_error:
            raise _NoVerdictError(_complaint(result))
        return result.answer


def _program(environment: Mapping[str, str]) -> str:
    """The host that the session runs in, else the one on its PATH. Raises _NoVerdictError.

    None inside the project counts, for the project's settings may name variables.
    """
    project = environment.get("CLAUDE_PROJECT_DIR") or environment.get("PWD", "")
    running = PurePath(environment.get("CLAUDE_CODE_EXECPATH", ""))
    found = ""
    if running.is_absolute() and running.name not in ENGINES:
        found = processes.find(running.name, {**environment, "PATH": str(running.parent)}, project)
    found = found or processes.find("claude", environment, project)
    if not found:
        raise _NoVerdictError("no judge model: `claude` is not on the session's PATH")
    return found


def _arguments(system: str, model: str) -> tuple[str, ...]:
    """The options of the host: nothing of the user's or the project's is loaded, and nothing is kept."""
    schema = msgspec.json.encode(answer_schema()).decode()
    return (
        *("-p", "--safe-mode", "--no-session-persistence", "--output-format", "json"),
        *("--json-schema", schema, "--tools", "", "--model", model, "--system-prompt", system),
    )


def _result(ended: Finished) -> _Result:
    """What the host printed; raises _NoVerdictError where that is no result."""
    if ended.ending is Ending.NOT_LAUNCHED:
        raise _NoVerdictError(f"claude could not be started: {_line(ended.reason)}")
    try:
        return msgspec.json.decode(ended.output, type=_Result)
    except msgspec.DecodeError:
        said = _line((ended.errors.strip() or ended.output).decode("utf-8", "replace"))
        raise _NoVerdictError(
            f"claude ended with exit code {ended.exit_code} and no result: {said}"
        ) from None


def _complaint(result: _Result) -> str:
    """Why the host says that the model did not answer, in words that help a person."""
    said = _line(result.result or result.subtype)
    if "/login" in said and result.api_error_status is None:
        return LOGIN
    known = SUBTYPES.get(result.subtype) or STATUSES.get(result.api_error_status or 0)
    return known or f"the model did not answer: {said}"


def _fit(answer: str) -> Verdict:
    """The verdict in an answer. Raises _UnfitError."""
    if not answer.lstrip().startswith("{"):
        raise _UnfitError("it is not in the asked structure")
    try:
        return msgspec.json.decode(answer, type=Answer).answer
    except (msgspec.DecodeError, RecursionError) as error:
        raise _UnfitError(str(error)) from None


def _line(text: str) -> str:
    return " ".join(text.split())[:LINE_LIMIT]
