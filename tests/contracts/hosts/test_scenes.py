"""What every host shows us, and what our answers do there: each scene on every host that can have it.

A host is one adapter file beside this one, found by itself (see adapter.py). Which scenes it cannot have
stands there, each with the reason; docs/hosts.md shows it as a table. After a change of a scene's name or of
an adapter: `RENEW_SNAPSHOTS=1 python -m pytest tests/contracts/hosts`.
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from contracts.hosts.adapter import (
    FOLDER,
    OUTPUT,
    UNCACHED,
    Asked,
    Called,
    Calling,
    ComesBack,
    Commanded,
    Edited,
    Escaped,
    HostAdapter,
    Opened,
    Prompt,
    Ran,
    Said,
    Step,
    Stopped,
    Unheard,
    WasInterrupted,
    WasSentBack,
    hosts,
)
from hooks.relaying import run
from real_hosts.contract.adapter import PARTS, real_hosts
from sidecar.kernel.effects import (
    CommandReply,
    Continue,
    Feedback,
    NoReply,
    ReadProjectState,
    Rest,
    RestReason,
    ToolCallReply,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import (
    AgentStopped,
    CommandTyped,
    PromptSubmitted,
    SessionOrigin,
    SessionStarted,
    ToolCalled,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolAction
from support.table import over_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HOSTS: Final = hosts()
PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "hosts.md"
BEGINS: Final = "<!-- from here to the next such line by tests/contracts/hosts/test_scenes.py -->\n"
ENDS: Final = "<!-- to here -->\n"

REQUEST: Final = UNCACHED + OUTPUT
"""Tokens of one request that count."""
BACK: Final = '[supervisor a1b2c3] 1 test fails: test_a_tenth_is_taken_off\n| <b> "é" & 0.9\n\nRepair it.'
SENT_BACK: Final = Continue(
    feedback=Feedback(kind="gates", id="a1b2c3", number=2, budget=16), note="Supervisor: sent back 2/16"
)
GOAL_SET: Final = CommandReply(headline="goal set", work=True, context="Work until all tests pass.")
WORK: Final[tuple[Step, ...]] = (
    Prompt("Repair the shop."),
    Ran("pytest -q", 1, "1 failed"),
    Edited(f"{FOLDER}/shop.py"),
    Ran("pytest -q", 0, "1 passed"),
    Said("Done."),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "host" in metafunc.fixturenames:
        scene = metafunc.definition.name.removeprefix("test_")
        able = [host for host in HOSTS if scene not in host.cannot]
        metafunc.parametrize("host", able, ids=[host.host for host in able], indirect=True)


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path) -> HostAdapter:
    made: HostAdapter = request.param(tmp_path / "record.jsonl")
    return made


# --- Stops --------------------------------------------------------------------------------------------------


async def test_a_stop_is_judged(host: HostAdapter) -> None:
    host.play(*WORK)
    stop = host.stop()
    assert (stop.key, stop.project) == (SessionKey(host.host, host.session), FOLDER)
    assert (stop.ours, stop.subagent, stop.read_only) == (False, False, False)
    assert isinstance(await host.next_step(stop), ReadProjectState)
    turn = await host.read(stop)
    assert (turn.prompts, turn.last_message, turn.readable) == (("Repair the shop.",), "Done.", True)


async def test_a_stop_in_plan_mode_is_not_judged(host: HostAdapter) -> None:
    host.play(Prompt("Plan it.", read_only=True), Said("First this, then that."))
    step = await host.next_step(host.stop(Stopped("First this, then that.", read_only=True)))
    assert isinstance(step, Rest)
    assert step.reason is RestReason.PLAN_MODE


async def test_the_stop_of_a_helper_of_the_agent_is_not_judged(host: HostAdapter) -> None:
    host.play(*WORK[:-1])
    helper = Stopped("I looked.", helper=True)
    if host.report(helper) is not None:
        step = await host.next_step(host.stop(helper))
        assert isinstance(step, Rest)
        assert step.reason is RestReason.SUBAGENT


async def test_the_stop_of_our_own_worker_is_not_judged(host: HostAdapter) -> None:
    host.play(*WORK)
    step = await host.next_step(host.stop(SUPERVISOR_WORKER="1"))
    assert isinstance(step, Rest)
    assert step.reason is RestReason.OURS


async def test_what_the_user_interrupted_is_not_judged(host: HostAdapter) -> None:
    host.play(*WORK[:-1], WasInterrupted())
    if host.report(Escaped()) is not None:
        event = host.decode(Escaped())
        if isinstance(event, AgentStopped):
            step = await host.next_step(event)
            assert isinstance(step, Rest)
            assert step.reason in (RestReason.INTERRUPTED, RestReason.UNFINISHED)


async def test_the_record_shows_that_the_user_interrupted(host: HostAdapter) -> None:
    host.play(*WORK[:-1], WasInterrupted())
    assert (await host.read(host.stop(Stopped("")))).interrupted
    host.play(Prompt("Go on."), Said("Done."))
    assert not (await host.read()).interrupted


# --- Answers to a stop --------------------------------------------------------------------------------------


def test_an_agent_is_sent_back_with_our_words(host: HostAdapter) -> None:
    assert host.answer(Stopped(), SENT_BACK, BACK).to_agent == BACK


def test_the_user_reads_why_an_agent_is_sent_back(host: HostAdapter) -> None:
    assert "sent back 2/16" in host.answer(Stopped(), SENT_BACK, BACK).to_person


def test_long_words_are_cut_in_the_middle_as_far_as_the_host_takes_them(host: HostAdapter) -> None:
    told = host.answer(Stopped(), SENT_BACK, f"[supervisor a1b2c3] {'x' * 50_000} the end").to_agent
    assert len(told) <= host.said_limit
    assert told.startswith("[supervisor a1b2c3] x")
    assert told.endswith("x the end")


def test_a_rest_shows_its_note_and_tells_the_agent_nothing(host: HostAdapter) -> None:
    for alarm in (False, True):
        rest = Rest(reason=RestReason.ACHIEVED, note="Supervisor: goal achieved", alarm=alarm)
        result = host.answer(Stopped(), rest)
        assert (result.to_agent, "goal achieved" in result.to_person) == ("", True)


def test_the_end_of_a_goal_rings(host: HostAdapter) -> None:
    for alarm in (False, True):
        rest = Rest(reason=RestReason.ACHIEVED, note="Supervisor: goal achieved", alarm=alarm)
        assert host.answer(Stopped(), rest).rang is alarm


def test_a_rest_without_a_note_shows_nothing(host: HostAdapter) -> None:
    result = host.answer(Stopped(), Rest(reason=RestReason.CLEAN))
    assert (result.to_agent, result.to_person, result.ended) == ("", "", False)


# --- Prompts and commands -----------------------------------------------------------------------------------


def test_a_prompt_that_a_person_typed_is_theirs_and_goes_on_unchanged(host: HostAdapter) -> None:
    event = host.decode(Asked("Repair the shop."))
    assert isinstance(event, PromptSubmitted)
    assert (event.human, event.key.id, event.project) == (True, host.session, FOLDER)
    result = host.answer(Asked("Repair the shop."), NoReply())
    assert (result.to_agent, result.to_person, result.ended) == ("", "", False)


async def test_our_own_words_that_come_back_are_not_what_a_person_asked(host: HostAdapter) -> None:
    if host.report(ComesBack(BACK)) is not None:
        event = host.decode(ComesBack(BACK))
        assert isinstance(event, PromptSubmitted)
        assert not event.human
    host.play(*WORK, WasSentBack(BACK), Ran("pytest -q", 0, "1 passed"), Said("Really done."))
    turn = await host.read(host.stop(Stopped("Really done.")))
    assert turn.prompts == ("Repair the shop.",)


async def test_our_words_are_seen_to_have_reached_the_agent(host: HostAdapter) -> None:
    host.play(*WORK)
    assert (await host.read()).arrived == ()
    host.play(WasSentBack(BACK), Ran("pytest -q", 0, "1 passed"), Said("Really done."))
    turn = await host.read(host.stop(Stopped("Really done.")))
    assert (turn.arrived, turn.calls_since_arrival, len(turn.calls)) == (("a1b2c3",), 1, 4)


async def test_words_of_ours_that_the_agent_only_quotes_have_not_reached_it(host: HostAdapter) -> None:
    host.play(Prompt("Repair the shop."), Ran("cat notes", 0, BACK), Said(f"It said {BACK}"))
    assert (await host.read(host.stop(Stopped(f"It said {BACK}")))).arrived == ()


def test_a_typed_command_sets_a_goal_with_which_the_agent_sets_to_work(host: HostAdapter) -> None:
    typed = Commanded("goal", 'all "tests" pass')
    event = host.decode(typed)
    assert isinstance(event, CommandTyped)
    assert event.order.goal is not None
    assert (event.order.goal.condition, event.key.id) == ('all "tests" pass', host.session)
    result = host.answer(typed, GOAL_SET)
    assert (result.to_agent, result.ended) == ("Work until all tests pass.", False)


def test_the_user_reads_that_the_goal_is_set(host: HostAdapter) -> None:
    assert "goal set" in host.answer(Commanded("goal", "all tests pass"), GOAL_SET).to_person


def test_a_typed_command_is_answered_without_the_model(host: HostAdapter) -> None:
    typed = Commanded("retry", "5")
    event = host.decode(typed)
    assert isinstance(event, CommandTyped)
    assert (event.order.name, event.order.number) == ("retry", 5)
    reply = CommandReply(headline="budget of 5 continuations", details=("0 were spent",))
    result = host.answer(typed, reply)
    assert (result.to_agent, result.ended) == ("", True)
    assert "budget of 5 continuations\n0 were spent" in result.to_person


def test_a_refused_command_reaches_no_model(host: HostAdapter) -> None:
    reply = CommandReply(headline="say a number from 1 to 100", work=True, context="Work.", refused=True)
    result = host.answer(Commanded("goal", "it works"), reply)
    assert (result.to_agent, result.ended) == ("", True)
    assert "1 to 100" in result.to_person


@pytest.mark.process
def test_the_relay_refuses_a_typed_command_where_no_sidecar_runs(host: HostAdapter, tmp_path: Path) -> None:
    typed, asked = Commanded("goal", "all tests pass"), Asked("Repair the shop.")
    line = ("/bin/sh", "-c", host.prompt_hook())
    refused, passed = (run(line, host.raw(one), tmp_path, **host.environment) for one in (typed, asked))
    result = host.result(typed, json.loads(refused.stdout))
    assert (result.to_agent, result.ended) == ("", True)
    assert "Supervisor has no runtime yet" in result.to_person
    assert (refused.returncode, passed.returncode, passed.stdout) == (0, 0, b"")


def test_a_prompt_of_a_helper_is_no_command(host: HostAdapter) -> None:
    helper = Commanded("goal", "clear", helper=True)
    if host.report(helper) is not None:
        event = host.decode(helper)
        assert isinstance(event, PromptSubmitted)
        assert (event.human, event.subagent) == (False, True)


# --- The record ---------------------------------------------------------------------------------------------


async def test_a_last_message_that_is_recorded_late_is_waited_for(host: HostAdapter) -> None:
    host.play(*WORK[:-1])
    host.play_late(WORK[-1])
    turn = await host.read()
    assert (turn.last_message, turn.current, turn.tokens) == ("Done.", True, 4 * REQUEST)
    assert turn.last_message_id


async def test_a_last_message_that_never_comes_is_told_by_the_event(host: HostAdapter) -> None:
    host.play(*WORK[:-1])
    turn = await host.read()
    assert (turn.last_message, turn.current, turn.last_message_id) == ("Done.", False, "")


async def test_tokens_are_counted_once_and_without_those_that_were_cached(host: HostAdapter) -> None:
    host.play(*WORK)
    turn = await host.read()
    assert turn.tokens == 4 * REQUEST
    assert (await host.read(counted_to=turn.position)).tokens == 0
    host.play(WasSentBack(BACK), Said("Really done."))
    again = await host.read(host.stop(Stopped("Really done.")), turn.position)
    assert (again.tokens, again.position > turn.position) == (REQUEST, True)


async def test_commands_have_their_exit_codes_and_what_they_printed(host: HostAdapter) -> None:
    host.play(*WORK)
    ran = [call for call in (await host.read()).calls if call.doing is ToolAction.RUN]
    assert [(call.command, call.exit_code) for call in ran] == [("pytest -q", 1), ("pytest -q", 0)]
    assert [call.outcome for call in ran] == [CallOutcome.FAILED, CallOutcome.OK]
    assert ["1 failed" in call.output for call in ran] == [True, False]
    assert [call.runs[0].argv for call in ran] == [("pytest", "-q")] * 2


async def test_a_call_that_still_runs_is_known(host: HostAdapter) -> None:
    host.play(*WORK)
    await host.read()
    assert not host.works()
    host.play(Prompt("Go on."), Calling("sleep 9"))
    assert host.works()
    (call,) = (await host.read(host.stop(Stopped("")))).calls
    assert (call.command, call.outcome, call.exit_code) == ("sleep 9", CallOutcome.PENDING, None)


async def test_edits_have_the_paths_of_the_files(host: HostAdapter) -> None:
    host.play(*WORK)
    turn = await host.read()
    edits = [call for call in turn.calls if call.doing is ToolAction.EDIT]
    assert [(call.paths, call.outcome) for call in edits] == [((f"{FOLDER}/shop.py",), CallOutcome.OK)]
    assert turn.changed


async def test_a_turn_begins_with_the_newest_prompt_of_a_person(host: HostAdapter) -> None:
    host.play(*WORK, Prompt("What is it?"), Said("A shop."))
    turn = await host.read(host.stop(Stopped("A shop.")))
    assert (turn.prompts, turn.calls, turn.last_message) == (("What is it?",), (), "A shop.")
    assert turn.tokens == REQUEST


# --- Sessions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
def test_a_session_says_whether_it_is_new_or_taken_up_again(host: HostAdapter, *, resumed: bool) -> None:
    event = host.decode(Opened(resumed=resumed))
    assert isinstance(event, SessionStarted)
    assert event.origin is (SessionOrigin.RESUME if resumed else SessionOrigin.STARTUP)
    assert event.key == SessionKey(host.host, host.session)


def test_the_user_is_greeted(host: HostAdapter) -> None:
    assert host.answer(Opened(), NoReply(note="Supervisor: on.")).to_person == "Supervisor: on."


async def test_a_resumed_session_is_read_on_from_where_it_was_counted(host: HostAdapter) -> None:
    host.play(*WORK)
    before = (await host.read()).position
    host.play(Prompt("Go on."), Said("Done."))
    turn = await host.read_anew(counted_to=before)
    assert (turn.prompts, turn.tokens) == (("Go on.",), REQUEST)


def test_a_call_of_our_tool_is_told_its_session(host: HostAdapter) -> None:
    event = host.decode(Called("task_add"))
    assert isinstance(event, ToolCalled)
    assert (event.tool, event.certain) == ("task_add", True)
    told = host.answer(Called("task_add"), ToolCallReply(session=host.session, spared=False))
    assert told.session == host.session


# --- Bad input ----------------------------------------------------------------------------------------------


@over_table("spoiled", [b"", b"[]", b"{}", b"\xff{}", b'{"session'])
def test_an_event_that_is_no_event_is_refused_with_what_to_do(spoiled: bytes, host: HostAdapter) -> None:
    with pytest.raises(BadInputError, match="supervisor doctor"):
        host.codec.decode(spoiled, host.environment, 42)


def test_an_event_that_nobody_asked_for_is_named(host: HostAdapter) -> None:
    with pytest.raises(BadInputError, match="SomethingNew"):
        host.decode(Unheard())


@over_table("session", ["", "../x", "a/b", "x" * 200, "a\0b"])
def test_an_id_that_is_no_file_name_is_refused(session: str, host: HostAdapter) -> None:
    raw = host.raw(Stopped()).replace(host.session.encode(), session.encode("unicode_escape"))
    with pytest.raises(BadInputError):
        host.codec.decode(raw, host.environment, 42)


# --- The table in docs/hosts.md -----------------------------------------------------------------------------


def test_the_page_on_hosts_says_which_host_can_have_which_scene() -> None:
    scenes = [name.removeprefix("test_") for name, test in globals().items() if _is_scene(name, test)]
    lacks = {host.title: host.cannot for host in HOSTS}
    played = {host.title: host.cannot for host in real_hosts()}
    versions = [", ".join((*host.versions, *host.older)) for host in real_hosts()]
    wanted = "\n".join(
        [
            *(
                "",
                *_table(lacks, scenes),
                "",
                "On the real programs (`tests/real_hosts/test_contract.py`):",
                "",
            ),
            *(*_table(played, PARTS), f"| tested versions | {' | '.join(versions)} |", "", ""),
        ]
    )
    head, begins, rest = PAGE.read_text(encoding="utf-8").partition(BEGINS)
    drawn, ends, tail = rest.partition(ENDS)
    if os.environ.get("RENEW_SNAPSHOTS"):
        PAGE.write_text(head + begins + wanted + ends + tail, encoding="utf-8")
    else:
        assert drawn == wanted, __doc__


def _is_scene(name: str, test: object) -> bool:
    return name.startswith("test_") and "host" in inspect.signature(test).parameters  # type: ignore[arg-type]


def _table(lacks: Mapping[str, Mapping[str, str]], rows: Iterable[str]) -> Iterator[str]:
    """Draw what each host can and cannot, and why."""
    listed = list(rows)
    assert {row for lack in lacks.values() for row in lack} <= set(listed)
    yield f"| | {' | '.join(lacks)} |"
    yield f"|---|{'---|' * len(lacks)}"
    for row in listed:
        cells = (f"no: {lack[row]}" if row in lack else "yes" for lack in lacks.values())
        yield f"| {row.replace('_', ' ')} | {' | '.join(cells)} |"
