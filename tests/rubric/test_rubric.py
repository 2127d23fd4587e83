"""Rubrics from files: the first that can serve wins, and one that cannot says why."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.rubric import Criterion
from sidecar.platform.paths import organisation_file
from sidecar.rubric.reader import LAST_RESORT, RubricFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.kernel.rubric import Rubric

SHIPPED = Path(__file__).parents[2] / "rubric" / "rubric.md"
GOOD = "## Patterns\n\n- **DONE**: it is done\n\n## Antipatterns\n\n- **TALK**: it is said to be done\n"


class House:
    """A project, a user and a packaged rubric, each with room for its files."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.ours = self.project / ".supervisor" / "rubric.md"
        self.ancestor = self.project / ".reflection" / "rubric.md"
        self.user = folder / "config" / "supervisor" / "rubric.md"
        self.opencode = folder / "home" / ".config" / "opencode" / "supervisor" / "rubric.md"
        self.default = folder / "package" / "rubric.md"
        self.environment = {"HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "config")}
        for path in self.places:
            path.parent.mkdir(parents=True)
        self.default.write_text(GOOD)
        self.rubrics = RubricFiles(self.default)

    @property
    def places(self) -> tuple[Path, ...]:
        return (self.ours, self.ancestor, self.user, self.opencode, self.default)

    def load(self) -> Rubric:
        return self.rubrics.load(str(self.project), self.environment)

    def rejected(self) -> str:
        """The reason of the one file that was rejected."""
        (line,) = self.load().rejected
        path, reason = line.split(": ", 1)
        assert path == str(self.ours)
        assert self.load().origin == str(self.default)
        return reason


@pytest.fixture
def services(tmp_path: Path) -> House:
    return House(tmp_path)


def names(rubric: Rubric) -> list[str]:
    return [criterion.name for criterion in (*rubric.patterns, *rubric.antipatterns)]


# --- precedence ---


def test_the_first_file_by_precedence_serves(services: House) -> None:
    for path in reversed(services.places):
        path.write_text(GOOD)
        assert services.load().origin == str(path)
        assert services.load().rejected == ()


def test_that_of_a_teams_organisation_serves_where_the_project_has_none(services: House) -> None:
    organisation = organisation_file("rubric.md")
    for path in (services.user, organisation):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD)
    assert services.load().origin == str(organisation)
    services.ancestor.write_text(GOOD)
    assert services.load().origin == str(services.ancestor)


def test_without_a_home_or_a_project_the_package_serves(services: House) -> None:
    for path in services.places:
        path.write_text(GOOD)
    assert services.rubrics.load("", {}).origin == str(services.default)
    assert services.rubrics.load("relative", {"HOME": "relative"}).origin == str(services.default)


def test_a_file_that_cannot_serve_is_passed_over_as_a_whole(services: House) -> None:
    services.ours.write_text("## Patterns\n- **OURS**: x\n")
    services.user.write_text(GOOD.replace("DONE", "USER"))
    rubric = services.load()
    assert rubric.origin == str(services.user)
    assert names(rubric) == ["USER", "TALK"]
    assert rubric.rejected == (f"{services.ours}: the section `## Antipatterns` is missing",)


def test_every_file_that_cannot_serve_is_named(services: House) -> None:
    for path in (services.ours, services.ancestor, services.user, services.opencode):
        path.write_text("nothing")
    assert [line.split(": ")[0] for line in services.load().rejected] == [
        str(path) for path in services.places if path != services.default
    ]


def test_the_last_resort_says_that_it_is_names_only_and_why_it_had_to_serve(services: House) -> None:
    services.default.unlink()
    rubric = services.load()
    assert rubric.origin == "built in: names only"
    assert rubric.rejected == (
        f"{services.default}: the packaged rubric is missing; install Supervisor again",
    )
    assert "FALSE-COMPLETE" in names(rubric)
    assert not any(criterion.text for criterion in (*rubric.patterns, *rubric.antipatterns))
    assert LAST_RESORT.rejected == ()


