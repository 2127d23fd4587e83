"""Files and commands of a run: the user's hooks around sessions and iterations, and a session's lock."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.runs import HookRan
from sidecar.kernel.text import strip_control_codes, truncate_middle
from sidecar.platform import processes
from sidecar.platform.files import hold_lock

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
