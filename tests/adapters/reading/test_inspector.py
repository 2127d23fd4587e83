"""Reading whole changes: bounded, and one damaged file never hurts the others."""

from __future__ import annotations

import pytest

from sidecar.adapters.reading import changes as reader
from sidecar.adapters.reading.inspector import FileInspector
from sidecar.model.inspection import Changes, FileChange, Role

GOOD = "def test_a():\n    assert f() == 1\n"


def change(path: str, before: str | None, after: str | None) -> FileChange:
    return FileChange(path=path, before=before, after=after)


async def test_both_versions_of_a_test_file_are_read() -> None:
    reading = await FileInspector().read(Changes(files=(change("test_a.py", GOOD, GOOD + "# x\n"),)))

    (file,) = reading.files
    assert file.role is Role.TEST
    assert file.before is not None
    assert file.after is not None
    assert [one.name for one in file.before.tests] == ["test_a"]
    assert file.before == file.after


async def test_a_damaged_file_hurts_no_other() -> None:
    files = (change("test_a.py", GOOD, "def test_("), change("test_b.py", None, GOOD))

    first, second = (await FileInspector().read(Changes(files=files))).files

    assert first.before is not None
    assert first.after is not None
    assert (first.before.broken, first.after.broken) == (False, True)
    assert second.before is None
    assert second.after is not None
    assert len(second.after.tests) == 1


async def test_a_language_newer_than_our_parser_is_read_as_text_and_weak() -> None:
    newer = "type X = int\ndef test_a[T](x: T):\n    assert f() == 1\n"

    (file,) = (
        await FileInspector().read(Changes(files=(change("test_a.py", newer, newer + "# x\n"),)))
    ).files

    assert file.weak
    assert file.after is not None
    assert [one.name for one in file.after.tests] == ["test_a"]


async def test_what_bears_on_no_check_is_left_out() -> None:
    reading = await FileInspector().read(Changes(files=(change("README.md", "a", "b"),)))

    assert not reading.files
    assert not reading.unseen


async def test_a_test_file_that_became_something_else_is_still_read() -> None:
    moved = FileChange(path="tests/test_a.py.bak", old_path="tests/test_a.py", before=GOOD, after=GOOD)

    (file,) = (await FileInspector().read(Changes(files=(moved,)))).files

    assert file.before is not None
    assert file.after is not None
    assert (len(file.before.tests), len(file.after.tests)) == (1, 0)


async def test_the_names_that_a_source_defines_are_kept() -> None:
    text = "class Cart:\n    def total(self):\n        return 1\n"

    (file,) = (await FileInspector().read(Changes(files=(change("shop.py", text, None),)))).files

    assert file.before is not None
    assert file.before.defines == ("Cart", "total")


async def test_more_than_can_be_read_is_said_to_be_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHARACTERS", 100)
    files = tuple(change(f"test_{number}.py", None, GOOD) for number in range(9))

    reading = await FileInspector().read(Changes(files=files, unseen="no git"))

    assert len(reading.files) == 2
    assert reading.unseen == "no git; 7 changed files are too many or too big to read"


async def test_settings_and_tests_are_read_before_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FILES", 2)
    files = (
        change("a.py", None, "x = 1\n"),
        change("pytest.ini", None, "[pytest]\n"),
        change("test_z.py", None, GOOD),
    )

    reading = await FileInspector().read(Changes(files=files))

    assert [one.path for one in reading.files] == ["pytest.ini", "test_z.py"]


async def test_a_file_that_could_not_be_read_keeps_its_reason() -> None:
    file = FileChange(path="test_a.py", unread="too big")

    (read,) = (await FileInspector().read(Changes(files=(file,)))).files

    assert (read.unread, read.before, read.after) == ("too big", None, None)
