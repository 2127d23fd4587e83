"""Asking a forge at all: whatever may come, which forge, and that nothing is written or run."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.code_host import host_of_remote_url
from sidecar.kernel.gate import Kind, Outcome
from support.forges import HUB, LAB, Bench, Program, git, path_with
from support.table import over_table

pytestmark = pytest.mark.process


@pytest.fixture
def hub(tmp_path: Path) -> Bench:
    return Bench(tmp_path, HUB)


@pytest.fixture
def lab(tmp_path: Path) -> Bench:
    return Bench(tmp_path, LAB)


@pytest.mark.parametrize("kind", [Kind.PR, Kind.CI])
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"number": "12", "state": 5}',
        b"<html>502 Bad Gateway</html>",
        b"[" * 100_000,
        b'{"number": 1, "state": "OPEN", "x": "' + b"a" * 3_000_000 + b'"}',
    ],
    ids=["nothing", "no UTF-8", "null", "a list", "no fields", "wrong types", "HTML", "deep", "huge"],
)
@pytest.mark.parametrize("forge", ["hub", "lab"])
def test_an_answer_that_cannot_be_read_could_not_run(
    request: pytest.FixtureRequest, forge: str, kind: Kind, answer: bytes
) -> None:
    bench: Bench = request.getfixturevalue(forge)
    program = bench.gh if forge == "hub" else bench.glab
    for subcommand in ("pr view", "pr checks", "run list", "mr view", "ci get"):
        program.answers(subcommand, answer)
    run = bench.run(kind)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert "unreadable answer" in run.reason
    assert len(run.reason) <= 300


@pytest.mark.parametrize("kind", [Kind.PR, Kind.CI])
def test_who_is_not_logged_in_is_told_so(hub: Bench, kind: Kind) -> None:
    hub.gh.fails("pr view", "To get started with GitHub CLI, please run:  gh auth login\nor so\n", code=4)
    run = hub.run(kind)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert run.reason == "gh: To get started with GitHub CLI, please run: gh auth login"


def test_no_network_is_no_failure(lab: Bench) -> None:
    lab.glab.fails("mr view", "\x1b[31mdial tcp: lookup gitlab.example.com: no such host\n")
    run = lab.run(Kind.PR)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert run.reason == "glab: dial tcp: lookup gitlab.example.com: no such host"


@pytest.mark.parametrize("kind", [Kind.PR, Kind.CI])
def test_a_program_that_hangs_is_ended_at_the_deadline(hub: Bench, kind: Kind) -> None:
    hub.gh.does("pr view", "exec tail -f /dev/null")
    run = hub.run(kind, seconds=0.5)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert "0.5 s" in run.reason


def test_programs_and_the_git_they_use_never_come_from_the_project(hub: Bench, tmp_path: Path) -> None:
    (hub.project / "bin").mkdir()
    own = Program(hub.project / "bin", "gh")
    hub.gh.answers("pr view", hub.pull())
    hub.environment["PATH"] = f"{hub.project}/bin:bin::{hub.environment['PATH']}"
    assert hub.run(Kind.PR).outcome is Outcome.PASSED
    assert own.calls == []
    assert hub.gh.environment["PATH"] == path_with(tmp_path / "bin")
    hub.environment["PATH"] = path_with(hub.project / "bin")
    assert hub.run(Kind.PR).reason == "gh is not on PATH (programs inside the project do not count)"


def test_the_login_of_the_session_is_used_and_what_would_change_the_answer_is_not(hub: Bench) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.environment |= {"GH_TOKEN": "t", "GH_REPO": "evil/shop", "GH_FORCE_TTY": "100", "GIT_DIR": "/nowhere"}
    assert hub.run(Kind.PR).outcome is Outcome.PASSED
    seen = hub.gh.environment
    assert seen["GH_TOKEN"] == "t"
    assert seen["GH_PROMPT_DISABLED"] == "1"
    assert not {"GH_REPO", "GH_FORCE_TTY", "GIT_DIR"} & seen.keys()


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (("remote", "remove", "origin"), "there is no remote"),
        (("remote", "set-url", "origin", "/srv/shop.git"), "there is no remote"),
        (
            ("remote", "set-url", "origin", "git@codeberg.org:me/shop"),
            "codeberg.org is no code host that is known",
        ),
        (("update-ref", "-d", "HEAD"), "there is no commit yet"),
    ],
)
def test_what_cannot_be_asked_could_not_run(hub: Bench, prepare: tuple[str, ...], reason: str) -> None:
    git(hub.project, *prepare)
    run = hub.run(Kind.CI)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert run.reason.startswith(reason)
    assert hub.gh.calls == []


def test_both_gates_are_offered_where_remote_and_program_fit(hub: Bench) -> None:
    assert [(gate.id, gate.kind, gate.command, gate.approved, gate.required) for gate in hub.offers()] == [
        ("pr", Kind.PR, "gh pr view", True, False),
        ("ci", Kind.CI, "gh pr checks", True, False),
    ]
    assert hub.gh.calls == []


def test_the_offer_names_the_host_and_never_the_password(lab: Bench) -> None:
    offered = lab.offers()
    assert [gate.command for gate in offered] == ["glab mr view", "glab ci get"]
    assert offered[0].why == "the remote lies on gitlab.example.com, of which glab tells"


def test_without_program_remote_or_folder_only_what_a_setting_asks_for_is_offered(
    hub: Bench, tmp_path: Path
) -> None:
    def offers(environment: dict[str, str] | None = None) -> list[bool]:
        assert hub.offers(environment) == []
        return [gate.required for gate in hub.offers(environment, wanted=True)]

    assert offers({"PATH": "/usr/bin:/bin"}) == [True, True]
    git(hub.project, "remote", "remove", "origin")
    assert offers() == [True, True]
    hub.project = tmp_path / "nowhere"
    assert offers() == [True, True]


@over_table(
    ("url", "host"),
    [
        ("git@github.com:owner/name.git", "github.com"),
        ("GitHub.com:owner/name", "github.com"),
        ("ssh://git@GitHub.com:22/owner/name", "github.com"),
        ("https://user:token@gitlab.example.com/a/b", "gitlab.example.com"),
        ("https://[half", ""),
        ("file:///srv/github.com", ""),
        ("/srv/github.com:x", ""),
        ("../github.com", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_remote(url: str, host: str) -> None:
    assert host_of_remote_url(url) == host
