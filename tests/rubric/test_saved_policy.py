"""What is told of a saved file is one short line, whatever stands in the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.rubric import ConfigurationContents, Criterion, Rubric
from sidecar.kernel.text import clean_text
from sidecar.rubric.policy import (
    MAX_ITEMS_NAMED,
    MAX_NOTICE_LENGTH,
    RubricObservation,
    rubric_save_notices,
    settings_save_notices,
)

PROJECT = "/home/user/project"
OWN = f"{PROJECT}/.supervisor/rubric.md"
USERS = "/home/user/.config/supervisor/rubric.md"
A, B = Criterion("A", "a", "a"), Criterion("B", "b", "b")
OLD = Rubric(patterns=(A,), antipatterns=(B,), origin=OWN)
NEW = replace(OLD, antipatterns=())
LONGEST = MAX_NOTICE_LENGTH + len("Supervisor: settings changed: ")
texts = st.text(max_size=2000)
rubrics = st.builds(
    Rubric,
    patterns=st.tuples(st.builds(Criterion, texts, texts, texts)),
    antipatterns=st.just(()),
    origin=st.sampled_from((OWN, USERS)) | texts,
    rejected=st.lists(texts, max_size=9).map(tuple),
    changed=texts,
)


def seen(before: Rubric, now: Rubric, force: Rubric, *, at_rest: bool) -> tuple[str, ...]:
    return rubric_save_notices(RubricObservation(PROJECT, (OWN, USERS), before, now, force, at_rest))


@given(rubrics, rubrics, rubrics, st.booleans(), st.sampled_from((PROJECT, "/", "")))
def test_whatever_a_rubric_says_the_lines_are_few_short_and_printable(
    before: Rubric,
    now: Rubric,
    force: Rubric,
    at_rest: bool,  # noqa: FBT001 - drawn
    project: str,
) -> None:
    lines = rubric_save_notices(RubricObservation(project, (OWN, USERS), before, now, force, at_rest))
    assert len(lines) <= MAX_ITEMS_NAMED
    for line in lines:
        assert line == clean_text(line).replace("\n", " ")
        assert len(line) <= LONGEST


@given(st.dictionaries(texts, texts, max_size=20), st.lists(texts, max_size=20))
def test_whatever_a_configuration_says_the_lines_are_few_short_and_printable(
    values: dict[str, str], problems: list[str]
) -> None:
    before = ConfigurationContents(path=f"{PROJECT}/.supervisor/config.toml")
    lines = settings_save_notices(
        PROJECT, [before], [replace(before, values=values, problems=tuple(problems))]
    )
    assert len(lines) <= MAX_ITEMS_NAMED + 1
    for line in lines:
        assert line == clean_text(line).replace("\n", " ")
        assert len(line) <= LONGEST


def test_what_reads_the_same_is_not_told() -> None:
    for at_rest in (True, False):
        assert seen(OLD, OLD, OLD, at_rest=at_rest) == ()
    said = ConfigurationContents(path="/c", values={"mode": "'on'"}, problems=("p",))
    assert settings_save_notices(PROJECT, [said], [said]) == ()


def test_what_was_decided_is_told_as_decided_and_else_as_open() -> None:
    assert seen(OLD, NEW, NEW, at_rest=True)[0].endswith(
        "1 antipattern gone (B). It counts from the next stop"
    )
    assert seen(OLD, NEW, OLD, at_rest=False)[0].endswith("Whether it counts is told at the next stop")
    assert seen(OLD, NEW, OLD, at_rest=True) == (), "it does not count, so it is not said that it does"


def test_the_file_is_named_by_which_another_one_serves_now() -> None:
    (line,) = seen(OLD, replace(NEW, origin=USERS), OLD, at_rest=False)
    assert line.startswith("Supervisor: rubric removed: .supervisor/rubric.md: ")
    (line,) = seen(replace(OLD, origin="/default"), replace(NEW, origin=USERS), OLD, at_rest=False)
    assert line.startswith(f"Supervisor: rubric saved: {USERS}: ")


def test_a_file_that_cannot_serve_is_told_once() -> None:
    broken = replace(NEW, origin=USERS, rejected=(f"{OWN}: too big",))
    assert seen(OLD, broken, broken, at_rest=True) == (
        f"Supervisor: rubric saved: .supervisor/rubric.md cannot serve: too big; in force: {USERS}",
    )
    assert seen(broken, broken, broken, at_rest=True) == ()


def test_more_settings_than_fit_are_cut() -> None:
    before = ConfigurationContents(path="/c")
    (line,) = settings_save_notices(
        PROJECT, [before], [replace(before, values={f"k{n}": "1" for n in range(9)})]
    )
    assert line == "Supervisor: settings changed: k0, k1, k2, k3, k4, ... in /c"
