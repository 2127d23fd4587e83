"""What an agent in OpenCode says is set beside what Supervisor sees, and judged by the rubric in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from real_hosts.opencode_desk import noted
from real_hosts.opencode_server import Desk
from real_hosts.opencode_supervised import Supervised, agent, reads_shop, runs, says, writes_shop
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_wire import ReplyToolCall

pytestmark = [pytest.mark.xdist_group("opencode-serve"), pytest.mark.proves("OpenCode")]

GOAL = "all tests pass"
SKIP = r"sed -i 's/^def test_a_tenth/import pytest\n\n\n@pytest.mark.skip(reason=\"flaky\")\n&/' test_shop.py"
COMMIT = "git add -A && git -c user.name=A -c user.email=a@example.invalid commit -qm 'A shop'"
PLAIN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n\n## Antipatterns\n\n- **TALK**: it is only said\n"
STRICT = PLAIN + "- **NO-PRINT**: a print statement is left\n"
FOUND = {
    "verdict": "incomplete",
    "missing": [{"point": "a print statement is left", "criterion": "no-print", "evidence": []}],
    "next_step": "Take the print statement out.",
    "confidence": 0.95,
}
STRICT_RUBRIC = r'name="rubric"[^>]*>(?:(?!</data-).)*NO-PRINT'
"""The rubric that the judge is given, not a change of the file that is among the evidence."""


def judged(answer: dict[str, Any], about: str) -> ReplyRule:
    """What the judge answers, in words, when it is asked about a goal."""
    return ReplyRule(
        reply_with_text(msgspec.json.encode({"answer": answer}).decode()),
        RequestMatch(tools="none", any=about),
        times=None,
    )


def test_a_goal_in_plain_words_is_achieved_where_red_became_green(shop: Supervised, desk: Desk) -> None:
    here = shop.host.project
    assert shop.supervisor("trust", "--yes").returncode == 0
    shop.script(reads_shop(shop.host), writes_shop(shop.host), says("A tenth is taken off now.", here))
    session = desk.session()
    desk.command(session, "supervisor:goal", "a tenth is not taken off the price, please sort it out")
    noted(desk, session, "goal achieved")
    assert shop.continuations() == []


def rubric(shop: Supervised, text: str) -> Path:
    """The user writes the project's rubric."""
    path = shop.host.project / ".supervisor" / "rubric.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def greets(name: str) -> str:
    return f'{name}.txt greets Ada by name --check "grep -q Ada {name}.txt"'


@pytest.mark.parametrize("tool", [pytest.param("write", marks=pytest.mark.long), "bash"])
def test_an_edit_by_the_agent_is_held_until_the_user_accepts_it(
    shop: Supervised, desk: Desk, tool: str
) -> None:
    path, here = rubric(shop, STRICT), shop.host.project
    shop.script(ReplyRule(reply_with_calls(ReplyToolCall("read", {"filePath": str(path)})), agent(here)))
    if tool == "write":
        shop.script(
            ReplyRule(
                reply_with_calls(ReplyToolCall("write", {"filePath": str(path), "content": PLAIN})),
                agent(here),
            )
        )
    else:
        shop.script(runs("sed -i '/NO-PRINT/d' .supervisor/rubric.md", here))
    shop.script(runs(f"echo hello Ada > {tool}.txt", here), says("Done.", here), says("There is none.", here))
    strict = RequestMatch(tools="none", any=STRICT_RUBRIC)
    shop.script(
        ReplyRule(reply_with_text(msgspec.json.encode({"answer": FOUND}).decode()), strict, times=None)
    )
    session = desk.session()
    desk.command(session, "supervisor:retry", "1")
    desk.command(session, "supervisor:goal", greets(tool))
    noted(desk, session, "budget spent")
    assert path.read_text(encoding="utf-8") == PLAIN
    assert shop.stops() == ["continue", "exhausted"]
    noted(desk, session, "was changed while an agent worked")
    desk.command(session, "supervisor:rubric")
    noted(desk, session, "held: ")
    desk.command(session, "supervisor:rubric", "accept")
    noted(desk, session, "in force now")
    assert shop.report().troubles == ()
