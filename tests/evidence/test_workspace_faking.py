"""Two contents never get the same digest, whatever an agent does to git, to time stamps or to an index."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from sidecar.evidence.tree.workspace import GitWorkspace
from support.git_projects import commit_all, git, repository
from support.loops import run

pytestmark = pytest.mark.process

OLD = 1_500_000_000
"""Seconds since the epoch: a time of change far from that of any index."""


class Eye:
    """A workspace that remembers what it saw."""

    def __init__(self, kept: Path) -> None:
        self._workspace = GitWorkspace(kept)

    def __call__(self, folder: Path, **environment: str) -> str:
        return run(self._workspace.fingerprint(str(folder), os.environ | environment))


@pytest.fixture
def eye(tmp_path: Path) -> Eye:
    return Eye(tmp_path / "state" / "kept")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = repository(tmp_path / "project", commit=False)
    os.utime(project / "a.txt", (OLD, OLD))
    commit_all(project, "first")
    return project


def swap(file: Path, text: str = "b\n") -> None:
    """Another content of the same size with the times of before."""
    about = file.stat()
    with file.open("r+") as opened:
        opened.write(text)
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def setting(name: str, value: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        git(project, "config", name, value)

    return change


def flag(name: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        git(project, "update-index", name, "a.txt")

    return change


def attributes(line: str, place: str = ".gitattributes") -> Callable[[Path], None]:
    def change(project: Path) -> None:
        (project / place).parent.mkdir(exist_ok=True)
        (project / place).write_text(f"{line}\n")

    return change


def both(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        for one in changes:
            one(project)

    return change


def forged_index(project: Path) -> None:
    """Write the coming stat data of a.txt, which is at hand, over the index's entry."""
    swap(project / "a.txt")
    about = (project / "a.txt").stat()
    index = project / ".git" / "index"
    data = bytearray(index.read_bytes()[:-20])
    times = (about.st_ctime_ns, about.st_mtime_ns)
    data[12:28] = struct.pack(">4I", *(part for time in times for part in divmod(time, 10**9)))
    index.write_bytes(bytes(data) + sha1(data, usedforsecurity=False).digest())


def fresh_index(project: Path) -> None:
    """Let the index take note of the file in the second in which it is changed."""
    git(project, "update-index", "--refresh", "--really-refresh")


def elsewhere(project: Path) -> None:
    away = (project / ".git").rename(project.parent / "away")
    (project / ".git").write_text(f"gitdir: {away}\n")


