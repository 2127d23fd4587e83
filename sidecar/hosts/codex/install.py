"""What Supervisor puts into Codex: a plugin, and the user's trust in its hooks.

What this file knows of the host, each point seen in 0.144.0 and 0.171.0:

- A plugin is copied from a marketplace, which is a folder; links in it are dropped.
- A hook that is not trusted is skipped without a word. Trust stands in the user's config.toml, by a digest of
  the hook; 0.171 adds one of all the plugin's files. The host's own server reads and sets it as its screen
  `/hooks` does.
- Taking a plugin out leaves its trust.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar import __version__
from sidecar.hosts import installing
from sidecar.hosts.codex.codec import HOST, TITLE, user_folder
from sidecar.hosts.installing import HostFindings, HostInstaller, InstallOrder, Steps
from sidecar.hosts.shared import try_decode
from sidecar.kernel.text import one_printable_line
from sidecar.platform.dialogue import LineTooLongError, NotLaunchedError, ProcessDialogue, open_dialogue
from sidecar.platform.formats import Table, parse_toml_table, table_at
from sidecar.platform.installation import HostError, altered_notice, plugin_root
from sidecar.platform.paths import user_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.hosts.host_program import HostProgram

T = TypeVar("T")

MARKETPLACE: Final = "supervisor-codex"
PLUGIN_ID: Final = f"supervisor@{MARKETPLACE}"
RELAY_FILES: Final = ("cold.py", "mcp.py", "pipe.py", "relay.py")
"""Files of `hooks/` that the plugin starts."""
TRUSTED: Final = "trusted"
SERVER_S: Final = 60.0
"""Longest conversation with the host's server, in seconds; all it needs is on this machine."""
LINE_LIMIT: Final = 4 << 20
"""Bytes of one line of the host's server."""
BY_HAND: Final = "start codex, type /hooks, and press t"


# --- The plugin's files -------------------------------------------------------------------------------------


def plugin_files() -> dict[str, Path]:
    """Return where each file of the plugin is, by its path in the plugin. Raises HostError."""
    root = plugin_root()
    own = sorted(path for path in (root / ".codex-plugin").rglob("*") if path.is_file())
    return {
        **{str(path.relative_to(root)): path for path in own},
        **{f"hooks/{name}": root / "hooks" / name for name in RELAY_FILES},
    }


def write_marketplace(folder: Path) -> None:
    """Write a marketplace that offers the plugin. Raises HostError, OSError."""
    offered = {"name": "supervisor", "source": "./plugin", "description": "Judges every stop of the agent"}
    about = {"name": MARKETPLACE, "owner": {"name": "The Supervisor authors"}, "plugins": [offered]}
    files = {f"plugin/{name}": path.read_bytes() for name, path in plugin_files().items()}
    files[".claude-plugin/marketplace.json"] = msgspec.json.encode(about)
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def cached_plugin(environment: Mapping[str, str]) -> Path:
    """Where the host keeps its copy of the plugin."""
    return user_folder(environment) / "plugins" / "cache" / MARKETPLACE


def altered_plugin(environment: Mapping[str, str]) -> str:
    """Tell of files of the plugin that the host loads and that are not those installed; "" for none.

    Raises HostError, OSError.
    """
    root = Path(environment.get("PLUGIN_ROOT", ""))
    if not root.is_relative_to(cached_plugin(environment)) or root.name != __version__:
        return ""
    altered = [name for name, path in plugin_files().items() if not _same(root / name, path)]
    return altered_notice(root, altered, "supervisor install codex")


def read_user_settings(environment: Mapping[str, str]) -> Table:
    """Return the user's config.toml, empty where there is none that can be read."""
    with suppress(OSError, ValueError):
        return parse_toml_table((user_folder(environment) / "config.toml").read_text("utf-8"))
    return {}


def _same(copy: Path, path: Path) -> bool:
    return copy.is_file() and copy.read_bytes() == path.read_bytes()


# --- Trust --------------------------------------------------------------------------------------------------


class ListedHook(Struct, frozen=True, rename="camel"):
    """A hook as the host lists it. `trust_status` is trusted, untrusted or modified."""

    key: str
    current_hash: str
    trust_status: str
    event_name: str = ""
    enabled: bool = True

    @property
    def runs(self) -> bool:
        """Whether the host runs it."""
        return self.enabled and self.trust_status == TRUSTED


