"""Files and commands of a run: the user's hooks around sessions and iterations, and a session's lock."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.runs import HookRan
from sidecar.kernel.text import strip_control_codes, truncate_middle
from sidecar.platform import processes
from sidecar.platform.files import OWNER_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.session import Environment
    from sidecar.kernel.settings import RunHooks


HOOK_OUTPUT_KEPT: Final = 16_384
"""Maximum bytes of one hook's output."""
PRINTED_LIMIT: Final = 6_000
"""Maximum characters that the hooks of one name print together."""
VARIABLE_LIMIT: Final = 4_000
"""Maximum characters of one environment variable."""


class UserHooks:
    """Implements systems.iteration.loop.RunHookRunner."""

    def __init__(self, hooks: RunHooks, environment: Environment, mask: SecretMask, seconds: float) -> None:
        """`seconds`: deadline of one command."""
        self._hooks = hooks
        self._environment = environment
        self._mask = mask
        self._seconds = seconds

    async def run(self, name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        commands: tuple[str, ...] = getattr(self._hooks, name)
        printed = [await self._one(name, command, facts, tell) for command in commands]
        return truncate_middle("\n".join(filter(None, printed)), PRINTED_LIMIT)

    async def _one(
        self, name: str, command: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]
    ) -> str:
        told = {f"SUPERVISOR_RUN_{fact.upper()}": _variable_value(value) for fact, value in facts.items()}
        ended = await processes.run_process(
            command,
            cwd=facts["project"],
            environment={**self._environment, **told},
            seconds=self._seconds,
            keep=HOOK_OUTPUT_KEPT,
        )
        tell(HookRan(name=name, command=self._mask(command), exit_code=ended.exit_code, trouble=ended.reason))
        return self._mask(strip_control_codes(ended.output.decode("utf-8", "replace")).strip())


def _variable_value(text: str) -> str:
    """Make a text that an environment variable can hold."""
    return truncate_middle(strip_control_codes(text), VARIABLE_LIMIT).encode("utf-8", "replace").decode()


# --- Lock: one run of a session at a time -------------------------------------------------------------------


@contextmanager
def hold_run_lock(folder: Path, session: str, kind: str = "run") -> Iterator[None]:
    """Hold the lock of a session; raises BadInputError where another process does, OSError.

    The kernel releases the lock when the process ends, however that happens. Session ids are safe as file
    names. `kind`: the command that runs it.
    """
    path = folder / f"{kind}-{session}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_FILE)
    try:
        if not _try_lock(descriptor, path):
            raise BadInputError(
                f"session {session} is being run already. End that run, or take another --session"
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, path: Path) -> bool:
    """Whether the lock is ours, and on the file that the next process will open."""
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
