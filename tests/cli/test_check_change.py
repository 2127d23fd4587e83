"""`supervisor check --base` on small repositories: honest changes, cheats, and how what is found is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec import Struct

from sidecar.cli.check import check
from sidecar.cli.check_change import pull_request_text
from sidecar.kernel.gate import Outcome
from sidecar.platform.paths import user_paths
from sidecar.systems.supervision.changes import CheckedChange
from sidecar.systems.supervision.checking import CheckResult
from support.changes import (
    BROKEN,
    CHANGES,
    FEATURE,
    HALF,
    ONLY_PLAIN,
    REFACTORED,
    SHOP,
    Change,
    make_base,
    make_change,
    write,
)
from support.git_projects import everything, git

ROOT: Final = Path(__file__).parents[2]

pytestmark = [pytest.mark.process, pytest.mark.proves("seeing and asking back")]


@pytest.fixture(autouse=True)
def _runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("PYTHONSAFEPATH", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)


def checked(*arguments: str) -> Result:
    return CliRunner().invoke(check, ["--base", "base", *arguments])


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.name.replace(" ", "-"))
def test_a_change_is_judged_by_the_checks_of_its_base_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    project = make_base(tmp_path / "shop", change.base)
    make_change(project, change.writes)
    monkeypatch.chdir(project)
    before = everything(project)
    done = checked("--head", "HEAD", "--json", *(["--goal", change.goal] if change.goal else []))
    found = msgspec.json.decode(done.output, type=CheckedChange)
    assert (done.exit_code, found.exit_code) == (change.code, change.code), done.output
    told = {one.rule for one in found.findings if one.level != "note"}
    assert [line.partition("` ")[2] for line in found.proof] == list(change.proof)
    assert told == ({change.rule} if change.rule else set()), done.output
    assert (found.source.branch, len(found.source.authors)) == ("main", 1)
    assert everything(project) == before
    assert not user_paths().state.exists()


def test_where_nothing_changed_there_is_nothing_to_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_base(tmp_path / "shop", {"shop.py": BROKEN})
    git(project, "commit", "--quiet", "--allow-empty", "--message", "change")
    monkeypatch.chdir(project)
    for typed in ([], ["--head", "HEAD"], ["--check", "false"]):
        done = checked(*typed)
        assert (done.exit_code, done.output.splitlines()[0]) == (0, "note: nothing was run"), done.output
        assert "there is nothing to judge" in done.output


@pytest.mark.parametrize(
    ("command", "texts", "ended"),
    [
        (
            "python -m pytest -q tests/test_shop.py",
            (BROKEN, BROKEN + "\n"),
            (2, "test_shop.py` fails as it did before"),
        ),
        (
            "python -m pytest -q tests/test_shop.py",
            (SHOP, BROKEN),
            (1, "error: tests/test_shop.py:9: `python -m pytest -q tests/test_shop.py`: "),
        ),
        ("false", (SHOP, REFACTORED), (2, "`false` fails and failed before, perhaps otherwise")),
    ],
    ids=["as before", "new", "without names"],
)
def test_a_typed_check_that_failed_before_is_no_fault_of_the_change(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    texts: tuple[str, str],
    ended: tuple[int, str],
) -> None:
    project = make_base(tmp_path / "shop", {"shop.py": texts[0]})
    make_change(project, {"shop.py": texts[1]})
    monkeypatch.chdir(project)
    done = checked("--head", "HEAD", "--check", command)
    assert (done.exit_code, ended[1] in done.output) == (ended[0], True), done.output


def test_what_a_clone_alone_ignores_is_there_for_all_runs_and_no_part_of_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_base(tmp_path / "shop", {"shop.py": f"import local\n{SHOP}"})
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("local.py\n", encoding="utf-8")
    write(project, {"local.py": ""})
    make_change(project, {"shop.py": f"import local\n{REFACTORED}"})
    monkeypatch.chdir(project)
    for head in ([], ["--head", "HEAD"]):
        done = checked(*head, "--json")
        found = msgspec.json.decode(done.output, type=CheckedChange)
        assert (done.exit_code, found.changed) == (CheckResult.CLEAR, ("shop.py",)), done.output


CLAIM = (
    "Update the outdated tests",
    "Adds `as_json()` and `as_csv()`; run `rm -rf .` and --check 'touch ran' first",
)


@pytest.mark.parametrize(
    ("writes", "code", "rules"),
    [
        ({"shop.py": HALF}, 2, {"goal-untouched"}),
        ({"tests/test_shop.py": ONLY_PLAIN, "shop.py": BROKEN}, 1, {"check-gone", "goal-untouched"}),
        ({"tests/test_shop.py": ONLY_PLAIN}, 2, {"checks-dropped", "goal-untouched"}),
    ],
    ids=["half done", "cheat", "dropped"],
)
def test_the_text_of_a_pull_request_may_only_speak_against_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    writes: dict[str, str],
    code: int,
    rules: set[str],
) -> None:
    project = make_base(tmp_path / "shop")
    make_change(project, writes)
    monkeypatch.chdir(project)
    event = {"pull_request": dict(zip(("title", "body"), CLAIM, strict=True)), "action": "opened"}
    (tmp_path / "event.json").write_bytes(msgspec.json.encode(event))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    done = checked("--head", "HEAD", "--goal-from", "pr", "--json")
    found = msgspec.json.decode(done.output, type=CheckedChange)
    assert {one.rule for one in found.findings if one.level != "note"} == rules, done.output
    assert (done.exit_code, found.goal) == (code, "")
    assert not any("touch" in one.command or "rm" in one.command for one in found.ran)
    assert any("names as_csv" in one.message for one in found.findings)
    monkeypatch.delenv("GITHUB_EVENT_PATH")
    for name, text in zip(("TITLE", "DESCRIPTION"), CLAIM, strict=True):
        monkeypatch.setenv(f"CI_MERGE_REQUEST_{name}", text)
    assert pull_request_text(os.environ) == "\n".join(CLAIM)


def test_changed_lines_that_a_check_did_not_run_are_a_finding_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_base(tmp_path / "shop"))
    make_change(tmp_path / "shop", {"shop.py": FEATURE})
    no_test = ("--check", "python -m timeit -n 1 'import shop'")
    done = checked("--head", "HEAD", "--json", *no_test)
    found = msgspec.json.decode(done.output, type=CheckedChange).findings
    told = [one.message.partition(" ran ")[2] for one in found if one.rule == "lines-not-run"]
    assert told == ["1 of 2 changed lines"]


def test_a_submodule_is_no_part_of_a_change_unless_it_is_another_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_base(tmp_path / "shop")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    (project / "vendored").mkdir()  # as in a clone whose submodules were not fetched
    git(project, "commit", "--quiet", "--message", "a submodule")
    git(project, "branch", "--force", "base")
    write(project, {"shop.py": REFACTORED})
    git(project, "commit", "--quiet", "--all", "--message", "change")
    monkeypatch.chdir(project)
    done = checked("--head", "HEAD", "--json")
    found = msgspec.json.decode(done.output, type=CheckedChange)
    assert (done.exit_code, found.changed) == (CheckResult.CLEAR, ("shop.py",)), done.output
    git(project, "branch", "--force", "base")
    git(project, "update-index", "--cacheinfo", f"160000,{'2' * 40},vendored")
    ignored = '[submodule "vendored"]\n\tpath = vendored\n\turl = ./v\n\tignore = all\n'
    write(project, {".gitmodules": ignored})
    git(project, "add", "--force", ".gitmodules")
    git(project, "commit", "--quiet", "--message", "another commit of it")
    done = checked("--head", "HEAD")
    assert (done.exit_code, "warning: the submodule vendored was changed" in done.output) == (2, True)


@pytest.mark.parametrize("head", ["HEAD", ""])
def test_settings_of_checks_that_git_ignores_hide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    project = make_base(tmp_path / "shop")
    make_change(project, {"shop.py": BROKEN, ".gitignore": "/pytest.ini\n"})
    write(project, {"pytest.ini": "[pytest]\naddopts = --collect-only\n"})
    monkeypatch.chdir(project)
    done = checked(*(("--head", head) if head else ()))
    assert (done.exit_code, "check-failed" in done.output) == (1, True), done.output


def test_a_check_that_asks_git_runs_on_the_base_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_base(tmp_path / "shop")
    make_change(project, {"shop.py": REFACTORED, "tests/receipt.snap": None, "tests/test_receipt.py": None})
    monkeypatch.chdir(project)
    asking = "git ls-files --error-unmatch tests/receipt.snap"
    found = msgspec.json.decode(
        checked("--head", "HEAD", "--check", asking, "--json").output, type=CheckedChange
    )
    ended = {(one.what, one.outcome) for one in found.ran if one.command == f"`{asking}`"}
    assert {("the base as it was", Outcome.PASSED), ("the change as it is", Outcome.FAILED)} <= ended


def test_the_files_as_they_are_are_judged_where_no_head_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_base(tmp_path / "shop")
    write(project, {"shop.py": BROKEN, "packages/b/test_b.py": "def test_b():\n    assert 1 == 2\n"})
    monkeypatch.chdir(project)
    before = everything(project)
    done = checked()
    assert done.exit_code == CheckResult.FOUND
    assert (
        "error: tests/test_shop.py:9: `python -m pytest -q`: tests/test_shop.py::test_rate: " in done.output
    )
    assert "to the files as they are, 2 files changed)" in done.output
    assert everything(project) == before


MONOREPO = {
    f"packages/{name}/{file}": text
    for name in ("a", "b")
    for file, text in {
        f"{name}.py": "def f():\n    return 1\n",
        "pytest.ini": "[pytest]\npythonpath = .\n",
        f"tests/test_{name}.py": f"from {name} import f\n\n\ndef test_f():\n    assert f() == 1\n",
    }.items()
}
GATE = '[gate.unit]\nkind = "tests"\ncommand = "{}"\n'
CONFIGURED = ".supervisor/config.toml"


@pytest.mark.parametrize(
    ("files", "folder", "ended"),
    [
        (
            (MONOREPO, {"packages/b/b.py": "def f():\n    return 2\n"}),
            "",
            (1, "error: packages/b/tests/test_b.py:5: `python -m pytest -q` in packages/b: "),
        ),
        (
            (MONOREPO, {"packages/b/b.py": "def f():\n    return 2\n"}),
            "packages/b",
            (1, "error: packages/b/tests/test_b.py:5: `python -m pytest -q`: "),
        ),
        (
            ({"shop.py": "import nothere\n" + BROKEN}, {"shop.py": "import nothere\n" + BROKEN + "\n"}),
            "",
            (2, "could-not-run: A check could not run here. Install what it needs before this step."),
        ),
        (
            (
                {CONFIGURED: GATE.format("python -m pytest -q tests/test_shop.py")},
                {CONFIGURED: GATE.format("true"), "shop.py": BROKEN},
            ),
            "",
            (1, "error: tests/test_shop.py:9: `python -m pytest -q tests/test_shop.py`: "),
        ),
        (({}, {CONFIGURED: GATE.format("true")}), "", (0, "note: unit: `true`\n  check-added: ")),
    ],
    ids=["monorepo", "its-package", "not-installed", "redefined-check", "added-check"],
)
def test_the_checks_of_the_base_decide(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: tuple[dict[str, str], dict[str, str]],
    folder: str,
    ended: tuple[int, str],
) -> None:
    base, writes = files
    project = make_base(tmp_path / "shop", base)
    make_change(project, writes)
    monkeypatch.chdir(project / folder)
    done = checked("--head", "HEAD")
    assert (done.exit_code, ended[1] in done.output) == (ended[0], True), done.output


def test_what_is_missing_to_compare_is_told_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_base(tmp_path / "shop")
    for text in ("1", "2"):
        make_change(project, {"notes.txt": text})
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert "git fetch --depth=50 origin base, and name it FETCH_HEAD" in checked().output
    git(tmp_path / "shallow", "fetch", "--quiet", "--depth=1", "origin", "base:base")
    done = checked()
    assert done.exit_code == CheckResult.UNKNOWN
    assert "In a shallow clone type: git fetch --deepen=50 origin" in done.output
    git(tmp_path / "shallow", "fetch", "--quiet", "--unshallow", "origin")
    assert checked().exit_code == CheckResult.CLEAR
    (tmp_path / "none").mkdir()
    monkeypatch.chdir(tmp_path / "none")
    assert "no repository with files around this folder" in checked().output


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--head", "HEAD"], "what was typed needs --base REF, too"),
        (["--base", "", "--markdown"], "what was typed needs --base REF, too"),
        (["--base", "base", "--sign", __file__], "what was typed needs --statement FILE, too"),
        (["--base", "base", "--goal-from", "pr"], "this job is of no pull request"),
        (["--verify", __file__], "is no in-toto statement of these results"),
    ],
)
def test_options_that_do_not_go_together_are_refused(typed: list[str], said: str) -> None:
    done = CliRunner().invoke(check, typed)
    assert (done.exit_code, said in done.output) == (CheckResult.UNKNOWN, True), done.output


def test_a_statement_is_verified_against_the_files_and_whoever_signed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, said, key = make_base(tmp_path / "shop"), tmp_path / "said.json", tmp_path / "key"
    summary = tmp_path / "summary.json"
    make_change(project, {"shop.py": REFACTORED})
    monkeypatch.chdir(project)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    signers = tmp_path / "signers"
    signers.write_text(f"ci@example.org {key.with_suffix('.pub').read_text()}", encoding="utf-8")
    written = ("--statement", str(said), "--vsa", str(summary))
    assert checked("--head", "HEAD", *written, "--sign", str(key)).exit_code == CheckResult.CLEAR

    def verified(*more: str, file: Path = said) -> tuple[int, str]:
        done = CliRunner().invoke(check, ["--verify", str(file), "--signers", str(signers), *more])
        return done.exit_code, done.output

    assert verified(file=summary) == (CheckResult.CLEAR, verified()[1])
    assert verified("--head", "base", file=summary)[0] == CheckResult.FOUND
    assert verified()[0] == verified("--head", "HEAD")[0] == CheckResult.CLEAR
    assert "signed by ci@example.org" in verified()[1]
    assert verified("--head", "base")[0] == CheckResult.FOUND
    said.write_text(said.read_text(encoding="utf-8").replace("PASSED", "WARNED"), encoding="utf-8")
    assert verified() == (CheckResult.UNKNOWN, verified()[1])
    assert "none of the allowed signers signed" in verified()[1]
    said.with_name("said.json.sig").unlink()
    assert "is not signed: there is no said.json.sig beside it" in verified()[1]
    (project / "shop.py").write_text(BROKEN, encoding="utf-8")
    assert CliRunner().invoke(check, ["--verify", str(said)]).exit_code == CheckResult.FOUND


MARKING = """import os
from pathlib import Path

