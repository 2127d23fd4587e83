"""The state of a project at a stop tells what a check ought to look at."""

from __future__ import annotations

from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.systems.supervision.project_state import Baselines, ProjectStateReader
from support.cases import goal, stopped
from support.fakes import Fakes


async def state_of(fakes: Fakes, *files: FileChange, condition: str = "it works") -> ProjectState:
    fakes.workspace.changes = ProjectChanges(files=files)
    base = await fakes.workspace.remember("/p", {})
    reader = ProjectStateReader(fakes.services, Baselines(fakes.services))
    return await reader.look(stopped(), goal(condition, base=base), "")


async def test_changed_code_of_the_product_is_named_and_odd_names_are_left_out(fakes: Fakes) -> None:
    changed = ("api/cart.py", "tests/test_cart.py", "README.md", "odd_\udcff.py")
    seen = await state_of(fakes, *(FileChange(path=path, before="a\n", after="b\n") for path in changed))
    assert seen.code == ("api/cart.py",)
