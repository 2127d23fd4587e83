"""Advice on form: sections, lines, what decides a criterion, globs, and sizes."""

from __future__ import annotations

import pytest

from sidecar.judging.backends import prompt, sections
from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.rubric import CriterionKey, Flaw, FlawSeverity, RubricContext
from sidecar.rubric import conventions
from sidecar.rubric.advice import advise, lines
from sidecar.rubric.advice.lines import Code
from sidecar.rubric.outline import parse_outline
from support.advice import AROUND, SOUND, Case, advised, applied, rubric
from support.table import over_table


def told(text: str, section: str = "Patterns", around: RubricContext = AROUND) -> tuple[Flaw, ...]:
    return advised(rubric(Case(section, "", text)), around)


def told_lines(text: str, around: RubricContext = AROUND) -> list[tuple[str, list[str]]]:
    """Code, and the titles of the fixes, of what is said of a criterion with these lines."""
    found = told(f"### Name of it\n\n{text}\n\nEvery function has type hints.", around=around)
    return [(flaw.code, [fix.title for fix in flaw.fixes]) for flaw in found]


def test_the_numbers_here_are_those_of_the_reader_and_of_the_judge() -> None:
    assert prompt.RUBRIC_LIMIT == advise.JUDGE_TOKENS
    assert sections.PATH_LIMIT == advise.NAME_LIMIT
    assert f"at most {conventions.WHEN_LIMIT} characters" in lines.UNREAD[CriterionKey.WHEN][1]


# --- sections -----------------------------------------------------------------------------------------------


@over_table(
    ("title", "meant"),
    [
        ("Anti-patterns", "Antipatterns"),
        ("ANTI PATTERN", "Antipatterns"),
        ("Pattern", "Patterns"),
        ("Paterns", "Patterns"),
        ("Legitimate Stop", "Legitimate stops"),
        ("When to stop", "Legitimate stops"),
        ("Notes", None),
        ("Background", None),
        ("\u0428\u0430\u0431\u043b\u043e\u043d\u044b", None),
    ],
)
def test_a_section_that_nearly_is_one_is_a_warning_and_another_one_a_hint(
    title: str, meant: str | None
) -> None:
    text = f"## Patterns\n\n{SOUND['Patterns']}\n\n## {title}\n\n- **Other**: x is not in `y`.\n"
    flaw = next(flaw for flaw in advised(text) if flaw.code == Code.UNKNOWN_SECTION)
    assert text[flaw.begin : flaw.end] == title
    assert flaw.weight is (FlawSeverity.WARNING if meant else FlawSeverity.HINT)
    assert [f"## {meant}\n" in applied(text, fix) for fix in flaw.fixes] == ([True] if meant else [])


# --- lines --------------------------------------------------------------------------------------------------


@over_table(
    ("line", "code", "fixes"),
    [
        ("Severity: high", "unknown-severity", ["Write `Severity: must`"]),
        ("**Severity**: P2", "unknown-severity", ["Write `Severity: should`"]),
        ("Severity: nit.", "unknown-severity", ["Write `Severity: note`"]),
        ("Severity: must!", "unknown-severity", ["Write `Severity: must`"]),
        (
            "Severity: purple",
            "unknown-severity",
            ["Write `Severity: must`", "Write `Severity: should`", "Write `Severity: note`"],
        ),
        ("Severity - should", "unread-line", ["Write `Severity: should`"]),
        ("Level: should", "unread-line", ["Write `Severity: should`"]),
        ("Applies to: the folder src/ and *.md", "unread-line", ["Write `Applies to: `src/`, `*.md``"]),
        ("Applies to: everything", "unread-line", []),
        ("Scope: `src/**`", "unread-line", ["Write `Applies to: `src/**``"]),
        (f"When: {'x' * 301}", "unread-line", []),
        ("Evidence: tests, diff", "unknown-evidence", ["Write `Evidence: gate:tests, diff`"]),
        ("Evidence: gate: lint", "unknown-evidence", ["Write `Evidence: gate:lint`"]),
        (
            "Evidence: rule, diff",
            "unknown-evidence",
            ["Write `Evidence: diff`", "Write `Evidence: calls`", "Write `Evidence: message`"],
        ),
        ("Evidence: the last message", "unknown-evidence", ["Write `Evidence: message`"]),
        ("Checked by: lint", "unread-line", ["Write `Evidence: gate:lint`"]),
    ],
)
def test_a_line_that_is_prose_is_told_how_to_be_read(line: str, code: str, fixes: list[str]) -> None:
    assert told_lines(line) == [(code, fixes)]


@over_table(
    "line",
    [
        "Severity: must",
        "**Applies to:** `*.py`",
        "Level: the first one of the game is played to its end.",
        "Files: `src/app.py` holds the table of handlers.",
        "Scope: nothing outside the request.",
        "Weight: none of them is heavier than 3 kg.",
        "Where: in the file that was named.",
        "Then: the build was run.",
        "Note: must be read.",
        "Severity level: purple",
        "Evidence that was shown: none.",
        "```\nSeverity: high\n```",
        "`Severity: high` is not known.",
    ],
)
def test_a_line_of_prose_that_only_resembles_one_is_left_alone(line: str) -> None:
    assert told_lines(line) == []


def test_the_first_line_of_a_kind_counts_and_the_second_one_is_told() -> None:
    text = rubric(Case("Patterns", "", "### Name of it\n\nSeverity: note\nSeverity: must\n\nThe `x` ran."))
    (flaw,) = advised(text)
    assert text[flaw.begin : flaw.end] == "Severity: must"


