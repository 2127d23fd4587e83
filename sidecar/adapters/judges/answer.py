"""What every backend shares: one deadline, the verdict in a model's words, the bill, and how failing is told.

The laws of this file:

- A verdict is taken to the letter of model/verdict.py or not at all. Words and fences around it do no harm;
  two different answers in one text, a key that is there twice, and NaN are no answer.
- An answer that is unfit is sent back once, with what is wrong.
- All tries share one deadline. Whatever goes wrong ends as JudgeFailed with one line for a person, and what
  was spent on it is told. Only cancelling raises.

What it does not know: how a model is reached.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from sidecar.adapters.judges.prompt import Prompt, word, word_repair
from sidecar.model.events import Judged, JudgeFailed
from sidecar.model.verdict import Answer, Judgement, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from sidecar.model.effects import Case

ANSWER_LIMIT: Final = 131_072
"""Characters of an answer that is read; a sensible one has a few thousand."""
STARTS: Final = 100
"""Braces of a text at which an object is looked for."""
READ_LIMIT: Final = 4 * ANSWER_LIMIT
"""Characters that are read in all from those braces on, counted again for each."""
LINE_LIMIT: Final = 200
"""Characters of what a host, a service or a model said that go into a reason."""
NAMES: Final = frozenset(("answer", "verdict"))
"""An object in a text with one of these is an answer, or meant to be one."""


class NoVerdictError(Exception):
    """No verdict can be had. The text is one line for a person."""


class UnfitError(Exception):
    """The model answered, but not in the asked form. The text says what is wrong."""


class Hearing:
    """One judgement under way: until when it may go on, and what it has cost so far.

    `tokens`, `calls` and `cents` are as in Judgement; `cents` is None from the first call on whose price
    nobody knows. `trouble` is the last fault that was met by trying again. `seconds` begin now.
    """

    def __init__(self, backend: str, model: str, seconds: float) -> None:
        self.backend = backend
        self.model = model
        self.seconds = seconds
        self.tokens = 0
        self.calls = 0
        self._open = 0
        self.cents: float | None = 0.0
        self.trouble = ""
        self._until = asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - asyncio.get_running_loop().time()

    def begin(self) -> None:
        """A request goes out; what it costs is not known before it is paid or refused."""
        self.calls += 1
        self._open += 1

    def refused(self) -> None:
        """A request was turned away and costs nothing."""
        self._open -= 1

    def pay(self, tokens: int, cents: float | None) -> None:
        """Add what one answer cost."""
        self._open -= 1
        self.tokens += tokens
        self.cents = None if cents is None or self.cents is None else self.cents + cents

    def late(self) -> NoVerdictError:
        """What to say when the deadline is over."""
        last = f"; before that: {self.trouble}" if self.trouble else ""
        return NoVerdictError(f"the judge did not answer within {self.seconds:g} s{last}")

    async def close(self, work: Awaitable[Verdict], *, bounded: bool = True) -> Judged | JudgeFailed:
        """Turn the end of `work` into an event. `bounded`: the deadline ends it, it has no own eye on it."""
        try:
            async with asyncio.timeout(self.left if bounded else None) as limit:
                verdict = await work
        except NoVerdictError as error:
            return self._failed(str(error))
        except TimeoutError as error:
            return self._failed(str(self.late()) if limit.expired() else _unasked(error))
        except (OSError, UnicodeError) as error:
            return self._failed(_unasked(error))
        judgement = Judgement(
            verdict=verdict,
            backend=self.backend,
            model=self.model,
            tokens=self.tokens,
            calls=self.calls,
            cents=self.cents,
        )
        return Judged(judgement)

    def _failed(self, reason: str) -> JudgeFailed:
        cents = self.cents if self.calls and not self._open else None
        return JudgeFailed(line(reason, 2 * LINE_LIMIT), self.tokens, cents, self.backend, self.calls)


def _unasked(error: Exception) -> str:
    return f"the judge could not be asked: {error}"


async def verdict(answer: Callable[[Prompt], Awaitable[str]], case: Case, texts: Path) -> Verdict:
    """Ask by `answer`, and once more where what comes is unfit.

    `texts`: the folder of judge.md and repair.md. Raises NoVerdictError, and OSError or UnicodeError where
    one of them cannot be read.
    """
    prompt = await asyncio.to_thread(word, case, texts)  # a second, where a case is at its worst
    said = await answer(prompt)
    try:
        return read(said)
    except UnfitError as fault:
        again = word_repair(prompt, said[:ANSWER_LIMIT], str(fault), texts)
    try:
        return read(await answer(again))
    except UnfitError as fault:
        raise NoVerdictError(f"the judge's answer was unfit twice: {line(str(fault))}") from None


def read(text: str) -> Verdict:
    """The verdict in a model's words. Raises UnfitError."""
    if len(text) > ANSWER_LIMIT:
        raise UnfitError(f"it has {len(text)} characters; at most {ANSWER_LIMIT} are read")
    if not text.strip():
        raise UnfitError("it is empty")
    try:
        return msgspec.json.decode(_answer(text), type=Answer).answer
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise UnfitError(line(str(error))) from None


def _answer(text: str) -> str:
    """The one object in a text that is an answer, or the whole where the text is nothing but an object."""
    answers = [found for found in _objects(text) if NAMES & found[0].keys()]
    if any(value != answers[0][0] for value, _ in answers):
        raise UnfitError("it holds several answers that differ")
    if answers:
        return answers[0][1]
    if text.lstrip().startswith("{"):
        return text
    raise UnfitError("it is not in the asked structure")


def _objects(text: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The JSON objects in a text that are in no other, each with its spelling."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_each_once, parse_constant=_no_number, parse_int=str, parse_float=str
    )
    start, room = text.find("{"), READ_LIMIT
    for _ in range(STARTS):
        if start < 0 or room < 0:
            return
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            room -= getattr(error, "pos", len(text)) - start
            start = text.find("{", start + 1)
        else:
            yield found, text[start:end]
            start = text.find("{", end)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise UnfitError(f"the key {line(name)} is there twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise UnfitError(f"{name} is no number")


def line(text: str, limit: int = LINE_LIMIT) -> str:
    """A text of others on one line, without control characters, cut to `limit` characters."""
    head = text[: 10 * limit]
    return " ".join("".join(one if one.isprintable() else " " for one in head).split())[:limit]
