"""A kept change on a project that moved on: what git merges, and what it leaves to a person."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.kernel.evidence import FileChange
from sidecar.systems.governance.locks import KeptChanges
from sidecar.systems.governance.policy.work import TroubleError
from sidecar.work.place import WorkCopy
from support.tdd_projects import contents, lay_out

pytestmark = [pytest.mark.process, pytest.mark.proves("governed phases")]

BEFORE = {"a b.py": "one\ntwo\nthree\n", 'q"uote.py': "q\n", "gone.py": "gone\n", "old.py": "moved\n"}
CHANGE = (
    FileChange(path="a b.py", before=BEFORE["a b.py"], after="one\ntwo\n3\n"),
    FileChange(path='q"uote.py', before="q\n", after="ä"),
    FileChange(path="gone.py", before="gone\n"),
    FileChange(path="new.py", old_path="old.py", before="moved\n", after="moved\n"),
    FileChange(path="tool/run", after="#!/bin/sh\n"),
)
AFTER = {"a b.py": "one\ntwo\n3\n", 'q"uote.py': "ä", "new.py": "moved\n", "tool/run": "#!/bin/sh\n"}


class Bench:
    """A project and copies of it, as a phase gets them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changes = KeptChanges(folder / "state")
        lay_out(folder / "project", BEFORE)
        (folder / "project" / "gone.py").chmod(0o755)

    def copy(self, name: str, files: dict[str, str]) -> WorkCopy:
        place = self.folder / name
        lay_out(place, {**files, ".gitattributes": "* text eol=crlf merge=ours -diff\n"})
        for path in ("gone.py", "tool/run"):
            if (place / path).exists():
                (place / path).chmod(0o755)
        return WorkCopy(project=str(place), environment=dict(os.environ), origin=str(self.folder / "project"))

    async def keep(self) -> str:
        kept = await self.changes.keep("gov-1", self.copy("made", AFTER), CHANGE, "")
        assert kept.files == kept.new
        assert sorted(kept.files) == sorted({*BEFORE, *AFTER})
        assert "\n-three\n+3\n" in kept.diff
        return kept.name

    async def put(self, name: str, files: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
        copy = self.copy(f"copy-{len(list(self.folder.iterdir()))}", files)
        merged = await self.changes.put("gov-1", copy, name)
        assert os.access(Path(copy.project, "tool/run"), os.X_OK)
        return merged, contents(Path(copy.project), but=(".gitattributes",))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_change_is_put_and_merged_byte_by_byte_whatever_the_project_tells_git(bench: Bench) -> None:
    name = await bench.keep()
    assert await bench.put(name, BEFORE) == ((), AFTER)
    assert await bench.put(name, {**BEFORE, "more.py": "m"}) == ((), {**AFTER, "more.py": "m"})
    assert await bench.put(name, {**BEFORE, "gone.py": "gone\n", "a b.py": AFTER["a b.py"]}) == ((), AFTER)
    moved = {**BEFORE, "a b.py": "0\none\ntwo\nthree\n"}
    assert await bench.put(name, moved) == (("a b.py",), {**AFTER, "a b.py": "0\none\ntwo\n3\n"})


@pytest.mark.parametrize(
    "moved",
    [{"a b.py": "one\ntwo\nIII\n"}, {"gone.py": "still here\n"}, {"new.py": "mine\n"}, {"a b.py": None}],
)
async def test_what_does_not_fit_is_named(bench: Bench, moved: dict[str, str | None]) -> None:
    name = await bench.keep()
    files = {path: text for path, text in (BEFORE | moved).items() if text is not None}
    with pytest.raises(TroubleError) as trouble:
        await bench.put(name, files)
    assert trouble.value.values == {"files": next(iter(moved))}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (FileChange(path="a", after="b", link=True), "a: it is a link"),
        (FileChange(path="a", unread="it is no text"), "a: it is no text"),
        (FileChange(path="a", before="\ufffd", after="b"), "a: it is not UTF-8"),
        (FileChange(path="a\nb", after="b"), "a\\nb: its name is no text"),
        (FileChange(path="../a", after="b"), "../a: it is outside the project"),
    ],
)
async def test_what_cannot_be_delivered_is_not_kept(bench: Bench, change: FileChange, why: str) -> None:
    with pytest.raises(TroubleError) as trouble:
        await bench.changes.keep("gov-1", bench.copy("made", {}), [change], "")
    assert trouble.value.values == {"files": why}
