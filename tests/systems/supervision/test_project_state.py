"""The state of a project at a stop tells what a check ought to look at."""

from __future__ import annotations

from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import FileBaseline, FileChange, ProjectChanges, RepositoryState
from sidecar.kernel.gate import Gate
from sidecar.kernel.turn import Turn
from sidecar.systems.supervision.project_state import Baselines, ProjectStateReader
from support.cases import goal, stopped
from support.fakes import Fakes


async def state_of(
    fakes: Fakes, *files: FileChange, condition: str = "it works", unseen: str = ""
) -> ProjectState:
    fakes.workspace.changes = ProjectChanges(files=files, unseen=unseen)
    base = await fakes.workspace.remember("/p", {})
    reader = ProjectStateReader(fakes.services, Baselines(fakes.services))
    return await reader.look(stopped(), goal(condition, base=base), Turn())


async def test_a_brief_look_ends_where_no_file_and_no_commit_is_new(fakes: Fakes) -> None:
    fakes.catalog.gates = (Gate(id="tests", command="make test", why=""),)
    fakes.workspace.known = RepositoryState(branch="main")
    reader = ProjectStateReader(fakes.services, Baselines(fakes.services))
    base, change = FileBaseline(snapshot="s", head="c1"), FileChange(path="a.py", before="", after="b\n")
    known = []
    for files, head in ((), "c1"), ((), "c2"), ((change,), "c1"):
        fakes.workspace.changes = ProjectChanges(files=files, head=head)
        seen = await reader.look(stopped(), goal(base=base), Turn(), brief=True)
        known.append((seen.changed, seen.repository.branch if seen.repository else ""))
        assert not seen.catalog.gates  # none is run
    assert known == [((), ""), ((), "main"), (("a.py",), "main")]


async def test_changed_code_of_the_product_is_named_and_odd_names_are_left_out(fakes: Fakes) -> None:
    changed = ("api/cart.py", "tests/test_cart.py", "README.md", "odd_\udcff.py")
    seen = await state_of(fakes, *(FileChange(path=path, before="a\n", after="b\n") for path in changed))
    assert seen.code == ("api/cart.py",)


async def test_parts_of_the_goal_that_nothing_touches_are_named(fakes: Fakes) -> None:
    fakes.catalog.gates = (Gate(id="tests", command="./run --all-parts", why=""),)
    fakes.workspace.known = RepositoryState(tags=("v1.0",), branches=("old_api",))
    change = FileChange(path="cart.py", before="", after="def total(items, vat):\n    return sum(items)\n")
    seen = await state_of(
        fakes, change, condition="total() takes `vat` and --net since v1.0; --all-parts pass"
    )
    assert seen.untouched == ("--net", "total(vat), which nothing in it reads")
    assert (await state_of(fakes, change, condition="add --net", unseen="too many files")).untouched == ()
