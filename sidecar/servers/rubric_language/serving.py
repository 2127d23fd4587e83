"""What the server answers to which message, and its life.

Every answer is a coroutine: pygls starts it when no message that has come is left to be read. So it is given
for the newest text, and a question that was taken back meanwhile is not looked into.
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

from lsprotocol import types
from pygls.io_ import StdoutWriter, run_async

from sidecar.servers.rubric_language import changes, insight
from sidecar.servers.rubric_language.desk import Desk
from sidecar.servers.rubric_language.diagnostics import answer
from sidecar.servers.rubric_language.reading import ahead
from sidecar.servers.rubric_language.server import REPLAY, RubricLanguage
from sidecar.servers.rubric_language.view import View

Answer = Callable[[View, Any], object]
"""What is answered of an open rubric; of any other file nothing is."""

OPTIONS: Final[dict[str, object]] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=False, workspace_diagnostics=False
    ),
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=["#", ":", "`", ","]),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[changes.FIX, changes.FIX_ALL]
    ),
}
ANSWERS: Final[dict[str, Answer]] = {
    types.TEXT_DOCUMENT_HOVER: lambda view, asked: insight.hovered(view, asked.position),
    types.TEXT_DOCUMENT_COMPLETION: lambda view, asked: insight.completed(view, asked.position),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: lambda view, _asked: insight.symbols(view),
    types.TEXT_DOCUMENT_FOLDING_RANGE: lambda view, _asked: insight.folded(view),
    types.TEXT_DOCUMENT_INLAY_HINT: lambda view, asked: insight.hinted(view, asked.range),
    types.TEXT_DOCUMENT_CODE_ACTION: changes.actions,
    types.TEXT_DOCUMENT_FORMATTING: lambda view, _asked: changes.form(view),
}


def build(desk: Desk, version: str) -> RubricLanguage:
    """The server, not yet started."""
    server = RubricLanguage(desk, version)
    for method, given in ANSWERS.items():
        server.feature(method, OPTIONS.get(method))(_answering(server, given))
    server.feature(types.TEXT_DOCUMENT_CODE_LENS)(
        _answering(server, lambda view, _asked: server.lenses(view))
    )
    _listen(server)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, OPTIONS[types.TEXT_DOCUMENT_DIAGNOSTIC])
    async def asked(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        return answer(server.view(params.text_document.uri), params.previous_result_id)

    @server.command(REPLAY)
    async def replay(uri: str) -> str:
        return await server.replay(uri)

    return server


def serve(desk: Desk, version: str) -> int:
    """Speak with an editor until it leaves; the exit code that the protocol asks for."""
    for library in ("pygls", "asyncio"):  # faults are told to the editor, not to stderr
        logging.getLogger(library).setLevel(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = build(desk, version)
    gc.freeze()  # the libraries stay; looking through them again is a twentieth of each keystroke
    with suppress(SystemExit, BrokenPipeError):  # it was told to exit, or nobody listens
        asyncio.run(_speak(server))
    return 0 if server.shut_down else 1


async def _speak(server: RubricLanguage) -> None:
    """Until the input ends, or is no message that anybody could read."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: server.log(repr(context.get("exception"))))
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    with suppress(asyncio.IncompleteReadError, ValueError):
        await run_async(
            stop_event=threading.Event(),
            reader=ahead(sys.stdin.fileno()),
            protocol=server.protocol,
            error_handler=server.report_server_error,
        )


def _listen(server: RubricLanguage) -> None:
    """What happens to documents."""

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


def _answering(server: RubricLanguage, given: Answer) -> Callable[[Any], Awaitable[object]]:
    async def answered(params: Any) -> object:  # noqa: ANN401 - each method has its own
        view = server.view(params.text_document.uri)
        return given(view, params) if view else None

    return answered
