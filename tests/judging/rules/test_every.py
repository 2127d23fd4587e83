"""All rules together: order, switches, legitimate stops, confidence, and messages that are no sentences."""

# ruff: noqa: RUF001 - signs of other languages

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sidecar.evidence.claims.ledger import build_claim_ledger
from sidecar.evidence.ledger import gather_evidence
from sidecar.judging.rules.every import STOP_RULES, apply_stop_rules
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import ClaimStatus
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.systems.supervision.messages import FEEDBACK_KINDS
from support.cases import RUBRIC, TREE, edited, ran, todos, turn
from support.endings import CHECKED, EDITED, FAILED, FOUND, Calls, weighed
from support.table import over_table

FIX = "Fix the rounding bug in total()."
LEGITIMATE: tuple[tuple[str, str, str, Calls], ...] = (
    ("destructive", FIX, "Should I delete the production table?", EDITED),
    ("destructive", FIX, "Soll ich das jetzt in Produktion deployen?", EDITED),
    ("credentials", FIX, "I need the API key of the tax service; could you send it?", EDITED),
    ("decision", FIX, "Which of the two approaches do you prefer?", FOUND),
    ("decision", FIX, "Welche Variante soll es sein?", FOUND),
    ("waiting-outside", FIX, "The pull request is in review; I'll go on when it is approved.", EDITED),
    ("impossible", FIX, "This cannot be done: the service does not support decimals.", FOUND),
    ("question-answered", "Why is the total wrong?", "It truncates cents.", FOUND),
    ("done-and-offer", FIX, "Fixed, all tests pass. Would you like me to add dark mode?", CHECKED),
)


def all_at(setting: str, *, but: str = "") -> RuleSettings:
    """Set every switch so, and one of them off."""
    given = dict.fromkeys((rule.id for rule in STOP_RULES), setting)
    return msgspec.convert(given | ({but: "off"} if but else {}), RuleSettings)


@over_table(("kind", "prompt", "message", "calls"), LEGITIMATE)
def test_a_legitimate_stop_is_known_by_its_kind(kind: str, prompt: str, message: str, calls: Calls) -> None:
    found = weighed(prompt, message, calls)
    assert found.legitimate is not None
    assert found.legitimate.kind == kind
    assert not any(finding.certain for finding in found.findings)


def test_a_command_that_is_known_to_have_failed_outweighs_a_sign_of_waiting() -> None:
    message = "It is on the server now. The vendor reviews it, come back once it is done."
    found = weighed(f"{FIX} Then push.", message, (edited(), ran("git push", 1)))
    assert found.legitimate is not None
    assert [(one.rule, one.certain) for one in found.findings if one.fact] == [("error-walked-away", True)]


def test_a_failed_check_is_not_held_against_who_was_told_to_stop() -> None:
    message = "I hit the timeout that you mentioned, and stopped."
    found = weighed("Fix the dates. Stop when you run into the timeout.", message, FAILED)
    assert not any(one.fact for one in found.findings)


def test_with_a_goal_an_offer_is_no_end() -> None:
    (prompt, message, calls) = next(row[1:] for row in LEGITIMATE if row[0] == "done-and-offer")
    found = weighed(prompt, message, calls, goal=True).legitimate
    assert found is None or found.kind != "done-and-offer"


def test_a_record_without_its_end_makes_no_failure_certain() -> None:
    """The run that repaired it may be among the lines that the host has yet to write."""
    red, message = ran("pytest -q", 1, output="1 failed in 0.1s"), "Fixed it. All tests pass."
    for current in (True, False):
        seen = turn(edited(), red, message=message, current=current)
        found = apply_stop_rules(seen, RuleSettings(), goal=False).findings
        claims = build_claim_ledger(seen, (), (), ProjectState(tree=TREE, rubric=RUBRIC))
        facts = gather_evidence(seen, (), ProjectState(tree=TREE, rubric=RUBRIC)).evidence
        assert any(one.certain for one in found) is current
        assert (claims[0].status is ClaimStatus.CONTRADICTED) is current
        assert any(fact.bad for fact in facts) is current


def test_work_that_is_done_and_checked_is_nothing_to_remark_on() -> None:
    found = weighed(FIX, "I fixed the rounding in `total`. All 12 tests pass.", CHECKED)
    assert (found.findings, found.legitimate) == ((), None)


