"""What all backends share: one deadline, parsing the verdict, the cost, the reason of a failure, the schema.

Rules of this file:

- A verdict must match the types in kernel/evidence.py exactly. Text and code fences around it are allowed;
  two different answers in one text, a duplicate key, and NaN are not.
- An invalid answer is sent back once, with what is wrong.
- All tries share one deadline. Every failure ends as JudgeFailed with one line for a person and with the cost
  so far. Only cancelling raises.

How a model is reached is not known here.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from sidecar.judging.backends.prompt import JudgePrompt, build_judge_prompt, build_repair_prompt
from sidecar.kernel.decoding import (
    ANSWER_LIMIT,
    InvalidAnswerError,
    SchemaObject,
    find_json_objects,
    strict_schema,
)
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Answer, Judgement, Verdict
from sidecar.kernel.text import LINE_LIMIT, one_printable_line
from sidecar.platform.concurrency import Deadline

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.settings import Settings


STRUCTURE_FILE: Final = "structure.md"
ANSWER_KEYS: Final = frozenset(("answer", "verdict"))
"""A JSON object with one of these keys is an answer, or meant to be one."""


class NoVerdictError(ServiceError):
    """No verdict can be obtained. The text is one line for a person."""


class OngoingJudgement(Deadline):
    """A judgement in progress: its deadline and its cost so far.

    The `seconds` until the deadline count from the creation of this object. `tokens`, `calls` and `cents` are
    as in Judgement; `cents` becomes None with the first call whose price is unknown. `trouble` is the last
    fault that was met by trying again.
    """

    def __init__(self, backend: str, model: str, seconds: float) -> None:
        super().__init__(seconds)
        self.backend = backend
        self.model = model
        self.seconds = seconds
        self.tokens = 0
        self.calls = 0
        self._open = 0
        self.cents: float | None = 0.0

    def begin(self) -> None:
        """Count a request that is sent; its cost is unknown until `pay` or `refused`."""
        self.calls += 1
        self._open += 1

    def refused(self) -> None:
        """Note that a request was refused and costs nothing."""
        self._open -= 1

    def pay(self, tokens: int, cents: float | None) -> None:
        """Add the cost of one answer."""
        self._open -= 1
        self.tokens += tokens
        self.cents = None if cents is None or self.cents is None else self.cents + cents

    def late(self) -> NoVerdictError:
        """Return the error for a missed deadline."""
        last = f"; before that: {self.trouble}" if self.trouble else ""
        return NoVerdictError(f"the judge did not answer within {self.seconds:g} s{last}")

    async def close(self, work: Awaitable[Verdict], *, bounded: bool = True) -> JudgeAnswered | JudgeFailed:
        """Turn the result of `work` into an event.

        `bounded`: enforce the deadline here; False if `work` does so itself.
        """
        try:
            async with asyncio.timeout(self.left if bounded else None) as limit:
                verdict = await work
        except ServiceError as error:
            return self._failed(str(error))
        except TimeoutError as error:
            return self._failed(str(self.late()) if limit.expired() else _ask_failure_reason(error))
        except (OSError, UnicodeError) as error:
            return self._failed(_ask_failure_reason(error))
        judgement = Judgement(
            verdict=verdict,
            backend=self.backend,
            model=self.model,
            tokens=self.tokens,
            calls=self.calls,
            cents=self.cents,
        )
        return JudgeAnswered(judgement)

    def _failed(self, reason: str) -> JudgeFailed:
        cents = self.cents if self.calls and not self._open else None
        return JudgeFailed(
            one_printable_line(reason, 2 * LINE_LIMIT), self.tokens, cents, self.backend, self.calls
        )


def _ask_failure_reason(error: Exception) -> str:
    return f"the judge could not be asked: {error}"


class JudgeRequest(NamedTuple):
    """One request to a model: what it is asked, in which judgement, with the environment of the session."""

    prompt: JudgePrompt
    hearing: OngoingJudgement
    environment: Mapping[str, str]
    settings: Settings


class ModelJudge:
    """Implements `Judge` but for `chosen`; each backend has a way to `answer`."""

    backend: str
    bounded = True
    """False where `answer` itself ends in time."""

    def __init__(self, texts: Path) -> None:
        """`texts`: the folder of judge.md, repair.md and structure.md."""
        self.texts = texts

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Return one verdict, or why there is none."""
        hearing = OngoingJudgement(self.backend, self.model(settings), settings.judge.seconds)

        async def answer(prompt: JudgePrompt) -> str:
            return await self.answer(JudgeRequest(prompt, hearing, environment, settings))

        return await hearing.close(ask_for_verdict(answer, case, self.texts), bounded=self.bounded)

    def model(self, settings: Settings) -> str:
        """Return the model that is named, "" where only `answer` knows it."""
        raise NotImplementedError

    async def answer(self, asked: JudgeRequest) -> str:
        """Return the model's answer, valid or not. Raises NoVerdictError if there is none, and OSError."""
        raise NotImplementedError

    def with_structure(self, system: str) -> str:
        """Return instructions for a model whose service does not enforce the structure of its answer."""
        told = (self.texts / STRUCTURE_FILE).read_text(encoding="utf-8").strip()
        return f"{system}\n\n{told}\n\n{schema_text()}"


