"""The contract of hosts on the real programs: each host is one adapter file in `contract/`.

A host is started twice: once without a terminal and once in one, each with a home of its own into which
Supervisor is installed and from which it is uninstalled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from real_hosts.contract.adapter import (
    ESC_JUDGING,
    HEADLESS,
    HIDES_WORDS,
    TELLS_END,
    TELLS_SENT_BACK,
    TERMINAL,
    RealHost,
    real_hosts,
)
from real_hosts.install import InstallError, hosts_folder, installed, missing, newest_version
from real_hosts.opencode_supervised import SENT_BACK
from sidecar.cli.demo_agent import REPAIRED_SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("every host")

CLAIM: Final = "I looked at everything, all tests pass. Done."
HELD: Final = 'it is there --check "touch begun; until [ -e release ]; do sleep 0.1; done; false"'
"""A goal whose check runs until the test lets it go, and then fails."""
ENDLESS: Final = "echo Working for ever; until [ -e release ]; do sleep 0.1; done"
"""A command of the agent that runs until then."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "program" in metafunc.fixturenames:
        scene = HEADLESS if "headless" in metafunc.definition.name else TERMINAL
        rows = [
            pytest.param(
                (host, version), id=f"{host.program}-{version}", marks=pytest.mark.long if number else ()
            )
            for host in real_hosts()
            if scene not in host.cannot
            for number, version in enumerate((*host.versions, *(host.older if scene == HEADLESS else ())))
        ]
        metafunc.parametrize("program", rows, indirect=True, scope="session")


@pytest.fixture(scope="session")
def program(request: pytest.FixtureRequest) -> tuple[type[RealHost], str, Path]:
    """A host with its binary, which is looked up before any test replaces the home."""
    host, version = request.param
    try:
        version = newest_version(host.package) if version == "newest" else version
        return host, version, installed(host.package, version, hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def host(
    program: tuple[type[RealHost], str, Path], model: ScriptedModel, tmp_path: Path
) -> Iterator[RealHost]:
    """A host in a clean room into which Supervisor was just installed, with a project whose tests fail."""
    made, version, binary = program
    folder = tmp_path / "room"
    folder.mkdir()
    under = made(binary, version, folder, model)
    under.begin()
    try:
        done = under.supervisor("install", under.program, *under.consent)
        assert done.returncode == 0, done.stdout + done.stderr
        yield under
    finally:
        under.supervisor("stop")


def uninstalled(host: RealHost) -> None:
    """Take Supervisor out again: nothing of it is left."""
    assert host.traces() != set()
    done = host.supervisor("uninstall", host.program, "--purge")
    assert done.returncode == 0, done.stdout + done.stderr
    assert host.traces() == set()
    assert not host.state.exists()


def sent_back_once_and_achieved(host: RealHost, budget: int) -> None:
    (told,) = host.told()
    assert "test_a_tenth_is_taken_off" in told
    report = host.report()
    assert (report.status, report.exit_code) == ("achieved", 0)
    assert f"continuations 1/{budget}" in report.text
    assert host.stops()[-2:] == ["continue", "achieved"]
    why = host.supervisor("status").stdout
    assert "goal achieved: all tests pass" in why
    assert "test_shop.py::test_a_tenth_is_taken_off: " in why


def test_headless_a_false_done_is_sent_back_once_with_the_failing_test_and_repaired_it_is_achieved(
    host: RealHost,
) -> None:
    repairs = host.calls(*host.write(host.project / "shop.py", REPAIRED_SOURCE))
    script = [host.says(CLAIM), *repairs, host.says("Repaired and tested.")]
    host.model.add(*script)
    done = host.headless(host.typed("goal", "all tests pass"))
    assert done.returncode == 0, done
    assert "Repaired and tested." in done.stdout
    sent_back_once_and_achieved(host, 16)
    assert host.asked() == len(script)  # the goal itself cost none
    looked = host.supervisor("doctor", "--no-probe").stdout
    assert host.title in looked
    assert f"type: supervisor install {host.program}" not in looked
    uninstalled(host)


def test_in_a_terminal_esc_is_never_judged_commands_cost_nothing_and_a_false_done_is_sent_back(
    host: RealHost,
) -> None:
    with host.terminal() as terminal:
        terminal.submit(host.typed("retry", "3"))
        terminal.wait_for("budget of 3 continuations", timeout=60)
        host.wipe(terminal)
        assert host.asked() == 0

        host.model.add(*host.calls(host.run(ENDLESS)))
        terminal.submit("hello there")
        terminal.wait_for(host.working, timeout=60)
        host.interrupt(terminal)
        terminal.wait_for(host.interrupted)
        host.wipe(terminal)
        assert set(host.stops()) <= {"interrupted", "unfinished", "superseded"}

        host.model.add(host.says("It is there."))
        terminal.submit(host.typed("goal", HELD))
        terminal.wait_for(host.judging, timeout=60)
        if ESC_JUDGING not in host.cannot:
            host.interrupt(terminal)
            terminal.wait_until_gone(host.judging)
            assert host.stops()[-1:] != ["continue"]
            host.wipe(terminal)
        host.leave(terminal)
        assert host.told() == []

        repairs = host.calls(*host.write(host.project / "shop.py", REPAIRED_SOURCE))
        script = [host.says(CLAIM), *repairs, host.says("Repaired and tested.")]
        host.model.add(*script)
        asked = host.asked() + len(script)
        terminal.submit(host.typed("goal", "all tests pass"))
        if TELLS_SENT_BACK not in host.cannot:
            terminal.wait_for("Supervisor: sent back 1/3", timeout=120)
        host.model.wait_for(lambda _: host.asked() == asked, timeout=120)
        if TELLS_END not in host.cannot:
            terminal.wait_for("Supervisor: goal achieved", timeout=120)
        terminal.wait_until_gone(host.busy, timeout=60)
        assert (re.search(SENT_BACK, terminal.history) is None) is (HIDES_WORDS not in host.cannot)
    (host.project / "release").touch()  # whatever of the above still waits for it
    assert host.asked() == asked
    sent_back_once_and_achieved(host, 3)
    uninstalled(host)
