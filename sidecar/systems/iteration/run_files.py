"""Files and commands of a run: the user's hooks, a session's lock, and the template of the prompts."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.runs import HookRan
from sidecar.kernel.settings import TimedHook
from sidecar.kernel.text import one_printable_line, strip_control_codes, truncate_middle
from sidecar.platform import processes
from sidecar.platform.files import UnusableFileError, hold_lock, read_whole, write_whole
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import Paths
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.iteration.policy.prompt import unknown_placeholders

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


async def commit_iteration(project: str, environment: Environment, message: str) -> str:
    """Commit all that changed and is not ignored; return why that failed, "" where it did not.

    Nothing is ever pushed, and git never asks for anything.
    """
    if not (program := processes.find_program("git", environment, project)):
        return "no git is on PATH outside of the project"

    async def git(*arguments: str) -> processes.ProcessResult:
        unasked = {**environment, "GIT_TERMINAL_PROMPT": "0"}
        return await processes.run_process(
            (program, *arguments), cwd=project, environment=unasked, seconds=COMMIT_SECONDS
        )

    done = await git("add", "--all")
    if done.exit_code == 0:
        done = await git("diff", "--cached", "--quiet")
        if done.exit_code == 1:  # something changed
            done = await git("commit", "--quiet", "--message", message)
    if done.exit_code == 0:
        return ""
    said = done.output.decode("utf-8", "replace").strip()
    return one_printable_line(done.reason or said or f"git ended with exit code {done.exit_code}")


# --- Lock: one run of a session at a time -------------------------------------------------------------------


@contextmanager
def hold_run_lock(folder: Path, session: str, kind: str = "run") -> Iterator[None]:
    """Hold the lock of a session; raises BadInputError where another process does, OSError.

    Session ids are safe as file names. `kind`: the command that runs it.
    """
    path = folder / f"{kind}-{session}.lock"
    with hold_lock(path) as ours:
        if not ours:
            raise BadInputError(
                f"session {session} is being run already. End that run, or take another --session"
            )
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
