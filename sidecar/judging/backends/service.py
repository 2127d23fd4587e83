"""Asks a model service over HTTP: finds the model, address and key, and the strictest form that it accepts.

A Dialect holds what differs between services. A form that a service refused is not tried there again while
this process runs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.judging.backends.answer import JudgeRequest, ModelJudge, NoVerdictError
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.masking import MASK_TEXT
from sidecar.kernel.settings import answer_price_cents, model_prices, service_model_name
from sidecar.kernel.text import one_printable_line as line_of
from sidecar.platform import http
from sidecar.platform.api_keys import ApiKeyFinder
from sidecar.platform.chat import ask_in_strictest_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sidecar.judging.backends.prompt import JudgePrompt
    from sidecar.judging.backends.services import Dialect
    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.settings import Settings
    from sidecar.platform.chat import ChatAnswer
    from sidecar.platform.http import ServiceAddress, ServiceConnection


REMEMBERED_FORMS_LIMIT: Final = 100
"""Services whose accepted form is remembered."""


class _Target(Struct, frozen=True):
    """The model, the address and the key to use."""

    model: str
    address: ServiceAddress
    keys: ApiKeyFinder


class ServiceJudge(ModelJudge):
    """Implements `Judge`."""

    def __init__(
        self,
        dialect: Dialect,
        texts: Path,
        own: Mapping[str, str],
        secrets: Callable[[Mapping[str, str]], SecretMask],
    ) -> None:
        """`texts` as in ModelJudge; `own`: the environment of the sidecar; `secrets` builds a mask."""
        super().__init__(texts)
        self._dialect, self.backend = dialect, dialect.backend
        self._own = own
        self._secrets = secrets
        self._forms: dict[tuple[str, str], int] = {}

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:
        """Choose this backend if it has a model, an address and a key."""
        try:
            target = self._target(environment, settings)
            where = target.keys.place()
        except ServiceError as error:
            return ChosenBackend("", str(error))
        key = f"the key is in {where}" if where else "no key, on this machine"
        return ChosenBackend(self._dialect.backend, f"{target.model} at {target.address.authority}; {key}")

    def model(self, settings: Settings) -> str:  # noqa: ARG002 - the port's
        return ""

    async def answer(self, asked: JudgeRequest) -> str:
        environment, settings, hearing = asked.environment, asked.settings, asked.hearing
        target = self._target(environment, settings)
        hearing.model = target.model
        key = await target.keys.fetch()
        secret = key.secret if key else ""
        veil = self._secrets(environment)

        def mask(text: str) -> str:
            return veil(text.replace(secret, MASK_TEXT) if secret else text)

        headers = self._dialect.headers(secret)
        async with http.open_service_connection(target.address, environment, headers, hearing, mask) as line:
            said = await self._answer(target, line, asked.prompt)
        cents = answer_price_cents(target.model, said.usage, model_prices(settings))
        hearing.pay(said.usage.tokens, cents)
        if said.fault:
            raise NoVerdictError(line_of(mask(said.fault)))
        return said.text

    def _target(self, environment: Mapping[str, str], settings: Settings) -> _Target:
        """Find the target. Raises NoVerdictError if something is missing."""
        service, backend = self._dialect.service(settings), self._dialect.backend
        to = http.parse_service_address(service.endpoint or self._dialect.home)
        keys = ApiKeyFinder(service, environment, self._own)
        if not keys.place() and not to.loopback:
            raise NoVerdictError(keys.absence())
        if to.scheme == "http" and not to.loopback:
            raise NoVerdictError(f"judge.{backend}.endpoint must be https: {to.host} is another machine")
        model = service_model_name(service, settings)
        if not model:
            raise NoVerdictError(f"judge.{backend}.model names no model")
        return _Target(model, to, keys)

    async def _answer(self, target: _Target, line: ServiceConnection, prompt: JudgePrompt) -> ChatAnswer:
        """Return the answer of the service, in the strictest form that it accepts.

        Raises NoVerdictError, OSError.
        """
        place = (target.address.url, target.model)
        forms = range(self._forms.get(place, 0), self._dialect.forms)
        post = partial(self._post, target, line, prompt)
        form, body = await ask_in_strictest_form(post, forms, self._dialect.refuses)
        if len(self._forms) >= REMEMBERED_FORMS_LIMIT:
            self._forms.clear()
        self._forms[place] = form
        try:
            return self._dialect.read(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            why = line_of(str(error)) if body.strip() else "nothing"
            raise NoVerdictError(f"the model service answered what is no answer: {why}") from None

    async def _post(self, target: _Target, line: ServiceConnection, prompt: JudgePrompt, form: int) -> bytes:
        if form:
            prompt = prompt._replace(system=self.with_structure(prompt.system))
        asked = self._dialect.body(prompt, target.model, form)
        content = msgspec.json.encode(asked)
        return await line.post(self._dialect.url(target.address.url), content)
