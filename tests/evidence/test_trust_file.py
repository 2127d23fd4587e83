"""Approvals in a file: exactly what was shown, and nothing where the file cannot be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.evidence.gates.approvals import (
    TRUST_FILE_LIMIT,
    TrustFile,
    add_to_organisation,
    gate_digest,
    truncate_approval_text,
)
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from sidecar.platform.files import list_set_aside

LINT = Gate(
    id="lint",
    command="npm run lint",
    why="package.json has it",
    kind=Kind.LINT,
    origin=GateOrigin.DETECTED,
    behind="eslint .",
)
SHOP = "/code/shop"


@pytest.fixture
def trust(tmp_path: Path) -> TrustFile:
    return TrustFile(tmp_path / "state")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trust.json"


def test_nothing_is_approved_at_first(trust: TrustFile, path: Path) -> None:
    assert not trust.approved(SHOP, LINT)
    assert trust.fault() == ""
    assert not path.exists()


def test_what_was_approved_is_in_this_project_alone_and_for_later_processes(
    trust: TrustFile, path: Path
) -> None:
    trust.approve(SHOP, [LINT])
    assert TrustFile(path.parent).approved(SHOP, LINT)
    assert not trust.approved("/code", LINT)
    assert not trust.approved(f"{SHOP}/packages", LINT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert msgspec.json.decode(path.read_bytes()) == {
        "version": 1,
        "projects": {
            SHOP: {"lint": {"digest": gate_digest(LINT), "command": "npm run lint", "behind": "eslint ."}}
        },
    }


@pytest.mark.parametrize(
    "change",
    [
        {"id": "lint:web"},
        {"command": "npm run lint || true"},
        {"folder": "web"},
        {"behind": "eslint . || true"},
        {"kind": Kind.CHECK},
        {"least": 0.0},
        {"counts": True},
    ],
    ids=str,
)
def test_any_change_to_what_runs_or_what_passes_needs_another_approval(
    trust: TrustFile, change: dict[str, Any]
) -> None:
    trust.approve(SHOP, [LINT])
    assert not trust.approved(SHOP, replace(LINT, **change))
    trust.approve(SHOP, [replace(LINT, **change)])
    assert trust.approved(SHOP, replace(LINT, **change))


@pytest.mark.parametrize(
    "change",
    [{"required": True}, {"seconds": 5}, {"alone": False}, {"why": "x"}, {"approved": True}],
    ids=str,
)
def test_what_changes_neither_is_no_change(trust: TrustFile, change: dict[str, Any]) -> None:
    trust.approve(SHOP, [LINT])
    assert trust.approved(SHOP, replace(LINT, **change))


def test_going_back_to_an_older_command_needs_an_approval_too(trust: TrustFile) -> None:
    newer = replace(LINT, command="eslint --quiet")
    trust.approve(SHOP, [LINT])
    trust.approve(SHOP, [newer])
    assert not trust.approved(SHOP, LINT)


def test_an_approval_leaves_others_as_they_are(trust: TrustFile) -> None:
    types = replace(LINT, id="types")
    trust.approve(SHOP, [LINT])
    trust.approve(SHOP, [types])
    trust.approve("/code/other", [LINT])
    assert trust.approved(SHOP, LINT)
    assert trust.approved(SHOP, types)
    assert trust.revoke(SHOP) == 2
    assert not trust.approved(SHOP, LINT)
    assert trust.approved("/code/other", LINT)
    assert trust.revoke(SHOP) == 0


def test_a_project_is_the_folder_it_resolves_to(trust: TrustFile, tmp_path: Path) -> None:
    (tmp_path / "real" / "part").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    trust.approve(f"{tmp_path}/link/part/..", [LINT])
    assert trust.approved(str(tmp_path / "real"), LINT)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "corrupt"),
        (b"{", "corrupt"),
        (b"\xff\xfe", "corrupt"),
        (b"[" * 100_000, "corrupt"),
        (b'{"projects": {"/code/shop": {"lint": {"digest": 5, "command": ""}}}}', "corrupt"),
        (b'{"version": 2, "projects": {}}', "future-version"),
        (b" " * (TRUST_FILE_LIMIT + 1), "unreadable"),
    ],
)
def test_a_file_that_cannot_be_used_approves_nothing_and_is_set_aside_at_the_next_approval(
    trust: TrustFile, path: Path, content: bytes, fault: str
) -> None:
    trust.approve(SHOP, [LINT])
    path.write_bytes(content)
    assert not trust.approved(SHOP, LINT)
    assert trust.fault().endswith("so nothing is approved; type: supervisor trust")
    assert path.read_bytes() == content
    trust.approve("/code/other", [LINT])
    assert trust.approved("/code/other", LINT)
    assert not trust.approved(SHOP, LINT)
    assert trust.fault() == ""
    (aside,) = list_set_aside(path.parent, "trust")
    assert aside.startswith(f"trust.json.{fault}-1: ")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_approves_nothing(trust: TrustFile, path: Path, make: Any) -> None:
    path.parent.mkdir()
    make(path)
    assert not trust.approved(SHOP, LINT)
    trust.approve(SHOP, [LINT])
    assert trust.approved(SHOP, LINT)


@pytest.mark.parametrize("project", ["", "code/shop", "/code/\udcff", "/a\0b"])
def test_what_is_no_path_of_a_project_is_refused(trust: TrustFile, path: Path, project: str) -> None:
    with pytest.raises(BadInputError):
        trust.approve(project, [LINT])
    assert not trust.approved(project, LINT)
    assert not path.exists()


def test_a_file_that_would_grow_too_big_is_refused_and_the_old_one_stays(
    trust: TrustFile, path: Path
) -> None:
    trust.approve(SHOP, [LINT])
    before = path.read_bytes()
    many = [Gate(id=f"g{number}", command="x" * 5000, why="") for number in range(9000)]
    with pytest.raises(BadInputError, match="too big"):
        trust.approve("/code/big", many)
    assert path.read_bytes() == before


def test_a_command_that_is_no_utf_8_is_approved_as_it_is(trust: TrustFile) -> None:
    strange = replace(LINT, folder="caf\udce9", behind="\ud800")
    trust.approve(SHOP, [strange])
    assert trust.approved(SHOP, strange)
    assert trust.approvals(SHOP)["lint"].folder == "caf\\udce9"


@given(st.text(max_size=50), st.text(max_size=50), st.text(max_size=50), st.text(max_size=50))
def test_two_gates_never_share_a_digest_by_moving_text_between_fields(
    command: str, behind: str, other_command: str, other_behind: str
) -> None:
    one = Gate(id="a", command=command, behind=behind, why="")
    two = Gate(id="a", command=other_command, behind=other_behind, why="")
    assert (gate_digest(one) == gate_digest(two)) == ((command, behind) == (other_command, other_behind))


def test_a_long_text_is_kept_in_part_and_covered_whole(trust: TrustFile) -> None:
    long = replace(LINT, behind="x" * 5000 + "a")
    trust.approve(SHOP, [long])
    assert trust.approvals(SHOP)["lint"].behind == truncate_approval_text(long.behind)
    assert not trust.approved(SHOP, replace(LINT, behind="x" * 5000 + "b"))


def test_what_a_teams_organisation_approved_is_approved_in_every_project_as_it_was_shown(
    trust: TrustFile, path: Path
) -> None:
    TrustFile(path.parent / "team").approve("/code/another", [LINT, replace(LINT, id="other")])
    changed = replace(LINT, behind="eslint --fix .")
    assert trust.approved(SHOP, LINT)
    assert not trust.approved(SHOP, changed)
    trust.approve(SHOP, [changed])
    assert trust.approved(SHOP, changed)
    assert trust.approved(SHOP, LINT)
    assert trust.revoke(SHOP) == 1
    assert trust.approved(SHOP, LINT)
    (path.parent / "team" / "trust.json").write_text("{")
    assert not trust.approved(SHOP, LINT)


def test_what_a_person_approved_is_added_to_what_the_organisation_did(trust: TrustFile, path: Path) -> None:
    other = replace(LINT, id="other")
    known = b""
    for project, gate in ((SHOP, LINT), ("/code/another", other)):
        trust.approve(project, [gate])
        known = add_to_organisation(known, trust.approvals(project).values())
        trust.revoke(project)
    (path.parent / "team").mkdir()
    (path.parent / "team" / "trust.json").write_bytes(known)
    assert trust.approved("/code/third", LINT)
    assert trust.approved("/code/third", other)