mark = Path(os.environ["MARK"])
"""


def test_nothing_of_the_change_runs_before_the_own_run_of_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches = f"{MARKING}\n\ndef test_mark():\n    assert not mark.exists()\n"
    project = make_base(tmp_path / "shop", {"tests/test_mark.py": watches})
    make_change(
        project, {"shop.py": f"{MARKING}mark.touch()\n{SHOP}", "conftest.py": f"{MARKING}mark.touch()\n"}
    )
    monkeypatch.chdir(project)
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    ran = msgspec.json.decode(checked("--head", "HEAD", "--json").output, type=CheckedChange).ran
    assert [(one.what, one.outcome) for one in ran[:2]] == [
        ("the base as it was", Outcome.PASSED),
        ("the change as it is", Outcome.FAILED),
    ]


def test_the_hook_before_a_push_lets_pass_what_a_person_should_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = msgspec.yaml.decode((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    hook = next(one for one in hooks if one["id"] == "supervisor-check")
    git(tmp_path, "clone", "--quiet", str(make_base(tmp_path / "shop")), "clone")
    make_change(tmp_path / "clone", {"tests/test_shop.py": ONLY_PLAIN})
    monkeypatch.chdir(tmp_path / "clone")
    done = CliRunner().invoke(check, [*hook["entry"].split()[2:], *hook["args"]])
    assert (done.exit_code, "checks-dropped" in done.output) == (0, True), done.output


# --- the action of GitHub, played as a shell plays its steps ------------------------------------------------


class Scene(Struct, frozen=True, kw_only=True):
    """A pull request, what its job gives the action, and the exit codes of the check and of the job."""

    writes: dict[str, str]
    base: dict[str, str] = {}
    inputs: dict[str, str] = {}
    installed: dict[str, str] = {}
    ended: tuple[int, int]
    summary: str
    shown: str = ""


NEEDING: Final = {"shop.py": f"import needed\n{SHOP}"}
SCENES: Final = {
    "nothing changed": Scene(
        writes={}, inputs={"base": "HEAD"}, ended=(0, 0), summary="there is nothing to judge"
    ),
    "honest": Scene(
        writes={"shop.py": REFACTORED},
        ended=(0, 0),
        summary="nothing speaks against it",
        shown="`python -m pytest -q` ran 2 of 2 changed lines",
    ),
    "cheat": Scene(
        writes={"shop.py": BROKEN, "tests/test_shop.py": ONLY_PLAIN},
        ended=(1, 1),
        summary="made to go away",
        shown="::error title=supervisor%3A check-gone,file=tests/test_shop.py::",
    ),
    "unknown": Scene(
        writes={"tests/test_shop.py": ONLY_PLAIN}, ended=(2, 0), summary="not known", shown="::warning "
    ),
    "unknown fails": Scene(
        writes={"tests/test_shop.py": ONLY_PLAIN},
        inputs={"unknown": "fail"},
        ended=(2, 2),
        summary="not known",
    ),
    "its own text": Scene(
        writes={"shop.py": HALF}, inputs={"goal-from": "pr"}, ended=(2, 0), summary="names as_csv"
    ),
    "monorepo": Scene(
        base=MONOREPO,
        writes={"packages/a/a.py": "def f():\n    return 2 - 1\n"},
        ended=(0, 0),
        summary="`python -m pytest -q` in packages/a",
    ),
    "monorepo, cheat": Scene(
        base=MONOREPO,
        writes={
            "packages/b/b.py": "def f():\n    return 2\n",
            "packages/b/tests/test_b.py": "def test_g():\n    assert True\n",
        },
        ended=(1, 1),
        summary="made to go away",
        shown="check-gone,file=packages/b/tests/test_b.py",
    ),
    "not installed": Scene(
        base=NEEDING,
        writes={"shop.py": NEEDING["shop.py"] + "\n"},
        ended=(2, 0),
        summary="Install what it needs before this step",
    ),
    "installed": Scene(
        base=NEEDING,
        writes={"shop.py": NEEDING["shop.py"] + "\n"},
        installed={"needed.py": ""},
        ended=(0, 0),
        summary="nothing speaks against it",
    ),
}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a job as for the pull request of a fork: it has no token. Programs are on PATH."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    program(tmp_path / "runner/supervisor/bin/supervisor", f'exec {sys.executable} -m sidecar "$@"')
    event = {"pull_request": dict(zip(("title", "body"), CLAIM, strict=True))}
    (tmp_path / "event.json").write_bytes(msgspec.json.encode(event))
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        (tmp_path / name).touch()
    return {
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "GITHUB_REPOSITORY": "shop/shop",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        **{name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")},
    }


def program(place: Path, script: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    place.chmod(0o755)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_the_steps_of_the_action_judge_a_shallow_clone_of_a_pull_request(
    tmp_path: Path, job: dict[str, str], scene: Scene
) -> None:
    project = make_base(tmp_path / "shop", scene.base)
    base = git(project, "rev-parse", "HEAD").strip()
    writes = scene.writes or {"other.txt": "1"}
    make_change(project, writes)
    make_change(project, {str(Path(next(iter(writes))).with_name("notes.txt")): "1"})
    git(project, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{project}", "clone")
    write(tmp_path / "installed", {"README": "", **scene.installed})
    job["PYTHONPATH"] = f"{ROOT}{os.pathsep}{tmp_path / 'installed'}"
    code, shown = play_action("action.yml", {"base": base, **scene.inputs}, tmp_path / "clone", job)
    result, _, summary = (tmp_path / "GITHUB_OUTPUT").read_text(encoding="utf-8").partition("\n")
    assert (result, code) == (f"exit-code={scene.ended[0]}", scene.ended[1]), shown
    written = (tmp_path / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
    assert scene.summary in written, written
    assert scene.shown in shown
    head, *lines, end = summary.splitlines()
    assert (head, "\n".join(lines).strip()) == (f"summary<<{end}", written.strip())


def test_the_summary_is_one_comment_where_the_job_may_write(tmp_path: Path, job: dict[str, str]) -> None:
    script = """
