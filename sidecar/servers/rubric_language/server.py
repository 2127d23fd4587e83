"""The language server: which rubrics are open, and when diagnostics are sent.

Each change transfers the whole text: rubrics are small, and pygls splits lines like Python (for example at a
form feed), not like the protocol.

A text is analysed only when no more input is waiting, both for diagnostics that are pushed and for answers to
requests. If somebody types faster than texts are analysed, only the last text is. Nothing is debounced.

A client that requests diagnostics gets no pushed ones as well, as editors show both. OpenCode requests them,
and waits five seconds after each write to a file for which it hears nothing; so a file that is not a rubric
gets an empty answer. Nothing is ever pushed for such a file.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer

from sidecar.kernel.rubric import Flaw
from sidecar.kernel.text import clean_line
from sidecar.servers.rubric_language import changes, insight
from sidecar.servers.rubric_language.changes import DIAGNOSTIC_SOURCE, diagnostic_report, list_diagnostics
from sidecar.servers.rubric_language.desk import RubricAnalysis
from sidecar.servers.rubric_language.insight import DocumentIdentity, DocumentText, RubricView
from sidecar.servers.rubric_language.reading import (
    ClientFeatures,
    read_ahead,
    read_client_features,
    run_in_thread,
)

REPLAY_COMMAND: Final = "supervisor.rubric.replay"
REPLAYED_STOPS: Final = 20
"""Number of stops that are replayed."""


class RubricLanguage(LanguageServer):
    """Holds the open rubrics and the features of their client."""

    def __init__(self, desk: RubricAnalysis, version: str) -> None:
        super().__init__(DIAGNOSTIC_SOURCE, version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.desk = desk
        self.shut_down = False
        self._due: set[str] = set()
        self._told: dict[str, tuple[Flaw, ...]] = {}
        self._looking: dict[str, bool] = {}
        self._replays: dict[str, tuple[str, asyncio.Future[str]]] = {}
        self._able: ClientFeatures | None = None

    @property
    def able(self) -> ClientFeatures:
        self._able = self._able or read_client_features(self.client_capabilities)
        return self._able

    def view(self, uri: str) -> RubricView | None:
        """Return the view of an open rubric; None for a file that is not open or not a rubric."""
        path = _file_path(uri)
        if path is None or unquote(uri) not in self.workspace.text_documents:
            return None
        if self.desk.outline(path, "") is None:
            return None
        document = self.workspace.get_text_document(uri)
        page = DocumentText(document.source, types.PositionEncodingKind(self.workspace.position_encoding))
        return RubricView(DocumentIdentity(uri, path, document.version), page, self.able, self.desk)

    # --- pushed diagnostics ---------------------------------------------------------------------------------

    def tell_soon(self, uri: str) -> None:
        """Publish diagnostics once the input is empty, unless the client requests them itself."""
        if uri not in self._due and not self.able.asks:
            self._due.add(uri)
            asyncio.get_running_loop().call_soon(self._tell, uri)

    def look_around(self, uri: str) -> None:
        """Read the project of a rubric again, and update the diagnostics if something changed."""
        path = _file_path(uri)
        if path is not None and self.desk.outline(path, "") is not None:
            self._look(uri, path)

    def forget(self, uri: str) -> None:
        """Withdraw the diagnostics of a file that was closed."""
        path = _file_path(uri)
        self._replays.pop(uri, None)
        self._told.pop(uri, None)
        if not self.able.asks and path is not None and self.desk.outline(path, "") is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def report_server_error(self, error: Exception, source: object) -> None:  # noqa: ARG002 - pygls's signature
        """Write an error to the editor's log only, as the user requested nothing."""
        self.log(f"{type(error).__name__}: {error}")

    def log(self, what: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, what))

    def _tell(self, uri: str) -> None:
        self._due.discard(uri)
        if (view := self.view(uri)) is not None:
            self._publish(view)

    def _publish(self, view: RubricView) -> None:
        self._told[view.uri] = view.flaws
        params = types.PublishDiagnosticsParams(view.uri, list_diagnostics(view), view.version)
        self.text_document_publish_diagnostics(params)

    def _look(self, uri: str, path: str) -> None:
        """Refresh in a thread, one at a time; a request during a refresh starts another one after it."""
        if path in self._looking:
            self._looking[path] = True
            return
        self._looking[path] = False

        def seen(done: asyncio.Future[bool]) -> None:
            again = self._looking.pop(path)
            if done.result():
                self._say_again(uri)
            if again:
                self._look(uri, path)

        run_in_thread(lambda: self.desk.refresh(path)).add_done_callback(seen)

    def _say_again(self, uri: str) -> None:
        """Update the diagnostics after new information about the project."""
        if self.able.asks_again:
            self.workspace_diagnostic_refresh(None)
        view = None if self.able.asks else self.view(uri)
        if view and view.flaws != self._told.get(uri):
            self._publish(view)

    # --- replay ---------------------------------------------------------------------------------------------

    def lenses(self, view: RubricView) -> list[types.CodeLens]:
        """Return a lens on the first line, with the result if exactly this text was replayed."""
        kept = self.desk.history(view.path, "")
        if view.outline is None or kept is None or not kept.stops:
            return []
        title = f"replay on the last {min(kept.stops, REPLAYED_STOPS)} stops"
        text, running = self._replays.get(view.uri, ("", None))
        if running and running.done() and text == view.page.text and not running.exception():
            title = running.result()
        begin = types.Position(0, 0)
        command = types.Command(title=title, command=REPLAY_COMMAND, arguments=[view.uri])
        return [types.CodeLens(types.Range(begin, begin), command)]

    async def replay(self, uri: str) -> str:
        """Replay the last stops with the current text; return the line that says what changes."""
        view = self.view(uri)
        if view is None or view.outline is None:
            raise ValueError(f"no rubric of a size that can serve is open at {uri}")
        text, running = self._replays.get(uri, ("", None))
        if running is None or running.done() or text != view.page.text:
            running = run_in_thread(lambda: self.desk.replay(view.path, view.page.text))
            self._replays[uri] = (view.page.text, running)
        said = await asyncio.shield(running)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, clean_line(said)))
        if self.able.lenses_again:
            self.workspace_code_lens_refresh(None)
        return said