WAYS: dict[str, Callable[[Path], object]] = {
    "nothing but times set back": lambda _: None,
    "assume-unchanged": flag("--assume-unchanged"),
    "skip-worktree": flag("--skip-worktree"),
    "skip-worktree in a sparse checkout": both(
        setting("core.sparseCheckout", "true"), flag("--skip-worktree")
    ),
    "core.trustctime": setting("core.trustctime", "false"),
    "core.checkStat": both(setting("core.checkStat", "minimal"), setting("core.trustctime", "false")),
    "core.ignoreStat": both(setting("core.ignoreStat", "true"), flag("--assume-unchanged")),
    "core.fsmonitor": setting("core.fsmonitor", "true"),
    "core.untrackedCache": both(setting("core.untrackedCache", "true"), flag("--force-untracked-cache")),
    "core.worktree": both(
        lambda project: (project.parent / "decoy").mkdir(), setting("core.worktree", "../../decoy")
    ),
    "an index that fits the coming edit": forged_index,
    "an index of the same second": fresh_index,
    "a filter": both(setting("filter.f.clean", "echo same"), attributes("* filter=f")),
    "settings that git cannot read": lambda project: (project / ".git" / "config").write_text("[\n"),
    "no repository any more": lambda project: (project / ".git").rename(project.parent / "away"),
    "a repository elsewhere": elsewhere,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_is_seen_in_spite_of(way: str, project: Path, eye: Eye) -> None:
    eye(project)
    WAYS[way](project)
    before = eye(project)
    assert before == eye(project) != ""
    swap(project / "a.txt", "c\n")
    assert eye(project) not in (before, "")
    swap(project / "a.txt", "b\n" if way.startswith("an index that fits") else "a\n")
    assert eye(project) == before


@pytest.mark.parametrize("look", range(5))
def test_edits_in_the_second_of_a_look_are_all_seen(look: int, project: Path, eye: Eye) -> None:
    seen = set()
    for number in range(4 + look):
        swap(project / "a.txt", f"{number}\n")
        seen.add(eye(project))
    assert len(seen) == 4 + look
    assert "" not in seen


EOL = {
    "text=auto": ("x\r\ny\r\n", "x\ny\n"),
    "text eol=lf": ("x\r\ny\r\n", "x\ny\n"),
    "text eol=crlf": ("x\r\ny\r\n", "x\ny\n"),
    "crlf": ("x\r\ny\r\n", "x\ny\n"),
    "ident": ("$Id: one$\n", "$Id: two$\n"),
    "working-tree-encoding=UTF-16": ("x", "y"),
}


@pytest.mark.parametrize("attribute", EOL)
@pytest.mark.parametrize("place", [".gitattributes", ".git/info/attributes"])
def test_contents_that_an_attribute_makes_equal_are_not(
    place: str, attribute: str, project: Path, eye: Eye
) -> None:
    one, other = EOL[attribute]
    attributes(f"* {attribute}", place)(project)
    (project / "a.txt").write_bytes(one.encode())
    before = eye(project)
    (project / "a.txt").write_bytes(other.encode())
    assert eye(project) not in (before, "")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_is_deleted_behind_a_flag_is_gone(flag: str, project: Path, eye: Eye) -> None:
    git(project, "update-index", flag, "a.txt")
    before = eye(project)
    (project / "a.txt").unlink()
    assert eye(project) not in (before, "")


@pytest.mark.parametrize("place", [".git/info/exclude", ".gitignore", "core.excludesFile"])
def test_a_new_rule_that_hides_a_file_moves_the_digest(place: str, project: Path, eye: Eye) -> None:
    (project / "new.txt").write_text("x\n")
    before = eye(project)
    rules = project / place if place != "core.excludesFile" else project.parent / "rules"
    rules.parent.mkdir(exist_ok=True)
    rules.write_text("new.txt\nno-such-file\n")
    if place == "core.excludesFile":
        git(project, "config", place, str(rules))
    hidden = eye(project)
    assert hidden not in (before, "")
    (project / "new.txt").unlink()
    git(project, "config", "core.excludesFile", "/dev/null")
    rules.write_text("no-such-file\n")
    assert eye(project) not in (before, hidden, "")


def test_what_is_ignored_from_now_on_no_longer_counts_and_what_is_tracked_does(
    project: Path, eye: Eye
) -> None:
    file = project / "made.txt"
    file.write_text("one\n")
    eye(project)
    (project / ".gitignore").write_text("made.txt\n")
    ignored = eye(project)
    file.write_text("two\n")
    assert eye(project) == ignored != ""
    git(project, "add", "--force", "made.txt")
    tracked = eye(project)
    file.write_text("three\n")
    assert eye(project) not in (tracked, ignored, "")


@pytest.mark.parametrize("place", [".git/info/exclude", ".gitignore"])
@pytest.mark.parametrize(
    "name",
    [
        *("conftest.py", "build/package.json", "deep/er/Makefile", "jest.config.mjs", ".npmrc", ".env"),
        *(".venv/bin/python", "venv/bin/python3", ".venv/bin/pytest"),
        *("node_modules/.bin/node", "node_modules/.bin/vitest"),
    ],
)
def test_an_ignored_file_that_steers_checks_counts(name: str, place: str, project: Path, eye: Eye) -> None:
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / place).write_text(f"{name.partition('/')[0]}\n")
    digests = [eye(project)]
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    for text in ("one\n", "two\n"):
        (project / name).write_text(text)
        digests.append(eye(project))
    (project / name).unlink()
    assert "" not in digests
    assert len(set(digests)) == 3
    assert eye(project) == digests[0]


def test_a_folder_made_to_look_like_a_repository_is_looked_into(project: Path, eye: Eye) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_x.py").write_text("assert x\n")
    (project / "tests" / ".git").write_text("gitdir: /nowhere\n")
    before = eye(project)
    swap(project / "tests" / "test_x.py", "assert 1\n")
    assert eye(project) not in (before, "")
    (project / "tests" / ".git").unlink()
    repository(project / "tests")
    inside = eye(project)
    (project / "tests" / "test_y.py").write_text("assert y\n")
    assert eye(project) not in (before, inside, "")


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_DIR": "/nowhere"},
        {"GIT_WORK_TREE": "/nowhere"},
        {"GIT_INDEX_FILE": "/nowhere"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.trustctime", "GIT_CONFIG_VALUE_0": "false"},
        {"GIT_CONFIG_PARAMETERS": "'core.excludesFile=/nowhere'"},
        {"GIT_REPLACE_REF_BASE": "refs/x/", "GIT_GRAFT_FILE": "/nowhere"},
        {"GIT_ATTR_SOURCE": "HEAD", "GIT_LITERAL_PATHSPECS": "1", "GIT_ICASE_PATHSPECS": "1"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_variables_of_git_change_nothing(variables: dict[str, str], project: Path, eye: Eye) -> None:
    assert eye(project, **variables) == eye(project) != ""


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["a.txt", "new", "sub/new"]), st.sampled_from([None, "a\n", "b\n"]), st.booleans()
    ),
    max_size=6,
)


@hypothesis.given(edits=EDITS)
def test_digests_are_equal_where_contents_are_and_nowhere_else(
    edits: list[tuple[str, str | None, bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = repository(Path(folder) / "project")
        eye = Eye(Path(folder) / "kept")
        contents = {"a.txt": "a\n"}
        digests = {eye(project): dict(contents)}
        for name, content, commit in edits:
            file = project / name
            contents.pop(name, None)
            file.unlink(missing_ok=True)
            if content is not None:
                contents[name] = content
                file.parent.mkdir(exist_ok=True)
                file.write_text(content)
                os.utime(file, (OLD, OLD))
            if commit:
                git(project, "add", "--all", ".")
            found = eye(project)
            assert found != ""
            assert digests.setdefault(found, dict(contents)) == contents
            assert [seen for seen, were in digests.items() if were == contents] == [found]