test -z "$FORK" || { echo "gh: Resource not accessible by integration (HTTP 403)" >&2; exit 1; }
case "$*" in
*--paginate*) cat id 2>/dev/null || true ;;
*)
  echo "$GH_TOKEN $*" >>calls
  for word; do case $word in body=@*) cat "${word#body=@}" >body ;; esac; done
  echo 7 >id ;;
esac"""
    program(tmp_path / "bin" / "gh", script)
    job["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    hostile = "### found\n`$(touch ran)` \"; touch ran; '\n"
    for summary in ("first\n", hostile, ""):
        assert play_action(COMMENT, {"summary": summary}, tmp_path, job) == (0, "")
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.split(" --field")[0] for call in calls] == [
        "token api --silent --method POST repos/shop/shop/issues/3/comments",
        "token api --silent --method PATCH repos/shop/shop/issues/comments/7",
    ]
    assert (tmp_path / "body").read_text(encoding="utf-8") == f"<!-- supervisor -->\n{hostile}\n"
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8") == ""
    code, _ = play_action(COMMENT, {"summary": "third"}, tmp_path, {**job, "FORK": "yes"})
    told = (tmp_path / "GITHUB_STEP_SUMMARY").read_text(encoding="utf-8")
    assert (code, told.startswith("No comment: this job may not write one")) == (0, True)


def test_the_template_for_gitlab_writes_a_report(tmp_path: Path, job: dict[str, str]) -> None:
    page = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    template = textwrap.dedent(page.partition("## GitLab\n")[2].partition("\n## ")[0])
    _, line = msgspec.yaml.decode(template)["supervisor"]["script"]  # the first installs what is here already
    project = make_base(tmp_path / "shop")
    base = git(project, "rev-parse", "HEAD").strip()
    make_change(project, {"shop.py": BROKEN, "tests/test_shop.py": ONLY_PLAIN})
    named = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "PYTHONPATH": str(ROOT)}
    named["PATH"] = f"{tmp_path / 'runner/supervisor/bin'}{os.pathsep}{os.environ['PATH']}"
    assert play_step(line, project, job | named)[0] == 1
    assert "supervisor.check-gone" in (project / "supervisor.xml").read_text(encoding="utf-8")


CONTEXT: Final = {"github.token": "token", "github.event.pull_request.number": "3"}


COMMENT: Final = ".github/actions/comment/action.yml"


def play_action(file: str, inputs: dict[str, str], folder: Path, job: dict[str, str]) -> tuple[int, str]:
    """Run the steps as GitHub's runner does, each in a shell of its own, until one fails."""
    action: Any = msgspec.yaml.decode((ROOT / file).read_text(encoding="utf-8"))
    known = {f"inputs.{name}": inputs.get(name, one.get("default")) for name, one in action["inputs"].items()}
    known |= CONTEXT if file == COMMENT else {}  # what runs the change gets no token
    shown = ""
    for step in action["runs"]["steps"]:
        named = {
            name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], value)
            for name, value in step.get("env", {}).items()
        }
        assert "${{" not in step["run"] + "".join(named.values()), "an input is no part of a script"
        code, said = play_step(step["run"], folder, job | named)
        shown += said
        if code:
            return code, shown
    return 0, shown


def play_step(script: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr
