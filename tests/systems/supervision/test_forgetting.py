"""What `supervisor forget` removes, and whose order it must be."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.journal import Journal
from sidecar.kernel.log import AUDIT_KIND, AuditEntry, EventFilter, LoggedEvent
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.systems.supervision.forgetting import ForgetRequest, SessionRemover
from sidecar.systems.supervision.people import CommandLineService
from support.cases import KEY, PROJECT, with_goal
from support.fakes import Fakes, command, prompt

OTHER = SessionKey("opencode", "s2")
GONE = SessionKey("claude-code", "gone")


def remover(fakes: Fakes) -> SessionRemover:
    return SessionRemover(
        fakes.services, fakes.supervisor, CommandLineService(fakes.services, fakes.supervisor)
    )


@pytest.fixture
async def fakes() -> Fakes:
    """A session with a goal, a journal and a kept file state; another one; and events of one that is gone."""
    fakes = Fakes()
    with_base = with_goal(base=FileBaseline(tree="t", snapshot="snapshot"))
    fakes.store.save(replace(with_base, project=PROJECT, seen_at=fakes.clock.now()))
    fakes.journals.save(KEY, Journal(serial=1))
    await fakes.reply(command("", name="retry"))
    await fakes.reply(command("", name="retry", key=OTHER))
    await fakes.reply(command("", name="retry", key=GONE))
    fakes.store.forget(GONE)
    return fakes


def events(fakes: Fakes, key: SessionKey | None) -> int:
    return len(fakes.log.read(EventFilter(session=key)))


async def test_of_a_session_nothing_is_left_and_the_others_stay(fakes: Fakes) -> None:
    said = remover(fakes).forget(ForgetRequest(session=KEY.id))
    assert said == "Supervisor: forgotten: 1 event, 1 session with state, journal and kept files."
    assert (fakes.store.load(KEY), fakes.journals.load(KEY), events(fakes, KEY)) == (None, None, 0)
    assert fakes.workspace.returned == ["snapshot"]
    assert (fakes.store.load(OTHER) is not None, events(fakes, OTHER)) == (True, 1)
    (order,) = fakes.log.read(EventFilter(kinds=("order-given",)))[-1:]
    assert (order.session, KEY.id in repr(order.data)) == (None, False)


async def test_a_session_without_a_state_is_named_with_its_host(fakes: Fakes) -> None:
    with pytest.raises(BadInputError, match="name it HOST:ID"):
        remover(fakes).forget(ForgetRequest(session=GONE.id))
    remover(fakes).forget(ForgetRequest(session=f"{GONE.host}:{GONE.id}"))
    assert events(fakes, GONE) == 0


async def test_the_beginning_of_an_id_is_not_enough_to_forget_a_session(fakes: Fakes) -> None:
    fakes.store.save(replace(with_goal(), key=SessionKey(KEY.host, "demo-2")))
    with pytest.raises(BadInputError, match="supervisor forget demo-2"):
        remover(fakes).forget(ForgetRequest(session="demo"))
    assert fakes.store.load(SessionKey(KEY.host, "demo-2")) is not None


async def test_what_is_older_goes_with_sessions_that_were_not_seen_since(fakes: Fakes) -> None:
    fakes.clock.advance(1000.0)
    await fakes.tell(prompt(key=OTHER))
    await fakes.reply(command("", name="retry", key=OTHER))
    remover(fakes).forget(ForgetRequest(before=fakes.clock.now() - 500.0))
    assert (fakes.store.known(), events(fakes, KEY), events(fakes, OTHER)) == ((OTHER,), 0, 1)


async def test_the_audit_stays_which_is_said_with_the_order_that_removes_it(fakes: Fakes) -> None:
    entry = AuditEntry(tool="lock", lock="gov-1", mode=Mode.FULL)
    for key in (KEY, KEY, OTHER):
        fakes.log.append(LoggedEvent(at=fakes.clock.now(), system="governance", session=key, data=entry))
    said = remover(fakes).forget(ForgetRequest(session=KEY.id))
    assert said.endswith("kept files. 2 audit entries stay; `supervisor uninstall --purge` removes them.")
    said = remover(fakes).forget(ForgetRequest(before=fakes.clock.now() + 1.0))
    assert "3 audit entries stay" in said
    assert len(fakes.log.read(EventFilter(kinds=(AUDIT_KIND,)))) == 3


async def test_a_forgotten_session_begins_anew(fakes: Fakes) -> None:
    remover(fakes).forget(ForgetRequest(session=KEY.id))
    await fakes.tell(prompt())
    assert fakes.state().goal is None


def test_a_team_is_to_forget_the_same_before_anything_is_removed_here(fakes: Fakes) -> None:
    people, wanted = CommandLineService(fakes.services, fakes.supervisor), list[EventFilter]()

    def elsewhere(asked: Sequence[EventFilter]) -> bool:
        assert events(fakes, KEY) == 1
        wanted.extend(asked)
        return True

    remover = SessionRemover(fakes.services, fakes.supervisor, people, elsewhere)
    said = remover.forget(ForgetRequest(session=KEY.id))
    assert said.endswith("kept files. The team forgets the same when it answers next.")
    assert wanted == [EventFilter(session=KEY)]
