"""Who made a change: its authors, the agents that its commits and its branch name.

All of it is what the change says of itself, so it is shown and counted, and decides nothing. An agent that
data/change_agents.toml does not know is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from sidecar.evidence.tree.work_tree import find_work_tree
from sidecar.platform.data import load_data

ADDRESS: Final = re.compile(r"<(?:\d+\+)?([^<>]*)>\s*$")
"""The address of who is named; GitHub puts a number before its own."""


class KnownAgent(Struct, frozen=True, forbid_unknown_fields=True):
    """By what an agent is known; see data/change_agents.toml."""

    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()


class ChangeAgents(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of agents that make commits and branches."""

    trailers: tuple[str, ...]
    branch_variables: tuple[str, ...]
    agents: dict[str, KnownAgent]


class ChangeSource(Struct, frozen=True, kw_only=True):
    """Who made a change, as it says itself.

    `branch` is "" where unknown. `authors` are those of its commits and `named` what their trailers name, as
    written; `agents` are the known ones among them.
    """

    branch: str = ""
    authors: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


async def read_change_source(
    project: str, environment: Mapping[str, str], began: str, commit: str, head: str
) -> ChangeSource:
    """Read who made the commits from `began` to `commit`; `head` is how that one was named, "" for none.

    What git does not say stays empty. Raises UnseenError, OSError.
    """
    found, known = await find_work_tree(project, environment), load_data("change_agents", ChangeAgents)
    if found is None:
        return ChangeSource()
    keys = ",".join(f"key={name}" for name in known.trailers)
    form = f"--format=%an <%ae>%x00%(trailers:{keys},valueonly,unfold,separator=%x00)%x00"
    said = await found.git.ask("log", "--no-merges", form, f"{began}..{commit}", "--")
    commits = [line.split("\0") for line in said.output.decode("utf-8", "replace").split("\n")]
    name = (await found.git.ask("rev-parse", "--abbrev-ref", head or "HEAD", "--")).output
    here = name.decode("utf-8", "replace").partition("\n")[0]
    told = (environment.get(variable, "") for variable in known.branch_variables)
    branch = next(filter(None, told), "" if here == "HEAD" else here)
    for remote in found.remotes:
        branch = branch.removeprefix(f"{remote}/")
    authors = dict.fromkeys(author for author, *_ in commits if author)
    named = dict.fromkeys(name for _, *names in commits for name in names if name)
    return ChangeSource(
        branch=branch,
        authors=tuple(authors),
        named=tuple(named),
        agents=tuple(
            name
            for name, agent in known.agents.items()
            if branch.startswith(agent.branches) or any(_is_named(agent, one) for one in (*authors, *named))
        ),
    )


def _is_named(agent: KnownAgent, text: str) -> bool:
    """Whether an agent is who a commit names. An address decides, and a name only where there is none."""
    if address := ADDRESS.search(text.lower()):
        return address[1] in agent.addresses
    return text.strip().lower() in agent.names
