"""What it costs each call of a tool that the hosts refuse writes to Supervisor's own files.

Claude Code: the real host (`claude` on PATH) with a scripted model makes calls, a shell line and a new file
in turn; the shell line writes down when it ran, so the host's start does not count. Its deny rules against
no rules; and, for comparison, a hook that starts a process at each call. OpenCode: the plugin's hook in
Node, without the host.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # for `support.NAME`

import msgspec
from measure import Figure, Report, Series, in_turn, rounds
from stage import HERE, Stage, Unfit, staged

from sidecar.hosts.claude_code.settings import edit_deny_rules
from sidecar.platform.installation import plugin_root
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

ROUNDS: Final = 20
PAIRS: Final = 15
"""A shell line and a new file, so often in one run of the host."""
MEAN_OF: Final = 5000
"""Calls of the plugin's hook that one value is the mean of."""
RUN_S: Final = 120.0
FOLDERS: Final = (
    "~/.local/state/supervisor",
    "~/.config/supervisor",
    "~/.config/opencode/supervisor",
    "~/tools",
)
RULES: Final = (*(f"Edit({one}/**)" for one in FOLDERS), "Read(~/.local/state/supervisor/mcp-token)")
"""What an install puts in."""
EACH: Final = (
    b'{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"python3",'
    b'"args":["-I","-S","-c","pass"]}]}]}}'
)


def measured(*, quick: bool) -> Report:
    """Time of a call in Claude Code against one without rules, and of the plugin's hook against a stat."""
    with staged() as stage:
        opencode = _opencode(stage, quick=quick)
        try:
            return Report((*opencode, *_claude(stage, quick=quick)))
        except Unfit as why:
            return Report(tuple(opencode), (f"Claude Code was not measured: {why}",))


def _claude(stage: Stage, *, quick: bool) -> list[Figure]:
    variants = (edit_deny_rules(b"{}", (), RULES), b"{}", EACH)
    jobs = [partial(_call_ms, stage, settings) for settings in variants]
    ruled, bare, hooked = in_turn(rounds(ROUNDS, quick=quick), *jobs, warm_up=1)
    return [
        Figure(name="a call in Claude Code, deny rules", ours=ruled, against="no rules", peer=bare, aim=1.05),
        Figure(name="a call in Claude Code, a process each", ours=hooked, against="no rules", peer=bare),
    ]


def _call_ms(stage: Stage, settings: bytes) -> float:
    """Milliseconds of one call, the mean over a run."""
    times = stage.project / "times"
    times.unlink(missing_ok=True)
    file = stage.home / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(settings)
    with ScriptedModel() as model:
        for number in range(PAIRS):
            model.add(*(_calls(one) for one in _pair(stage.project / f"new{number}.txt")))
        model.add(ReplyRule(reply_with_text("Done.")))
        environment = {
            **stage.environment,
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-not-a-real-key-0000000000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        subprocess.run(  # noqa: S603 - the host on PATH
            [stage.program("claude"), "-p", "Go.", "--permission-mode", "bypassPermissions"],
            cwd=stage.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=RUN_S, check=True,
        )  # fmt: skip
    for new in stage.project.glob("new*.txt"):
        new.unlink()
    ran = [int(line) for line in times.read_text(encoding="utf-8").split()]
    if len(ran) != PAIRS:
        raise RuntimeError(f"{len(ran)} of {PAIRS} shell lines ran")
    return (ran[-1] - ran[0]) / 1e6 / (2 * (PAIRS - 1))


def _pair(new: Path) -> tuple[ReplyToolCall, ReplyToolCall]:
    line = {"command": "date +%s%N >> times", "description": "Note the time"}
    return ReplyToolCall("Bash", line), ReplyToolCall("Write", {"file_path": str(new), "content": "x\n"})


def _calls(call: ReplyToolCall) -> ReplyRule:
    return ReplyRule(reply_with_calls(call), RequestMatch(has_tool="Bash"))


def _opencode(stage: Stage, *, quick: bool) -> list[Figure]:
    plugin = stage.folder / "plugin.mjs"
    shutil.copy(plugin_root() / "hooks" / "opencode.js", plugin)
    command = [
        stage.program("node"),
        str(HERE / "own_files.mjs"),
        str(plugin),
        str(stage.project),
        str(MEAN_OF),
    ]
    found = [
        msgspec.json.decode(stage.timed(command)[1], type=dict[str, float])
        for _ in range(rounds(ROUNDS, quick=quick))
    ]
    series = {name: Series(tuple(one[name] for one in found)) for name in found[0]}
    kinds = {"edit": "an edit", "bash": "a shell line", "named": "a shell line that reads our state"}
    return [
        Figure(
            name=f"{kind} in OpenCode, the plugin's hook",
            ours=series[name], against="a stat of a file", peer=series["stat"], unit="us",
        )
        for name, kind in kinds.items()
    ]  # fmt: skip
