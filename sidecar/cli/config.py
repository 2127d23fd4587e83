"""`supervisor config`, `on` and `off`: the user's config.toml, which of its edits count, and the switches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Final

import click
import msgspec

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo, echo_json
from sidecar.kernel.masking import MASK_TEXT
from sidecar.kernel.rubric import HeldEdit
from sidecar.kernel.settings import Settings
from sidecar.platform import files
from sidecar.platform.client import SidecarClient, SidecarError
from sidecar.platform.configuration import ConfigurationFile, SettingSource, user_config_file
from sidecar.platform.paths import user_paths
from sidecar.platform.steering import PROJECT_CONFIGURATION
from sidecar.platform.toml import UnusableError, write_toml_value
from sidecar.rubric.policy import PROJECT_RUBRIC_PATHS
from sidecar.systems.supervision.people import HeldEditsRequest, SwitchRequest
from sidecar.wiring.platform import build_steering

SCHEMA_FILE: Final = "config.schema.json"
"""Beside config.toml, where editors find it by the first line of NEW_FILE."""
SHADOW, REAL = ("mode", "shadow"), ("mode", "on")
NEW_FILE: Final = f"#:schema ./{SCHEMA_FILE}\n# What may stand here: supervisor config show\n"


@click.group()
def config() -> None:
    """Show, edit and describe your settings: the file config.toml.

    To change one, such as the judge or a budget: supervisor config edit
    """


@config.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for a script.")
def show(*, as_json: bool) -> None:
    """Show each setting as it is in force, and which file sets it. The output is TOML."""
    configuration = ConfigurationFile(os.environ, CommandLineFiles())
    settings, problems = configuration.load()
    for problem in problems:
        echo(f"supervisor: {problem}", err=True)
    notify, hidden = settings.notify, MASK_TEXT if settings.notify.webhook else ""
    notify = msgspec.structs.replace(notify, webhook=hidden, body=dict.fromkeys(notify.body, MASK_TEXT))
    settings = msgspec.structs.replace(settings, notify=notify)
    if as_json:
        echo_json(settings)
        return
    for line in setting_lines(settings, configuration.sources()):
        echo(line)


def setting_lines(settings: Settings, sources: Sequence[SettingSource]) -> Iterator[str]:
    """Write each setting as TOML, and name the file that sets it."""
    written = [(source.name, dict(_dotted_values(source.values))) for source in sources]
    for key, value in _dotted_values(msgspec.to_builtins(settings)):
        name = next((name for name, values in written if key in values and values[key] == value), "")
        mark = f"  # set in {name}" if name else ""
        yield f"# {key} has no value" if value is None else f"{key} = {_toml_value(value)}{mark}"


@config.command()
def path() -> None:
    """Print where the file is, or would be."""
    echo(config_path())


@config.command()
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    echo_json(_settings_schema())


@config.command(short_help="Open the file in your editor, and check it.")
def edit() -> None:
    """Open the file in your editor ($VISUAL, else $EDITOR), and say what is wrong with it afterwards.

    The schema is put beside it, so that an editor that knows TOML helps.
    """
    refuse_agents(noted=True)
    place = config_path()
    place.parent.mkdir(mode=files.OWNER_FOLDER, parents=True, exist_ok=True)
    files.write_whole(place.with_name(SCHEMA_FILE), msgspec.json.encode(_settings_schema()))
    if not place.exists():
        files.write_whole(place, NEW_FILE.encode())
    click.edit(filename=str(place))
    CommandLineFiles().vouch(place)
    _, problems = ConfigurationFile(os.environ).load()
    if problems:
        raise click.ClickException("\n".join((*problems, "  - mend it: supervisor config edit")))
    echo(f"{place}: no errors. It counts from the next stop.")


def config_path() -> Path:
    """Return where the user's config.toml is, or would be."""
    place = user_config_file(os.environ)
    if place is None:
        raise click.ClickException("the environment names no home: set HOME")
    return place


