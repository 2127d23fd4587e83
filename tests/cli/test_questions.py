"""Ten questions that a person asks, each answered by one command, which is found by `--help` alone.

The summary of the command in `supervisor --help` has the word that the person looks for, and its own help
names each option that is typed. What a sidecar must be asked for is in tests/robustness/test_verbs.py.
"""

from __future__ import annotations

import re
import time
from typing import Final

import pytest
from click.testing import CliRunner

from sidecar.cli import VERBS, main
from sidecar.kernel.log import LoggedEvent, StopJudged
from sidecar.kernel.session import SessionKey
from sidecar.platform.paths import user_paths
from support.logs import event_log
from support.table import over_table

pytestmark = pytest.mark.proves("seeing and asking back")

QUESTIONS: Final = [
    ("Why was I sent back?", "sent back", "explain --last 2", "a test fails"),
    ("Who said so, a rule, a check or a model?", "step by step", "explain", "achieved by checks"),
    ("Was it right?", "right", "history", "repaired"),
    ("What did it cost this week?", "cost", "stats --days 7 --by all", "12.5"),
    ("And in every project?", "cost", "stats --by project --all", "/elsewhere"),
    ("How long did I wait for it?", "time", "stats --by host", "90.0"),
    ("Which check is slow?", "check", "stats --by check", "slow-tests"),
    ("What of that other session?", "decided", "history bbb", "asks which port"),
    ("What happened today, everywhere?", "decided", "history --days 1 --all", "asks which port"),
    ("Can I have that in a spreadsheet?", "Count", "stats --csv", "name,stops,sent_back"),
]


@pytest.fixture(autouse=True)
def _three_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/shop")
    log, now = event_log(user_paths().state), time.time()
    stops = (
        ("aaa", "/shop", StopJudged(
            decided="continue", stage="gates", detail="a test fails", tree="1", seconds=60.0, judge="cli",
            judge_cents=10.0, judge_tokens=5, gates=("slow-tests: failed",), gate_seconds=(59.0,),
        )),
        ("aaa", "/shop", StopJudged(
            decided="achieved", stage="gates", tree="2", seconds=30.0, judge="cli", judge_tokens=5,
            judge_cents=2.5, gates=("slow-tests: passed",), gate_seconds=(29.0,),
        )),
        ("bbb", "/elsewhere", StopJudged(decided="waiting", stage="judge", detail="asks which port")),
    )  # fmt: skip
    for number, (ident, project, stop) in enumerate(stops):
        key = SessionKey("claude-code", ident)
        at = now - 60 + number
        log.append(LoggedEvent(at=at, system="supervision", session=key, project=project, data=stop))


@over_table(("question", "word", "typed", "answer"), QUESTIONS)
def test_a_question_is_answered_by_the_command_that_help_leads_to(
    question: str, word: str, typed: str, answer: str
) -> None:
    verb, *words = typed.split()
    assert word in VERBS[verb].summary, question
    told = CliRunner().invoke(main, [verb, "--help"]).output
    assert set(re.findall(r"--\w+", typed)) <= set(re.findall(r"--\w+", told)), question
    done = CliRunner().invoke(main, [verb, *words])
    assert (done.exit_code, answer in " ".join(done.output.split())) == (0, True), done.output
