"""The command `supervisor` as a whole: its help, its three endings, its one report."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import sidecar
from sidecar import cli
from sidecar.cli.screen import Screen
from sidecar.kernel.errors import BadInputError
from sidecar.platform.client import SidecarError
from sidecar.platform.paths import user_paths
from support.table import over_table
from support.typed import typed

LIMIT_S = 60.0


def supervisor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    home = str(Path(sidecar.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "sidecar", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd="/",
        env={**os.environ, "PYTHONPATH": home, **environment},
    )


@pytest.fixture
def broken_verb(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """The verb `doctor`, which raises what is put into the list."""
    errors: list[BaseException] = []

    @click.command()
    def broken() -> None:
        raise errors[0]

    monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: broken)
    return errors


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_lists_every_verb_and_imports_none(arguments: list[str]) -> None:
    done = supervisor(*arguments)
    assert done.returncode == 0
    for name, verb in cli.VERBS.items():
        assert f"  {name} " in done.stdout
        assert verb.summary in done.stdout


@pytest.mark.process
def test_help_is_quick_for_it_imports_no_verb() -> None:
    code = "import sys, sidecar.cli; sidecar.cli.run_command(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {
        "asyncio",
        "msgspec",
        "rich",
        "sidecar.wiring",
        "sidecar.cli.install",
    }


@over_table("name", cli.VERBS)
def test_every_verb_is_there_and_explains_itself(name: str) -> None:
    command = cli.main.get_command(click.Context(cli.main), name)
    assert command is not None
    assert command.name == name
    assert command.help


@pytest.mark.process
def test_a_wrong_usage_ends_in_2() -> None:
    done = supervisor("nope")
    assert (done.returncode, done.stderr.startswith("supervisor: No such command 'nope'")) == (2, True)


@pytest.mark.process
def test_the_version_is_told() -> None:
    for option in ("--version", "-V"):
        assert supervisor(option).stdout == f"supervisor, version {sidecar.__version__}\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadInputError("no session is known"), "supervisor: no session is known\n"),
        (SidecarError("it hangs", "stop it", "ask"), "supervisor: it hangs\n  - stop it\n  - ask\n"),
        (click.ClickException("not so"), "supervisor: not so\n"),
        (
            OSError(errno.EROFS, "Read-only file system", "/r o"),
            "supervisor: /r o: Read-only file system\n  - see who may use it: ls -ld '/r o'\n",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file"),
            "supervisor: No such file: the current folder is gone\n  - go to one that is there: cd\n",
        ),
        (click.Abort(), "supervisor: aborted\n"),
    ],
)
def test_a_refusal_ends_in_1_with_its_reason_and_the_next_moves(
    broken_verb: list[BaseException], capsys: pytest.CaptureFixture[str], error: Exception, said: str
) -> None:
    broken_verb.append(error)
    assert cli.run_command(["doctor"]) == 1
    assert capsys.readouterr().err == said


def test_a_command_that_ctrl_c_ends_ends_in_130(
    broken_verb: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    broken_verb.append(KeyboardInterrupt())
    assert cli.run_command(["doctor"]) == 130
    assert capsys.readouterr().err.strip() == "supervisor: aborted"


@pytest.mark.process  # what the report says of the system asks `uname`
def test_a_fault_of_ours_ends_in_70_and_names_a_report_without_showing_it(
    broken_verb: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    broken_verb.append(KeyError("deep inside"))
    assert cli.run_command(["doctor"]) == 70
    shown = capsys.readouterr().err
    report = user_paths().log.with_name("error.log")
    assert str(report) in shown
    assert "Traceback" not in shown
    text = report.read_text(encoding="utf-8")
    assert text.startswith(f"supervisor {sidecar.__version__}, Python 3.")
    assert "KeyError: 'deep inside'" in text


@pytest.mark.process  # as above
def test_a_fault_of_ours_is_shown_where_debugging_is_wanted(
    broken_verb: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERVISOR_DEBUG", "1")
    broken_verb.append(KeyError("deep inside"))
    assert cli.run_command(["doctor"]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("staus",), "No such command 'staus'"),
        (("rubric", "sho"), "No such command 'sho'"),
        (("help", "goal", "sett"), "No such command 'sett'"),
        (("goal", "staus"), "No such command 'staus'"),
        (("status", "--jsn"), "No such option"),
    ],
)
def test_a_wrong_word_is_named_with_the_help_to_ask_for(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert typed(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"supervisor: {said}")
    assert shown.err.splitlines()[-1].startswith("  - see: supervisor")


@pytest.mark.touches_dependencies
@over_table(
    "words, nearest",
    [
        (("doctr",), "doctor"),
        (("rubric", "chek"), "check"),  # its module is imported late
        (("help", "goal", "sett"), "set"),
        (("xyzzy",), ""),
    ],
)
def test_the_nearest_command_is_suggested_once(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], nearest: str
) -> None:
    typed(*words)
    asked = re.findall(r"Did you mean '([\w ]+)'\?", capsys.readouterr().err)
    assert asked == [nearest] * bool(nearest)


BASH = """eval "$(supervisor completion bash)"
COMP_WORDS=(supervisor goal sta) COMP_CWORD=2
_supervisor_completion supervisor && echo "${COMPREPLY[@]}"
COMPREPLY=() COMP_WORDS=(supervisor status --ex) COMP_CWORD=2
_supervisor_completion supervisor && echo "${COMPREPLY[@]}"
"""
ZSH = """autoload -Uz compinit && compinit -D
eval "$(supervisor completion zsh)"
preexec() { print -r -- "<$1>" }
supervisor goal sta\t --help
supervisor status --ex\t --help
exit
"""
FISH = """supervisor completion fish | source
complete --do-complete "supervisor goal sta"
complete --do-complete "supervisor status --ex"
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "typed_in", "shown"),
    [
        (("bash", "--norc"), BASH, r"^status\n--exit-code$"),
        (
            ("zsh", "-f", "-i"),
            ZSH,
            r"<supervisor goal status +--help>(.|\n)*<supervisor status --exit-code +--help>",
        ),
        (("fish", "--no-config"), FISH, r"^status\b.*\n--exit-code\b"),
    ],
)
def test_a_shell_completes_commands_and_their_options(
    tmp_path: Path, command: tuple[str, ...], typed_in: str, shown: str
) -> None:
    if shutil.which(command[0]) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{command[0]} is not on PATH")
        pytest.skip(f"{command[0]} is not on PATH")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    said = _type_into_shell(command, typed_in, {"PATH": path, "HOME": str(tmp_path), "TERM": "vt100"})
    assert re.search(shown, said, re.MULTILINE), said


