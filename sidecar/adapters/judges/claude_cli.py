"""Asks the host's own model: `claude -p`, without tools, plugins, settings or a trace.

The case goes in by standard input; instructions and rubric are an argument, which other users of the machine
may list. The host itself repeats a request that failed, within our deadline.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters import processes
from sidecar.adapters.host_words import WORKER_MARKER
from sidecar.adapters.judges.answer import Hearing, NoVerdictError, line, verdict
from sidecar.adapters.judges.models import of_host
from sidecar.adapters.judges.prices import count
from sidecar.adapters.judges.schema import schema_text
from sidecar.adapters.judges.trusted import project_of
from sidecar.adapters.processes import Ending, Finished
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.effects import Case
    from sidecar.model.events import Judged, JudgeFailed
    from sidecar.model.settings import Settings
    from sidecar.model.verdict import Verdict

BACKEND: Final = "claude-cli"
RETRIES: Final = "2"
"""How often the host repeats a request that failed; it honours the model's Retry-After."""
OUTPUT_LIMIT: Final = 1 << 21
"""Bytes of the host's answer that are kept, half from each end; its own limit is far below."""
COST_LIMIT: Final = 1000.0
"""Dollars; what a host claims beyond that is no price."""
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

    @property
    def tokens(self) -> int:
        """Uncached input plus output."""
        return count(self.input_tokens) + count(self.cache_creation_input_tokens) + count(self.output_tokens)


class _Result(Struct, frozen=True):
    """What `claude -p --output-format json` prints."""

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
        """What the model answered: by the tool it was told to use, else what looks like it in its text."""
        given = bytes(self.structured_output)
        if given != bytes(NULL):
            return given.decode("utf-8", "replace")
        return self.result or ""

    @property
    def cents(self) -> float | None:
        """What the host says that it cost."""
        cost = self.total_cost_usd
        return None if cost is None or not 0 <= cost <= COST_LIMIT else 100 * cost


class ClaudeCliJudge:
    """Implements `Judge`."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md and repair.md."""
        self._texts = texts

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:  # noqa: ARG002 - the port's
        """This one, where the host is found."""
        try:
            return Chosen(BACKEND, f"`claude` is at {_program(environment)}")
        except NoVerdictError as error:
            return Chosen("", str(error))

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        hearing = Hearing(BACKEND, of_host(settings), settings.judge.seconds)
        return await hearing.close(self._verdict(case, environment, hearing), bounded=False)

    async def _verdict(self, case: Case, environment: Mapping[str, str], hearing: Hearing) -> Verdict:
        return await verdict(_Call(environment, hearing).answer, case, self._texts)


class _Call:
    """How the host is asked about one case, as often as it takes, until one deadline."""

    def __init__(self, environment: Mapping[str, str], hearing: Hearing) -> None:
        """Raises NoVerdictError where there is no host."""
        self._program = _program(environment)
        self._environment = {**environment, WORKER_MARKER: "1", "CLAUDE_CODE_MAX_RETRIES": RETRIES}
        self._hearing = hearing

    async def answer(self, prompt: Prompt) -> str:
        """What the model answered, fit or not. Raises NoVerdictError where it did not, OSError."""
        with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
            ended = await processes.run(
                (self._program, *_arguments(prompt.system, self._hearing.model)),
                cwd=folder,
                environment=self._environment | {"PWD": folder},
                seconds=self._hearing.left,
                stdin=prompt.case.encode("utf-8", "replace"),
                keep=OUTPUT_LIMIT,
                separate=True,
            )
        self._hearing.begin()
        if ended.ending is Ending.TIMED_OUT:
            raise self._hearing.late()
        result = _result(ended)
        self._hearing.pay(result.usage.tokens, result.cents)
        if result.is_error:
            raise NoVerdictError(_complaint(result))
        return result.answer


def _program(environment: Mapping[str, str]) -> str:
    """The host that the session runs in, else the one on its PATH. Raises NoVerdictError.

    None inside the project counts, for the project's settings may name variables.
    """
    project = project_of(environment)
    running = PurePath(environment.get("CLAUDE_CODE_EXECPATH", ""))
    found = ""
    if running.is_absolute() and running.name not in ENGINES:
        found = processes.find(running.name, {**environment, "PATH": str(running.parent)}, project)
    found = found or processes.find("claude", environment, project)
    if not found:
        raise NoVerdictError("`claude` is not on the session's PATH")
    return found


def _arguments(system: str, model: str) -> tuple[str, ...]:
    """The options of the host: nothing of the user's or the project's is loaded, and nothing is kept."""
    return (
        *("-p", "--safe-mode", "--no-session-persistence", "--output-format", "json"),
        *("--json-schema", schema_text(), "--tools", "", "--model", model, "--system-prompt", system),
    )


def _result(ended: Finished) -> _Result:
    """What the host printed; raises NoVerdictError where that is no result."""
    if ended.ending is Ending.NOT_LAUNCHED:
        raise NoVerdictError(f"claude could not be started: {line(ended.reason)}")
    try:
        return msgspec.json.decode(ended.output, type=_Result)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        said = line((ended.errors.strip() or ended.output).decode("utf-8", "replace"))
        raise NoVerdictError(f"claude ended with exit code {ended.exit_code} and no result: {said}") from None


def _complaint(result: _Result) -> str:
    """Why the host says that the model did not answer, in words that help a person."""
    said = line(result.result or result.subtype)
    if "/login" in said and result.api_error_status is None:
        return LOGIN
    known = SUBTYPES.get(result.subtype) or STATUSES.get(result.api_error_status or 0)
    return known or f"the model did not answer: {said}"
