"""What a person at the real host sees when a rubric or a configuration file was just saved.

Seen in 2.1.197 and 2.1.330: the answer to FileChanged is shown above the input for 5 s, in one line that the
terminal's width cuts; one that comes while another is shown or waits is dropped, so that is in the next note.
So is a file whose folder was not there when the session began: the host does not tell of it. In `-p` the
answer is shown nowhere, so such a session asks for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.host import BUSY, Host
from real_hosts.supervised import Supervised, says, supervised
from real_hosts.terminal import Terminal
from real_hosts.waiting import until
from sidecar.kernel.log import EventFilter
from support.logs import event_log
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("Claude Code")

PLAIN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n\n## Antipatterns\n\n- **TALK**: it is only said\n"
STRICT = PLAIN + "- **NO-PRINT**: a print statement is left\n"


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        yield made


def rubric(under: Supervised, text: str) -> Path:
    path = under.host.project / ".supervisor" / "rubric.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def swap(path: Path, text: str) -> None:
    """Save as vim does."""
    backup = path.with_name("rubric.md~")
    path.rename(backup)
    path.write_text(text, encoding="utf-8")
    backup.unlink()


def turn(terminal: Terminal, answer: str) -> None:
    """One turn, to its rest: then the session is known."""
    terminal.submit("Go on.")
    terminal.wait_for(answer)
    terminal.wait_until_gone(BUSY)


def known_to_rest(under: Supervised) -> None:
    """Wait until the sidecar knows of the stop, and of who was at work before it began."""
    log, events = under.state / "log" / "sidecar.log", event_log(under.state)
    until(lambda: events.newest(EventFilter(kinds=("stop-judged",)), 1), "the sidecar knows of no stop")
    until(lambda: "saved files are watched" in log.read_text(errors="replace"), "it watches nothing")


def test_an_edit_at_rest_is_told_at_once_and_never_again(under: Supervised) -> None:
    path = rubric(under, PLAIN)
    under.script(says("Hello."), says("Bye."))
    with under.terminal() as terminal:
        turn(terminal, "Hello")
        known_to_rest(under)
        swap(path, STRICT)
        shown = terminal.wait_for(r"\.supervisor/rubric\.md was changed \(1 antipattern added \(NO-PRINT\)\)")
        assert "It counts from the next stop" in shown
        terminal.wait_until_gone("was changed")
        turn(terminal, "Bye")
        assert "NO-PRINT" not in terminal.screen
