"""The public MCP conformance suite against our sidecar over Streamable HTTP.

Each of its server scenarios is in one of three tables: those that our own tools can show, those that ask for
a tool which the suite made up and which conformance_server.py adds to our server, and those that ask for what
we do not offer. docs/proofs/mcp-conformance.md tells the same to a reader. A scenario that is in none,
or that comes out otherwise than its table says, fails a test.

The suite cannot send a bearer token: bearer.mjs, loaded into its process, adds the header.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import pytest

from real_hosts.install import CONFORMANCE, CONFORMANCE_PINNED
from real_hosts.mcp_room import KEY, SUPERVISOR, room, state_of
from real_hosts.node_program import NodeProgram, node_program

HERE: Final = Path(__file__).resolve().parent
PAGE: Final = HERE.parent.parent / "docs" / "proofs" / "mcp-conformance.md"

OURS: Final = frozenset(
    {"server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"}
)
"""What the sidecar shows as it is."""
MADE_UP: Final = frozenset(
    {"tools-call-simple-text", "tools-call-error", "tools-call-with-progress", "json-schema-2020-12"}
)
"""What needs a tool of the suite's."""
TEXT_ONLY: Final = "our tools answer with text and structured data, never with images, sound or resources"
NO_LOG: Final = (
    "we declare no `logging`: the sidecar's log is a file of its user's, and 2026-07-28 deprecates it"
)
NO_FIELDS: Final = (
    "we ask a client's user yes or no, in a form without fields; "
    "2026-07-28 takes such requests out of the protocol"
)
NO_ASKING: Final = "we ask no client's model; 2026-07-28 takes such requests out of the protocol"
NO_RESOURCES: Final = (
    "we declare no `resources` while the toolset `loop` is off: "
    "Claude Code would add three tools of its own to every request"
)
NO_PROMPTS: Final = "we declare no `prompts`: our commands are the hosts' own slash commands"
NO_RESUMING: Final = "we keep no answers to be fetched later; the suite only recommends it, and warns"
NOT_APPLICABLE: Final = {
    "completion-complete": "it completes arguments of prompts and resources, and we complete none",
    "elicitation-sep1034-defaults": NO_FIELDS,
    "elicitation-sep1330-enums": NO_FIELDS,
    "logging-set-level": NO_LOG,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
    "prompts-list": NO_PROMPTS,
    "resources-list": NO_RESOURCES,
    "resources-read-binary": NO_RESOURCES,
    "resources-read-text": NO_RESOURCES,
    "resources-subscribe": NO_RESOURCES,
    "resources-templates-read": NO_RESOURCES,
    "resources-unsubscribe": NO_RESOURCES,
    "server-sse-polling": NO_RESUMING,
    "tools-call-audio": TEXT_ONLY,
    "tools-call-elicitation": NO_FIELDS,
    "tools-call-embedded-resource": TEXT_ONLY,
    "tools-call-image": TEXT_ONLY,
    "tools-call-mixed-content": TEXT_ONLY,
    "tools-call-sampling": NO_ASKING,
    "tools-call-with-logging": NO_LOG,
}
pytestmark = [pytest.mark.xdist_group("mcp-conformance"), pytest.mark.long, pytest.mark.proves("MCP")]


class Check(msgspec.Struct, frozen=True):
    """One check of a scenario, as the suite writes it down."""

    id: str
    status: str
    error: str = msgspec.field(name="errorMessage", default="")


Outcome = dict[str, tuple[Check, ...]]
"""What was checked, by scenario."""


@pytest.fixture(scope="module")
def suite() -> NodeProgram:
    return node_program(CONFORMANCE, CONFORMANCE_PINNED)


@pytest.fixture(scope="module")
def as_it_is(suite: NodeProgram, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All scenarios against the sidecar that is installed."""
    return played(suite, tmp_path_factory.mktemp("ours"), (str(SUPERVISOR), "serve"))


@pytest.fixture(scope="module")
def with_its_tools(suite: NodeProgram, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All scenarios against our server with the tools that the suite made up."""
    home = tmp_path_factory.mktemp("made_up")
    return played(
        suite, home, (sys.executable, "-P", str(HERE / "conformance_server.py"), str(state_of(home)))
    )


def played(suite: NodeProgram, home: Path, serve: Sequence[str]) -> Outcome:
    """Every scenario, with the token of one session."""
    results = home / "results"
    with room(home, serve) as at:
        access = at.access(KEY)
        ran = suite.run(
            ("server", "--url", access.url, "--suite", "all", "--output-dir", str(results)),
            home,
            {"MCP_TOKEN": access.token, "NODE_OPTIONS": f"--import={HERE / 'bearer.mjs'}"},
        )
    outcome = dict(checks(results))
    assert outcome, ran
    return outcome


def checks(results: Path) -> Iterator[tuple[str, tuple[Check, ...]]]:
    """The suite makes a folder for each scenario, with the time in its name."""
    for folder in results.iterdir():
        named = re.fullmatch(r"server-(?P<name>.+?)-\d{4}-\d\d-\d\dT.*", folder.name)
        assert named is not None, folder
        found = (folder / "checks.json").read_bytes()
        yield named["name"], msgspec.json.decode(found, type=tuple[Check, ...])


def passed(outcome: Outcome) -> frozenset[str]:
    """Scenarios in which something was checked, and nothing failed or was warned of."""
    return frozenset(
        name
        for name, checked in outcome.items()
        if {check.status for check in checked} - {"INFO"} == {"SUCCESS"}
    )


def faults(outcome: Outcome, wanted: frozenset[str]) -> list[str]:
    """What failed that should not have, in the suite's own words."""
    return [
        f"{name}: {check.id}: {check.error}"
        for name in sorted(wanted)
        for check in outcome[name]
        if check.status not in ("INFO", "SUCCESS")
    ]


def test_every_scenario_that_the_suite_names_is_in_exactly_one_table(
    suite: NodeProgram, tmp_path: Path
) -> None:
    listed = suite.run(("list", "--server"), tmp_path)
    named = re.findall(r"^  - (\S+) ", listed.stdout, re.MULTILINE)
    assert sorted(named) == sorted([*OURS, *MADE_UP, *NOT_APPLICABLE]), listed


def test_the_sidecar_passes_what_its_own_tools_can_show_and_nothing_else(as_it_is: Outcome) -> None:
    assert faults(as_it_is, OURS) == []
    assert passed(as_it_is) == OURS


def test_with_the_tools_of_the_suite_it_passes_every_applicable_scenario_and_nothing_else(
    with_its_tools: Outcome,
) -> None:
    assert faults(with_its_tools, OURS | MADE_UP) == []
    assert passed(with_its_tools) == OURS | MADE_UP


def test_the_page_tells_of_every_scenario_with_the_same_reason() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    told = dict(rows)
    assert len(rows) == len(told)
    assert told.keys() == OURS | MADE_UP | NOT_APPLICABLE.keys()
    assert {name: told[name] for name in NOT_APPLICABLE} == NOT_APPLICABLE
