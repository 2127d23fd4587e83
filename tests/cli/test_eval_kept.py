"""`supervisor eval --kept`: a changed rubric is tried on the stops that were kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from sidecar import cli
from sidecar.cli.eval import EvalOptions, EvalServices, evaluate, evaluation
from sidecar.cli.eval_report import EvalExitCode
from sidecar.judging.asking import JudgeAccess
from sidecar.judging.labelled_stops import MeasurementsFile
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import JudgeFailed
from sidecar.kernel.evidence import Verdict
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import RecordedStop
from sidecar.platform.event_log import LOG_FILE
from sidecar.platform.paths import user_paths
from sidecar.wiring.platform import load_project_rubric, load_rubric_file
from support.cases import UNREACHABLE, abstain
from support.kept_stops import asked, missing, unasked
from support.logs import stops_in
from support.memory_stores import ManualClock, MemorySpending, MemoryStopHistory
from support.scripted_ports import ScriptedJudge

PATTERNS = "## Patterns\n\n### Verified\n\nWhat is claimed was run.\n\n## Antipatterns\n\n"
SAME = f"{PATTERNS}### Left work\n\nSomething is still to do.\n"
LAX = f"{PATTERNS}### No comments\n\nThere are none.\n"
STRICT = f"{SAME}\n### No comments\n\nThere are none.\n"


class Namable(ScriptedJudge):
    """A judge that can be chosen, or not."""

    backend = "openai"

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        return ChosenBackend(self.backend, "you named it" if self.backend else "there is no key")


class Bench:
    """The command over a project's kept stops and its rubric; the project is the current folder."""

    def __init__(self, folder: Path, rubric: str, *stops: RecordedStop) -> None:
        os.chdir(folder)
        self.folder = folder
        self.judge = Namable()
        self.stop_history = MemoryStopHistory()
        self.spending = MemorySpending()
        self.file = folder / ".supervisor" / "rubric.md"
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(rubric, encoding="utf-8")
        for stop in stops:
            self.stop_history.keep(stop)

    def doors(self) -> EvalServices:
        return EvalServices(
            asking=JudgeAccess(judge=self.judge, settings=Settings(), spending=self.spending),
            rubric=lambda path: load_rubric_file(path) if path else load_project_rubric(str(self.folder)),
            stop_history=self.stop_history,
            measurements=MeasurementsFile(self.folder / "state", ManualClock(0.0)),
        )

    def answers(self, *verdicts: Verdict | JudgeFailed) -> None:
        self.judge.script(*verdicts)

    def runs(self, **wish: Any) -> int:
        return asyncio.run(evaluate(self.doors(), EvalOptions(kept=True, **wish)))

    def typed(self, monkeypatch: pytest.MonkeyPatch, *arguments: str, says: str = "") -> Any:
        monkeypatch.setattr("sidecar.cli.eval.build_eval_services", self.doors)
        return CliRunner().invoke(evaluation, ["--kept", *arguments], input=says)


@pytest.fixture(autouse=True)
def folder_is_left_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def stops(folder: Path) -> tuple[RecordedStop, ...]:
    """One that a judge sent back, one that a rule did, one at rest."""
    where = str(folder)
    return (
        asked(missing("left-work"), at=1000.0, project=where),
        unasked(at=2000.0, project=where),
        unasked("I did it.", at=3000.0, project=where),
    )


def test_a_table_says_what_changes_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(tmp_path, LAX, *stops(tmp_path))
    assert bench.runs() == EvalExitCode.FELL_SHORT
    text = " ".join(capsys.readouterr().out.split())
    assert f"rubric: as they ended then; {bench.file}" in text
    assert "s1 1970-01-01" in text
    assert (
        "continue -> unjudged judge no point that is missing rests on a criterion in force: left-work" in text
    )
    assert text.endswith("The last 3 stops: 1 would end otherwise.")


def test_what_only_a_model_can_tell_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Bench(tmp_path, STRICT, *stops(tmp_path)).runs() == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.endswith(
        "The last 3 stops: 0 would end otherwise; of 1 only a model can tell: add --backend auto."
    )


def test_only_so_many_of_the_newest_are_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert Bench(tmp_path, LAX, *stops(tmp_path)).runs(limit=2) == 0
    assert "The last 2 stops: 0 would end otherwise." in capsys.readouterr().out


def test_a_script_reads_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(tmp_path, LAX, *stops(tmp_path))
    assert bench.runs(as_json=True) == EvalExitCode.FELL_SHORT
    out = capsys.readouterr()
    report = json.loads(out.out)
    assert out.err == ""
    assert (report["against"], report["exit_code"], report["undecided"]) == (str(bench.file), 1, 0)
    (flip,) = report["flips"]
    assert (flip["before"]["ended"], flip["after"]["ended"]) == ("continue", "unjudged")
    assert (flip["after"]["id"], flip["after"]["at"], flip["after"]["truth"]) == ("s1", 1000.0, None)
    assert report["stops"]["good"] == 0, "of kept stops nobody knows the truth"
    assert not (tmp_path / "state").exists()