def test_the_legitimate_stops_can_be_switched_off() -> None:
    seen = turn(edited(), message="Should I delete the table?", prompts=(FIX,))
    assert apply_stop_rules(seen, RuleSettings(), goal=False).legitimate is not None
    assert apply_stop_rules(seen, RuleSettings(legitimate_stop="off"), goal=False).legitimate is None


def test_certain_findings_come_first_and_each_names_its_rule_and_a_wording() -> None:
    seen = turn(*FAILED, message="All tests pass. Next, I'll update the docs.", todos=todos("docs"))
    found = apply_stop_rules(seen, RuleSettings(), goal=False).findings
    assert [one.certain for one in found] == sorted((one.certain for one in found), reverse=True)
    assert {one.rule for one in found} <= {rule.id for rule in STOP_RULES}
    assert {one.missing_work.kind for one in found} <= {*FEEDBACK_KINDS}


def test_every_rule_has_a_switch_of_its_own() -> None:
    names = {rule.id.replace("-", "_") for rule in STOP_RULES}
    assert names == {*RuleSettings.__struct_fields__}
    for rule in STOP_RULES:
        assert rule.switch(all_at("on", but=rule.id)) == "off"


def test_confidence_is_high_where_a_rule_is_certain_and_low_where_a_stop_is_legitimate() -> None:
    sent_back = weighed(FIX, "Next, I'll run the tests.", EDITED).confidence
    plain = weighed(FIX, "I fixed the rounding in `total`.", CHECKED).confidence
    suspected = weighed(FIX, "Should I add dark mode?", EDITED).confidence
    resting = weighed("Why is the total wrong?", "It truncates cents.", FOUND).confidence
    assert resting < plain < suspected < sent_back


HOSTILE = (
    "\n" * 20_000,
    " " * 20_000 + "?",
    "I'll " * 5_000,
    "next " * 5_000 + ":",
    "- [ ] x\n" * 5_000,
    "```" * 5_000,
    '"' * 20_001,
    "shall i " * 3_000,
    "let me " * 3_000 + "...",
    "a" * 100_000,
    "。" * 20_000,
    "我会" * 10_000,
    "次に" * 10_000,
    "remaining the rest " * 2_000,
    "\ud800 all tests pass",
    "if you " * 4_000,
)


@over_table("message", HOSTILE)
def test_a_hostile_message_or_prompt_is_read_to_an_end(message: str) -> None:
    for seen in (turn(message=message), turn(prompts=(message,)), turn(message=message, prompts=(message,))):
        assert 0 <= apply_stop_rules(seen, RuleSettings(), goal=False).confidence <= 1


calls = st.builds(
    ToolCall,
    id=st.just("t"),
    tool=st.just("Tool"),
    doing=st.sampled_from(ToolAction),
    outcome=st.sampled_from(CallOutcome),
    command=st.sampled_from(["pytest", "ls", "a | b || c", ""]),
    exit_code=st.sampled_from([None, 0, 1, 127]),
    output=st.text(max_size=40),
)
pieces = st.sampled_from(
    [
        "Done.",
        "Shall I continue?",
        "Next, I'll test.",
        "\n\n",
        "All tests pass.",
        "- [ ] x",
        "继续吗？",
        "и",
        ":",
    ]
)
messages = st.lists(pieces | st.text(max_size=20), max_size=8).map(" ".join)
turns = st.builds(
    Turn,
    prompts=st.lists(messages, max_size=2).map(tuple),
    calls=st.lists(calls, max_size=5).map(tuple),
    last_message=messages,
    todos=st.sampled_from([(), todos("x")]),
    readable=st.booleans(),
)


@given(seen=turns, goal=st.booleans())
def test_whatever_the_turn_switches_hold_and_the_answer_is_sound(seen: Turn, *, goal: bool) -> None:
    found = apply_stop_rules(seen, RuleSettings(), goal=goal)
    assert 0 <= found.confidence <= 1
    assert all(one.missing_work.missing for one in found.findings)
    assert seen.readable or not any(one.certain for one in found.findings if one.rule != "false-complete")
    asked = apply_stop_rules(seen, all_at("ask"), goal=goal)
    assert not any(one.certain for one in asked.findings)
    off = apply_stop_rules(seen, all_at("off"), goal=goal)
    assert (off.findings, off.legitimate) == ((), None)
