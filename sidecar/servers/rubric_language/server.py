"""The server: which rubrics are open, and when something is said of them.

Whole texts come with each change: they are small, and pygls parts lines where Python does (at a form feed,
for example), not where the protocol does.

A text is looked at when nothing more waits in the input: what is said unasked is put behind the messages that
are there, and so is the answer to a question. While somebody types faster than texts are looked at, only the
last one is. There is no pause in which nothing is shown.

A client that asks for diagnostics is answered, and not told unasked as well, for editors show both. OpenCode
does ask, and waits five seconds after each write to a file of which it hears nothing: so one that is no
rubric gets an answer with nothing in it. Unasked it is never spoken of.
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from sidecar.model.flaw import Flaw
from sidecar.servers.rubric_language.abilities import Abilities, abilities
from sidecar.servers.rubric_language.aside import aside
from sidecar.servers.rubric_language.desk import Desk
from sidecar.servers.rubric_language.diagnostics import SOURCE, diagnostics
from sidecar.servers.rubric_language.page import Page
from sidecar.servers.rubric_language.view import Document, View

REPLAY: Final = "supervisor.rubric.replay"
LAST: Final = 20
"""Stops that are played again."""


class RubricLanguage(LanguageServer):
    """Knows the rubrics that are open, and their client."""

    def __init__(self, desk: Desk, version: str) -> None:
        super().__init__(SOURCE, version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.desk = desk
        self.shut_down = False
        self._due: set[str] = set()
        self._told: dict[str, tuple[Flaw, ...]] = {}
        self._looking: dict[str, bool] = {}
        self._replays: dict[str, tuple[str, asyncio.Future[str]]] = {}
        self._able: Abilities | None = None

    @property
    def able(self) -> Abilities:
        self._able = self._able or abilities(self.client_capabilities)
        return self._able

    def view(self, uri: str) -> View | None:
        """None for a file that is no rubric, or is not open."""
        path = _path(uri)
        if path is None or unquote(uri) not in self.workspace.text_documents:
            return None
        if self.desk.outline(path, "") is None:
            return None
        document = self.workspace.get_text_document(uri)
        page = Page(document.source, types.PositionEncodingKind(self.workspace.position_encoding))
        return View(Document(uri, path, document.version), page, self.able, self.desk)

    # --- unasked --------------------------------------------------------------------------------------------

    def tell_soon(self, uri: str) -> None:
        """Publish what is wrong when the input is empty, to a client that does not ask."""
        if uri not in self._due and not self.able.asks:
            self._due.add(uri)
            asyncio.get_running_loop().call_soon(self._tell, uri)

    def look_around(self, uri: str) -> None:
        """Look at the project of a rubric, and say again what is wrong where something is new."""
        path = _path(uri)
        if path is not None and self.desk.outline(path, "") is not None:
            self._look(uri, path)

    def forget(self, uri: str) -> None:
        """Take back what was published of a file that is closed."""
        path = _path(uri)
        self._replays.pop(uri, None)
        self._told.pop(uri, None)
        if not self.able.asks and path is not None and self.desk.outline(path, "") is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def report_server_error(self, error: Exception, source: object) -> None:  # noqa: ARG002 - pygls's signature
        """Into the editor's log: nobody asked, so nobody is disturbed."""
        self.log(f"{type(error).__name__}: {error}")

    def log(self, what: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, what))

    def _tell(self, uri: str) -> None:
        self._due.discard(uri)
        if (view := self.view(uri)) is not None:
            self._publish(view)

    def _publish(self, view: View) -> None:
        self._told[view.uri] = view.flaws
        params = types.PublishDiagnosticsParams(view.uri, diagnostics(view), view.version)
        self.text_document_publish_diagnostics(params)

    def _look(self, uri: str, path: str) -> None:
        """At most one look at a time; one that is wanted meanwhile comes behind it."""
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

        aside(lambda: self.desk.refresh(path)).add_done_callback(seen)

    def _say_again(self, uri: str) -> None:
        """More is known than when it was said."""
        if self.able.asks_again:
            self.workspace_diagnostic_refresh(None)
        view = None if self.able.asks else self.view(uri)
        if view and view.flaws != self._told.get(uri):
            self._publish(view)

    # --- replay ---------------------------------------------------------------------------------------------

    def lenses(self, view: View) -> list[types.CodeLens]:
        """One on the first line, with what came out where this very text was replayed."""
        kept = self.desk.history(view.path, "")
        if view.outline is None or kept is None or not kept.stops:
            return []
        title = f"replay on the last {min(kept.stops, LAST)} stops"
        text, running = self._replays.get(view.uri, ("", None))
        if running and running.done() and text == view.page.text and not running.exception():
            title = running.result()
        begin = types.Position(0, 0)
        command = types.Command(title=title, command=REPLAY, arguments=[view.uri])
        return [types.CodeLens(types.Range(begin, begin), command)]

    async def replay(self, uri: str) -> str:
        """Play the last stops again under the text as it is now; the line that says what changes."""
        view = self.view(uri)
        if view is None or view.outline is None:
            raise ValueError(f"no rubric of a size that can serve is open at {uri}")
        text, running = self._replays.get(uri, ("", None))
        if running is None or running.done() or text != view.page.text:
            running = aside(lambda: self.desk.replay(view.path, view.page.text))
            self._replays[uri] = (view.page.text, running)
        said = await asyncio.shield(running)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))
        if self.able.lenses_again:
            self.workspace_code_lens_refresh(None)
        return said


def _path(uri: str) -> str | None:
    """The path of a file, None for what is none on this machine's disk."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else None
