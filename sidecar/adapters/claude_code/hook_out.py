"""What Claude Code reads from a hook's standard output.

Rules of this file, each seen in the real host:

- `additionalContext` of a Stop makes the agent continue, without the "error" that `decision: block` shows.
- `hookEventName` must repeat the event, or the host refuses the whole answer.
- Beyond about 10,000 characters the host moves a context into a file and shows the model a preview: we cut.
- Of an answer that blocks a prompt only `reason` is shown.
- Of a file in `watchPaths` the host tells 0.6 s after it was saved, if its folder was there when the session
  began. The answer to that is shown above the input for 5 s, in one line, unless another one is shown or
  waits: then it is dropped. In `-p` it is shown nowhere.
- Of a call that is about to be made, `updatedInput` holds with and without `permissionDecision`. Without one
  the user's own rules decide; "allow" spares the question; "ask" would ask even where the user gave leave.
- A typed command is told twice. Version 2.1.197 tells of the expansion first, and of the prompt unless that
  was blocked; version 2.1.330 tells of the prompt first, and of the expansion unless that was blocked. A
  blocked prompt shows best, so a reply that ends the prompt leaves the expansion alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from sidecar.adapters.text import middle_out_utf16, plain
from sidecar.model.effects import Continue, HostAnswer, Identified, Nothing, Reply, Rest

SESSION: Final = "session"
"""The argument of our tools that says whose call it is; what the model says there counts for nothing."""
CONTEXT_LIMIT: Final = 9500
"""UTF-16 code units of one additional context."""
NOTE_LIMIT: Final = 4000
"""UTF-16 code units of a line for the user."""
BELL: Final = "\u0007"
WATCHES: Final = "SessionStart"
"""The event whose answer may name files of which the host then tells."""
CALLS: Final = "PreToolUse"
PROMPTS: Final = ("UserPromptExpansion", "UserPromptSubmit")


class Specific(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The part of an answer that belongs to one event."""

    hook_event_name: str
    additional_context: str = ""
    suppress_original_prompt: bool = False
    watch_paths: tuple[str, ...] = ()
    permission_decision: Literal["allow"] | None = None
    updated_input: dict[str, msgspec.Raw] | None = None


class Output(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A whole answer. Empty it is `{}`, which changes nothing."""

    decision: Literal["block"] | None = None
    reason: str = ""
    system_message: str = ""
    terminal_sequence: str = ""
    hook_specific_output: Specific | None = None


def output(event: str, answer: HostAnswer, feedback: str) -> Output:
    """Word `answer` to `event`. Raises ValueError where the event knows no such answer: a fault of ours."""
    match answer:
        case Continue():
            return _sent_back(event, answer, feedback)
        case Rest():
            return Output(system_message=_note(answer.note), terminal_sequence=BELL if answer.alarm else "")
        case Reply():
            return _reply(event, answer)
        case Identified():
            raise ValueError("a call's answer needs the call: see `identified`")
        case Nothing():
            watch = Specific(hook_event_name=event, watch_paths=answer.watch)
            return Output(
                system_message=_note(answer.note),
                hook_specific_output=watch if answer.watch and event == WATCHES else None,
            )


def identified(answer: Identified, given: Mapping[str, msgspec.Raw]) -> Output:
    """Let a call that has these arguments say whose it is."""
    named = {**given, SESSION: msgspec.Raw(msgspec.json.encode(answer.session))}
    decision: Literal["allow"] | None = "allow" if answer.spared else None
    return Output(
        hook_specific_output=Specific(
            hook_event_name=CALLS, permission_decision=decision, updated_input=named
        )
    )


def _sent_back(event: str, answer: Continue, feedback: str) -> Output:
    if event != "Stop" or not feedback.strip():
        raise ValueError(f"a continuation of {len(feedback)} characters cannot answer {event}")
    return Output(system_message=_note(answer.note), hook_specific_output=_context(event, feedback))


def _reply(event: str, reply: Reply) -> Output:
    if event not in PROMPTS:
        raise ValueError(f"a reply cannot answer {event}")
    if reply.work and not reply.refused:
        return Output(system_message=_note(reply.text), hook_specific_output=_context(event, reply.context))
    if event == "UserPromptExpansion" and not reply.refused:
        return Output()
    return Output(
        decision="block",
        reason=_note(reply.text),
        hook_specific_output=Specific(hook_event_name=event, suppress_original_prompt=True),
    )


def _context(event: str, text: str) -> Specific:
    return Specific(hook_event_name=event, additional_context=middle_out_utf16(text, CONTEXT_LIMIT))


def _note(text: str) -> str:
    return middle_out_utf16(plain(text), NOTE_LIMIT)
