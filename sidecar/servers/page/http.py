"""The page over HTTP: who is let in, what is answered, and the stream of parts that changed.

Rules of this module:

- Only GET, only for this machine, only with the cookie of the path (access.py); nothing is changed.
- Every answer forbids scripts, styles and connections but the page's own, and storing it.
- A stream is woken by the log, at most once in `PAUSE_S`, and looks by itself every `BEAT_S`: states of
  sessions and what other processes append wake nobody. While checks print, it looks every `PAUSE_S`. It ends
  with the sidecar.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from sidecar.kernel.errors import BadInputError
from sidecar.platform.ports import Clock, EventLog
from sidecar.servers.control import SidecarControl
from sidecar.servers.http_server import serve_http
from sidecar.servers.loopback import DRAIN_S
from sidecar.servers.page import views
from sidecar.servers.page.door import PageAccess, Visit, is_own_request
from sidecar.servers.page.markup import FOLDER, Html, fill, fill_each
from sidecar.servers.page.readings import PageReadings, read_key
from sidecar.servers.page.team_views import team_parts
from sidecar.servers.page.views import Parts

COOKIE: Final = "supervisor-page"
FILES: Final = {"page.css": "text/css", "page.js": "text/javascript"}
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
PAUSE_S: Final = 2.0
"""Seconds between two looks at the log for one stream."""
BEAT_S: Final = 5.0
"""Seconds after which a stream looks though nobody woke it."""
USED: Final = "This address was opened before, or is too old: each one opens once, within ten minutes."
STRANGER: Final = "The page was opened at another address, or by an earlier sidecar."

log = logging.getLogger(__name__)

Query = Mapping[str, str]


View = tuple[str, Parts]
"""A page: its title and its parts."""


async def _overview(page: PageReadings, query: Query) -> View:
    first = query.get("first", "0")
    seen = await page.overview(int(first) if first.isascii() and first.isdigit() else 0)
    return "Overview", views.overview_parts(seen)


async def _checks(page: PageReadings, _: Query) -> View:
    return "Checks over time", views.check_parts((await page.decisions())[0])


async def _session(page: PageReadings, query: Query) -> View:
    key = read_key(query)
    stops = await page.stops(key)
    if (seen := page.people.describe(key)) is None:
        raise BadInputError("This session is not known any more.")
    last = await page.known(stops[-1]) if stops else None
    doubtful = next((one for one in reversed(stops) if one.stop.findings), None)
    compared = await page.known(doubtful) if doubtful else None
    parts = views.session_parts(seen, page.settings, stops, last, compared)
    first = {name: parts[name] for name in ("goal", "line", "running")}
    return views.session_title(seen[0]), {**first, "tasks": views.tasks(page.people.journal(key)), **parts}


async def _stop(page: PageReadings, query: Query) -> View:
    key, at = read_key(query), query.get("at", "")
    found = await page.stop(key, int(at)) if at.isascii() and at.isdigit() else None
    if found is None:
        raise BadInputError("This stop is not in the log any more.")
    seen = page.people.describe(key)
    of = views.session_title(seen[0]) if seen else f"{key.host}:{key.id}"
    way = {"way": fill("link", href=views.session_href(key), text=of)}
    return f"Stop in {of}", {**way, "story": views.story(await page.known(found), "")}


async def _team(page: PageReadings, query: Query) -> View:
    first, search = query.get("first", "0"), query.get("search", "")
    at = int(first) if first.isascii() and first.isdigit() else 0
    return "Team", team_parts(await page.team(at, search), at, search)


VIEWS: Final[Mapping[str, Callable[[PageReadings, Query], Awaitable[View]]]] = {
    "": _overview,
    "checks": _checks,
    "session": _session,
    "stop": _stop,
    "team": _team,
}
"""What makes the pages. It raises BadInputError, OSError."""


class LocalPage:
    """Serves the page. Instances are ASGI applications."""

    def __init__(
        self,
        access: PageAccess,
        readings: PageReadings,
        events: EventLog,
        clock: Clock,
        control: SidecarControl,
    ) -> None:
        self._access = access
        self._readings = readings
        self._log = events
        self._clock = clock
        self._control = control

    async def serve(self, listener: socket.socket) -> None:
        """Serve at a socket until the sidecar ends. Streams end by themselves then."""
        await serve_http(self, listener, DRAIN_S, self._control.ending, lambda: None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        try:
            with self._control.visit():
                await self._answer(Request(scope, receive), send)
        except Exception:
            log.exception("a request for the page failed")

    async def _answer(self, request: Request, send: Send) -> None:
        room, _, name = request.url.path.lstrip("/").partition("/")
        head = request.headers
        entering = not room and "token" in request.query_params
        site = (
            "" if entering else head.get("sec-fetch-site", "")
        )  # a link in a terminal may be another site's
        query = request.query_params
        if request.method != "GET":
            answer: Response = _refused("Only GET is answered.", HTTPStatus.METHOD_NOT_ALLOWED)
        elif not is_own_request(head.get("host", ""), head.get("origin", ""), site):
            answer = _refused("The request is not this page's own.", HTTPStatus.FORBIDDEN)
        elif entering:
            answer = _entered(self._access.enter(query["token"]))
        elif not self._access.admits(room, request.cookies.get(COOKIE, "")):
            answer = _refused(STRANGER, HTTPStatus.FORBIDDEN)
        elif name == "stream" and query.get("view") in VIEWS:
            answer = StreamingResponse(self._changes(query["view"], query), media_type="text/event-stream")
        elif name in FILES:
            answer = Response((FOLDER / name).read_bytes(), media_type=FILES[name])
        elif name in VIEWS:
            answer = await self._page(name, query)
        else:
            answer = _refused("There is no such page.", HTTPStatus.NOT_FOUND)
        answer.headers.update(HEADERS)
        await answer(request.scope, request.receive, send)

    async def _page(self, name: str, query: Query) -> Response:
        status, title, parts = await self._view(name, query)
        body = fill(
            "document",
            title=title,
            stream=views.href("stream", {**query, "view": name}),
            links=fill("link", href="team", text="Team") if self._readings.in_team else Html(""),
            parts=fill_each("part", ({"id": ident, "body": part} for ident, part in parts.items())),
        )
        return _html(body, status)

    async def _view(self, name: str, query: Query) -> tuple[HTTPStatus, str, Parts]:
        """Return the status of a view, its title and its parts: first the title, and what is wrong."""
        status, why = HTTPStatus.OK, ""
        parts: Parts = {}
        try:
            title, parts = await VIEWS[name](self._readings, query)
        except BadInputError as error:
            status, title, why = HTTPStatus.NOT_FOUND, "Not found", str(error)
        except OSError as error:
            log.warning("the page could not be read: %s", error)
            status, title = HTTPStatus.SERVICE_UNAVAILABLE, "Not readable"
            why = f"It cannot be read: {error.strerror or error}"
        trouble = fill("trouble", text=why) if why else Html("")
        return status, title, {"heading": fill("heading", title=title), "trouble": trouble, **parts}

    async def _changes(self, name: str, query: Query) -> AsyncIterator[bytes]:
        """Yield the parts of a view that changed, until the browser leaves or the sidecar ends."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        ending = asyncio.create_task(self._control.ending.wait())
        end = self._log.listen(lambda: loop.call_soon_threadsafe(woken.set))
        sent: Parts = {}
        try:
            while not ending.done():
                woken.clear()
                _, _, parts = await self._view(name, query)
                changed = {ident: str(part) for ident, part in parts.items() if sent.get(ident) != part}
                sent = {**sent, **parts}
                yield b"data: %b\n\n" % msgspec.json.encode(changed) if changed else b":\n\n"
                await self._wait(ending, PAUSE_S)
                await self._wait(ending, 0.0 if parts.get("running") else BEAT_S, woken)
        finally:
            end()
            ending.cancel()

    async def _wait(
        self, ending: asyncio.Task[Any], seconds: float, woken: asyncio.Event | None = None
    ) -> None:
        """Wait so long, or until the sidecar ends, or woken."""
        tasks: set[asyncio.Task[Any]] = {asyncio.create_task(self._clock.pause(seconds))}
        if woken is not None:
            tasks.add(asyncio.create_task(woken.wait()))
        try:
            await asyncio.wait({ending, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()


def _entered(visit: Visit | None) -> Response:
    """Let a browser in. It goes on by itself, so that the next request is the page's own."""
    if visit is None:
        return _refused(USED, HTTPStatus.FORBIDDEN)
    answer = _html(fill("entered", room=visit.room))
    answer.set_cookie(COOKIE, visit.cookie, path=f"/{visit.room}/", httponly=True, samesite="strict")
    return answer


def _refused(why: str, status: HTTPStatus) -> Response:
    return _html(fill("refused", why=why), status)


def _html(body: Html, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(body, status, media_type="text/html")
