"""JSON-RPC with one agent: we ask one question at a time, and before it answers it may tell and ask.

The laws of this file:

- Every line has a bound. A line that is no JSON-RPC is passed over: programs print banners where they should
  not. After too many of them the agent is one that does not speak the protocol.
- Whatever the agent does wrong is an AgentError whose message is one line for a person.

What it does not know: deadlines; and what the messages mean.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.agents.acp_wire import (
    BAD_PARAMETERS,
    NO_SUCH_METHOD,
    Answer,
    Fault,
    Message,
    News,
    Question,
    Refusal,
)
from sidecar.adapters.dialogue import Dialogue, TooLongError
from sidecar.adapters.text import mended, middle_out, plain, tail

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one line of an agent's."""
JUNK_LIMIT: Final = 100
"""Lines that are no JSON-RPC until an agent is given up."""
MENDED_LIMIT: Final = 1024 * 1024
"""Bytes of a line that is worth reading again when it cannot be read."""
QUOTE: Final = 300
"""Characters that are quoted of what an agent said, in one line."""
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

T = TypeVar("T")
Told = Callable[[str, Raw], None]
"""Takes news: the method and its parameters."""
Asked = Callable[[str, Raw], Struct | None]
"""Answers a question: the method and its parameters; None for a method that is not ours."""


class AgentError(Exception):
    """The agent does not do what the protocol asks. The message says what, in one line.

    `exit_code` is set where it ended.
    """

    def __init__(self, trouble: str, exit_code: int | None = None) -> None:
        super().__init__(trouble)
        self.exit_code = exit_code


class RefusedError(AgentError):
    """The agent answered with an error."""

    def __init__(self, method: str, fault: Fault) -> None:
        why = "" if fault.data == Raw(b"null") else f": {bytes(fault.data).decode('utf-8', 'replace')}"
        super().__init__(f"it refused {method}: {one_line(fault.message + why)} ({fault.code})")
        self.code = fault.code


class Link:
    """The connection to one agent."""

    def __init__(self, dialogue: Dialogue, told: Told, asked: Asked) -> None:
        self._dialogue = dialogue
        self._told = told
        self._asked = asked
        self._method = ""
        self._number = 0
        self._junk: list[str] = []

    async def ask(self, method: str, params: Struct, form: type[T]) -> T:
        """Ask, and wait for the answer; raises AgentError."""
        self._number += 1
        self._method = method
        await self._say(Question(id=self._number, method=method, params=params))
        return await self.answer(form)

    async def answer(self, form: type[T]) -> T:
        """Wait for the answer to the last question, again after waiting was given up; raises AgentError."""
        while True:
            message = await self._next()
            if message.method:
                await self._serve(message)
            elif self._concerns(message):
                return self._read(message, form)

    async def tell(self, method: str, params: Struct) -> None:
        """Tell it something."""
        await self._say(News(method=method, params=params))

    async def _say(self, message: Struct) -> None:
        await self._dialogue.say(msgspec.json.encode(message))

    async def _serve(self, message: Message) -> None:
        """Take news, or answer a question. News that cannot be read are those of a newer protocol."""
        if not message.id:
            with suppress(*UNREADABLE):
                self._told(message.method, message.params)
            return
        try:
            result = self._asked(message.method, message.params)
        except UNREADABLE:
            await self._say(Refusal(id=message.id, error=Fault(BAD_PARAMETERS, "these cannot be read")))
        else:
            unknown = Refusal(id=message.id, error=Fault(NO_SUCH_METHOD, "this client cannot do that"))
            await self._say(Answer(id=message.id, result=result) if result else unknown)

    def _concerns(self, message: Message) -> bool:
        """Whether it answers the last question. An error without a number can concern no other."""
        number = bytes(message.id)
        return number == b"%d" % self._number or (message.error is not None and number == b"null")

    def _read(self, message: Message, form: type[T]) -> T:
        if message.error is not None:
            raise RefusedError(self._method, message.error)
        try:
            return msgspec.json.decode(message.result, type=form)
        except UNREADABLE as error:
            raise AgentError(
                f"its answer to {self._method} cannot be read: {one_line(str(error))}"
            ) from error

    async def _next(self) -> Message:
        """Give the next line that is a message."""
        while True:
            try:
                line = await self._dialogue.hear()
            except TooLongError as error:
                raise AgentError(f"it sent a line of more than {LINE_LIMIT} bytes") from error
            if line is None:
                raise await self._ended()
            if not line or line.isspace():
                continue
            message = _message(line)
            if message.method or message.id:
                return message
            self._pass_over(line[: 4 * QUOTE].decode("utf-8", "replace"))

    def _pass_over(self, said: str) -> None:
        self._junk.append(said)
        if len(self._junk) > JUNK_LIMIT:
            raise AgentError(
                f"it does not speak the Agent Client Protocol; it said: {one_line(self._junk[0])}"
            )

    async def _ended(self) -> AgentError:
        """What to say of an agent that is gone: when, how, and its last words."""
        code = await self._dialogue.exit_code()
        how = "it closed its output" if code is None else f"it ended with exit code {code}"
        words = self._dialogue.errors().decode("utf-8", "replace") or "\n".join(self._junk)
        said = f"; it said: {one_line(tail(words, 4 * QUOTE))}" if words.strip() else ""
        return AgentError(f"{how} before it answered {self._method}{said}", code)


def _message(line: bytes) -> Message:
    """Read a line; an empty message where it is none. JavaScript may send half a character."""
    for text in (line, mended(line) if len(line) <= MENDED_LIMIT else b""):
        with suppress(*UNREADABLE):
            return msgspec.json.decode(text, type=Message)
    return Message()


def one_line(text: str) -> str:
    """Quote what an agent said: without control characters, cut in the middle."""
    words = " ".join(plain(middle_out(text, 8 * QUOTE)).split())
    return middle_out(words, QUOTE).replace("\n", " ")
