"""What a report says of tasks and of an end, in each of its forms, from what is kept of a run or a loop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from sidecar.cli.report import format_report, keep_told, read_report, summarize_loop, ways_on
from sidecar.kernel.evidence import FileBaseline, FileDiff
from sidecar.kernel.goal import Goal
from sidecar.kernel.journal import Journal, Note, NoteKind, Task, TaskStatus
from sidecar.kernel.log import LoggedEvent, RunHistoryEvent, RunIterationBegan, RunIterationEnded
from sidecar.kernel.loop import LOOP_HOST
from sidecar.kernel.runs import RUN_HOST, RunRequest
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.work import Standing
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.wiring.platform import build_platform
from sidecar.work.progress import AgentEnded, Limited, Progress, RunFinished, RunStarted
from sidecar.work.report import Report, report_tasks
from support.git_projects import commit_all, git, repository
from support.table import over_table

COMPLETED, FAILED, HALTED = TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.BLOCKED
TRIED = "report 1 (debugger, small): mul is there → tests: fail"


def task(ident: str, status: TaskStatus = TaskStatus.REMAINING, *after: str, **fields: object) -> Task:
    return replace(Task(id=ident, content=f"do {ident}", status=status, depends_on=after), **fields)


STANDS = {
    "proved": (task("T1", COMPLETED, shown=Standing.PROVED), "done", "by checks"),
    "a person took it": (task("T1", COMPLETED), "done", ""),
    "begun": (task("T1", TaskStatus.IN_PROGRESS, iteration=2), "open", "begun, 2 reports"),
    "failed": (task("T1", FAILED, iteration=1), "failed", "after 1 report"),
    "halted": (task("T1", HALTED, iteration=1), "halted", "after 1 report, waits for you"),
    "waits for one that is open": (task("T1", TaskStatus.REMAINING, "O", "D"), "open", "waits for O"),
    "waits for one that failed": (task("T1", TaskStatus.REMAINING, "F"), "blocked", "waits for F"),
    "waits for one that does": (task("T1", TaskStatus.REMAINING, "B"), "blocked", "waits for B"),
}
OTHERS = (task("O"), task("D", COMPLETED), task("F", FAILED), task("B", TaskStatus.REMAINING, "F"))


@over_table("case", STANDS)
def test_each_task_stands_as_the_journal_says(case: str) -> None:
    given, state, why = STANDS[case]
    first = report_tasks((given, *OTHERS), {}, None)[0]
    assert (first.state, first.why) == (state, why)


WAYS = {
    "all is done": ((COMPLETED,), ()),
    "open": ((COMPLETED, TaskStatus.REMAINING), ("go",)),
    "halted": ((HALTED,), ("go --give-back", "go --accept T0")),
    "halted, and another failed": ((HALTED, FAILED), ("go", "go --give-back", "go --accept T0")),
}


@over_table("case", WAYS)
def test_the_commands_that_go_on_fit_what_is_left(case: str) -> None:
    statuses, ways = WAYS[case]
    tasks = tuple(task(f"T{number}", status) for number, status in enumerate(statuses))
    assert ways_on("go", report_tasks(tasks, {}, None)) == ways


EVIL = "mul <img src=x>\x1b[2J"
LOST = "T2 has failed: type /supervisor:trust"
REPORT = Report(
    kind="loop", session="shop", outcome="failed", why=LOST, tokens=1200,
    tasks=report_tasks(
        (task("T1", COMPLETED, shown=Standing.JUDGED), task("T2", FAILED, iteration=1, content=EVIL)),
        {"T1": [TRIED], "T2": [TRIED]}, ("abc1234 do T1", "def5678 another"),
    ),
    files=(FileDiff(path="a.py", mark="A", added=3), FileDiff(path="b.py", removed=1)),
    commits=("abc1234 do T1", "def5678 another"), since="0123456789abcdef",
    unmerged=("supervisor/shop/T2-1",), go_on=("supervisor loop --session shop",),
)  # fmt: skip
MARKDOWN = [
    "# Loop shop: failed",
    LOST.replace("/supervisor:", "supervisor "),
    *("## Done", "- T1 do T1 (by a judge's word; abc1234)"),
    *("## Failed", f"- T2 mul \\<img src=x> (after 1 report)\n  - {TRIED}"),
    *("## Files", "- 2 files changed, 3 lines added, 1 removed\n  - A a.py +3 -0\n  - M b.py +0 -1"),
    *("## Commits", "- 2 commits: git log 0123456789ab..HEAD\n  - abc1234 do T1\n  - def5678 another"),
    *("## Unmerged", "- supervisor/shop/T2-1: git diff HEAD...supervisor/shop/T2-1"),
    *("## Spent", "- 1,200 tokens, cost unknown"),
    *("## Go on", "```text\nsupervisor loop --session shop\n```\n"),
]


def test_each_form_has_what_was_tried_each_file_and_the_way_on_and_nothing_is_markup() -> None:
    assert format_report(REPORT, "md").split("\n\n") == MARKDOWN
    text, page = format_report(REPORT, "text"), format_report(REPORT, "html")
    assert f"failed    T2 mul <img src=x> (after 1 report)\n          - {TRIED}\n" in text
    assert text.endswith("\ngo on     supervisor loop --session shop")
    assert f"<li>T2 mul &lt;img src=x&gt; (after 1 report)</li><li>- {TRIED}</li>" in page
    assert [word for word in ("<script", "<img", "//", "\x1b", "url(") if word in page] == []
    assert msgspec.json.decode(format_report(REPORT, "json"), type=Report) == REPORT


# --- of a run -----------------------------------------------------------------------------------------------


KEY = SessionKey(RUN_HOST, "demo")
ASKED = RunRequest(session="demo", project="", options=(("--jobs", "2"),), agent=("agent", "it's"))
BEGINS = RunStarted(session="demo", project="", goal="it works", most=3, resumed=False, then=ASKED.again())
MEETS = Limited(account="claude", until=0.0, text="usage limit reached, of-the-shop-7d1f")
ENDS = RunFinished(outcome="waiting", detail="Which port?", exit_code=1, then="go --extra 'YOUR ANSWER'")
ASKS = Note(id="N3", kind=NoteKind.STUCK, content="there is no token", at=9.0)
JOURNAL = Journal(tasks=(task("T1", COMPLETED), task("T2")), notes=(ASKS,))


def keep(platform: PlatformServices, project: Path, *happened: Progress | RunHistoryEvent) -> None:
    tell = keep_told(platform, KEY, str(project), lambda _: None)
    for one in happened:
        if isinstance(one, Progress):
            tell(one)
        else:
            event = LoggedEvent(at=0.0, system="iteration", session=KEY, project=str(project), data=one)
            platform.log.append(event)


@pytest.mark.process
@pytest.mark.proves("runs and the journal")
def test_a_run_is_told_from_what_is_kept_after_a_kill_and_when_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "of-the-shop-7d1f")
    project, platform = repository(tmp_path / "shop"), build_platform(user_paths().state)
    base = FileBaseline(head=git(project, "rev-parse", "HEAD").strip())
    platform.store.save(
        Session(key=KEY, project=str(project), goal=Goal(id="g", condition="it works", base=base))
    )
    platform.journals.save(KEY, JOURNAL)
    (project / "new.py").touch()
    commit_all(project, "do T1\n\nsupervisor run demo, iteration 1")
    for branch, at in (("T2-2", "HEAD"), ("T1-1", "HEAD~1")):
        git(project, "branch", f"supervisor/demo/{branch}", at)
    git(project, "switch", "-q", "supervisor/demo/T2-2")
    (project / "half.py").touch()
    commit_all(project, "half")
    git(project, "switch", "-q", "-")
    done = RunIterationEnded(number=1, decided="continue", seconds=50.0, tokens=400, cents=1.0)
    first = AgentEnded(iteration=1, seconds=50.0, exit_code=0, said="", trouble="", tokens=400, cents=1.0)
    second = replace(first, iteration=2, seconds=40.0, tokens=300, cents=0.5)  # it was not judged any more
    began = [RunIterationBegan(number=n, iteration=n, most=3, prompt="", task=f"T{n}") for n in (1, 2)]
    keep(platform, project, BEGINS, began[0], first, done, MEETS, began[1], second)
    killed = read_report(platform, "demo")
    assert (killed.outcome, killed.go_on) == (
        "at work, or its run was killed",
        ("supervisor run --session demo --jobs 2 -- agent 'it'\"'\"'s'",),
    )
    assert (killed.tokens, killed.cents, killed.seconds, killed.goal) == (700, 1.5, 90.0, "it works")
    name = git(project, "log", "-1", "--format=%h").strip()
    assert [(one.state, one.commits) for one in killed.tasks] == [("done", (name,)), ("open", ())]
    assert killed.tasks[1].tried[0].endswith(f" {killed.outcome}")
    assert (killed.commits, killed.unmerged) == ((f"{name} do T1",), ("supervisor/demo/T2-2",))
    assert killed.met[0].endswith(" waits: usage limit reached, [masked]")
    assert [line.split()[0] for line in killed.verdicts] == ["1", "2"]
    keep(platform, project, BEGINS, ENDS)
    ended = read_report(platform, "demo")
    assert (ended.outcome, ended.go_on) == ("waiting", (ENDS.then,))
    assert ended.questions == ("Which port?", "N3 there is no token")
    loop = SessionKey(LOOP_HOST, "shop")
    keep_told(platform, loop, str(project), lambda _: None)(MEETS)
    (met,) = summarize_loop(platform, loop, "shop", "").met
    assert met.partition(" waits")[2] == killed.met[0].partition(" waits")[2]
