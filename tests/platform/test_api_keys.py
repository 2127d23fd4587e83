"""Where a key may come from, and that it shows itself nowhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from sidecar.kernel.errors import ServiceError
from sidecar.kernel.settings import ServiceSettings
from sidecar.platform import api_keys as keys
from sidecar.platform.api_keys import ApiKey, ApiKeyFinder
from sidecar.platform.installation import add_package_command

SECRET: Final = "sk-made-up-0123456789"
STORE: Final = f"""
from keyring.backend import KeyringBackend


class Keyring(KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        return "{SECRET}" if (service, username) == ("a-service", "supervisor") else None

    def set_password(self, service, username, password):
        raise NotImplementedError
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(f"  {SECRET}  \nand a second line\n")
    path.chmod(0o600)
    return path


async def found(keys: ApiKeyFinder) -> tuple[str, str]:
    key = await keys.fetch()
    assert key
    assert key.place == keys.place()
    return key.secret, key.place


async def refusal(keys: ApiKeyFinder) -> str:
    """Why there is no key, the same before and when it is fetched."""
    with pytest.raises(ServiceError) as early:
        keys.place()
    with pytest.raises(ServiceError) as late:
        await keys.fetch()
    assert str(early.value) == str(late.value)
    assert SECRET not in str(late.value)
    return str(late.value)


class TestEnvironment:
    async def test_the_sessions_variable_comes_before_our_own(self) -> None:
        named = ServiceSettings(key_env="K")
        assert await found(ApiKeyFinder(named, {"K": f" {SECRET}\n"}, {"K": "other"})) == (SECRET, "K")
        assert await found(ApiKeyFinder(named, {"K": ""}, {"K": SECRET})) == (SECRET, "K")

    async def test_a_variable_comes_before_a_file(self, file: Path) -> None:
        keys = ApiKeyFinder(
            ServiceSettings(key_env="K", key_file=str(file)), {"K": "from-the-environment"}, {}
        )
        assert await found(keys) == ("from-the-environment", "K")

    async def test_a_variable_that_is_not_named_is_not_looked_at(self) -> None:
        there = {"ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}
        for service in (ServiceSettings(), ServiceSettings(key_env="K")):
            keys = ApiKeyFinder(service, there, there)
            assert (await keys.fetch(), keys.place()) == (None, "")

    @pytest.mark.parametrize("secret", [f"{SECRET} {SECRET}", f"{SECRET}\r\nx-evil: 1", f"{SECRET}\u00e9"])
    async def test_what_cannot_be_a_key_is_refused_unquoted(self, secret: str) -> None:
        assert await refusal(ApiKeyFinder(ServiceSettings(key_env="K"), {"K": secret}, {})) == (
            "the key in K is unusable: it holds blanks or unusual characters"
        )


class TestFiles:
    async def test_the_first_line_of_a_private_file_is_the_key(self, file: Path) -> None:
        assert await found(ApiKeyFinder(ServiceSettings(key_file=str(file)), {}, {})) == (SECRET, str(file))

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610])
    async def test_a_file_that_others_may_open_is_refused(self, mode: int, file: Path) -> None:
        os.chmod(file, mode)  # noqa: PTH101 - in a coroutine
        assert f"chmod 600 {file}" in await refusal(ApiKeyFinder(ServiceSettings(key_file=str(file)), {}, {}))

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
    async def test_a_file_of_another_user_is_refused(self, file: Path) -> None:
        os.chown(file, 12345, -1)
        assert "belongs to another user" in await refusal(
            ApiKeyFinder(ServiceSettings(key_file=str(file)), {}, {})
        )

    @pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "PWD"])
    @pytest.mark.parametrize("linked", [True, False])
    async def test_a_file_of_the_project_is_refused(
        self, variable: str, *, linked: bool, file: Path, tmp_path: Path
    ) -> None:
        project = tmp_path / "project"
        project.mkdir()
        inside = project / "key"
        if linked:
            inside.symlink_to(file)
        else:
            os.rename(file, inside)  # noqa: PTH104 - in a coroutine
        said = await refusal(
            ApiKeyFinder(ServiceSettings(key_file=str(inside)), {variable: str(project)}, {})
        )
        assert said == f"the key file {inside} is no absolute path outside the project"

    async def test_a_link_into_the_project_is_refused(self, file: Path, tmp_path: Path) -> None:
        link = tmp_path.parent / f"{tmp_path.name}-link"
        link.symlink_to(file)
        session = {"PWD": str(tmp_path)}
        assert "outside the project" in await refusal(
            ApiKeyFinder(ServiceSettings(key_file=str(link)), session, {})
        )

    @pytest.mark.parametrize("path", ["key", "~/key", "./key", "/no/such/key", "/", "/dev/null", "/a\0b"])
    async def test_what_is_no_key_file_is_refused(self, path: str) -> None:
        assert (await refusal(ApiKeyFinder(ServiceSettings(key_file=path), {}, {}))).startswith(
            "the key file "
        )

    async def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe, 0o600)
        assert "it is no file" in await refusal(ApiKeyFinder(ServiceSettings(key_file=str(pipe)), {}, {}))

    async def test_a_broken_file_is_not_passed_over_for_a_keyring(self) -> None:
        await refusal(ApiKeyFinder(ServiceSettings(key_file="/no/such/key", keyring="a-service"), {}, {}))


