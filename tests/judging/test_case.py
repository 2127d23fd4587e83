"""What the judge is given of a stop: the criteria that apply, and a last message without prompt injection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.judging.case import MESSAGE_LIMIT, build_case
from sidecar.kernel.effects import Inquiry
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Evidence, FileDiff, Source
from sidecar.kernel.rubric import Criterion, Rubric, Severity
from sidecar.rubric.conventions import PATHS_LIMIT, applicable_rubric, glob_matches_path
from support.cases import RUBRIC, SETTINGS, session, stopped, turn
from support.table import over_table

ALWAYS = Criterion("Always", "", id="always")
PYTHON = Criterion("Python", "", id="python", applies_to=("*.py",))
SHOP = Criterion("Shop", "", id="shop", severity=Severity.NOTE, applies_to=("web/**/*.ts", "web/cart/"))


def rubric(*ones: Criterion) -> Rubric:
    return Rubric(patterns=ones, antipatterns=ones, legitimate=ones, origin="project")


def test_the_case_holds_what_is_known_of_the_stop() -> None:
    known = (Evidence(id="E1", source=Source.TOOL, fact="the agent ran `make`: ok"),)
    changed = (FileDiff(path="a.py", added=1),)
    inquiry = Inquiry(
        session=session(),
        stop=stopped(),
        settings=SETTINGS,
        turn=turn(prompts=("Do it.",), last_message="I changed a.py. All tests pass."),
        project_state=ProjectState(
            tree="t", rubric=RUBRIC, changed=("a.py",), edits=changed, unseen="too many"
        ),
        evidence=known,
        suspicion="a rule saw something",
    )
    case = build_case(inquiry, "it works")
    assert (case.condition, case.suspicion, case.prompts) == ("it works", "a rule saw something", ("Do it.",))
    assert (case.evidence, case.edits, case.edits_unseen) == (known, changed, "too many")
    assert case.rubric == RUBRIC
    assert case.last_message == "I changed a.py. All tests pass."


def test_a_message_without_end_is_cut_in_its_middle() -> None:
    inquiry = Inquiry(
        session=session(),
        stop=stopped(),
        settings=SETTINGS,
        turn=turn(last_message=f"begin {'x' * 5_000_000} end"),
    )
    said = build_case(inquiry, "").last_message
    assert len(said) < MESSAGE_LIMIT + 100
    assert said.startswith("begin")
    assert said.endswith("end")


def test_a_criterion_applies_where_one_of_its_files_changed() -> None:
    whole = rubric(ALWAYS, PYTHON, SHOP)
    assert applicable_rubric(whole, ("src/a.py",)) == rubric(ALWAYS, PYTHON)
    assert applicable_rubric(whole, ("web/shop/deep/a.ts", "b.py")) == whole
    assert applicable_rubric(whole, ("README.md",)) == rubric(ALWAYS)
    assert applicable_rubric(whole, ()) == rubric(ALWAYS)


def test_where_it_is_not_known_what_changed_every_criterion_applies() -> None:
    whole = rubric(ALWAYS, PYTHON, SHOP)
    assert applicable_rubric(whole, None) == whole
    assert applicable_rubric(whole, tuple(f"{n}.txt" for n in range(PATHS_LIMIT + 1))) == whole


def test_a_later_glob_takes_out_what_an_earlier_one_took_in() -> None:
    but = Criterion("But", "", id="but", applies_to=("src/", "!*_pb2.py"))
    only = Criterion("Only", "", id="only", applies_to=("!docs/",))
    assert applicable_rubric(rubric(but, only), ("src/a_pb2.py",)) == rubric(only)
    assert applicable_rubric(rubric(but, only), ("src/a.py",)) == rubric(but, only)
    assert applicable_rubric(rubric(but, only), ("docs/a.md",)) == rubric()


@over_table(
    ("glob", "path", "meant"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/*.py", "other/src/a.py", False),
        ("/a.py", "a.py", True),
        ("/a.py", "src/a.py", False),
        ("./src/a.py", "src/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/**/a.py", "src/a.py", True),
        ("src/**/a.py", "src/x/y/a.py", True),
        ("**/test_?.py", "x/test_1.py", True),
        ("**/test_?.py", "x/test_10.py", False),
        ("**", "any/thing", True),
        ("docs", "docs/a.md", True),
        ("docs/", "x/docs/a.md", True),
        ("docs/", "docs.md", False),
        ("src/docs/", "src/docs/x/a.md", True),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("*.{ts,tsx}", "web/a.tsx", True),
        ("*.{ts,tsx}", "web/a.js", False),
        ("{a,b}/{c,d}.x", "b/c.x", True),
        ("{a,b}/{c,d}.x", "b/e.x", False),
        ("{a}.x", "{a}.x", True),
        ("app/[id]/page.ts", "app/i/page.ts", True),
        ("A.py", "a.py", False),
        (" *.py ", "a.py", True),
        ("a b.py", "a b.py", True),
        ("[", "[", True),
    ],
)
def test_globs_mean_what_they_mean_in_gitignore(glob: str, path: str, meant: bool) -> None:  # noqa: FBT001 - a table
    assert glob_matches_path(glob, path) is meant


@pytest.mark.parametrize(
    "glob", ["*a" * 140, "**/" * 90 + "x", "{a,b}" * 50, "?*" * 100, "[a-" * 90, "{" * 300]
)
def test_a_hostile_glob_ends(glob: str) -> None:
    glob_matches_path(glob, "a" * 3_000)
    glob_matches_path(glob, "/".join("a" * 40))


@given(
    glob=st.text(st.sampled_from("ab*?[]{},!/. "), max_size=24),
    path=st.text(st.sampled_from("ab./"), min_size=1, max_size=12),
)
def test_no_glob_is_a_fault_and_a_folder_of_stars_means_all(glob: str, path: str) -> None:
    glob_matches_path(glob, path)
    assert glob_matches_path("**", path)
    assert applicable_rubric(rubric(Criterion("X", "", applies_to=(glob,))), (path,)).origin == "project"


@given(
    st.text(st.sampled_from("abc"), min_size=1, max_size=6),
    st.text(st.sampled_from("abc/"), min_size=1, max_size=9),
)
def test_a_plain_name_means_that_name_at_any_depth(name: str, path: str) -> None:
    assert glob_matches_path(name, path) is (name in path.split("/"))
