"""The case of a real transcript, from the file to the words: bounded, however long the session was."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hosts.claude_code.writing import MIB, Transcript, read, stop
from sidecar.evidence.diffs import build_file_diffs
from sidecar.evidence.ledger import gather_evidence
from sidecar.judging.backends.prompt import CASE_LIMIT, build_judge_prompt
from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.judging.case import build_case
from sidecar.kernel.effects import Inquiry
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.rubric.reader import RubricFiles
from support.cases import SETTINGS, session

TEXTS: Final = Path(__file__).parents[3] / "rubric"
SIZE: Final = 100 * MIB


def grown(path: Path) -> Transcript:
    """A transcript of 100 MiB: a hole of the file system, then one turn of 300 calls and 11 MiB."""
    transcript = Transcript(path)
    transcript.prompt("An older request.")
    transcript.says("Done with the older one.")
    with path.open("r+b") as file:
        file.seek(SIZE - 10 * MIB)
        file.write(b"\n")
    transcript.prompt(
        f"Make the cart add up. {'It matters, since the sums are wrong. ' * 300} Mind the empty cart."
    )
    for number in range(300):
        failed = number % 3 == 0
        output = f"Exit code 1\n{number} failed " if failed else f"{number} passed "
        transcript.runs(
            f"pytest tests/test_{number}.py", output + "x y z " * 3_000, f"call-{number}", error=failed
        )
    transcript.says("I rewrote the sums in cart.py. All tests pass. " * 5_000)
    return transcript


async def test_a_transcript_of_100_mb_makes_a_case_within_the_bound(tmp_path: Path) -> None:
    path = grown(tmp_path / "t.jsonl").path
    assert path.stat().st_size > SIZE - MIB
    turn = await read(path)
    rubric = RubricFiles(TEXTS / "rubric.md").load(str(tmp_path), {})
    files = tuple(
        FileChange(path=f"src/{n}.py", before="x = 1\n" * 900, after="y = 2\n" * 999) for n in range(300)
    )
    project_state = ProjectState(
        tree="t", rubric=rubric, changed=(), edits=build_file_diffs(ProjectChanges(files=files))
    )
    known = gather_evidence(turn, (), project_state)
    inquiry = Inquiry(
        session=session(),
        stop=stop(path),
        settings=SETTINGS,
        turn=turn,
        project_state=project_state,
        evidence=known.evidence,
    )
    prompt = build_judge_prompt(build_case(inquiry, "The cart adds up in every case. " * 120), TEXTS)
    assert estimate_tokens("\n\n".join(prompt)) <= CASE_LIMIT
    for shown in ("Make the cart add up.", "Mind the empty cart.", "I rewrote the sums in cart.py."):
        assert shown in prompt.case
    assert all(f"{fact.id} [" in prompt.case for fact in known.evidence if fact.bad)
    assert any(fact.bad for fact in known.evidence)
    assert prompt.case.count("The cart adds up in every case.") == 120
