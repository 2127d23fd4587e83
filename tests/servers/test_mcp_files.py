"""The token and the port that outlive a sidecar."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.servers.mcp.access import HIGHEST_PORT, TOKEN_PATTERN, McpFiles, parse_mcp_port
from support.table import over_table


@pytest.fixture
def files(tmp_path: Path) -> McpFiles:
    return McpFiles(tmp_path / "state")


def test_a_token_is_made_once_and_its_owner_alone_can_read_it(files: McpFiles, tmp_path: Path) -> None:
    token = files.token()
    assert TOKEN_PATTERN.fullmatch(token)
    assert McpFiles(tmp_path / "state").token() == token
    assert stat.S_IMODE((tmp_path / "state" / "mcp-token").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage", [b"", b"short\n", b"x" * 500, b"\xff" * 43, b"with a space in the middle of it" * 2]
)
def test_a_damaged_token_is_set_aside_and_made_anew(files: McpFiles, tmp_path: Path, damage: bytes) -> None:
    files.token()
    (tmp_path / "state" / "mcp-token").write_bytes(damage)
    again = files.token()
    assert TOKEN_PATTERN.fullmatch(again)
    assert files.token() == again
    asides = [path for path in (tmp_path / "state").iterdir() if path.name.startswith("mcp-token.")]
    assert damage in [path.read_bytes() for path in asides]


def test_a_token_that_somebody_linked_there_is_not_taken(files: McpFiles, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x" * 43, encoding="ascii")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "mcp-token").symlink_to(tmp_path / "elsewhere")
    assert files.token() != "x" * 43
    assert (tmp_path / "elsewhere").read_text(encoding="ascii") == "x" * 43


def test_a_port_is_remembered(files: McpFiles) -> None:
    assert files.port() == 0
    files.remember(8123)
    assert files.port() == 8123


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=450))
def test_whatever_stands_there_the_port_is_one_or_none(tmp_path: Path, found: bytes) -> None:
    files = McpFiles(tmp_path / "state")
    files.remember(1)
    (tmp_path / "state" / "mcp-port").write_bytes(found)
    assert 0 <= files.port() <= HIGHEST_PORT


@over_table(
    ("text", "port"),
    [
        ("", 7),
        ("3200", 3200),
        ("65535", 65535),
        ("65536", 7),
        ("0", 7),
        ("-1", 7),
        ("\uff13\uff12", 7),
        ("9" * 9999, 7),
    ],
)
def test_a_port_in_the_environment_is_taken_where_it_is_one(text: str, port: int) -> None:
    assert parse_mcp_port(text, 7) == port
