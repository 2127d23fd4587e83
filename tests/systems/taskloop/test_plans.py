"""Plans: what is a task in Markdown, what is wrong with one, and the marks in its boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal, Task, TaskStatus
from sidecar.systems.taskloop.plan_file import PlanFile
from sidecar.systems.taskloop.plans import parse_plan, set_marks
from sidecar.work.progress import Step

BOXES = """\
# Plan for the shop

Some words, and `- [ ] no task`.

## Parser

- [x] Read *quoted* fields
  of any length
  - an empty field is ""
  - [ ] errors name
    the line:
    - of the file
  - check: `pytest -q tests/test_read.py`
  scope: src/**, `tests/*.py`

  A field ends at a comma.

  ```
  -[ ] code
  check: true
  ```

- Printing
  1. [ ] Write fields, quoted
     - **after:** read quoted fields
     - **complexity:** 3
- [ ] Say so in the README
  - after: Write fields, quoted
  - after: 1
  - Note: in one sentence

Notes:

- milk
<!-- - [ ] hidden -->

> - [ ] quoted
"""
HEADINGS = """\
Plan
====

Words.

## 1. Read fields

They may be quoted.

- an empty field is ""
  (and not none)
### Details
- check: make test

## Write fields
after: 1
"""
BOXED_HEADINGS = "## [ ] One\n- [ ] a\n### More\n- b\n## Notes\n- c\n### [X] Two\n"


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        pytest.param(
            BOXES,
            {
                "Read *quoted* fields": {
                    "criteria": ('an empty field is ""', "errors name the line: - of the file"),
                    "checks": ("pytest -q tests/test_read.py",),
                    "scope": ("src/**", "tests/*.py"),
                    "about": "of any length\n\nA field ends at a comma.\n\n```\n-[ ] code\ncheck: true\n```",
                    "done": True,
                },
                "Write fields, quoted": {
                    "after": ("Read *quoted* fields",),
                    "complexity": 3,
                    "done": False,
                },
                "Say so in the README": {
                    "criteria": ("Note: in one sentence",),
                    "after": ("Write fields, quoted", "Read *quoted* fields"),
                    "done": False,
                },
            },
            id="boxes",
        ),
        pytest.param(
            HEADINGS,
            {
                "1. Read fields": {
                    "criteria": ('an empty field is "" (and not none)',),
                    "checks": ("make test",),
                    "about": "They may be quoted.\n\n### Details",
                },
                "Write fields": {"after": ("1. Read fields",)},
            },
            id="headings",
        ),
        pytest.param(
            BOXED_HEADINGS,
            {
                "One": {"criteria": ("a", "b"), "about": "### More", "done": False},
                "Two": {"done": True},
            },
            id="boxed headings",
        ),
        pytest.param("# A\n- a\n# B\n", {"A": {"criteria": ("a",)}, "B": {}}, id="h1"),
    ],
)  # fmt: skip
def test_a_plan_is_what_a_person_would_write(text: str, tasks: dict[str, dict[str, Any]]) -> None:
    read = {task.title: task for task in parse_plan(text)}
    empty = {
        "about": "",
        "criteria": (),
        "checks": (),
        "scope": (),
        "after": (),
        "complexity": 0,
        "done": None,
    }
    assert {title: asdict(task) for title, task in read.items()} == {
        title: {"title": title, **empty, **said} for title, said in tasks.items()
    }
    assert parse_plan(text.replace("\n", "\r\n"))[-1] == list(read.values())[-1]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("# Plan\n\n- add a thing\n", ("line 1: no task is in it: write `- [ ] add",)),
        ("", ("line 1: no task is in it",)),
        (
            "- [ ] Read fields\n- [ ] Write\n  - after: raed fields\n",
            ('line 3: no task is called "raed fields"; the nearest is "Read fields"',),
        ),
        ("- [ ] a\n  after: c\n- [ ] b\n  after: 1\n- [ ] c\n  after: b\n", ("wait for one another: ",)),
        ("- [ ] a\n  after: a\n", ("line 1: these wait for one another: a -> a",)),
        (
            "- [ ] a\n  - complexity: high\n- [ ] b\n  - complexity: 15\n",
            ("line 2: complexity is a number from 1 (trivial) to 14, not `high`", "line 4: complexity is"),
        ),
        ("- [ ] a\n- [ ] `A`\n", ('line 2: "`A`" is the task of line 1 already',)),
        ("- [ ] a\n  - checks: make\n  - check:\n", ("line 2: `checks:` is not", "line 3: `check:` says")),
        ("- [] a\n-[x] b\n- [ ] c\n- [x](d)\n", ("line 1: a check box is", "line 2: ", "line 4: this")),
        ("- [ ] \n", ("line 1: this task says nothing",)),
        ("- [ ] a\n- it is quick\n", ("line 2: this point stands beside a task; indent it",)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plan_is_told_with_its_line_and_what_was_meant(
    text: str, faults: tuple[str, ...]
) -> None:
    with pytest.raises(BadInputError) as raised:
        parse_plan(text)
    lines = str(raised.value).splitlines()
    assert len(lines) == len(faults), lines
    for line, said in zip(lines, faults, strict=True):
        assert said in line


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("\ufeffP\r\n-\t[ ] é a\r\n* [X] b\r\n+ [ ]  c ", "\ufeffP\r\n-\t[x] é a\r\n* [ ] b\r\n+ [ ]  c "),
        ("1) [ ] é a\n   - [ ] b\n2) [x] d", "1) [x] é a\n   - [ ] b\n2) [x] d"),
        ("## [ ] é a\n- [ ] b\n### [X] b\n", "## [x] é a\n- [ ] b\n### [ ] b\n"),
        ("## é a\n## b\n", "## é a\n## b\n"),
        ("- [X] é a\n- [ ] b\n- [] c\n", "- [X] é a\n- [ ] b\n- [] c\n"),
        ("nothing\n", "nothing\n"),
    ],
)  # fmt: skip
def test_only_the_mark_in_a_box_is_written(text: str, marked: str) -> None:
    assert set_marks(text, {"é a": True, "b": False}) == marked


@pytest.mark.parametrize(
    ("before", "now", "completed", "done"),
    [
        (None, "x", False, True),
        (None, " ", False, None),
        (None, " ", True, None),
        (" ", "x", False, True),
        (" ", " ", True, None),  # killed between the journal and the tick
        (" ", "x", True, None),  # killed between the tick and its copy
        ("x", " ", True, False),
        ("x", "x", True, None),
    ],
)
def test_a_box_speaks_for_its_person_where_they_changed_it(
    before: str | None,
    now: str,
    completed: bool,  # noqa: FBT001 - a column
    done: bool | None,  # noqa: FBT001 - a column
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.md").write_text(f"- [{now}] a\n")
    (tmp_path / "plan.md").symlink_to("mine.md")
    status = TaskStatus.COMPLETED if completed else TaskStatus.REMAINING
    journal, told = Journal(tasks=(Task(id="T1", content="a\n\nmore", status=status),)), list[Step]()
    if before is not None:
        (tmp_path / "memory.md").write_text(f"- [{before}] a\n")
        (tmp_path / "memory.unsure").touch()
    plan = PlanFile(tmp_path / "plan.md", tmp_path / "memory.md", lambda: journal, told.append)
    assert [task.done for task in plan.tasks()] == [done]
    assert bool(plan.difference()) is (done is not None and before is not None)
    plan.tell(Step(kind="plan", text="played"))
    mark = "x" if completed else " "
    assert (tmp_path / "mine.md").read_text() == (tmp_path / "memory.md").read_text() == f"- [{mark}] a\n"
    assert ((tmp_path / "plan.md").is_symlink(), (tmp_path / "memory.unsure").exists()) == (True, True)
    journal = Journal(
        tasks=(Task(id="T1", content="a", status=TaskStatus.COMPLETED),)
    )  # by a merge at the end
    plan.close()
    assert (tmp_path / "mine.md").read_text() == (tmp_path / "memory.md").read_text() == "- [x] a\n"
    assert ((tmp_path / "memory.unsure").exists(), len(told)) == (False, 1)
