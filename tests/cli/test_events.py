"""How the log is shown in a terminal."""

from __future__ import annotations

from msgspec import Raw

from sidecar.cli.history import event_line
from sidecar.kernel.log import AuditEntry, LoggedEvent, OrderGiven, StopJudged, UnreadableEvent
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode

KEY = SessionKey("claude-code", "s1")


def test_an_event_is_one_clean_line() -> None:
    order = OrderGiven(name="goal", decided="done", detail="two\nlines\x1b[2J\u202e")
    line = event_line(
        LoggedEvent(position=7, at=0.0, system="supervision", session=KEY, data=order, origin="zsh")
    )
    assert line.startswith("7 19")
    assert "supervision order-given claude-code:s1 by zsh: name goal, decided done, detail two lines" in line
    assert line.isprintable()


def test_what_it_holds_besides_text_is_shown_as_json_and_a_long_line_is_cut() -> None:
    judged = StopJudged(decided="continue", gates=("tests: failed",), confidence=0.5, detail="x" * 1000)
    line = event_line(LoggedEvent(position=7, at=0.0, system="supervision", data=judged))
    assert len(line) <= 300
    short = event_line(LoggedEvent(at=0.0, system="s", data=StopJudged(decided="x", gates=("a: b",))))
    assert short.endswith('stop-judged -: decided x, gates ["a: b"]')


def test_an_unreadable_event_is_shown_with_its_own_kind() -> None:
    line = event_line(LoggedEvent(at=0.0, system="s", data=UnreadableEvent(kind="moon", why="it is damaged")))
    assert "s moon -: kind moon, why it is damaged" in line


def test_the_json_that_a_governed_phase_keeps_is_shown_too() -> None:
    entry = AuditEntry(tool="lock", lock="gov-1", mode=Mode.FULL, input=Raw(b'{"x":1}'))
    assert 'input {"x":1}' in event_line(LoggedEvent(at=0.0, system="governance", data=entry))
