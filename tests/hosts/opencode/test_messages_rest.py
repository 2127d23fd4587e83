"""Whether a rest of the host is the end of an answer: every case that was seen in the real one (1.18.33)."""

from __future__ import annotations

from typing import Final

from hosts.opencode.writing import Fields, answer, bash, read, text, tool, user
from support.table import over_table

ASKED: Final = user("u1", text("go"), at=1)
WORKED: Final = answer("a1", bash("make"), at=2, finish="tool-calls")
DONE: Final = answer("a2", text("Done."), at=20)
NOTE: Final = user("n", text("Supervisor: achieved", ignored=True, metadata={"supervisor": True}), at=50)
NOT_DONE: Final = "the agent was not done: a command of the user's, a refused permission, or a failure"
NOT_THE_AGENTS: Final = "the newest message is not the agent's"


def error(name: str, message: str = "") -> Fields:
    return {"name": name, "data": {"message": message}}


def begun(*parts: Fields, finish: str | None = None) -> Fields:
    """An answer that was cut short before the host wrote down why."""
    cut = answer("a2", *parts, at=20, finish=finish)
    del cut["info"]["time"]["completed"]
    return cut


ENDED: Final[dict[str, list[Fields]]] = {
    "a normal end": [ASKED, WORKED, DONE],
    "the longest answer there may be": [ASKED, answer("a", text("And then"), finish="length")],
    "an answer without words": [ASKED, WORKED, answer("a2", at=20)],
    "an answer that came after tries that failed": [ASKED, answer("a", text("Done."), at=900)],
    "an answer in a session that was compacted on the way": [
        ASKED,
        WORKED,
        user("u2", {"type": "compaction", "auto": True}, at=15),
        answer("s", text("So far: make."), at=16, summary=True),
        user("u3", text("Continue", synthetic=True, metadata={"compaction_continue": True}), at=30),
        answer("a3", text("Done."), at=31),
    ],
    "an answer to a prompt that was queued": [ASKED, WORKED, user("u2", text("and docs"), at=5), DONE],
    "a prompt whose changes the host summed up late": [
        {**ASKED, "info": {**ASKED["info"], "summary": {"diffs": []}}},
        DONE,
    ],
    "a finish that a later version made up": [ASKED, answer("a", text("Done."), finish="other")],
    "an answer with notes of ours behind it": [ASKED, DONE, NOTE, NOTE],
    "an answer of which the host shows all to the user alone": [
        ASKED,
        answer("a", text("Done.", ignored=True)),
    ],
    "an answer that is no summary": [ASKED, answer("a", text("Done."), summary=False)],
}
ABORTED: Final = error("MessageAbortedError", "Aborted")
FAILED: Final = error("APIError", "over\nloaded")
FILTERED: Final = error("ContentFilterError", "refused")
UNFINISHED: Final[dict[str, tuple[list[Fields], str]]] = {
    "aborted, at the first rest": ([ASKED, begun(text("I"))], NOT_DONE),
    "aborted, at the second rest": (
        [ASKED, answer("a", finish=None, error=ABORTED)],
        "MessageAbortedError: Aborted",
    ),
    "aborted in the middle of a call": (
        [ASKED, begun(tool("bash", {"command": "sleep 9"}, "error", error="Tool execution aborted"))],
        NOT_DONE,
    ),
    "the service failed, at the first rest": ([ASKED, begun()], NOT_DONE),
    "the service failed, at the second rest": (
        [ASKED, answer("a", finish=None, error=FAILED)],
        "APIError: over loaded",
    ),
    "the content was filtered": (
        [ASKED, answer("a", finish="content-filter", error=FILTERED)],
        "ContentFilterError: refused",
    ),
    "the model is not known": ([ASKED], NOT_THE_AGENTS),
    "a command of the user's": (
        [
            ASKED,
            DONE,
            user("u2", text("The following tool was executed by the user", synthetic=True), at=50),
            answer("x", bash("git status"), at=51, finish=None),
        ],
        NOT_DONE,
    ),
    "a permission was refused": (
        [
            ASKED,
            answer("a", tool("bash", {}, "error", error="The user rejected permission"), finish="tool-calls"),
        ],
        NOT_DONE,
    ),
    "the host does not know why the model ended": (
        [ASKED, answer("a", text("I"), finish="unknown")],
        NOT_DONE,
    ),
    "the user compacted the session": (
        [
            ASKED,
            DONE,
            user("u2", {"type": "compaction"}, at=40),
            answer("s", text("So far"), at=41, summary=True),
        ],
        "the session was compacted",
    ),
    "a finish that is not complete yet": ([ASKED, begun(finish="stop")], NOT_DONE),
    "a message without content": ([ASKED, DONE, user("u2", at=50)], NOT_THE_AGENTS),
    "a note before any answer": ([ASKED, NOTE], NOT_THE_AGENTS),
    "a note behind a call": ([ASKED, WORKED, NOTE], NOT_DONE),
    "a prompt waits": ([ASKED, DONE, user("u2", text("more"), at=50)], NOT_THE_AGENTS),
    "an empty session": ([], NOT_THE_AGENTS),
    "a complete answer with an error of unknown shape": ([ASKED, answer("a", error="boom")], "UnknownError"),
}


@over_table("case", ENDED)
def test_the_end_of_an_answer_is_the_end_of_the_turn(case: str) -> None:
    turn = read(*ENDED[case])

    assert turn.unfinished == ""
    assert not turn.interrupted


@over_table("case", UNFINISHED)
def test_every_other_rest_says_why_it_is_none(case: str) -> None:
    listed, why = UNFINISHED[case]

    assert read(*listed).unfinished == why


def test_an_abort_is_an_interruption_as_soon_as_the_host_has_written_it_down() -> None:
    first, second = (UNFINISHED[f"aborted, at the {which} rest"][0] for which in ("first", "second"))

    assert not read(*first).interrupted
    assert read(*second).interrupted


def test_an_abort_of_a_session_that_rests_changes_nothing() -> None:
    turn = read(ASKED, WORKED, DONE)

    assert (turn.unfinished, turn.interrupted, turn.last_message_id) == ("", False, "a2")


def test_a_complaint_of_any_length_is_cut_to_one_line() -> None:
    long = error("APIError", "line\n" * 10_000)

    said = read(ASKED, answer("a", finish=None, error=long)).unfinished
    assert len(said) == 500
    assert "\n" not in said
