"""Files and commands of a run: the user's hooks, the locks, and the template of the prompts."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.settings import TimedHook
from sidecar.kernel.text import one_printable_line, strip_control_codes, truncate_middle
from sidecar.platform import processes
from sidecar.platform.files import UnusableFileError, hold_lock, read_whole, stamp_or_empty, write_whole
from sidecar.platform.git import Git, find_checkout, join_with_nul, split_at_nul
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import Paths, project_digest
from sidecar.platform.worktrees import CHECKED_OUT, NO_BRANCH, first_lines
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.iteration.policy.prompt import unknown_placeholders
from sidecar.work.progress import HookRan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.session import Environment
    from sidecar.kernel.settings import RunHooks


HOOK_OUTPUT_KEPT: Final = 16_384
"""Maximum bytes of one hook's output."""
PRINTED_LIMIT: Final = 6_000
"""Maximum characters that the hooks of one name print together."""
COMMIT_SECONDS: Final = 120.0
"""Deadline of one git command, in seconds; a commit may run hooks of the repository."""
GIVEN: Final = ("--pathspec-from-file=-", "--pathspec-file-nul")
"""To git, the paths are on standard input."""
HELD_OUT: Final = "changed further, and not committed because you had changed it before the run: {}"
VARIABLE_LIMIT: Final = 4_000
"""Maximum characters of one environment variable."""


class UserHooks:
    """Implements systems.iteration.loop.RunHookRunner."""

    def __init__(
        self, hooks: Sequence[RunHooks], environment: Environment, mask: SecretMask, seconds: float
    ) -> None:
        """`hooks` run in this order. `seconds`: deadline of a command without one of its own."""
        self._hooks = tuple(hooks)
        self._environment = environment
        self._mask = mask
        self._seconds = seconds

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        variables = {
            f"SUPERVISOR_RUN_{fact.upper()}": _variable_value(value) for fact, value in facts.items()
        }
        printed = []
        for hook in (hook for one in self._hooks for hook in getattr(one, name)):
            timed = isinstance(hook, TimedHook)
            command, seconds = (hook.run, hook.seconds) if timed else (hook, self._seconds)
            ended = await processes.run_process(
                command,
                cwd=facts["project"],
                environment={**self._environment, **variables},
                seconds=seconds,
                keep=HOOK_OUTPUT_KEPT,
            )
            shown = self._mask(command)
            tell(HookRan(name=name, command=shown, exit_code=ended.exit_code, trouble=ended.reason))
            printed.append(self._mask(strip_control_codes(ended.output.decode("utf-8", "replace")).strip()))
        return truncate_middle("\n".join(filter(None, printed)), PRINTED_LIMIT)


def _variable_value(text: str) -> str:
    """Make a text that an environment variable can hold."""
    return truncate_middle(strip_control_codes(text), VARIABLE_LIMIT).encode("utf-8", "replace").decode()


