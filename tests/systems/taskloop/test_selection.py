"""Which agent does a task: what is told, ties, complexity, support; and what ships on tasks of people."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sidecar.platform.installation import plugin_root
from sidecar.systems.taskloop.policy.agents import Agent, parse_agent
from sidecar.systems.taskloop.policy.selection import TaskProfile, select_agent

TASKS = Path(__file__).with_name("tasks.toml")


def shipped() -> list[Agent]:
    return [
        parse_agent(path.read_text(), str(path)) for path in (plugin_root() / "rubric/agents").glob("*.md")
    ]


def test_the_shipped_agents_are_selected_as_a_reader_expects() -> None:
    agents, other = shipped(), []
    rows = tomllib.loads(TASKS.read_text())["tasks"]
    for description, files, expected in rows:
        selected = select_agent(TaskProfile(description=description, files=tuple(files)), agents)
        if selected.primary != expected:
            other.append((description, expected, selected.primary, selected.scores[:3]))
    assert not other, f"{len(rows) - len(other)} of {len(rows)}"
