"""Which agent does a task, and what is told of it; and the shipped ones on tasks as people write them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import plugin_root
from sidecar.systems.taskloop.policy.agents import Agent, ComplexityRange, Outputs, parse_agent
from sidecar.systems.taskloop.policy.selection import AgentScore, TaskProfile, select_agent

TASKS = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text())["tasks"]
CRASH = TaskProfile(description="Fix the crash", files=("a.py", "b.go"), complexity=9)


def agent(name: str, **more: object) -> Agent:
    least = {"name": name, "category": "c", "purpose": "p", "role": "r", "instructions": "i", "source": "s"}
    return Agent(id=name, outputs=Outputs(format="text", fields=()), **(least | more))  # type: ignore[arg-type]


def test_the_shipped_agents_are_selected_as_a_reader_expects() -> None:
    shipped = [parse_agent(path.read_text(), str(path)) for path in plugin_root().glob("rubric/agents/*.md")]
    other = []
    for description, files, expected, *given in TASKS:
        task = TaskProfile(description=description, files=tuple(files), task_type=given[0] if given else None)
        forwards, backwards = select_agent(task, shipped), select_agent(task, shipped[::-1])
        assert forwards == backwards, "the order of the agents does not matter"
        if forwards.primary != expected:
            other.append((description, expected, forwards.scores[:3]))
    assert other == []


@pytest.mark.proves("the loop")
def test_four_parts_make_the_score_and_each_is_explained() -> None:
    python = agent(
        "python", keywords=("crash",), file_types=("*.py",), task_types=("docs",), languages=("go",)
    )
    selected = select_agent(CRASH, [agent("any"), python])

    assert selected.scores == (AgentScore("python", 49, 24, 15, 0, 10), AgentScore("any", 36, 0, 18, 12, 6))
    assert (selected.primary, selected.support) == ("python", ())
    assert (selected.task_type, selected.language) == ("bug", "go")
    assert selected.reasoning == (
        "keywords 24 of 40: crash",
        "file types 15 of 30: 1 of 2",
        "language 10 of 10: go",
    )


@pytest.mark.parametrize(
    ("description", "files", "recognised"),
    [
        ("It CRASHES and hangs, add a check", (), ("bug", "")),
        ("Path-traversal in uploads", ("a.TS", "b.ts", "c.py"), ("security", "typescript")),
        ("An IndexError in the new dialog", ("x.unknown",), ("bug", "")),
        ("Errors as values", (), ("feature", "")),
        ("Fix the crash", ("docs/crash.html", "README.md"), ("docs", "")),
        ("Prefix the names", ("b.go", "a.py"), ("feature", "go")),
    ],
)
def test_type_and_language_are_recognised(
    description: str, files: tuple[str, ...], recognised: tuple[str, str]
) -> None:
    selected = select_agent(TaskProfile(description=description, files=files), [agent("a")])
    assert (selected.task_type, selected.language) == recognised


def test_an_agent_for_other_complexities_is_selected_last_and_it_is_said_why() -> None:
    small = agent("small", keywords=("crash",), complexity=ComplexityRange(max=8))
    large = agent("large", complexity=ComplexityRange(min=9))
    why = "complexity 9: small is for 1 to 8; "

    both = select_agent(CRASH, [small, large])
    assert (both.primary, both.support) == ("large", ())
    assert both.scores[0].agent == "small"
    assert both.reasoning[3:] == (f"{why}it has more points",)
    assert select_agent(CRASH, [agent("best", keywords=("fix", "crash")), small]).reasoning[4:] == ()

    alone = select_agent(CRASH, [small])
    assert alone.primary == "small"
    assert alone.reasoning[4:] == (f"{why}no agent is for this one",)


@pytest.mark.proves("the loop")
def test_at_most_three_support_and_only_with_something_of_their_own() -> None:
    agents = [agent(name, keywords=("crash",)) for name in "edcba"] + [
        agent("any"),
        agent("go", file_types=("*.go",)),
    ]
    assert select_agent(CRASH, agents).support == ("b", "c", "d")
    assert select_agent(CRASH, agents[-2:]).support == ("go",)
    weak = agent("weak", file_types=("*.go",), task_types=("docs",))
    assert select_agent(CRASH, [agent("x"), agent("y"), weak]).support == ()


def test_without_agents_it_is_refused() -> None:
    with pytest.raises(BadInputError, match="no agents"):
        select_agent(CRASH, [])
