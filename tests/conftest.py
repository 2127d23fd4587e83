"""Guards for every test. Together they put the user's home, settings and hosts out of reach.

They also keep the lanes: a test that starts a process must be marked `process`, so that the fast lane has
none (CONTRIBUTING.md, "Tests in lanes"). And every test is bounded: one that hangs fails.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from sidecar.platform.slots import CALLER, Caller
from support.bounds import bounded

pytest_plugins = ["support.postgres"]

FOREIGN_PREFIXES = (
    *("ANTHROPIC_", "CLAUDE", "CODEX_", "COPILOT_", "GEMINI_", "GIT_", "LITELLM_", "OPENAI_", "OPENCODE"),
    *("SUPERVISOR_", "XDG_"),
    *("PGHOST", "PGPASS", "PGSERVICE", "PGSSL", "PGUSER"),
    "COLUMNS",  # pytest-xdist sets it for its workers
)
"""Variables of hosts, models, git, desktops, databases and terminals. A test that wants one sets it."""

TESTS = Path(__file__).parent
PROCESS_FIXTURES = frozenset({"stage", "home", "own_home", "editor", "listener", "postgres"})
"""Fixtures that start a sidecar, a pipe, an editor or a server: they set the marker of who asks for them."""
DEPENDENCY_SUITES = (
    "contracts/",
    "hosts/claude_code/test_codec",
    "hosts/opencode/test_codec",
    "judging/backends/test_http",
    "platform/test_secrets",
    "platform/test_shell",
    "platform/test_watching",
    "rubric/test_rubric_markdown",
    "servers/rubric_language/test_rubric_language",
    "servers/test_mcp_conversation",
    "servers/test_mcp_http",
    "servers/test_mcp_pipe_lines",
)
"""Where a library that we depend on is used at its edges: these run on the lower bounds too."""
PROCESS_STARTERS = (
    (subprocess.Popen, "__init__"),
    (os, "posix_spawn"),
    (os, "posix_spawnp"),
    (os, "fork"),
    (os, "forkpty"),
    (os, "system"),
)
"""Every way of starting a process. Not an audit hook: one written in Python runs within `sys.settrace` too,
and meanwhile a thread that starts under coverage dies of "Cannot install a trace function"."""

LIMIT_S = 300.0
"""Seconds that setting up a test, the test, and taking it down may take each."""
LONG_LIMIT_S = 600.0
"""The same where real hosts are installed and started, and where hypothesis searches long."""

hypothesis.settings.register_profile("dev", deadline=None, max_examples=25)
# The same examples in every run: a red run is about the change, never about luck. `dev` and `long` search.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("long", deadline=None, max_examples=500)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


def pytest_configure() -> None:
    """Let what the tests start hear Ctrl-C: the background job of a script ignores it, as do its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with bounded(_limit_s(item)):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with bounded(_limit_s(item)):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with bounded(_limit_s(item)):
        yield


def _limit_s(item: pytest.Item) -> float:
    long = "real_hosts" in item.path.parts or os.environ.get("HYPOTHESIS_PROFILE") == "long"
    return LONG_LIMIT_S if long else LIMIT_S


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
        if "real_hosts" in item.path.parts or not PROCESS_FIXTURES.isdisjoint(fixtures):
            item.add_marker("process")
        if item.path.relative_to(TESTS).as_posix().startswith(DEPENDENCY_SUITES):
            item.add_marker("touches_dependencies")


@pytest.fixture(autouse=True)
def only_a_test_of_the_process_lane_starts_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("process") is not None:
        yield
        return
    started: list[str] = []

    def noted(start: Callable[..., object]) -> Callable[..., object]:
        def start_noted(*arguments: object, **options: object) -> object:
            started.append(f"{start.__qualname__} {arguments[-1:]}"[:200])
            return start(*arguments, **options)

        return start_noted

    with pytest.MonkeyPatch.context() as patches:
        for owner, name in PROCESS_STARTERS:
            patches.setattr(owner, name, noted(getattr(owner, name)))
        yield
    if started:
        pytest.fail(f"it starts a process and is not marked `process`: {started[0]}", pytrace=False)


@pytest.fixture(autouse=True)
def no_variable_of_a_host_or_model_leaks_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(FOREIGN_PREFIXES):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def home_is_a_fresh_folder(
    no_variable_of_a_host_or_model_leaks_in: None,  # noqa: ARG001 - it comes first: this one sets XDG_*
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name, folder in {
        "XDG_CACHE_HOME": ".cache",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_RUNTIME_DIR": "run",
        "XDG_STATE_HOME": ".local/state",
    }.items():
        monkeypatch.setenv(name, str(home / folder))
        (home / folder).mkdir(mode=0o700, parents=True)
    return home


@pytest.fixture(autouse=True)
def nobody_asks_for_checks_as_an_earlier_test_did() -> None:
    """A command that is typed in this process says for the rest of it who waits for checks."""
    CALLER.set(Caller())


@pytest.fixture(autouse=True)
def git_asks_nobody_and_reads_no_settings_of_the_user(
    no_variable_of_a_host_or_model_leaks_in: None,  # noqa: ARG001 - it comes first: this one sets GIT_*
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.invalid")