def _type_into_shell(command: tuple[str, ...], lines: str, environment: dict[str, str]) -> str:
    """Return what a shell prints. An interactive one is given a terminal, on which it can complete."""
    if "-i" not in command:
        return subprocess.run(
            command, input=lines, capture_output=True, text=True, timeout=LIMIT_S, check=True, env=environment
        ).stdout
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as shell:
        os.close(theirs)
        os.write(ours, lines.encode())
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed: the shell has ended
            while select.select([ours], [], [], LIMIT_S)[0] and (more := os.read(ours, 65536)):
                said += more
        shell.kill()
    os.close(ours)
    return said.decode(errors="replace").replace("\r\n", "\n")


@pytest.mark.proves("seeing and asking back")
@pytest.mark.process
@pytest.mark.parametrize("words", [("--help",), ("tool", "--help")])
def test_a_pipe_that_is_closed_early_and_a_full_disk_end_without_a_traceback(words: tuple[str, ...]) -> None:
    home = str(Path(sidecar.__file__).parents[1])
    line = [sys.executable, "-m", "sidecar", *words]
    given = {**os.environ, "PYTHONPATH": home}
    with subprocess.Popen(line, cwd="/", env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as closed:
        assert closed.stdout is not None
        closed.stdout.close()
        assert closed.stderr is not None
        assert (closed.stderr.read(), closed.wait(LIMIT_S)) == (b"", 1)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(line, cwd="/", env=given, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr.decode()) == (
        1, "supervisor: No space left on device\n  - make room, then type it again\n",
    )  # fmt: skip


def test_an_output_that_knows_less_than_utf_8_gets_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setattr(
        cli.LazyGroup, "get_command", lambda *_: click.Command("x", callback=lambda: Screen().print("é"))
    )
    assert cli.run_command(["doctor"]) == 0
    assert output.buffer.getvalue() == b"?\n"


def test_the_verb_serve_is_handed_down_from_above() -> None:
    assert cli.run_command(["serve"], serve=lambda: 7) == 7


@pytest.mark.process
def test_a_state_folder_that_cannot_be_made_is_told_by_serve(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = supervisor("serve", XDG_STATE_HOME=str(tmp_path / "file"))
    assert done.returncode == 1
    assert done.stderr.startswith("supervisor: the state folder cannot be used: ")
