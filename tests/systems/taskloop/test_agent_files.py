"""Agents as files: what ships, what users and projects add, what is refused and how it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.gates.approvals import InstructionRegistry, TrustFile
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import plugin_root
from sidecar.systems.taskloop.policy.agents import Agent, ComplexityRange, Outputs, Scope, parse_agent

pytestmark = pytest.mark.proves("the loop")

OWN = """---
id: porter
name: Porter
category: implementation
model: large
complexity: {min: 3, max: 9}
purpose: Ports code.
role: You port code.
scope: {can_modify: ["*.c", src/], cannot_modify: [src/vendor/]}
outputs: {format: json, fields: [summary]}
keywords: [port]
file_types: ["*.c"]
task_types: [feature]
languages: [c]
---
Port it.
"""


def put(folder: Path, text: str, name: str = "porter.md") -> Path:
    path = folder / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def registry(tmp_path: Path) -> InstructionRegistry[Agent]:
    parents = (plugin_root() / "rubric", tmp_path / "user")
    return InstructionRegistry(InstructionKind.AGENT, parse_agent, parents, TrustFile(tmp_path).approved)


def test_what_ships_is_whole(tmp_path: Path) -> None:
    known = registry(tmp_path).known(str(tmp_path))

    assert known.problems == ()
    languages = {f"implementer-{name}" for name in ("python", "javascript", "go", "general")}
    assert set(known.by_name) == languages | {"tester", "reviewer", "debugger", "documenter", "security"}
    for agent in known.by_name.values():
        for part in ("Before you report completion:", "Hand over "):
            assert part in agent.instructions, (agent.id, part)
        assert not agent.scope.allows(".supervisor/config.toml"), agent.id
    modified = {name for name, agent in known.by_name.items() if agent.scope.allows("src/deep/a.py")}
    assert known.by_name.keys() - modified == {"reviewer", "tester"}
    assert known.by_name["tester"].scope.allows("src/deep/test_a.py")


def test_a_users_agent_is_read_whole(tmp_path: Path) -> None:
    path = put(tmp_path / "user", OWN)
    assert registry(tmp_path).known("").by_name["porter"] == Agent(
        id="porter",
        name="Porter",
        category="implementation",
        model="large",
        complexity=ComplexityRange(min=3, max=9),
        purpose="Ports code.",
        role="You port code.",
        scope=Scope(can_modify=("*.c", "src/"), cannot_modify=("src/vendor/",)),
        outputs=Outputs(format="json", fields=("summary",)),
        keywords=("port",),
        file_types=("*.c",),
        task_types=("feature",),
        languages=("c",),
        instructions="Port it.",
        source=str(path),
    )


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("src/a.rs", True), ("lib/b.c", True), ("lib/b.rs", False), ("src/vendor/z.c", False)],
)
def test_a_scope_allows_what_it_names_but_not_what_it_excludes(path: str, *, allowed: bool) -> None:
    assert parse_agent(OWN, "porter.md").scope.allows(path) is allowed


async def test_a_projects_agent_counts_once_it_is_approved_and_goes_before_the_users(tmp_path: Path) -> None:
    project, trust = tmp_path / "project", TrustFile(tmp_path)
    own = put(tmp_path / "user", OWN)
    path = put(project / ".supervisor", OWN.replace("Ports code", "Ports ours"))

    before = registry(tmp_path).known(str(project))
    assert before.by_name["porter"].source == str(own)
    assert before.problems == (f"{path}: not approved, so not used. The user types: supervisor trust",)

    offered = await ProjectCatalog({"HOME": str(tmp_path)}, trust, lambda _, __: ()).list(str(project), {})
    assert [(gate.id, gate.command) for gate in offered.approvable] == [
        ("agent:porter", ".supervisor/agents/porter.md")
    ]
    trust.approve(str(project), offered.instructions)
    assert registry(tmp_path).known(str(project)).by_name["porter"].source == str(path)

    path.write_text(path.read_text() + "And push it.\n")
    assert registry(tmp_path).known(str(project)).by_name["porter"].source == str(own)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("---\nid", "id", ("begins with a head between two lines",)),
        ("Port it.", " ", ("no text below the head",)),
        ("id: porter", "id: [porter", ("the head is not `field: value` in YAML", "in the head, line 2")),
        ("id: porter", "id: 2024-13-45", ("the head is not `field: value` in YAML", "month")),
        ("id: porter", "id: waiter", ("porter.md:2: id: it must be the name of the file", "waiter.md")),
        ("purpose: Ports code.\n", "", ("porter.md: purpose: is missing",)),
        ("max: 9", "max: 15", ("porter.md:6: complexity: Expected `int` <= 14 - at `complexity.max`",)),
        ("min: 3", "min: 10", ("porter.md: complexity: min 10 is above max 9",)),
        ("[port]", '["**"]', ("porter.md:11: keywords:",)),
        ("format: json", "format: xml", ("porter.md:10: outputs: Invalid enum value 'xml'",)),
        (
            "[feature]",
            "[chore]",
            ("porter.md:13: task_types: Invalid enum value 'chore' - at `task_types[0]`; allowed: ",),
        ),
        ("can_modify: [", "may_modify: [", ("porter.md:9: scope:", "`may_modify`")),
        (
            "model: large\ncomplexity: {min: 3",
            "modell: large\ncomplexity: {min: 0",
            ("porter.md:6: complexity:", "porter.md:5: modell: there is no such field; there are id, name,"),
        ),
    ],
)
def test_a_faulty_agent_is_refused_and_says_where_and_hides_no_other(
    tmp_path: Path, old: str, new: str, said: tuple[str, ...]
) -> None:
    assert old in OWN
    with pytest.raises(BadInputError, match=r"^porter\.md") as refused:
        parse_agent(OWN.replace(old, new, 1), "porter.md")
    assert [one for one in said if one not in str(refused.value)] == []

    put(tmp_path / "user", OWN.replace(old, new, 1))
    put(tmp_path / "user", "nothing", "bad.md")
    put(tmp_path / "user", OWN.replace("id: porter", "id: zeta"), "zeta.md")
    known = registry(tmp_path).known("")
    assert {Path(one.partition(":")[0]).name for one in known.problems} == {"bad.md", "porter.md"}
    assert "zeta" in known.by_name
    assert "porter" not in known.by_name
