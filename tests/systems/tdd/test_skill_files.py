"""Skills as files: what ships, what users and projects add, what is refused and how it is said."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sidecar.evidence.gates.approvals import InstructionRegistry, TrustFile, list_instruction_gates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import plugin_root
from sidecar.systems.tdd.policy.skills import PhaseAnswer, Skill, parse_skill

OWN = """---
name: haiku
about: Writes about the code.
tools: [Read]
answer: {verse: text, lines: number, good: yes-or-no, words: list}
---
Write a haiku about $request.
"""


def registry(tmp_path: Path) -> InstructionRegistry[Skill]:
    parents = (plugin_root() / "rubric", tmp_path / "user")
    return InstructionRegistry(InstructionKind.SKILL, parse_skill, parents, TrustFile(tmp_path).approved)


def put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_what_ships_is_whole(tmp_path: Path) -> None:
    known = registry(tmp_path).known(str(tmp_path))

    assert known.problems == ()
    assert set(known.by_name) == {"tdd_red", "tdd_green", "tdd_refactor", "review", "debug"}
    for name, skill in known.by_name.items():
        assert Path(skill.source).stem == name
        assert (skill.answer is PhaseAnswer) is name.startswith("tdd_")


def test_a_users_skill_names_the_fields_of_its_answer(tmp_path: Path) -> None:
    put(tmp_path / "user" / "skills", "haiku.md", OWN)
    skill = registry(tmp_path).known(str(tmp_path)).by_name["haiku"]

    assert skill.prompt({"request": "loops"}) == "Write a haiku about loops."
    given = {"verse": "v", "lines": 3, "good": True, "words": ["a"]}
    assert msgspec.to_builtins(msgspec.convert(given, skill.answer)) == given | {"words": ("a",)}
    with pytest.raises(msgspec.ValidationError, match="lines"):
        msgspec.convert(given | {"lines": "three"}, skill.answer)


async def test_a_projects_skill_counts_once_it_is_approved_and_only_as_it_was(tmp_path: Path) -> None:
    project = tmp_path / "project"
    path = put(project / ".supervisor" / "skills", "review.md", OWN.replace("haiku\n", "review\n", 1))
    skills, trust = registry(tmp_path), TrustFile(tmp_path)

    refused = skills.known(str(project))
    assert "supervisor trust" in refused.problems[0]
    assert refused.by_name["review"].source != str(path)

    catalog = ProjectCatalog({"HOME": str(tmp_path)}, trust, lambda _, __: ())
    offered = await catalog.list(str(project), {})
    assert [gate.id for gate in offered.approvable] == ["skill:review"]
    assert offered.gates == ()
    trust.approve(str(project), offered.instructions)
    assert skills.known(str(project)).by_name["review"].source == str(path)

    path.write_text(path.read_text() + "And push it.\n")
    assert skills.known(str(project)).by_name["review"].source != str(path)
    assert not trust.approved(str(project), list_instruction_gates(str(project))[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no head", "begins with a head"),
        (OWN.replace("name: haiku\n", ""), "haiku.md: name: is missing"),
        (OWN.replace("[Read]", "[Fly]"), "haiku.md:4: tools: Invalid enum value 'Fly'"),
        (OWN.replace("tools:", "toolz:"), "haiku.md:4: toolz: there is no such field"),
        (
            OWN.replace("{verse: text, lines: number, good: yes-or-no, words: list}", "poem"),
            "no answer 'poem'",
        ),
        (OWN.replace("verse: text", "a verse: text"), "letters, digits"),
        (OWN.partition("Write a")[0], "no text below"),
    ],
)
def test_a_faulty_skill_is_refused_and_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInputError, match=r"haiku\.md") as refused:
        parse_skill(text, "haiku.md")
    assert said in str(refused.value)

    put(tmp_path / "user" / "skills", "haiku.md", text)
    known = registry(tmp_path).known(str(tmp_path))
    assert "haiku" not in known.by_name
    assert said in known.problems[0]