class _Folder(Struct, frozen=True):
    hooks: tuple[ListedHook, ...] = ()


class _Listed(Struct, frozen=True):
    data: tuple[_Folder, ...]


class _Answer(Struct, frozen=True):
    id: int = 0
    method: str = ""
    result: Raw = Raw(b"null")
    error: dict[str, Any] | None = None


class CodexServer:
    """A conversation with `codex app-server`. Methods raise HostError."""

    def __init__(self, codex: HostProgram, environment: Mapping[str, str], project: str) -> None:
        """`codex` is the program to start, in the folder `project`."""
        self._codex, self._environment, self._project = codex, environment, project

    def forget(self) -> None:
        """Take what is trusted of our hooks out of the user's config.toml."""
        known = table_at(read_user_settings(self._environment), "hooks", "state")
        ours = {key: table_at(known, key) for key in known if key.startswith(f"{PLUGIN_ID}:")}
        keys = ["hooks.state"] if len(ours) == len(known) else [f'hooks.state."{key}"' for key in ours]
        if ours:
            asyncio.run(self.hooks(dict.fromkeys(keys)))
        kept = {state.get("trusted_content_hash") for state in ours.values()}
        for note in (user_folder(self._environment) / ".hook-trust").glob("*"):
            if note.read_text("utf-8") in kept:
                note.unlink()

    async def hooks(
        self, edits: Mapping[str, object] | None = None, *, trust: bool = False
    ) -> tuple[ListedHook, ...]:
        """Make these edits of settings, by their paths, and return our hooks, trusted where asked."""
        if not self._codex.path:
            raise HostError("Codex is not on PATH", "add its folder to PATH")
        command, at = (self._codex.path, "app-server"), self._project
        talk = open_dialogue(command, cwd=at, environment=self._environment, longest=LINE_LIMIT)
        try:
            async with asyncio.timeout(SERVER_S), talk as server:
                about = {"clientInfo": {"name": "supervisor", "version": __version__}}
                await _ask(server, "initialize", about, Raw)
                await server.say(b'{"method":"initialized"}')
                if edits:
                    await _edit(server, edits, "replace")
                hooks = await self._list(server)
                if trust:
                    state = {hook.key: {"trusted_hash": hook.current_hash} for hook in hooks}
                    await _edit(server, {"hooks.state": state}, "upsert")
                    hooks = await self._list(server)
                return hooks
        except (LineTooLongError, NotLaunchedError, TimeoutError) as error:
            raise HostError(f"`codex app-server` cannot be asked about hooks: {error}", BY_HAND) from error

    async def _list(self, server: ProcessDialogue) -> tuple[ListedHook, ...]:
        listed = await _ask(server, "hooks/list", {"cwds": [self._project]}, _Listed)
        return tuple(
            hook for folder in listed.data for hook in folder.hooks if hook.key.startswith(f"{PLUGIN_ID}:")
        )


async def _edit(server: ProcessDialogue, edits: Mapping[str, object], strategy: str) -> None:
    told = [{"keyPath": path, "value": value, "mergeStrategy": strategy} for path, value in edits.items()]
    await _ask(server, "config/batchWrite", {"edits": told, "reloadUserConfig": True}, Raw)


async def _ask(server: ProcessDialogue, method: str, params: object, kind: type[T]) -> T:
    """Ask the server once; what else it says meanwhile is left out."""
    await server.say(msgspec.json.encode({"id": 1, "method": method, "params": params}))
    while (line := await server.hear()) is not None:
        answer = try_decode(line, _Answer)
        if answer is None or answer.id != 1 or answer.method:
            continue
        result = try_decode(answer.result, kind)
        if answer.error is None and result is not None:
            return result
        said = (answer.error or {}).get("message", "it answered in another form")
        raise HostError(f"`codex app-server` refused {method}: {one_printable_line(str(said))}", BY_HAND)
    raise HostError(f"`codex app-server` ended before it answered {method}", BY_HAND)


# --- The installer ------------------------------------------------------------------------------------------


TRUST: Final = (
    "Codex runs a plugin's hooks only where you trust them, and says nothing where you do not. "
    "Supervisor's tell it what happens in a session, and ask it at every stop. Trust them?"
)


