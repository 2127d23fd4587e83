"""Runs git so that it never prompts, never waits for others, and runs no program that a repository names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.platform import processes
from sidecar.platform.processes import ProcessResult

GET_GIT: Final = "apt-get install git (or what installs programs here)"
"""What to type where there is none."""
GIT_CALL_S: Final = 30.0
"""Timeout of one call in seconds."""
GIT_OUTPUT_LIMIT: Final = 64 << 20
"""Maximum output of one call in bytes; larger output is not used at all. It holds half a million names of the
usual length."""
GIT_VARIABLES: Final = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Variables of every call. The session's own GIT_ variables are dropped, because they could redirect git."""


class UnseenError(Exception):
    """A part of the content could not be read. The message tells a person why."""


class Git(Struct, frozen=True):
    """How git is called: the program with its settings, the working folder, the complete environment.

    `seconds` is the deadline of one call.
    """

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    seconds: float = GIT_CALL_S

    async def ask(self, *arguments: str, stdin: bytes = b"") -> ProcessResult:
        """Run git and return the result, whatever its exit code."""
        return await processes.run_process(
            (*self.argv, *arguments),
            cwd=str(self.folder),
            environment=self.environment,
            seconds=self.seconds,
            stdin=stdin,
            keep=GIT_OUTPUT_LIMIT,
            separate=True,
        )

    async def told(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises UnseenError if it failed or exceeded GIT_OUTPUT_LIMIT."""
        return checked_git_output(await self.ask(*arguments, stdin=stdin), arguments[0])

    async def names(self, *arguments: str) -> list[str]:
        """Run git and return its output split at NUL. Raises UnseenError."""
        return split_at_nul(await self.told(*arguments))


def checked_git_output(finished: ProcessResult, command: str) -> bytes:
    """The output of a call. Raises UnseenError if it failed or exceeded GIT_OUTPUT_LIMIT."""
    if finished.exit_code != 0:
        said = finished.reason or decode_git_text(finished.errors).strip().partition("\n")[0]
        raise UnseenError(f"git {command}: {said or 'it failed'}"[:300])
    if len(finished.output) > GIT_OUTPUT_LIMIT:
        raise UnseenError(f"git {command} said more than {GIT_OUTPUT_LIMIT >> 20} MiB")
    return finished.output


def clean_git_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The session's environment without its git variables, plus GIT_VARIABLES."""
    return {name: value for name, value in environment.items() if not name.startswith("GIT_")} | GIT_VARIABLES


def git_config_arguments(*pairs: str) -> tuple[str, ...]:
    """Arguments that set these configuration values for one call."""
    return tuple(part for pair in pairs for part in ("-c", pair))


def decode_git_text(said: bytes) -> str:
    """Decode git's output as Python decodes file names: bytes that are not UTF-8 become surrogates."""
    return said.decode("utf-8", "surrogateescape")


def encode_path(name: str) -> bytes:
    """Encode a path as Python encodes file names: surrogates become the original bytes."""
    return name.encode("utf-8", "surrogateescape")


def split_at_nul(said: bytes) -> list[str]:
    """Decode git's output and split it at NUL."""
    return decode_git_text(said).split("\0")[:-1]


def join_with_nul(names: Iterable[str]) -> bytes:
    """Encode names as git reads them with `-z`."""
    return b"".join(encode_path(name) + b"\0" for name in names)


def git_blob_name(content: bytes) -> str:
    """Return git's object name of a content."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


# --- Checkouts of a repository, read from its files without git ---------------------------------------------


class Checkout(Struct, frozen=True):
    """A checkout: its top folder, and the git folder that it shares with the other checkouts."""

    top: Path
    common: Path

    @property
    def tops(self) -> tuple[Path, ...]:
        """The top folders of all checkouts of the repository, the main one first."""
        linked = (
            Path(file.parent, first_line(file)).resolve().parent
            for file in self.common.glob("worktrees/*/gitdir")
        )
        return (*([self.common.parent] if self.common.name == ".git" else []), *linked)


def find_checkout(folder: Path) -> Checkout | None:
    """Find the checkout around a folder; a submodule is a repository of its own."""
    try:
        folder = folder.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, a NUL
        return None
    for top in (folder, *folder.parents):
        if (top / ".git").is_dir():
            return Checkout(top, top / ".git")
        if own := first_line(top / ".git").removeprefix("gitdir: "):
            inner = Path(top, own).resolve()
            shared, back = first_line(inner / "commondir"), Path(inner, first_line(inner / "gitdir"))
            is_linked = bool(shared) and back.resolve() == top / ".git"
            return Checkout(top, (inner / shared).resolve() if is_linked else inner)
    return None


def first_line(file: Path) -> str:
    """Return the first line of a file; "" where none can be read."""
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as lines:
            return lines.readline(4096).removesuffix("\n")
    except (OSError, ValueError):
        return ""
