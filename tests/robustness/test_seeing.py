"""What people see at strange terminals, through pipes that close, and as another user of the machine."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import httpx2
import pytest
import pytest_asyncio

from real_hosts.opencode_supervised import Held
from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.at_terminal import AtTerminal
from support.scene import SUPERVISOR, Stage
from support.table import over_table

pytestmark = [pytest.mark.process, pytest.mark.proves("seeing and asking back")]

LIMIT_S: Final = 60.0
TO_ANOTHER_USER: Final = """
import socket, sys, urllib.request, urllib.error
page, log, door = sys.argv[1:]
try:
    urllib.request.urlopen(page, timeout=60)
except urllib.error.HTTPError as error:
    print(error.code)
for look in (lambda: open(log), lambda: socket.socket(socket.AF_UNIX).connect(door)):
    try:
        look()
    except PermissionError:
        print("refused")
"""


async def test_what_a_check_prints_is_reported_while_it_runs(stage: Stage, tmp_path: Path) -> None:
    held = Held.made(tmp_path)
    (stage.scene.project / "slow.sh").write_text(f"echo it goes on; {held.check}\n", encoding="utf-8")
    agent = stage.agent()
    await agent.start()
    await agent.prompt('/supervisor:goal it works --check "sh slow.sh"')
    agent.say("Done.")
    stopping = asyncio.create_task(agent.stop())
    await asyncio.to_thread(held.wait)
    try:
        assert stage.report().output == "it goes on\n"
    finally:
        held.release()
        await stopping
    assert stage.report().output == ""


@pytest_asyncio.fixture
async def seen(stage: Stage) -> AsyncIterator[Stage]:
    """A session that was let rest: as long as an agent works, the shell below it is no user's."""
    agent = await stage.agent_with_goal()
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("All tests pass.")
    await agent.stop()
    yield stage


async def test_the_watch_is_drawn_at_any_terminal_and_without_colours_where_none_are_wanted(
    seen: Stage,
) -> None:
    for term, more, coloured in (
        ("xterm-256color", {}, True),
        ("no-such-terminal", {}, True),
        ("xterm-256color", {"NO_COLOR": "1"}, False),
    ):
        command = [str(SUPERVISOR), "watch"]
        with AtTerminal(command, seen.scene.project, {**seen.scene.environment, **more}, term) as terminal:
            terminal.wait_for("goal achieved: all tests pass")
            terminal.wait_for("q quit")  # the last line of the same frame
            terminal.press("q")
            assert terminal.code() == 0, term
            assert (re.search(rb"\x1b\[[0-9;]*3[1-7]m", terminal.written) is not None) is coloured, (
                term,
                more,
            )


async def test_a_terminal_that_draws_nothing_gets_lines(seen: Stage) -> None:
    command = [str(SUPERVISOR), "watch"]
    with AtTerminal(command, seen.scene.project, seen.scene.environment, "dumb") as terminal:
        terminal.wait_for("stop achieved")
        assert terminal.code() == 0
        assert (b"\x1b" in terminal.written, b"Traceback" in terminal.written) == (False, False)


async def test_a_pipe_that_is_closed_early_ends_every_view_without_a_word(seen: Stage) -> None:
    def ends(verb: str) -> None:
        with subprocess.Popen(
            [str(SUPERVISOR), verb],
            cwd=seen.scene.project,
            env=seen.scene.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.close()
            _, said = process.communicate(timeout=LIMIT_S)
            assert (process.returncode, said) == (1, b"")

    over_table("verb", ["explain", "history", "stats", "status", "events", "watch", "dashboard"])(ends)()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
async def test_another_user_sees_neither_page_nor_log(seen: Stage) -> None:
    address = seen.supervisor("dashboard").stdout.strip()
    async with httpx2.AsyncClient(timeout=LIMIT_S) as browser:
        room = (await browser.get(address)).text.partition("url=/")[2].partition("/")[0]
    state = seen.sessions.parent
    program = shutil.which("python3", path="/usr/bin:/bin") or pytest.skip("no Python that all may run")
    for folder in (state, *state.parents):
        if folder.stat().st_uid == 0 and folder != state:
            folder.chmod(folder.stat().st_mode | 0o005)  # so that it is the state folder that refuses
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs
        [program, "-c", TO_ANOTHER_USER, f"{address.partition('?')[0]}{room}/", str(state / "events.sqlite3"),
         f"{state.name}/run/sidecar.sock"],  # in full it may be longer than a socket's name may be
        cwd=state.parent, env={}, user="nobody", capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["403", "refused", "refused"], done.stderr
