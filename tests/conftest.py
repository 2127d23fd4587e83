"""Guards for every test. Together they put the user's home, settings and hosts out of reach."""

import os
from pathlib import Path

import hypothesis
import pytest

FOREIGN_PREFIXES = ("ANTHROPIC_", "CLAUDE", "GIT_", "LITELLM_", "OPENAI_", "OPENCODE", "SUPERVISOR_", "XDG_")
"""Variables of hosts, models, git and desktops. A test that wants one sets it."""

hypothesis.settings.register_profile("dev", deadline=None)
# The same examples in every run: a red run is about the change, never about luck. `dev` does the searching.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


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
def git_asks_nobody_and_reads_no_settings_of_the_user(
    no_variable_of_a_host_or_model_leaks_in: None,  # noqa: ARG001 - it comes first: this one sets GIT_*
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.invalid")
