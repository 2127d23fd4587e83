"""`supervisor check --log` counts results by who made the changes, and says how far chance may be at work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner, Result

from sidecar.cli.check import check
from sidecar.evidence.tree.change_source import ChangeSource
from sidecar.systems.supervision.changes import ChangeFinding, CheckedChange, Level
from sidecar.systems.supervision.checking import CheckResult
from sidecar.systems.supervision.policy.change_figures import ChangeFigure, wilson_interval

pytestmark = pytest.mark.proves("seeing and asking back")

ADA, BOB = "Ada <ada@x.org>", "Bob & Co <bob@x.org>"


def result(number: int, rules: Iterable[str], agents: tuple[str, ...], author: str) -> bytes:
    found = tuple(ChangeFinding(rule=rule, level=Level.WARNING, message="seen") for rule in rules)
    one = CheckedChange(
        base="1" * 40,
        head="",
        tree=f"{number:040}",
        goal="",
        result="unknown" if found else "clear",
        exit_code=2 if found else 0,
        changed=("a.py",),
        ran=(),
        proof=(),
        findings=found,
        source=ChangeSource(authors=(author,), agents=agents),
    )
    return msgspec.json.encode(one)


RESULTS = (
    result(1, ["expectation-changed", "expectation-changed"], ("codex",), ADA),
    result(2, ["expectation-changed", "checks-dropped"], ("codex", "aider"), BOB),
    result(3, [], ("codex",), BOB),
    result(4, [], (), BOB),
)


def summed_up(folder: Path, *more: str) -> Result:
    for number, content in enumerate(RESULTS[:3]):
        (folder / f"{number}.json").write_bytes(content)
    (folder / "more.jsonl").write_bytes(b"\n".join((*RESULTS[2:], b"")))
    return CliRunner().invoke(check, ["--log", *map(str, sorted(folder.glob("*.json*"))), *more])


@pytest.mark.parametrize(
    ("by", "counts"),
    [
        ("agent", {"all": (2, 4), "codex": (2, 3), "aider": (1, 1), "unknown": (0, 1)}),
        ("author", {"all": (2, 4), ADA: (1, 1), BOB: (1, 3)}),
    ],
)
def test_each_change_counts_once_and_for_each_of_its_makers(
    tmp_path: Path, by: str, counts: dict[str, tuple[int, int]]
) -> None:
    done = summed_up(tmp_path, "--by", by, "--json")
    figures = msgspec.json.decode(done.output, type=list[ChangeFigure])
    changed = {one.by: (one.changes, one.of) for one in figures if one.what == "expectation-changed"}
    assert changed == counts
    assert {one.what for one in figures} == {
        *("result clear", "result unknown", "expectation-changed", "checks-dropped")
    }
    shown = summed_up(tmp_path, "--by", by).output
    assert "expectation-changed" in shown
    assert "4 changes." in shown


def test_the_picture_is_svg_with_a_dot_for_each_figure_and_texts_stay_texts(tmp_path: Path) -> None:
    picture = tmp_path / "figures.svg"
    figures = msgspec.json.decode(
        summed_up(tmp_path, "--by", "author", "--picture", str(picture), "--json").output,
        type=list[ChangeFigure],
    )
    root = ET.fromstring(picture.read_bytes())  # noqa: S314 - made here
    tags = [one.tag.rpartition("}")[2] for one in root.iter()]
    assert tags.count("circle") == len(figures)
    assert "Bob & Co <bob@x.org>" in [one.text for one in root.iter()]
    assert all(0 <= one.low <= one.percent <= one.high <= 100 for one in figures)


@pytest.mark.parametrize(
    ("count", "of", "low", "high"), [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (81, 263, 0.2553, 0.3662)]
)
def test_the_interval_is_that_of_wilson(count: int, of: int, low: float, high: float) -> None:
    """The last row is the example of Newcombe (1998)."""
    assert wilson_interval(count, of) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--log"], "--log needs files with results"),
        (["--log", __file__], "is no result of supervisor check --base REF --json"),
        (["--picture", "x.svg"], "--picture FILE: this goes with --log only"),
        (["one", "two"], "two: this goes with --log only"),
    ],
)
def test_what_cannot_be_summed_up_is_refused(typed: list[str], said: str) -> None:
    done = CliRunner().invoke(check, typed)
    assert (done.exit_code, said in done.output) == (CheckResult.UNKNOWN, True), done.output