async def ask_for_verdict(
    answer: Callable[[JudgePrompt], Awaitable[str]], case: JudgeCase, texts: Path
) -> Verdict:
    """Ask by calling `answer`. An answer that breaks the form is sent back once, without the case.

    Words without an answer in them are not asked about again: whoever refuses in prose would do so twice.
    `texts`: the folder of judge.md and repair.md. Raises NoVerdictError, and OSError or UnicodeError if one
    of these files cannot be read.
    """
    # it takes up to a second for the worst case
    prompt = await asyncio.to_thread(build_judge_prompt, case, texts)
    said = await answer(prompt)
    try:
        return parse_verdict(said)
    except InvalidAnswerError as fault:
        if "{" not in said:
            told = one_printable_line(said) or "-"
            raise NoVerdictError(f"the judge gave no verdict; it said: {told}") from None
        again = build_repair_prompt(prompt, said[:ANSWER_LIMIT], str(fault), texts)
    try:
        return parse_verdict(await answer(again))
    except InvalidAnswerError as fault:
        why = one_printable_line(str(fault))
        raise NoVerdictError(f"the judge's answer was unfit twice: {why}") from None


def parse_verdict(text: str) -> Verdict:
    """Parse the verdict in a model's answer. Raises InvalidAnswerError."""
    if len(text) > ANSWER_LIMIT:
        raise InvalidAnswerError(f"it has {len(text)} characters; at most {ANSWER_LIMIT} are read")
    if not text.strip():
        raise InvalidAnswerError("it is empty")
    try:
        return msgspec.json.decode(_extract_answer_json(text), type=Answer).answer
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise InvalidAnswerError(one_printable_line(str(error))) from None


def _extract_answer_json(text: str) -> str:
    """The only object in a text that is an answer, or the whole text if it begins with a brace."""
    answers = [found for found in find_json_objects(text) if ANSWER_KEYS & found[0].keys()]
    if any(value != answers[0][0] for value, _ in answers):
        raise InvalidAnswerError("it holds several answers that differ")
    if answers:
        return answers[0][1]
    if text.lstrip().startswith("{"):
        return text
    raise InvalidAnswerError("it is not in the asked structure")


# --- The JSON schema of a verdict ---------------------------------------------------------------------------


def answer_schema() -> SchemaObject:
    """Return the schema of Answer, with references resolved, objects closed and properties required."""
    return strict_schema(Answer)


@cache
def schema_text() -> str:
    """Return the schema as one line of JSON."""
    return msgspec.json.encode(answer_schema()).decode()
