"""A case that is too long: what is cut, in what order, and what never is."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.judging.backends.prompt import CASE_LIMIT, build_judge_prompt
from sidecar.judging.backends.tokens import cut_to_tokens, estimate_tokens
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Evidence, EvidenceStrength, FileDiff, Source
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.rubric.reader import RubricFiles
from support.judge_cases import CASE, ORDER, RUBRIC, SECTION, TEXTS, TOOL, facts, sections, shown, size


def test_a_long_message_and_long_edits_are_cut_before_evidence_and_prompts() -> None:
    many = replace(
        CASE,
        evidence=facts(10, detail="it was so " * 20),
        last_message="word " * 10_000,
        edits=(FileDiff(path="a.py", hunks="+line\n" * 2_000),) * 3,
    )
    found = shown(many)
    assert "characters left out" in found["last message"]
    assert "more lines" in found["edits"]
    assert found["evidence"].count("    it was so it was so") == 10
    assert found["prompts"] == shown(CASE)["prompts"]
    assert size(build_judge_prompt(many, TEXTS)) <= CASE_LIMIT


def test_details_of_what_speaks_for_it_are_cut_before_those_of_what_speaks_against() -> None:
    good = facts(30, detail="it went well " * 100)
    bad = replace(TOOL, id="E99", detail="assert 1 == 2 in line four\n" * 30, stale=False)
    found = shown(replace(CASE, evidence=(*good, bad), last_message="word " * 9_000))["evidence"]
    assert found.count("assert 1 == 2 in line four") == 30
    assert "it went well " * 90 not in found


def test_long_prompts_are_cut_in_their_middle_and_short_ones_stay() -> None:
    long = "first " + "the middle of it " * 900 + " last"
    found = shown(replace(CASE, prompts=("Short.", long, "Also short."), last_message="word " * 9_000))[
        "prompts"
    ]
    assert re.match(r"1\. Short\.\n\n2\. first the middle", found)
    assert found.endswith("last\n\n3. Also short.")
    assert "characters left out" in found


def test_of_too_many_prompts_the_first_and_the_last_stay() -> None:
    crowded = replace(
        CASE,
        prompts=tuple(f"prompt {n} " + "and so on " * 300 for n in range(20)),
        evidence=facts(110, bad=True),
    )
    found = shown(crowded)["prompts"]
    assert found.startswith("1. prompt 0")
    assert "20. prompt 19" in found
    assert "prompts left out" in found


def full_rubric() -> Rubric:
    """The most that a file may have, 8 KiB of prose."""
    prose = "What was asked for is there, and a run shows it. "
    return Rubric(
        patterns=tuple(Criterion(f"P{n}", prose * 10, id=f"p{n}") for n in range(8)),
        antipatterns=tuple(Criterion(f"A{n}", prose * 10, id=f"a{n}") for n in range(8)),
        origin="project",
    )


def test_goal_rubric_and_failing_facts_are_never_cut() -> None:
    failing = facts(25, bad=True)
    passing = tuple(replace(fact, id=f"E{n}") for n, fact in enumerate(facts(60), 26))
    condition = ("The parser accepts comments in every place. " * 91)[:4_000].strip()
    case = replace(
        CASE,
        condition=condition,
        rubric=full_rubric(),
        evidence=(*failing, *passing),
        prompts=("Please do it. " * 700,),
        last_message="word " * 9_000,
    )
    prompt = build_judge_prompt(case, TEXTS)
    assert sections(prompt.case)["goal"] == condition
    assert prompt.system.count("What was asked for is there, and a run shows it.") == 160
    for fact in failing:
        assert f"{fact.id} [tool AGAINST] fact {fact.id[1:]} word" in prompt.case
    assert size(prompt) <= CASE_LIMIT


def test_of_facts_that_speak_for_it_those_that_show_most_stay() -> None:
    weak = facts(80, worth=EvidenceStrength.NOTHING)
    strong = tuple(replace(fact, id=f"E{n}") for n, fact in enumerate(facts(20), 81))
    evidence = shown(replace(CASE, evidence=(*strong[:10], *weak, *strong[10:])))["evidence"]
    assert all(f"{fact.id} [tool CHECK]" in evidence for fact in strong)
    assert re.match(r"\[\.\.\. \d\d facts that are not AGAINST left out \.\.\.\]\n", evidence)


def test_a_rubric_that_does_not_fit_keeps_all_its_ids() -> None:
    rubric = replace(
        RUBRIC,
        patterns=tuple(Criterion(f"P{n}", "\u8a3c" * 90, id=f"p{n}") for n in range(30)),
        antipatterns=(),
    )
    prompt = build_judge_prompt(replace(CASE, rubric=rubric), TEXTS)
    assert all(f"- p{n} [must]" in prompt.system for n in range(30))
    assert size(prompt) <= CASE_LIMIT


PLENTY: Final = st.sampled_from(
    [
        "word ",
        "x",
        "\u6e2c\u8a66",
        "\U0001f600",
        "aGVsbG8gd29ybGQ",
        "};a(b),c.d=",
        "\n",
        "\t",
        "\u0436",
        "0123",
        "\uac01",
    ]
).flatmap(lambda piece: st.integers(0, 4_000).map(lambda length: (piece * length)[:4_000]))
SIDES: Final = st.tuples(PLENTY, st.booleans())


@given(
    condition=PLENTY,
    prompts=st.lists(PLENTY, max_size=20).map(tuple),
    known=st.lists(SIDES, max_size=60),
    hunks=PLENTY,
    message=PLENTY,
)
def test_no_case_is_longer_than_the_limit(
    condition: str, prompts: tuple[str, ...], known: list[tuple[str, bool]], hunks: str, message: str
) -> None:
    evidence = tuple(
        Evidence(id=f"E{n}", source=Source.TOOL, fact=text[:1_000], detail=text[:2_000], bad=bad)
        for n, (text, bad) in enumerate(known, start=1)
    )
    case = JudgeCase(
        condition=condition,
        suspicion="",
        prompts=prompts,
        rubric=RUBRIC,
        evidence=evidence,
        last_message=message,
        edits=(FileDiff(path="a.py", hunks=hunks[:2_000]),) * 5,
    )
    prompt = build_judge_prompt(case, TEXTS)
    assert size(prompt) <= CASE_LIMIT
    assert len(SECTION.findall(prompt.case)) == len(ORDER)
    for fact in evidence:
        if fact.bad:
            assert f"{fact.id} [tool AGAINST]" in prompt.case


def test_the_shipped_rubric_leaves_half_of_the_room_to_the_case() -> None:
    rubric = RubricFiles(TEXTS / "rubric.md").load("/nowhere", {})
    assert estimate_tokens(build_judge_prompt(replace(CASE, rubric=rubric), TEXTS).system) < CASE_LIMIT / 2


@pytest.mark.parametrize("tokens", [0, 1, 20, 40, 100])
@pytest.mark.parametrize("piece", ["word ", "\u6e2c", "\U0001f600", "Zq9-", "\x00"])
def test_what_is_cut_keeps_its_bound_and_both_ends(piece: str, tokens: int) -> None:
    text = cut_to_tokens(f"begin {piece * 500} end", tokens)
    assert estimate_tokens(text) <= max(tokens, 1)
    if text:
        assert text.startswith("begin")
        assert text.endswith("end")