# --- files that cannot serve ---


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the section `## Patterns` is missing"),
        (GOOD.replace("## Patterns", "# Patterns").encode(), "the section `## Patterns` is missing"),
        (
            GOOD.replace("## Patterns", "```\n## Patterns\n```").encode(),
            "the section `## Patterns` is missing",
        ),
        (GOOD.replace("- **DONE**", "**DONE**").encode(), "the section `## Patterns` has no criterion"),
        (b"## Patterns\n## Antipatterns\n- x\n", "the section `## Patterns` has no criterion"),
        (b"## Patterns\n-\n- \n###\n## Antipatterns\n- x\n", "the section `## Patterns` has no criterion"),
        (GOOD.encode("utf-16"), "not UTF-8 at byte 0"),
        (GOOD.encode() + b"\xff", f"not UTF-8 at byte {len(GOOD)}"),
        (GOOD.encode() + b" " * (8193 - len(GOOD)), "8193 bytes, more than 8192"),
        (b"x" * 10_000_000, "10000000 bytes, more than 8192"),
        (b"\x00" * 8192, "the section `## Patterns` is missing"),
        (b">" * 8192, "the section `## Patterns` is missing"),
        (b"- " * 4096, "the section `## Patterns` is missing"),
    ],
)
def test_a_file_that_cannot_serve_says_why(services: House, content: bytes, why: str) -> None:
    services.ours.write_bytes(content)
    assert services.rejected().startswith(why)


def out_of_the_project(path: Path) -> None:
    outside = path.parents[2] / "outside.md"
    outside.write_text(GOOD)
    path.symlink_to(outside)


def folder_out_of_the_project(path: Path) -> None:
    outside = path.parents[2] / "outside"
    outside.mkdir()
    (outside / "rubric.md").write_text(GOOD)
    path.parent.rmdir()
    path.parent.symlink_to(outside)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "no plain file"),
        (out_of_the_project, "a link that leads out of the project"),
        (folder_out_of_the_project, "a link that leads out of the project"),
        (lambda path: path.symlink_to("/dev/zero"), "a link that leads out of the project"),
        (lambda path: path.symlink_to("nowhere"), "a link that leads nowhere"),
        (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
    ],
)
def test_what_is_no_file_of_the_project_says_so(
    services: House, make: Callable[[Path], object], why: str
) -> None:
    make(services.ours)
    assert why in services.rejected().casefold()


def test_a_file_that_may_not_be_read_says_so(services: House, monkeypatch: pytest.MonkeyPatch) -> None:
    services.ours.write_text(GOOD)
    opened = os.open

    def guarded(path: Path, *rest: int) -> int:
        if path == services.ours:
            raise PermissionError(errno.EACCES, "permission denied")
        return opened(path, *rest)

    monkeypatch.setattr(os, "open", guarded)  # root may read everything
    assert "not open to its owner" in services.rejected()


def test_links_within_the_project_and_of_the_user_are_followed(services: House, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.md").write_text(GOOD)
    services.user.symlink_to(tmp_path / "dotfiles.md")
    assert services.load().origin == str(services.user)
    (services.project / "docs.md").write_text(GOOD)
    services.ours.symlink_to(services.project / "docs.md")
    assert services.load().origin == str(services.ours)


def test_a_file_of_exactly_eight_kibibytes_serves(services: House) -> None:
    services.ours.write_text(GOOD + " " * (8192 - len(GOOD)))
    assert services.load().origin == str(services.ours)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_order_mark_and_foreign_line_ends_are_accepted(services: House, end: str) -> None:
    text = "## Patterns\n- **DONE**: it is\n  done\n\n### WIRED\none\ntwo\n## Antipatterns\n- TALK\n"
    services.ours.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", end).encode())
    rubric = services.load()
    assert rubric.rejected == ()
    assert rubric.patterns == (
        Criterion("DONE", "**DONE**: it is\ndone", "done"),
        Criterion("WIRED", "one\ntwo", "wired"),
    )
    assert rubric.antipatterns == (Criterion("TALK", "TALK", "talk"),)


# --- what counts from when ---


def test_an_edit_counts_at_once(services: House) -> None:
    services.ours.write_text(GOOD)
    assert names(services.load()) == names(services.load()) == ["DONE", "TALK"]
    services.ours.write_text(GOOD.replace("DONE", "GONE"))  # the same size
    assert names(services.load()) == ["GONE", "TALK"]
    services.ours.write_text("broken")
    assert services.load().rejected == services.load().rejected != ()
    services.ours.unlink()
    assert services.load().rejected == ()


def test_who_speaks_for_no_session_is_told_of_the_rubric_of_our_own_user(services: House) -> None:
    services.user.write_text(GOOD)
    services.default.write_text(GOOD)
    rubrics = RubricFiles(services.default, services.environment)
    assert rubrics.load(str(services.project), {}).origin == str(services.user)
    assert rubrics.load(str(services.project), {"HOME": "/nowhere"}).origin == str(services.default)
