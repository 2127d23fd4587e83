"""`supervisor dashboard` prints the address, and hands it to the browser where no other user sees it."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner
from msgspec import Struct

from sidecar.cli import watch as verb
from sidecar.platform.paths import user_paths
from sidecar.servers.page.door import PageAddress

pytestmark = pytest.mark.proves("seeing and asking back")

URL = "http://127.0.0.1:7/?token=abc"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def call(method: str, params: Struct, kind: type[PageAddress]) -> PageAddress:
        assert (method, kind) == ("dashboard", PageAddress)
        return kind(f"{URL}{getattr(params, 'port', '')}")

    monkeypatch.setattr(verb, "call_sidecar", call)

    def open_once(url: str) -> bool:
        seen.append(url)
        return len(seen) == 1

    monkeypatch.setattr(webbrowser, "open", open_once)
    user_paths().prepare()
    return seen


def test_the_address_is_printed_and_opens_through_a_file_of_the_users_own(opened: list[str]) -> None:
    assert CliRunner().invoke(verb.dashboard, ["--port", "9"]).output == f"{URL}9\n"
    assert opened == []
    assert CliRunner().invoke(verb.dashboard, ["--open"]).exit_code == 0
    place = Path(unquote(urlsplit(opened[0]).path))
    assert "token" not in opened[0]
    assert (place.stat().st_mode & 0o777, f"url={URL}0" in place.read_text()) == (0o600, True)
    again = CliRunner().invoke(verb.dashboard, ["--open"])
    assert (again.exit_code, "no browser could be opened" in again.output) == (1, True)
