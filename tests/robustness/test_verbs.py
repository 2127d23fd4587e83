"""The verbs of the command line, typed as a person would, against a real sidecar."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE
from support.scene import SUPERVISOR, Stage

pytestmark = pytest.mark.process

PICTURE = Path(__file__).parents[2] / "docs" / "demo.svg"
"""Shows what this demo prints. RENEW_SNAPSHOTS=1 draws it anew."""
SCREEN = 920
"""Height of a screen, in the picture's pixels: 36 lines."""


@pytest.mark.smoke
@pytest.mark.touches_dependencies
def test_the_demo_tells_its_story_plainly_and_ends_well(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    done = subprocess.run(
        [str(SUPERVISOR), "demo", "--svg", str(picture)],
        cwd=tmp_path, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    story = [line for line in done.stdout.splitlines() if line.startswith(("you", "supervisor", "✔"))]
    assert "goal set" in story[1]
    assert "sent back 1/16" in story[2]
    assert "sent back 2/16: test_shop.py: as it was when the work began, it still fails" in story[3]
    assert "goal achieved" in story[4]
    assert "test_a_tenth_is_taken_off" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Next, in a project of yours: supervisor install ")
    assert "\x1b[" not in done.stdout
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    if os.environ.get("RENEW_SNAPSHOTS"):
        PICTURE.write_text(drawn, encoding="utf-8")
    kept = PICTURE.read_text(encoding="utf-8")
    assert _shown_texts(kept) == _shown_texts(drawn)
    assert float(re.findall(r'viewBox="0 0 \d+ ([\d.]+)"', kept)[0]) <= SCREEN
    assert [path.name for path in tmp_path.iterdir() if path.name != "demo.svg"] == []


def _shown_texts(picture: str) -> list[str]:
    """Return what a picture says, without the ids of messages, which differ in every run."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture)
    return [re.sub(r"\[supervisor&#160;[0-9a-f]{6}\]", "", text) for text in texts]


async def test_the_log_is_shown_and_a_forgotten_session_leaves_nothing(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    agent.edit("shop.py", REPAIRED_SOURCE)  # so that the agent rests, and an order is the user's
    agent.say("All tests pass. Done.")
    await agent.stop()
    shown = stage.supervisor("events", "--session", agent.session, "--json")
    events = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [event["data"]["type"] for event in events] == ["order-given", "stop-judged", "work-ended"], shown
    assert f"stop-judged claude-code:{agent.session}" in stage.supervisor("events", "--after", "1").stdout
    address = stage.supervisor("dashboard").stdout.strip()
    async with httpx2.AsyncClient(timeout=60) as browser:
        room = (await browser.get(address)).text.partition("url=/")[2].partition("/")[0]
        page = await browser.get(
            f"{address.partition('?')[0]}{room}/session?host=claude-code&id={agent.session}"
        )
    assert "all tests pass" in page.text
    assert "achieved by checks" in page.text
    refused = stage.supervisor("forget", agent.session, CLAUDECODE="1")
    assert (refused.returncode, "only the user may do this" in refused.stderr) == (1, True)
    done = stage.supervisor("forget", agent.session)
    assert (done.returncode, "1 session with state, journal and kept files" in done.stdout) == (0, True)
    state = stage.sessions.parent
    left = [path for path in state.rglob("*") if path.is_file() and path.parent.name not in ("log", "run")]
    assert [path for path in left if agent.session.encode() in path.read_bytes()] == []
    assert [path for path in stage.sessions.iterdir() if agent.session in path.name] == []


async def test_an_agents_shell_may_look_but_not_change(stage: Stage) -> None:
    await stage.agent_with_goal()
    orders = (
        ("goal", "clear"),
        ("goal", "hold", "it is right"),
        ("retry", "100"),
        ("off",),
        ("goal", "set", "nothing"),
    )
    for arguments in orders:
        done = stage.supervisor(*arguments, CLAUDECODE="1")
        assert done.returncode == 1
        assert "only the user may do this" in done.stderr
    assert stage.report().status == "active"


async def test_a_script_learns_from_exit_codes_where_the_goal_stands(stage: Stage) -> None:
    assert stage.supervisor("goal", "status", "--exit-code").returncode == 3
    agent = await stage.agent_with_goal()
    assert stage.supervisor("goal", "status", "--exit-code").returncode == 1
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Done.")
    await agent.stop()
    assert stage.supervisor("goal", "status", "--exit-code").returncode == 0
    assert json.loads(stage.supervisor("goal", "status", "--json").stdout)["status"] == "achieved"


@pytest.mark.proves("seeing and asking back")
async def test_status_tells_what_was_decided_and_why(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    agent.say("All tests pass.")
    await agent.stop()
    shown = stage.supervisor("status").stdout
    assert "continue" in shown
    assert "tests: failed" in shown.replace("\n", "")
    assert "test_a_tenth_is_taken_off" in shown.replace("\n", "")
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Repaired.")
    await agent.stop()
    told = stage.supervisor("explain", "--last", "2").stdout
    ended = [line.partition(": ")[2] for line in told.splitlines() if line.startswith("20")]
    assert ended == ["sent back by checks", "achieved by checks"]
    assert "ran: python -m pytest -q" in told
    assert "then a check that had failed passed" in told
    (back, achieved) = json.loads(stage.supervisor("history", "--json").stdout)
    assert (back["decided"], back["afterwards"], achieved["decided"]) == ("sent back", "repaired", "achieved")
    (header, row) = stage.supervisor("stats", "--by", "host", "--csv").stdout.splitlines()
    assert header.startswith("name,stops,sent_back,right,nothing,achieved,")
    assert row.startswith("claude-code,2,1,1,0,1,")
    shown = stage.supervisor("stats").stdout
    assert "stops  sent back  right" in shown


@pytest.mark.proves("seeing and asking back")
async def test_shadow_mode_shows_what_it_would_send_back_until_it_is_switched_on(stage: Stage) -> None:
    settings = stage.scene.home / ".config" / "supervisor" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('mode = "shadow"\n', encoding="utf-8")
    agent = await stage.agent_with_goal()
    agent.say("All tests pass.")
    assert (await agent.stop()).system_message.startswith("Supervisor: shadow mode: would have sent back: ")
    assert "shadow mode: nothing is sent back" in stage.supervisor("status").stdout
    (shown,) = json.loads(stage.supervisor("history", "--json").stdout)
    assert (shown["decided"], shown["by"]) == ("would have been sent back", "checks")
    assert "would have been sent back by checks" in stage.supervisor("explain").stdout
    assert "To end that: supervisor on" in stage.supervisor("on", "--project").stdout
    assert "Shadow mode ends" in stage.supervisor("on").stdout
    assert settings.read_text(encoding="utf-8") == 'mode = "on"\n'
    assert "Shadow mode" not in stage.supervisor("on").stdout
    agent.say("All tests pass.")
    assert (await agent.stop()).system_message.startswith("Supervisor: sent back 1/16: ")


@pytest.mark.proves("seeing and asking back")
async def test_what_a_person_holds_is_not_sent_back_and_explain_says_who_and_why(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    agent.say("All tests pass.")
    await agent.stop()
    held = await agent.prompt("/supervisor:goal hold the price list is wrong")
    assert "not asked again while the files are as they were: " in f"{held.reason}{held.system_message}"
    agent.say("All tests pass, as before.")
    assert "not sent back, as you took it back" in (await agent.stop()).system_message
    told = stage.supervisor("explain").stdout
    assert "as a person took it back: the price list is wrong (typed in the host): " in told, told
    assert stage.report().status == "active"


def _socket_is_a_folder(stage: Stage) -> None:
    stage.end_sidecar()
    (stage.sessions.parent / "run" / "sidecar.sock").unlink(missing_ok=True)
    (stage.sessions.parent / "run" / "sidecar.sock").mkdir()


def _sidecar_is_stopped(stage: Stage) -> None:
    os.kill(int((stage.sessions.parent / "run" / "sidecar.lock").read_text(encoding="utf-8")), signal.SIGSTOP)


@pytest.mark.parametrize("harm", [_socket_is_a_folder, _sidecar_is_stopped])
def test_what_doctor_says_to_type_repairs_it(stage: Stage, harm: Callable[[Stage], None]) -> None:
    assert stage.supervisor("status").returncode == 0
    harm(stage)
    wrong = _errors(stage)
    assert len(wrong) == 1
    done = subprocess.run(
        ["/bin/sh", "-c", next(iter(wrong.values()))],
        env={**stage.scene.environment, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert wrong.keys().isdisjoint(_errors(stage))


def _errors(stage: Stage) -> dict[str, str]:
    """What doctor calls an error, with what to type, but for what a machine without hosts lacks."""
    done = stage.supervisor("doctor", "--no-probe", "--json", PATH="/usr/bin:/bin")
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)["findings"]
    return {
        one["what"]: one["remedy"]
        for one in found
        if one["level"] == "error" and "runtime" not in one["what"]
    }