def test_another_rubric_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(tmp_path, SAME, *stops(tmp_path))
    other = tmp_path / "other.md"
    other.write_text(LAX, encoding="utf-8")
    assert bench.runs(rubric=other) == EvalExitCode.FELL_SHORT
    assert f"as they ended then; {other}" in capsys.readouterr().out


def test_a_rubric_that_cannot_serve_ends_in_2_and_no_other_one_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, "# Nothing\n", *stops(tmp_path))
    done = bench.typed(monkeypatch)
    assert done.exit_code == EvalExitCode.COULD_NOT_RUN
    assert "`## Patterns`" in done.output
    assert str(bench.file) in done.output


def test_an_edit_of_an_agent_that_is_held_is_what_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sidecar.wiring.supervision import build_services  # noqa: PLC0415 - all services

    bench = Bench(tmp_path, SAME, *stops(tmp_path))
    services = build_services()
    services.steering.decide(lambda: False)
    services.steering.watch(str(tmp_path), {})
    bench.file.write_text(LAX, encoding="utf-8")
    assert services.steering.settle()[0].waits
    assert bench.runs() == EvalExitCode.FELL_SHORT
    assert "1 would end otherwise" in capsys.readouterr().out


def test_where_nothing_was_kept_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Bench(tmp_path, SAME).typed(monkeypatch)
    assert done.exit_code == EvalExitCode.COULD_NOT_RUN
    assert "no stop was kept for this project yet" in done.output
    done = Bench(tmp_path, SAME).typed(monkeypatch, "--against", str(tmp_path / ".supervisor" / "rubric.md"))
    assert (done.exit_code, "neither FILES nor --against" in done.output) == (2, True)


def test_where_nothing_kept_can_be_read_it_could_not_run(tmp_path: Path) -> None:
    files = stops_in(tmp_path / "state")
    files.keep(asked(project=str(tmp_path)))
    with contextlib.closing(sqlite3.connect(tmp_path / "state" / LOG_FILE)) as log, log:
        log.execute("UPDATE events SET data = x'7801'")
    doors = replace(Bench(tmp_path, SAME).doors(), stop_history=files)
    with pytest.raises(BadInputError, match="event 1 of the log: it is cut off"):
        asyncio.run(evaluate(doors, EvalOptions(kept=True)))


# --- with a model -------------------------------------------------------------------------------------------


def test_a_model_is_asked_only_about_other_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(tmp_path, STRICT, *stops(tmp_path))
    bench.answers(abstain())
    assert bench.runs(backend="openai", yes=True) == EvalExitCode.FELL_SHORT
    assert "1 would end otherwise" in capsys.readouterr().out
    assert len(bench.judge.cases) == 1
    assert bench.spending.today().calls == 1


@pytest.mark.parametrize("marker", ["CLAUDECODE", "OPENCODE"])
def test_an_agents_shell_spends_nothing_on_a_model_and_may_try_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    bench = Bench(tmp_path, STRICT, *stops(tmp_path))
    bench.answers(abstain())
    monkeypatch.setenv(marker, "1")
    done = bench.typed(monkeypatch, "--backend", "openai", "--yes")
    assert (done.exit_code, f"{marker} says that an agent's shell is typing" in done.output) == (1, True)
    assert bench.judge.cases == []
    assert bench.typed(monkeypatch).exit_code == 0


def test_one_verdict_of_two_is_enough_and_the_other_stays_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = (asked(at=1000.0, project=str(tmp_path)), asked(at=2000.0, project=str(tmp_path)))
    bench = Bench(tmp_path, STRICT, *two)
    bench.answers(abstain(), UNREACHABLE)
    assert bench.runs(backend="openai", yes=True) == EvalExitCode.FELL_SHORT
    text = " ".join(capsys.readouterr().out.split())
    assert "! no verdict, 1 times: no backend can be reached" in text
    assert "1 would end otherwise; of 1 only a model can tell" in text


def test_the_command_works_by_its_name_on_what_the_sidecar_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path, LAX)
    for stop in stops(tmp_path):
        stops_in(user_paths().state).keep(stop)
    with pytest.raises(SystemExit) as end:
        cli.run_command(["eval", "--kept"])
    assert end.value.code == EvalExitCode.FELL_SHORT
    assert f"{bench.file}" in (out := capsys.readouterr().out)
    assert "The last 3 stops: 1 would end otherwise." in out
