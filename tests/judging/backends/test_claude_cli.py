"""The host's own model as a judge: how it is called, and what its answers and silences become.

The host is a script here; tests/real_hosts/test_judge.py asks the real one.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.judging.backends.answer import answer_schema
from sidecar.judging.backends.claude_cli import ClaudeCliJudge
from sidecar.judging.backends.prompt import build_judge_prompt
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Complete, Met
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.platform import processes
from sidecar.platform.processes import ProcessEnding, ProcessResult
from support.fake_claude import CASE, COMPLETE, FakeClaude, result, structured
from support.table import often

pytestmark = pytest.mark.process

TEXTS: Final = Path(__file__).parents[3] / "rubric"
LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
UNFIT: Final = structured(COMPLETE | {"criteria": []})
FIT: Final = structured(COMPLETE)


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    return FakeClaude(tmp_path / "claude")


async def ask(claude: FakeClaude, seconds: int = 60, /, **session: str) -> JudgeAnswered | JudgeFailed:
    settings = Settings(judge=JudgeSettings(model="sonnet", seconds=seconds))
    return await ClaudeCliJudge(TEXTS).ask(CASE, claude.session | session, settings)


async def failure(claude: FakeClaude, **session: str) -> str:
    said = await ask(claude, **session)
    assert isinstance(said, JudgeFailed)
    assert "\n" not in said.reason
    assert len(said.reason) < 300
    return said.reason


class TestAsking:
    async def test_the_case_goes_in_by_standard_input_and_the_instructions_as_system_prompt(
        self, claude: FakeClaude
    ) -> None:
        claude.says(FIT)
        await ask(claude)
        system, case = build_judge_prompt(CASE, TEXTS)
        assert claude.was("stdin") == case
        arguments = claude.arguments()
        options = dict(zip(arguments[3::2], arguments[4::2], strict=True))
        assert arguments[:3] == ["-p", "--safe-mode", "--no-session-persistence"]
        assert json.loads(options.pop("--json-schema")) == answer_schema()
        assert options == {
            "--output-format": "json",
            "--tools": "",
            "--model": "sonnet",
            "--system-prompt": system,
        }

    async def test_it_works_in_an_empty_folder_with_the_sessions_environment_and_our_mark(
        self, claude: FakeClaude
    ) -> None:
        claude.says(FIT)
        await ask(claude, ANTHROPIC_API_KEY="key", PWD="/elsewhere")
        environment = claude.was("environment").splitlines()
        folder = claude.was("folder")
        mine = {"SUPERVISOR_WORKER=1", "CLAUDE_CODE_MAX_RETRIES=2", "ANTHROPIC_API_KEY=key"}
        assert mine <= set(environment)
        assert "PWD=/elsewhere" not in environment
        assert claude.was("listing") == ""
        assert not await asyncio.to_thread(os.path.exists, folder)

    async def test_the_host_of_the_session_comes_first(self, claude: FakeClaude, tmp_path: Path) -> None:
        running = FakeClaude(tmp_path / "running")
        running.says(FIT)
        assert isinstance(await ask(claude, CLAUDE_CODE_EXECPATH=str(running.program)), JudgeAnswered)
        assert (running.calls, claude.calls) == (1, 0)

    async def test_a_project_that_names_a_host_of_its_own_is_not_believed(self, claude: FakeClaude) -> None:
        program = claude.program
        session = {"CLAUDE_CODE_EXECPATH": str(program), "CLAUDE_PROJECT_DIR": str(program.parent)}
        assert "not on the session's PATH" in await failure(claude, HOME="/home/somebody", **session)
        assert claude.calls == 0

    @pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "PWD"])
    async def test_a_host_inside_the_project_is_not_asked(self, variable: str, claude: FakeClaude) -> None:
        project = {variable: str(claude.program.parent), "HOME": "/home/somebody"}
        assert await failure(claude, **project) == "`claude` is not on the session's PATH"
        assert claude.calls == 0


class TestAnswers:
    async def test_a_verdict_comes_with_its_price(self, claude: FakeClaude) -> None:
        claude.says(FIT)
        said = await ask(claude)
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.verdict == Complete((Met("the tests pass", ("E1",)),), 0.9)
        assert (said.judgement.backend, said.judgement.model) == ("claude-cli", "sonnet")
        assert (said.judgement.tokens, said.judgement.calls) == (321, 1)
        assert said.judgement.cents == pytest.approx(1.25)
        assert claude.calls == 1

    @pytest.mark.parametrize(
        "text",
        [
            json.dumps({"answer": COMPLETE}),
            f"Here it is:\n```json\n{json.dumps({'answer': COMPLETE}, indent=1)}\n```\nThat is all.",
        ],
    )
    async def test_an_answer_in_words_is_found_there(self, text: str, claude: FakeClaude) -> None:
        claude.says(result(result=text))
        assert isinstance(await ask(claude), JudgeAnswered)
        assert claude.calls == 1

    @pytest.mark.parametrize(
        ("first", "fault"),
        often(
            [
                (UNFIT, "Expected `array` of length >= 1 - at `$.answer.criteria`"),
                (structured(COMPLETE | {"verdict": "done"}), "Invalid value 'done' - at `$.answer.verdict`"),
                (
                    structured(COMPLETE | {"confidence": 2}),
                    "Expected `float` <= 1.0 - at `$.answer.confidence`",
                ),
                (structured(COMPLETE | {"more": 1}), "Object contains unknown field `more` - at `$.answer`"),
                (result(structured_output=COMPLETE), "Object contains unknown field"),
                (result(result="{" * 90_000 + "}"), "JSON is malformed"),
            ],
            2,
        ),
    )
    async def test_an_unfit_answer_is_sent_back_once_with_what_is_wrong(
        self, first: str, fault: str, claude: FakeClaude
    ) -> None:
        claude.says(first)
        claude.says(FIT)
        said = await ask(claude)
        assert isinstance(said, JudgeAnswered)
        assert (claude.calls, said.judgement.tokens) == (2, 642)
        assert said.judgement.cents == pytest.approx(2.5)
        again = claude.was("stdin", 1)
        assert "All done." not in again, "the case is left out"
        assert fault in again
        assert claude.arguments(0) == claude.arguments(1)


class TestFailures:
    @pytest.mark.parametrize(
        ("fields", "reason"),
        often(
            [
                ({"api_error_status": 529}, "the model service is overloaded (529)"),
                ({"api_error_status": 429}, "the limit of the model service is reached (429)"),
                ({"api_error_status": 401}, "the model service refused the credentials (401): run `claude`"),
                (
                    {"api_error_status": 404},
                    "the model service does not know the model (404): see judge.model",
                ),
                (
                    {"result": "Not logged in \u00b7 Please run /login"},
                    "the model did not answer: Not logged in \u00b7 Please run /login",
                ),
                (
                    {"subtype": "error_max_structured_output_retries"},
                    "the model gave no answer in the asked form",
                ),
                ({"result": "API Error:\n" + "x" * 999}, "the model did not answer: API Error: xxx"),
                ({"subtype": "error_of_tomorrow"}, "the model did not answer: error_of_tomorrow"),
            ],
            3,
        ),
    )
    async def test_an_error_of_the_model_is_told_so_that_a_person_understands(
        self, fields: dict[str, Any], reason: str, claude: FakeClaude
    ) -> None:
        claude.says(result(is_error=True, **fields), code=1)
        assert (await failure(claude)).startswith(reason)
        assert claude.calls == 1

    @pytest.mark.parametrize(
        ("output", "errors", "said"),
        [
            ("", "error: unknown option\n '--safe-mode'\n", "error: unknown option '--safe-mode'"),
            ("Segmentation fault", "", "Segmentation fault"),
            ('{"type": "result", "is_error": "yes"}', "", '{"type": "result", "is_error": "yes"}'),
            ("[]", "", "[]"),
        ],
    )
    async def test_what_is_no_result_is_told_with_the_exit_code(
        self, output: str, errors: str, said: str, claude: FakeClaude
    ) -> None:
        claude.says(output, code=3, errors=errors)
        assert await failure(claude) == f"claude ended with exit code 3 and no result: {said}"

    @pytest.mark.parametrize(
        "output",
        often(
            [
                b"\xff\xfe",
                b'{"type": "result", "result": "\xff"}',
                b'{"type": "result", "more": ' + b"[" * 200_000,
                b'{"type": "result", "structured_output": ' + b"[" * 200_000,
                b'{"type": "result", "result": "' + b"x" * 3_000_000 + b'"}',
            ],
            2,
        ),
        ids=["no text", "no text inside", "deep", "deep answer", "too long"],
    )
    async def test_what_cannot_be_read_is_told(self, output: bytes, claude: FakeClaude) -> None:
        claude.says(output)
        assert (await failure(claude)).startswith("claude ended with exit code 0 and no result: ")
        assert claude.calls == 1

    async def test_what_an_error_cost_is_counted(self, claude: FakeClaude) -> None:
        claude.says(UNFIT)
        claude.says(result(is_error=True, api_error_status=529), code=1)
        assert await ask(claude) == JudgeFailed(
            "the model service is overloaded (529)", 642, 2.5, "claude-cli", 2
        )

    async def test_a_host_that_cannot_be_started_is_told(self, claude: FakeClaude) -> None:
        claude.program.write_bytes(b"\x7fELF no program")
        assert (await failure(claude)).startswith("claude could not be started: ")

    async def test_a_host_that_is_too_slow_is_told(self, claude: FakeClaude, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "wire")
        claude.holds(tmp_path / "wire")
        assert await ask(claude, 0) == JudgeFailed(
            "the judge did not answer within 0 s", backend="claude-cli", cents=None, calls=1
        )

    async def test_all_tries_share_one_deadline(
        self, claude: FakeClaude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        allowed: list[float] = []
        loop = asyncio.get_running_loop()
        started = loop.time()
        monkeypatch.setattr(loop, "time", lambda: started + 20 * len(allowed))

        async def slow(*_: object, seconds: float, **__: object) -> ProcessResult:
            allowed.append(seconds)
            return ProcessResult(ending=ProcessEnding.EXITED, exit_code=0, output=UNFIT.encode())

        monkeypatch.setattr(processes, "run_process", slow)
        await ask(claude, 60)
        assert allowed == [60, 40]

    async def test_a_cancelled_question_ends_the_host(self, claude: FakeClaude, tmp_path: Path) -> None:
        wire = tmp_path / "wire"
        os.mkfifo(wire)
        claude.holds(wire)
        read_end = os.open(wire, os.O_RDONLY | os.O_NONBLOCK)
        asking = asyncio.create_task(ask(claude))
        assert await told(read_end) == b"here\n"
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await told(read_end) == b""
        os.close(read_end)


async def told(read_end: int) -> bytes:
    """Wait for a line in a named pipe, or for its end when nobody holds it open any more."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(read_end, readable.set)
    try:
        async with asyncio.timeout(LIMIT_S):
            await readable.wait()
    finally:
        loop.remove_reader(read_end)
    return os.read(read_end, 100)
