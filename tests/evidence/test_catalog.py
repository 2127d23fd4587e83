"""The catalog: detection, the project's file and the user's file laid over one another, and the approvals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.evidence.code_host import CodeHost
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.catalog import GATE_LIMIT, ProjectCatalog
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import GateSettings
from support.forges import Program, path_with, repository

TESTS = Gate(
    id="tests",
    command="npm test",
    why="package.json has a test script",
    kind=Kind.TESTS,
    origin=GateOrigin.DETECTED,
    counts=True,
    behind="jest",
)
LINT = Gate(
    id="lint", command="ruff check", why="ruff.toml is there", kind=Kind.LINT, origin=GateOrigin.DETECTED
)


class Place:
    """A project, a user, and what is detected."""

    def __init__(self, tmp_path: Path) -> None:
        self.project = tmp_path / "shop"
        (self.project / ".supervisor").mkdir(parents=True)
        (tmp_path / "config" / "supervisor").mkdir(parents=True)
        self.theirs = self.project / ".supervisor" / "config.toml"
        self.users = tmp_path / "config" / "supervisor" / "config.toml"
        self.detected: Sequence[Gate] = (TESTS, LINT)
        self.trust = TrustFile(tmp_path / "state")
        self.environment: Environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
        self.forge: CodeHost | None = None

    def detect(self, project: Path, environment: Environment) -> tuple[Gate, ...]:
        assert (project, environment) == (self.project, self.environment)
        return tuple(self.detected)

    async def list(self) -> AvailableGates:
        catalog = ProjectCatalog(self.environment, self.trust, self.detect, self.forge)
        return await catalog.list(str(self.project), self.environment)

    async def gate(self, name: str) -> Gate:
        return next(gate for gate in (await self.list()).gates if gate.id == name)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_without_files_what_is_detected_is_offered_and_nothing_is_approved(place: Place) -> None:
    assert await place.list() == AvailableGates((TESTS, LINT), (), GateSettings())


async def test_a_missing_project_is_no_error(tmp_path: Path) -> None:
    catalog = ProjectCatalog({}, TrustFile(tmp_path), lambda *_: ())
    assert await catalog.list(str(tmp_path / "nowhere"), {}) == AvailableGates()


async def test_the_users_gate_is_approved_and_comes_first(place: Place) -> None:
    place.users.write_text('[gate."types:web"]\ncommand = "mypy web"\nrequired = true\nfolder = "web"\n')
    first, *others = (await place.list()).gates
    assert first == Gate(
        id="types:web",
        command="mypy web",
        why="named in your config.toml:1",
        kind=Kind.TYPES,
        origin=GateOrigin.USER,
        folder="web",
        required=True,
        approved=True,
    )
    assert others == [TESTS, LINT]


async def test_the_projects_gate_needs_an_approval_for_exactly_this(place: Place) -> None:
    place.theirs.write_text('[gate.e2e]\ncommand = "make e2e"\nrequired = true\n')
    gate = await place.gate("e2e")
    assert gate == Gate(
        id="e2e",
        command="make e2e",
        why="named in .supervisor/config.toml:1",
        kind=Kind.CHECK,
        origin=GateOrigin.PROJECT,
        required=True,
    )
    place.trust.approve(str(place.project), [gate])
    assert await place.gate("e2e") == replace(gate, approved=True)
    place.theirs.write_text('[gate.e2e]\ncommand = "make e2e; curl x"\nrequired = true\n')
    assert not (await place.gate("e2e")).approved


async def test_a_detected_gate_is_approved_with_what_is_behind_it(place: Place) -> None:
    place.trust.approve(str(place.project), [TESTS])
    assert (await place.gate("tests")).approved
    place.detected = (replace(TESTS, behind="jest || true"),)
    assert not (await place.gate("tests")).approved


async def test_a_changed_command_is_the_projects_word_and_a_changed_duty_is_not(place: Place) -> None:
    place.theirs.write_text(
        '[gate.tests]\nseconds = 30\nrequired = true\ncommand = "npm test"\n'
        '[gate.lint]\ncommand = "ruff check --select E"\n'
    )
    tests, lint = (await place.list()).gates
    assert tests == replace(
        TESTS, seconds=30, required=True, why=f"{TESTS.why}; changed in .supervisor/config.toml:1"
    )
    assert lint == replace(
        LINT,
        command="ruff check --select E",
        origin=GateOrigin.PROJECT,
        why=f"{LINT.why}; changed in .supervisor/config.toml:5",
    )


async def test_what_was_behind_a_command_does_not_stand_behind_another(place: Place) -> None:
    place.theirs.write_text('[gate.tests]\ncommand = "make test"\n')
    assert (await place.gate("tests")).behind == ""


async def test_the_users_values_win_over_the_projects(place: Place) -> None:
    place.theirs.write_text(
        "[gates]\nseconds = 50\nadvisory_seconds = 40\n"
        '[gate.lint]\ncommand = "evil"\nseconds = 1\nleast = 5\n'
    )
    place.users.write_text("[gates]\nseconds = 300\n[gate.lint]\nseconds = 90\nrequired = true\n")
    catalog = await place.list()
    assert catalog.settings == GateSettings(seconds=300, advisory_seconds=40)
    lint = catalog.gates[0]
    assert (lint.command, lint.origin, lint.seconds, lint.least, lint.required, lint.approved) == (
        "evil", GateOrigin.PROJECT, 90, 5, True, False,
    )  # fmt: skip


async def test_whether_stops_without_a_goal_are_looked_at_is_the_users_to_say(place: Place) -> None:
    place.theirs.write_text("[gates]\nwithout_goal = true\ntrial_seconds = 0\n")
    catalog = await place.list()
    assert (catalog.settings.without_goal, catalog.settings.trial_seconds) == (False, 60)
    assert catalog.problems == (
        f"{place.theirs}:2: gates.without_goal: only the user's own file may say this; it is ignored",
        f"{place.theirs}:3: gates.trial_seconds: only the user's own file may say this; it is ignored",
    )


async def test_where_the_user_names_the_command_the_project_has_no_say(place: Place) -> None:
    place.theirs.write_text(
        '[gate.tests]\ncommand = "true"\nfolder = "trap"\ncounts = false\nenabled = false\nleast = 0\n'
    )
    place.users.write_text('[gate.tests]\ncommand = "npm test"\n')
    gate = await place.gate("tests")
    why = f"{TESTS.why}; changed in your config.toml:1"
    assert gate == replace(TESTS, origin=GateOrigin.USER, behind="", why=why, approved=True)


@pytest.mark.parametrize(
    ("theirs", "users", "listed"),
    [
        ("[gate.lint]\nenabled = false", "", False),
        ("", "[gate.lint]\nenabled = false", False),
        ("[gate.lint]\nenabled = false", "[gate.lint]\nenabled = true", True),
        ("[gate.lint]\nenabled = false", "[gate.lint]\nseconds = 5", False),
        ("[gate.lint]\nenabled = true", "[gate.lint]\nenabled = false", False),
        ("[gates]\ndetect = false", "", False),
        ("[gates]\ndetect = false", "[gates]\ndetect = true", True),
    ],
)
async def test_gates_are_taken_away(place: Place, theirs: str, users: str, listed: bool) -> None:  # noqa: FBT001 - a column of the table
    place.theirs.write_text(theirs)
    place.users.write_text(users)
    catalog = await place.list()
    assert catalog.problems == ()
    assert ("lint" in {gate.id for gate in catalog.gates}) is listed


async def test_a_change_to_a_gate_that_is_not_there_is_told_of_the_project_alone(place: Place) -> None:
    place.theirs.write_text("\n[gate.lints]\nrequired = true\n")
    place.users.write_text("[gate.types]\nrequired = true\n")
    catalog = await place.list()
    assert catalog.gates == (TESTS, LINT)
    said = "no such check is detected here, and a new one needs a command; did you mean lint?"
    assert catalog.problems == (f"{place.theirs}:2: gate.lints: {said}",)


async def test_a_new_gate_of_tests_counts_them(place: Place) -> None:
    place.detected = ()
    place.users.write_text(
        '[gate."tests:api"]\ncommand = "a"\n[gate.x]\ncommand = "b"\nkind = "tests"\ncounts = false\n'
    )
    assert [(gate.kind, gate.counts) for gate in (await place.list()).gates] == [
        (Kind.TESTS, True),
        (Kind.TESTS, False),
    ]


async def test_only_gates_may_be_set_by_a_project_and_all_its_errors_are_told_at_once(place: Place) -> None:
    place.theirs.write_text(
        'mode = "shadow"\nmodd = 1\n[judge]\nbackend = "rules"\n[gates]\nsecond = 1\nseconds = 0\n'
        '[gate.lint]\nfolder = ".."\nseconds = "long"\n'
    )
    catalog = await place.list()
    assert [problem.removeprefix(f"{place.theirs}:") for problem in catalog.problems] == [
        "1: mode: only the user's own file may say this",
        "2: modd: there is no such setting",
        "3: judge: only the user's own file may say this",
        "6: gates.second: there is no such setting; did you mean gates.seconds?",
        "7: gates.seconds: Expected `int` >= 1 (got 0); the default 600 is in force",
        "9: gate.lint.folder: must be a relative path inside the project (got '..'); it is ignored",
        "10: gate.lint.seconds: Expected `int`, got `str` (got 'long'); it is ignored",
    ]
    assert catalog.settings == GateSettings()


async def test_a_wait_of_the_project_is_shorter_than_the_users_around_it(place: Place) -> None:
    place.users.write_text("stop_seconds = 200\n[gates]\nseconds = 100\nadvisory_seconds = 50\n"
                           "[judge]\nseconds = 60\n")  # fmt: skip
    place.theirs.write_text("[gates]\nadvisory_seconds = 10\n[gate.lint]\nseconds = 200\n")
    catalog = await place.list()
    assert catalog.problems == (
        f"{place.theirs}:4: gate.lint.seconds: must be less than the user's stop_seconds, 200; it is ignored",
    )
    assert catalog.gates[0].seconds is None
    place.users.write_text("stop_seconds = 700\n")
    place.theirs.write_text("[gates]\nadvisory_seconds = 700\n")
    catalog = await place.list()
    assert "gates.advisory_seconds: must be less than the user's stop_seconds, 700" in catalog.problems[0]
    assert catalog.settings == GateSettings()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_bytes(b"\xff"), "not UTF-8 at byte 0; it says nothing"),
        (lambda path: path.write_text("\n]"), "no TOML: Invalid statement (at line 2, column 1)"),
        (lambda path: path.symlink_to("/etc/hostname"), "a symbolic link; it says nothing"),
        (os.mkfifo, "no plain file; it says nothing"),
        (lambda path: path.write_text("#" * 70_000), "70000 bytes, more than 65536"),
    ],
)
async def test_a_projects_file_that_cannot_be_used_is_one_problem(
    place: Place, make: object, why: str
) -> None:
    assert callable(make)
    make(place.theirs)
    catalog = await place.list()
    assert catalog.gates == (TESTS, LINT)
    assert catalog.problems[0].startswith(f"{place.theirs}: {why}")
    assert len(catalog.problems) == 1


async def test_a_broken_file_of_approvals_is_told_and_approves_nothing(place: Place, tmp_path: Path) -> None:
    place.trust.approve(str(place.project), [TESTS])
    (tmp_path / "state" / "trust.json").write_text("{")
    catalog = await place.list()
    assert not any(gate.approved for gate in catalog.gates)
    assert "type: supervisor trust" in catalog.problems[0]


async def test_a_detection_that_fails_is_a_problem_and_the_configured_gates_stay(place: Place) -> None:
    def broken(_project: Path, _environment: Environment) -> tuple[Gate, ...]:
        raise RecursionError("too deep")

    place.users.write_text('[gate.a]\ncommand = "x"\n')
    catalog = await ProjectCatalog(place.environment, place.trust, broken).list(str(place.project), {})
    assert [gate.id for gate in catalog.gates] == ["a"]
    assert catalog.problems == ("checks could not be detected: RecursionError: too deep",)


async def test_more_gates_than_can_be_looked_at_are_told(place: Place) -> None:
    place.theirs.write_text("".join(f"[gate.g{number}]\ncommand='x'\n" for number in range(1500)))
    catalog = await place.list()
    assert len(catalog.gates) == GATE_LIMIT
    assert catalog.problems == (f"1502 checks; only the first {GATE_LIMIT} are looked at",)


class TestForge:
    @pytest.fixture(autouse=True)
    def with_a_remote(self, place: Place, tmp_path: Path) -> None:
        repository(place.project, "git@github.com:me/shop")
        (tmp_path / "bin").mkdir()
        Program(tmp_path / "bin", "gh")
        place.environment = {**place.environment, "PATH": path_with(tmp_path / "bin")}
        place.forge = CodeHost()

    @pytest.mark.process
    async def test_pull_request_and_ci_are_offered_last_and_need_no_approval(self, place: Place) -> None:
        offered = (await place.list()).gates[2:]
        assert [(gate.id, gate.required, gate.approved) for gate in offered] == [
            ("pr", False, True),
            ("ci", False, True),
        ]

    @pytest.mark.process
    @pytest.mark.parametrize("who", ["theirs", "users"])
    async def test_a_setting_makes_them_required(self, place: Place, who: str) -> None:
        getattr(place, who).write_text("[gates]\nci = true\n")
        listed = [(gate.id, gate.required) for gate in (await place.list()).gates]
        assert listed == [("ci", True), ("tests", False), ("lint", False), ("pr", False)]

    @pytest.mark.process
    async def test_one_that_is_asked_for_is_there_even_where_nobody_can_be_asked(self, place: Place) -> None:
        place.environment = {**place.environment, "PATH": "/usr/bin:/bin"}
        place.users.write_text("[gates]\npr = true\n")
        first = (await place.list()).gates[0]
        assert (first.id, first.kind, first.required, first.approved) == ("pr", Kind.PR, True, True)
