"""Labelled stops from a file: read whole, or refused with the place of what is wrong."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sidecar
from sidecar.judging import labelled_stops
from sidecar.judging import labelled_stops as labelled_file
from sidecar.judging.labelled_stops import read_labelled_stops
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.stop_history import GroundTruth, LabelledStop
from sidecar.kernel.turn import Turn
from sidecar.platform import installation
from sidecar.platform.shell.line import parse_simple_commands
from support.cases import edited, ran

PLAIN: dict[str, Any] = {"family": "f", "truth": "legitimate", "origin": "by-hand", "turn": {}}


def line(number: str, **fields: Any) -> str:
    return json.dumps({"id": number, **PLAIN, **fields})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "stops.jsonl"


def refused(path: Path) -> list[str]:
    """What is said, with the names of files and without their folder."""
    with pytest.raises(BadInputError) as error:
        read_labelled_stops([path])
    return str(error.value).replace(f"{path.parent}/", "").splitlines()


def test_what_was_written_is_read_in_its_order_with_blank_lines_between(file: Path) -> None:
    items = tuple(
        LabelledStop(
            id=name,
            family="work-done",
            truth=GroundTruth.PREMATURE,
            origin="executed",
            turn=Turn(calls=(edited(), ran("pytest -q"))),
            goal="all pass",
            complete=False,
        )
        for name in "ba"
    )
    file.write_bytes(b"\xef\xbb\xbf" + b"\n\n".join(map(msgspec.json.encode, items)) + b"\n")
    assert read_labelled_stops([file]) == items


def test_what_a_shell_line_runs_is_read_from_the_line_where_the_label_leaves_it_out(file: Path) -> None:
    call = {"id": "1", "tool": "Bash", "doing": "run", "outcome": "ok", "command": "pytest -q || true"}
    file.write_text(line("1", turn={"calls": [call]}))
    (item,) = read_labelled_stops([file])
    assert item.turn.calls[0].runs == parse_simple_commands("pytest -q || true") != ()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("{", "Input data was truncated"),
        ("[1]", "Expected `object`, got `array`"),
        ("{}", "Object missing required field `id`"),
        (line("a", truth="perhaps"), "Invalid enum value 'perhaps' - at `$.truth`"),
        (line("a", turn={"calls": [{}]}), "Object missing required field `id` - at `$.turn.calls[0]`"),
        (line("a", complet=True), "Object contains unknown field `complet`"),
        (line("a", goal="it works"), "`goal` and `complete` belong together"),
        (line("a", complete=True), "`goal` and `complete` belong together"),
        (line(""), "id and family must not be empty"),
        (line("b"), "'b' is the id of"),
        ("[" * 100_000, "Expected `object`, got `array`"),
        ('{"turn":{"x":' + "[" * 100_000 + "]" * 100_000 + "}}", "nested too deeply"),
        ('{"id": NaN}', "JSON is malformed"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(file: Path, wrong: str, said: str) -> None:
    file.write_text(f"{line('b')}\n\n{wrong}\n")
    (told,) = refused(file)
    assert told.startswith(f"stops.jsonl:3: {said}")


def test_two_runs_of_one_gate_contradict_each_other(file: Path) -> None:
    run = {
        "gate": {"id": "tests", "command": "pytest", "why": "w"},
        "outcome": "passed",
        "tree": "t",
    }
    file.write_text(line("a", runs=[run, run]))
    assert refused(file) == ["stops.jsonl:1: two `runs` are of the same check"]


def test_bytes_that_are_no_text_are_told(file: Path) -> None:
    file.write_bytes(line("a").encode() + b"\n" + line("b").encode().replace(b"by-hand", b"\xff\xfe"))
    (told,) = refused(file)
    assert told.startswith("stops.jsonl:2: ")


def test_an_id_may_stand_once_in_all_files_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text(line("a"))
    second.write_text(line("a"))
    with pytest.raises(BadInputError, match=r"second\.jsonl:1: 'a' is the id of .*first\.jsonl:1 too"):
        read_labelled_stops([first, second])


def test_what_is_no_plain_file_is_refused_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == ["pipe: no plain file"]
    assert refused(tmp_path / "nowhere") == ["nowhere: No such file or directory"]
    assert refused(tmp_path) == [f"{tmp_path.name}: a folder"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=80) | st.sampled_from([line("a").encode(), b'{"id":"a"}']), max_size=4))
def test_any_bytes_are_read_or_refused(tmp_path: Path, lines: list[bytes]) -> None:
    file = tmp_path / "stops.jsonl"
    file.write_bytes(b"\n".join(lines))
    with contextlib.suppress(BadInputError):
        assert len(read_labelled_stops([file])) <= len(lines)


def test_the_corpus_of_a_checkout_is_among_the_benchmarks_and_that_of_a_package_in_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root in (tmp_path / "checkout", tmp_path / "site" / "sidecar" / "_plugin"):
        (root / ".claude-plugin").mkdir(parents=True)
        (root / "hooks").mkdir()
        (root / ".claude-plugin" / "plugin.json").touch()
        (root / "hooks" / "hooks.json").touch()
    places = {
        "checkout/sidecar/__init__.py": "checkout/benchmarks/judge/corpus",
        "site/sidecar/__init__.py": "site/sidecar/_plugin/corpus",
    }
    for package, corpus in places.items():
        (tmp_path / corpus).mkdir(parents=True)
        (tmp_path / corpus / "a.jsonl").touch()
        monkeypatch.setattr(sidecar, "__file__", str(tmp_path / package))
        assert installation.corpus_folder() == tmp_path / corpus
        assert labelled_stops.default_corpus_files() == (tmp_path / corpus / "a.jsonl",)


def test_a_corpus_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled_file, "corpus_folder", lambda: tmp_path)
    with pytest.raises(BadInputError, match="there is no corpus here; name files of your own"):
        labelled_stops.default_corpus_files()