class IterationCommits:
    """Commits what each iteration changed and git does not ignore, but for what was changed before the run.

    A file that its user had changed is held out as long as it differs from the last commit, and told when it
    is changed further: git cannot tell whose line is whose. Nothing is ever pushed, and git never asks.
    """

    def __init__(self, project: str, environment: Environment) -> None:
        program, checkout = processes.find_program("git", environment, project), find_checkout(Path(project))
        self._top = checkout.top if checkout else Path(project)
        quiet = {**environment, "GIT_TERMINAL_PROMPT": "0"}
        self._git = Git((program, "--literal-pathspecs"), self._top, quiet, COMMIT_SECONDS)
        self._own: dict[str, tuple[int, ...]] = {}

    async def begin(self, *, mine: bool = False) -> tuple[str, ...]:
        """Return the user's own changes that are not committed: they never are.

        `mine`: all of them are committed first. Raises BadInputError.
        """
        if (await self._git.ask(*CHECKED_OUT)).exit_code == 1:
            raise BadInputError(NO_BRANCH)
        if mine and (why := await self.commit("What was changed before agents began")):
            raise BadInputError(f"--commit-mine: {why}")
        with suppress(OSError):  # each commit will say why
            self._own = {path: stamp_or_empty(self._top / path) for path in await self._changed()}
        return tuple(self._own)

    async def commit(self, message: str) -> str:
        """Commit, and return what the user is to be told: why that failed, or what was held out."""
        try:
            if given := await self._to_commit():
                await self._told("add", "--all", *GIVEN, stdin=given)
            if given := await self._to_commit():  # what was added and is gone again is no change
                await self._told("commit", "--quiet", "--message", message, *GIVEN, stdin=given)
            changed = await self._changed()
        except OSError as error:
            return f"this iteration was not committed: {error}"
        now = {path: stamp_or_empty(self._top / path) for path in self._own}
        held = [path for path, state in now.items() if state != self._own[path]]
        self._own = {path: now[path] for path in changed if path in now}
        return HELD_OUT.format(", ".join(held)) if held else ""

    async def _changed(self) -> list[str]:
        listed = await self._told("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        return [line[3:] for line in split_at_nul(listed)]

    async def _to_commit(self) -> bytes:
        return join_with_nul(path for path in await self._changed() if path not in self._own)

    async def _told(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git and return its output. Raises OSError with all that it said where it failed."""
        if not self._git.argv[0]:
            raise OSError("no git is on PATH outside of the project")
        done = await self._git.ask(*arguments, stdin=stdin)
        if done.exit_code == 0:
            return done.output
        raise OSError(one_printable_line(first_lines(done) or f"git ended with exit code {done.exit_code}"))


# --- Locks --------------------------------------------------------------------------------------------------
# One run of a session at a time, and one of those whose agents write in the project itself: they would undo
# each other's work. What works in worktrees shares the project.

SESSION_TAKEN: Final = (
    "session {session} is being run already ({holder}). End that run, or take another --session"
)
PROJECT_TAKEN: Final = (
    "agents are at work in this project already ({holder}). Wait until they are done, or let yours work in "
    "worktrees, with --jobs 2"
)


@contextmanager
def hold_run_lock(folder: Path, session: str, kind: str = "run", project: str = "") -> Iterator[None]:
    """Hold the lock of a session, and of the `project` that its agents write in, "" where they do not.

    `kind`: the command that runs it. Session ids are safe as file names. Raises BadInputError, which names
    the process that holds one of them, and OSError.
    """
    holder = f"`supervisor {kind}`, session {session}, process {os.getpid()}"
    with ExitStack() as held:
        held.enter_context(_hold(folder / f"{kind}-{session}.lock", holder, SESSION_TAKEN, session))
        if project:
            place = folder / f"project-{project_digest(project)}.lock"
            held.enter_context(_hold(place, holder, PROJECT_TAKEN, session))
        yield


@contextmanager
def _hold(path: Path, holder: str, taken: str, session: str) -> Iterator[None]:
    with hold_lock(path) as ours:
        if not ours:
            raise BadInputError(taken.format(session=session, holder=path.read_text()))
        path.write_text(holder)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


TEXT_LIMIT: Final = 1024 * 1024
"""Largest specification or template, in bytes."""
TEMPLATE_FILE: Final = "run.md"
BRACED: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A placeholder as other loops write it."""


def load_template(given: str | None, folders: Paths) -> str:
    """Return the template of this name, else the user's, else the usual one. Raises BadInputError, OSError.

    One with placeholders like {{name}} has no others: a dollar sign in it is a dollar sign.
    """
    own = folders.config / TEMPLATE_FILE
    if not given and not own.exists():
        return _usual_template()
    text = read_text(Path(given) if given else own)
    if BRACED.search(text):
        text = BRACED.sub(r"${\1}", text.replace("$", "$$"))
    if strange := unknown_placeholders(text):
        raise BadInputError(f"{given or own}: nothing fills in ${', $'.join(strange)}. See docs/run.md")
    return text


def write_template(folders: Paths) -> Path:
    """Write the usual template where the user's own is looked for. Raises BadInputError, OSError."""
    own = folders.config / TEMPLATE_FILE
    if own.exists():
        raise BadInputError(f"{own} is there already. Remove it to begin with the usual one again")
    own.parent.mkdir(parents=True, exist_ok=True)
    write_whole(own, f"{_usual_template()}\n".encode())
    return own


def read_text(path: Path) -> str:
    """Return the text of a file. Raises BadInputError and OSError."""
    try:
        return read_whole(path, TEXT_LIMIT, follow=True).decode("utf-8-sig")
    except (UnusableFileError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error


def _usual_template() -> str:
    return markdown_sections(read_text(plugin_root() / "rubric" / TEMPLATE_FILE)).get("prompt", "")
