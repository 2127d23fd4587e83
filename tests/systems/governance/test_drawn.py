"""docs/governance.md draws the tables of the policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from sidecar.kernel.governance import GovernedPhase
from sidecar.systems.governance.policy.table import ACTIONS, MAY_CALL, MODES, Rule, Stage

pytestmark = pytest.mark.proves("governed phases")

PAGE: Final = (Path(__file__).parents[3] / "docs" / "governance.md").read_text(encoding="utf-8")
YES_NO: Final = {True: "yes", False: "no"}


def test_each_mode_is_drawn_as_it_is() -> None:
    for mode, rules in MODES.items():
        cells = (
            "checked" if rules.nfr_check else "no",
            YES_NO[rules.manual_review],
            YES_NO[rules.forced_human_intervention],
            str(rules.max_iterations),
        )
        assert f"| {mode} | {' | '.join(cells)} |\n" in PAGE


def test_each_error_is_drawn_with_its_action() -> None:
    for error, action in ACTIONS.items():
        assert re.search(rf"^\| .*\b{error}\b.* \| {action} \|$", PAGE, re.MULTILINE), error


def test_each_stage_is_drawn_with_the_phase_to_call_and_each_rule_is_there() -> None:
    table = PAGE.partition("| at this stage")[2].partition("\n\n")[0]
    rows: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        stages, called, _ = line.strip("| ").split(" | ")
        rows |= dict.fromkeys(stages.split(", "), called)
    drawn = {stage for stage, phases in MAY_CALL.items() if phases} - {Stage.QUICK_FIX}
    assert set(rows) == drawn, "a quick fix is told in words"
    assert all(f"`phase_{MAY_CALL[stage][0]}`" in rows[stage] for stage in drawn)
    assert {phase for phase in GovernedPhase if f"`phase_{phase}`" in table} == set(GovernedPhase)
    assert all(f"{rule} (" in PAGE for rule in Rule)
