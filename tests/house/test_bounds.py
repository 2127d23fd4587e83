"""What `tox -e lowest` installs is what pyproject.toml promises."""

import tomllib
from pathlib import Path

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_lowest_group_pins_every_lower_bound() -> None:
    bounds = {requirement.replace(">=", "==") for requirement in PYPROJECT["project"]["dependencies"]}
    pins = {pin for pin in PYPROJECT["dependency-groups"]["lowest"] if isinstance(pin, str)}

    assert pins == bounds
