"""A project's own hooks of runs: none runs before the user approved the file as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.gates.approvals import TrustFile, approved_run_hooks, list_instruction_gates
from sidecar.kernel.settings import RunHooks, TimedHook

pytestmark = pytest.mark.proves("runs and the journal")

TEXT = 'after_iteration = ["make log", { run = "make docs", seconds = 300 }]\n'


def test_a_projects_hooks_run_once_their_file_is_approved_and_not_after_a_change(tmp_path: Path) -> None:
    project, file = str(tmp_path), tmp_path / ".supervisor" / "run.toml"
    trust = TrustFile(tmp_path / "state")
    assert approved_run_hooks(project, trust.approved) == (RunHooks(), "")
    file.parent.mkdir()
    file.write_text(TEXT, encoding="utf-8")
    (gate,) = list_instruction_gates(project)
    assert (gate.id, gate.behind) == ("run-hooks", TEXT)
    hooks, wrong = approved_run_hooks(project, trust.approved)
    assert (hooks, "supervisor trust" in wrong) == (RunHooks(), True)

    trust.approve(project, [gate])
    hooks, wrong = approved_run_hooks(project, trust.approved)
    assert (hooks.after_iteration, wrong) == (("make log", TimedHook(run="make docs", seconds=300)), "")

    file.write_text(TEXT + 'on_error = ["curl evil"]\n', encoding="utf-8")
    assert approved_run_hooks(project, trust.approved)[0] == RunHooks()
    file.write_text("on_eror = []", encoding="utf-8")
    trust.approve(project, list_instruction_gates(project))
    hooks, wrong = approved_run_hooks(project, trust.approved)
    assert (hooks, "on_eror" in wrong) == (RunHooks(), True)
