"""A worker that is one request: an OpenAI-compatible service answers with edits, which are made here.

Rules of this file:

- The model sees the prompt, the names of the project's files, and those files that the task or the prompt
  names, with secrets masked. Hidden files are left out.
- Nothing is written before the whole answer, all its paths and all its edits are valid; then all files are
  written or none. An edit that does not fit the file is told to the model, once.
- The address and the key are the user's: from the settings, or $LITELLM_BASE_URL and $LITELLM_API_KEY. The
  variable counts where the settings choose the gateway: a project can set variables of a session, and would
  be sent the key. Only a service on this machine may be asked without a key or without TLS.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.limits import told_limit
from sidecar.hosts.streams import OUTPUT_LIMIT, is_refusal
from sidecar.kernel.decoding import strict_schema
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.evidence import FileChange
from sidecar.kernel.masking import SecretMask
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import ServiceSettings, Settings
from sidecar.kernel.text import fill_template, last_characters, one_printable_line, quote_as_code_block
from sidecar.platform.api_keys import ApiKeyFinder
from sidecar.platform.apply import ApplyError, ChangeApplier, file_version
from sidecar.platform.concurrency import Deadline
from sidecar.platform.environments import known_environments
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.workers.backend import WorkerCost, find_answer, gateway_model, schema_text, validate_answer
from sidecar.workers.ports import A, WorkerError, WorkerFailure, WorkerPlace, WorkerRun, WorkerTask

URL_VARIABLE: Final = "LITELLM_BASE_URL"
KEY_VARIABLE: Final = "LITELLM_API_KEY"
Hear = Callable[[str], None]


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

    def absence(self, at: WorkerPlace, settings: Settings) -> str:
        from sidecar.platform.http import parse_service_address  # noqa: PLC0415 - not at start

        url = self._url(at, settings)
        if not url:
            return "workers.gateway_url names no gateway"
        try:
            to = parse_service_address(url)
            if not to.loopback and not self._keys(at).place():
                return f"the gateway needs a key in {KEY_VARIABLE}"
        except ServiceError as error:
            return str(error)
        if to.scheme == "http" and not to.loopback:
            return f"the gateway must be https: {to.host} is another machine"
        return "" if self.model(at, settings) else "workers.gateway_model names no model"

    def model(self, at: WorkerPlace, settings: Settings) -> str:
        return gateway_model(at.model, settings)

    def tells_cost(self, settings: Settings) -> bool:  # noqa: ARG002 - the port's
        return False

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Hear
    ) -> WorkerRun[A]:
        from sidecar.platform.http import FaultError  # noqa: PLC0415 - not at start

        try:
            async with asyncio.timeout(task.seconds):
                try:
                    return await self._work(task, task.prompt, settings, cost, hear)
                except MisfitError as misfit:
                    return await self._work(task, f"{task.prompt}\n\n{misfit}", settings, cost, hear)
        except TimeoutError:
            advice = "raise workers.seconds, or name another model"
            said = f"the gateway did not answer within {task.seconds:g} s: {advice}"
            raise WorkerError(WorkerFailure.TIMED_OUT, said) from None
        except ServiceError as error:
            status, after = (error.status, error.after) if isinstance(error, FaultError) else (None, None)
            limit = told_limit(status, str(error), time.time() + after if after else 0.0)
            ended = WorkerFailure.REFUSED if is_refusal(status) else WorkerFailure.EXITED
            failure = WorkerFailure.LIMITED if limit else WorkerFailure.NOT_STARTED if status == 0 else ended
            raise WorkerError(failure, f"the gateway gave no answer: {error}", limit=limit) from None
        except MisfitError as misfit:
            raise WorkerError(WorkerFailure.INVALID, str(misfit)) from None

    async def _work(
        self, task: WorkerTask[A], prompt: str, settings: Settings, cost: WorkerCost, hear: Hear
    ) -> WorkerRun[A]:
        """Ask once, and make the edits. Raises MisfitError where one does not fit, and as `_ask`."""
        model = gateway_model(task.model, settings)
        fields = [("files", list[FileEdit]), ("answer", task.answer)]
        kind = msgspec.defstruct("GatewayAnswer", fields, frozen=True)
        text = await self._ask(task, prompt, settings, kind, cost)
        hear(f"{text}\n")
        output = last_characters(text, OUTPUT_LIMIT)
        source = text if text.lstrip().startswith("{") else find_answer(text, output)
        found: Any = validate_answer(source, kind, output)
        try:
            write_files(self._applier, task.project, edit_files(task.project, found.files).items())
        except (OutsideError, OSError, ApplyError, UnusableFileError) as error:
            outside = isinstance(error, OutsideError)
            failure = WorkerFailure.WROTE_OUTSIDE if outside else WorkerFailure.INVALID
            said = f"nothing was written of what the model answered: {error}"
            raise WorkerError(failure, said, output) from None
        return WorkerRun(answer=found.answer, model=model, output=output)

    async def _ask(
        self, task: WorkerTask[A], prompt: str, settings: Settings, kind: type[Struct], cost: WorkerCost
    ) -> str:
        """Return the model's text. A form that the service does not know is left away."""
        from sidecar.platform import chat, http  # noqa: PLC0415 - not at start

        to = http.parse_service_address(self._url(task, settings))
        key = await self._keys(task).fetch()
        headers = chat.authorization(key.secret if key else "")
        mask, deadline = self._secrets(task.environment), Deadline(task.seconds)
        system = self._instructions(task, kind, mask)
        model, schema = gateway_model(task.model, settings), strict_schema(kind)
        async with http.open_service_connection(to, task.environment, headers, deadline, mask) as line:

            async def ask(form: int) -> bytes:
                asked = chat.build_request(model, system, prompt, "work", schema, form)
                cost.calls += form == 0
                return await line.post(chat.completions_url(to.url), msgspec.json.encode(asked))

            _, body = await chat.ask_in_strictest_form(ask, range(chat.FORMS), chat.refuses_form)
        try:
            said = chat.read_completion(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise ServiceError(f"it is none: {one_printable_line(str(error))}") from None
        cost.usage += said.usage
        if said.fault:
            raise ServiceError(said.fault)
        return said.text

    def _instructions(self, task: WorkerTask[A], kind: type[Struct], mask: SecretMask) -> str:
        try:
            shown = {path: read_shown_file(task.project, path) for path in task.files}
        except (OSError, OutsideError, UnusableFileError) as error:
            said = f"a file cannot be shown to the model: {error}"
            raise WorkerError(WorkerFailure.NOT_STARTED, said) from None
        tree = list_files(task.project)
        for path in named_files(tree, "\n".join((task.prompt, *shown.values()))):
            with suppress(OSError, OutsideError, UnusableFileError):
                if path not in shown and sum(map(len, shown.values())) < NAMED_LIMIT:
                    shown[path] = read_shown_file(task.project, path)
        files = (f"{path}\n{quote_as_code_block(mask(text)) or '(empty)'}" for path, text in shown.items())
        values = {"schema": schema_text(kind), "tree": "\n".join(tree), "files": "\n\n".join(files)}
        return fill_template(self._text, values)

    def _url(self, at: WorkerPlace, settings: Settings) -> str:
        chosen = settings.workers.backend == "gateway"
        return settings.workers.gateway_url or (at.environment.get(URL_VARIABLE, "") if chosen else "")

    def _keys(self, at: WorkerPlace) -> ApiKeyFinder:
        return ApiKeyFinder(ServiceSettings(key_env=KEY_VARIABLE), at.environment, self._own)


# --- the files that a model without tools answered: all are written or none, inside the work folder only ----


FORBIDDEN: Final = frozenset((".git", ".supervisor"))
"""Folders in which a model writes nothing, at any depth: they decide what runs, and what counts as done."""
SHOWN_LIMIT: Final = 262_144
"""Bytes of one file that is shown to a model."""


TREE_LIMIT: Final = 400
"""Files that are listed for a model."""
NAMED_LIMIT: Final = 65_536
"""Characters from which on no further file is shown because something names it."""
WORD: Final = re.compile(r"[\w.-]*\w")


class FileEdit(Struct, frozen=True):
    """One edit of an answer: what takes the place of `find`, which stands once in the file.

    `path` is relative to the project's folder. With `find` "", `content` is all of a new or an empty file.
    """

    path: str
    content: str
    find: str = ""


class OutsideError(Exception):
    """A path must not be written. The text says which one and why."""


class MisfitError(Exception):
    """An edit does not fit its file, so none was made. The text says why, for the model."""


def edit_files(project: str, edits: Iterable[FileEdit]) -> dict[str, str]:
    """Return the new texts of the files. Raises MisfitError, OutsideError, OSError, UnusableFileError."""
    texts: dict[str, str] = {}
    for edit in edits:
        place = resolve_inside(Path(os.path.realpath(project)), edit.path)
        was = texts.get(edit.path, read_shown_file(project, edit.path) if place.is_file() else "")
        times = was.count(edit.find) if edit.find else int(not was)
        if times != 1:
            why = (
                f"`find` stands {times} times in it" if edit.find else "it is there: name in `find` what goes"
            )
            raise MisfitError(f"No file was written, as an edit does not fit. {edit.path}: {why}")
        texts[edit.path] = was.replace(edit.find, edit.content) if edit.find else edit.content
    return texts


def list_files(project: str) -> list[str]:
    """Return the first files of a project that are neither hidden nor the environment's or a build's."""
    found: list[str] = []
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(
            {*folders} - known_environments().unsearched - {one for one in folders if one[0] == "."}
        )
        found += [str(Path(folder, name).relative_to(project)) for name in sorted(names) if name[0] != "."]
        if len(found) >= TREE_LIMIT:
            break
    return found[:TREE_LIMIT]


def named_files(paths: Iterable[str], text: str) -> list[str]:
    """Return the paths that a text names, those in full first, then by their names, ending or not."""
    words = {*WORD.findall(text)}
    named = (path for path in paths if {PurePosixPath(path).name, PurePosixPath(path).stem} & words)
    return sorted(named, key=lambda path: path not in text)


def write_files(applier: ChangeApplier, project: str, files: Iterable[tuple[str, str | None]]) -> None:
    """Check all paths, then write all files, each a path and its content; None removes it.

    Raises OutsideError before anything is written, and ApplyError or OSError after what was written is put
    back.
    """
    root = Path(os.path.realpath(project))
    with TemporaryDirectory(prefix="supervisor-files-") as scratch:
        changes = [_new_file(root, Path(scratch), path, content) for path, content in files]
        if len({change.path for change in changes}) < len(changes):
            raise OutsideError("a path is named twice")
        applier.apply(root, Path(scratch), changes)


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


def _new_file(root: Path, scratch: Path, path: str, content: str | None) -> FileChange:
    """Write a file's new content below `scratch`."""
    target = resolve_inside(root, path)
    before, inside = file_version(target), target.relative_to(root).as_posix()
    if not target.is_file() and (before or content is None):
        raise OutsideError(f"{path[:200]!r} is {before or 'not there'}")
    if content is not None:
        (scratch / inside).parent.mkdir(parents=True, exist_ok=True)
        (scratch / inside).write_bytes(content.encode())
    return FileChange(path=inside, was=before, after=content)
