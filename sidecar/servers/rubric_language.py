"""A door for editors: the Language Server Protocol over stdin and stdout, for rubrics and nothing else.

It lives in a process of its own, for pygls is heavy. What is wrong with a text is not known here; it is
asked. A client that asks for diagnostics is answered, and not told unasked as well, for editors show both.
OpenCode does ask, and waits five seconds after each write to a file of which it hears nothing: so one that is
no rubric gets an answer with nothing in it. Unasked it is never spoken of.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from sidecar.model.flaw import Flaw

Ask = Callable[[str, str], tuple[Flaw, ...] | None]
"""(path, text) -> all that is wrong with the text; None for a file that is none of ours."""

NAME: Final = "supervisor-rubric"
PULL: Final = types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False)
UNITS: Final = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""In which encoding a column counts units, and the bytes of one."""


class RubricLanguage(LanguageServer):
    """Finds what is wrong with the texts that are open.

    Changes come as whole texts: they are small, and pygls parts lines where Python does (at a form feed, for
    example), not where the protocol does.
    """

    def __init__(self, ask: Ask, version: str) -> None:
        super().__init__(NAME, version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._ask = ask
        self.shut_down = False

    def diagnostics(self, uri: str) -> list[types.Diagnostic] | None:
        """None for a file that is no rubric, or is not open."""
        path = _path(uri)
        if path is None or unquote(uri) not in self.workspace.text_documents:
            return None
        text = self.workspace.get_text_document(uri).source
        flaws = self._ask(path, text)
        return None if flaws is None else [self._diagnostic(flaw, text) for flaw in flaws]

    def tell(self, uri: str) -> None:
        """Publish what is wrong, to a client that does not ask."""
        if not _asks(self.client_capabilities) and (found := self.diagnostics(uri)) is not None:
            version = self.workspace.get_text_document(uri).version
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def forget(self, uri: str) -> None:
        """Take back what was published of a file that is closed."""
        path = _path(uri)
        if not _asks(self.client_capabilities) and path is not None and self._ask(path, "") is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _diagnostic(self, flaw: Flaw, text: str) -> types.Diagnostic:
        return types.Diagnostic(
            range=types.Range(start=self._position(text, flaw.begin), end=self._position(text, flaw.end)),
            message=flaw.why,
            severity=types.DiagnosticSeverity.Error,
            code=flaw.code,
            source=NAME,
        )

    def _position(self, text: str, at: int) -> types.Position:
        above = text[:at]
        line = above.count("\n") + above.count("\r") - above.count("\r\n")
        begin = max(above.rfind("\n"), above.rfind("\r")) + 1
        encoding, size = UNITS[types.PositionEncodingKind(self.workspace.position_encoding)]
        return types.Position(line, len(above[begin:].encode(encoding, "surrogatepass")) // size)


def build(ask: Ask, version: str) -> RubricLanguage:
    """The server, not yet started."""
    server = RubricLanguage(ask, version)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.tell(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.tell(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.tell(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, PULL)
    def asked(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(server.diagnostics(params.text_document.uri) or [])

    @server.feature(types.SHUTDOWN)
    def shut_down(_params: None) -> None:
        server.shut_down = True

    return server


def serve(ask: Ask, version: str) -> int:
    """Speak with an editor until it leaves; the exit code that the protocol asks for."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # faults are told to the editor, not to stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else it waits for a thread that waits for stdin
    server = build(ask, version)
    server.start_io()
    return 0 if server.shut_down else 1


def _asks(client: types.ClientCapabilities) -> bool:
    return client.text_document is not None and client.text_document.diagnostic is not None


def _path(uri: str) -> str | None:
    """The path of a file, None for what is none on this machine's disk."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else None
