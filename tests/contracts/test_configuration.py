"""What every Configuration does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.ports import Configuration
from support.memory_stores import FixedConfiguration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(params=("file", "memory"))
def configured(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, Settings], Configuration]:
    """Makes the Configuration of a user who wrote `text` and means `settings`."""

    def make(text: str, settings: Settings) -> Configuration:
        if request.param == "memory":
            return FixedConfiguration(settings)
        (tmp_path / "supervisor").mkdir()
        (tmp_path / "supervisor" / "config.toml").write_text(text)
        return ConfigurationFile({"XDG_CONFIG_HOME": str(tmp_path)})

    return make


def test_who_says_nothing_gets_the_defaults(configured: Callable[[str, Settings], Configuration]) -> None:
    assert configured("", Settings()).load() == (Settings(), ())


def test_what_the_user_says_is_in_force(configured: Callable[[str, Settings], Configuration]) -> None:
    settings = Settings(mode="shadow", max_attempts=3, judge=JudgeSettings(backend="rules"))
    text = 'mode = "shadow"\nmax_attempts = 3\n[judge]\nbackend = "rules"\n'
    assert configured(text, settings).load() == (settings, ())
