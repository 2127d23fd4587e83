"""Which backend is asked, why, and that no other one is asked in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from sidecar.judging.backends.chain import ChosenJudge, build_judge
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Abstain
from sidecar.kernel.runs import RUN_AGENT_VARIABLE
from sidecar.kernel.settings import JudgeSettings, ModelTiers, ServiceSettings, Settings
from support.fake_claude import CASE, FakeClaude, result
from support.fake_opencode import FakeOpenCode, wording
from support.judge_worlds import KEY, TEXTS, ServiceWorld, settings
from support.model_script import HttpErrorReply
from support.scripted_ports import ScriptedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.model_server import ScriptedModel

VERDICT: Final = Abstain("too little", 0.5)
NOWHERE: Final = {"PATH": "/no-such-folder"}
NO_OPENCODE: Final = "the session is not OpenCode's"
NO_CLAUDE: Final = f"{NO_OPENCODE}; `claude` is not on the session's PATH"


def chosen(judge: JudgeSettings, environment: Mapping[str, str], **more: Any) -> ChosenBackend:
    said = build_judge(TEXTS, {}).chosen(environment, Settings(judge=judge, **more))
    assert KEY not in said.why
    return said


async def within_opencode(judge: JudgeSettings, environment: Mapping[str, str]) -> ChosenBackend:
    async def choose() -> ChosenBackend:
        return chosen(judge, environment)

    return await FakeOpenCode().told(choose())


class Taken:
    """Implements `CallSlots` without a free slot."""

    def limits(self, program: str) -> bool:
        return program == "claude"

    def take(self, program: str, token: str) -> bool:
        assert token
        return program == ""

    def free(self, program: str, token: str) -> None:
        """Nothing is held."""


class ClaudeAlone(ScriptedJudge):
    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend("claude-cli", "it is there")


async def test_a_judges_calls_count_with_its_programs_and_are_waited_for_no_longer_than_one_may_take() -> (
    None
):
    judge = ChosenJudge(lambda: {"claude-cli": ClaudeAlone()}, Taken())
    found = await judge.ask(CASE, {}, Settings(judge=JudgeSettings(backend="claude-cli", seconds=0)))
    assert isinstance(found, JudgeFailed)
    assert found.reason == "all calls of claude that the team makes at once are taken"


class TestAuto:
    async def test_the_model_of_the_sessions_own_host_comes_first(self, tmp_path: Path) -> None:
        claude = FakeClaude(tmp_path / "claude")
        keys = {"SUPERVISOR_ANTHROPIC_KEY": KEY, "SUPERVISOR_OPENAI_KEY": KEY}
        said = await within_opencode(JudgeSettings(model="a-model"), claude.session | keys)
        assert said == ChosenBackend("opencode", "the session's own model")

    def test_that_of_a_run_is_the_one_of_its_agents(self, tmp_path: Path) -> None:
        claude, folder = FakeClaude(tmp_path / "claude"), tmp_path / "bin"
        folder.mkdir()
        (folder / "opencode").touch(0o755)
        path = f"{folder}:{claude.session['PATH']}"
        run = chosen(JudgeSettings(), claude.session | {"PATH": path, RUN_AGENT_VARIABLE: "opencode"})
        assert run == ChosenBackend("opencode", f"OpenCode's model, through `{folder}/opencode run`")
        other = chosen(JudgeSettings(), claude.session | {"PATH": path, RUN_AGENT_VARIABLE: "claude"})
        assert other.backend == "claude-cli"

    def test_then_claude_code(self, tmp_path: Path) -> None:
        claude = FakeClaude(tmp_path / "claude")
        keys = {"SUPERVISOR_ANTHROPIC_KEY": KEY, "SUPERVISOR_OPENAI_KEY": KEY}
        said = chosen(JudgeSettings(model="a-model"), claude.session | keys)
        assert said == ChosenBackend("claude-cli", f"`claude` is at {claude.program}; {NO_OPENCODE}")

    def test_then_the_anthropic_api_where_a_key_is_there(self) -> None:
        keys = {"SUPERVISOR_ANTHROPIC_KEY": KEY, "SUPERVISOR_OPENAI_KEY": KEY}
        said = chosen(JudgeSettings(model="a-model"), NOWHERE | keys)
        assert said.backend == "anthropic"
        assert said.why == (
            f"a-model at api.anthropic.com; the key is in SUPERVISOR_ANTHROPIC_KEY; {NO_CLAUDE}"
        )

    def test_then_another_service_where_a_key_is_there(self) -> None:
        service = ServiceSettings(endpoint="https://model.example/v1", model="b-model", key_env="MINE")
        said = chosen(JudgeSettings(model="a-model", openai=service), NOWHERE | {"MINE": KEY})
        assert said.backend == "openai"
        assert said.why == (
            f"b-model at model.example; the key is in MINE; {NO_CLAUDE}; no key in SUPERVISOR_ANTHROPIC_KEY"
        )

    def test_a_local_service_needs_no_key(self) -> None:
        service = ServiceSettings(endpoint="http://localhost:11434/v1", model="b-model")
        said = chosen(JudgeSettings(openai=service), NOWHERE)
        assert said.backend == "openai"
        assert said.why.startswith("b-model at localhost:11434; no key, on this machine; ")

    def test_else_nobody_and_every_reason_is_told(self) -> None:
        said = chosen(JudgeSettings(model="a-model"), NOWHERE)
        assert said == ChosenBackend(
            "", f"{NO_CLAUDE}; no key in SUPERVISOR_ANTHROPIC_KEY; no key in SUPERVISOR_OPENAI_KEY"
        )

    def test_another_programs_key_is_not_used(self) -> None:
        others = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": KEY}
        assert chosen(JudgeSettings(model="a-model"), NOWHERE | others).backend == ""

    async def test_nobody_is_told_with_every_reason(self) -> None:
        said = await build_judge(TEXTS, {}).ask(CASE, NOWHERE, Settings(judge=JudgeSettings(model="a-model")))
        assert isinstance(said, JudgeFailed)
        reasons = f"{NO_CLAUDE}; no key in SUPERVISOR_ANTHROPIC_KEY; no key in SUPERVISOR_OPENAI_KEY"
        assert said.reason == f"no judge model is configured ({reasons})"
        assert said.backend == ""


class TestTiers:
    @pytest.mark.parametrize("named", ["judge", "service"])
    def test_a_tier_stands_for_the_model_that_the_settings_name(self, named: str) -> None:
        tier = (
            JudgeSettings(model="large")
            if named == "judge"
            else JudgeSettings(anthropic=ServiceSettings(model="large", key_env="K"))
        )
        said = chosen(
            tier, NOWHERE | {"K": KEY, "SUPERVISOR_ANTHROPIC_KEY": KEY}, tiers=ModelTiers(large="big-7")
        )
        assert said.why.startswith("big-7 at ")

    @pytest.mark.process
    async def test_the_host_is_given_the_model_of_the_tier(self, tmp_path: Path) -> None:
        claude = FakeClaude(tmp_path / "claude")
        claude.says(result(is_error=True))
        named = Settings(judge=JudgeSettings(model="large"), tiers=ModelTiers(large="big-7"))
        await build_judge(TEXTS, {}).ask(CASE, claude.session, named)
        arguments = claude.arguments()
        assert arguments[arguments.index("--model") + 1] == "big-7"

    @pytest.mark.parametrize("name", ["__class__", "__doc__", "copy"])
    def test_no_other_name_is_a_tier(self, name: str) -> None:
        assert chosen(JudgeSettings(model=name), {"SUPERVISOR_ANTHROPIC_KEY": KEY}).why.startswith(
            f"{name} at "
        )


class TestNamed:
    def test_rules_alone_are_nobody(self) -> None:
        assert chosen(JudgeSettings(backend="rules"), {}) == ChosenBackend("", "judge.backend = rules")

    async def test_rules_alone_ask_no_model(self) -> None:
        scripted = ScriptedJudge()
        said = await ChosenJudge(lambda: {"claude-cli": scripted}).ask(
            CASE, {}, Settings(judge=JudgeSettings(backend="rules"))
        )
        assert said == JudgeFailed("no judge model is configured (judge.backend = rules)")
        assert scripted.cases == []

    @pytest.mark.parametrize("backend", ["opencode", "claude-cli", "anthropic", "openai"])
    def test_the_one_that_is_named_is_the_only_one_looked_at(self, backend: Any) -> None:
        keys = {"SUPERVISOR_ANTHROPIC_KEY": "", "SUPERVISOR_OPENAI_KEY": ""}
        said = chosen(JudgeSettings(backend=backend, model="a-model"), NOWHERE | keys)
        assert said.backend == ""
        assert ";" not in said.why

    @pytest.mark.process
    async def test_a_failure_is_told_and_no_other_one_is_asked(
        self, model: ScriptedModel, tmp_path: Path
    ) -> None:
        claude = FakeClaude(tmp_path / "claude")
        claude.says(result(is_error=True, api_error_status=529), code=1)
        world = ServiceWorld("anthropic", model)
        both = Settings(judge=JudgeSettings(anthropic=world.settings.judge.anthropic))
        said = await build_judge(TEXTS, {}).ask(CASE, claude.session | {"JUDGE_KEY": KEY}, both)
        assert isinstance(said, JudgeFailed)
        assert said.backend == "claude-cli"
        assert model.requests == ()

    async def test_a_named_service_is_asked_though_the_host_is_there(
        self, model: ScriptedModel, tmp_path: Path
    ) -> None:
        claude = FakeClaude(tmp_path / "claude")
        world = ServiceWorld("openai", model)
        world.replies(HttpErrorReply(401))
        session = claude.session | {"JUDGE_KEY": KEY}
        said = await build_judge(TEXTS, {}).ask(CASE, session, settings("openai", model.url))
        assert isinstance(said, JudgeFailed)
        assert (said.backend, len(model.requests), claude.calls) == ("openai", 1, 0)

    async def test_another_one_that_is_named_is_asked_within_opencode(self, tmp_path: Path) -> None:
        claude = FakeClaude(tmp_path / "claude")
        assert (
            await within_opencode(JudgeSettings(backend="claude-cli"), claude.session)
        ).backend == "claude-cli"
        assert (await within_opencode(JudgeSettings(backend="rules"), claude.session)).backend == ""

    async def test_within_opencode_its_model_is_asked_and_no_program_is_started(self, tmp_path: Path) -> None:
        claude, host = FakeClaude(tmp_path / "claude"), FakeOpenCode()
        host.says(wording(VERDICT))
        said = await host.told(build_judge(TEXTS, {}).ask(CASE, claude.session, Settings()))
        assert isinstance(said, JudgeAnswered)
        assert (said.judgement.backend, said.judgement.verdict, claude.calls) == ("opencode", VERDICT, 0)

    async def test_where_opencodes_model_fails_nobody_else_is_asked(self, tmp_path: Path) -> None:
        claude, host = FakeClaude(tmp_path / "claude"), FakeOpenCode()
        host.refuses("session.prompt", "no such model")
        said = await host.told(build_judge(TEXTS, {}).ask(CASE, claude.session, Settings()))
        assert isinstance(said, JudgeFailed)
        assert (said.backend, claude.calls) == ("opencode", 0)

    async def test_the_first_that_is_there_is_asked(self) -> None:
        scripted = ScriptedJudge(VERDICT)
        said = await ChosenJudge(lambda: {"scripted": scripted}).ask(CASE, {}, Settings())
        assert isinstance(said, JudgeAnswered)
        assert scripted.cases == [CASE]