class TestKeyrings:
    @pytest.fixture(autouse=True)
    def keyring(self, tmp_path: Path) -> None:
        pytest.importorskip("keyring", reason="an extra that was not installed")
        folder = tmp_path / "python_keyring"
        folder.mkdir()
        (tmp_path / "a_store.py").write_text(STORE)
        settings = f"[backend]\ndefault-keyring=a_store.Keyring\nkeyring-path={tmp_path}\n"
        (folder / "keyringrc.cfg").write_text(settings)
        self.own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    @pytest.mark.process
    async def test_an_entry_of_the_keyring_is_the_key(self) -> None:
        keys = ApiKeyFinder(ServiceSettings(keyring="a-service"), {}, self.own)
        assert await found(keys) == (SECRET, "the keyring entry a-service")

    @pytest.mark.process
    async def test_an_entry_that_is_not_there_is_told(self) -> None:
        with pytest.raises(ServiceError, match="gives nothing: keyring set b-service supervisor"):
            await ApiKeyFinder(ServiceSettings(keyring="b-service"), {}, self.own).fetch()

    @pytest.mark.process
    async def test_a_session_cannot_choose_the_code_of_the_keyring(self) -> None:
        chosen = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring", "XDG_CONFIG_HOME": "/elsewhere"}
        keys = ApiKeyFinder(ServiceSettings(keyring="a-service"), chosen, self.own)
        assert await found(keys) == (SECRET, "the keyring entry a-service")

    @pytest.mark.process
    async def test_a_locked_keyring_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keys, "KEYRING_S", 0.0)
        with pytest.raises(ServiceError, match="is locked: it gave nothing in 0 s"):
            await ApiKeyFinder(ServiceSettings(keyring="a-service"), {}, self.own).fetch()


async def test_a_keyring_without_its_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    said = await refusal(ApiKeyFinder(ServiceSettings(keyring="a-service"), {}, {}))
    assert said.endswith(f"keyring is not installed: {add_package_command('keyring')}")


def test_a_key_does_not_show_itself() -> None:
    key = ApiKey(SECRET, "K")
    assert repr(key) == str(key) == f"{key}" == "<the key in K>"


@pytest.mark.parametrize(
    ("pip", "receipt", "command"),
    [
        (True, "", "{python} -m pip install keyring"),
        (False, "pipx_metadata.json", "pipx inject sidecar keyring"),
        (False, "uv-receipt.toml", "uv pip install --python {python} keyring"),
    ],
)
def test_what_to_type_for_a_missing_package_works_in_the_environment_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, pip: bool, receipt: str, command: str
) -> None:
    prefix = tmp_path / "sidecar"
    prefix.mkdir()
    if receipt:
        (prefix / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "python"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if pip else None)
    assert add_package_command("keyring") == command.format(python=prefix / "python")
