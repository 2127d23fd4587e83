"""`supervisor audit` and `supervisor lock` as a person types them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sidecar.cli.audit import audit, lock
from support.typed import typed

PAGE = Path(__file__).parents[2] / "docs" / "governance.md"
pytestmark = [pytest.mark.process, pytest.mark.proves("governed phases")]  # a lock of a shell ends with it


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


@pytest.mark.parametrize("words", [("acquire",), ("release", "gov-1"), ("break", "gov-1")])
def test_an_agents_shell_may_look_but_not_change_a_lock(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    done = types(*words, verb=lock)
    assert (done.exit_code, "only the user may do this" in done.output) == (1, True)
    assert (types("show").exit_code, types("list", verb=lock).exit_code) == (0, 0)


def test_an_export_is_signed_and_verified_by_the_lines_of_the_page(project: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "mine"], check=True)
    (project / "allowed").write_text(f"me@example.org {(project / 'mine.pub').read_text()}")
    types("release", acquired(), verb=lock)
    done = types("export", "--output", "a b.jsonl")
    sign = done.output.splitlines()[-1].strip()
    assert sign in PAGE.read_text(encoding="utf-8").replace("audit.jsonl", f"'{project}/a b.jsonl'")
    (verify,) = re.findall(r"^ssh-keygen -Y verify .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    verify = verify.replace("audit.jsonl", "'a b.jsonl'")

    def shell(line: str) -> bool:
        return subprocess.run(line, shell=True, check=False, capture_output=True).returncode == 0  # noqa: S602 - to be pasted

    assert shell(sign.replace("~/.ssh/id_ed25519", "mine"))
    assert shell(verify)
    file = project / "a b.jsonl"
    file.write_text(file.read_text().replace('"exported_at":"2', '"exported_at":"1'))
    assert types("verify", "a b.jsonl").exit_code == 0  # only the signature shows it
    assert not shell(verify)
