"""Commands that a person types: carried out once, saved, told in full, and written down."""

from __future__ import annotations

import pytest

from sidecar.kernel.effects import NoReply
from sidecar.kernel.goal import GoalSpending, GoalStatus
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision import supervisor
from support.cases import KEY, after, said, session, with_goal
from support.fakes import Fakes, command, prompt
from support.memory_stores import FixedConfiguration, PlainMessages


async def test_a_goal_is_saved_and_the_agent_is_told_of_it(fakes: Fakes) -> None:
    fakes.transcripts.bytes = 77
    reply = await fakes.reply(command('all tests pass --check "make"'))
    assert reply.work
    assert reply.context == PlainMessages().goal_context("all tests pass", ("make",), 16)
    goal, state = fakes.goal(), fakes.state()
    assert (goal.condition, goal.set_at) == ("all tests pass", fakes.clock.now())
    assert (state.counted_to, state.seen_at, state.project) == (77, fakes.clock.now(), "/home/user/project")


async def test_the_context_names_the_users_own_budget(fakes: Fakes) -> None:
    await fakes.reply(command("3", name="retry"))
    reply = await fakes.reply(command("all tests pass"))
    assert reply.context == PlainMessages().goal_context("all tests pass", (), 3)


@pytest.mark.parametrize("typed", ["", "status", "clear", "pause", "resume"])
async def test_no_other_form_reaches_the_model(fakes: Fakes, typed: str) -> None:
    fakes.store.save(with_goal(status=GoalStatus.PAUSED))
    reply = await fakes.reply(command(typed))
    assert (reply.work, reply.context) == (False, "")


