"""Whose edit of a file it is, by what an agent did."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.kernel.rubric import AgentWrites, EditAuthor
from sidecar.platform.held_edits import edit_author


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".supervisor").mkdir(parents=True)
    (tmp_path / "shop" / ".supervisor" / "rubric.md").write_text("x")
    return tmp_path / "shop"


def author(project: Path, writes: AgentWrites | None, *files: Path) -> EditAuthor:
    return edit_author(writes, files, str(project), ("rubric", ".supervisor", ".reflection"))


def wrote(project: Path, *lines: str, paths: tuple[str, ...] = ()) -> bool:
    file = project / ".supervisor" / "rubric.md"
    return author(project, AgentWrites(paths=paths, lines=lines), file) is EditAuthor.AGENT


@pytest.mark.parametrize(
    "line",
    [
        "sed -i 's/x/y/' .supervisor/rubric.md",
        "sed -ni p .supervisor/rubric.md",
        "sed 's/x/y/w .supervisor/rubric.md' notes",
        "echo x > .supervisor/rubric.md",
        "echo x >> '.superv'isor/rub\\ric.md",
        "cat <<'EOF' > .supervisor/rubric.md\nx\nEOF",
        "echo x | tee .supervisor/rubric.md",
        "cd .supervisor && echo x >r*.md",
        "cd .supervisor && echo x > $F",
        "cat .supervisor/rubric.md > >(python gen.py)",
        "mv /tmp/new .supervisor/rubric.md",
        "cp -r template/.supervisor .",
        "rm -rf .supervisor",
        "cd .supervisor && python gen.py",
        "python -c \"open('.supervisor/rubric.md','w').write('x')\"",
        "find . -name rubric.md -delete",
        "find .supervisor -type f -exec sed -i s/x/y/ {} +",
        "sort -o .supervisor/rubric.md .supervisor/rubric.md",
        "git checkout HEAD~1 -- .supervisor/rubric.md",
        "git diff --output=.supervisor/rubric.md",
        "git checkout other",
        "git -C . stash pop",
        "git stash",
        "git reset --hard origin/main",
        "cd sub; git pull -q",
        "timeout 5 git apply x.patch",
        "patch -p1 < x.patch",
        "tar xf x.tar",
        "sed -i s/x/y/ .s*/r*.md",
        "rm -r .[s]upervisor",
        "cp new ./.*/rubri?.md",
        "cat .supervisor/rubric.md; (",
        "cat .supervisor/rubric.md; $X",
        "supervisor rubric accept",
        "env -u CLAUDECODE supervisor rubric init --force",
        "x" * 9000 + " .supervisor",
        "sed p " + "a " * 200 + "-i .supervisor/rubric.md",
        "sed 's/" + "a" * 1000 + "/b/w .supervisor/rubric.md' notes",
        "cat .supervisor/rubric.md; " + "ls; " * 50 + "rm -r .supervisor",
    ],
)
def test_a_line_that_may_write_the_file_may_have_written_it(project: Path, line: str) -> None:
    assert wrote(project, "ls", line, "ls")


@pytest.mark.parametrize(
    "line",
    [
        "cat .supervisor/rubric.md",
        "cat .supervisor/rubric.md 2>/dev/null | head -5 2>&1",
        "ls -la .supervisor && git status && git diff .supervisor",
        "grep -n TALK .supervisor/rubric.md",
        "sed -n 1,5p .supervisor/rubric.md",
        "find . -name rubric.md",
        "git add -A .supervisor && git commit -qm 'The rubric'",
        "supervisor rubric show",
        "grep -c TALK .supervisor/rubric.md > count.txt",
        "cat > notes.md <<'EOF'\nThe rubric is strict.\nEOF",
        "pytest -q",
        "git commit -am x",
        "git stash list",
        "python gen.py",
        "rm -rf build/* *.md",
        "echo x > notes.md",
        "sed -i s/x/y/ docs/*.md",
        "",
        "(",
    ],
)
def test_a_line_that_only_reads_it_or_has_nothing_to_do_with_it_has_not(project: Path, line: str) -> None:
    assert not wrote(project, line)


def test_an_edited_path_is_the_file_however_it_is_written(project: Path) -> None:
    (project / "link").symlink_to(".supervisor")
    for path in (
        ".supervisor/rubric.md",
        "./x/../.supervisor//rubric.md",
        str(project / ".supervisor" / "rubric.md"),
        "link/rubric.md",
        ".Supervisor/RUBRIC.md",
    ):
        assert wrote(project, paths=("a.py", path)), path
    assert not wrote(project, paths=("rubric.md", ".supervisor", "/rubric.md", "\0", "x" * 5000))


def test_the_target_of_a_link_is_the_file_too(project: Path) -> None:
    (project / ".supervisor" / "rubric.md").unlink()
    (project / "criteria.md").write_text("x")
    (project / ".supervisor" / "rubric.md").symlink_to("../criteria.md")
    assert wrote(project, paths=("criteria.md",))
    assert wrote(project, "sed -i s/x/y/ criteria.md")
    assert not wrote(project, "wc criteria.md")


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (None, EditAuthor.UNKNOWN),
        (AgentWrites(undecided=True, lines=("rm -r .supervisor",)), EditAuthor.UNKNOWN),
        (AgentWrites(), EditAuthor.USER),
        (AgentWrites(paths=("a.py",), lines=("cat a.py", "git commit -qm x")), EditAuthor.USER),
        (AgentWrites(unseen=True), EditAuthor.UNSURE),
        (AgentWrites(lines=("pytest -q",)), EditAuthor.UNSURE),
        (AgentWrites(lines=("./build.sh",)), EditAuthor.UNSURE),
    ],
)
def test_what_nobody_is_seen_to_write_is_the_users_unless_a_program_ran(
    project: Path, writes: AgentWrites | None, expected: EditAuthor
) -> None:
    assert author(project, writes, project / ".supervisor" / "rubric.md") is expected
