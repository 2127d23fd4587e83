"""The user's settings keep within their bounds, and so do their defaults."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sidecar.kernel.settings import Settings
from support.table import over_table

BOUNDS = {
    "max_attempts": (1, 100),
    "stop_seconds": (1, 870),
    "goal_max_tokens": (1, None),
    "goal_max_seconds": (1, None),
    "idle_minutes": (1, None),
}


def read(**fields: Any) -> Settings:
    return msgspec.convert(fields, Settings)


def test_without_a_file_the_defaults_of_the_design_hold() -> None:
    settings = read()
    assert settings == Settings()
    assert (settings.mode, settings.max_attempts, settings.resume_paused) == ("on", 16, False)
    assert (settings.goal_max_tokens, settings.goal_max_seconds) == (400_000, 1800)


def test_every_deadline_is_smaller_than_the_one_around_it() -> None:
    settings = Settings()
    assert settings.judge.seconds < settings.gates.seconds < settings.stop_seconds


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_within_its_bounds_is_taken(name: str) -> None:
    least, most = BOUNDS[name]
    for number in (least, most or 10**6):
        assert getattr(read(**{name: number}), name) == number


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_beyond_its_bounds_is_refused(name: str) -> None:
    least, most = BOUNDS[name]
    for number in (least - 1, -1, *([most + 1] if most else [])):
        with pytest.raises(msgspec.ValidationError):
            read(**{name: number})


@over_table(
    "fields",
    [
        {"mode": "off"},
        {"max_attempt": 5},
        {"max_attempts": "5"},
        {"keep_stops": "no"},
        {"judge": {"backend": "oracle"}},
        {"judge": {"seconds": 4}},
        {"judge": {"seconds": 601}},
        {"gates": {"seconds": 801}},
        {"gates": {"second": 5}},
    ],
    ids=str,
)
def test_what_no_setting_means_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**fields)
