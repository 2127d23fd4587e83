"""Asks a model service over HTTP: finds model, address and key, and the strictest form that it takes.

What differs between services is a Dialect. A form that a service refused is not tried there again as long as
this process lives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from msgspec import Struct

from sidecar.adapters.judges import http, prices
from sidecar.adapters.judges.answer import Hearing, NoVerdictError, verdict
from sidecar.adapters.judges.answer import line as line_of
from sidecar.adapters.judges.faults import FaultError
from sidecar.adapters.judges.keys import Keys
from sidecar.adapters.judges.models import of_service
from sidecar.adapters.judges.schema import schema_text
from sidecar.policy.masking import MASK
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sidecar.adapters.judges.http import Address, Line
    from sidecar.adapters.judges.prices import Usage
    from sidecar.adapters.judges.prompt import Prompt
    from sidecar.model.effects import Case
    from sidecar.model.events import Judged, JudgeFailed
    from sidecar.model.settings import Service, Settings
    from sidecar.model.verdict import Verdict
    from sidecar.ports import Mask

STRUCTURE: Final = "structure.md"
"""What the model is told where its service does not see to the structure; the schema follows."""
REFUSALS: Final = frozenset((400, 404, 415, 422, 501))
"""Statuses with which services refuse a form that they do not know."""
REMEMBERED: Final = 100
"""Services of which the accepted form is remembered."""


class Said(Struct, frozen=True):
    """What a service answered: the model's words, or `fault`, in one line, where there are none to use."""

    text: str
    usage: Usage
    fault: str = ""


class Dialect(Protocol):
    """How one kind of service is spoken to."""

    backend: str
    home: str
    """The base URL where the settings name none."""
    forms: int
    """How many ways there are to ask for a structure, the strictest first, the last one in words alone."""

    def service(self, settings: Settings) -> Service:
        """Its part of the settings."""

    def url(self, base: str) -> str:
        """Where to post."""

    def headers(self, key: str) -> dict[str, str]:
        """What identifies us; `key` is "" where there is none."""

    def body(self, prompt: Prompt, model: str, form: int) -> dict[str, Any]:
        """The request."""

    def read(self, body: bytes) -> Said:
        """The answer; raises msgspec.DecodeError, or RecursionError where it is nested too deep."""

    def refuses(self, said: str) -> bool:
        """Whether a complaint is about the form that was asked for."""


class _Target(Struct, frozen=True):
    """Whom to ask."""

    model: str
    address: Address
    keys: Keys


class ServiceJudge:
    """Implements `Judge`."""

    def __init__(
        self,
        dialect: Dialect,
        texts: Path,
        own: Mapping[str, str],
        secrets: Callable[[Mapping[str, str]], Mask],
    ) -> None:
        """`texts`: the folder of judge.md; `own`: the sidecar's environment; `secrets` makes a mask."""
        self._dialect = dialect
        self._texts = texts
        self._own = own
        self._secrets = secrets
        self._forms: dict[tuple[str, str], int] = {}

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:
        """This one, where model, address and key are there."""
        try:
            target = self._target(environment, settings)
            where = target.keys.place()
        except NoVerdictError as error:
            return Chosen("", str(error))
        key = f"the key is in {where}" if where else "no key, on this machine"
        return Chosen(self._dialect.backend, f"{target.model} at {target.address.authority}; {key}")

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        hearing = Hearing(self._dialect.backend, "", settings.judge.seconds)
        return await hearing.close(self._verdict(case, environment, settings, hearing))

    async def _verdict(
        self, case: Case, environment: Mapping[str, str], settings: Settings, hearing: Hearing
    ) -> Verdict:
        target = self._target(environment, settings)
        hearing.model = target.model
        key = await target.keys.fetch()
        secret = key.secret if key else ""
        veil = self._secrets(environment)

        def mask(text: str) -> str:
            return veil(text.replace(secret, MASK) if secret else text)

        headers = self._dialect.headers(secret)
        async with http.opened(target.address, environment, headers, hearing, mask) as line:
            asking = _Asking(self._dialect, self._forms, target, line, self._texts)

            async def answer(prompt: Prompt) -> str:
                said = await asking.answer(prompt)
                hearing.pay(said.usage.tokens, prices.cents(target.model, said.usage, settings.price))
                if said.fault:
                    raise NoVerdictError(line_of(mask(said.fault)))
                return said.text

            return await verdict(answer, case, self._texts)

    def _target(self, environment: Mapping[str, str], settings: Settings) -> _Target:
        """Whom to ask. Raises NoVerdictError where something is missing."""
        service, backend = self._dialect.service(settings), self._dialect.backend
        to = http.address(service.endpoint or self._dialect.home)
        keys = Keys(service, environment, self._own)
        if not keys.place() and not to.loopback:
            raise NoVerdictError(keys.absence())
        if to.scheme == "http" and not to.loopback:
            raise NoVerdictError(f"judge.{backend}.endpoint must be https: {to.host} is another machine")
        model = of_service(service, settings)
        if not model:
            raise NoVerdictError(f"judge.{backend}.model names no model")
        return _Target(model, to, keys)


class _Asking:
    """One case before one service."""

    def __init__(
        self, dialect: Dialect, forms: dict[tuple[str, str], int], target: _Target, line: Line, texts: Path
    ) -> None:
        self._dialect = dialect
        self._forms = forms
        self._target = target
        self._line = line
        self._texts = texts

    async def answer(self, prompt: Prompt) -> Said:
        """What the service answers, in the strictest form that it takes. Raises NoVerdictError, OSError."""
        place = (self._target.address.url, self._target.model)
        form = self._forms.get(place, 0)
        while True:
            try:
                body = await self._post(prompt, form)
            except FaultError as fault:
                if not self._falls_back(fault, form):
                    raise
                form += 1
            else:
                self._remember(place, form)
                return self._read(body)

    async def _post(self, prompt: Prompt, form: int) -> bytes:
        if form:
            told = (self._texts / STRUCTURE).read_text(encoding="utf-8").strip()
            prompt = prompt._replace(system=f"{prompt.system}\n\n{told}\n\n{schema_text()}")
        asked = self._dialect.body(prompt, self._target.model, form)
        content = msgspec.json.encode(asked)
        return await self._line.post(self._dialect.url(self._target.address.url), content)

    def _falls_back(self, fault: FaultError, form: int) -> bool:
        last = form + 1 == self._dialect.forms
        return not last and fault.status in REFUSALS and self._dialect.refuses(fault.said)

    def _remember(self, place: tuple[str, str], form: int) -> None:
        if len(self._forms) >= REMEMBERED:
            self._forms.clear()
        self._forms[place] = form

    def _read(self, body: bytes) -> Said:
        try:
            return self._dialect.read(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            why = line_of(str(error)) if body.strip() else "nothing"
            raise NoVerdictError(f"the model service answered what is no answer: {why}") from None
