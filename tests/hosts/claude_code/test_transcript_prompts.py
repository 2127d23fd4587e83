"""What a transcript says a person asked, and what was left behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hosts.claude_code.writing import read

if TYPE_CHECKING:
    from hosts.claude_code.writing import Transcript


async def test_a_turn_opens_with_the_last_prompt_of_a_person(transcript: Transcript) -> None:
    transcript.prompt("first")
    transcript.runs("ls", "a", "call-1")
    transcript.says("Done one.")
    transcript.prompt([{"type": "text", "text": "second"}], promptId="p-2")
    transcript.says("Done two.", message="msg-two")
    turn = await read(transcript.path)
    assert turn.prompts == ("second",)
    assert turn.prompt_id == "p-2"
    assert turn.calls == ()
    assert (turn.last_message, turn.last_message_id) == ("Done two.", "msg-two")
    assert turn.readable


async def test_what_the_host_writes_in_a_persons_name_opens_no_turn(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    transcript.prompt("meta", isMeta=True)
    transcript.prompt("This session is being continued", isCompactSummary=True)
    transcript.prompt("seen only", isVisibleInTranscriptOnly=True)
    transcript.prompt("<local-command-stdout>Compacted</local-command-stdout>")
    transcript.prompt("<bash-input>ls</bash-input>")
    transcript.prompt("<task-notification>\n<task-id>b</task-id>")
    transcript.prompt("told by a peer", origin={"kind": "peer"})
    transcript.prompt("<command-name>/model</command-name>\n <command-message>model</command-message>")
    transcript.prompt("of a subagent", isSidechain=True)
    turn = await read(transcript.path)
    assert turn.prompts == ("ask",)
    assert len(turn.calls) == 1


async def test_a_slash_command_is_a_prompt_and_reads_as_it_was_typed(transcript: Transcript) -> None:
    transcript.prompt("before")
    transcript.prompt(
        "<command-message>supervisor:goal</command-message>\n<command-name>/supervisor:goal</command-name>\n"
        "<command-args>all tests\npass</command-args>"
    )
    transcript.prompt([{"type": "text", "text": "the command's own text"}], isMeta=True)
    assert (await read(transcript.path)).prompts == ("/supervisor:goal all tests\npass",)


async def test_a_prompt_of_an_image_alone_is_a_prompt(transcript: Transcript) -> None:
    transcript.prompt([{"type": "image", "source": {"data": "iVBOR"}}])
    assert (await read(transcript.path)).prompts == ("[image]",)


async def test_a_prompt_that_the_agent_was_given_at_work_joins_the_turn(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    human = {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
    transcript.attachment(**human, prompt="and this")
    transcript.attachment(**human, prompt=[{"type": "text", "text": "and that"}])
    notice = {
        "type": "queued_command",
        "commandMode": "task-notification",
        "origin": {"kind": "task-notification"},
    }
    transcript.attachment(**notice, prompt="<task-notification>x")
    turn = await read(transcript.path)
    assert turn.prompts == ("ask", "and this", "and that")
    assert len(turn.calls) == 1


async def test_of_many_prompts_the_first_and_the_newest_stay(transcript: Transcript) -> None:
    transcript.prompt("ask")
    for n in range(30):
        transcript.attachment(type="queued_command", prompt=f"more {n}")
    prompts = (await read(transcript.path)).prompts
    assert len(prompts) == 20
    assert (prompts[0], prompts[1], prompts[-1]) == ("ask", "more 11", "more 29")


async def test_a_long_prompt_is_cut_in_the_middle(transcript: Transcript) -> None:
    transcript.prompt("BEGIN" + "x" * 50_000 + "END")
    (prompt,) = (await read(transcript.path)).prompts
    assert len(prompt) == 4000
    assert prompt.startswith("BEGIN")
    assert prompt.endswith("END")
    mark = re.search(r"\n\[\.\.\. (\d+) characters left out \.\.\.\]\n", prompt)
    assert mark is not None
    assert int(mark[1]) + len(prompt) - len(mark[0]) == 50_008


async def test_what_a_rewind_left_behind_does_not_count(transcript: Transcript) -> None:
    transcript.prompt("first")
    end = transcript.says("Done one.")
    transcript.prompt("second")
    dead = transcript.calls("Bash", "call-dead", {"command": "rm"})
    transcript.leaf = end
    transcript.prompt("second, better")
    alive = transcript.leaf
    transcript.result("call-dead", "late", parent=dead)
    stray = transcript.leaf
    transcript.calls("Bash", "call-stray", {"command": "late too"})
    transcript.leaf = alive
    transcript.runs("ls", "a", "call-alive")
    transcript.says("Done two.")
    assert stray != alive
    turn = await read(transcript.path)
    assert turn.prompts == ("second, better",)
    assert [call.id for call in turn.calls] == ["call-alive"]


async def test_a_compaction_in_the_middle_of_a_turn_ends_no_turn(transcript: Transcript) -> None:
    old = transcript.says("Done before.")
    transcript.prompt("ask")
    transcript.runs("ls", "a", "call-1")
    transcript.record("system", parent=None, subtype="compact_boundary", logicalParentUuid="uuid-3")
    transcript.prompt("This session is being continued from", isCompactSummary=True)
    transcript.runs("ls", "b", "call-2")
    leaf, transcript.leaf = transcript.leaf, old
    transcript.calls("Bash", "call-left-behind")
    transcript.leaf = leaf
    transcript.says("Done.")
    turn = await read(transcript.path)
    assert turn.prompts == ("ask",)
    assert [call.id for call in turn.calls] == ["call-1", "call-2"]


async def test_a_message_of_thought_alone_is_not_the_last_word(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.says("Done.", message="msg-1")
    transcript.assistant({"type": "thinking", "thinking": "hm"}, message="msg-2")
    turn = await read(transcript.path)
    assert (turn.last_message, turn.last_message_id) == ("Done.", "msg-1")


async def test_words_of_a_subagent_are_not_the_agents(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.says("Done.")
    transcript.says("Sub.", isSidechain=True)
    assert (await read(transcript.path)).last_message == "Done."


async def test_an_interrupt_counts_until_something_is_said_or_asked(transcript: Transcript) -> None:
    transcript.prompt("ask")
    transcript.says("Working.")
    transcript.prompt([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    turn = await read(transcript.path)
    assert turn.interrupted
    assert turn.prompts == ("ask",)
    transcript.says("Going on.")
    assert not (await read(transcript.path)).interrupted
    transcript.prompt([{"type": "text", "text": "[Request interrupted by user]"}])
    transcript.prompt("next")
    assert not (await read(transcript.path)).interrupted
