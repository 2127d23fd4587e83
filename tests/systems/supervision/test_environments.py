"""Checks run in the environment of the session's start; what differs later is told and waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from sidecar.evidence.gates.batch import ProjectGates
from sidecar.kernel.events import SessionOrigin
from sidecar.kernel.orders import Process
from sidecar.kernel.session import SessionKey
from sidecar.systems.supervision.environments import LATER
from support.cases import KEY, stopped
from support.fakes import Fakes, command, prompt, started
from support.memory_stores import NoProcesses
from support.table import over_table

START = {"PATH": "/usr/bin:/bin", "HOME": "/home/user", "CLAUDECODE": "1"}
EVIL = "/evil"
TOLD = "Supervisor: the environment was changed since the session began ("


@pytest.mark.process
@over_table(
    "name",
    [
        *("PYTHONPATH", "PYTEST_PLUGINS", "PYTEST_ADDOPTS", "BASH_ENV", "PERL5OPT", "NODE_OPTIONS"),
        *("NODE_PATH", "MAKEFLAGS", "CFLAGS", "LD_PRELOAD", "GIT_DIR", "PATH", "HOME", "ANY_OTHER"),
    ],
)  # fmt: skip
def test_what_is_set_later_turns_no_check_green_until_the_user_accepts_it(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asyncio.run(_accepted_later(name, str(tmp_path_factory.mktemp("project"))))


async def _accepted_later(name: str, project: str) -> None:
    fakes = Fakes(gates=ProjectGates())  # type: ignore[arg-type]
    check = f'case "${name}" in *{EVIL}*) ;; *) false ;; esac'
    about: dict[str, Any] = {"project": project, "environment": START}
    await fakes.tell(started(SessionOrigin.STARTUP, **about))
    await fakes.tell(command(f"it holds --check '{check}'", **about))
    about["environment"] = START | {name: EVIL, "CLAUDE_EFFORT": "high", "PWD": "/", "_": "x", "LINES": "9"}

    async def stop() -> tuple[str, str]:
        answer = await fakes.tell(stopped(**about))
        (gate,) = fakes.record.read(KEY)[-1].gates
        return gate.rpartition(": ")[2], getattr(answer, "note", "").partition(TOLD)[2].partition(")")[0]

    assert await stop() == ("failed", name)
    assert await stop() == ("failed", ""), "told once"
    reply = await fakes.reply(command("", name="accept", **about))
    assert reply.text == f"Supervisor: in force now: the environment: {name}"
    assert (await stop())[0] == "passed"


class Machine(NoProcesses):
    """The processes that run, and the environment in which each began."""

    def __init__(self, running: Mapping[int, Mapping[str, str]]) -> None:
        self.running = dict(running)

    def find(self, pid: int) -> Process | None:
        return Process(pid=pid, started=1.0) if pid in self.running else None

    def environment(self, pid: int) -> dict[str, str]:
        return dict(self.running.get(pid, {}))


OWN = {"PATH": "/bin", "TOKEN": "t"}
SETTINGS = OWN | {"CI": "1"}
CHANGED = SETTINGS | {"PYTHONPATH": EVIL}
OTHER = SessionKey("claude-code", "s2")
OPENCODE = SessionKey("opencode", "ses1")


class Room:
    """Hosts of Claude Code in the processes 7 and 8; in 9 something that only says that it is one."""

    def __init__(self) -> None:
        self.machine = Machine({7: OWN, 8: OWN, 9: CHANGED})
        self.fakes = Fakes(processes=self.machine)

    def restart(self) -> None:
        """Begin a sidecar that knows nothing but what is saved."""
        self.fakes = Fakes(processes=self.machine, store=self.fakes.store)

    async def hear(self, heard: Mapping[str, str], pid: int = 7, key: SessionKey = KEY) -> tuple[str, str]:
        """Tell of a prompt; name the variables that count besides PATH and TOKEN, and those that are told."""
        await self.fakes.tell(
            prompt(environment=heard, host_pid=pid * (key is not OPENCODE), speaker=pid, key=key)
        )
        counts = self.fakes.supervisor.checks.environment(self.fakes.state(key)) or {}
        told = "".join(self.fakes.supervisor.steering.take_lines(key)).partition(TOLD)[2].partition(")")[0]
        return " ".join(sorted(name for name in counts.keys() - OWN if not name.startswith(LATER))), told


async def test_what_the_settings_say_at_the_start_counts_also_for_a_later_sidecar() -> None:
    room = Room()
    assert await room.hear(SETTINGS) == ("CI", "")
    room.restart()
    assert await room.hear(SETTINGS) == ("CI", "")


async def test_a_sidecar_that_was_killed_after_a_change_takes_what_the_host_began_with() -> None:
    room = Room()
    await room.hear(SETTINGS)
    room.restart()
    assert await room.hear(CHANGED) == ("", "CI, PYTHONPATH")


async def test_a_new_host_of_a_session_is_a_new_start_once_the_one_before_is_gone() -> None:
    room = Room()
    await room.hear(SETTINGS)
    assert await room.hear(CHANGED, pid=9) == ("CI", "PYTHONPATH"), "the first one still runs"
    room.restart()
    assert await room.hear(CHANGED, pid=9) == ("", "CI, PYTHONPATH"), "so for a later sidecar"
    del room.machine.running[7]
    assert (await room.hear(CHANGED, pid=8))[0] == "CI PYTHONPATH"


async def test_a_new_session_in_the_same_process_is_no_new_start() -> None:
    room = Room()
    await room.hear(SETTINGS)
    assert await room.hear(CHANGED, key=OTHER) == ("CI", "PYTHONPATH")
    assert (await room.hear(CHANGED | {"CI": ""}, 8, SessionKey("claude-code", "s3")))[0] == "CI PYTHONPATH"


async def test_what_a_plugin_adds_to_opencode_never_counts_by_itself() -> None:
    room = Room()
    assert await room.hear(OWN | {"OPENCODE": "1", "PYTHONPATH": EVIL}, key=OPENCODE) == (
        "OPENCODE",
        "PYTHONPATH",
    )


async def test_a_secret_that_came_later_is_masked_though_no_check_gets_it() -> None:
    room = Room()
    await room.hear(OWN)
    await room.hear(OWN | {"API_KEY": "hunter2-hunter2"})
    assert (
        room.fakes.supervisor.checks.mask(room.fakes.state())("it is hunter2-hunter2")
        != "it is hunter2-hunter2"
    )
