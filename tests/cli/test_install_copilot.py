"""Putting Supervisor into Copilot CLI, which is two entries of the user's settings, and taking it out."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from sidecar.hosts.copilot.install import CopilotInstaller, edit_settings
from sidecar.hosts.installing import FindingLevel, InstallOrder, Steps
from sidecar.platform.installation import HostError, plugin_root
from support.table import over_table

if TYPE_CHECKING:
    from pathlib import Path

OURS: Final[dict[str, Any]] = {
    "enabledPlugins": {"supervisor@supervisor": True},
    "extraKnownMarketplaces": {
        "supervisor": {"source": {"source": "directory", "path": str(plugin_root())}},
    },
}
THEIRS: Final[dict[str, Any]] = {
    "model": "gpt-4.1",
    "enabledPlugins": {"other@market": True},
    "extraKnownMarketplaces": {"market": {"source": {"source": "github", "repo": "a/b"}}},
}


class Room:
    """A home with its settings, and what was said."""

    def __init__(self, folder: Path) -> None:
        self.settings = folder / "settings.json"
        self.said: list[str] = []
        self.prepared = 0
        home = {"COPILOT_HOME": str(folder), "PATH": str(folder)}
        self.installer = CopilotInstaller(home, folder / "project")

    def put(self, scope: str = "user", *, print_only: bool = False) -> None:
        order = InstallOrder(scope=scope, runtime=self.settings, prepare=self._prepare)
        self.installer.put(order, Steps(print_only, self.said.append))

    def take(self, scope: str = "user", *, print_only: bool = False) -> bool:
        return self.installer.take(scope, Steps(print_only, self.said.append))

    def read(self) -> Any:
        return json.loads(self.settings.read_text(encoding="utf-8"))

    def finding(self) -> Any:
        return asyncio.run(self.installer.examine(needed=True)).lines[-1]

    def _prepare(self) -> None:
        self.prepared += 1


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_an_install_names_the_plugin_where_it_is_and_an_uninstall_leaves_nothing(room: Room) -> None:
    assert (room.installer.present(), room.installer.scopes()) == (False, ())
    for _ in range(2):
        room.put()
        assert room.read() == OURS
    assert (room.prepared, room.installer.scopes()) == (2, ("user",))
    assert room.take()
    assert not room.settings.exists()
    assert room.take()
    assert room.said[-1] == "the plugin is not installed in the scope user"


def test_what_others_put_into_the_settings_stays(room: Room) -> None:
    room.settings.write_text(json.dumps(THEIRS), encoding="utf-8")
    room.put()
    both = room.read()
    assert {name: both[name].keys() for name in OURS} == {
        "enabledPlugins": {"other@market", "supervisor@supervisor"},
        "extraKnownMarketplaces": {"market", "supervisor"},
    }
    room.take()
    assert room.read() == THEIRS


def test_settings_that_are_no_json_stay_as_they_are_with_what_to_type(room: Room) -> None:
    room.settings.write_text("// mine\n{}", encoding="utf-8")
    with pytest.raises(HostError, match="left as it is") as refused:
        room.put()
    assert refused.value.moves[1] == "copilot plugin install supervisor@supervisor"
    assert room.settings.read_text(encoding="utf-8") == "// mine\n{}"


def test_print_only_changes_nothing(room: Room) -> None:
    room.put(print_only=True)
    assert (room.settings.exists(), room.prepared) == (False, 0)
    assert str(plugin_root()) in room.said[0]
    room.put()
    assert room.take(print_only=True)
    assert room.read() == OURS


def test_a_project_has_no_settings_for_it(room: Room) -> None:
    with pytest.raises(HostError, match="for a user only"):
        room.put("project")


@over_table(
    ("settings", "level", "said"),
    [
        (b"{}", FindingLevel.ERROR, "not installed"),
        (b'{"enabledPlugins":{"supervisor@supervisor":false}}', FindingLevel.ERROR, "not installed"),
        (
            b'{"enabledPlugins":{"supervisor@supervisor":true}}',
            FindingLevel.WARNING,
            "does not read",
        ),
        (edit_settings(b"", plugin_root().parent), FindingLevel.WARNING, "does not read"),
        (edit_settings(b"", plugin_root()), FindingLevel.OK, "read from"),
    ],
)
def test_doctor_says_which_plugin_the_host_reads(
    settings: bytes, level: FindingLevel, said: str, room: Room
) -> None:
    room.settings.write_bytes(settings)
    finding = room.finding()
    assert (finding.level, said in finding.what) == (level, True)
    assert finding.remedy == ("" if level is FindingLevel.OK else "supervisor install copilot")