def write_setting(key: str, value: str | list[str]) -> Path:
    """Write a string or list into the user's config.toml, and nothing else; return where that is."""
    place = config_path()
    try:
        write_toml_value(place, key, value)
    except UnusableError as error:
        raise click.ClickException(f"{place}: {error}") from error
    CommandLineFiles().vouch(place)
    return place


PROJECT_OPTION: Final = click.option(
    "--project", is_flag=True, help="For this folder and what is below it only."
)


@click.command()
@PROJECT_OPTION
def off(*, project: bool) -> None:
    """Switch Supervisor off: stops are left alone, goals cannot be set."""
    _switch_supervisor(on=False, project=project)


@click.command()
@PROJECT_OPTION
def on(*, project: bool) -> None:
    """Switch Supervisor on again. Without --project this ends shadow mode, too."""
    _switch_supervisor(on=True, project=project)
    if ConfigurationFile(os.environ, CommandLineFiles()).load()[0].mode == "shadow":
        if project:
            echo("In shadow mode nothing is sent back. To end that: supervisor on")
        else:
            echo(f"Shadow mode ends: from the next stop on, agents are sent back ({write_setting(*REAL)}).")


def _switch_supervisor(*, on: bool, project: bool) -> None:
    refuse_agents()
    folder = os.getcwd()  # noqa: PTH109 - sent as text
    request = SwitchRequest(on=on, project=folder if project else None, folder=folder)
    echo(call_sidecar("toggle", request, str))


def _settings_schema() -> dict[str, Any]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Settings)}


def _dotted_values(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a table and the tables in it, by their dotted keys."""
    for name, value in table.items():
        key = before + (name if name.replace("-", "").replace("_", "").isalnum() else _toml_value(name))
        if isinstance(value, dict):
            yield from _dotted_values(value, f"{key}.")
        else:
            yield key, value


def _toml_value(value: object) -> str:
    """A string, a number, a truth value or a list of them, which TOML writes as JSON does."""
    return msgspec.json.encode(value).decode()


class CommandLineFiles:
    """Implements FilesInForce for a process beside the sidecar: reads what it keeps.

    Where a file is not what is in force, the sidecar is asked, and started for that. It lets count what was
    changed while no agent of this user worked; what waits is told once, with what to type.
    """

    _asked: ClassVar[set[Path]] = set()

    def __init__(self) -> None:
        """Read what the sidecar of this user keeps."""
        self._kept = build_steering(user_paths().state)

    def path_in_force(self, path: Path) -> Path:
        in_force = self._kept.path_in_force(path)
        if in_force == path or path in self._asked:
            return in_force
        self._asked.add(path)
        try:
            waits = [f"was changed while an agent worked ({edit.summary})" for edit in self._waiting(path)]
        except SidecarError as error:
            waits = [f"was changed, and nobody knows by whom ({error})"]
        for why in waits:
            echo(f"supervisor: {path} {why}. It does not count until you type: supervisor accept", err=True)
        return self._kept.path_in_force(path)

    def vouch(self, path: Path) -> None:
        """Let what was just written count. Raises SidecarError."""
        if self._kept.path_in_force(path) == path:
            return
        if digests := tuple(edit.digest for edit in self._waiting(path)):
            asked = HeldEditsRequest(project=_project_of(path), digests=digests)
            SidecarClient(user_paths()).call("accept", asked, tuple[str, ...])

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        """Return the edits that are known to wait."""
        return self._kept.held(project)

    def _waiting(self, path: Path) -> tuple[HeldEdit, ...]:
        asked = HeldEditsRequest(project=_project_of(path))
        client = SidecarClient(user_paths())
        with ThreadPoolExecutor(1) as beside:  # a reader may be in an event loop, and a start needs its own
            held = beside.submit(client.call, "held", asked, tuple[HeldEdit, ...]).result()
        return tuple(edit for edit in held if edit.path == str(path))


def _project_of(path: Path) -> str:
    """Return the project whose own file this is, "" for one of the user's."""
    own = (PROJECT_CONFIGURATION, *PROJECT_RUBRIC_PATHS)
    return str(path.parents[1]) if "/".join(path.parts[-2:]) in own else ""
