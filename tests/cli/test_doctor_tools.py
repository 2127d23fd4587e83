"""What `supervisor doctor` says of the tools' server: the test says what the server does."""

from __future__ import annotations

import re
import sys

import pytest

from sidecar.cli import doctor_checks as doctor_tools
from sidecar.cli.doctor_checks import check_offered_tools
from sidecar.hosts.installing import FindingLevel
from support.table import often

pytestmark = pytest.mark.process

HELLO = '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}'
LISTED = '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"status","x":1},{"name":"rubric"}]}}'


def server(*lines: str, then: str = "sys.stdin.read()") -> tuple[str, ...]:
    """Say these lines once it was asked for the list."""
    asked = "any('tools/list' in line for line in iter(sys.stdin.readline, ''))"
    return (sys.executable, "-c", f"import sys; {asked}; print({chr(10).join(lines)!r}, flush=True); {then}")


async def test_it_counts_what_the_server_offers_whatever_else_it_says() -> None:
    line = await check_offered_tools(
        "Claude Code", server(HELLO, '{"method":"notifications/x","params":[]}', LISTED)
    )
    assert (line.level, line.what) == (FindingLevel.OK, "Claude Code can reach the tools: 2 are offered")


async def test_a_server_that_offers_nothing_is_a_warning() -> None:
    line = await check_offered_tools("OpenCode", server('{"id":2,"result":{"tools":[]}}'))
    assert (line.level, line.remedy) == (FindingLevel.WARNING, "supervisor toolset list")


@pytest.mark.parametrize(
    ("command", "why"),
    often(
        [
            (("/no/such/program",), "No such file"),
            (server("", then="sys.exit('no runtime')"), "malformed|no runtime|truncated"),
            ((sys.executable, "-c", "import sys; sys.exit('it has no runtime')"), "it has no runtime"),
            ((sys.executable, "-c", ""), "without an answer"),
            (server("garbage"), "malformed"),
            (server('{"id":2,"error":{"code":1}}'), "without a list"),
            (server('{"id":2,"result":{"tools":7}}'), "Expected `array"),
            (server('{"id":2,"result":{"tools":[' + "1" * (1 << 20) + "]}}"), "too long"),
            (server(*["{}"] * 200), "without an answer"),
        ],
        4,
    ),
    ids=["not there", "empty", "refuses", "ends", "garbage", "error", "no list", "too long", "talks"],
)
async def test_a_server_that_does_not_list_them_is_an_error_that_says_why(
    command: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_tools, "SECONDS", 20.0)
    line = await check_offered_tools("Claude Code", command)
    assert line.level is FindingLevel.ERROR
    assert line.what.startswith("Claude Code cannot reach the tools: ")
    assert re.search(why, line.what), line.what
    assert line.remedy


async def test_a_silent_server_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tools, "SECONDS", 0.2)
    line = await check_offered_tools("Claude Code", (sys.executable, "-c", "import sys; sys.stdin.read()"))
    assert "no list came within 0.2 s" in line.what
