"""A real Claude Code in a clean room: a home and a project of its own, a scripted model, nothing else.

    done = host.ask("Say hello.", "--plugin-dir", str(plugin))
    assert done.result == "Hello."

Every run is bounded, and its process group is killed afterwards, whatever happened.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import msgspec

from real_hosts.terminal import COLUMNS, ROWS, Terminal

API_KEY: Final = "sk-ant-not-a-real-key-0000000000"
RUN_LIMIT_S: Final = 240.0
"""Longest time, in seconds, that one run of a host may take."""
PROMPT_SIGN: Final = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
"""What an interactive host shows where it takes input."""
BUSY: Final = "esc to interrupt"
"""What an interactive host shows while a turn and its Stop hooks run: a prompt typed then is queued."""
KEY_TAIL: Final = 20
"""Characters of a key by which Claude Code remembers that the user approved it."""


class Ran(msgspec.Struct, frozen=True):
    """A finished process."""

    returncode: int
    stdout: str
    stderr: str


class Result(msgspec.Struct, frozen=True, rename={"structured": "structured_output"}):
    """The line `{"type":"result"}` of `claude -p`, and the process around it."""

    is_error: bool
    num_turns: int
    session_id: str
    subtype: str = ""
    result: str = ""
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    total_cost_usd: float = 0.0
    structured: msgspec.Raw = msgspec.Raw(b"null")
    ran: Ran = Ran(0, "", "")


class _Kind(msgspec.Struct):
    type: str = ""
    subtype: str = ""


class Line(msgspec.Struct, frozen=True):
    """One line of `--output-format stream-json`."""

    type: str
    subtype: str
    raw: bytes


class Streamed(msgspec.Struct, frozen=True):
    """All lines of a run, the last of which is the result."""

    lines: tuple[Line, ...]
    result: Result


class _Project(msgspec.Struct, rename="camel"):
    has_trust_dialog_accepted: bool = True
    has_completed_project_onboarding: bool = True


class _Approved(msgspec.Struct):
    approved: tuple[str, ...]
    rejected: tuple[str, ...] = ()


class _ClaudeJson(msgspec.Struct, rename="camel"):
    """`~/.claude.json`, as it is after a first start in which the user said yes to everything."""

    projects: dict[str, _Project]
    custom_api_key_responses: _Approved
    has_completed_onboarding: bool = True
    theme: str = "dark"


class _Settings(msgspec.Struct, rename="camel"):
    """`~/.claude/settings.json` of a user who was warned about the mode without permissions."""

    skip_dangerous_mode_permission_prompt: bool = True


class Host(msgspec.Struct, frozen=True):
    """One installed Claude Code with a home and a project of its own; see `prepare`."""

    binary: Path
    version: str
    home: Path
    project: Path
    env: Mapping[str, str]
    """The whole environment of the host; nothing else is inherited."""

    @classmethod
    def prepare(cls, binary: Path, version: str, folder: Path, model_url: str) -> Self:
        """Lay out a home and a project below `folder` (which must exist) for a host that asks `model_url`."""
        home, project, scratch = folder / "home", folder / "project", folder / "tmp"
        for path in (home, project, scratch):
            path.mkdir()
        trust = _ClaudeJson({str(project): _Project()}, _Approved((API_KEY[-KEY_TAIL:],)))
        (home / ".claude.json").write_bytes(msgspec.json.encode(trust))
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_bytes(msgspec.json.encode(_Settings()))
        return cls(binary, version, home, project, _environment(home, scratch, model_url))

    def having(self, **variables: str) -> Self:
        """The same host with more environment variables."""
        return msgspec.structs.replace(self, env={**self.env, **variables})

    def ask(self, prompt: str, *arguments: str, timeout: float = RUN_LIMIT_S) -> Result:
        """Run `claude -p PROMPT` and return its result; raises what `run` raises, or `AssertionError`."""
        ran = self.run("-p", prompt, "--output-format", "json", *arguments, timeout=timeout)
        return _result(ran, ran.stdout)

    def stream(self, prompt: str, *arguments: str, timeout: float = RUN_LIMIT_S) -> Streamed:
        """The same with `--output-format stream-json`: everything the host tells about its work."""
        style = ("--output-format", "stream-json", "--verbose")
        ran = self.run("-p", prompt, *style, *arguments, timeout=timeout)
        lines = tuple(_line(text) for text in ran.stdout.splitlines() if text.startswith("{"))
        results = [line.raw.decode() for line in lines if line.type == "result"]
        return Streamed(lines, _result(ran, results[-1] if results else ""))

    def run(self, *arguments: str, stdin: str = "", timeout: float = RUN_LIMIT_S) -> Ran:
        """Run `claude ARGUMENTS` to its end, as `claude plugin validate .`.

        Raises `subprocess.TimeoutExpired`, with the output so far, after `timeout` seconds.
        """
        with self.started(*arguments) as process:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        return Ran(process.returncode, stdout, stderr)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Start `claude ARGUMENTS` with pipes in the project; its process group is killed at the end."""
        with subprocess.Popen(
            [str(self.binary), *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    @contextmanager
    def terminal(self, *arguments: str, columns: int = COLUMNS) -> Iterator[Terminal]:
        """Start `claude ARGUMENTS` in a terminal of its own and wait until it takes input."""
        command, folder = [str(self.binary), *arguments], self.home.parent
        with Terminal.running(command, folder, self.project, self.env, (columns, ROWS)) as terminal:
            terminal.wait_for(PROMPT_SIGN)
            yield terminal

    @property
    def transcripts(self) -> list[Path]:
        """The transcripts of this home's sessions, oldest first; those of subagents are not among them."""
        found = (self.home / ".claude" / "projects").glob("*/*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def _environment(home: Path, scratch: Path, model_url: str) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "TMPDIR": str(scratch),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "IS_SANDBOX": "1",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": API_KEY,
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _line(text: str) -> Line:
    kind = msgspec.json.decode(text, type=_Kind)
    return Line(kind.type, kind.subtype, text.encode())


def _result(ran: Ran, text: str) -> Result:
    try:
        return msgspec.structs.replace(msgspec.json.decode(text, type=Result), ran=ran)
    except msgspec.DecodeError as error:
        raise AssertionError(f"claude gave no result ({error}): {ran}") from error
