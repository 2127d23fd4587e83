"""The guards of tests/conftest.py hold."""

import asyncio
import os
import pwd
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sidecar.platform.paths import user_paths
from support import bounds
from support.bounds import bounded

CONFTEST = Path(__file__).parent.parent / "conftest.py"
HANGING = """
import os, signal, threading
import pytest

def test_it_hangs():
    threading.Event().wait()

def test_it_hears_ctrl_c():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait()
"""


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


class TestHanging:
    """A test that hangs fails with the place where it hung, also where it holds on to the first alarm."""

    def test_it_hangs(self) -> None:
        other = threading.Event()
        threading.Thread(target=other.wait, name="the other", daemon=True).start()
        with (
            pytest.raises(
                pytest.fail.Exception, match=r"longer than 0.01 s\n\n(.*\n)*thread the other:\n"
            ) as failed,
            bounded(0.01),
        ):
            threading.Event().wait()
        other.set()
        assert "threading.Event().wait()" in str(failed.getrepr())

    def test_it_awaits(self) -> None:
        async def for_ever() -> None:
            with bounded(0.1):  # not while the loop is being made
                await asyncio.Event().wait()

        where = r"(?s)Stack for .*await asyncio\.Event\(\)\.wait\(\)"
        with pytest.raises(pytest.fail.Exception, match=where):
            asyncio.run(for_ever())

    def test_it_keeps_every_exception(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bounds, "AGAIN_S", 0.01)

        def hold_on() -> None:
            with suppress(BaseException):
                threading.Event().wait()
            threading.Event().wait()

        with pytest.raises(pytest.fail.Exception), bounded(0.01):
            hold_on()

    @pytest.mark.process
    def test_every_test_is_bounded_and_hears_ctrl_c_in_the_background_of_a_script(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "conftest.py").write_text(
            CONFTEST.read_text(encoding="utf-8").replace("LIMIT_S = 300.0", "LIMIT_S = 1.0")
        )
        (tmp_path / "test_it.py").write_text(HANGING)
        options = f"-q -p no:cacheprovider -o pythonpath={CONFTEST.parent} --rootdir ."
        done = subprocess.run(
            ("sh", "-c", f'trap "" INT; exec {sys.executable} -m pytest {options} .'),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "1 failed, 1 passed" in done.stdout, done
        assert "Failed: it took longer than 1 s" in done.stdout
