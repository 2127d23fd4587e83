"""A secret reaches nothing that leaves the process or stays on disk: one scene per way out (law 10).

Which secrets are known is shown in tests/platform/test_secrets.py.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec
import pytest

from sidecar.kernel.effects import HostAnswer
from sidecar.kernel.evidence import FileChange, ProjectChanges
from support.cases import KEY, PROJECT, edited, incomplete, ran, stopped, turn
from support.fakes import LIMIT, Fakes, command

TOKEN: Final = "sk-or-v1-" + "0123456789abcdef" * 4
PASSWORD: Final = "hunter2hunter2"
SECRETS: Final = (TOKEN, PASSWORD)
SAID: Final = f"the key is {TOKEN}, password: {PASSWORD}"


class Scene:
    """An agent that had secrets in all that it was given, did and said; its stop was judged twice."""

    def __init__(self) -> None:
        self.fakes = Fakes()
        self.answers: list[HostAnswer] = []

    async def play(self) -> None:
        fakes, name = self.fakes, f"dump_{TOKEN}.py"
        await fakes.reply(command(f"the login works with {SAID}"))
        knows = f"import sys\n\nTESTED = 'pytest' in sys.modules or '{TOKEN}'\n"
        for number, after in enumerate((knows, SAID)):  # a finding is sent back, then a model's verdict
            fakes.workspace.changes = ProjectChanges(files=(FileChange(path=name, before="", after=after),))
            fakes.transcripts.script(
                turn(
                    edited(name),
                    ran(f"curl -u bob:{PASSWORD} -H 'x: {TOKEN}' a.b", output=SAID),
                    message=f"Done, with {SAID}",
                    prompts=(f"log in with {SAID}",),
                    last_message_id=f"m{number}",
                )
            )
            fakes.judge.script(incomplete(f"it prints {SAID}"))
            fakes.clock.advance(1.0)
            self.answers.append(await fakes.tell(stopped(last_message=SAID)))
        async with asyncio.timeout(LIMIT):
            await fakes.supervisor._stops._keeper.idle()  # noqa: SLF001 - nobody else waits for it

    def ways_out(self) -> dict[str, object]:
        fakes = self.fakes
        return {
            "the judge's case": fakes.judge.cases,
            "the feedback to the agent": self.answers,
            "the record": fakes.record.read(KEY),
            "the kept stops": msgspec.json.encode(fakes.stop_history.last(PROJECT, 20).stops).decode(),
        }


@pytest.fixture
async def scene() -> Scene:
    scene = Scene()
    await scene.play()
    return scene


@pytest.mark.parametrize(
    "way", ["the judge's case", "the feedback to the agent", "the record", "the kept stops"]
)
async def test_no_secret_leaves_by(way: str, scene: Scene) -> None:
    text = repr(scene.ways_out()[way])
    assert "[masked]" in text
    assert not [secret for secret in SECRETS if secret in text]


async def test_no_secret_reaches_the_log_file(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scene = Scene()
    scene.fakes.log.full = True  # which is logged
    await scene.play()
    assert "could not be written" in caplog.text
    assert not [secret for secret in SECRETS if secret in caplog.text]
