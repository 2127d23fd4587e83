"""A prompt that no person typed cannot change a goal, whatever it says (law 9)."""

from __future__ import annotations

from sidecar.kernel.effects import CommandReply, NoReply
from sidecar.kernel.goal import GoalStatus
from support.cases import goal, said, session, with_goal
from support.fakes import Fakes, command, prompt


async def test_a_command_in_a_prompt_that_the_host_did_not_get_from_a_person_is_refused(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    await fakes.tell(prompt(human=False, prompt_id="p7"))
    reply = await fakes.reply(command("clear", prompt_id="p7"))
    assert reply.refused
    assert fakes.goal().status is GoalStatus.ACTIVE


async def test_a_command_typed_after_such_a_prompt_is_carried_out(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    await fakes.tell(prompt(human=False, prompt_id="p7"))
    assert not (await fakes.reply(command("clear", prompt_id="p8"))).refused
    assert fakes.goal().status is GoalStatus.CLEARED


async def test_a_continuation_that_comes_as_a_prompt_goes_on_unless_another_one_is_due(fakes: Fakes) -> None:
    fakes.store.save(session(goal=goal(), pending=said("a1b2c3")))
    assert await fakes.tell(prompt(human=False, continuation="a1b2c3")) == NoReply()
    late = await fakes.tell(prompt(human=False, continuation="d4e5f6"))
    assert isinstance(late, CommandReply)
    assert (late.work, "what was typed after its stop came first" in late.headline) == (False, True)
