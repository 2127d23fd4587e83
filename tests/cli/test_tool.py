"""`supervisor tool` as a process, to a real sidecar: a person's and a script's way to the tools of agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.kernel.journal import Author, Task
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.session_store import JournalFiles, SessionFiles
from support.table import often

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LIMIT_S: Final = 60.0
KEY: Final = SessionKey("opencode", "ses_1")
OTHER: Final = SessionKey("claude-code", "ses_2")
AGENT: Final[dict[str, Any]] = {"CLAUDECODE": "1"}


class Home:
    """A user's home with a project and two sessions, one of them elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / ".local" / "state" / "supervisor"
        self.environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        self.project, self.elsewhere = folder / "project", folder / "elsewhere"
        for key, project in ((OTHER, self.elsewhere), (KEY, self.project)):
            (project / "src").mkdir(parents=True)
            host = os.getpid() if key is KEY else 0
            seen = Session(key=key, project=str(project), host_process=host, seen_at=time.time())
            SessionFiles(self.state).save(seen)

    def type(
        self, *words: str, at: Path | None = None, given: bytes = b"", **environment: Any
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(SUPERVISOR), *words],
            cwd=at or self.project,
            env=self.environment | environment,
            input=given,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return subprocess.CompletedProcess(
            words, done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")
        )

    def json(self, *words: str, **more: Any) -> Any:
        done = self.type(*words, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def tasks(self, key: SessionKey = KEY) -> tuple[Task, ...]:
        journal = JournalFiles(self.state).load(key)
        return journal.tasks if journal else ()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Shared: its sidecar starts once."""
    home = Home(tmp_path_factory.mktemp("user"))
    yield home
    home.type("stop")


@pytest.mark.proves("runs and the journal")
def test_a_person_plans_in_the_session_of_the_folder_and_what_they_add_is_theirs(home: Home) -> None:
    found = home.json("tool", "task_add", "--json", '{"content": "é\\n2"}', at=home.project / "src")
    assert (found["status"], found["content"]) == ("remaining", "é\n2")
    assert home.tasks()[-1].by is Author.USER
    assert f"{found['id']} [by user] é 2" in home.type("tool", "task_list").stdout


def test_arguments_may_come_from_standard_input_and_be_large(home: Home) -> None:
    tasks = [{"content": f"{number} " + "x" * 3000} for number in range(100)]
    given = json.dumps({"tasks": json.dumps(tasks)}).encode()
    found = home.json("tool", "--session", OTHER.id, "task_batch_add", "--json", "-", given=given)
    assert len(found["tasks"]) == 100
    assert len(home.tasks(OTHER)) == 100


@pytest.mark.parametrize(
    ("words", "why"),
    often(
        [
            (("task_add", "--json", '{"content": ""}'), "is empty"),
            (("task_add",), "`content`"),
            (("task_status", "--json", '{"id": "T99", "status": "completed"}'), 'no task "T99"'),
            (("tsk_add",), "The tools are: "),
            (("task_list", "--session", "nobody"), "knows no session"),
            (("task_list", "--session", "../ses_1\x1b"), "knows no session"),
            (("task_list", "--project", "/nowhere"), "--session"),
        ],
        3,
    ),
)
def test_what_is_refused_is_said_and_exits_with_1(home: Home, words: tuple[str, ...], why: str) -> None:
    before = home.tasks()
    done = home.type("tool", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert home.tasks() == before


@pytest.mark.parametrize(
    ("words", "why"),
    often(
        [
            ((), "which tool?"),
            (("task_add", "--json", "[]"), "no JSON object"),
            (("task_add", "--json", '{"content":'), "no JSON object"),
            (("task_add", "--json", "[" * 10_000), "no JSON object"),
            (("task_add", "--json", '{"content": "\\ud800"}'), "no JSON object"),
            (("task_list", "--session", KEY.id, "--project", "../elsewhere"), "--project is for"),
            (("--list", "task_add"), "--list goes with"),
            (("--list", "--json", "{}"), "--list goes with"),
        ],
        2,
    ),
)
def test_wrong_usage_exits_with_2(home: Home, words: tuple[str, ...], why: str) -> None:
    done = home.type("tool", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_an_agent_names_its_session_and_writes_as_an_agent(home: Home) -> None:
    add = ("tool", "task_add", "--json", '{"content": "by an agent"}')
    refused = home.type(*add, **AGENT)
    assert refused.returncode == 2
    assert "--session" in refused.stderr
    home.json(*add, "--session", KEY.id, **AGENT)
    assert home.tasks()[-1].by is Author.AGENT
    home.json(*add, CLAUDE_CODE_SESSION_ID=KEY.id, **AGENT)
    assert [task.by for task in home.tasks()[-2:]] == [Author.AGENT, Author.AGENT]
    assert home.json("tool", "status", "--json", "--session", KEY.id, OPENCODE="1")["session"] == KEY.id


def test_an_agent_reaches_no_session_of_another_host_and_makes_nothing_run(home: Home) -> None:
    done = home.type("tool", "task_list", "--session", OTHER.id, **AGENT)
    assert (done.returncode, "is not of the host that started" in done.stderr) == (1, True)
    done = home.type("tool", "gates_run", "--session", KEY.id, **AGENT)
    assert (done.returncode, "nobody could be asked" in done.stderr) == (1, True)


def test_the_mcp_package_is_not_needed_for_it(home: Home) -> None:
    script = (
        "import sys; from sidecar.cli import tool;"
        "print([name for name in ('mcp', 'anyio', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT_S
    )
    assert done.stdout.strip() == "[]"
    home.type("tool", "task_list")
    pid = int((home.state / "run" / "sidecar.lock").read_text(encoding="ascii"))
    assert "pydantic_core" not in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
