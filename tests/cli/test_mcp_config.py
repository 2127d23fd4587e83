"""What `supervisor mcp --print-config` prints, and what docs/mcp.md says of it: both are used as they are."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers.mcp_clients import HANDSHAKES, MODERN
from servers.mcp_pipes import KEY, SUPERVISOR, Home

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
LIMIT_S = 60.0
"""Bound of every command here, in seconds."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "user")
    yield home
    home.supervisor("stop")


def printed(home: Home, form: str, session: str = "", **environment: str) -> tuple[Any, str]:
    """The configuration, and what a person is told beside it."""
    command = [str(SUPERVISOR), "mcp", "--print-config", form, "--session", session]
    given = {**home.environment, **environment}
    done = subprocess.run(command, env=given, check=True, capture_output=True, timeout=LIMIT_S)
    return json.loads(done.stdout), done.stderr.decode()


@pytest.mark.proves("the loop")
def test_every_form_holds_the_same_address_and_token_and_a_warning(home: Home) -> None:
    plain, said = printed(home, "json")
    headers = {"Authorization": f"Bearer {plain['token']}"}
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", plain["url"])
    assert plain["headers"] == headers
    server = {"type": "http", "url": plain["url"], "headers": headers}
    for name in ("claude-code", "claude"):
        assert printed(home, name)[0] == {"mcpServers": {"supervisor": server}}
    (remote,) = printed(home, "opencode")[0]["mcp"].values()
    assert remote == {"type": "remote", "url": plain["url"], "oauth": False, "headers": headers}
    assert "The token is a secret" in said
    assert "all your sessions" in said
    assert plain["token"] not in said


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("mcp", "--print-config", "json", "--session", "nobody"), {}, "no session is known as 'nobody'"),
        (("mcp", "--session", KEY.id), {}, "go with --print-config"),
        (("mcp", "--print-config", "json"), {"CLAUDECODE": "1"}, "only the user may do this"),
        (("session", "new", "--json"), {"CLAUDECODE": "1"}, "only the user may do this"),
    ],
)
def test_what_cannot_be_given_is_refused_in_words(
    home: Home, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    done = subprocess.run(
        [str(SUPERVISOR), *arguments],
        env={**home.environment, **environment},
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode > 0
    assert said in done.stderr
    assert "token" not in done.stdout


def test_the_address_outlives_the_sidecar_and_only_its_user_can_read_it(home: Home) -> None:
    before, _ = printed(home, "json")
    home.supervisor("stop")
    assert printed(home, "json")[0] == before
    for name in ("mcp-token", "mcp-port"):
        assert stat.S_IMODE((home.state / name).stat().st_mode) == 0o600


def test_the_documented_curl_lines_list_and_call_in_a_session_of_their_own(home: Home) -> None:
    (script,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        ["sh", "-ec", script],
        env={**home.environment, "PATH": f"{SUPERVISOR.parent}{os.pathsep}{home.environment['PATH']}"},
        cwd=home.project,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    listed, called = map(json.loads, done.stdout.replace("}{", "}\n{").splitlines())
    assert "task_add" in {tool["name"] for tool in listed["result"]["tools"]}
    assert called["result"]["_meta"]["supervisor/data"] == {
        "id": "T1",
        "status": "remaining",
        "content": "say hello",
    }


def test_every_version_that_is_spoken_stands_in_the_documents() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(version in text for version in (*HANDSHAKES, MODERN))
