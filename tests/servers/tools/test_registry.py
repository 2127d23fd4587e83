"""Every tool of the registry, whoever added it: what clients and models are offered, and what it gives."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from servers.tools.desk import DEFAULT, Desk, as_json
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Priority
from sidecar.rubric.texts import Texts
from sidecar.servers.tools.tool import Caller
from sidecar.servers.tools.toolbox import SESSION_ARGUMENT, Toolbox, ToolOffer
from support.cases import KEY

LISTS: Final = {DEFAULT: 1_200, ("loop",): 1_400, (*DEFAULT, "tdd", "loop", "governance"): 3_900}
"""Tokens of what a host sends of these toolsets, names with its prefix included."""
ALL_BYTES: Final = 11_480
"""Of the list of all toolsets as we give it: 2,790 tokens by one maker's tokenizer, 2,600 by another's."""
BYTES_PER_TOKEN: Final = 3.5
"""The public tokenizers of two makers (see benchmarks/judge_tokens.py) get 3.7 to 4.6 bytes of each of these
tools into a token, so this bound counts more tokens than they do."""
JOURNAL: Final = {
    "task_add", "task_batch_add", "task_status", "task_priority", "task_depends", "task_list", "task_next",
    "note_add", "note_list", "iteration_summary", "session_complete",
}  # fmt: skip
GOVERNED: Final = tuple(f"phase_{phase}" for phase in ("plan", "implement", "review", "test", "conduct"))
"""Phases that need the ones before; test_governance.py shows what they give."""
GOOD: Final[dict[str, dict[str, Any]]] = {
    "task_add": {"content": "write the parser"},
    "task_batch_add": {"tasks": [{"content": "write the parser"}]},
    "task_status": {"id": "T1", "status": "completed"},
    "task_priority": {"id": "T1", "priority": 0},
    "task_depends": {"id": "T2", "depends_on": "T1"},
    "note_add": {"content": "it is slow", "type": "learning"},
    "iteration_summary": {"summary": "wrote the parser"},
    "agent_info": {"agent_id": "tester"},
    "checkpoint_restore": {"checkpoint_id": "C1"},
    "council_submit": {
        "member": "pattern_matcher",
        "findings": ["parser.py:3 drops it"],
        "hypothesis": "it is dropped",
        "suggested_fix": "keep it",
        "confidence": 60,
    },
    "escalate": {"reason": "nothing helps"},
    "report_completion": {"files_changed": ["parser.py"], "summary": "wrote the parser"},
    "scope_check": {"files": ["parser.py"]},
    "session_end": {"status": "paused"},
    "session_start": {"command": "write the parser", "command_type": "implement"},
    "task_start": {"task_id": "T1"},
    "tokens_record": {"model": "small", "input": 10, "output": 5},
    "phase_analyze": {"input_data": {"problem_statement": "the parser is slow"}},
    **{name: {"context_lock_id": "gov-1", "input_data": {}} for name in GOVERNED},
    "skill_run": {"skill": "review", "request": "the parser"},
    "tdd_green": {"test_path": "tests/test_parser.py"},
    "tdd_red": {"spec": "the parser accepts comments"},
    "tdd_refactor": {"test_path": "tests/test_parser.py", "impl_path": "parser.py"},
}
"""Arguments that fit, of every tool that needs some, in a session with two tasks."""
OFFERS: Final = Desk().toolbox.all_offers()
TOOLS: Final = tuple(offer.name for offer in OFFERS)
HUGE: Final = 1_000_000
HOSTILE: Final[tuple[Any, ...]] = (
    None, True, 3, -1, 1.5, float("nan"), 10**400, "", "x" * HUGE, "a\x00b\x1b[2J", "\ud800",
    "../../etc/passwd", [], ["x"] * 1000, {}, {"x": {"\ud800": []}}, "[" * 100_000, "{", '[{"content": 3}]',
)  # fmt: skip
WORDS: Final = 1_200
"""Characters of a refusal; what was sent is never repeated whole."""


def offer(name: str) -> ToolOffer:
    return next(one for one in OFFERS if one.name == name)


LOOP: Final = {"task": ("task_context", "scope_check", "report_completion", "escalate"),
               "council": ("council_analyze", "council_submit"), "checkpoint": ("checkpoint_restore",),
               "session": ("session_end", "task_start", "checkpoint_save")}  # fmt: skip
"""How far the loop must be for a tool."""


async def full(desk: Desk, name: str = "") -> Desk:
    """With two tasks and a note, so that there is something to give, and the loop where this tool goes on."""
    await desk.ask("task_batch_add", tasks=[{"content": "first"}, {"content": "second"}])
    await desk.ask("note_add", content="the build is slow", type="stuck")
    where = next((where for where, names in LOOP.items() if name in names), "")
    if where:
        await desk.meet()
        await desk.ask("session_start", **GOOD["session_start"])
    if where in {"task", "council"}:
        await desk.ask("task_start", task_id="T1")
    for _ in range(3 if where == "council" else 0):
        await desk.ask("escalate", reason="nothing helps")
    if where == "checkpoint":
        await desk.ask("checkpoint_save")
    return desk


def test_the_journal_has_its_eleven_tools(desk: Desk) -> None:
    assert {tool.name for tool in desk.tools if tool.toolset == "journal"} == JOURNAL


@pytest.mark.proves("the loop")
@pytest.mark.parametrize(
    ("prefix", "more"),
    [("mcp__plugin_supervisor_supervisor__", {}), ("supervisor_", {"additionalProperties": False})],
    ids=["claude-code", "opencode"],
)
@pytest.mark.parametrize("toolsets", LISTS, ids=["default", "loop", "all"])
def test_the_list_is_short_as_hosts_send_it(
    desk: Desk, toolsets: tuple[str, ...], prefix: str, more: dict[str, Any]
) -> None:
    """Hosts send a model name, description and input schema of every tool; what a tool gives they do not."""
    desk.on = toolsets
    sent = [
        {"name": prefix + one.name, "description": one.description, "input_schema": one.listed_schema | more}
        for one in desk.toolbox.offers()
    ]
    assert len(sent) >= 13
    assert len(msgspec.json.encode(sent)) / BYTES_PER_TOKEN < LISTS[toolsets]


def test_all_toolsets_together_cost_less_than_2800_tokens() -> None:
    listed = [
        {"name": one.name, "description": one.description, "input_schema": one.listed_schema}
        for one in OFFERS
    ]
    assert len(msgspec.json.encode(listed)) <= ALL_BYTES


ANSWERS: Final = {"task_start": 680, "session_start": 60, "task_list": 60, "task_status": 20, "evidence": 80}
"""Tokens of answers in usual cases, as a model of either host reads them; `task_start` has 551 in fact."""


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_is_short_as_hosts_show_it(desk: Desk, name: str) -> None:
    """Its text, as structured content is what one of them shows in its place; none of these gives any."""
    desk = await full(desk, name)
    assert not offer(name).typed
    text = await desk.text(name, **GOOD.get(name, {}))
    assert len(text.encode()) / BYTES_PER_TOKEN < ANSWERS[name]


@pytest.mark.parametrize("one", OFFERS, ids=TOOLS)
def test_a_tool_is_described_shortly_and_its_schemas_are_schemas_of_objects(one: ToolOffer) -> None:
    assert 20 < len(one.description) < 250
    assert "$" not in one.description
    for schema in (one.input_schema, one.listed_schema, one.output_schema):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


@pytest.mark.parametrize("one", OFFERS, ids=TOOLS)
def test_what_it_takes_says_nothing_that_a_model_does_not_need(one: ToolOffer) -> None:
    assert SESSION_ARGUMENT not in one.input_schema["properties"]
    assert one.typed == (one.toolset == "governance"), "only these promise an output schema"
    said = str(one.listed_schema)
    for needless in (
        "unlisted",
        "$ref",
        "$defs",
        "'title'",
        "additionalProperties",
        "'required': []",
        "'default': ''",
    ):
        assert needless not in said


@pytest.mark.parametrize("name", [name for name in TOOLS if name not in GOVERNED])
async def test_good_arguments_fit_its_schema_and_what_it_gives_does_too(desk: Desk, name: str) -> None:
    desk = await full(desk, name)
    arguments = GOOD.get(name, {})
    Draft202012Validator(offer(name).input_schema).validate(arguments | {SESSION_ARGUMENT: KEY.id})
    if name == "session_complete":
        for task in ("T1", "T2"):
            await desk.ask("task_status", id=task, status="completed")
    answer = await desk.ask(name, **arguments)
    Draft202012Validator(offer(name).output_schema).validate(as_json(answer.data))
    assert answer.text.strip()
    assert "$" not in answer.text


@pytest.mark.parametrize("name", [one.name for one in OFFERS if one.reads])
async def test_one_that_only_reads_changes_nothing(desk: Desk, name: str) -> None:
    desk = await full(desk, name)
    before = (desk.journal, desk.fakes.state())
    await desk.ask(name, **GOOD.get(name, {}))
    assert offer(name).repeats
    assert (desk.journal, desk.fakes.state()) == before


@pytest.mark.parametrize("name", [one.name for one in OFFERS if one.repeats])
async def test_one_that_repeats_changes_nothing_more_the_second_time(desk: Desk, name: str) -> None:
    desk = await full(desk, name)
    if name == "session_complete":
        for task in ("T1", "T2"):
            await desk.ask("task_status", id=task, status="completed")
    first = await desk.data(name, **GOOD.get(name, {}))
    before = desk.journal
    desk.fakes.clock.advance(10)
    again = await desk.data(name, **GOOD.get(name, {}))
    assert desk.journal == before
    if offer(name).toolset == "journal":
        assert again == first


# --- bad input ----------------------------------------------------------------------------------------------


async def test_an_unknown_argument_is_named_and_what_it_takes_is_said(desk: Desk) -> None:
    for one in OFFERS:
        said = await desk.refusal(one.name, **GOOD.get(one.name, {}), contennt=1)
        assert "'contennt'" in said
        assert "It takes: " in said
        assert all(field in said for field in one.input_schema["properties"]), said
        long = await desk.refusal(one.name, **{"x" * HUGE: 1, "\ud800\x1b": 2})
        assert len(long) < WORDS
        assert long.replace("…", "").isascii()


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    ("name", "given", "allowed"),
    [
        (
            "task_add",
            {"content": "x", "status": "done"},
            "remaining, in_progress, completed, blocked, failed",
        ),
        ("task_batch_add", {"tasks": [{"content": "x", "status": "done"}]}, "remaining, completed"),
        ("note_add", {"content": "x", "type": "idea"}, "learning, stuck, tip, decision"),
    ],
)
async def test_a_value_that_is_none_of_an_enumeration_is_told_which_are(
    name: str, given: dict[str, Any], allowed: str
) -> None:
    said = await Desk().refusal(name, **given)
    values = said.partition("; allowed: ")[2].partition(". ")[0].split(", ")
    assert set(allowed.split(", ")) <= set(values), said


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize("priority", [1.0, 1])
async def test_a_whole_number_may_have_a_fraction_of_zero(desk: Desk, priority: float) -> None:
    desk = await full(desk, "task_priority")
    await desk.ask("task_priority", id="T1", priority=priority)
    assert desk.journal.tasks[0].priority is Priority.HIGH
    assert "got `float`" in await desk.refusal("task_priority", id="T1", priority=1.5)


async def test_a_missing_argument_is_named(desk: Desk) -> None:
    for one in OFFERS:
        for field in one.input_schema.get("required", ()):
            given = {key: value for key, value in GOOD[one.name].items() if key != field}
            assert f"`{field}`" in await desk.refusal(one.name, **given), one.name


@pytest.mark.parametrize("name", [one.name for one in OFFERS if one.input_schema["properties"]])
async def test_a_hostile_value_is_taken_as_the_schema_says_or_refused_in_few_words(
    desk: Desk, name: str
) -> None:
    desk = await full(desk, name)
    taken = offer(name).input_schema
    for field, schema in taken["properties"].items():
        for number, value in enumerate(HOSTILE):
            said = await desk.attempt(name, {"session": KEY.id, **GOOD.get(name, {}), field: value}, Caller())
            needed = value is not None or field in taken.get("required", ())
            if needed and not Draft202012Validator(schema).is_valid(value):
                assert f"The arguments of {name} do not fit" in said, (field, number)
            assert len(said) < WORDS, (field, number)
            assert not {"\x1b", "\ud800"} & set(said), (field, number)
    assert msgspec.json.encode(desk.journal)


# --- whose session it is ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [{}, {"session": ""}, {"session": 3}, {"session": None}, {"session": ["s1"]}]
)
async def test_a_call_that_names_no_session_is_told_how_it_gets_one(
    desk: Desk, arguments: dict[str, Any]
) -> None:
    for name in TOOLS:
        said = await desk.refused(name, GOOD.get(name, {}) | arguments, Caller())
        assert "do not guess" in said
        assert "supervisor install" in said


@pytest.mark.parametrize(
    "named", ["a\x1bb\n" + "c" * HUGE, "../../etc/passwd", "S1", "s1 ", "\ud800", "s1\x00"]
)
async def test_an_unknown_session_is_shown_cut_and_without_control_characters(desk: Desk, named: str) -> None:
    for name in TOOLS:
        said = await desk.refused(name, {**GOOD.get(name, {}), "session": named}, Caller())
        assert "knows no session" in said
        assert len(said) < WORDS
        assert not {"\x1b", "\ud800"} & set(said)


@pytest.mark.proves("governed phases")
@pytest.mark.proves("the loop")
async def test_a_toolset_that_is_off_is_neither_offered_nor_called(desk: Desk) -> None:
    for one in OFFERS:
        desk.on = tuple(other for other in DEFAULT if other != one.toolset)
        assert one.name not in {other.name for other in desk.toolbox.offers()}
        said = await desk.refusal(one.name, **GOOD.get(one.name, {}))
        assert f"supervisor toolset enable {one.toolset}" in said


def test_a_tool_without_a_description_is_not_offered(desk: Desk) -> None:
    with pytest.raises(BadInputError, match=r"## \w+.*install"):
        Toolbox(desk.tools, Texts({"status": "Where it stands."}), desk.clients, lambda: ())