class CodexInstaller(HostInstaller):
    """Implements hosts.installing.HostInstaller."""

    name = HOST
    title = TITLE
    command = "codex"
    get = "npm install -g @openai/codex"
    typed = "$supervisor:goal all tests pass"
    tested = "0.144.0"
    update = "codex update"
    refused: ClassVar[Mapping[str, str]] = {
        installing.RUBRIC_EDITOR: "it starts no language servers",
        installing.STATUS_LINE: "a plugin cannot show one there",
    }

    @property
    def _server(self) -> CodexServer:
        return CodexServer(self.program, self.environment, str(self.project))

    def put(self, order: InstallOrder, steps: Steps) -> None:
        """Write the marketplace, have the host copy the plugin, and set what the user trusts."""
        self.needs_user_scope(order.scope)
        if not self.program.path:
            raise HostError("Codex is not on PATH", self.get)
        trusted = table_at(read_user_settings(self.environment), "hooks", "state")
        consents = order.renew and any(key.startswith(f"{PLUGIN_ID}:") for key in trusted)
        folder = _marketplace()
        steps.do(f"write the plugin into {folder}", write_marketplace, folder)
        self.run_each((("plugin", "marketplace", "add", str(folder)), ("plugin", "add", PLUGIN_ID)), steps)
        if steps.print_only:
            steps.say("ask whether you trust its hooks, and tell Codex so")
            return
        order.prepare()
        if not consents and not order.agree(TRUST):
            raise HostError("Codex runs none of its hooks until you trust them", f"{BY_HAND}, or add --yes")
        hooks = asyncio.run(self._server.hooks(trust=True))
        if not hooks or not all(hook.runs for hook in hooks):
            raise HostError("Codex lists hooks of ours that it does not run", BY_HAND)
        steps.say(f"trusted by you, as Codex lists them: {', '.join(hook.event_name for hook in hooks)}")

    def take(self, scope: str, steps: Steps) -> bool:
        """Take out the trust, the plugin, the marketplace and what the host leaves of them."""
        if scope != "user":
            steps.say(f"the plugin is not installed in the scope {scope}")
            return not self.present()
        if self.present():
            steps.do("take the trust in its hooks out of Codex's settings", self._server.forget)
            orders = (("plugin", "remove", PLUGIN_ID), ("plugin", "marketplace", "remove", MARKETPLACE))
            self.run_each(orders, steps)
        for folder in filter(Path.exists, (_marketplace(), cached_plugin(self.environment))):
            steps.do(f"remove {folder}", shutil.rmtree, folder)
        return True

    def present(self) -> bool:
        """Return whether the host's settings name our plugin."""
        return PLUGIN_ID in table_at(read_user_settings(self.environment), "plugins")

    async def examine(self, *, needed: bool) -> HostFindings:
        """Check version, plugin and trust."""
        lines = [await self.version_finding()]
        if not self.program.path:
            return HostFindings(tuple(lines))
        if not self.present():
            return HostFindings((*lines, self.missing_finding(needed=needed)))
        root = cached_plugin(self.environment) / "supervisor" / __version__
        try:
            hooks = await self._server.hooks()
            altered = altered_plugin({**self.environment, "PLUGIN_ROOT": str(root)})
        except HostError as trouble:
            lines.append(
                installing.error_finding(str(trouble), next(iter(trouble.moves), self.install_command))
            )
        else:
            lines += self._findings(root, hooks, altered)
        tools = installing.tools_command(root) if root.is_dir() else ()
        return HostFindings(tuple(lines), None, tools, self.title)

    def _findings(
        self, root: Path, hooks: tuple[ListedHook, ...], altered: str
    ) -> Iterator[installing.DoctorFinding]:
        if not root.is_dir():
            yield installing.warning_finding(
                f"the plugin in Codex is of another version, this is {__version__}", installing.UPGRADE
            )
        elif altered:
            yield installing.warning_finding(altered.partition(". Type")[0], self.install_command)
        else:
            yield installing.ok_finding(f"plugin {PLUGIN_ID} {__version__}")
        idle = [
            f"{hook.event_name} is {hook.trust_status if hook.enabled else 'off'}"
            for hook in hooks
            if not hook.runs
        ]
        if idle or not hooks:
            why = ", ".join(idle) or "it lists none"
            yield installing.error_finding(
                f"Codex runs no hook of ours, and says nothing: {why}",
                f"{self.install_command}; or {BY_HAND}",
            )
        else:
            yield installing.ok_finding(f"Codex runs our {len(hooks)} hooks: you trust them")


def _marketplace() -> Path:
    return user_paths().state / HOST
