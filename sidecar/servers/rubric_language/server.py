"""The language server of rubrics: diagnostics, completions, hover, and quick fixes.

Each change transfers the whole text: rubrics are small, and pygls splits lines like Python (for example at a
form feed), not like the protocol.

A client that requests diagnostics gets no pushed ones as well, as editors show both. OpenCode requests them,
and waits five seconds after each write to a file for which it hears nothing; so a file that is not a rubric
gets an empty answer. Nothing is ever pushed for such a file.
"""

from __future__ import annotations

import asyncio
import re
import signal
from bisect import bisect_right
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from sidecar.kernel.rubric import Flaw, FlawSeverity, RubricContext, RubricOutline, TextSpan
from sidecar.kernel.text import clean_text
from sidecar.servers.rubric_language.assistance import find_completions, find_hover_text
from sidecar.servers.rubric_language.checking import RubricCheck

DIAGNOSTIC_SOURCE: Final = "supervisor-rubric"
SEVERITIES: Final = {
    FlawSeverity.ERROR: types.DiagnosticSeverity.Error,
    FlawSeverity.WARNING: types.DiagnosticSeverity.Warning,
    FlawSeverity.HINT: types.DiagnosticSeverity.Hint,
}
COLUMN_UNITS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""By the encoding that a client agreed to: the codec whose units a column counts, and the bytes of a unit."""
QUICK_FIX: Final = types.CodeActionKind.QuickFix
DIAGNOSTIC_OPTIONS: Final = types.DiagnosticOptions(
    inter_file_dependencies=False, workspace_diagnostics=False
)
COMPLETION_OPTIONS: Final = types.CompletionOptions(trigger_characters=["#", ":", "`", ","])
ACTION_OPTIONS: Final = types.CodeActionOptions(code_action_kinds=[QUICK_FIX])

_BREAK: Final = re.compile(r"\r\n|\r|\n")


class OpenRubric:
    """A rubric in an editor: its text, what is found in it, and positions in the client's units."""

    def __init__(self, path: str, text: str, check: RubricCheck, encoding: str) -> None:
        self.path = path
        self._text = text
        self._check = check
        self._encoding, self._unit_bytes = COLUMN_UNITS[encoding]
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]
        self._rows = _BREAK.split(text)

    @cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        return self._check.flaws(self.path, self._text) or ()

    @cached_property
    def outline(self) -> RubricOutline | None:
        """The parsed text, None if the text is too big."""
        return self._check.outline(self.path, self._text)

    @property
    def around(self) -> RubricContext:
        return self._check.around(self.path)

    def position(self, place: int) -> types.Position:
        line = bisect_right(self._starts, place) - 1
        before = self._rows[line][: place - self._starts[line]]
        return types.Position(line, len(before.encode(self._encoding, "surrogatepass")) // self._unit_bytes)

    def range(self, begin: int, end: int) -> types.Range:
        return types.Range(self.position(begin), self.position(end))

    def place(self, position: types.Position) -> int:
        """Return the place of a position, which may be after the end of its line or of the text."""
        if position.line >= len(self._rows):
            return len(self._text)
        row = self._rows[position.line]
        units = row.encode(self._encoding, "surrogatepass")[: position.character * self._unit_bytes]
        return self._starts[position.line] + len(units.decode(self._encoding, "ignore"))

    def diagnostics(self) -> list[types.Diagnostic]:
        return [self.diagnostic(flaw) for flaw in self.flaws]

    def diagnostic(self, flaw: Flaw) -> types.Diagnostic:
        return types.Diagnostic(
            range=self.range(flaw.begin, flaw.end),
            message=clean_text(f"{flaw.why}\n{flaw.help}" if flaw.help else flaw.why),
            severity=SEVERITIES[flaw.weight],
            code=flaw.code,
            source=DIAGNOSTIC_SOURCE,
        )


class RubricLanguage(LanguageServer):
    """Knows the open rubrics, and publishes their diagnostics."""

    def __init__(self, check: RubricCheck, version: str) -> None:
        super().__init__(DIAGNOSTIC_SOURCE, version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.check = check
        self.shut_down = False

    def rubric(self, uri: str) -> OpenRubric | None:
        """Return an open rubric; None for a file that is not open or not a rubric."""
        path = _file_path(uri)
        if path is None or unquote(uri) not in self.workspace.text_documents:
            return None
        if not self.check.is_rubric(path):
            return None
        text = self.workspace.get_text_document(uri).source
        encoding = types.PositionEncodingKind(self.workspace.position_encoding)
        return OpenRubric(path, text, self.check, encoding.value)

    def publish(self, uri: str) -> None:
        """Publish the diagnostics of a rubric, unless the client requests them itself."""
        rubric = None if self.client_requests() else self.rubric(uri)
        if rubric is not None:
            version = self.workspace.get_text_document(uri).version
            found = types.PublishDiagnosticsParams(uri, rubric.diagnostics(), version)
            self.text_document_publish_diagnostics(found)

    async def look_around(self, uri: str) -> None:
        """Read the project of a rubric again, and update the diagnostics if they change by it."""
        rubric = self.rubric(uri)
        if rubric is None:
            return
        before = rubric.flaws
        await asyncio.to_thread(self.check.refresh, rubric.path)
        after = self.rubric(uri)
        if after is None or after.flaws == before:
            return
        space = self.client_capabilities.workspace
        if space and space.diagnostics and space.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)
        self.publish(uri)

    def report_server_error(self, error: Exception, source: object) -> None:  # noqa: ARG002 - pygls's signature
        """Write an error to the editor's log only, as the user requested nothing."""
        told = f"{type(error).__name__}: {error}"
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, told))

    def client_requests(self) -> bool:
        """Return whether the client requests diagnostics itself."""
        text = self.client_capabilities.text_document
        return text is not None and text.diagnostic is not None


