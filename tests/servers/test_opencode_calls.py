"""The whole way of a stop in OpenCode: over the socket, and back over it for what the host is asked."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import typing
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from hosts.opencode.writing import answer, bash, text, user
from servers.bench import LIMIT_S, Bench, Caller
from servers.conftest import Start
from sidecar import __version__
from sidecar.hosts.opencode import codec, link
from sidecar.hosts.opencode.record import TOO_LONG, OpenCodeHistory
from sidecar.hosts.ports import HostTranscripts
from sidecar.judging.backends.chain import build_judge
from sidecar.judging.backends.opencode import TITLE
from sidecar.kernel.evidence import Complete, FileBaseline, Gap, Incomplete, Met
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.loop import Loop
from sidecar.kernel.session import SessionKey
from sidecar.platform.rpc import PeerError
from sidecar.servers.sidecar import SidecarIntervals
from sidecar.wiring.sidecar import build_methods
from support.fake_opencode import JUDGED, MODEL, FakeOpenCode, wording
from support.fakes import Fakes
from support.judge_worlds import TEXTS

if TYPE_CHECKING:
    from sidecar.servers.control import Methods, SidecarControl

DONE: Final = wording(Complete((Met("the tests pass", ("E1",)),), 0.9))
MORE: Final = wording(Incomplete((Gap("comments", "goal", ()),), "Accept them.", 1.0))
ALL_CALLS: Final = ["session.messages", *JUDGED]


class Asked(msgspec.Struct):
    """What the plugin is asked."""

    directory: str
    call: str
    given: dict[str, Any]


class Plugin:
    """Speaks as hooks/opencode.js does, for a host that is a script. It owns its connection."""

    def __init__(self, caller: Caller, host: FakeOpenCode) -> None:
        self.host = host
        self.caller = caller
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    async def tells(self, kind: str, **fields: Any) -> Any:
        """Tell, and wait for the answer to carry out."""
        ident = len(self._results) + 1
        self._results[ident] = asyncio.get_running_loop().create_future()
        event = json.loads(self.host.event(type=kind, **fields))
        told = {"host": "opencode", "event": event, "environment": {"PATH": "/bin"}, "version": "1.2.3"}
        self.caller.call("hook", told, ident)
        async with asyncio.timeout(LIMIT_S):
            return await self._results[ident]

    async def leave(self) -> None:
        self.caller.leave()
        async with asyncio.timeout(LIMIT_S):
            await self._reading

    async def _read(self) -> None:
        while line := await self.caller.reader.readline():
            message = json.loads(line)
            if message.get("method") == link.PLUGIN_METHOD:
                task = asyncio.create_task(self._serve(message["id"], message["params"]))
                self._tasks.add(task)
            elif "result" in message:
                self._results[message["id"]].set_result(message["result"])
            elif "error" in message:
                self._results[message["id"]].set_exception(LookupError(message["error"]["message"]))

    async def _serve(self, ident: int, params: Any) -> None:
        try:
            said = await self.host.ask(link.PLUGIN_METHOD, msgspec.convert(params, Asked))
        except PeerError as error:
            refusal = {"code": -32000, "message": str(error)}
            self.caller.send(json.dumps({"jsonrpc": "2.0", "id": ident, "error": refusal}).encode())
        else:
            self.caller.send(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (ident, bytes(said)))


def host_of(name: str) -> FakeOpenCode:
    host = FakeOpenCode(f"ses_{name}", f"/home/user/{name}")
    host.listed = [user("u", text(f"go {name}"), at=1), answer("a", bash("make"), text("All done."), at=2)]
    return host


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture
async def bench(start: Start, fakes: Fakes) -> Bench:
    """A sidecar with the real way to OpenCode, and with everything else in memory."""
    record = HostTranscripts({codec.HOST: OpenCodeHistory(fakes.clock.now)})

    def build(control: SidecarControl) -> Methods:
        services = dataclasses.replace(fakes.services, transcripts=record, judge=build_judge(TEXTS, {}))
        return build_methods(control, services)

    return start(build=build)


async def plugin_of(bench: Bench, name: str) -> Plugin:
    return Plugin(await bench.caller(), host_of(name))


def test_the_plugin_offers_what_is_asked_and_tells_what_is_understood() -> None:
    plugin = (TEXTS.parent / "hooks" / "opencode.js").read_text(encoding="utf-8")
    offered = re.search(r"^const OFFERED = (\[[^]]*\])$", plugin, re.MULTILINE)
    assert offered is not None
    assert set(json.loads(offered[1])) == set(ALL_CALLS)
    tags = [event.__struct_config__.tag for event in typing.get_args(codec.PluginEvent)]
    assert [tag for tag in tags if f'"{tag}"' not in plugin] == []


def test_the_plugin_and_the_sidecar_call_the_same_things_by_the_same_names() -> None:
    plugin = (TEXTS.parent / "hooks" / "opencode.js").read_text(encoding="utf-8")
    for name in (__version__, TITLE, TOO_LONG):
        assert f'"{name}"' in plugin


def test_no_host_takes_a_working_sidecar_for_a_silent_one() -> None:
    """A person waits for a typed command, and the sign of work must come twice in that time."""
    plugin = (TEXTS.parent / "hooks" / "opencode.js").read_text(encoding="utf-8")
    (ours,) = re.findall(r"^const COMMAND = .*silence: ([\d_]+)", plugin, re.MULTILINE)
    relay = json.loads((TEXTS.parent / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    (theirs,) = {hook["args"][-2] for one in relay["hooks"]["UserPromptSubmit"] for hook in one["hooks"]}
    assert 2 * SidecarIntervals().beat_s < min(int(ours) / 1000, float(theirs))


async def test_a_goal_is_judged_by_the_hosts_own_model_and_the_agent_is_sent_back(
    bench: Bench, fakes: Fakes
) -> None:
    plugin = await plugin_of(bench, "one")
    plugin.host.says(MORE)
    assert "Supervisor: on." in (await plugin.tells("session.start", fresh=True))["notice"]
    typed = await plugin.tells("command", name="goal", arguments='"the parser accepts comments"')
    assert (typed["work"], fakes.goal(SessionKey("opencode", "ses_one")).condition) == (
        True,
        "the parser accepts comments",
    )
    told = await plugin.tells("session.idle")
    assert told["variant"] == "warning"
    assert "Accept them." in told["say"]
    assert plugin.host.calls == ALL_CALLS
    assert plugin.host.given("session.prompt")[0]["body"]["model"] == MODEL
    await plugin.leave()


async def test_two_sessions_at_once_are_each_asked_of_their_own_host(bench: Bench, fakes: Fakes) -> None:
    plugins = [await plugin_of(bench, name) for name in ("one", "two")]
    held = [plugin.host.holds("session.messages") for plugin in plugins]
    for plugin in plugins:
        await plugin.tells("command", name="goal", arguments="all tests pass")
    plugins[0].host.says(DONE)
    plugins[1].host.says(MORE)
    stops = [asyncio.create_task(plugin.tells("session.idle")) for plugin in plugins]
    for plugin, event in reversed(list(zip(plugins, held, strict=True))):
        await asyncio.wait_for(plugin.host.came("session.messages").wait(), LIMIT_S)
        event.set()
    first, second = await asyncio.gather(*stops)
    assert ("say" in first, "say" in second) == (False, True)
    for plugin in plugins:
        assert plugin.host.calls == ALL_CALLS
        assert {asked.folder for asked in plugin.host.asked} == {plugin.host.folder}
        case = plugin.host.given("session.prompt")[0]["body"]["parts"][0]["text"]
        assert f"go {plugin.host.session.removeprefix('ses_')}" in case
    assert fakes.goal(SessionKey("opencode", "ses_one")).status is GoalStatus.JUDGED
    for plugin in plugins:
        await plugin.leave()


async def test_two_sessions_of_one_process_share_its_connection(bench: Bench) -> None:
    plugin = await plugin_of(bench, "one")
    await plugin.tells("command", name="goal", arguments="all tests pass")
    plugin.host.says(DONE)
    other = {"id": "ses_two", "directory": "/home/user/two"}
    await plugin.tells("session.idle", session=other)
    (asked,) = plugin.host.asked
    assert (asked.call, asked.folder, asked.given["path"]) == (
        "session.messages",
        "/home/user/two",
        {"id": "ses_two"},
    )
    assert "goal judged done" in (await plugin.tells("session.idle"))["notice"]
    assert plugin.host.given("session.create")[0]["body"]["parentID"] == "ses_one"
    await plugin.leave()


async def test_a_host_that_refuses_to_be_asked_is_let_rest(bench: Bench, fakes: Fakes) -> None:
    plugin = await plugin_of(bench, "one")
    await plugin.tells("command", name="goal", arguments="all tests pass")
    plugin.host.refuses("session.messages", '{"name":"NotFoundError"}')
    told = await plugin.tells("session.idle")
    assert "say" not in told
    (_, entry) = fakes.record.read(SessionKey("opencode", "ses_one"))
    assert '{"name":"NotFoundError"}' in entry.detail
    await plugin.leave()


async def test_a_host_that_leaves_while_its_model_thinks_ends_the_judging_at_once(
    bench: Bench, fakes: Fakes
) -> None:
    plugin = await plugin_of(bench, "one")
    await plugin.tells("command", name="goal", arguments="all tests pass")
    plugin.host.holds("session.prompt")
    stop = asyncio.create_task(plugin.tells("session.idle"))
    await asyncio.wait_for(plugin.host.came("session.prompt").wait(), LIMIT_S)
    stop.cancel()
    await plugin.leave()
    other = await plugin_of(bench, "two")
    assert await other.tells("session.start") == {}
    async with asyncio.timeout(LIMIT_S):
        while len(entries := fakes.record.read(SessionKey("opencode", "ses_one"))) < 2:
            await other.tells("session.start")
    assert (entries[-1].decided, entries[-1].detail) == ("interrupted", "the host let go")
    await other.leave()


async def test_a_prompt_ends_the_judging_and_the_judges_session_is_put_away(bench: Bench) -> None:
    plugin = await plugin_of(bench, "one")
    await plugin.tells("command", name="goal", arguments="all tests pass")
    plugin.host.holds("session.prompt")
    stop = asyncio.create_task(plugin.tells("session.idle"))
    await asyncio.wait_for(plugin.host.came("session.prompt").wait(), LIMIT_S)
    assert await plugin.tells("prompt", message="msg_2", parts=[{"type": "text"}]) == {}
    assert await stop == {}
    assert (plugin.host.calls, plugin.host.children) == (ALL_CALLS, [])
    await plugin.leave()


@pytest.mark.parametrize("kind", ["session.compacted", "", "x" * 10_000])
async def test_an_event_that_nobody_knows_is_refused_and_the_connection_stays(
    kind: str, bench: Bench
) -> None:
    plugin = await plugin_of(bench, "one")
    with pytest.raises(LookupError, match="cannot be used"):
        await plugin.tells(kind)
    assert await plugin.tells("session.start") == {}
    await plugin.leave()


async def test_a_deleted_session_takes_its_task_loop_along(bench: Bench, fakes: Fakes) -> None:
    plugin = await plugin_of(bench, "one")
    key = SessionKey("opencode", "ses_one")
    await plugin.tells("session.start", fresh=True)
    base = FileBaseline(tree="t", snapshot="base")
    fakes.loops.save(Loop(key=key, goals=(Goal(id="T1", condition="c", base=base),)))
    await plugin.tells("session.deleted")
    assert (fakes.loops.load(key), fakes.workspace.returned) == (None, ["base"])
    await plugin.leave()
