"""A worker that is one request: an OpenAI-compatible service answers with files, which are written here.

Rules of this file:

- The model sees the prompt and the files that the task names, and nothing else.
- Nothing is written before the whole answer and all its paths are valid; then all files are written or none.
- The address and the key are the user's: from the settings, or $LITELLM_BASE_URL and $LITELLM_API_KEY. The
  variable counts where the settings choose the gateway: a project can set variables of a session, and would
  be sent the key. Only a service on this machine may be asked without a key or without TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.streams import OUTPUT_LIMIT
from sidecar.kernel.decoding import strict_schema
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import ServiceSettings, Settings, answer_price_cents, model_prices
from sidecar.kernel.text import fill_template, last_characters, one_printable_line, quote_as_code_block
from sidecar.platform.api_keys import ApiKeyFinder
from sidecar.platform.apply import ApplyError, ChangeApplier
from sidecar.platform.files import UnusableFileError
from sidecar.workers.backend import WorkerCost, find_answer, schema_text, validate_answer
from sidecar.workers.files import OutsideError, WrittenFile, read_shown_file, write_files
from sidecar.workers.policy import gateway_model
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerRun, WorkerTask

URL_VARIABLE: Final = "LITELLM_BASE_URL"
KEY_VARIABLE: Final = "LITELLM_API_KEY"


class _Deadline:
    """The time that is left for the requests of one worker. Implements http.RequestAccount."""

    def __init__(self, seconds: float) -> None:
        self.trouble = ""
        self._until = asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    def begin(self) -> None:
        """Only the answer counts."""

    def refused(self) -> None:
        """The same."""


class GatewayBackend:
    """Implements `Backend`."""

    def __init__(
        self,
        text: str,
        own: Mapping[str, str],
        secrets: Callable[[Environment], SecretMask],
        applier: ChangeApplier,
    ) -> None:
        """`text` instructs the model; `own` is the environment of this process."""
        self._text = text
        self._applier = applier
        self._own = own
        self._secrets = secrets

    def absence(self, task: WorkerTask[A], settings: Settings) -> str:
        from sidecar.platform.http import parse_service_address  # noqa: PLC0415 - not at start

        url = self._url(task, settings)
        if not url:
            return "workers.gateway_url names no gateway"
        try:
            to = parse_service_address(url)
            if not to.loopback and not self._keys(task).place():
                return f"the gateway needs a key in {KEY_VARIABLE}"
        except ServiceError as error:
            return str(error)
        if to.scheme == "http" and not to.loopback:
            return f"the gateway must be https: {to.host} is another machine"
        return "" if gateway_model(task.model, settings) else "workers.gateway_model names no model"

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        from sidecar.platform.http import FaultError  # noqa: PLC0415 - not at start

        model = gateway_model(task.model, settings)
        fields = [("files", list[WrittenFile]), ("answer", task.answer)]
        kind = msgspec.defstruct("GatewayAnswer", fields, frozen=True)
        try:
            async with asyncio.timeout(task.seconds):
                text = await self._ask(task, settings, model, kind, cost)
        except TimeoutError:
            advice = "raise workers.seconds, or name another model"
            said = f"the gateway did not answer within {task.seconds:g} s: {advice}"
            raise WorkerError(WorkerFailure.TIMED_OUT, said) from None
        except FaultError as fault:
            failure = WorkerFailure.EXITED if fault.status else WorkerFailure.NOT_STARTED
            raise WorkerError(failure, f"the gateway gave no answer: {fault}") from None
        except ServiceError as error:
            raise WorkerError(WorkerFailure.EXITED, f"the gateway gave no answer: {error}") from None
        hear(f"{text}\n")
        output = last_characters(text, OUTPUT_LIMIT)
        source = text if text.lstrip().startswith("{") else find_answer(text, output)
        found: Any = validate_answer(source, kind, output)
        try:
            write_files(self._applier, task.project, ((one.path, one.content) for one in found.files))
        except OutsideError as error:
            said = f"the model named a file that is not its to write, so nothing was written: {error}"
            raise WorkerError(WorkerFailure.WROTE_OUTSIDE, said, output) from None
        except (OSError, ApplyError) as error:
            said = f"the model's files could not be written, and all is as before: {error}"
            raise WorkerError(WorkerFailure.INVALID, said, output) from None
        return WorkerRun(answer=found.answer, model=model, output=output)

    async def _ask(
        self, task: WorkerTask[A], settings: Settings, model: str, kind: type[Struct], cost: WorkerCost
    ) -> str:
        """Return the model's text. A form that the service does not know is left away."""
        from sidecar.platform import chat, http  # noqa: PLC0415 - not at start

        to = http.parse_service_address(self._url(task, settings))
        key = await self._keys(task).fetch()
        headers = chat.authorization(key.secret if key else "")
        system = self._instructions(task, kind)
        schema = strict_schema(kind)
        mask, deadline = self._secrets(task.environment), _Deadline(task.seconds)
        async with http.open_service_connection(to, task.environment, headers, deadline, mask) as line:

            async def ask(form: int) -> bytes:
                asked = chat.build_request(model, system, task.prompt, "work", schema, form)
                cost.calls = 1
                return await line.post(chat.completions_url(to.url), msgspec.json.encode(asked))

            _, body = await chat.ask_in_strictest_form(ask, range(chat.FORMS), chat.refuses_form)
        try:
            said = chat.read_completion(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise ServiceError(f"it is none: {one_printable_line(str(error))}") from None
        cost.tokens = said.usage.tokens
        cost.cents = answer_price_cents(model, said.usage, model_prices(settings))
        if said.fault:
            raise ServiceError(said.fault)
        return said.text

    def _instructions(self, task: WorkerTask[A], kind: type[Struct]) -> str:
        shown = []
        for path in task.files:
            try:
                shown.append(
                    f"{path}\n{quote_as_code_block(read_shown_file(task.project, path)) or '(empty)'}"
                )
            except (OSError, OutsideError, UnusableFileError) as error:
                said = f"the file {path} cannot be shown to the model: {error}"
                raise WorkerError(WorkerFailure.NOT_STARTED, said) from None
        return fill_template(self._text, {"schema": schema_text(kind), "files": "\n\n".join(shown)})

    def _url(self, task: WorkerTask[A], settings: Settings) -> str:
        chosen = settings.workers.backend == "gateway"
        return settings.workers.gateway_url or (task.environment.get(URL_VARIABLE, "") if chosen else "")

    def _keys(self, task: WorkerTask[A]) -> ApiKeyFinder:
        return ApiKeyFinder(ServiceSettings(key_env=KEY_VARIABLE), task.environment, self._own)
