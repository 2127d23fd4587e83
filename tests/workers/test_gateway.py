"""The gateway: what the model is shown, and that its files are written all or none, where they may be."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.kernel.settings import NamedModel, Settings, WorkerSettings
from sidecar.platform.apply import ChangeApplier
from sidecar.workers.gateway import OutsideError, write_files
from sidecar.workers.ports import WorkerError, WorkerFailure
from support.model_script import HttpErrorReply, ReplyRule
from support.model_server import ScriptedModel
from support.worker_agents import GOOD, WRONG, GatewayWorld

KEY: Final = "sk-made-up-0123456789"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GatewayWorld]:
    with ScriptedModel() as model:
        yield GatewayWorld(tmp_path, model)


async def failure(world: GatewayWorld, **fields: Any) -> WorkerError:
    with pytest.raises(WorkerError) as failed:
        await world.room.run(**fields)
    return failed.value


def tree(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "/"
        for path in folder.rglob("*")
    }


EDITS: Final = [
    {"path": "run.sh", "find": "old", "content": "new"},
    {"path": "run.sh", "find": "is new", "content": "was new"},
    {"path": "a/b/c.py", "content": "x = 1\n"},
]


async def test_the_models_edits_are_made_all_and_keep_the_modes(world: GatewayWorld) -> None:
    old = world.room.project / "run.sh"
    old.write_text("this is old\n")
    old.chmod(0o755)
    world.names(EDITS)
    done = await world.room.run()
    files = {"run.sh": "this was new\n", "a": "/", "a/b": "/", "a/b/c.py": "x = 1\n"}
    assert tree(world.room.project) == files
    assert stat.S_IMODE(old.stat().st_mode) == 0o755
    assert (world.room.project / "a/b/c.py").stat().st_mode & 0o400
    assert (done.model, done.tokens > 0, done.cents) == ("coder-1", True, None)
    assert world.room.spending.today().calls == 1


@pytest.mark.parametrize("edit", [{"find": "o", "content": "0"}, {"find": "none"}, {"content": "x = 2\n"}])
async def test_an_edit_that_does_not_fit_is_told_to_the_model_once(
    world: GatewayWorld, edit: dict[str, str]
) -> None:
    (world.room.project / "run.sh").write_text("foo\n")
    wrong = [{"path": "new.py", "content": "x"}, {"path": "run.sh", "content": "", **edit}]
    world.names(wrong)
    world.names([{"path": "run.sh", "find": "foo", "content": "bar"}])
    assert (await world.room.run()).answer.ok
    assert "an edit does not fit. run.sh: " in world.model.requests[1].last
    assert tree(world.room.project) == {"run.sh": "bar\n"}
    assert world.room.spending.today().calls == 2

    world.names(wrong)
    world.names(wrong)
    assert (await failure(world)).failure is WorkerFailure.INVALID
    assert (len(world.model.requests), tree(world.room.project)) == (4, {"run.sh": "bar\n"})


async def test_the_model_sees_the_tree_and_the_files_that_something_names(world: GatewayWorld) -> None:
    files = {
        "a.py": "from helper import g\n",
        "helper.py": "G = 1\n",
        "test.txt": "T\n",
        "other.py": "O = 1\n",
    }
    for name, text in {**files, ".env": "KEY=1\n", "node_modules/helper.py": "N\n"}.items():
        (world.room.project / name).parent.mkdir(exist_ok=True)
        (world.room.project / name).write_text(text)
    world.answers(GOOD)
    await world.room.run(files=("a.py",))
    [asked] = world.model.requests
    assert "a.py\nhelper.py\nother.py\ntest.txt\n" in asked.system
    shown = {text for text in (*files.values(), "KEY", "N\n") if text in asked.system}
    assert shown == {"from helper import g\n", "G = 1\n", "T\n"}


async def test_the_model_sees_the_prompt_the_schema_and_the_named_files(world: GatewayWorld) -> None:
    (world.room.project / "a.py").write_text("def f(): ...\n")
    world.answers(GOOD)
    await world.room.run(files=("a.py",), environment={"LITELLM_API_KEY": KEY})
    [asked] = world.model.requests
    assert "Write a test." in asked.last
    assert "a.py\n```text\ndef f(): ...\n" in asked.system
    assert b'"response_format":{"type":"json_schema"' in bytes(asked.body)
    assert asked.headers["authorization"] == f"Bearer {KEY}"


OUTSIDE: Final = (
    *("/x", "../x", "a/../../x", "link/x", "to-file", "", "."),
    *(".git/hooks/x", "a/.GIT/x", ".supervisor/x"),
)


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_path_that_is_not_the_models_is_refused_and_nothing_is_written(
    world: GatewayWorld, path: str
) -> None:
    (world.room.project / "link").symlink_to(world.room.project.parent)
    (world.room.project / "to-file").symlink_to(world.room.program)
    before = tree(world.room.project)
    world.names([{"path": "fine.py", "content": "x"}, {"path": path, "content": "x"}])
    failed = await failure(world)
    assert failed.failure is WorkerFailure.WROTE_OUTSIDE
    assert "nothing was written" in failed.message
    assert tree(world.room.project) == before


async def test_an_answer_that_does_not_fit_writes_nothing(world: GatewayWorld) -> None:
    world.answers(WRONG, **{"a.py": "x"})
    assert (await failure(world)).failure is WorkerFailure.INVALID
    assert tree(world.room.project) == {}


def write(folder: Path, *names: str) -> None:
    files = [(name, "new") for name in names]
    write_files(ChangeApplier(folder / "state"), str(folder / "project"), files)


@pytest.mark.parametrize("last", ["folder", "file/x.py", "new/b.py"])
def test_files_that_cannot_be_written_leave_all_as_it_was(tmp_path: Path, last: str) -> None:
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    (project / "file").write_text("old")
    before = tree(project)
    with pytest.raises((OutsideError, OSError)):
        write(tmp_path, "file", "new/b.py", last)
    assert tree(project) == before


async def test_a_form_that_the_service_does_not_know_is_left_away(world: GatewayWorld) -> None:
    world.model.add(ReplyRule(HttpErrorReply(400, message="response_format is not supported"), times=2))
    world.answers(GOOD, **{"a.py": "x"})
    assert (await world.room.run()).answer.ok
    assert "response_format" not in bytes(world.model.requests[2].body).decode()


@pytest.mark.parametrize(("status", "told"), [(401, "the key was refused"), (404, "does not know the model")])
async def test_a_service_that_refuses_is_told_without_the_key(
    world: GatewayWorld, status: int, told: str
) -> None:
    world.model.add(ReplyRule(HttpErrorReply(status, message=f"bad {KEY}"), times=None))
    failed = await failure(world, environment={"LITELLM_API_KEY": KEY})
    assert failed.failure is WorkerFailure.REFUSED
    assert told in failed.message
    assert KEY not in failed.message


MISSING: Final = [
    ({"gateway_url": ""}, {}, "names no gateway"),
    ({"gateway_url": "https://model.invalid"}, {}, "needs a key in LITELLM_API_KEY"),
    ({"gateway_url": "http://model.invalid"}, {"LITELLM_API_KEY": KEY}, "must be https"),
    ({"gateway_url": "ftp://x"}, {}, "no http or https URL"),
    ({"gateway_url": "", "backend": "auto"}, {"LITELLM_BASE_URL": "http://localhost:1"}, "names no gateway"),
    ({"gateway_model": ""}, {}, "workers.gateway_model names no model"),
]


@pytest.mark.parametrize(("settings", "environment", "told"), MISSING)
async def test_what_a_gateway_lacks_is_told_before_anything_is_asked(
    world: GatewayWorld, settings: dict[str, str], environment: dict[str, str], told: str
) -> None:
    usual: dict[str, Any] = {"backend": "gateway", "gateway_url": world.model.url, "gateway_model": "coder-1"}
    world.room.settings = Settings(workers=WorkerSettings(**usual | settings))
    failed = await failure(world, environment=environment)
    assert (failed.failure, world.model.requests) == (WorkerFailure.NOT_STARTED, ())
    assert told in failed.message


async def test_the_address_of_the_environment_and_the_prices_of_the_settings_count(
    world: GatewayWorld,
) -> None:
    models = {"cheap": NamedModel(model="coder-2", input_cents=100, output_cents=1000)}
    world.room.settings = Settings(models=models, workers=WorkerSettings(backend="gateway"))
    world.answers(GOOD)
    done = await world.room.run(model="cheap", environment={"LITELLM_BASE_URL": world.model.url})
    assert (done.model, world.model.requests[0].model) == ("coder-2", "coder-2")
    assert done.cents is not None
    assert done.cents > 0
