"""The guards of tests/conftest.py hold."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from sidecar.platform.paths import user_paths


def test_every_folder_of_the_user_is_a_temporary_one(tmp_path: Path) -> None:
    temporary = tmp_path.parent
    folders = [
        Path.home(),
        user_paths().state,
        user_paths().config,
        *(Path(os.environ[name]) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")),
    ]

    assert [folder for folder in folders if not folder.is_relative_to(temporary)] == []
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_the_runtime_folder_is_the_owners_alone() -> None:
    assert Path(os.environ["XDG_RUNTIME_DIR"]).stat().st_mode & 0o077 == 0


def test_the_temporary_folder_of_a_test_starts_empty(tmp_path: Path) -> None:
    assert list(tmp_path.iterdir()) == []


class TestLeaks:
    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def variables_of_a_host() -> object:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("ANTHROPIC_API_KEY", "CLAUDECODE", "GIT_DIR", "OPENCODE_CONFIG", "SUPERVISOR_PORT"):
                patch.setenv(name, "leaked")
            yield

    def test_variables_of_hosts_models_and_git_are_gone(self) -> None:
        assert [name for name, value in os.environ.items() if value == "leaked"] == []


@pytest.mark.process
def test_git_knows_nobody_but_the_test(tmp_path: Path) -> None:
    settings = subprocess.run(
        ["git", "config", "--list", "--show-scope"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    identity = subprocess.run(
        ["git", "var", "GIT_AUTHOR_IDENT"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert settings.stdout == ""
    assert identity.stdout.startswith("A Test <test@example.invalid>")
