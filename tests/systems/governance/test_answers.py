"""What workers of governed phases are asked for: a schema that services and our own Struct understand."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sidecar.kernel.decoding import strict_schema
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.governance import GovernedPhase, WrittenAnswer
from sidecar.platform.apply import ChangeApplier
from sidecar.systems.governance.workbench import write_answer
from sidecar.work.place import WorkCopy
from support.governed import ANALYSIS, ANSWERS, APPROVED, PASSED, PLAN, implemented
from support.tdd_projects import contents, lay_out

pytestmark = pytest.mark.proves("governed phases")

GOLDEN: Final[dict[GovernedPhase, dict[str, Any]]] = {
    GovernedPhase.ANALYZE: ANALYSIS,
    GovernedPhase.PLAN: {**PLAN, "dependencies": [[1, 2]]},
    GovernedPhase.IMPLEMENT: implemented("calc.py"),
    GovernedPhase.REVIEW: APPROVED,
    GovernedPhase.TEST: {**PASSED, "metrics": [{"name": "seconds", "value": 1.5}], "screenshots": ["a.png"]},
}


@pytest.mark.parametrize("phase", ANSWERS)
def test_a_whole_answer_fits_what_a_worker_is_asked_for_and_another_does_not(phase: GovernedPhase) -> None:
    asked = Draft202012Validator(strict_schema(ANSWERS[phase]))
    asked.validate(GOLDEN[phase])
    msgspec.convert(GOLDEN[phase], ANSWERS[phase])
    for name in GOLDEN[phase]:
        assert not asked.is_valid({**GOLDEN[phase], name: [["1", 2]]}), name


def made(**files: str | None) -> WrittenAnswer:
    told = [{"path": path, "task_ref": "1", "content": text} for path, text in files.items()]
    return msgspec.convert({"files": told, "message": ""}, WrittenAnswer)


def test_what_the_calling_agent_made_is_written_into_the_copy_and_only_there(tmp_path: Path) -> None:
    copy = WorkCopy(project=str(tmp_path / "copy"), environment={})
    applier = ChangeApplier(tmp_path.parent / f"{tmp_path.name}-state")
    lay_out(tmp_path / "copy", {"old.py": "old", "gone.py": "gone"})
    write_answer(made(**{"old.py": "new", "gone.py": None, "a/b.py": "b"}), copy, applier)
    assert contents(tmp_path / "copy") == {"old.py": "new", "a/b.py": "b"}
    for path, text in (
        ("../x", "x"),
        ("old.py/x", "x"),
        (".git/config", "x"),
        ("lost", None),
        ("../x", None),
    ):
        with pytest.raises(BadInputError, match=r"input_data\.answer cannot be written: "):
            write_answer(made(**{path: text}), copy, applier)
    assert contents(tmp_path) == {"copy/old.py": "new", "copy/a/b.py": "b"}
