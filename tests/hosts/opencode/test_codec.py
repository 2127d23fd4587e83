"""Every event of the plugin in our words, in the shapes that the real host (1.18.33) gives its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hosts.opencode.telling import EVENTS, SESSION, Fields, decode, recorded, telling
from sidecar.hosts.opencode.codec import HOST
from sidecar.hosts.opencode.messages import unquote_arguments
from sidecar.kernel.events import (
    AgentStopped,
    CommandTyped,
    PromptSubmitted,
    SessionDeleted,
    SessionOrigin,
    SessionStarted,
    ToolCalled,
    TurnFailed,
)
from sidecar.kernel.orders import CommandName, parse_order
from sidecar.kernel.session import SessionKey

KEY = SessionKey(HOST, SESSION["id"])


def idle(**fields: Any) -> AgentStopped:
    told = decode(telling("session.idle", **fields))
    assert isinstance(told, AgentStopped)
    return told


class TestSessions:
    def test_one_that_began_in_this_process_is_new_and_any_other_one_resumed(self) -> None:
        info = recorded("session.created")["info"]
        session = {"id": info["id"], "parentID": info.get("parentID"), "directory": info["directory"]}
        told = decode(telling("session.start", session))
        assert isinstance(told, SessionStarted)
        assert (told.key, told.project, told.origin) == (KEY, "/home/user/lab/p3", SessionOrigin.STARTUP)
        later = decode(telling("session.start", fresh=False, run=True))
        assert isinstance(later, SessionStarted)
        assert (later.origin, later.headless, told.headless) == (SessionOrigin.RESUME, True, False)

    def test_a_call_of_our_tool_is_told_of_with_our_own_name_for_it(self) -> None:
        assert decode(telling("tool")) == ToolCalled(
            key=KEY,
            project=SESSION["directory"],
            environment={"PWD": SESSION["directory"]},
            tool="task_add",
            certain=True,
        )

    def test_a_deleted_one_is_told_of(self) -> None:
        assert decode(telling("session.deleted")) == SessionDeleted(
            key=KEY, project=SESSION["directory"], environment={"PWD": SESSION["directory"]}
        )


class TestPrompts:
    def test_a_message_of_the_host_is_a_persons(self) -> None:
        output = recorded("chat.message")["output"]
        parts = [
            {name: part.get(name) for name in ("type", "synthetic", "ignored")} for part in output["parts"]
        ]
        told = decode(telling("prompt", message=output["message"]["id"], parts=parts))
        assert isinstance(told, PromptSubmitted)
        assert (told.prompt_id, told.human) == ("msg_200103da70016t0Ck6ujqYgGKH", True)

    @pytest.mark.parametrize(("agent", "read_only"), [("plan", True), ("build", False), (None, None)])
    def test_the_agent_that_works_on_it_says_whether_anything_may_be_written(
        self, agent: str | None, *, read_only: bool | None
    ) -> None:
        told = decode(telling("prompt", agent=agent))
        assert isinstance(told, PromptSubmitted)
        assert told.read_only is read_only

    @pytest.mark.parametrize(
        ("parts", "human"),
        [
            ([{"type": "text", "synthetic": True}], False),
            ([{"type": "text", "ignored": True}], False),
            ([{"type": "text", "synthetic": True}, {"type": "text", "ignored": True}], False),
            ([], False),
            ([{"type": "text", "synthetic": True}, {"type": "text"}], True),
            ([{"type": "file"}], True),
            ([{"type": "text", "synthetic": None, "ignored": None}], True),
            ([{"type": "hologram", "new": {"deep": [1]}}], True),
        ],
    )
    def test_it_is_a_persons_where_a_part_is_neither_hidden_nor_a_note(
        self, parts: list[Fields], *, human: bool
    ) -> None:
        told = decode(telling("prompt", parts=parts))
        assert isinstance(told, PromptSubmitted)
        assert told.human is human


class TestStops:
    def test_the_newest_message_of_the_host_tells_of_a_stop(self) -> None:
        told = idle(last=recorded("message.updated", 1)["info"])
        assert told == AgentStopped(
            key=KEY,
            project=SESSION["directory"],
            environment={"PWD": SESSION["directory"]},
            transcript="",
        )

    def test_a_run_ends_with_its_rest(self) -> None:
        assert idle(run=True).headless
        assert not idle(run=False).headless

    @pytest.mark.parametrize("field", ["agent", "mode"])
    def test_the_hosts_planning_agent_may_not_write(self, field: str) -> None:
        assert idle(last={"id": "m", field: "plan"}).read_only
        assert not idle(last={"id": "m", field: "build"}).read_only

    def test_a_newest_message_of_a_person_has_no_mode(self) -> None:
        assert not idle(last={"id": "m", "role": "user", "agent": "build", "mode": None}).read_only


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "said"),
        [
            ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, "stopped by the user"),
            (
                {"name": "APIError", "data": {"message": "over\nloaded", "statusCode": 529}},
                "APIError: over loaded",
            ),
            ({"name": "ContentFilterError", "data": {}}, "ContentFilterError"),
            ({"name": "UnknownError", "data": {"message": "\x1b[31mred\x1b[0m"}}, "UnknownError: red"),
            ({"name": "APIError", "data": "no object"}, "APIError"),
            ("boom", ""),
            (None, ""),
        ],
    )
    def test_what_cut_a_turn_short_is_said_in_one_line(self, error: object, said: str) -> None:
        told = decode(telling("session.error", error=error))
        assert isinstance(told, TurnFailed)
        assert told.error == said

    def test_a_complaint_of_any_length_is_cut(self) -> None:
        told = decode(telling("session.error", error={"name": "x" * 9000, "data": {"message": "y" * 9000}}))
        assert isinstance(told, TurnFailed)
        assert len(told.error) == 500


class TestOwnership:
    @pytest.mark.parametrize("kind", EVENTS)
    def test_a_helper_of_the_agent_speaks_for_the_session_it_helps(self, kind: str) -> None:
        told = decode(telling(kind, {"id": "ses_child", "parentID": SESSION["id"]}))
        assert (told.key, told.subagent) == (KEY, True)

    @pytest.mark.parametrize("kind", EVENTS)
    @pytest.mark.parametrize(
        "parent", [{}, {"parentID": None}, {"parentID": ""}], ids=["no", "null", "empty"]
    )
    def test_a_session_of_its_own_speaks_for_itself(self, kind: str, parent: Fields) -> None:
        told = decode(telling(kind, parent))
        assert (told.key, told.subagent, told.ours) == (KEY, False, False)

    @pytest.mark.parametrize("kind", EVENTS)
    def test_a_process_says_nothing_of_what_belongs_together(self, kind: str) -> None:
        assert decode(telling(kind)).host_pid == 0

    @pytest.mark.parametrize("kind", EVENTS)
    def test_our_own_workers_are_ours(self, kind: str) -> None:
        assert decode(telling(kind), SUPERVISOR_WORKER="1").ours
        assert not decode(telling(kind), SUPERVISOR_WORKER="").ours

    def test_the_environment_names_the_sessions_folder_and_not_another_hosts(self) -> None:
        raw = telling("session.idle", {"directory": "/home/user/other/"})
        told = decode(raw, PWD="/", CLAUDE_PROJECT_DIR="/elsewhere", PATH="/bin")
        assert told.project == "/home/user/other"
        assert told.environment == {"PWD": "/home/user/other", "PATH": "/bin"}

    def test_a_session_outside_of_any_repository_works_in_its_folder(self) -> None:
        assert decode(telling("session.idle", {"directory": "/"})).project == "/"


class TestCommands:
    @pytest.mark.parametrize("name", ["goal", "retry", "rubric"])
    def test_each_of_ours_comes_with_what_was_typed(self, name: CommandName) -> None:
        told = decode(telling("command", name=name, arguments="5 "))
        assert isinstance(told, CommandTyped)
        assert (told.order, told.prompt_id) == (parse_order(name, "5"), "")

    def test_the_words_of_a_shell_come_without_its_quotes(self) -> None:
        told = decode(telling("command", arguments='"the \\"fast\\" tests pass"'))
        assert isinstance(told, CommandTyped)
        assert told.order.text == 'the "fast" tests pass'


def handed_on(*words: str) -> str:
    """What `opencode run` 1.18.33 makes of the words of a shell: one with a space in it is quoted."""
    return " ".join('"' + word.replace('"', '\\"') + '"' if " " in word else word for word in words)


class TestQuotes:
    @given(st.text().map(lambda text: f"{text} {text}"))
    @example("C:\\\\share is mounted")
    @example("it ends in a backslash \\")
    @example('say \\" and "')
    def test_a_condition_that_the_host_quoted_comes_back(self, condition: str) -> None:
        assert unquote_arguments(handed_on(condition)) == condition

    @given(st.text().filter(lambda text: not (text.strip().startswith('"') and text.strip().endswith('"'))))
    @example('"one" and two')
    @example("\\")
    def test_what_is_not_wholly_quoted_is_left_alone(self, typed: str) -> None:
        assert unquote_arguments(typed) == typed

    @pytest.mark.parametrize(
        "typed", ['"one two" "three four"', '"', '"""', 'a "b c"', '"a" b', "", " ", "'one two'", '" x" "']
    )
    def test_several_words_and_single_quotes_are_left_alone(self, typed: str) -> None:
        assert unquote_arguments(typed) == typed

    def test_spaces_around_a_quoted_condition_go_with_the_quotes(self) -> None:
        assert unquote_arguments(' "all tests pass"\n') == "all tests pass"

    def test_a_long_text_of_quotes_is_read_in_one_go(self) -> None:
        assert unquote_arguments('"' + '\\"' * 1_000_000 + '"') == '"' * 1_000_000
        assert unquote_arguments('"' + '" ' * 1_000_000 + '"').startswith('"" ')


def test_unknown_fields_of_later_versions_do_no_harm() -> None:
    told = json.loads(telling("session.idle", later={"x": [1]}))
    told["session"]["later"] = told["last"]["later"] = {"y": None}
    assert isinstance(decode(json.dumps(told).encode()), AgentStopped)
