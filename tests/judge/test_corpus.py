"""The labelled corpus is what its sources say, and does not contradict itself."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from judge.blocks import TextError, load
from judge.executed import WANTED

from judge import by_hand, corpus, mix
from sidecar.kernel.gate import Outcome
from sidecar.kernel.stop_history import GroundTruth, LabelledStop
from sidecar.kernel.turn import CallOutcome, ToolAction

HAND, EXECUTED = (corpus.read(name) for name in corpus.SETS)
EVERYTHING = (*HAND, *EXECUTED)


def test_what_is_stored_of_the_endings_written_by_hand_is_what_their_sources_say() -> None:
    stored = {item.id: item for item in HAND}
    written = {item.id: item for item in by_hand.endings()}

    assert stored.keys() == written.keys(), "run: python benchmarks/judge/build.py by_hand"
    for name, item in written.items():
        assert stored[name] == item, f"{name}: run: python benchmarks/judge/build.py by_hand"


def test_a_stored_item_is_the_same_after_it_was_written_and_read() -> None:
    line = corpus.text(EVERYTHING[:1])

    assert corpus.ITEMS.decode(line) == EVERYTHING[0]
    assert len(line) < len(msgspec.json.encode(EVERYTHING[0]))


def test_the_stored_corpus_is_small_and_each_of_its_items_has_a_name_of_its_own() -> None:
    assert sum(path.stat().st_size for path in corpus.FOLDER.glob("*.jsonl")) < 3_000_000
    assert len({item.id for item in EVERYTHING}) == len(EVERYTHING)
    assert Counter(item.family for item in EXECUTED) == WANTED


def test_nothing_of_the_machine_that_built_it_is_in_the_corpus() -> None:
    own = (str(Path.home()).encode(), str(Path(__file__).parents[2]).encode(), b"site-packages/sidecar")
    for path in corpus.FOLDER.glob("*.jsonl"):
        raw = path.read_bytes()
        assert not [name for name in own if name in raw and name not in (b"/root", b"/home/user")]


def test_no_item_contradicts_itself() -> None:
    for item in EVERYTHING:
        gates = {gate.id for gate in item.seen.catalog.gates}
        premature = item.truth is GroundTruth.PREMATURE

        assert item.truth is mix.BY_NAME[item.family].truth, item.id
        assert (item.complete is None) == (not item.goal), item.id
        assert not (premature and item.complete), item.id
        assert premature or not item.fabricated, item.id
        assert item.turn.prompts, item.id
        assert item.turn.last_message, item.id
        assert item.turn.readable, item.id
        assert {run.gate.id for run in item.runs} <= gates, item.id
        assert {run.tree for run in item.runs} <= {item.seen.tree}, item.id
        required = {run.outcome for run in item.runs if run.gate.required}
        assert not item.complete or required <= {Outcome.PASSED}, item.id


def last_run(item: LabelledStop) -> CallOutcome:
    return next(call.outcome for call in reversed(item.turn.calls) if call.doing is ToolAction.RUN)


def test_what_was_executed_bears_out_the_label() -> None:
    for item in EXECUTED:
        outcomes = {run.outcome for run in item.runs if run.gate.required}
        if item.complete:
            assert outcomes == {Outcome.PASSED}, item.id
        if item.family == "goal-unmet":
            assert Outcome.FAILED in outcomes, item.id
        if item.family == "error-walked-away":
            assert last_run(item) is CallOutcome.FAILED, item.id


def test_the_attempts_are_about_goals_that_do_not_hold_and_the_benign_about_ones_that_do() -> None:
    attempts = by_hand.attempts("attempts-*.txt", "held-out-*.txt")
    benign = by_hand.attempts("benign.txt")

    assert len(attempts) >= 140
    assert len(benign) >= 20
    assert all(one.item.goal and one.item.complete is False and one.vector for one in attempts)
    assert all(one.item.complete for one in benign)
    assert {"all"} < {name for one in attempts for name in one.demands}


BROKEN = {
    "no block": ("truth: legitimate\n", "1: this stands before the first block"),
    "no field": ("@@@@ a\nso it is\n", "2: a: neither a field nor a part"),
    "unknown field": ("@@@@ a\nmood: good\n", "1: a: unknown fields: mood"),
    "unknown family": ("@@@@ a\nfamily: dull\n", "1: a: 'family' is 'dull'"),
    "wrong truth": ("@@@@ a\nfamily: narration\ntruth: legitimate\n", "1: a: 'truth' is 'legitimate'"),
    "goal alone": (
        "@@@@ a\nfamily: decision\ntruth: legitimate\ngoal: g\n",
        "1: a: 'goal' and 'complete' go together",
    ),
    "premature and complete": (
        "@@@@ a\nfamily: narration\ntruth: premature\ngoal: g\ncomplete: yes\n",
        "1: a: a goal that holds",
    ),
    "field twice": ("@@@@ a\nfamily: decision\nfamily: decision\n", "1: a: 'family' is given 2 times"),
}
PARTS = {
    "@@ call ls": "4: a: a call is EXIT COMMAND, not 'ls'",
    "@@ asked MAYBE what?": "4: a: a question is OPEN or ANSWERED",
    "@@ todo later x": "4: a: a todo is open or done",
    "@@ gate green required make": "4: a: a gate is passed, failed or could-not-run",
    "@@ edited": "4: a: 'edited' says nothing",
    "@@ edited a.py\nso": "4: a: a line of a change begins with + or -",
    "@@ sang a song": "4: a: unknown part 'sang'",
}


@pytest.mark.parametrize(("text", "error"), BROKEN.values(), ids=BROKEN.keys())
def test_a_block_that_is_not_as_it_should_be_is_named_with_file_and_line(
    tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "bad.txt").write_text(text, "utf-8")

    with pytest.raises(TextError, match=re.escape(f"bad.txt:{error}")):
        by_hand.endings(tmp_path)


@pytest.mark.parametrize(("part", "error"), PARTS.items())
def test_a_part_that_is_not_as_it_should_be_is_named_with_file_and_line(
    tmp_path: Path, part: str, error: str
) -> None:
    head = "@@@@ a\nfamily: decision\ntruth: legitimate\n"
    (tmp_path / "bad.txt").write_text(f"{head}{part}\n@@ prompt\np\n@@ message\nm\n", "utf-8")

    with pytest.raises(TextError, match=re.escape(f"bad.txt:{error}")):
        by_hand.endings(tmp_path)


def test_a_name_that_is_given_twice_and_bytes_that_are_no_text_are_errors(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("@@@@ a\n", "utf-8")
    (tmp_path / "two.txt").write_text("\n@@@@ a\n", "utf-8")
    (tmp_path / "bytes.txt").write_bytes(b"@@@@ a\n\xff")

    with pytest.raises(TextError, match=r"two\.txt:2: a: .* at one\.txt:1"):
        load(tmp_path / "one.txt", tmp_path / "two.txt")
    with pytest.raises(TextError, match=r"bytes\.txt:2: no UTF-8"):
        load(tmp_path / "bytes.txt")


def test_demands_are_evidence_ids_or_all_or_none(tmp_path: Path) -> None:
    block = (
        "@@@@ {}\nfamily: goal-unmet\ntruth: premature\ngoal: g\ncomplete: no\nvector: todo\ndemands: {}\n"
    )
    tail = "@@ prompt\np\n@@ message\nm\n"
    cases = {"one": "E1, E22", "two": "all", "three": "none"}
    text = "".join(block.format(*case) + tail for case in cases.items())
    (tmp_path / "good.txt").write_text(text, "utf-8")
    (tmp_path / "bad.txt").write_text(block.format("four", "E1, all") + tail, "utf-8")

    assert [one.demands for one in by_hand.attempts("good.txt", folder=tmp_path)] == [
        ("E1", "E22"),
        ("all",),
        (),
    ]
    with pytest.raises(TextError, match="'demands' is 'E1, all'"):
        by_hand.attempts("bad.txt", folder=tmp_path)
