"""Templates of the prompts of `supervisor run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.runs import RunPromptInputs
from sidecar.platform.paths import user_paths
from sidecar.systems.iteration.policy.prompt import build_run_prompt
from sidecar.systems.iteration.run_files import load_template, write_template

pytestmark = pytest.mark.proves("runs and the journal")

FACTS = RunPromptInputs(session="demo", iteration=2, most=8, goal="all tests pass")


def test_a_template_of_another_loop_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "theirs.md"
    file.write_text("Session {{session}}, iteration {{ iteration }}, for $5 in $HOME.", encoding="utf-8")
    told = build_run_prompt(load_template(str(file), user_paths()), FACTS)
    assert told == "Session demo, iteration 2, for $5 in $HOME."
    file.write_text("{{session}} {{port}}", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"nothing fills in \$port"):
        load_template(str(file), user_paths())


def test_the_usual_template_is_written_once_and_is_the_users_own_from_then_on() -> None:
    usual = load_template(None, user_paths())
    own = write_template(user_paths())
    assert own.read_text(encoding="utf-8") == f"{usual}\n"
    own.write_text("Mine.", encoding="utf-8")
    assert load_template(None, user_paths()) == "Mine."
    with pytest.raises(BadInputError, match="is there already"):
        write_template(user_paths())
