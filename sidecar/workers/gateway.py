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
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
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
from sidecar.platform.apply import ApplyError, ChangeApplier, NewVersion, file_version
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.workers.backend import WorkerCost, find_answer, gateway_model, schema_text, validate_answer
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


# --- the files that a model without tools answered: all are written or none, inside the work folder only ----


FORBIDDEN: Final = frozenset((".git", ".supervisor"))
"""Folders in which a model writes nothing, at any depth: they decide what runs, and what counts as done."""
SHOWN_LIMIT: Final = 262_144
"""Bytes of one file that is shown to a model."""


class WrittenFile(Struct, frozen=True):
    """One file of an answer: a path relative to the project's folder, and the whole new content."""

    path: str
    content: str


class OutsideError(Exception):
    """A path must not be written. The text says which one and why."""


def write_files(applier: ChangeApplier, project: str, files: Iterable[tuple[str, str | None]]) -> None:
    """Check all paths, then write all files, each a path and its content; None removes it.

    Raises OutsideError before anything is written, and ApplyError or OSError after what was written is put
    back.
    """
    root = Path(os.path.realpath(project))
    versions = [_new_version(root, path, content) for path, content in files]
    if len({version.path for version in versions}) < len(versions):
        raise OutsideError("a path is named twice")
    applier.replace(root, versions)


def read_shown_file(project: str, path: str) -> str:
    """Return the text of a file in the folder. Raises OutsideError, OSError, UnusableFileError."""
    return read_whole(resolve_inside(Path(os.path.realpath(project)), path), SHOWN_LIMIT).decode(
        "utf-8", "replace"
    )


def resolve_inside(root: Path, path: str) -> Path:
    """Return the real place of a relative path below `root`. Raises OutsideError."""
    pure = PurePosixPath(path)
    if not path.strip() or not path.isprintable() or pure.is_absolute():
        raise OutsideError(f"{path[:200]!r} is no relative path")
    try:
        target = Path(os.path.realpath(root / pure))
    except (OSError, ValueError) as error:
        raise OutsideError(f"{path[:200]!r} cannot be used: {error}") from error
    if not target.is_relative_to(root) or target == root:
        raise OutsideError(f"{path[:200]!r} leads out of the folder")
    if FORBIDDEN & {part.casefold() for part in (*target.relative_to(root).parts, *pure.parts)}:
        raise OutsideError(f"{path[:200]!r} is not a model's to write")
    return target


def _new_version(root: Path, path: str, content: str | None) -> NewVersion:
    target = resolve_inside(root, path)
    before = file_version(target)
    if not target.is_file() and (before or content is None):
        raise OutsideError(f"{path[:200]!r} is {before or 'not there'}")
    mode = target.stat().st_mode & 0o777 if before else 0o666 & ~_umask()
    new = None if content is None else content.encode()
    return NewVersion(target.relative_to(root).as_posix(), before, mode, new)


def _umask() -> int:
    """Return the mask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
