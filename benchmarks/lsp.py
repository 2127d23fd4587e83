"""What the language server costs an editor: its start, and a keystroke until its diagnostics are there.

A keystroke is a change of one number in the text, so that nothing is known of it; the whole text goes to the
server, as the protocol has it. Its peer is a bare parse of the same text by the same parser.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, product
from typing import Any, Final

import msgspec
from markdown_it import MarkdownIt
from measure import MEDIAN, Figure, Job, Report, Series, in_turn, rounds
from stage import Stage, staged

from sidecar.platform.installation import plugin_root

STARTS: Final = 20
KEYSTROKES: Final = 400
AIM: Final = 1.5
HIGH: Final = 0.95
LARGEST: Final = 8 * 1024
"""Bytes of the greatest rubric."""
LINES: Final = 2_000
IMPORT: Final = "import pygls.lsp.server"
ABLE: Final = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "dataSupport": True, "versionSupport": True}
    }
}
"""The capabilities of an editor that is told what is wrong."""


def measured(*, quick: bool) -> Report:
    """A start until `initialize` is answered, and a keystroke in the greatest rubric and in a larger file."""
    with staged() as stage:
        started, imported = in_turn(
            rounds(STARTS, quick=quick),
            lambda: _start(stage),
            lambda: stage.timed([sys.executable, "-c", IMPORT])[0],
        )
        figures = [
            Figure(
                name="start -> initialize answered",
                ours=started,
                against=f'python -c "{IMPORT}"',
                peer=imported,
            )
        ]
        for name, text in TEXTS.items():
            with _editing(stage, text) as jobs:
                figures += _keystrokes(name, *in_turn(rounds(KEYSTROKES, quick=quick), *jobs))
    return Report(tuple(figures))


def _keystrokes(name: str, typed: Series, parsed: Series) -> Iterator[Figure]:
    for part, told in ((MEDIAN, ""), (HIGH, ", 95th percentile")):
        yield Figure(
            name=f"a keystroke {name}{told}",
            ours=typed,
            against="a bare parse of the text",
            peer=parsed,
            part=part,
            aim=AIM,
        )


# --- texts --------------------------------------------------------------------------------------------------

NUMBER: Final = "00000000"
"""What a keystroke changes."""
PLACES: Final = (
    "handlers", "migrations", "queues", "reports", "sessions", "invoices", "webhooks", "caches", "exports",
    "templates", "schedules", "permissions",
)  # fmt: skip
DEMANDS: Final = (
    "have a test that fails without the change",
    "write one line to the audit log, without secrets",
    "end within their deadline, and say so when they do not",
    "are named in the changelog when a user can see them",
    "can be rolled back by one command that was tried",
    "refuse input that their schema does not know",
    "keep working while the database is read-only",
    "count what they drop, and show the count on the dashboard",
    "use the clock of the services, never that of the machine",
    "ask for no more rights than the manual lists",
    "translate each new sentence, the German one first",
    "come with a page that support has read",
)
PROSE: Final = "What we agreed on, and why. " * 300


def _headed() -> str:
    """The default rubric with a criterion more for each demand; the prose at its top fills it up."""
    default = (plugin_root() / "rubric" / "rubric.md").read_text()
    told = "".join(
        f"### {place.capitalize()}\n\nAll {place} {demand}.\n\n"
        for place, demand in zip(PLACES, DEMANDS, strict=True)
    ).replace("All queues", f"All {NUMBER} queues")
    head, patterns, rest = default.partition("## Patterns\n\n")
    room = LARGEST - len(f"{default}{told}".encode()) - 2
    return f"{head}{PROSE[:room]}\n\n{patterns}{told}{rest}"


def _listed() -> str:
    """A list, as long as it can be: nothing in it can be parsed by itself."""
    text = "## Patterns\n\n## Antipatterns\n\n- **NONE**: nothing is shown\n"
    for number, (demand, place) in enumerate(product(DEMANDS, PLACES)):
        name = f"{place.capitalize()} {NUMBER if number == 0 else number}"
        longer = text.replace("\n\n## A", f"\n- **{name}**: {place} {demand}.\n\n## A")
        if len(longer) > LARGEST - 3:
            break
        text = longer
    return f"{PROSE[: LARGEST - len(text) - 2]}\n\n{text}"


def _long() -> str:
    criteria = "".join(f"- **C-{each}**: it is shown\n" for each in range(LINES - 6))
    return f"# Ours\n\n## Patterns\n{criteria}## Antipatterns\n- **A**: {NUMBER}\n\n"


TEXTS: Final = {
    "in 8 KiB of headings": _headed(),
    "in 8 KiB of list items": _listed(),
    "in 2,000 lines, too big": _long(),
}


# --- an editor ----------------------------------------------------------------------------------------------


class _Editor:
    """A language server, and the pipes to it."""

    def __init__(self, stage: Stage) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [str(stage.supervisor), "lsp"],
            cwd=stage.project,
            env=dict(stage.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None  # noqa: S101 - for mypy: both are pipes
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._to, self._from = self._process.stdin, self._process.stdout
        self.say("initialize", 0, capabilities=ABLE, processId=None, rootUri=None)
        self.hear(lambda said: said.get("id") == 0)
        self.say("initialized")

    def say(self, method: str, number: int | None = None, /, **params: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = msgspec.json.encode(message if number is None else {"id": number, **message})
        self._to.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._to.flush()

    def hear(self, wanted: Callable[[Any], bool]) -> Any:  # noqa: ANN401 - what JSON has
        """The first message that is wanted."""
        while True:
            size = 0
            while header := self._from.readline().strip():
                if header.startswith(b"Content-Length:"):
                    size = int(header[15:])
            if not size:
                raise RuntimeError("the server has ended")
            found = msgspec.json.decode(self._from.read(size))
            if wanted(found):
                return found

    def end(self) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()


def _start(stage: Stage) -> float:
    begun = time.perf_counter()
    editor = _Editor(stage)
    cost = (time.perf_counter() - begun) * 1000
    editor.end()
    return cost


@contextmanager
def _editing(stage: Stage, text: str) -> Iterator[tuple[Job, Job]]:
    """A keystroke, and a bare parse of what it made of the text."""
    file = stage.project / ".supervisor" / "rubric.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    editor, parser = _Editor(stage), MarkdownIt("commonmark").disable("inline")
    versions, uri = count(1), file.as_uri()
    document = {"uri": uri, "languageId": "markdown", "version": 0, "text": text}
    editor.say("textDocument/didOpen", textDocument=document)
    _diagnosed(editor, 0)

    def typed() -> float:
        version = next(versions)
        new = _typed(text, version)
        begun = time.perf_counter()
        editor.say(
            "textDocument/didChange",
            textDocument={"uri": uri, "version": version},
            contentChanges=[{"text": new}],
        )
        _diagnosed(editor, version)
        return (time.perf_counter() - begun) * 1000

    def parsed() -> float:
        new = _typed(text, next(versions))
        begun = time.perf_counter()
        parser.parse(new)
        return (time.perf_counter() - begun) * 1000

    try:
        yield typed, parsed
    finally:
        editor.end()


def _typed(text: str, version: int) -> str:
    return text.replace(NUMBER, f"{version:0{len(NUMBER)}}")


def _diagnosed(editor: _Editor, version: int) -> None:
    """Wait for what is wrong with this version; what is said again because more is known is passed over."""
    editor.hear(lambda said: said.get("params", {}).get("version") == version)
