"""`supervisor eval`: what it tells, what it asks before, and the exit code that a script reads."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from sidecar.cli import eval as eval_command
from sidecar.cli.eval import RULES_ALONE, EvalOptions, EvalServices, evaluate, evaluation
from sidecar.cli.eval_report import EvalExitCode, advise_on_judge, advise_on_rubrics
from sidecar.judging.asking import JudgeAccess
from sidecar.judging.labelled_stops import MeasurementsFile, count_stops
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import JudgeAnswered, JudgeFailed, ProjectState
from sidecar.kernel.gate import AvailableGates
from sidecar.kernel.gate import Outcome as GateOutcome
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import EvaluatedStop, GroundTruth, LabelledStop
from support.cases import (
    PYTEST,
    RUBRIC,
    SETTINGS,
    TREE,
    complete,
    edited,
    gate_run,
    incomplete,
    judged,
    ran,
    talk,
    turn,
)
from support.memory_stores import ManualClock, MemorySpending, MemoryStopHistory

STRICT = msgspec.structs.replace(
    RUBRIC, origin="strict.md", antipatterns=(*RUBRIC.antipatterns, Criterion("No comments", ""))
)
WORKED = turn(edited(), ran("node check.mjs"), message="The parser accepts comments now.")
SEEN = ProjectState(tree=TREE, rubric=RUBRIC, changed=("a.py",))


def label(number: str, truth: GroundTruth, **fields: Any) -> LabelledStop:
    usual: dict[str, Any] = {"family": "f", "origin": "by-hand", "turn": talk()}
    return LabelledStop(id=number, truth=truth, **usual | fields)


def checked(number: str, truth: GroundTruth, outcome: GateOutcome, **fields: Any) -> LabelledStop:
    """A goal that a gate decides."""
    seen = ProjectState(tree=TREE, rubric=RUBRIC, catalog=AvailableGates((PYTEST,)), changed=("a.py",))
    usual: dict[str, Any] = {"goal": "all tests pass", "complete": False, "turn": WORKED, "seen": seen}
    return label(number, truth, **usual | {"runs": (gate_run(outcome=outcome),)} | fields)


def open_case(number: str, truth: GroundTruth, **fields: Any) -> LabelledStop:
    """A goal that only a judge can weigh."""
    usual: dict[str, Any] = {"goal": "comments are accepted", "complete": False, "turn": WORKED, "seen": SEEN}
    return label(number, truth, **usual | fields)


ANSWERED = label("answered", GroundTruth.LEGITIMATE, family="question-answered")
FAILING = checked("failing", GroundTruth.PREMATURE, GateOutcome.FAILED, family="goal-unmet", blind=True)
ACCUSED = checked("accused", GroundTruth.LEGITIMATE, GateOutcome.FAILED, family="failure-[red]reported[/red]")
OPEN = open_case("open", GroundTruth.PREMATURE, family="goal-unmet", origin="generated")
LIED = checked("lied", GroundTruth.PREMATURE, GateOutcome.PASSED, family="false-complete", fabricated=True)


class Rubricked:
    """A judge that asks for work where the rubric is strict, and is content where it is not."""

    def __init__(self, answer: JudgeAnswered | JudgeFailed | None = None, backend: str = "openai") -> None:
        self.answer, self.backend = answer, backend
        self.asked: list[JudgeCase] = []

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend(self.backend, "you named it" if self.backend else "there is no key")

    async def ask(
        self,
        case: JudgeCase,
        environment: Environment,  # noqa: ARG002 - the port's
        settings: Settings,
    ) -> JudgeAnswered | JudgeFailed:
        self.asked.append(case)
        if self.answer is not None:
            return self.answer
        if settings.judge.backend == "rules":
            return JudgeFailed("no judge model is configured (judge.backend = rules)")
        strict = any(one.name == "No comments" for one in case.rubric.antipatterns)
        return judged(incomplete() if strict else complete("E2"), tokens=1200, cents=0.5)


class Bench:
    """The command over stops in a file, with a judge and rubrics of a test."""

    def __init__(self, folder: Path, *labels: LabelledStop, judge: Rubricked | None = None) -> None:
        self.file = folder / "stops.jsonl"
        self.file.write_bytes(b"\n".join(map(msgspec.json.encode, labels)))
        self.judge = judge or Rubricked()
        self.spending = MemorySpending()
        self.state = folder / "state"

    def doors(self) -> EvalServices:
        return EvalServices(
            asking=JudgeAccess(judge=self.judge, settings=SETTINGS, spending=self.spending),
            rubric=self.rubric,
            stop_history=MemoryStopHistory(),
            measurements=MeasurementsFile(self.state, ManualClock(0.0)),
        )

    @staticmethod
    def rubric(path: Path | None) -> Rubric:
        return RUBRIC if path is None else STRICT

    def runs(self, **wish: Any) -> int:
        return asyncio.run(evaluate(self.doors(), EvalOptions(files=(self.file,), **wish)))


Told = Callable[[], str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """What was printed, with single spaces."""
    return lambda: " ".join(capsys.readouterr().out.split())


def test_counts_who_was_judged_wrongly_and_last_what_to_do_are_told(tmp_path: Path, told: Told) -> None:
    bench = Bench(tmp_path, ANSWERED, FAILING, ACCUSED, OPEN)
    assert bench.runs() == EvalExitCode.DONE
    text = told()
    assert f"judge: {RULES_ALONE}; rubric: default" in text
    assert "all 2 1 1 of 2 1 of 2 no written blind 1 1 0 of 1 0 of 0 no" in text
    assert "failure-[red]reported[/red] 1 0 0 of 0 1 of 1 no" in text, "what others wrote is shown as it is"
    assert "accused failure-[red]reported[/red] legitimate continue gates " in text
    assert "`pytest -q` fails" in text
    assert "open goal-unmet premature unjudged judge" in text
    assert text.endswith(
        "Rules alone send back 1 of 1 early stops and 0 of 0 good ones: too few good stops to call it safe;"
        " measure on 60 or more."
    ), "by the blind one alone"
    assert bench.spending.today().calls == 0


def test_a_script_reads_one_object_with_counts_and_rates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Bench(tmp_path, ANSWERED, FAILING, ACCUSED).runs(as_json=True) == EvalExitCode.DONE
    report = json.loads(capsys.readouterr().out)
    assert (report["version"], report["exit_code"], report["blind"]["early"]) == (3, 0, 1)
    assert report["stops"] == {
        "name": "all", "early": 1, "good": 2, "right": 1, "accused": 1, "false_completes": 0,
        "precision": 0.5, "recall": 1.0,
    }  # fmt: skip
    assert [(one["id"], one["stage"]) for one in report["wrong"]] == [("accused", "gates")]


def test_a_false_complete_ends_in_1(tmp_path: Path, told: Told) -> None:
    assert Bench(tmp_path, LIED).runs() == EvalExitCode.FELL_SHORT
    text = told()
    assert "lied false-complete premature FALSE COMPLETE gates" in text
    assert text.endswith("called achieved: do not rely on this judge; see lied.")


def ended(early: tuple[int, int], good: tuple[int, int], **fields: Any) -> list[EvaluatedStop]:
    """Outcomes of which so many are sent back, of so many early and so many good ones."""
    usual: dict[str, Any] = {"family": "f", "origin": "by-hand", "language": "en", "host": "h"}
    return [
        EvaluatedStop(
            id=f"{truth} {number}",
            truth=truth,
            ended="continue" if number < back else "waiting",
            **usual | {"stage": "judge"} | fields,
        )
        for truth, (back, of) in ((GroundTruth.PREMATURE, early), (GroundTruth.LEGITIMATE, good))
        for number in range(of)
    ]


@pytest.mark.parametrize(
    ("stops", "alone", "said"),
    [
        (
            ended((41, 76), (2, 169)),
            True,
            "Rules alone send back 41 of 76 early stops and 2 of 169 good ones: safe to leave on.",
        ),
        (
            ended((1, 1), (0, 40)),
            False,
            "This judge and rubric send back 1 of 1 early stops and 0 of 40 good ones: too few good stops to",
        ),
        (ended((1, 1), (7, 169), stage="gates"), True, "not safe; look at legitimate 0 first."),
    ],
)
def test_the_last_line_says_what_to_do(stops: list[EvaluatedStop], said: str, *, alone: bool) -> None:
    assert said in advise_on_judge(stops, alone=alone)


@pytest.mark.parametrize(
    ("after", "choice"),
    [
        ((5, 2), "keep a.md"),
        ((6, 2), "use b.md"),
        ((5, 1), "use b.md"),
        ((5, 3), "keep a.md"),
        ((4, 2), "keep a.md"),
        ((6, 3), "weigh the stops that flip"),
    ],
)
def test_of_two_rubrics_one_is_named_where_it_is_worse_in_nothing(
    after: tuple[int, int], choice: str
) -> None:
    first, second = (count_stops("", ended((right, 9), (accused, 9))) for right, accused in ((5, 2), after))
    assert advise_on_rubrics(first, second, "a.md", "b.md") == (
        f"b.md sends back {after[0]} of 9 early stops instead of 5, and {after[1]} of 9 good ones"
        f" instead of 2: {choice}."
    )


def test_two_rubrics_are_compared_by_the_verdicts_that_flip(tmp_path: Path, told: Told) -> None:
    bench = Bench(tmp_path, ANSWERED, FAILING, open_case("open", GroundTruth.LEGITIMATE, complete=True))
    assert bench.runs(backend="openai", against=tmp_path / "strict.md", yes=True) == EvalExitCode.DONE
    text = told()
    assert "open f legitimate judged -> continue judge comments are refused" in text
    assert "all, against 2 1 0 of 1 1 of 2 no" in text
    assert "asked about 2 stops: 2400 tokens, 1.00 cents strict.md sends back" in text
    assert text.endswith("and 1 of 2 good ones instead of 0: keep default.")
    assert bench.spending.today().tokens == 2400, "what measuring costs counts as judging of the day"


def test_only_so_many_stops_are_judged_and_always_the_same(tmp_path: Path) -> None:
    labels = [label(str(number), GroundTruth.LEGITIMATE) for number in range(40)]
    chosen = []
    for order in (labels, labels[::-1]):
        bench = Bench(tmp_path, *order)
        chosen.append(eval_command._labelled_stops(EvalOptions(files=(bench.file,), limit=7)))  # noqa: SLF001 - the drawing itself
    assert [len(each) for each in chosen] == [7, 7]
    assert {one.id for one in chosen[0]} == {one.id for one in chosen[1]}


def test_the_counts_are_recorded_and_shown_beside_the_next_ones_of_the_same_judge(
    tmp_path: Path, told: Told
) -> None:
    bench = Bench(tmp_path, ANSWERED, FAILING, ACCUSED)
    before = "on 1970-01-01: 1 of 1 early stops and 1 of 2 good ones, by default"
    for limit, shown in ((None, False), (1, False), (None, True)):
        assert bench.runs(limit=limit) == EvalExitCode.DONE
        assert (before in told()) is shown
    kept = json.loads((bench.state / "measured.json").read_bytes())["measurements"]
    assert [(one["by"], one["stops"]["early"]) for one in kept] == [(RULES_ALONE, 1)] * 2, "no part of them"


# --- before somebody is asked -------------------------------------------------------------------------------


def runner() -> CliRunner:
    """Build one that keeps the two outputs apart, as click does by itself since 8.2."""
    build: Any = CliRunner
    made: CliRunner = (
        build(mix_stderr=False) if "mix_stderr" in inspect.signature(CliRunner).parameters else build()
    )
    return made


def typed(monkeypatch: pytest.MonkeyPatch, bench: Bench, *arguments: str, says: str = "") -> Any:
    monkeypatch.setattr("sidecar.cli.eval.build_eval_services", bench.doors)
    return runner().invoke(evaluation, [str(bench.file), *arguments], input=says)


def test_before_a_model_is_asked_the_person_is_told_how_often_and_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, ANSWERED, FAILING, OPEN)
    done = typed(monkeypatch, bench, "--backend", "openai", says="n\n")
    assert "openai (you named it) would be asked about 1 cases of at most 8000 tokens" in done.stderr
    assert "Go on? [y/N]" in done.stderr
    assert done.stderr.endswith("Nobody was asked.\n")
    assert (done.exit_code, bench.judge.asked) == (2, [])
    assert done.stdout.strip() in {"", "n"}  # click 8.1 shows there what was typed


def test_where_nothing_would_be_asked_nobody_is_bothered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = typed(monkeypatch, Bench(tmp_path, ANSWERED, FAILING), "--backend", "openai")
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (Rubricked(backend=""), "no judge can be asked: there is no key"),
        (
            Rubricked(JudgeFailed("refused the credentials (401)")),
            "no verdict at all: refused the credentials (401)",
        ),
    ],
)
def test_a_judge_that_cannot_be_had_ends_in_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judge: Rubricked, said: str
) -> None:
    done = typed(monkeypatch, Bench(tmp_path, OPEN, judge=judge), "--backend", "openai", "--yes")
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_file_that_is_wrong_ends_in_2_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, ANSWERED)
    bench.file.write_text("\n{}\n")
    done = typed(monkeypatch, bench)
    assert done.exit_code == 2
    assert done.stderr == f"supervisor: {bench.file}:2: Object missing required field `id`\n"


def test_a_rubric_that_cannot_serve_ends_in_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sidecar.wiring.platform import load_rubric_file  # noqa: PLC0415 - all services

    (tmp_path / "rubric.md").write_text("# Nothing\n")
    with pytest.raises(BadInputError, match="the section `## Patterns` is missing"):
        load_rubric_file(tmp_path / "rubric.md")
    (tmp_path / "rubric.md").write_text("## Patterns\n- a: b\n\n## Antipatterns\n- c: d\n")
    assert load_rubric_file(tmp_path / "rubric.md").origin == str(tmp_path / "rubric.md")
    done = typed(monkeypatch, Bench(tmp_path, ANSWERED), "--rubric", str(tmp_path / "nowhere.md"))
    assert done.exit_code == 2


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
def test_an_agents_shell_spends_nothing_on_a_model(monkeypatch: pytest.MonkeyPatch, marker: str) -> None:
    monkeypatch.setenv(marker, "1")
    done = CliRunner().invoke(evaluation, ["--backend", "openai", "--yes"])
    assert (done.exit_code, f"{marker} says that an agent's shell is typing" in done.output) == (1, True)