async def test_a_refused_command_leaves_the_goal_as_it_is_and_is_written_down(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    assert (await fakes.reply(command("x" * 4001))).refused
    assert fakes.goal() == with_goal().goal
    (entry,) = fakes.record.read(KEY)
    assert (entry.event, entry.decided) == ("command goal", "refused")
    assert entry.detail.startswith(" -> the condition has 4001 characters")


async def test_a_command_is_written_down_with_what_was_answered(fakes: Fakes) -> None:
    await fakes.reply(command("5", name="retry"))
    (entry,) = fakes.record.read(KEY)
    assert (entry.event, entry.decided, entry.detail) == (
        "command retry",
        "done",
        "5 -> budget of 5 continuations.",
    )


async def test_a_goal_that_the_host_tells_of_twice_is_set_once(fakes: Fakes) -> None:
    expansion = await fakes.reply(command("all tests pass", prompt_id="p1"))
    goal = fakes.goal()
    assert await fakes.tell(command("all tests pass", prompt_id="p1")) == NoReply()
    assert expansion.work
    assert fakes.goal() == goal
    assert fakes.story() == ["command goal: done"]
    assert fakes.record.read(KEY)[0].detail == "all tests pass -> goal set: all tests pass"


@pytest.mark.parametrize("typed", ["", "clear", "x --check"])
async def test_an_answer_is_given_again_to_the_second_telling(fakes: Fakes, typed: str) -> None:
    fakes.store.save(with_goal())
    first = await fakes.reply(command(typed, prompt_id="p1"))
    again = await fakes.reply(command(typed, prompt_id="p1"))
    assert again == first
    assert len(fakes.story()) == 1


async def test_the_same_words_under_another_id_are_another_command(fakes: Fakes) -> None:
    await fakes.tell(command("all tests pass", prompt_id="p1"))
    first = fakes.goal()
    await fakes.tell(command("all tests pass", prompt_id="p2"))
    assert fakes.goal().id != first.id


async def test_the_same_id_in_another_session_is_another_command(fakes: Fakes) -> None:
    other = SessionKey(host=KEY.host, id="s2")
    await fakes.tell(command("all tests pass", prompt_id="p1"))
    await fakes.tell(command("the docs build", prompt_id="p1", key=other))
    assert fakes.goal(other).condition == "the docs build"


async def test_without_an_id_every_telling_counts(fakes: Fakes) -> None:
    await fakes.tell(command("all tests pass"))
    first = fakes.goal()
    await fakes.tell(command("all tests pass"))
    assert fakes.goal().id != first.id


async def test_only_the_newest_commands_are_remembered(fakes: Fakes) -> None:
    await fakes.tell(command("", prompt_id="p0"))
    for number in range(supervisor.MAX_COMMANDS_REMEMBERED):
        await fakes.tell(command("", prompt_id=f"q{number}"))
    before = len(fakes.record.read(KEY, last=2000))
    await fakes.tell(command("", prompt_id="p0"))
    assert len(fakes.record.read(KEY, last=2000)) == before + 1


@pytest.mark.parametrize(
    ("project", "off"), [(None, "off for you"), ("/home/user/project", "off for this project")]
)
async def test_switched_off_a_command_is_refused_with_what_to_type(
    fakes: Fakes, project: str | None, off: str
) -> None:
    fakes.switches.turn(on=False, project=project)
    reply = await fakes.reply(command("all tests pass"))
    remedy = "supervisor on --project" if project else "supervisor on"
    assert (reply.refused, reply.text) == (True, f"Supervisor: switched {off}. Type in a shell: {remedy}")
    assert fakes.store.load(KEY) is None


@pytest.mark.parametrize("typed", ["", "clear", "pause"])
async def test_switched_off_what_enforces_nothing_is_carried_out(fakes: Fakes, typed: str) -> None:
    fakes.store.save(with_goal())
    fakes.switches.turn(on=False, project=None)
    assert not (await fakes.reply(command(typed))).refused


async def test_switched_off_a_goal_cannot_be_resumed(fakes: Fakes) -> None:
    fakes.store.save(with_goal(status=GoalStatus.PAUSED))
    fakes.switches.turn(on=False, project=None)
    assert (await fakes.reply(command("resume"))).refused
    assert fakes.goal().status is GoalStatus.PAUSED


@pytest.mark.parametrize("unreadable", [False, True])
async def test_in_shadow_mode_every_answer_says_so_whatever_the_log_does(*, unreadable: bool) -> None:
    fakes = Fakes(configuration=FixedConfiguration(Settings(mode="shadow")))
    fakes.log.unreadable = unreadable
    reply = await fakes.reply(command("all tests pass"))
    assert reply.text.count("\nSupervisor: shadow mode: nothing is sent back, only recorded. ")


async def test_errors_of_the_configuration_are_shown_with_every_answer() -> None:
    fakes = Fakes(configuration=FixedConfiguration(errors=("mode: no such mode", "another")))
    reply = await fakes.reply(command("status"))
    assert "\nSupervisor: settings have errors, defaults hold there: mode: no such mode. Type:" in reply.text


async def test_a_command_is_a_human_speaking(fakes: Fakes) -> None:
    fakes.store.save(session(goal=after(2), unasked=2, stalls=2, streak=5, waited_for=("b1",)))
    await fakes.tell(command("status"))
    state = fakes.state()
    assert (state.unasked, state.stalls, state.streak, state.waited_for) == (0, 0, 0, ())
    assert fakes.goal() == after(2)


async def test_without_a_transcript_tokens_are_counted_from_where_they_were(fakes: Fakes) -> None:
    fakes.store.save(session(counted_to=40))
    await fakes.tell(command("all tests pass"))
    assert fakes.state().counted_to == 40


async def test_a_prompt_of_a_person_starts_counts_in_a_row_anew_and_a_notice_does_not(fakes: Fakes) -> None:
    fakes.store.save(session(unasked=2, pending=said(for_goal=False)))
    await fakes.tell(prompt(human=False))
    assert fakes.state().unasked == 2
    fakes.clock.advance(5)
    await fakes.tell(prompt())
    state = fakes.state()
    assert (state.unasked, state.pending, state.active_since) == (0, None, fakes.clock.now())


async def test_what_was_spent_is_in_the_status(fakes: Fakes) -> None:
    fakes.store.save(with_goal(spent=GoalSpending(continuations=3)))
    assert "continuations 3/16" in (await fakes.reply(command(""))).text