# --- what decides it ----------------------------------------------------------------------------------------


def test_only_what_is_not_known_is_unknown() -> None:
    line = "Evidence: gate:tests, gate:tests2, rule:narration, rule:naration, diff"
    assert told_lines(line) == [
        ("unknown-gate", ["Name `gate:tests`"]),
        ("unknown-rule", ["Name `rule:narration`"]),
    ]
    assert told_lines(line, RubricContext(rules=AROUND.rules)) == [
        ("unknown-rule", ["Name `rule:narration`"])
    ]
    assert told_lines(line, RubricContext()) == []
    assert [code for code, _ in told_lines(line, RubricContext(gates=()))] == ["unknown-gate"] * 2


def test_that_nothing_can_decide_a_criterion_is_said_where_all_it_names_is_unknown() -> None:
    alone, beside = (
        told(f"### Name of it\n\nEvidence: {line}\n\nx")[0] for line in ("gate:x", "gate:x, diff")
    )
    assert "nothing can decide it" in alone.why
    assert "nothing can decide it" not in beside.why


# --- globs --------------------------------------------------------------------------------------------------


def test_a_glob_that_means_nothing_is_a_hint_and_a_warning_where_it_is_a_slip() -> None:
    around = RubricContext(paths=("sidecar/a.py",))
    for named, weight in (("`*.vue`", FlawSeverity.HINT), ("`sidecars/**`", FlawSeverity.WARNING)):
        alone = told(f"### Name of it\n\nApplies to: {named}\n\nx", around=around)
        assert [(flaw.code, flaw.weight) for flaw in alone] == [("glob-matches-nothing", weight)]


def test_nothing_is_said_of_files_that_are_not_known() -> None:
    cut = RubricContext(paths=("a.py",), more=True)
    for around in (RubricContext(), cut):
        assert told_lines("Applies to: `*.vue`", around) == []
    assert told_lines("Applies to: `*.vue`", RubricContext(paths=())) == [("glob-matches-nothing", [])]


@over_table(
    "glob",
    [
        "*.py",
        "src/",
        "/src/**",
        "./src/*.py",
        "**/web/*.{ts,tsx}",
        "!tests/**",
        "[st]rc/*.py",
        "web",
        "git/**",
        "src\u0301",
    ],
)
def test_a_sound_glob_is_left_alone(glob: str) -> None:
    paths = ("git/x", "src/app.py", "src/web/cart.ts", "src\u0301", "tests/a.py")
    assert told_lines(f"Applies to: `{glob}`", RubricContext(paths=paths)) == []


@over_table(
    "glob",
    [
        "src\\*.py",
        "!src\\*.py",
        "../src/*.py",
        "*.{py,pyi",
        "~/src/*.py",
        "C:/src/*.py",
        "https://x/*",
        "./",
        "./.git/**",
    ],
)
def test_a_glob_that_can_mean_nothing_is_told_without_knowing_the_files(glob: str) -> None:
    assert told_lines(f"Applies to: `{glob}`", RubricContext()) == [("glob-invalid", [])]


def test_in_a_large_project_no_glob_is_compared_with_the_files() -> None:
    paths = tuple(f"{n}/a.b" for n in range(lines.PATHS_LIMIT + 1))
    assert told_lines("Applies to: `*.vue`", RubricContext(paths=paths)) == []


def test_globs_that_only_take_out_leave_a_criterion_that_applies() -> None:
    (flaw,) = told("### Name of it\n\nApplies to: `!vendor/**`\n\nx")
    assert (flaw.code, flaw.weight) == ("glob-matches-nothing", FlawSeverity.HINT)


# --- sizes --------------------------------------------------------------------------------------------------


def test_what_is_told_to_be_cut_is_cut_in_what_the_judge_reads() -> None:
    long = "\u0442\u0435\u0441\u0442 \u0434\u043b\u044f \u0444\u0443\u043d\u043a\u0446\u0438\u0438. "
    text = "## Patterns\n\n" + "\n\n".join(f"### {n} a\n\n{n} {long * 16}" for n in range(12))
    flaws = advised(text)
    assert [flaw.code for flaw in flaws].count(Code.TOO_MANY_CRITERIA) == 1
    assert [flaw.code for flaw in flaws].count(Code.TOO_LONG_CRITERION) == 12
    ones = tuple(one.criterion for one in parse_outline(text).criteria)
    assert (
        sections.format_criteria((("Patterns", ones),), advise.JUDGE_TOKENS).count("characters left out")
        == 12
    )


@pytest.mark.parametrize(
    "text",
    [
        "Every changed function has a test. ",
        "Jede ge\u00e4nderte Funktion hat einen Test. ",
        "\u0442\u0435\u0441\u0442 \u0434\u043b\u044f ",
        "\u6bcf\u4e2a\u51fd\u6570\u90fd\u6709\u6d4b\u8bd5\u3002",
        "ABC-DEF: 1 + 2; ",
    ],
)
def test_no_more_tokens_are_counted_than_the_judge_counts(text: str) -> None:
    assert advise.least_tokens(text * 40) <= estimate_tokens(text * 40)


def test_of_a_long_name_the_part_that_no_judge_reads_is_told() -> None:
    text = f"## Patterns\n\n### {'long ' * 30}\n\nThe `x` ran.\n"
    (flaw,) = advised(text)
    assert (flaw.code, text[flaw.begin - 120 : flaw.begin]) == (Code.TOO_LONG_CRITERION, "long " * 24)