def _file_path(uri: str) -> str | None:
    """Return the path of a file, None if the URI is not a local file."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else None


# --- request handlers and life cycle ------------------------------------------------------------------------
# Every handler is a coroutine, which pygls starts only when all messages that have arrived are read. So it
# answers for the newest text, and a request that was cancelled meanwhile is not processed.


AnswerFeature = Callable[[RubricView, Any], object]
"""Answers a request about an open rubric; requests about other files get no answer."""

FEATURE_OPTIONS: Final[dict[str, object]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=False, workspace_diagnostics=False
    ),
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=["#", ":", "`", ","]),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[changes.QUICK_FIX, changes.FIX_ALL]
    ),
}
FEATURE_ANSWERS: Final[dict[str, AnswerFeature]] = {
    types.TEXT_DOCUMENT_HOVER: lambda view, asked: insight.hover_information(view, asked.position),
    types.TEXT_DOCUMENT_COMPLETION: lambda view, asked: insight.completion_items(view, asked.position),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: lambda view, _asked: insight.document_symbols(view),
    types.TEXT_DOCUMENT_FOLDING_RANGE: lambda view, _asked: insight.folding_ranges(view),
    types.TEXT_DOCUMENT_INLAY_HINT: lambda view, asked: insight.inlay_hints(view, asked.range),
    types.TEXT_DOCUMENT_CODE_ACTION: changes.code_actions,
    types.TEXT_DOCUMENT_FORMATTING: lambda view, _asked: changes.formatting_edits(view),
}


def build_language_server(desk: RubricAnalysis, version: str) -> RubricLanguage:
    """Return the server, not yet started."""
    server = RubricLanguage(desk, version)
    for method, given in FEATURE_ANSWERS.items():
        server.feature(method, FEATURE_OPTIONS.get(method))(_answer_handler(server, given))
    server.feature(types.TEXT_DOCUMENT_CODE_LENS)(
        _answer_handler(server, lambda view, _asked: server.lenses(view))
    )
    _watch_documents(server)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, FEATURE_OPTIONS[types.TEXT_DOCUMENT_DIAGNOSTIC])
    async def asked(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        return diagnostic_report(server.view(params.text_document.uri), params.previous_result_id)

    @server.command(REPLAY_COMMAND)
    async def replay(uri: str) -> str:
        return await server.replay(uri)

    return server


def serve_language_server(desk: RubricAnalysis, version: str) -> int:
    """Serve an editor until it leaves; return the exit code that the protocol requires."""
    for library in ("pygls", "asyncio", "concurrent.futures"):  # errors go to the editor, not to stderr
        logging.getLogger(library).setLevel(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = build_language_server(desk, version)
    gc.freeze()  # the libraries stay in memory; scanning them again would take 1/20 of each keystroke's time
    with suppress(SystemExit, BrokenPipeError):  # it was told to exit, or the editor is gone
        asyncio.run(_run_protocol(server))
    return 0 if server.shut_down else 1


async def _run_protocol(server: RubricLanguage) -> None:
    """Serve until the input ends or cannot be parsed."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: server.log(repr(context.get("exception"))))
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    with suppress(asyncio.IncompleteReadError, ValueError):
        await run_async(
            stop_event=threading.Event(),
            reader=read_ahead(sys.stdin.fileno()),
            protocol=server.protocol,
            error_handler=server.report_server_error,
        )


def _watch_documents(server: RubricLanguage) -> None:
    """Register the handlers of document events and of the shutdown request."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.tell_soon(params.text_document.uri)
        server.look_around(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.tell_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.tell_soon(params.text_document.uri)
        server.look_around(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def shut_down(_params: None) -> None:
        server.shut_down = True


def _answer_handler(server: RubricLanguage, given: AnswerFeature) -> Callable[[Any], Awaitable[object]]:
    async def answered(params: Any) -> object:  # noqa: ANN401 - each method has its own
        view = server.view(params.text_document.uri)
        return given(view, params) if view else None

    return answered