def _file_path(uri: str) -> str | None:
    """Return the path of a file, None if the URI is not a local file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else None


# --- handlers of requests and of document events; pygls hands the server to `ls` ----------------------------


async def diagnostic_report(
    ls: RubricLanguage, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """Return the diagnostics for a client that requests them.

    A coroutine, as `document_opened` is one: pygls starts them in the order of their messages.
    """
    rubric = ls.rubric(params.text_document.uri)
    return types.RelatedFullDocumentDiagnosticReport(rubric.diagnostics() if rubric else [])


def completion_items(ls: RubricLanguage, params: types.CompletionParams) -> list[types.CompletionItem]:
    """Return what could be typed, best first; the client filters by what has been typed."""
    rubric = ls.rubric(params.text_document.uri)
    if rubric is None or rubric.outline is None:
        return []
    offers = find_completions(rubric.outline, rubric.place(params.position), rubric.around)
    return [
        types.CompletionItem(
            label=offer.label,
            detail=offer.about,
            sort_text=f"{number:04}",
            filter_text=offer.label,
            text_edit=types.TextEdit(rubric.range(offer.place.begin, offer.place.end), offer.text),
        )
        for number, offer in enumerate(offers)
    ]


def hover_information(ls: RubricLanguage, params: types.HoverParams) -> types.Hover | None:
    """Return what is known about the place under the cursor."""
    rubric = ls.rubric(params.text_document.uri)
    if rubric is None or rubric.outline is None:
        return None
    found = find_hover_text(rubric.outline, rubric.place(params.position), rubric.around)
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.PlainText, found.text)
    return types.Hover(content, rubric.range(found.place.begin, found.place.end))


def quick_fixes(ls: RubricLanguage, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the fixes of the flaws that the requested range touches."""
    rubric, only = ls.rubric(params.text_document.uri), params.context.only
    if rubric is None or (only and QUICK_FIX not in only):
        return []
    wanted = TextSpan(rubric.place(params.range.start), rubric.place(params.range.end))
    return [
        types.CodeAction(
            fix.title,
            QUICK_FIX,
            diagnostics=[rubric.diagnostic(flaw)],
            is_preferred=True if len(flaw.fixes) == 1 else None,
            edit=types.WorkspaceEdit(
                changes={
                    params.text_document.uri: [
                        types.TextEdit(rubric.range(edit.place.begin, edit.place.end), edit.text)
                        for edit in fix.edits
                    ]
                }
            ),
        )
        for flaw in rubric.flaws
        if flaw.begin <= wanted.end and wanted.begin <= flaw.end
        for fix in flaw.fixes
    ]


async def document_opened(
    ls: RubricLanguage, params: types.DidOpenTextDocumentParams | types.DidSaveTextDocumentParams
) -> None:
    """Tell what is wrong with the text, and again when its project was read; the same after a save."""
    ls.publish(params.text_document.uri)
    await ls.look_around(params.text_document.uri)


def document_changed(ls: RubricLanguage, params: types.DidChangeTextDocumentParams) -> None:
    """Tell what is wrong with the new text."""
    ls.publish(params.text_document.uri)


def document_closed(ls: RubricLanguage, params: types.DidCloseTextDocumentParams) -> None:
    """Take back what was told."""
    path = _file_path(params.text_document.uri)
    if not ls.client_requests() and path is not None and ls.check.is_rubric(path):
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


def shutdown_requested(ls: RubricLanguage, _params: None) -> None:
    """Remember that the next `exit` is in order."""
    ls.shut_down = True


def serve_language_server(check: RubricCheck, version: str) -> int:
    """Serve an editor until it leaves; return the exit code that the protocol requires."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = RubricLanguage(check, version)
    server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, DIAGNOSTIC_OPTIONS)(diagnostic_report)
    server.feature(types.TEXT_DOCUMENT_COMPLETION, COMPLETION_OPTIONS)(completion_items)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover_information)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, ACTION_OPTIONS)(quick_fixes)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(document_opened)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(document_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(document_changed)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(document_closed)
    server.feature(types.SHUTDOWN)(shutdown_requested)
    server.start_io()
    return 0 if server.shut_down else 1
