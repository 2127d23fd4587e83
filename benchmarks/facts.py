"""Stops without a goal: which honest ones are sent back, and which plain lies are not. No model is asked.

    python benchmarks/facts.py [--only TEXT]

A scene (tests/judge/facts) is a project, what the user did before, a prompt, what the agent really does, and
its last message: honest, or with one plain lie about a fact that git, files or exit codes know. They were
written by somebody who had not seen the product. Each is played in a repository of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import Struct

BENCHMARKS: Final = Path(__file__).resolve().parent
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent / "tests")]

from endings import ground, judging  # noqa: E402 - after the path
from sidecar.kernel.effects import Continue, HostAnswer, Rest  # noqa: E402
from sidecar.kernel.events import AgentStopped, PromptSubmitted  # noqa: E402
from sidecar.kernel.session import SessionKey  # noqa: E402
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn  # noqa: E402
from sidecar.platform.shell.line import parse_simple_commands  # noqa: E402
from sidecar.systems.supervision.supervisor import Supervisor  # noqa: E402
from support.scenes import BEGIN, SCENES, Scene, Step, scenes, write_files  # noqa: E402
from support.transcripts import ScriptedTranscripts  # noqa: E402

KEY: Final = SessionKey(host="claude-code", id="s1")
LIMIT_S: Final = 60


class Played(Struct, frozen=True):
    """How the stop of a scene ended. `asked`: a model would have been asked."""

    name: str
    sent_back: bool
    asked: bool
    detail: str

    @property
    def lies(self) -> bool:
        return self.name.startswith("lie-")


def play(name: str, scene: Scene) -> Played:
    """Play a scene in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="scene-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(_played(name, scene, Path(folder).resolve()))


async def _played(name: str, scene: Scene, folder: Path) -> Played:
    project, home = folder / "project", folder / "home"
    project.mkdir()
    home.mkdir()
    write_files(scene.files, project)
    for line in (BEGIN, *scene.setup):
        done = _run(line, project, home)
        if done.returncode:
            raise RuntimeError(f"{name}: {line}: {done.stdout}")
    listening, transcripts = judging.Listening(), ScriptedTranscripts()
    services = replace(judging.house(folder), judge=listening, transcripts=transcripts)
    supervisor = Supervisor(services)
    where, environment = str(project), ground.environment(home)
    await supervisor.tell(
        PromptSubmitted(key=KEY, project=where, environment=environment, prompt_id="p1", human=True)
    )
    await supervisor._bases.of_turn(KEY)  # noqa: SLF001 - a real model takes longer than this to answer
    calls = tuple(_call(number, step, project, home) for number, step in enumerate(scene.steps))
    transcripts.script(
        Turn(
            prompts=(scene.prompt,),
            prompt_id="p1",
            calls=calls,
            last_message=scene.message,
            last_message_id="m1",
            calls_since_arrival=len(calls),
        )
    )
    stop = AgentStopped(
        key=KEY, project=where, environment=environment, transcript="", last_message=scene.message
    )
    answer = await supervisor.tell(stop)
    return Played(name, isinstance(answer, Continue), listening.case is not None, _told(answer))


def _told(answer: HostAnswer) -> str:
    if isinstance(answer, Continue):
        return "; ".join(answer.feedback.missing)
    return f"{answer.reason}: {answer.detail}" if isinstance(answer, Rest) else str(answer)


def _call(number: int, step: Step, project: Path, home: Path) -> ToolCall:
    if step.run:
        done = _run(step.run, project, home)
        return ToolCall(
            id=f"c{number}",
            tool="Bash",
            doing=ToolAction.RUN,
            outcome=CallOutcome.FAILED if done.returncode else CallOutcome.OK,
            command=step.run,
            runs=parse_simple_commands(step.run),
            exit_code=done.returncode,
            output=done.stdout[-2000:],
        )
    if step.write:
        write_files({step.write: step.content}, project)
    doing, path = (ToolAction.EDIT, step.write) if step.write else (ToolAction.READ, step.read)
    return ToolCall(
        id=f"c{number}", tool="Write", doing=doing, outcome=CallOutcome.OK, paths=(str(project / path),)
    )


def _run(line: str, project: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - the scene's own line
        ("/bin/bash", "-c", line),
        cwd=project,
        # else a pytest of the scene clears away what others left in the system's folder, for a minute
        env={**ground.environment(home), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def main() -> int:
    """Play all scenes; 1 where an honest stop was sent back or a model would have been asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="scenes whose name has this text")
    parser.add_argument("--folder", type=Path, default=SCENES, help="scenes from elsewhere")
    asked = parser.parse_args()
    found = [play(name, scene) for name, scene in scenes(asked.folder).items() if asked.only in name]
    for one in found:
        if one.sent_back is not one.lies or one.asked:
            print(f"- {one.name}: {'asked, ' if one.asked else ''}{one.detail}")
    lies = [one for one in found if one.lies]
    honest = [one for one in found if not one.lies]
    print(f"lies sent back: {sum(one.sent_back for one in lies)} of {len(lies)}")
    print(f"honest stops sent back: {sum(one.sent_back for one in honest)} of {len(honest)}")
    print(f"stops for which a model is asked: {sum(one.asked for one in found)} of {len(found)}")
    return int(any(one.sent_back or one.asked for one in honest))


if __name__ == "__main__":
    sys.exit(main())
