"""`supervisor audit` and `supervisor lock` as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sidecar.cli.audit import audit
from sidecar.cli.lock import lock
from support.typed import typed

pytestmark = pytest.mark.process  # a lock of a shell ends with it


def types(*words: str, verb: click.Command = audit) -> Result:
    return CliRunner().invoke(verb, words)


def acquired(*words: str) -> str:
    done = types("acquire", *words, verb=lock)
    assert done.exit_code == 0, done.output
    return done.output.split()[0]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shell_acquires_shows_and_releases_a_lock_and_the_audit_has_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert types("list", verb=lock).output == "No lock is held.\n"
    ident = acquired("--mode", "light", "--minutes", "5")
    (held,) = json.loads(types("list", "--json", verb=lock).output)
    assert (held["id"], held["holder"], held["mode"], held["process"]) == (
        ident,
        "shell",
        "light",
        os.getppid(),
    )
    assert held["expires"] - held["acquired"] == 300
    assert typed("lock", "acquire") == 1
    assert f"{ident}\n  - supervisor lock break {ident}\n" in capsys.readouterr().err
    assert types("release", ident, verb=lock).exit_code == 0
    assert typed("lock", "break", ident) == 1
    assert "  - supervisor lock list\n" in capsys.readouterr().err
    types("break", broken := acquired(), verb=lock)
    shown = types("show", "--json").output.splitlines()
    assert [(one["lock"], one["tool"], one["result"], one["agent"]) for one in map(json.loads, shown)] == [
        (ident, "lock", "acquired", "person"),
        (ident, "lock", "released", "person"),
        (broken, "lock", "acquired", "person"),
        (broken, "lock", "broken", "person"),
    ]
    plain = types("show", "--lock", broken, "--last", "1").output
    assert plain.split()[0] == "4"
    assert f"{broken} lock            broken by person\n" in plain


def test_verify_says_in_one_line_that_all_is_well_or_names_the_entry(project: Path) -> None:
    assert types("verify").output == "0 entries, none changed, dropped or added\n"
    types("release", acquired(), verb=lock)
    assert types("verify").output == "2 entries, none changed, dropped or added\n"
    types("export", "--output", "all.jsonl")
    assert types("verify", "all.jsonl").output == "2 entries, none changed, dropped or added\n"
    file = project / "all.jsonl"
    assert types("export").output.splitlines()[:-1] == file.read_text().splitlines()[:-1]
    file.write_text(file.read_text().replace("released", "acquired"))
    done = types("verify", "all.jsonl")
    assert (done.exit_code, done.output) == (1, "line 2, entry 2: changed\n")


def test_entries_are_removed_on_order_alone_and_those_of_a_held_lock_stay() -> None:
    ident = acquired()
    for words, said in {("--yes",): "name --lock ID", ("--lock", ident): "add --yes"}.items():
        done = types("forget", *words)
        assert (done.exit_code, said in done.output) == (2, True)
    assert types("forget", "--before", "2999-01-01", "--yes").output == "0 audit entries removed\n"
    types("release", ident, verb=lock)
    assert types("forget", "--lock", ident, "--yes").output == "2 audit entries removed\n"
    assert types("verify").output == "1 entry, none changed, dropped or added; 2 removed on order\n"
    assert "forget          removed 2 by person" in types("show").output


@pytest.mark.parametrize("words", [("acquire",), ("release", "gov-1"), ("break", "gov-1")])
def test_an_agents_shell_may_look_but_not_change_a_lock(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    done = types(*words, verb=lock)
    assert (done.exit_code, "only the user may do this" in done.output) == (1, True)
    assert types("forget", "--lock", "gov-1", "--yes").exit_code == 1
    assert (types("show").exit_code, types("list", verb=lock).exit_code) == (0, 0)


def test_an_export_that_is_signed_is_verified_with_the_signers_that_are_allowed(project: Path) -> None:
    for name in ("mine", "theirs"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], check=True)
        (project / f"{name}.allowed").write_text(
            f"{name}@example.org {(project / f'{name}.pub').read_text()}"
        )
    for _ in range(2):  # a signature that is there is replaced
        types("release", acquired(), verb=lock)
        done = types("export", "--output", "a b.jsonl", "--sign", "mine")
        assert done.exit_code == 0, done.output
    line = (
        done.output.splitlines()[-1]
        .replace("ALLOWED_SIGNERS", "mine.allowed")
        .replace("WHO", "mine@example.org")
    )
    assert subprocess.run(line, shell=True, check=True, capture_output=True).stdout.startswith(b"Good")  # noqa: S602 - it is to be pasted
    done = types("verify", "a b.jsonl", "--allowed-signers", "mine.allowed")
    assert done.output == "signed by mine@example.org\n4 entries, none changed, dropped or added\n"
    assert types("verify", "a b.jsonl", "--allowed-signers", "theirs.allowed").exit_code == 1
    file = project / "a b.jsonl"
    file.write_text(file.read_text().replace('"exported_at":"2', '"exported_at":"1'))
    assert types("verify", "a b.jsonl").exit_code == 0  # only the signature shows it
    done = types("verify", "a b.jsonl", "--allowed-signers", "mine.allowed")
    assert (done.exit_code, "incorrect signature" in done.output) == (1, True)


def test_what_signing_needs_is_said(project: Path) -> None:
    (project / "key").write_text("no key")
    assert "--sign needs --output" in types("export", "--sign", "key").output
    done = types("export", "--output", "x", "--sign", "key")
    assert (done.exit_code, "ssh-keygen -Y sign failed" in done.output) == (1, True)
    assert "needs the FILE" in types("verify", "--allowed-signers", "key").output
