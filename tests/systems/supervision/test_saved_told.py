"""Who is told that a rubric or a configuration was just saved, and in which words."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sidecar.kernel.effects import NoReply
from sidecar.kernel.events import FileSaved, SessionEnded, SessionOrigin
from sidecar.kernel.session import SessionKey
from sidecar.platform.watching import FoldersWatch
from sidecar.systems.supervision import saved_files as saved
from sidecar.systems.supervision.saved_files import GLANCE_S, MAX_PROJECTS_WATCHED, MAX_SESSIONS_NOTIFIED
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY
from support.fakes import LIMIT, prompt, started
from support.saved import COUNTS, NEW, OLD, OTHER, UNDECIDED, WROTE, Scene, swap


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene.at_rest(tmp_path)


def test_a_rubric_that_cannot_serve_is_told_with_the_reason_and_what_serves(scene: Scene) -> None:
    scene.file.write_text("# Nothing\n")
    assert scene.looks() == (
        "Supervisor: rubric saved: .supervisor/rubric.md cannot serve: the section `## Patterns` is missing"
        f"; in force: {scene.folder}/default.md"
    )
    scene.file.write_text(OLD)
    assert scene.looks() == (
        "Supervisor: rubric saved: .supervisor/rubric.md: 1 antipattern gone (DEFAULT); "
        "1 antipattern added (OLD). It counts from the next stop"
    )


def test_what_cannot_serve_while_the_agent_works_leaves_in_force_what_was(scene: Scene) -> None:
    scene.speak()
    scene.file.write_bytes(b"\xff")
    assert scene.looks() == (
        "Supervisor: rubric saved: .supervisor/rubric.md cannot serve: not UTF-8 at byte 0"
        "; what was in force stays, at least until the next stop"
    )


def test_the_users_own_rubric_is_told_to_every_session_whose_project_has_none(scene: Scene) -> None:
    other = scene.folder / "other"
    (other / ".supervisor").mkdir(parents=True)
    scene.saved.met(prompt(**scene.about(OTHER, other)))
    own = scene.folder / ".config" / "supervisor" / "rubric.md"
    own.parent.mkdir(parents=True)
    own.write_text(NEW)
    assert scene.looks() == ""
    assert "(NEW)" in "\n".join(scene.watch.take_lines(OTHER))


def test_every_session_of_the_project_is_told_and_none_that_has_ended(scene: Scene) -> None:
    third = SessionKey(host=KEY.host, id="s3")
    for key in (OTHER, third):
        scene.saved.met(prompt(**scene.about(key)))
    scene.saved.end(third)
    scene.file.write_text(NEW)
    assert [scene.looks(key) for key in (KEY, OTHER, third)] == [COUNTS, COUNTS, ""]


def test_settings_that_changed_are_named_and_a_wrong_one_is_explained(scene: Scene) -> None:
    own = scene.folder / ".config" / "supervisor" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('mode = "shadow"\n[judge]\nseconds = 60\n')
    assert scene.looks() == f"Supervisor: settings changed: judge.seconds, mode in {own}"
    own.write_text('mode = "sideways"\n[judge]\nseconds = 60\n')
    first, second = scene.looks().split("\n")
    assert first.startswith(f"Supervisor: settings saved: {own}:1: mode")
    assert second == f"Supervisor: settings changed: mode in {own}"
    own.write_text("= nothing")
    assert scene.looks().startswith(f"Supervisor: settings saved: {own}: ")


def test_a_command_of_the_project_is_told_with_how_to_approve_it(scene: Scene) -> None:
    config = scene.file.with_name("config.toml")
    config.write_text('[gate.lint]\ncommand = "ruff check"\n')
    assert scene.looks() == (
        "Supervisor: settings changed: gate.lint.command in .supervisor/config.toml; "
        "a command of the project runs only once you approved it: supervisor trust"
    )


def test_where_we_are_off_nobody_is_told(scene: Scene) -> None:
    scene.fakes.switches.turn(on=False, project=str(scene.project))
    scene.file.write_text(NEW)
    assert scene.looks() == ""


def test_a_session_whose_environment_changed_is_told_once(scene: Scene) -> None:
    moved = {**scene.about(), "environment": {"HOME": str(scene.folder / "elsewhere")}}
    scene.saved.met(prompt(**moved))
    scene.file.write_text(NEW)
    assert scene.looks() == COUNTS


async def test_a_fault_at_one_look_is_not_the_end_of_looking(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(saved, "CALM_S", 0.0)
    shown: asyncio.Queue[str] = asyncio.Queue()
    failed = asyncio.Event()

    async def show(_: SessionKey, text: str) -> bool:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("a fault")
        shown.put_nowait(text)
        return True

    task = asyncio.create_task(scene.saved.run(FoldersWatch, show))
    async with asyncio.timeout(LIMIT):
        scene.file.write_text(NEW)
        await failed.wait()
        scene.file.write_text(OLD)
        first, second = (await shown.get()).split("\n")
        task.cancel()
        await asyncio.wait([task])
    assert first == COUNTS
    assert "antipattern added (OLD)" in second
    assert "what was saved could not be told" in caplog.text


def test_what_is_remembered_is_bounded(scene: Scene) -> None:
    for number in range(MAX_PROJECTS_WATCHED + 5):
        scene.saved.met(prompt(**scene.about(OTHER, scene.folder / f"{number}")))
    assert scene.saved.paths(KEY) == ()
    for number in range(MAX_SESSIONS_NOTIFIED + 5):
        scene.saved.met(prompt(**scene.about(SessionKey(host=KEY.host, id=f"n{number}"))))
    assert scene.saved.paths(SessionKey(host=KEY.host, id="n0")) == ()
    assert scene.saved.paths(SessionKey(host=KEY.host, id=f"n{MAX_SESSIONS_NOTIFIED}")) != ()


@pytest.mark.parametrize("could", [True, False])
async def test_a_saved_file_is_shown_at_once_where_that_can_be_and_owed_where_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, *, could: bool
) -> None:
    monkeypatch.setattr(saved, "CALM_S", 0.0)
    shown: asyncio.Queue[tuple[SessionKey, str]] = asyncio.Queue()

    async def show(key: SessionKey, text: str) -> bool:
        shown.put_nowait((key, text))
        return could

    task = asyncio.create_task(scene.saved.run(FoldersWatch, show))
    async with asyncio.timeout(LIMIT):
        swap(scene.file, NEW)
        assert await shown.get() == (KEY, COUNTS)
        task.cancel()
        await asyncio.wait([task])
    assert "\n".join(scene.watch.take_lines(KEY)) == ("" if could else COUNTS)


async def test_a_session_that_starts_names_its_files_and_is_told_when_one_is_saved(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    supervisor = Supervisor(scene.services, scene.guides)
    assert supervisor.saved is not None
    begun = started(SessionOrigin.STARTUP, **scene.about())
    answer = await supervisor.tell(begun)
    assert isinstance(answer, NoReply)
    assert str(scene.file) in answer.watch
    assert str(scene.file.with_name("config.toml")) in answer.watch
    scene.file.write_text("# Nothing\n")
    told = await supervisor.tell(FileSaved(**scene.about()))
    assert isinstance(told, NoReply)
    assert ".supervisor/rubric.md cannot serve: " in told.note
    assert await supervisor.tell(FileSaved(**scene.about())) == NoReply()
    scene.file.write_text(OLD)
    scene.file.with_name("config.toml").write_text("[gates]\nseconds = 0\n")
    assert await supervisor.tell(FileSaved(**scene.about())) == NoReply(), "the host would drop it"
    scene.fakes.clock.advance(GLANCE_S)
    notes = [await supervisor.tell(FileSaved(**scene.about())) for _ in range(2)]
    assert [isinstance(note, NoReply) and note.note.count("\n") for note in notes] == [0, 0]
    assert (notes[0] == NoReply(), notes[1] == NoReply()) == (False, True)
    assert "rubric saved" in "\n".join(supervisor.saved._rubrics.take_lines(KEY))  # noqa: SLF001 - what the next note is made of
    await supervisor.tell(SessionEnded(**scene.about(), reason="exit"))
    assert supervisor.saved.paths(KEY) == ()


async def test_an_edit_that_wakes_a_new_sidecar_is_told_too(scene: Scene) -> None:
    scene.file.write_text(NEW)
    reborn = Supervisor(scene.services, scene.guides)
    assert await reborn.tell(FileSaved(**scene.about())) == NoReply(note=UNDECIDED)


async def test_a_held_edit_that_was_told_is_no_news_for_a_new_sidecar(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.stop(WROTE) == "OLD"
    reborn = Supervisor(scene.services, scene.guides)
    assert await reborn.tell(FileSaved(**scene.about())) == NoReply()


async def test_a_session_that_nobody_sees_asks_for_no_telling(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    begun = started(SessionOrigin.STARTUP, headless=True, **scene.about())
    assert await Supervisor(scene.services, scene.guides).tell(begun) == NoReply()
