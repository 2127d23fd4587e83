"""The local page: who is let in, what it shows, and the stream of what changes. No socket is opened here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from servers.bench import LIMIT_S
from sidecar.kernel.events import JudgeFailed
from sidecar.kernel.evidence import FileDiff
from sidecar.kernel.gate import CheckComparison, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Journal, Note, NoteKind, Task, TaskStatus
from sidecar.kernel.log import EventFilter, LoggedEvent, StopJudged, WorkerRan
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.session import Session, SessionKey
from sidecar.servers.control import SidecarControl
from sidecar.servers.page.door import MOST_VISITS, TOKEN_S, PageAccess
from sidecar.servers.page.http import BEAT_S, COOKIE, HEADERS, PAUSE_S, LocalPage
from sidecar.servers.page.markup import diff_rows
from sidecar.servers.page.pictures import CHART
from sidecar.servers.page.readings import SESSIONS_SHOWN, PageReadings
from sidecar.systems.supervision.people import CommandLineService
from support.cases import KEY, PROJECT, PYTEST, gate_run, goal, session, stopped, with_goal
from support.fakes import ENVIRONMENT, Fakes
from support.kept_stops import kept
from support.logs import event_log
from support.memory_stores import ManualClock
from support.play import World
from support.played_loops import DOES, SHOP, playing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

pytestmark = pytest.mark.proves("seeing and asking back")

EVIL = '</p><script>alert(1)</script>\u202e\ud800" onload="x'
OWN: Mapping[str, str] = {"host": "127.0.0.1:7777"}

NEEDS = (
    (GoalStatus.STALLED, "stalled"),
    (GoalStatus.EXHAUSTED, "exhausted"),
    (GoalStatus.ACTIVE, "waiting"),
    (GoalStatus.ACHIEVED, "unjudged"),
)
"""Goals whose last stop was so; the last one needs nobody any more."""
TOP_DOWN = (
    *("What it was asked", "goal: all tests pass", "you typed: &quot;Do it.&quot;", "What it said"),
    *("it said: &quot;I did it.&quot;", "What ran", "tests failed in 2.0 s", "What was decided"),
    *(
        "sent back by checks: test_a",
        "What was told",
        "continuation 1 of 16",
        "next step: ",
        "What came of it",
    ),
)

REQUESTS: list[tuple[str, str, dict[str, str], int]] = [
    ("", "GET", {}, 200),
    ("", "GET", {"host": "localhost"}, 200),
    ("", "GET", {"host": "[::1]:7"}, 200),
    ("", "GET", {"origin": "http://127.0.0.1:7777", "sec_fetch_site": "same-origin"}, 200),
    ("page.js", "GET", {}, 200),
    ("", "POST", {}, 405),
    ("", "HEAD", {}, 405),
    ("", "GET", {"host": "evil.example:7777"}, 403),
    ("", "GET", {"host": "127.0.0.1.evil.example"}, 403),
    ("", "GET", {"host": ""}, 403),
    ("", "GET", {"origin": "http://127.0.0.1:8888"}, 403),
    ("", "GET", {"origin": "null"}, 403),
    ("", "GET", {"sec_fetch_site": "same-site"}, 403),
    ("", "GET", {"sec_fetch_site": "cross-site"}, 403),
    ("", "GET", {"cookie": ""}, 403),
    ("", "GET", {"cookie": f"{COOKIE}=guess"}, 403),
    ("/", "GET", {}, 403),
    ("/other/", "GET", {}, 403),
    ("/?token=wrong", "GET", {}, 403),
    ("../page.html", "GET", {}, 404),
    ("stream?view=none", "GET", {}, 404),
    ("stop?host=claude-code&id=s1&at=9", "GET", {}, 404),
    ("stop?at=\u00b2", "GET", {}, 404),
    ("session?id=../x", "GET", {}, 404),
]


class WatchedClock(ManualClock):
    """A clock that shows who waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: asyncio.Queue[float] = asyncio.Queue()

    async def pause(self, seconds: float) -> None:
        self.pauses.put_nowait(seconds)
        await super().pause(seconds)


@dataclass
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


class Browser:
    """Asks the page as a browser that was let in."""

    def __init__(self, fakes: Fakes, control: SidecarControl) -> None:
        self.clock = fakes.clock
        self.access = PageAccess(self.clock)
        people = CommandLineService(fakes.services, fakes.supervisor)
        readings = PageReadings(fakes.services, people)
        self.page = LocalPage(self.access, readings, fakes.services.log, self.clock, control)
        visit = self.access.enter(self.access.new_token())
        assert visit is not None
        self.room = visit.room
        self.cookie = {"cookie": f"{COOKIE}={visit.cookie}"}
        self.leaves = asyncio.Event()
        self.facts: asyncio.Queue[Any] = asyncio.Queue()

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Ask for a path of the room; one that begins with "/" is asked for as it is."""
        return await self.ask(
            path if path.startswith("/") else f"/{self.room}/{path}",
            method,
            {**OWN, **self.cookie, **headers},
        )

    async def ask(self, path: str, method: str, headers: Mapping[str, str]) -> Answer:
        answer = Answer()
        where, _, query = path.partition("?")

        async def receive() -> dict[str, object]:
            await self.leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
                return
            text = message.get("body", b"").decode()
            answer.body += text
            if message.get("more_body"):
                self.facts.put_nowait(json.loads(text.removeprefix("data: ")) if "data" in text else {})

        scope = {
            "type": "http",
            "method": method,
            "path": where,
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        await self.page(scope, receive, send)
        return answer

    async def hear(self) -> dict[str, str]:
        """Return the parts that a stream sent next."""
        async with asyncio.timeout(LIMIT_S):
            found: dict[str, str] = await self.facts.get()
            return found


@pytest.fixture
def control(tmp_path: Path) -> SidecarControl:
    return SidecarControl("1.2.3", tmp_path / "log")


@pytest.fixture
async def browser(fakes: Fakes, control: SidecarControl) -> Browser:
    return Browser(fakes, control)


@pytest.fixture
def fakes() -> Fakes:
    return Fakes(clock=WatchedClock())


def judged(fakes: Fakes, decided: str = "continue", key: SessionKey = KEY, **stop: Any) -> int:
    """Append a stop, and return its position."""
    data = StopJudged(decided=decided, **{"stage": "gates", **stop})
    at = fakes.clock.now()
    return fakes.log.append(LoggedEvent(at=at, system="supervision", session=key, project=PROJECT, data=data))


# --- who is let in ------------------------------------------------------------------------------------------


def test_a_token_opens_once_for_a_while_and_only_the_newest_one() -> None:
    clock = ManualClock()
    access = PageAccess(clock)
    assert access.enter("") is None
    old, token = access.new_token(), access.new_token()
    assert [access.enter(one) for one in ("", old, token[:-1], "\u00e9")] == [None] * 4
    assert access.enter(token) is not None
    assert access.enter(token) is None
    late = access.new_token()
    clock.advance(TOKEN_S)
    assert access.enter(late) is None


def test_a_cookie_opens_its_own_path_and_the_oldest_visit_goes() -> None:
    access = PageAccess(ManualClock())
    visits = [visit for _ in range(MOST_VISITS + 1) if (visit := access.enter(access.new_token()))]
    assert [access.admits(one.room, one.cookie) for one in visits] == [False] + [True] * MOST_VISITS
    assert not access.admits(visits[1].room, visits[2].cookie)
    assert not access.admits("", "")


async def test_only_the_pages_own_requests_are_answered(browser: Browser) -> None:
    for path, method, headers, status in REQUESTS:
        answer = await browser.get(quote(path, safe="/?=&."), method, **headers)
        assert (path, headers, answer.status) == (path, headers, status)
        assert {name: answer.headers[name.lower()] for name in HEADERS} == HEADERS
        assert "'unsafe" not in answer.headers["content-security-policy"]


async def test_a_token_is_exchanged_for_a_cookie_that_no_script_and_no_other_page_gets(
    browser: Browser,
) -> None:
    address = f"/?token={browser.access.new_token()}"
    answer = await browser.get(address, cookie="", sec_fetch_site="cross-site")  # a link in a web terminal
    room = answer.body.partition("url=/")[2].partition('/"')[0]
    given, *marks = answer.headers["set-cookie"].split("; ")
    assert sorted(marks) == ["HttpOnly", f"Path=/{room}/", "SameSite=strict"]
    assert (await browser.get(f"/{room}/", cookie=given)).status == 200
    again = await browser.get(address)
    assert (again.status, "opened before" in again.body) == (403, True)


# --- what it shows ------------------------------------------------------------------------------------------


async def test_where_nothing_happened_it_is_said(browser: Browser) -> None:
    first, checks = await browser.get(""), await browser.get("checks")
    assert "Sessions (0)" in first.body
    assert "and type: /supervisor:goal all tests pass" in first.body
    assert "A stop is shown here as soon as an agent ends its turn." in first.body
    assert "to approve it: supervisor trust" in checks.body
    assert "<svg" not in first.body + checks.body


async def test_a_session_shows_its_goal_its_budget_and_what_was_decided(
    fakes: Fakes, browser: Browser
) -> None:
    fakes.store.save(with_goal())
    judged(fakes, tree="a", gates=("tests: failed",), gate_seconds=(2.0,))
    at = judged(fakes, "achieved", tree="b", gates=("tests: passed",), gate_seconds=(4.0,))
    for path in ("", f"session?host={KEY.host}&id={KEY.id}"):
        page = await browser.get(path)
        assert "the parser accepts comments" in page.body
        assert "0 of 16" in page.body
        assert "achieved by checks" in page.body
        assert "then a check that had failed passed" in page.body
        assert 'aria-label="2 stops, oldest first: achieved 1, sent back 1"' in page.body
    assert f"<h1>{Path(PROJECT).name}: the parser accepts comments</h1>" in page.body
    checks = await browser.get("checks")
    assert "The newest 2 runs of tests, oldest first: 2 runs, 1 failed, slowest 4.0 s" in checks.body
    assert "flaky" not in checks.body.replace('class="mark flaky"', "")
    assert (await browser.get(f"stop?host={KEY.host}&id={KEY.id}&at={at}")).status == 200
    fakes.log.forget(EventFilter(session=KEY))
    assert "achieved" not in (await browser.get("")).body


async def test_what_needs_a_person_comes_first_and_says_what_to_type(fakes: Fakes, browser: Browser) -> None:
    for number, (status, decided) in enumerate(NEEDS):
        key = SessionKey("claude-code", f"old-{decided}")
        fakes.store.save(session(key=key, goal=goal(f"goal {number}", status=status), seen_at=-1.0))
        judged(fakes, decided, key=key, detail="asks which port")
    for number in range(SESSIONS_SHOWN):
        key = SessionKey("claude-code", f"s{number}")
        fakes.store.save(session(key=key, goal=goal("it is new", status=GoalStatus.ACHIEVED), seen_at=1.0))
    run = session(key=SessionKey("run", "one"), goal=goal(status=GoalStatus.STALLED), seen_at=-1.0)
    fakes.store.save(run)
    judged(fakes, "stalled", key=run.key, detail="x")
    edit = HeldEdit(path="rubric.md", digest="d", summary=EVIL)
    fakes.steering.held = lambda _: (edit,)  # type: ignore[assignment, method-assign] # one waits
    needs, _, sessions = (await browser.get("")).body.partition("<h2>Sessions (")
    assert "Needs you (5)" in needs
    shown = ("what may help the agent", "To go on, type: a prompt", "Type your answer", "/supervisor:accept")
    assert [one for one in (*shown, "supervisor run --session one -- AGENT") if one not in needs] == []
    assert [word for word in ("stalled", "exhausted", "waiting for you") if word not in needs] == []
    assert ("goal 3" in needs, "goal 3" in sessions, "it is new" in needs, "<script>" in needs) == (
        False,
    ) * 4
    assert '<strong class="mark">achieved, resting</strong>' in sessions


async def test_charts_say_in_words_what_they_show(fakes: Fakes, browser: Browser) -> None:
    for decided in ("continue", "continue", "achieved", "stalled", "only-talk"):
        judged(fakes, decided)
    fakes.spending.add(1500, 2.0, 1)
    fakes.spending.add_worker(WorkerRan(backend="b", model="m", tokens=20, cents=0.5, calls=1, seconds=1.0))
    page = (await browser.get("")).body
    said = [
        text.partition(": ")[2] for text in re.findall('role="img" aria-label="([^"]* by day[^"]*)"', page)
    ]
    stops, cents, tokens = said
    assert stops == "achieved 1, rested 1, sent back 2, needs you 1"
    assert (cents, tokens) == ("judging 2, workers 0.5", "judging 1.5k, workers 20")
    assert "2 calls, 1,520 tokens, 2.5 cents" in page
    heights = [
        float(height) for height in re.findall('<rect class="[a-z-]*" x="[^"]*%"[^>]* height="([^"]*)"', page)
    ]
    assert sum(heights) == pytest.approx(3 * CHART, abs=1.0)


async def test_a_stop_is_told_from_what_was_asked_to_what_was_told(fakes: Fakes, browser: Browser) -> None:
    world = World(runner=PYTEST, outcomes={"tests": Outcome.FAILED})
    whole = kept(with_goal("all tests pass"), world, at=fakes.clock.now()).stop
    fakes.stop_history.keep(whole)
    fakes.store.save(with_goal("all tests pass"))
    at = judged(fakes, whole.ended, detail="test_a", gates=("tests: failed",), gate_seconds=(2.0,))
    page = (await browser.get(f"stop?host={KEY.host}&id={KEY.id}&at={at}")).body
    places = [page.find(text) for text in TOP_DOWN]
    assert (-1 not in places, places) == (True, sorted(places))


async def test_a_session_shows_its_open_tasks_and_newest_notes(fakes: Fakes, browser: Browser) -> None:
    fakes.store.save(with_goal())
    tasks = (Task(id="T1", content="write it"), Task(id="T2", content="done", status=TaskStatus.COMPLETED))
    notes = tuple(Note(id=f"N{one}", kind=NoteKind.TIP, content=f"tip {one}", at=1.0) for one in range(3, 15))
    fakes.journals.save(KEY, Journal(tasks=tasks, notes=notes))
    page = (await browser.get(f"session?host={KEY.host}&id={KEY.id}")).body
    shown = [one for one in ("1 of 2", "write it", "N14, tip: tip 14", "tip 5", "tip 4", "N3") if one in page]
    assert shown == ["1 of 2", "write it", "N14, tip: tip 14", "tip 5"]


async def test_a_loop_at_work_has_a_card_of_its_own(fakes: Fakes, browser: Browser) -> None:
    playing(fakes)
    for path in ("", f"session?host={SHOP.host}&id={SHOP.id}"):
        page = (await browser.get(path)).body
        shown = ("add sub; add mul", "working", PROJECT, DOES)
        assert [one for one in shown if one not in page] == []
        assert "Sent back" not in page


async def test_text_of_agents_is_never_markup(fakes: Fakes, browser: Browser) -> None:
    fakes.store.save(session(goal=goal(EVIL), project=EVIL))
    at = judged(fakes, EVIL, detail=EVIL, rule=EVIL, gates=(f"{EVIL}: {EVIL}",), key=KEY)
    named = f"host={KEY.host}&id={KEY.id}"
    for path in ("", "checks", f"session?{named}", f"stop?{named}&at={at}", f"session?id={quote('<b>')}"):
        page = (await browser.get(path)).body
        assert "<script>" not in page
        assert 'onload="' not in page
        assert "\u202e" not in page
        assert "<b>" not in page


async def test_an_old_and_a_new_test_stand_side_by_side(fakes: Fakes, browser: Browser) -> None:
    compared = CheckComparison(
        now=gate_run(), files=("test_a.py",), old=gate_run(outcome=Outcome.FAILED, failures=("assert 1",))
    )
    edit = FileDiff(path="test_a.py", added=1, removed=1, hunks="@@ -1 +1 @@\n-assert 1\n+assert <2>\n")
    world = World(
        runner=PYTEST,
        comparisons=(compared,),
        edits=(edit, FileDiff(path="other.py")),
        judge=JudgeFailed("nobody answers"),
    )
    whole = kept(with_goal("all tests pass"), world, at=fakes.clock.now()).stop
    fakes.stop_history.keep(whole)
    fakes.store.save(with_goal())
    at = judged(fakes, whole.ended, findings=("test_a.py: it fails on the new code",))
    judged(fakes, "achieved")
    named = f"host={KEY.host}&id={KEY.id}"
    for path in (f"stop?{named}&at={at}", f"session?{named}"):
        page = (await browser.get(path)).body
        assert "on the new code: tests failed, assert 1" in page
        assert "<tr><td><del>assert 1</del></td><td><ins>assert &lt;2&gt;</ins></td></tr>" in page
        assert "other.py," not in page


def test_lines_that_replace_each_other_make_one_row() -> None:
    assert list(diff_rows("@@ -1 +1 @@\n a\n-b\n-c\n+d\n e\n+f")) == [
        ("@@ -1 +1 @@", "@@ -1 +1 @@"),
        ("a", "a"),
        ("b", "d"),
        ("c", None),
        ("e", "e"),
        (None, "f"),
    ]


# --- much, and broken ---------------------------------------------------------------------------------------


async def test_of_many_sessions_only_those_shown_are_loaded(
    fakes: Fakes, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1000):
        key = SessionKey("claude-code", f"s{number}")
        fakes.store.save(Session(key=key, project=PROJECT, seen_at=float(-number)))
    loaded: list[str] = []
    load = fakes.store.load

    def noted(key: SessionKey) -> Session | None:
        loaded.append(key.id)
        return load(key)

    monkeypatch.setattr(fakes.store, "load", noted)
    page = await browser.get(f"?first={SESSIONS_SHOWN}")
    assert loaded == [f"s{number}" for number in range(SESSIONS_SHOWN, 2 * SESSIONS_SHOWN)]
    assert f"Seen earlier ({1000 - 2 * SESSIONS_SHOWN} more)" in page.body
    assert "Sessions (1000)" in page.body


@pytest.mark.parametrize("written", [b"no log" * 1000, b""])
async def test_a_log_that_cannot_be_read_is_said(tmp_path: Path, written: bytes) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "events.sqlite3").write_bytes(written)
    if not written:
        with contextlib.closing(sqlite3.connect(state / "events.sqlite3")) as connection:
            connection.execute("PRAGMA user_version = 99")  # a newer version's
    broken = Fakes(log=event_log(state))  # type: ignore[arg-type]
    page = await Browser(broken, SidecarControl("1", tmp_path)).get("")
    assert (page.status, 'role="alert"' in page.body) == (503, True)


# --- the stream ---------------------------------------------------------------------------------------------


@pytest.fixture
async def stream(browser: Browser) -> AsyncIterator[asyncio.Task[Answer]]:
    task = asyncio.create_task(browser.get("stream?view="))
    yield task
    browser.leaves.set()
    async with asyncio.timeout(LIMIT_S):
        await task


async def passes(browser: Browser, seconds: float) -> None:
    """Wait until the stream waits for so long, and let that time pass."""
    clock = browser.clock
    assert isinstance(clock, WatchedClock)
    async with asyncio.timeout(LIMIT_S):
        while await clock.pauses.get() != seconds:
            pass
    clock.advance(seconds)


async def test_a_stream_sends_all_parts_and_then_what_changed(
    fakes: Fakes, browser: Browser, stream: asyncio.Task[Answer]
) -> None:
    assert "No agent has stopped yet." in (await browser.hear())["stops"]
    judged(fakes)
    judged(fakes, "achieved")
    assert browser.facts.empty()
    await passes(browser, PAUSE_S)
    changed = await browser.hear()
    assert set(changed) == {"newest", "figures", "stops"}
    assert "achieved by checks" in changed["newest"]
    await passes(browser, PAUSE_S)
    await passes(browser, BEAT_S)
    assert await browser.hear() == {}
    assert not stream.done()


async def test_what_checks_print_is_shown_while_they_run(fakes: Fakes, browser: Browser) -> None:
    fakes.store.save(session(goal=goal(checks=("make check",))))
    hears: asyncio.Queue[Any] = asyncio.Queue()
    ends = asyncio.Event()

    async def run(gates: Any, at: Any, *_: object) -> Any:
        hears.put_nowait(at.hear)
        await ends.wait()
        return tuple(map(gate_run, gates))

    fakes.gates.run = run  # type: ignore[assignment, method-assign] # it prints and ends as told
    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(fakes.tell(stopped(environment=ENVIRONMENT)))
        (hear := await hears.get())(f"{EVIL}\ntest 1\n")
        tasks.create_task(browser.get(f"stream?view=session&host={KEY.host}&id={KEY.id}"))
        shown = (await browser.hear())["running"]
        assert ("test 1\n" in shown, "<script>" in shown) == (True, False)
        hear("test 2\n")
        await passes(browser, PAUSE_S)
        await passes(browser, 0.0)
        assert "test 1\ntest 2\n" in (await browser.hear())["running"]
        ends.set()
        await stopping
        await passes(browser, PAUSE_S)
        assert (await browser.hear())["running"] == ""
        browser.leaves.set()


@pytest.mark.parametrize("end", ["browser", "sidecar"])
async def test_a_stream_ends_with_the_browser_and_with_the_sidecar(
    fakes: Fakes, browser: Browser, control: SidecarControl, stream: asyncio.Task[Answer], end: str
) -> None:
    await browser.hear()
    assert control.visitors == 1
    if end == "browser":
        browser.leaves.set()
    else:
        control.stop()
    async with asyncio.timeout(LIMIT_S):
        await stream
    assert (control.visitors, fakes.log._listeners) == (0, [])  # noqa: SLF001 - who is still woken
